/** Scores by layer: one panel for each method, or for each model. */
import type { Progression, ProgressionLine } from "../../api/client";
import { useProgression } from "../../api/queries";
import { ChartFrame, LineChart, selectForAxis, type Domain, type LineSeries } from "../../charts";
import { Empty, Loaded, Segmented, useMetricInfo } from "../../components";
import type { DataSet } from "../../export";
import { score } from "../../format";
import { go, useWord } from "../../url";
import { bestPoint, nameInPanel, panelsOf, sharedCurve, sharedDomain, type Curves, type PanelsBy } from "./curves";
import { useTitle } from "../../components/metric_names";
import { useViewWords } from "./filters";
import { distinct, isBaseline, joined, sharedBy } from "./lines";
import { imagesBehind } from "./links";
import { useLooks } from "./parts";

export const PANELS: readonly PanelsBy[] = ["method", "model"];

const COLUMNS = ["model", "method", "target", "layer", "value", "low", "high", "chance", "ceiling", "n", "undefined"];

function dataOf(lines: readonly ProgressionLine[]): DataSet {
  const rows = lines.flatMap((line) =>
    line.points.map((p) => [
      ...[line.model, line.method, line.target, line.layered ? p.x : null],
      ...[p.value, p.low, p.high, p.chance, p.ceiling, p.n, p.undefined],
    ]),
  );
  return { columns: COLUMNS, rows };
}

const keyOf = (line: ProgressionLine) => joined(line.model, line.method, line.target);

/** What has no layers stands beside every layer: a level line. */
function levelSeries(line: ProgressionLine, last: number): LineSeries {
  const y = line.points[0]?.value ?? null;
  const points = [...new Set([0, last])].map((x) => ({ x, y }));
  return { key: keyOf(line), name: joined(line.name, sharedBy(line.models)), points, baseline: true };
}

/** Layers that are stored; a study need not ask for all. */
const ticksOf = (lines: readonly ProgressionLine[]): number[] =>
  distinct(lines.flatMap(({ points }) => points.map(({ x }) => x))).sort((a, b) => a - b);

interface PanelProps {
  panel: Curves;
  by: PanelsBy;
  metric: string;
  baselines: readonly ProgressionLine[];
  yDomain: Domain;
}

function LayerPanel({ panel, by, metric, baselines, yDomain }: PanelProps) {
  const looks = useLooks();
  const title = useTitle(metric);
  const lower = useMetricInfo(metric)?.direction === "lower";
  const last = Math.max(...panel.lines.flatMap((line) => line.points.map(({ x }) => x)));
  const series = panel.lines.map((line) => ({
    key: keyOf(line),
    name: nameInPanel(line, by, panel),
    points: line.points.map(({ value, ...rest }) => ({ ...rest, y: value })),
    ...(by === "method" ? { look: looks(line.model) } : {}),
  }));
  const all = [...panel.lines, ...baselines];
  const pick = (x: number, picked: LineSeries | null) => {
    const line = all.find((one) => keyOf(one) === picked?.key);
    if (line) go(imagesBehind({ ...line, layer: line.layered ? x : null }, metric));
  };
  const best = bestPoint(selectForAxis(panel.lines.flatMap((line) => line.points)), lower);
  const count = new Set(panel.lines.flatMap((line) => line.points.map((point) => point.x))).size;
  const extreme = `${lower ? "lowest" : "highest"}${count > 1 ? ` of ${count} layers` : ""}`;
  const marks = best?.value == null ? [] : [{ x: best.x, y: best.value, text: `${extreme}: layer ${best.x}, ${score(best.value)}` }];
  return (
    <ChartFrame level={3} title={panel.title} name={`layers-${panel.title}`} data={() => dataOf(all)}>
      <LineChart
        label={`${title} by layer, ${panel.title}. Enter opens the images behind a point`}
        series={[...series, ...baselines.map((line) => levelSeries(line, last))]}
        xLabel="layer"
        yLabel={title}
        xTicks={ticksOf(panel.lines)}
        yDomain={yDomain}
        chance={sharedCurve(panel.lines, ({ chance }) => chance).map(({ x, value }) => ({ x, y: value }))}
        marks={marks}
        onPick={pick}
      />
    </ChartFrame>
  );
}

function Panels({ answer, by }: { answer: Progression; by: PanelsBy }) {
  const lines = answer.lines.filter((line) => line.layered);
  const baselines = answer.lines.filter((line) => isBaseline(line) && !line.layered);
  const panels = panelsOf(lines, by);
  if (panels.length === 0) {
    return <Empty title="No maps by layer">The methods shown have no layers, or the study kept none apart.</Empty>;
  }
  const yDomain = sharedDomain([...lines, ...baselines], ["chance"]);
  return (
    <div className="dashboard-panels">
      {panels.map((panel) => (
        <LayerPanel key={panel.title} {...{ panel, by, baselines, yDomain }} metric={answer.metric} />
      ))}
    </div>
  );
}

/** Methods that no panel can show. */
function withoutLayers(answer: Progression | undefined): string {
  const names = answer?.lines.filter((line) => !line.layered && !isBaseline(line)).map(({ name }) => name) ?? [];
  return names.length === 0 ? "" : `; without layers, and on the leaderboard alone: ${names.join(", ")}`;
}

export function LayersView() {
  const answer = useProgression(useViewWords("layers"), { keep: true });
  const [by, setBy] = useWord("panels", PANELS, "method");
  return (
    <>
      <div className="dashboard-filters">
        <PanelsField by={by} onChange={setBy} />
      </div>
      <Loaded of={answer}>{(data) => <Panels answer={data} by={by} />}</Loaded>
      <p className="note">
        {answer.data?.note}
        {withoutLayers(answer.data)}
      </p>
    </>
  );
}

export function PanelsField({ by, onChange }: { by: PanelsBy; onChange: (by: PanelsBy) => void }) {
  const options = PANELS.map((name) => ({ value: name, label: name }));
  return <Segmented label="A panel for each" value={by} options={options} onChange={onChange} />;
}
