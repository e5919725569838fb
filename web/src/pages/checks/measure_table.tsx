/** All measures of all methods: the value, and whether it beats a random map. */
import type { Faithfulness, FaithfulnessLine } from "../../api/client";
import { DataTable, ExportMenu, Panel, Tip, type Column } from "../../components";
import type { DataSet } from "../../export";
import { interval, score, signed } from "../../format";
import { groupBy } from "../../tables";
import { checkedLayer, isBaseline, keyOf, nameAmong } from "./lines";
import { againstRandom, MEASURE_WORDS, measureTitle } from "./words";

const COLUMNS = [
  ...(["model", "method", "group", "target", "layer", "best_layer", "measure", "value", "low", "high", "random"] as const),
  ...(["difference", "difference_low", "difference_high", "better", "images"] as const),
];

export const faithfulnessData = (lines: readonly FaithfulnessLine[]): DataSet => ({
  columns: COLUMNS,
  rows: lines.map((line) => COLUMNS.map((column) => line[column])),
});

interface Row {
  readonly key: string;
  readonly name: string;
  readonly layer: string;
  readonly baseline: boolean;
  readonly by: ReadonlyMap<string, FaithfulnessLine>;
}

/** One row for each model and method, with its lines by measure. */
export function measureRows(lines: readonly FaithfulnessLine[]): Row[] {
  return [...groupBy(lines, keyOf)].map(([key, some]) => {
    const first = some[0]!;
    return {
      key,
      name: nameAmong(first, lines),
      layer: checkedLayer(first),
      baseline: isBaseline(first),
      by: new Map(some.map((line) => [line.measure, line])),
    };
  });
}

const SIGNS = { better: "▲", worse: "▼", alike: "≈", unknown: "" } as const;
const SAYS = {
  better: "better than a random map",
  worse: "worse than a random map",
  alike: "cannot be told apart from a random map",
  unknown: "",
} as const;

function Value({ line }: { line: FaithfulnessLine | undefined }) {
  if (!line || line.value === null) return <span className="soft">undefined</span>;
  const found = isBaseline(line) && line.method === "random" ? "unknown" : againstRandom(line);
  const ends = interval(line.difference_low, line.difference_high);
  const said = found === "unknown" ? "" : `${SAYS[found]}: difference ${signed(line.difference)} ${ends}`;
  return (
    <span title={said} className={`checks-${found}`}>
      {score(line.value)}{" "}
      {found !== "unknown" && (
        <span role="img" aria-label={SAYS[found]}>
          {SIGNS[found]}
        </span>
      )}
    </span>
  );
}

function columnsOf(measures: readonly string[]): Column<Row>[] {
  return [
    {
      key: "method",
      title: "Method",
      value: (row) => row.name,
      render: (row) => (
        <>
          {row.name} <small className="soft">{row.baseline ? "baseline" : row.layer}</small>
        </>
      ),
    },
    ...measures.map((name) => ({
      key: name,
      title: <Tip text={MEASURE_WORDS[name]?.meaning ?? name}>{measureTitle(name)}</Tip>,
      value: (row: Row) => row.by.get(name)?.value ?? null,
      render: (row: Row) => <Value line={row.by.get(name)} />,
      align: "right" as const,
    })),
  ];
}

export function MeasureTable({ answer }: { answer: Faithfulness }) {
  const tools = <ExportMenu name="faithfulness" data={() => faithfulnessData(answer.lines)} />;
  return (
    <Panel title="All measures" tools={tools} note={answer.note} id="measures">
      <p className="checks-key">
        <span className="checks-better">▲ better</span> <span className="checks-worse">▼ worse</span>{" "}
        <span className="checks-alike">≈ cannot be told apart from a random map</span> (95% interval of the difference, paired by
        image)
      </p>
      <DataTable
        columns={columnsOf(answer.measures)}
        rows={measureRows(answer.lines)}
        rowKey={({ key }) => key}
        rowClass={({ baseline }) => (baseline ? "soft" : undefined)}
        caption="Measures of faithfulness by method"
        hideCaption
      />
    </Panel>
  );
}
