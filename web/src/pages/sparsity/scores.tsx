/** Scores side by side, the same on each set of labels, and IoU corrected for what is not labelled. */
import { ChartFrame, IntervalPlot, intervalData, niceDomain, selectForAxis, type Domain, type IntervalLine } from "../../charts";
import { DataTable, ExportMenu, MetricTip, Panel, Score, tableData, Tip, type Column } from "../../components";
import { percent, score } from "../../format";
import { groupBy } from "../../tables";
import { numberOf, wordOf, type Line } from "./records";
import { isBaseline, joinBaselines, keyOf, nameOf, shortener, type Scores } from "./report";
import { Missing } from "./words";

const shownName = ({ line, models }: Scores): string =>
  models > 1 ? nameOf(line).replace(wordOf(line, "model"), `${models} models`) : nameOf(line);

const number = (
  key: string,
  title: Column<Scores>["title"],
  render: (value: number | null) => string,
): Column<Scores> => ({
  key,
  title,
  align: "right",
  value: ({ line }) => numberOf(line, key),
  render: ({ line }) => render(numberOf(line, key)),
});

const times = (value: number | null): string => (value === null ? score(null) : `${value.toFixed(2)}×`);

const columnsOf = (metric: string): readonly Column<Scores>[] => [
  { key: "line", title: "Line", value: shownName },
  {
    key: "iou",
    title: <MetricTip name={metric} />,
    align: "right",
    value: ({ line }) => numberOf(line, "iou"),
    render: ({ line }) => (
      <Score value={numberOf(line, "iou")} low={numberOf(line, "low")} high={numberOf(line, "high")} chance={numberOf(line, "chance")} stacked />
    ),
  },
  number("share", <Tip text="Share of the largest IoU that is possible at these areas. Diffuse maps get much of it by chance.">of ceiling</Tip>, (value) => percent(value)),
  {
    key: "coverage",
    title: <MetricTip name="coverage" />,
    align: "right",
    value: ({ line }) => numberOf(line, "coverage"),
    render: ({ line }) => <Score value={numberOf(line, "coverage")} chance={numberOf(line, "coverage_chance")} stacked />,
  },
  number("pointing", <MetricTip name="pointing" />, (value) => score(value, 2)),
  number("region_iou", "Region IoU", (value) => score(value)),
  number("region_recall", <Tip text="How much of a region is selected. Selecting everything looks perfect: read it only together with IoU or coverage. The mean over regions.">Region recall</Tip>, (value) => score(value)),
  number("label_recall", <Tip text="The same as a mean over images and labels: each label of an image weighs the same, however many instances it has.">Label recall</Tip>, (value) => score(value)),
  number("region_lift", <Tip text="Recall over the selected share of the image: how many times more than by chance.">Region lift</Tip>, times),
  number("flagged", <Tip text="Share of the regions where metrics disagree as missing labels would make them.">Flagged</Tip>, (value) => percent(value, 1)),
];

/** All lines with all scores. */
export function SideBySide({ lines, metric, note }: { lines: readonly Line[]; metric: string; note: string }) {
  const rows = joinBaselines(lines);
  const columns = columnsOf(metric);
  return (
    <Panel
      title="Scores side by side"
      id="scores"
      tools={<ExportMenu name="scores-side-by-side" data={() => tableData(columns, rows)} />}
      note={note ? `${note[0]!.toUpperCase()}${note.slice(1)}.` : undefined}
    >
      <p>
        IoU, coverage and pointing are of all labels of an image together; region figures of each labelled region alone.
        Recall and lift do not count attention elsewhere as a mistake, so that selecting everything looks perfect: read
        them beside IoU or coverage only. They too fall as unlabelled instances compete for the same selected pixels.
      </p>
      <DataTable
        caption="Scores of all lines"
        hideCaption
        columns={columns}
        rows={rows}
        rowKey={({ line }) => keyOf(line)}
        rowClass={({ line }) => (isBaseline(line) ? "soft" : undefined)}
        shown={15}
      />
    </Panel>
  );
}

const SETS: Record<string, string> = {
  sparse: "sparse: as labelled",
  completed: "completed",
  gold: "gold",
  joined: "joined: gold + rest",
  "joined, these images": "joined, these images only",
};

const scoreLine = ({ line, models }: Scores, short: (name: string) => string): IntervalLine => ({
  key: keyOf(line),
  name: short(shownName({ line, models })),
  value: numberOf(line, "iou"),
  low: numberOf(line, "low"),
  high: numberOf(line, "high"),
  chance: numberOf(line, "chance"),
  n: numberOf(line, "n"),
  baseline: isBaseline(line),
});

const setLine = (line: Line): IntervalLine => ({
  key: wordOf(line, "set"),
  name: SETS[wordOf(line, "set")] ?? wordOf(line, "set"),
  detail: wordOf(line, "reason"),
  value: numberOf(line, "value"),
  low: numberOf(line, "low"),
  high: numberOf(line, "high"),
  n: numberOf(line, "n"),
});

