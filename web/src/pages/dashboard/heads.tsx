/** Heads of one model: where they sit, and which do best. */
import type { HeadLine, HeadRanking } from "../../api/client";
import { exportUrl, useHeads } from "../../api/queries";
import { ChartFrame, HeatTable, IntervalRows, type IntervalRow } from "../../charts";
import { Checkbox, Loaded, MetricTip } from "../../components";
import type { DataSet } from "../../export";
import { interval, score } from "../../format";
import { go, useFlag } from "../../url";
import { useTitle } from "../../components/metric_names";
import { useHeadWords } from "./head_words";
import { distinct, joined, rankName } from "./lines";
import { imagesBehind } from "./links";
import { ChoiceNote } from "./parts";

const FIRST = 16;
const COLUMNS = ["rank", "layer", "head", "value", "low", "high", "chance", "ceiling", "n", "undefined"] as const;

const dataOf = ({ lines }: HeadRanking): DataSet => ({
  columns: COLUMNS,
  rows: lines.map((line) => COLUMNS.map((column) => line[column])),
});

const behind = ({ choice, metric }: HeadRanking, { layer, head }: { layer: number; head: number }): string =>
  imagesBehind({ ...choice, layer, head }, metric);

function rowOf(answer: HeadRanking, line: HeadLine): IntervalRow {
  return {
    key: `${line.layer} ${line.head}`,
    label: `${rankName(line.rank)}. layer ${line.layer}, head ${line.head}`,
    detail: line.undefined ? `${line.undefined} undefined` : "",
    value: line.value,
    low: line.low,
    high: line.high,
    chance: line.chance,
    ceiling: line.ceiling,
    href: behind(answer, line),
  };
}

/** A cell for each head, so that one sees whether good heads sit early or late. */
function HeadGrid({ answer }: { answer: HeadRanking }) {
  const numbers = (values: readonly number[]) => distinct(values).sort((a, b) => a - b);
  const layers = numbers(answer.lines.map(({ layer }) => layer));
  const heads = numbers(answer.lines.map(({ head }) => head));
  const at = (row: number, column: number) =>
    answer.lines.find(({ layer, head }) => layer === layers[row] && head === heads[column]);
  const titleOf = (line: HeadLine) =>
    joined(
      `${score(line.value)} ${interval(line.low, line.high)}`.trim(),
      `rank ${rankName(line.rank)}`,
      line.chance === null ? "" : `chance ${score(line.chance)}`,
      line.ceiling === null ? "" : `ceiling ${score(line.ceiling)}`,
    );
  return (
    <HeatTable
      label="Score of each head by layer; Enter opens the images behind a cell"
      rows={layers.map((layer) => ({ key: String(layer), name: `layer ${layer}` }))}
      columns={heads.map((head) => ({ key: String(head), name: `head ${head}` }))}
      cell={(row, column) => {
        const line = at(row, column);
        return line ? { value: line.value, title: titleOf(line) } : { value: null, title: "not stored" };
      }}
      onPick={(row, column) => {
        const line = at(row, column);
        if (line) go(behind(answer, line));
      }}
      scaleLabel="dark is high"
    />
  );
}

export function HeadsView() {
  const words = useHeadWords("heads");
  const answer = useHeads(words, { keep: true });
  const [all, setAll] = useFlag("all");
  const title = useTitle(answer.data?.metric ?? "");
  return (
    <Loaded of={answer}>
      {(ranking) => (
        <>
          <ChoiceNote choice={ranking.choice} />
          <div className="dashboard-panels">
            <ChartFrame level={3} title="Where the heads sit" name="heads-by-layer" data={() => dataOf(ranking)}>
              <HeadGrid answer={ranking} />
            </ChartFrame>
            <ChartFrame
              level={3}
              title={<><MetricTip name={ranking.metric} /> by head, the best first</>}
              name="heads"
              data={() => dataOf(ranking)}
              note={ranking.note}
              links={[{ label: "Every head as CSV", href: exportUrl("heads.csv", words) }]}
              tools={
                ranking.lines.length > FIRST && (
                  <Checkbox label={`All ${ranking.lines.length}`} checked={all} onChange={setAll} />
                )
              }
            >
              <IntervalRows
                label={`${title} by head; each line opens its images`}
                rows={(all ? ranking.lines : ranking.lines.slice(0, FIRST)).map((line) => rowOf(ranking, line))}
                axis={`mean ${title} over images`}
              />
            </ChartFrame>
          </div>
        </>
      )}
    </Loaded>
  );
}
