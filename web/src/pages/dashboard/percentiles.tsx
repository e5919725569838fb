/** Scores by the share of pixels that is selected. */
import type { ProgressionLine, Sweep } from "../../api/client";
import { useMetricTable, useSweep } from "../../api/queries";
import { ChartFrame, LineChart, type Domain, type LinePoint, type LineSeries } from "../../charts";
import { Empty, Loaded, Select } from "../../components";
import type { DataSet } from "../../export";
import { metricParts, short } from "../../format";
import { go, useParam, useWord } from "../../url";
import { nameInPanel, panelsOf, sharedCurve, sharedDomain, type Curves, type PanelsBy } from "./curves";
import { useTitles } from "../../components/metric_names";
import { useViewWords } from "./filters";
import { PANELS, PanelsField } from "./layers";
import { distinct, isBaseline, joined, layerName, sharedBy } from "./lines";
import { imagesBehind } from "./links";
import { useLooks } from "./parts";

/** Metrics that were stored at several percentiles. */
export function sweptMetrics(stored: readonly string[]): string[] {
  const swept = stored.filter((name) => Number.isFinite(Number(metricParts(name).threshold ?? "none")));
  const names = swept.map((name) => metricParts(name).metric);
  return distinct(names).filter((name) => names.filter((other) => other === name).length > 1);
}

const COLUMNS = ["model", "method", "target", "layer", "percentile", "value", "low", "high", "chance", "ceiling", "n", "undefined"];

function dataOf(lines: readonly ProgressionLine[]): DataSet {
  const rows = lines.flatMap((line) =>
    line.points.map((p) => [
      ...[line.model, line.method, line.target, line.layer, p.x],
      ...[p.value, p.low, p.high, p.chance, p.ceiling, p.n, p.undefined],
    ]),
  );
  return { columns: COLUMNS, rows };
}

const keyOf = (line: ProgressionLine) => joined(line.model, line.method, line.target);

const seriesOf = (line: ProgressionLine, name: string): LineSeries => ({
  key: keyOf(line),
  name,
  points: line.points.map(({ value, ...rest }) => ({ ...rest, y: value })),
});

interface PanelProps {
  panel: Curves;
  by: PanelsBy;
  metric: string;
  title: string;
  rule: string;
  baselines: readonly ProgressionLine[];
  yDomain: Domain;
}

function SweepPanel({ panel, by, metric, title, rule, baselines, yDomain }: PanelProps) {
  const looks = useLooks();
  const named = (line: ProgressionLine) => joined(nameInPanel(line, by, panel), layerName(line.layer));
  const series = panel.lines.map((line) => ({
    ...seriesOf(line, named(line)),
    ...(by === "method" ? { look: looks(line.model) } : {}),
  }));
  const levels = baselines.map((line) => ({
    ...seriesOf(line, joined(line.name, sharedBy(line.models))),
    baseline: true,
  }));
  const all = [...panel.lines, ...baselines];
  const pick = (x: number, picked: LineSeries | null) => {
    const line = all.find((one) => keyOf(one) === picked?.key);
    if (line) go(imagesBehind(line, `${metric}@${short(x)}`, {}, rule));
  };
  const beside = (read: (point: ProgressionLine["points"][number]) => number | null): LinePoint[] =>
    sharedCurve(panel.lines, read).map(({ x, value }) => ({ x, y: value }));
  return (
    <ChartFrame level={3} title={panel.title} name={`percentiles-${panel.title}`} data={() => dataOf(all)}>
      <LineChart
        label={`${title} by percentile, ${panel.title}. Enter opens the images behind a point`}
        series={[...series, ...levels]}
        xLabel="percentile (90: the top 10% of pixels are selected)"
        yLabel={title}
        xTicks={panel.lines[0]?.points.map(({ x }) => x)}
        yDomain={yDomain}
        chance={beside(({ chance }) => chance)}
        ceiling={beside(({ ceiling }) => ceiling)}
        onPick={pick}
      />
    </ChartFrame>
  );
}

interface PanelsProps {
  answer: Sweep;
  by: PanelsBy;
  title: string;
  rule: string;
}

function Panels({ answer, by, title, rule }: PanelsProps) {
  const panels = panelsOf(answer.lines, by);
  if (panels.length === 0) return <Empty title="No line fits">Show all models and methods.</Empty>;
  const yDomain = sharedDomain(answer.lines, ["chance", "ceiling"]);
  const baselines = answer.lines.filter(isBaseline);
  return (
    <div className="dashboard-panels">
      {panels.map((panel) => (
        <SweepPanel key={panel.title} {...{ panel, by, title, rule, baselines, yDomain }} metric={metricParts(answer.metric).metric} />
      ))}
    </div>
  );
}

export function PercentilesView() {
  const swept = sweptMetrics(useMetricTable().data?.stored ?? []);
  const titles = useTitles();
  const [asked, setAsked] = useParam("curve", swept[0] ?? "");
  const [by, setBy] = useWord("panels", PANELS, "method");
  const words = useViewWords("percentiles");
  const answer = useSweep({ ...words, metric: asked }, { keep: true, enabled: asked !== "" });
  if (swept.length === 0) return <Empty title="One threshold alone">The study stored no score at several percentiles.</Empty>;
  const title = titles.get(asked) ?? asked;
  const options = swept.map((name) => ({ value: name, label: titles.get(name) ?? name }));
  return (
    <>
      <div className="dashboard-filters">
        <Select label="Score" value={asked} options={options} onChange={setAsked} />
        <PanelsField by={by} onChange={setBy} />
      </div>
      <Loaded of={answer}>
        {(data) => <Panels answer={data} by={by} title={title} rule={String(words.layer ?? "best")} />}
      </Loaded>
      <p className="note">{answer.data?.note}</p>
    </>
  );
}
