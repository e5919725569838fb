/** Ranks by several scores: do they agree? */
import type { Ranking } from "../../api/client";
import { useRanking } from "../../api/queries";
import { HeatTable, LoadedChart, type HeatCell } from "../../charts";
import { Empty, MetricTip } from "../../components";
import type { DataSet } from "../../export";
import { score } from "../../format";
import { go } from "../../url";
import { useTitles } from "../../components/metric_names";
import { useViewWords } from "./filters";
import { joined, layerName, rankName, sharedBy } from "./lines";
import { imagesBehind } from "./links";

const COLUMNS = ["name", "model", "method", "target", "layer", "metric", "value", "rank", "differs from the best"];

function dataOf({ lines }: Ranking): DataSet {
  const rows = lines.flatMap((line) =>
    line.cells.map((cell) => [
      ...[line.name, line.model, line.method, line.target, line.layer],
      ...[cell.metric, cell.value, cell.rank, cell.significant],
    ]),
  );
  return { columns: COLUMNS, rows };
}

/** What a test found, in words. */
export function differsText(significant: boolean | null): string {
  if (significant === null) return "";
  return significant ? "differs from the best beyond chance" : "cannot be told apart from the best";
}

function cellOf(answer: Ranking, row: number, column: number): HeatCell {
  const cell = answer.lines[row]?.cells[column];
  if (!cell) return { value: null };
  const title = joined(`rank ${rankName(cell.rank)}`, `mean ${score(cell.value)}`, differsText(cell.significant));
  return { value: cell.rank, text: score(cell.value, 2), title, marked: cell.significant === true };
}

function Heat({ answer, rule }: { answer: Ranking; rule: string }) {
  const titles = useTitles();
  if (answer.lines.length === 0) return <Empty title="No line fits">Show all models and methods.</Empty>;
  const titleOf = (name: string) => {
    const [metric = name, threshold] = name.split("@");
    return (titles.get(metric) ?? metric) + (threshold === undefined ? "" : `@${threshold}`);
  };
  const pick = (row: number, column: number) => {
    const [line, metric] = [answer.lines[row], answer.metrics[column]];
    if (line && metric !== undefined) go(imagesBehind(line, metric, {}, rule));
  };
  return (
    <HeatTable
      label="Ranks by score; Enter opens the images behind a cell"
      rows={answer.lines.map((line) => ({
        key: joined(line.model, line.method, line.target),
        name: line.name,
        detail: joined(sharedBy(line.models), layerName(line.layer)),
      }))}
      columns={answer.metrics.map((metric) => ({ key: metric, name: titleOf(metric) }))}
      cell={(row, column) => cellOf(answer, row, column)}
      reverse
      format={(rank) => (rank === null ? "unranked" : rankName(rank))}
      scaleLabel="rank: dark is best. Cells show means; * differs from the best beyond chance"
      onPick={pick}
    />
  );
}

export function RankingView() {
  const words = useViewWords("ranking");
  const answer = useRanking(words, { keep: true });
  return (
    <>
      <LoadedChart of={answer} title="Ranks by score" name="ranking" data={dataOf} note={answer.data?.note}>
        {(ranking) => <Heat answer={ranking} rule={String(words.layer ?? "best")} />}
      </LoadedChart>
      {answer.data && (
        <p className="dashboard-terms">
          <span className="soft">What the scores mean:</span>
          {answer.data.metrics.map((metric) => (
            <MetricTip key={metric} name={metric} />
          ))}
        </p>
      )}
    </>
  );
}
