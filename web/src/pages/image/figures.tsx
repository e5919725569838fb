/** Scores of the map with chance, ceiling and the data set beside them. */
import type { Figure, ImageMetrics, RegionInfo } from "../../api/client";
import type { Result } from "../../api/queries";
import { Chip, ErrorNote, ExportMenu, MetricTip, Panel, ScoreBar } from "../../components";
import type { DataSet } from "../../export";
import { interval, metricParts, percent, score } from "../../format";
import type { Rule, ScoreName, Scores } from "../../numeric";
import { chooseRegion, ruleText, threshold } from "./state";

const OWN: readonly ScoreName[] = ["iou", "iou_corrected", "recall", "precision", "lift", "coverage", "pointing"];
const WITHOUT_THRESHOLD: ReadonlySet<ScoreName> = new Set<ScoreName>(["coverage", "pointing"]);

interface Line {
  metric: string;
  value: number | null;
  chance: number | null;
  /** What a uniform map gets, of scores without chance. */
  uniform: number | null;
  ceiling: number | null;
  mean: number | null;
  low: number | null;
  high: number | null;
  n: number | null;
}

interface FiguresProps {
  image: string;
  region: RegionInfo | null;
  /** Why the region that was asked for is not shown; empty: it is. */
  missed: string;
  rule: Rule;
  scores: Scores | null;
  answer: Result<ImageMetrics>;
  /** Whether the answer is about what is shown now. */
  current: boolean;
}

export function Figures({ image, region, missed, rule, scores, answer, current }: FiguresProps) {
  const asked = current ? answer.data : undefined;
  const own = scores ? ownLines(scores, rule, asked) : [];
  const more = asked ? moreLines(asked) : [];
  return (
    <Panel
      title="Figures"
      className="image-figures"
      tools={<ExportMenu name={`${image}-figures`} data={() => dataOf([...own, ...more])} />}
      note={asked?.note}
    >
      <p className="image-figures-of">
        {region ? (
          <Chip tone="region" onRemove={() => chooseRegion(null)} removeLabel="Show all regions together">
            {region.label} · region {region.index}
          </Chip>
        ) : (
          <Chip>All regions together</Chip>
        )}{" "}
        <span className="soft">
          {ruleText(rule)} {scores && <Areas scores={scores} />}
        </span>
      </p>
      {missed !== "" && <p role="status">{missed}</p>}
      {own.length > 0 && <FigureTable lines={own} region={region} known={asked !== undefined} testid="figures" />}
      {answer.error && <ErrorNote error={answer.error} retry={() => void answer.refetch()} />}
      {more.length > 0 && (
        <details className="image-figures-more">
          <summary>More scores ({more.length})</summary>
          <FigureTable lines={more} region={region} known testid="more-figures" />
        </details>
      )}
      {asked?.rank != null && (
        <p className="note">
          IoU is higher than on {percent(asked.rank)} of {region ? `the regions labelled ${region.label}` : "the images"}.
        </p>
      )}
      <Divergence answer={answer} current={current} />
    </Panel>
  );
}

function Areas({ scores }: { scores: Scores }) {
  return (
    <span data-testid="areas" data-selected={scores.attentionArea} data-annotated={scores.annotationArea}>
      ({percent(scores.attentionArea, 2)} selected, {percent(scores.annotationArea, 2)} annotated)
    </span>
  );
}

interface FigureTableProps {
  lines: readonly Line[];
  region: RegionInfo | null;
  /** Whether the service has told the means over all images. */
  known: boolean;
  testid: string;
}

function FigureTable({ lines, region, known, testid }: FigureTableProps) {
  const uniform = lines.some((line) => line.uniform !== null);
  return (
    <table className="data image-figures-table" data-testid={testid}>
      <caption className="hidden">Scores of the map against {region ? region.label : "all regions"}</caption>
      <thead>
        <tr>
          <th scope="col">Score</th>
          <th scope="col" className="number">Value</th>
          <th scope="col" className="number">Chance</th>
          {uniform && <th scope="col" className="number">Uniform map</th>}
          <th scope="col" className="number">Ceiling</th>
          <th scope="col">{region ? `All of ${region.label}` : "All images"}</th>
        </tr>
      </thead>
      <tbody>
        {lines.map((line) => (
          <FigureRow key={line.metric} line={line} known={known} uniform={uniform} />
        ))}
      </tbody>
    </table>
  );
}

