/** Removal curves: the score of the class as pixels are changed in the order of the map. */
import { useChecks, useRemovalCurves } from "../../api/queries";
import type { RemovalCurves, RemovalLine } from "../../api/client";
import { ChartFrame, LineChart, type LineSeries } from "../../charts";
import { Loaded, Select } from "../../components";
import type { DataSet } from "../../export";
import { percent, score } from "../../format";
import { useParam } from "../../url";
import { useViewWords } from "./filters";
import { groupBy } from "../../tables";
import { isBaseline, keyOf, layeredName } from "./lines";
import { NoLine } from "./notes";
import { MEASURE_WORDS, measureTitle, seriesDomain } from "./words";

const dataOf = (lines: readonly RemovalLine[]): DataSet => ({
  columns: ["model", "method", "group", "layer", "best_layer", "share", "value", "low", "high"],
  rows: lines.flatMap(({ model, method, group, layer, best_layer: best, points }) =>
    points.map((p) => [model, method, group, layer, best, p.x, p.value, p.low, p.high]),
  ),
});

/** Bands of more lines than that hide each other; what is read off has the intervals all the same. */
const MOST_BANDS = 3;
/** Baselines share a colour: the sort of their dashes tells them apart. */
const DASHES = ["2 3", "8 3 2 3", "6 3"];

export function seriesOf(lines: readonly RemovalLine[]): LineSeries[] {
  let grey = 0;
  return lines.map((line) => {
    const baseline = isBaseline(line);
    if (baseline) grey += 1;
    return {
      key: keyOf(line),
      name: layeredName(line, lines),
      points: line.points.map(({ x, value, low, high, n }) => ({ x, y: value, low, high, n })),
      ...(baseline
        ? { look: { colour: "var(--soft)", dash: DASHES[(grey - 1) % DASHES.length] ?? "", marker: "square" as const }, band: false }
        : { band: lines.length <= MOST_BANDS }),
    };
  });
}

interface PanelProps {
  model: string;
  lines: readonly RemovalLine[];
  measure: string;
}

export function CurvesPanel({ model, lines, measure }: PanelProps) {
  const title = measureTitle(measure);
  const series = seriesOf(lines);
  return (
    <ChartFrame level={3} title={model} name={`${measure}-curves-${model}`} data={() => dataOf(lines)}>
      <LineChart
        label={`${title} curves of ${model}`}
        series={series}
        xLabel="share of the pixels changed"
        yLabel="score of the class"
        xFormat={(x) => percent(x)}
        xTicks={[0, 0.2, 0.4, 0.6, 0.8, 1]}
        yFormat={(y) => score(y, 2)}
        yDomain={seriesDomain(series)}
        markers={false}
        height={300}
      />
    </ChartFrame>
  );
}

function Panels({ answer }: { answer: RemovalCurves }) {
  if (answer.lines.length === 0) return <NoLine />;
  return (
    <div className="checks-panels">
      {[...groupBy(answer.lines, ({ model }) => model)].map(([model, lines]) => (
        <CurvesPanel key={model} model={model} lines={lines} measure={answer.measure} />
      ))}
    </div>
  );
}

export function CurvesView() {
  const known = useChecks().data?.curves ?? [];
  const [asked, setCurve] = useParam("curve");
  const measure = known.includes(asked) ? asked : (known[0] ?? "");
  const answer = useRemovalCurves(
    { ...useViewWords("curves"), ...(measure === "" ? {} : { measure }) },
    { keep: true, enabled: known.length > 0 },
  );
  const options = known.map((name) => ({ value: name, label: measureTitle(name) }));
  return (
    <>
      <div className="checks-filters">
        <Select label="Curves of" value={measure} options={options} onChange={(name) => setCurve(name === known[0] ? "" : name)} />
        <p className="checks-meaning">{MEASURE_WORDS[measure]?.meaning}</p>
      </div>
      <Loaded of={answer}>{(data) => <Panels answer={data} />}</Loaded>
      <p className="note">{answer.data?.note}</p>
    </>
  );
}
