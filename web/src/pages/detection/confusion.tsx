import type { Confusion as Counts, Detection } from "../../api/client";
import { ChartFrame, HeatTable } from "../../charts";
import { Empty, Link, Segmented } from "../../components";
import { percent, plural } from "../../format";
import { go, useWord } from "../../url";
import { imagesAddress, type At } from "./address";
import { atConfidence } from "./confidence";
import { mostConfused, showMatrix, tellCell, type Over, type ShownCell } from "./matrix";

const OVERS = ["true", "predicted", "counts"] as const;
const OVER_WORDS: Record<Over, string> = {
  true: "share of the objects of the true class",
  predicted: "share of the predictions of the class",
  counts: "share of the largest count",
};
const MOST = 5;

const inWords = (cell: ShownCell, over: Over): string => {
  const share = over === "counts" || cell.share === null ? "" : ` (${percent(cell.share)})`;
  return `${tellCell(cell)}${share}`;
};

interface MatrixProps {
  at: At;
  evaluation: Detection;
}

/** The confusions that happen most, as links to their images. */
function Commonest({ at, evaluation, confusion }: MatrixProps & { confusion: Counts }) {
  const found = mostConfused(confusion, MOST);
  if (!found.length) return <p>No class was taken for another.</p>;
  return (
    <p>
      Most often:{" "}
      {found.map((one, i) => (
        <span key={`${one.true} ${one.predicted}`}>
          {i > 0 && "; "}
          {evaluation.boxes ? (
            <Link href={imagesAddress(at, { cell: one, state: null })}>{tellCell(one)}</Link>
          ) : (
            tellCell(one)
          )}
        </span>
      ))}
      .
    </p>
  );
}

/** What each object was taken for; a cell opens the images behind it. */
export function ConfusionMatrix({ at, evaluation }: MatrixProps) {
  const [over, setOver] = useWord<Over>("over", OVERS, "true");
  const { confusion } = evaluation;
  if (!confusion) return null;
  const shown = showMatrix(confusion, over);
  const named = shown.labels.map((name) => ({ key: name, name }));
  const cellAt = (row: number, column: number): ShownCell => shown.cells[row]![column]!;
  const open = (row: number, column: number) => {
    const cell = cellAt(row, column);
    const behind = { cell: { true: cell.true, predicted: cell.predicted }, state: null };
    if (cell.count) go(imagesAddress(at, behind));
  };
  const data = () => ({
    columns: ["true", "predicted", "count", "share"],
    rows: shown.cells.flat().filter(({ count }) => count > 0).map((cell) => [cell.true, cell.predicted, cell.count, cell.share]),
  });
  const note = [
    `Rows: what is there. Columns: what was predicted, at ${atConfidence(evaluation)} and IoU ${evaluation.iou}.`,
    "Background as a column: missed; as a row: predicted where there is nothing.",
    evaluation.boxes ? "Pick a cell to see its images." : "Boxes were not stored, so that cells open no images.",
    shown.empty ? `${plural(shown.empty, "label")} without objects or predictions ${shown.empty === 1 ? "is" : "are"} left out.` : "",
  ];
  return (
    <ChartFrame
      id="confusion"
      title="Confusion matrix"
      name={`${evaluation.name}-confusion`}
      data={data}
      note={note.filter(Boolean).join(" ")}
      tools={
        <Segmented
          label="Colour by"
          value={over}
          options={[
            { value: "true", label: "share of true" },
            { value: "predicted", label: "share of predicted" },
            { value: "counts", label: "counts" },
          ]}
          onChange={(next) => setOver(next)}
        />
      }
    >
      <Commonest at={at} evaluation={evaluation} confusion={confusion} />
      {shown.labels.length === 0 ? (
        <Empty title="Nothing to count">There are neither objects nor predictions at this confidence.</Empty>
      ) : (
        <HeatTable
          label={`Confusion matrix of ${evaluation.name}`}
          rows={named}
          columns={named}
          columnLabel="predicted"
          domain={[0, 1]}
          cell={(row, column) => {
            const cell = cellAt(row, column);
            return { value: cell.share, text: cell.count ? String(cell.count) : "", title: inWords(cell, over) };
          }}
          format={(share) => percent(share)}
          onPick={evaluation.boxes ? open : undefined}
          scaleLabel={OVER_WORDS[over]}
          size={22}
          textFrom={20}
        />
      )}
    </ChartFrame>
  );
}
