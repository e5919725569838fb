import { useMemo } from "react";

import type { Detection } from "../../api/client";
import { ChartFrame, LineChart, lineData, type LineSeries } from "../../charts";
import { Empty } from "../../components";
import { score } from "../../format";
import { fallingLine, meanLine, placeAt } from "./curves";

const MEAN_LOOK = { colour: "var(--ink)", dash: "", marker: "circle" } as const;

/** The lines to draw: the mean of all classes, then the chosen ones. */
export function seriesOf(evaluation: Detection, chosen: readonly string[]): LineSeries[] {
  const there = evaluation.curves.filter(({ recall }) => recall.length > 0);
  const ap = new Map(evaluation.classes.map(({ key, ap50 }) => [key, ap50]));
  const lines = chosen.flatMap((name) => there.filter((curve) => curve.name === name));
  const mean: LineSeries[] =
    there.length > 1
      ? [{ key: "mean", name: `mean of ${there.length} classes`, points: meanLine(there), look: MEAN_LOOK }]
      : [];
  return [
    ...mean,
    ...lines.map((curve) => ({
      key: curve.key,
      name: `${curve.name}, AP50 ${score(ap.get(curve.key), 2)}`,
      points: fallingLine(curve),
    })),
  ];
}

const NEAR = 0.05;

/** Points that matter where one class alone is drawn: the confidence of the counts, and the best F1. */
function marksOf(evaluation: Detection, chosen: readonly string[]) {
  const curve = evaluation.curves.find(({ name }) => name === chosen[0]);
  if (chosen.length !== 1 || !curve) return [];
  const best = evaluation.classes.find(({ key }) => key === curve.key)?.best_confidence ?? null;
  const at = (confidence: number | null, text: string) => {
    const place = confidence === null ? null : placeAt(curve, confidence);
    return place && confidence !== null ? { ...place, text: `${text} ${score(confidence, 2)}` } : null;
  };
  const now = at(evaluation.confidence, "confidence");
  const top = at(best, "best F1 from");
  const near = now && top && Math.hypot(now.x - top.x, now.y - top.y) < NEAR;
  return [near ? null : now, top].filter((mark) => mark !== null);
}

/** Precision over recall of the chosen classes, and the mean of all. */
export function PrCurves({ evaluation, chosen }: { evaluation: Detection; chosen: readonly string[] }) {
  const series = useMemo(() => seriesOf(evaluation, chosen), [evaluation, chosen]);
  const marks = marksOf(evaluation, chosen);
  return (
    <ChartFrame
      id="curves"
      title={`Precision and recall at IoU ${evaluation.iou}`}
      name={`${evaluation.name}-precision-recall`}
      data={() => lineData(series, "recall")}
      note="The best precision at each recall or beyond, as in average precision. Choose classes in the table below."
    >
      {series.length === 0 ? (
        <Empty title="No curve">No class has both objects and predictions.</Empty>
      ) : (
        <LineChart
          label={`Precision over recall of ${evaluation.name}`}
          series={series}
          xLabel="Recall"
          yLabel="Precision"
          xDomain={[0, 1]}
          yDomain={[0, 1]}
          xTicks={[0, 0.2, 0.4, 0.6, 0.8, 1]}
          yFormat={(y) => score(y, 2)}
          markers={false}
          marks={marks}
          height={320}
        />
      )}
    </ChartFrame>
  );
}