function OneSet({ lines, metric }: { lines: readonly Line[]; metric: string }) {
  const short = shortener(lines.map((line) => wordOf(line, "model")));
  const drawn = joinBaselines(lines).map((scores) => scoreLine(scores, scores.models > 1 ? String : short));
  return (
    <ChartFrame level={3} title="The labels as they are" name="scores-sparse" data={() => intervalData(drawn)}>
      <IntervalPlot label={`${metric} of all lines with the labels as they are`} lines={drawn} xLabel={`Mean ${metric}`} include={[0]} />
    </ChartFrame>
  );
}

/** The axis that all panels share. */
export function setsDomain(sets: readonly Line[]): Domain {
  return niceDomain(selectForAxis(sets.map(setLine)).flatMap(({ value, low, high }) => [value, low, high]));
}

function EverySet({ sets, metric }: { sets: readonly Line[]; metric: string }) {
  const domain = setsDomain(sets);
  return (
    <div className="grid-2 sparsity-charts">
      {[...groupBy(sets, keyOf).entries()].map(([key, lines]) => {
        const drawn = lines.map(setLine);
        const name = nameOf(lines[0]!);
        return (
          <ChartFrame key={key} level={3} title={name} name={`sets-${name}`} data={() => intervalData(drawn)}>
            <IntervalPlot label={`${name}: ${metric} on each set of labels`} lines={drawn} xLabel={`Mean ${metric}`} domain={domain} />
          </ChartFrame>
        );
      })}
    </div>
  );
}

interface SetsProps {
  sets: readonly Line[];
  lines: readonly Line[];
  metric: string;
  missing: readonly string[];
}

/** The same maps on every set of labels, and how to get those that are missing. */
export function Sets({ sets, lines, metric, missing }: SetsProps) {
  const there = new Set(sets.map((line) => wordOf(line, "set")));
  const alone = there.size <= 1;
  return (
    <Panel title="Results on every set of labels" id="sets">
      <p>
        Mean {metric} of the same maps, with 95% intervals over images.
        {there.has("joined") &&
          " “Joined” corrects the many scores by the few gold ones (prediction-powered inference): right whatever the other labels are worth, provided that the gold images were drawn at random."}
      </p>
      {alone ? <OneSet lines={lines} metric={metric} /> : <EverySet sets={sets} metric={metric} />}
      <Missing missing={missing} />
    </Panel>
  );
}

/** A range from 0 to 1 with the score as it is. */
function RangeBar({ low, high, value }: { low: number; high: number; value: number | null }) {
  const at = (share: number) => `${100 * Math.min(1, Math.max(0, share))}%`;
  return (
    <span className="sparsity-range" aria-hidden="true">
      <i style={{ left: at(low), width: at(high - low) }} />
      {value !== null && <em style={{ left: at(value) }} />}
    </span>
  );
}

function Corrected({ line }: { line: Line }) {
  const [low, high, corrected] = ["low", "high", "corrected"].map((key) => numberOf(line, key));
  if (typeof low !== "number" || typeof high !== "number") return <span className="missing">{score(null)}</span>;
  return (
    <span className="score stacked">
      <b>{typeof corrected === "number" ? score(corrected) : `${score(low)} to ${score(high)}`}</b>
      {typeof corrected === "number" && <small>95% interval {score(low)} to {score(high)}</small>}
      <RangeBar low={low} high={high} value={numberOf(line, "iou")} />
    </span>
  );
}

const PU_COLUMNS: readonly Column<Line>[] = [
  { key: "line", title: "Line", value: nameOf },
  { key: "iou", title: "IoU as scored", align: "right", value: (line) => numberOf(line, "iou") },
  { key: "corrected", title: "Corrected", align: "right", value: (line) => numberOf(line, "corrected"), render: (line) => <Corrected line={line} />, sortable: false },
  { key: "by", title: "From", value: (line) => wordOf(line, "by") },
  {
    key: "overlap",
    title: <Tip text="Share of the regions' area that lies in more than one region; much of it makes the corrected IoU too high.">Overlap</Tip>,
    align: "right",
    value: (line) => numberOf(line, "overlap"),
    render: (line) => percent(numberOf(line, "overlap")),
  },
];

const puData = (lines: readonly Line[]) => ({
  columns: ["line", "iou", "corrected", "low", "high", "from", "overlap", "n"],
  rows: lines.map((line) => [
    nameOf(line),
    ...["iou", "corrected", "low", "high"].map((key) => numberOf(line, key)),
    wordOf(line, "by"),
    numberOf(line, "overlap"),
    numberOf(line, "n"),
  ]),
});

/** IoU corrected for unlabelled instances. */
export function CorrectedIou({ pu }: { pu: readonly Line[] }) {
  if (!pu.length) return null;
  const ranged = pu.some((line) => numberOf(line, "corrected") === null);
  return (
    <Panel title="IoU corrected for unlabelled instances" id="corrected" tools={<ExportMenu name="corrected-iou" data={() => puData(pu)} />}>
      <p>
        This holds only if the labelled instances were chosen at random, and instances of one kind on one image are of
        similar size and do not overlap; it is rough even then.
        {ranged && " How many instances are labelled is not known here: the corrected IoU is a range over labelling frequencies, not an interval. The upright mark is the IoU as scored."}
      </p>
      <DataTable caption="IoU corrected for unlabelled instances" hideCaption columns={PU_COLUMNS} rows={pu} rowKey={keyOf} shown={10} />
    </Panel>
  );
}
