/** Differences between models: which survive labels that are missing at random. */
import { useMemo } from "react";

import { ChartFrame, IntervalPlot, LineChart } from "../../charts";
import { Chip, DataTable, ExportMenu, Panel, tableData, Tip, type Column } from "../../components";
import { percent, pValue, signed } from "../../format";
import { useParam } from "../../url";
import { bandData, bandSeries } from "./bands";
import { numberOf, wordOf, type Line } from "./records";
import { doubtOf, pairKey, pairMethod, shortener } from "./report";

const nameOfPair = (line: Line): string => `${wordOf(line, "a")} − ${wordOf(line, "b")}`;

function layersOf(line: Line): string {
  const layers = [...new Set([wordOf(line, "layer_a"), wordOf(line, "layer_b")].filter(Boolean))];
  return layers.length ? `, layer ${layers.join(" / ")}` : "";
}

const methodText = (line: Line): string => `${pairMethod(line)}${layersOf(line)}`;

/** A difference with its interval over images. */
function Difference({ line, name }: { line: Line; name: string }) {
  const value = numberOf(line, name);
  const [low, high] = (name === "difference" ? ["low", "high"] : [`${name}_low`, `${name}_high`]).map((key) => numberOf(line, key));
  return (
    <span className="score stacked">
      <b className={value === null ? "missing" : undefined}>{signed(value)}</b>
      {typeof low === "number" && typeof high === "number" && (
        <small>
          {signed(low)} to {signed(high)}
        </small>
      )}
    </span>
  );
}

const difference = (key: string, title: Column<Line>["title"]): Column<Line> => ({
  key,
  title,
  align: "right",
  value: (line) => numberOf(line, key),
  render: (line) => <Difference line={line} name={key} />,
});

function columnsOf(gold: boolean): readonly Column<Line>[] {
  return [
    { key: "pair", title: "a − b", value: nameOfPair },
    { key: "method", title: "Method", value: methodText },
    difference("difference", <Tip text="Difference of the means over images, with its 95% interval over images.">Δ IoU</Tip>),
    {
      key: "p_holm",
      title: <Tip text="Sign-flip test over images, corrected for all pairs (Holm).">p (Holm)</Tip>,
      align: "right",
      value: (line) => numberOf(line, "p_holm"),
      render: (line) => pValue(numberOf(line, "p_holm")),
    },
    {
      key: "p_dropout",
      title: <Tip text="Permutation test with 30% of the labels left out at random: median over the draws.">p, 30% left out</Tip>,
      align: "right",
      value: (line) => numberOf(line, "p_dropout"),
      render: (line) => pValue(numberOf(line, "p_dropout")),
    },
    difference("recall", <Tip text="Mean per image. Never to be read without IoU or coverage.">Δ region recall</Tip>),
    difference("label_recall", "Δ label recall"),
    difference("coverage", "Δ coverage"),
    {
      key: "same_sign",
      title: <Tip text="Share of the draws that keep the sign with half of the labels left out at random.">Sign kept</Tip>,
      align: "right",
      value: (line) => numberOf(line, "same_sign"),
      render: (line) => percent(numberOf(line, "same_sign"), 1),
    },
    ...(gold ? [difference("joined", "Δ gold + rest")] : []),
    {
      key: "verdict",
      title: "What can be said",
      value: (line) => wordOf(line, "verdict"),
      render: (line) => <Verdict verdict={wordOf(line, "verdict")} />,
    },
  ];
}

function Verdict({ verdict }: { verdict: string }) {
  const doubt = doubtOf(verdict);
  return <Chip tone={doubt === "none" ? "plain" : doubt}>{verdict}</Chip>;
}

/** The pair whose bands are drawn: as asked, else the largest difference that was shown. */
export function shownPair(verdicts: readonly Line[], asked: string): Line | undefined {
  const found = verdicts.find((line) => pairKey(line) === asked);
  if (found) return found;
  const size = (line: Line) => Math.abs(numberOf(line, "difference") ?? 0);
  const sorted = [...verdicts].sort((a, b) => size(b) - size(a));
  return sorted.find((line) => wordOf(line, "verdict") !== "no difference shown") ?? sorted[0];
}

interface PairsProps {
  verdicts: readonly Line[];
  deltas: readonly Line[];
  metric: string;
}

const KEYS = ["a", "b", "method", "target", "difference"];

