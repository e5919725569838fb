import { Fragment } from "react";

import type { Detection } from "../../api/client";
import { ChartFrame, IntervalPlot, LineChart, lineLook, type LineSeries } from "../../charts";
import { count, plural, score } from "../../format";
import { go } from "../../url";
import { linesOf, numberOf } from "../sparsity/records";
import { imagesAddress, type At } from "./address";
import { ERROR_ORDER, ERROR_WORDS } from "./words";

/** What each kind of error costs. */
export function ErrorTypes({ at, evaluation }: { at: At; evaluation: Detection }) {
  const kinds = ERROR_ORDER.filter((kind) => kind in evaluation.errors);
  if (!kinds.length) return null;
  const lines = kinds.map((kind, place) => {
    const words = ERROR_WORDS[kind]!;
    const many = evaluation.counts[kind];
    return {
      key: kind,
      name: many === undefined ? words.title : `${words.title} (${count(many)})`,
      value: evaluation.errors[kind] ?? null,
      look: lineLook(kind.startsWith("false_") ? 6 : place),
    };
  });
  const open = ({ key }: { key: string }) =>
    go(imagesAddress(at, { cell: null, state: ERROR_WORDS[key]!.state }));
  const all = kinds.reduce((sum, kind) => sum + (evaluation.counts[kind] ?? 0), 0);
  const data = () => ({
    columns: ["error", "meaning", "count", "cost"],
    rows: kinds.map((kind) => [kind, ERROR_WORDS[kind]!.meaning, evaluation.counts[kind], evaluation.errors[kind]]),
  });
  return (
    <ChartFrame
      id="errors"
      title="What each kind of error costs"
      name={`${evaluation.name}-errors`}
      data={data}
      note={
        `${plural(all, "error")}, in brackets by kind; the bar is how much mean AP at IoU ${evaluation.iou} would rise if ` +
        "errors of this kind alone were put right. Errors hide each other: gains do not add up." +
        (evaluation.boxes ? " Pick a bar for images with such boxes: false positives, or false negatives." : "")
      }
    >
      <IntervalPlot
        label={`Cost of errors of ${evaluation.name}`}
        lines={lines}
        xLabel="Mean AP gained if put right"
        bars
        onPick={evaluation.boxes ? open : undefined}
      />
      <dl className="detection-kinds">
        {kinds
          .filter((kind) => !kind.startsWith("false_"))
          .map((kind) => (
            <Fragment key={kind}>
              <dt>{ERROR_WORDS[kind]!.title}</dt>
              <dd>{ERROR_WORDS[kind]!.meaning}</dd>
            </Fragment>
          ))}
      </dl>
    </ChartFrame>
  );
}

const FEW = 30;

/** Whether predictions are right as often as they are sure. */
export function Reliability({ evaluation }: { evaluation: Detection }) {
  const table = evaluation.reliability;
  if (!table) return null;
  const bins = linesOf(table).filter((bin) => (numberOf(bin, "count") ?? 0) > 0);
  const series: LineSeries[] = [
    {
      key: "right",
      name: "share that is right",
      points: bins.map((bin) => ({
        x: numberOf(bin, "confidence") ?? 0,
        y: numberOf(bin, "precision"),
        n: numberOf(bin, "count"),
      })),
    },
    {
      key: "even",
      name: "as sure as right",
      baseline: true,
      points: [
        { x: 0, y: 0 },
        { x: 1, y: 1 },
      ],
    },
  ];
  const few = bins.filter((bin) => (numberOf(bin, "count") ?? 0) < FEW).length;
  return (
    <ChartFrame
      id="reliability"
      title="Are confidences right?"
      name={`${evaluation.name}-reliability`}
      data={() => ({ columns: table.columns, rows: bins.map((bin) => table.columns.map((name) => numberOf(bin, name))) })}
      note={
        `${table.note ? `${table.note}. ` : ""}Above the dotted line predictions are right more often than they are sure. ` +
        (few ? `${plural(few, "point")} of fewer than ${FEW} predictions: read with care.` : "")
      }
    >
      <LineChart
        label={`Reliability of ${evaluation.name}`}
        series={series}
        xLabel="Confidence"
        yLabel="Share that is right"
        xDomain={[0, 1]}
        yDomain={[0, 1]}
        xTicks={[0, 0.2, 0.4, 0.6, 0.8, 1]}
        yFormat={(y) => score(y, 2)}
        height={280}
      />
    </ChartFrame>
  );
}
