/** Layer to layer: how much the maps of one layer and the next agree. */
import type { LayerChanges, LayerChangesLine } from "../../api/client";
import { useLayerChanges } from "../../api/queries";
import { ChartFrame, LineChart, type LineSeries } from "../../charts";
import { Empty, Loaded } from "../../components";
import type { DataSet } from "../../export";
import { useViewWords } from "./filters";
import { groupBy } from "../../tables";
import { nameAmong } from "./lines";
import { seriesDomain } from "./words";

const dataOf = (lines: readonly LayerChangesLine[]): DataSet => ({
  columns: ["model", "method", "target", "layer", "next", "spearman", "low", "high", "images"],
  rows: lines.flatMap(({ model, method, target, points }) =>
    points.map((p) => [model, method, target, p.layer, p.next, p.spearman, p.low, p.high, p.images]),
  ),
});

export function changesSeries(line: LayerChangesLine, lines: readonly LayerChangesLine[]): LineSeries {
  return {
    key: `${line.method} ${line.target}`,
    name: nameAmong(line, lines, false),
    points: line.points.map(({ layer, spearman, low, high, images }) => ({ x: layer, y: spearman, low, high, n: images })),
  };
}

export function Panels({ answer }: { answer: LayerChanges }) {
  if (answer.lines.length === 0) {
    return <Empty title="No maps by layer">The methods shown have no layers, or the study kept none apart.</Empty>;
  }
  return (
    <div className="checks-panels">
      {[...groupBy(answer.lines, ({ model }) => model)].map(([model, lines]) => {
        const series = lines.map((line) => changesSeries(line, lines));
        const nexts = new Map(lines.flatMap(({ points }) => points.map(({ layer, next }) => [layer, next] as const)));
        return (
          <ChartFrame key={model} level={3} title={model} name={`layer-changes-${model}`} data={() => dataOf(lines)}>
            <LineChart
              label={`Rank correlation of the maps of one layer and the next, ${model}`}
              series={series}
              xLabel="from layer"
              yLabel="rank correlation to the next layer"
              xTicks={[...nexts.keys()].sort((a, b) => a - b)}
              xRead={(x) => `layer ${x} to ${nexts.get(x) ?? x + 1}`}
              yDomain={seriesDomain(series)}
              legend
            />
          </ChartFrame>
        );
      })}
    </div>
  );
}

export function LayersView() {
  const answer = useLayerChanges(useViewWords("layers"), { keep: true });
  return (
    <>
      <Loaded of={answer}>{(data) => <Panels answer={data} />}</Loaded>
      <p className="note">{answer.data?.note}</p>
    </>
  );
}
