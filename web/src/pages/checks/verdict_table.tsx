/** The verdicts as a table: ours, and what the guide's rule says. */
import type { Sanity, SanityLine } from "../../api/client";
import { Chip, DataTable, ExportMenu, Link, Panel, Tip, type Column, type Tone } from "../../components";
import { interval, score, signed } from "../../format";
import { cascadeOf, sanityData } from "./links";
import { checkedLayer, keyOf, nameAmong } from "./lines";
import { VERDICT_SAYS, VERDICT_TONES } from "./words";

const GUIDE_TONES: Readonly<Record<string, Tone>> = { reliable: "good", between: "doubt", unreliable: "bad" };

function WithInterval({ value, low, high }: { value: string; low: number | null; high: number | null }) {
  return (
    <span className="score">
      <b>{value}</b> <small>{interval(low, high)}</small>
    </span>
  );
}

const number = (key: "cross" | "edge" | "training", title: string, text: string): Column<SanityLine> => ({
  key,
  title: <Tip text={text}>{title}</Tip>,
  value: (line) => line[key],
  align: "right",
  sortable: false,
});

function columnsOf(lines: readonly SanityLine[]): Column<SanityLine>[] {
  return [
    {
      key: "method",
      title: "Method",
      value: (line) => nameAmong(line, lines),
      render: (line) => (
        <>
          <Link href={cascadeOf(line)}>{nameAmong(line, lines)}</Link> <small className="soft">{checkedLayer(line)}</small>
        </>
      ),
    },
    {
      key: "verdict",
      title: "Verdict",
      value: (line) => line.verdict,
      render: (line) => (
        <Chip tone={VERDICT_TONES[line.verdict]} title={VERDICT_SAYS[line.verdict]}>
          {line.verdict}
        </Chip>
      ),
    },
    {
      key: "difference",
      title: "Difference",
      value: (line) => line.difference,
      render: (line) => (
        <WithInterval value={signed(line.difference)} low={line.difference_low} high={line.difference_high} />
      ),
      align: "right",
      sortable: false,
    },
    {
      key: "similarity",
      title: "Similarity",
      value: (line) => line.similarity,
      render: (line) => <WithInterval value={score(line.similarity)} low={line.low} high={line.high} />,
      align: "right",
      sortable: false,
    },
    number("cross", "Other image", "How similar the maps of two images are."),
    number("edge", "Edges", "How similar the map is to the edges of its image."),
    number("training", "Other training", "How similar the map of the same network is, trained from another seed."),
    {
      key: "guide",
      title: <Tip text="A common rule of thumb: a similarity below 0.3 is reliable, above 0.6 unreliable. It has no intervals.">Guide’s rule</Tip>,
      value: (line) => line.guide,
      render: (line) => (
        <>
          {line.guide !== "" && <Chip tone={GUIDE_TONES[line.guide]}>{line.guide}</Chip>}{" "}
          {line.cascade !== "" && <small className="soft">cascade: {line.cascade}</small>}
        </>
      ),
    },
    {
      key: "images",
      title: "Images × draws",
      value: (line) => line.images,
      render: (line) => `${line.images} × ${line.seeds}`,
      align: "right",
      sortable: false,
    },
  ];
}

/** All numbers behind the verdicts. */
export function VerdictTable({ answer }: { answer: Sanity }) {
  const { lines } = answer;
  const columns = columnsOf(lines);
  const tools = <ExportMenu name="sanity-verdicts" data={() => sanityData(answer)} />;
  return (
    <Panel title="Verdicts in numbers" tools={tools} note={answer.note} id="verdicts">
      <DataTable columns={columns} rows={lines} rowKey={keyOf} caption="Verdicts, with the guide’s rule beside them" hideCaption />
    </Panel>
  );
}