/** How the difference of one pair fares as labels are left out. */
function PairBand({ pair, deltas, metric }: { pair: Line; deltas: readonly Line[]; metric: string }) {
  const key = pairKey(pair);
  const lines = useMemo(() => deltas.filter((line) => pairKey(line) === key), [deltas, key]);
  const series = useMemo(
    () => bandSeries(lines, "difference", { drawn: "mean of the draws, with its sensitivity band", whole: "difference with all labels" }),
    [lines],
  );
  return (
    <ChartFrame
      level={3}
      title={`${nameOfPair(pair)}: ${pairMethod(pair)}`}
      name="difference-under-dropout"
      data={() => bandData(lines, [...KEYS, "same_sign", "significant"])}
      note="A sensitivity band (the middle 19 of 20 draws), not a confidence interval. The same labels are left out for both models."
    >
      <LineChart
        label={`Difference of ${nameOfPair(pair)} as labels are left out, with its sensitivity band`}
        series={series}
        xLabel="Share of the labels left out"
        yLabel={`Δ ${metric}`}
        xFormat={(rate) => percent(rate)}
        yFormat={(y) => signed(y)}
        include={[0]}
        chance={null}
        xTicks={lines.map((line) => numberOf(line, "rate") ?? 0)}
      />
    </ChartFrame>
  );
}

interface PlotProps {
  verdicts: readonly Line[];
  current: string;
  metric: string;
  onPick: (key: string) => void;
}

function PairPlot({ verdicts, current, metric, onPick }: PlotProps) {
  const short = shortener(verdicts.flatMap((line) => [wordOf(line, "a"), wordOf(line, "b")]));
  const lines = verdicts.map((line) => ({
    key: pairKey(line),
    name: `${short(wordOf(line, "a"))} − ${short(wordOf(line, "b"))}`,
    detail: `· ${pairMethod(line)}`,
    value: numberOf(line, "difference"),
    low: numberOf(line, "low"),
    high: numberOf(line, "high"),
    n: numberOf(line, "n"),
    current: pairKey(line) === current,
  }));
  return (
    <ChartFrame
      level={3}
      title={`Δ ${metric} with all labels`}
      name="differences"
      data={() => tableData(columnsOf(true), verdicts)}
      note="Intervals are over images and ignore missing labels. Pick a line to see what gaps do to it."
    >
      <IntervalPlot
        label={`Differences in ${metric} between models`}
        lines={lines}
        xLabel={`Δ ${metric}`}
        format={(value) => signed(value)}
        reference={0}
        onPick={({ key }) => onPick(key)}
      />
    </ChartFrame>
  );
}

const FEW = 12;

/** What can be said of the differences between models. */
export function Pairs({ verdicts, deltas, metric }: PairsProps) {
  const [asked, setAsked] = useParam("pair");
  const [verdict, setVerdict] = useParam("verdict");
  if (!verdicts.length) return null;
  const kinds = [...new Set(verdicts.map((line) => wordOf(line, "verdict")))];
  const kept = kinds.includes(verdict) ? verdicts.filter((line) => wordOf(line, "verdict") === verdict) : verdicts;
  const pair = shownPair(kept, asked);
  const columns = columnsOf(verdicts.some((line) => numberOf(line, "joined") !== null));
  const counted = (kind: string) => verdicts.filter((line) => wordOf(line, "verdict") === kind).length;
  return (
    <Panel
      title="Do differences between models survive missing labels?"
      id="pairs"
      tools={<ExportMenu name="differences-between-models" data={() => tableData(columns, verdicts)} />}
    >
      <p>
        The same labels are left out at random for both models, and images are resampled. A difference survives if it is
        significant with all labels (Holm-corrected sign-flip p ≤ 0.05) and keeps its sign in 19 of 20 draws with half of
        the labels gone. Where coverage or recall prefer the other model, one that looks at unlabelled instances{" "}
        <b>cannot be told apart from</b> one that looks at wrong places without a gold set.
      </p>
      {kinds.length > 1 && (
        <div className="chips" role="group" aria-label="Show pairs of which can be said">
          <Chip pressed={!kinds.includes(verdict)} onClick={() => setVerdict("")}>
            all ({verdicts.length})
          </Chip>
          {kinds.map((kind) => (
            <Chip key={kind} pressed={kind === verdict} onClick={() => setVerdict(kind === verdict ? "" : kind)}>
              {kind} ({counted(kind)})
            </Chip>
          ))}
        </div>
      )}
      <DataTable
        caption="Differences between models, and what can be said of them"
        hideCaption
        columns={columns}
        rows={kept}
        rowKey={pairKey}
        onRow={(line) => setAsked(pairKey(line))}
        isCurrent={(line) => pair !== undefined && pairKey(line) === pairKey(pair)}
        shown={FEW}
      />
      <div className="grid-2 sparsity-charts">
        <PairPlot verdicts={kept} current={pair ? pairKey(pair) : ""} metric={metric} onPick={(key) => setAsked(key)} />
        {pair && <PairBand pair={pair} deltas={deltas} metric={metric} />}
      </div>
    </Panel>
  );
}

