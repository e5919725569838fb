/** Labels of regions: a tree that opens, can be searched, and leaves out what is rare. */
import { useMemo } from "react";

import type { Breakdown, BreakdownLine, Figure } from "../../api/client";
import { exportUrl, useLabels, useStudy } from "../../api/queries";
import { IntervalRows, LoadedChart, hasInterval, type IntervalRow } from "../../charts";
import { Empty, MetricTip, Search, Segmented, Select } from "../../components";
import type { DataSet } from "../../export";
import { metricParts, plural, short } from "../../format";
import { useList, useNumberParam, useParam, useWord } from "../../url";
import { useTitle, useTitles } from "../../components/metric_names";
import { useViewWords } from "./filters";
import { joined } from "./lines";
import { imagesBehind } from "./links";
import { ChoiceNote, LeastField } from "./parts";
import { allPaths, byName, byNumber, growTree, visibleLeaves, type Leaf, type Order } from "./tree";

const FIGURES = ["iou", "recall", "pointing", "coverage"] as const;
const SHAPES = ["tree", "list"] as const;
const ORDERS = ["value", "count", "name"] as const;
const ALL = "*";

type ByLabel = BreakdownLine;

const figureOf = (line: ByLabel, metric: string): Figure | undefined =>
  line.figures.find((figure) => metricParts(figure.metric).metric === metric);

/** Labels of too few regions for an interval, whose score may be anything, come last. */
function orderOf(name: (typeof ORDERS)[number], metric: string): Order<ByLabel> {
  if (name === "name") return byName;
  if (name === "count") return byNumber(({ n }) => n);
  const isSure = (line: ByLabel) => hasInterval(figureOf(line, metric) ?? {});
  const byValue = byNumber<ByLabel>((line) => figureOf(line, metric)?.value ?? null);
  return (a, b) => Number(isSure(b)) - Number(isSure(a)) || byValue(a, b);
}

function dataOf({ lines }: Breakdown): DataSet {
  const beside = ["value", "low", "high", "chance", "ceiling"] as const;
  const names = lines[0]?.figures.map(({ metric }) => metric) ?? [];
  const columns = names.flatMap((name) => beside.map((what) => (what === "value" ? name : `${name} ${what}`)));
  return {
    columns: ["label", "parents", "n", "images", "undefined", ...columns],
    rows: lines.map((line) => [
      ...[line.label, line.parents.join(" | "), line.n, line.images, line.undefined],
      ...line.figures.flatMap((figure) => beside.map((what) => figure[what])),
    ]),
  };
}

interface Fields {
  metric: (typeof FIGURES)[number];
  shape: (typeof SHAPES)[number];
  order: (typeof ORDERS)[number];
  least: number;
  text: string;
}

function rowOf(leaf: Leaf<ByLabel>, answer: Breakdown, metric: string, toggle: (path: string) => void): IntervalRow {
  const { line, path, depth, children, open } = leaf;
  const figure = figureOf(line, metric);
  return {
    key: path,
    label: line.label,
    detail: joined(
      plural(line.n, "region"),
      `on ${plural(line.images, "image")}`,
      line.undefined > 0 ? `${line.undefined} undefined` : "",
    ),
    value: figure?.value ?? null,
    low: figure?.low ?? null,
    high: figure?.high ?? null,
    chance: figure?.chance ?? null,
    ceiling: figure?.ceiling ?? null,
    depth,
    href: imagesBehind(answer.choice, figure?.metric ?? metric, { label: line.label }),
    ...(children > 0 ? { toggle: { open, run: () => toggle(path) } } : {}),
  };
}

function Rows({ answer, fields }: { answer: Breakdown; fields: Fields }) {
  const [open, setOpen] = useList("open");
  const title = useTitle(figureName(answer, fields.metric));
  const { metric, order, least, text } = fields;
  const tree = useMemo(() => growTree(answer.lines, orderOf(order, metric)), [answer, order, metric]);
  const paths = allPaths(tree);
  const opened = new Set(open.includes(ALL) ? paths : open);
  const toggle = (path: string) => {
    const next = new Set(opened);
    if (!next.delete(path)) next.add(path);
    setOpen([...next]);
  };
  const leaves = visibleLeaves(tree, { least, text, open: opened });
  const all = paths.every((path) => opened.has(path));
  return (
    <>
      {paths.length > 0 && (
        <button type="button" className="button quiet" onClick={() => setOpen(all ? [] : [ALL])}>
          {all ? "Close all" : "Open all"}
        </button>
      )}
      {leaves.length === 0 ? (
        <Empty title="No label fits">Search for something else, or allow labels with fewer regions.</Empty>
      ) : (
        <IntervalRows
          label={`${title} by label of regions; each line opens its images`}
          rows={leaves.map((leaf) => rowOf(leaf, answer, metric, toggle))}
          axis={`mean ${title} over regions`}
        />
      )}
    </>
  );
}

const figureName = (answer: Breakdown | undefined, metric: string): string =>
  (answer?.lines[0] && figureOf(answer.lines[0], metric)?.metric) ?? metric;

export function FeaturesView() {
  const study = useStudy().data;
  const titles = useTitles();
  const [metric, setMetric] = useWord("figure", FIGURES, "iou");
  const [shape, setShape] = useWord("shape", SHAPES, "tree");
  const [order, setOrder] = useWord("order", ORDERS, "value");
  const [least, setLeast] = useNumberParam("least", 1);
  const [text, setText] = useParam("find");
  const [at, setAt] = useParam("at");
  const query = { ...useViewWords("features"), percentile: at, ancestors: shape === "tree" };
  const answer = useLabels(query, { keep: true });
  const stops = (study?.percentiles ?? []).map((stop) => ({ value: short(stop), label: `${short(stop)} (top ${short(100 - stop)}%)` }));
  const name = figureName(answer.data, metric);
  return (
    <>
      <div className="dashboard-filters">
        <Search label="Search labels" value={text} onChange={setText} placeholder="window" />
        <LeastField value={least} onChange={setLeast} />
        <Select label="Score" value={metric} options={FIGURES.map((one) => ({ value: one, label: titles.get(one) ?? one }))} onChange={setMetric} />
        {(metric === "iou" || metric === "recall") && (
          <Select label="Percentile" value={at || (metricParts(name).threshold ?? "")} options={stops} onChange={setAt} />
        )}
        <Select label="Order" value={order} options={ORDERS.map((one) => ({ value: one, label: one }))} onChange={setOrder} />
        <Segmented label="Labels as" value={shape} options={SHAPES.map((one) => ({ value: one, label: one }))} onChange={setShape} />
      </div>
      {answer.data && <ChoiceNote choice={answer.data.choice} />}
      <LoadedChart
        of={answer}
        title={
          <>
            <MetricTip name={name} /> by label
          </>
        }
        name="features"
        data={dataOf}
        note={answer.data?.note}
        links={[{ label: "Every label as CSV", href: exportUrl("labels.csv", query) }]}
      >
        {(breakdown) => <Rows answer={breakdown} fields={{ metric, shape, order, least, text }} />}
      </LoadedChart>
    </>
  );
}
