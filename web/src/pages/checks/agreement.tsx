/** Agreement: rank correlations of the maps of methods, those that agree standing together. */
import type { AgreementMatrix } from "../../api/client";
import { useAgreement, useImages } from "../../api/queries";
import { HeatTable, LoadedChart, type HeatCell } from "../../charts";
import type { DataSet } from "../../export";
import { interval, plural, score } from "../../format";
import { go } from "../../url";
import { compareBehind } from "../dashboard/links";
import { useViewWords } from "./filters";
import { layerText } from "./lines";
import { NoLine } from "./notes";

function dataOf({ lines, values, low, high, counts }: AgreementMatrix): DataSet {
  const rows = lines.flatMap((one, i) =>
    lines.map((other, j) => [one.name, other.name, values[i]?.[j], low[i]?.[j], high[i]?.[j], counts[i]?.[j]]),
  );
  return { columns: ["one", "other", "correlation", "low", "high", "images"], rows };
}

export function cellOf(answer: AgreementMatrix, row: number, column: number): HeatCell {
  const value = answer.values[row]?.[column] ?? null;
  const ends = interval(answer.low[row]?.[column], answer.high[row]?.[column], 2);
  const images = plural(answer.counts[row]?.[column] ?? 0, "image");
  const said = row === column ? "the same maps" : [score(value), ends, images].filter((part) => part !== "").join(", ");
  return { value, text: score(value, 2), title: said };
}

function Matrix({ answer }: { answer: AgreementMatrix }) {
  const first = useImages({ limit: 1 }).data?.items[0]?.image;
  if (answer.lines.length === 0) return <NoLine />;
  const heads = answer.lines.map(({ name, layer }) => ({ key: name, name, detail: layerText(layer) }));
  const pick = (row: number, column: number) => {
    const [a, b] = [answer.lines[row], answer.lines[column]];
    if (a && b && first !== undefined && row !== column) go(compareBehind(first, a, b, ""));
  };
  return (
    <HeatTable
      label="Agreement of maps; Enter compares two on an image"
      rows={heads}
      columns={heads}
      cell={(row, column) => cellOf(answer, row, column)}
      kind="diverging"
      domain={[-1, 1]}
      format={(value) => score(value, 2)}
      scaleLabel="rank correlation: red agrees, blue contradicts"
      onPick={pick}
    />
  );
}

export function AgreementView() {
  const answer = useAgreement(useViewWords("agreement"), { keep: true });
  return (
    <LoadedChart
      of={answer}
      title="Rank correlation of maps, image by image"
      name="agreement"
      data={dataOf}
      note={
        <>
          {answer.data?.note}. Methods may agree and be wrong together. A cell opens two maps of one image side by side.
        </>
      }
    >
      {(data) => <Matrix answer={data} />}
    </LoadedChart>
  );
}