function FigureRow({ line, known, uniform }: { line: Line; known: boolean; uniform: boolean }) {
  const cell = (value: number | null, name: string) => (
    <td className={value === null && name === "value" ? "number missing" : "number"} data-figure={name} data-value={value ?? ""}>
      {value === null && name !== "value" ? "–" : score(value)}
    </td>
  );
  return (
    <tr data-metric={line.metric}>
      <th scope="row">
        <MetricTip name={line.metric} />
        <ScoreBar value={barred(line) ? line.value : null} chance={barred(line) ? line.chance : null} ceiling={barred(line) ? line.ceiling : null} />
      </th>
      {cell(line.value, "value")}
      {cell(line.chance, "chance")}
      {uniform && cell(line.uniform, "uniform")}
      {cell(line.ceiling, "ceiling")}
      <td>
        {known ? <AgainstAll line={line} /> : <span className="soft">…</span>}
      </td>
    </tr>
  );
}

/** Lift has no upper end that would fit a bar from 0 to 1. */
function barred({ metric }: Line): boolean {
  return metricParts(metric).metric !== "lift";
}

/** Where this image lies against the mean of all and its interval. */
function AgainstAll({ line }: { line: Line }) {
  const { mean, low, high, n, value } = line;
  if (mean === null) return <span className="soft">not stored</span>;
  const where = value === null || low === null || high === null ? "" : value < low ? "below" : value > high ? "above" : "within";
  return (
    <span className="image-against" title={n === null ? undefined : `mean of ${n}, with its 95% interval`}>
      <b>{score(mean)}</b> <small>{interval(low, high)}</small>
      {where !== "" && <small className="image-where">{where}</small>}
    </span>
  );
}

function Divergence({ answer, current }: { answer: Result<ImageMetrics>; current: boolean }) {
  if (!current || !answer.data || answer.data.divergence === "") return null;
  return (
    <p className="image-divergence" role="note" data-testid="divergence">
      <strong>Metrics disagree.</strong> {answer.data.divergence}
    </p>
  );
}

/** The numbers made here; means come from the service. */
export function ownLines(scores: Scores, rule: Rule, asked: ImageMetrics | undefined): Line[] {
  const figures = new Map(asked?.figures.map((figure) => [figure.metric, figure]));
  return OWN.map((name) => {
    const metric = WITHOUT_THRESHOLD.has(name) ? name : `${name}@${threshold(rule)}`;
    const { value, chance, ceiling } = scores.scores[name];
    return { metric, value: plain(value), chance: plain(chance), uniform: null, ceiling: plain(ceiling), ...meanOf(figures.get(metric)) };
  });
}

/** What the service adds. */
export function moreLines(asked: ImageMetrics): Line[] {
  const known = new Set<string>(OWN);
  return asked.figures.filter(({ metric }) => !known.has(metricParts(metric).metric)).map(lineOf);
}

function lineOf(figure: Figure): Line {
  const { metric, value, chance, uniform, ceiling } = figure;
  return { metric, value, chance, uniform, ceiling, ...meanOf(figure) };
}

function meanOf(figure: Figure | undefined): Pick<Line, "mean" | "low" | "high" | "n"> {
  return { mean: figure?.mean ?? null, low: figure?.low ?? null, high: figure?.high ?? null, n: figure?.n ?? null };
}

function plain(value: number): number | null {
  return Number.isNaN(value) ? null : value;
}

export function dataOf(lines: readonly Line[]): DataSet {
  return {
    columns: ["metric", "value", "chance", "uniform", "ceiling", "mean", "low", "high", "n"],
    rows: lines.map((line) => [line.metric, line.value, line.chance, line.uniform, line.ceiling, line.mean, line.low, line.high, line.n]),
  };
}
