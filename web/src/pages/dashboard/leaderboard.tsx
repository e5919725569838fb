/** Models and methods, the best first, baselines among them. */
import type { Leaderboard, LeaderboardLine } from "../../api/client";
import { exportUrl, useLeaderboard } from "../../api/queries";
import { IntervalRows, LoadedChart, type IntervalRow } from "../../charts";
import { Empty, MetricTip } from "../../components";
import type { DataSet } from "../../export";
import { score } from "../../format";
import { useTitle } from "../../components/metric_names";
import { useViewWords } from "./filters";
import { isBaseline, joined, layerName, markNames, rankName, sharedBy } from "./lines";
import { imagesBehind } from "./links";
import type { Looks } from "./looks";
import { useLooks } from "./parts";

const COLUMNS = [
  ...(["rank", "name", "model", "method", "group", "target", "layer", "value", "low", "high"] as const),
  ...(["median", "std", "chance", "random", "ceiling", "uniform", "corrected", "beside", "beside_value"] as const),
  ...(["n", "undefined", "chosen"] as const),
];

const dataOf = (board: Leaderboard): DataSet => ({
  columns: COLUMNS,
  rows: board.lines.map((line) => COLUMNS.map((column) => line[column])),
});

function rowOf(line: LeaderboardLine, metric: string, rule: string, looks: Looks): IntervalRow {
  const baseline = isBaseline(line);
  return {
    key: joined(line.model, line.method, line.target),
    label: `${rankName(line.rank)}. ${line.name}`,
    detail: joined(
      line.beside === null ? "" : `${line.beside} ${score(line.beside_value)}`,
      line.random === null ? "" : `random ranking ${score(line.random)}`,
      baseline ? "baseline" : "",
      sharedBy(line.models),
      layerName(line.layer),
      line.undefined > 0 ? `${line.undefined} undefined` : "",
    ),
    value: line.value,
    low: line.low,
    high: line.high,
    chance: line.chance ?? line.uniform,
    ceiling: line.ceiling,
    colour: baseline ? "var(--soft)" : looks(line.model).colour,
    hollow: baseline,
    href: imagesBehind(line, metric, {}, rule),
  };
}

export function LeaderboardView() {
  const words = useViewWords("leaderboard");
  const answer = useLeaderboard(words, { keep: true });
  const metric = answer.data?.metric ?? "";
  const title = useTitle(metric);
  const looks = useLooks();
  const rule = String(words.layer ?? "best");
  const heading = (
    <>
      Leaderboard{metric !== "" && " by "}
      {metric !== "" && <MetricTip name={metric} />}
    </>
  );
  return (
    <LoadedChart
      of={answer}
      title={heading}
      name="leaderboard"
      data={dataOf}
      note={answer.data?.note}
      links={[{ label: "Every line as CSV", href: exportUrl("leaderboard.csv", { metric: words.metric, layer: words.layer }) }]}
    >
      {(board) => {
        if (board.lines.length === 0) return <Empty title="No line fits">Show all models and methods.</Empty>;
        const rows = board.lines.map((line) => rowOf(line, board.metric, rule, looks));
        const label = `Leaderboard by ${title}; each line opens its images`;
        return (
          <>
            {board.best_baseline && <p className="dashboard-summary">{board.best_baseline.sentence}</p>}
            <IntervalRows label={label} rows={rows} names={markNames(board.lines)} axis={`mean ${title} over images`} />
          </>
        );
      }}
    </LoadedChart>
  );
}
