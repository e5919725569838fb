import type { Detection, DetectionSummary } from "../../api/client";
import { ChartFrame, intervalData, IntervalPlot } from "../../charts";
import { DataTable, Panel, Score, type Column } from "../../components";
import { go } from "../../url";
import { overviewAddress } from "./address";
import { FIGURE_WORDS } from "./words";

const figureOf = (one: DetectionSummary, name: string) => one.figures.find(({ metric }) => metric === name);

/** COCO's figures, with their intervals over images. */
export function Figures({ evaluation }: { evaluation: Detection }) {
  const lines = evaluation.figures.map((figure) => ({
    key: figure.metric,
    name: figure.metric,
    detail: FIGURE_WORDS[figure.metric],
    value: figure.value,
    low: figure.low,
    high: figure.high,
    n: figure.n,
  }));
  const missing = lines.filter(({ value }) => value === null).map(({ name }) => name);
  return (
    <ChartFrame
      id="figures"
      title="Figures"
      name={`${evaluation.name}-figures`}
      data={() => intervalData(lines)}
      note={missing.length ? `Undefined: ${missing.join(", ")}. There is no object of that size.` : undefined}
    >
      <IntervalPlot label={`Figures of ${evaluation.name}`} lines={lines} xLabel="AP, AR" domain={[0, 1]} />
    </ChartFrame>
  );
}

const COLUMNS: readonly Column<DetectionSummary>[] = [
  { key: "name", title: "Evaluation", value: ({ name }) => name },
  { key: "protocol", title: "Protocol", value: ({ protocol }) => protocol },
  { key: "images", title: "Images", align: "right", value: ({ images }) => images },
  ...["AP", "AP50", "AP75", "AR100"].map((name) => ({
    key: name,
    title: name,
    align: "right" as const,
    value: (one: DetectionSummary) => figureOf(one, name)?.value ?? null,
    render: (one: DetectionSummary) => {
      const figure = figureOf(one, name);
      return <Score value={figure?.value} low={figure?.low} high={figure?.high} stacked />;
    },
  })),
];

/** All evaluations of the store beside each other. */
export function Evaluations({ all, current }: { all: readonly DetectionSummary[]; current: string }) {
  return (
    <Panel title="Evaluations" id="evaluations" note="Brackets: 95% intervals over images, each evaluation by itself.">
      <DataTable
        caption="Evaluations of this store"
        hideCaption
        columns={COLUMNS}
        rows={all}
        rowKey={({ name }) => name}
        isCurrent={({ name }) => name === current}
        onRow={({ name }) => go(overviewAddress({ name, confidence: null }))}
      />
    </Panel>
  );
}
