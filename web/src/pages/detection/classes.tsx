import type { Detection, DetectionClass } from "../../api/client";
import { DataTable, ExportMenu, Link, Panel, tableData, Tip, type Column } from "../../components";
import { plural, score } from "../../format";
import { imagesAddress, type At } from "./address";
import { atConfidence } from "./confidence";

const truths = ({ tp, fn }: DetectionClass): number | null => (tp === null || fn === null ? null : tp + fn);

/** Whether there is anything of a class: a true box or a prediction. */
export const isThere = ({ tp, fp, fn, ap }: DetectionClass): boolean =>
  ap !== null || (tp ?? 0) + (fp ?? 0) + (fn ?? 0) > 0;

/** Classes with the most true boxes first. */
export const byTruths = (classes: readonly DetectionClass[]): DetectionClass[] =>
  [...classes].sort((a, b) => (truths(b) ?? 0) - (truths(a) ?? 0));

const number = (
  key: string,
  title: Column<DetectionClass>["title"],
  value: (one: DetectionClass) => number | null,
  digits?: number,
): Column<DetectionClass> => ({
  key,
  title,
  align: "right",
  value,
  render: (one) => (digits === undefined ? (value(one) ?? "–") : score(value(one), digits)),
});

function columnsOf(evaluation: Detection, place: At): readonly Column<DetectionClass>[] {
  const at = `at ${atConfidence(evaluation)}`;
  const opened = (one: DetectionClass, count: number | null, cell: { true: string; predicted: string }) =>
    count && evaluation.boxes ? (
      <Link href={imagesAddress(place, { cell, state: null })} aria-label={`${count} ${one.name}: images`}>
        {count}
      </Link>
    ) : (
      (count ?? "–")
    );
  return [
    { key: "class", title: "Class", value: ({ name }) => name },
    number("objects", "Objects", truths),
    number("AP", <Tip text="Mean over IoU .50 to .95.">AP</Tip>, ({ ap }) => ap, 2),
    number("AP50", "AP50", ({ ap50 }) => ap50, 2),
    number("precision", <Tip text={`Share of its predictions that are right, ${at}.`}>Precision</Tip>, ({ precision }) => precision, 2),
    number("recall", <Tip text={`Share of its objects that are found, ${at}.`}>Recall</Tip>, ({ recall }) => recall, 2),
    number("f1", "F1", ({ f1 }) => f1, 2),
    { ...number("TP", "TP", ({ tp }) => tp), render: (one) => opened(one, one.tp, { true: one.name, predicted: one.name }) },
    number("FP", "FP", ({ fp }) => fp),
    number("FN", "FN", ({ fn }) => fn),
    number("best_f1", <Tip text="The highest F1 of any confidence.">Best F1</Tip>, ({ best_f1 }) => best_f1, 2),
    number("best_confidence", "from confidence", ({ best_confidence }) => best_confidence, 2),
  ];
}

interface ClassesProps {
  at: At;
  evaluation: Detection;
  chosen: ReadonlySet<string>;
  onChoose: (name: string) => void;
}

/** A line for each class; picking one draws its curve. */
export function Classes({ at, evaluation, chosen, onChoose }: ClassesProps) {
  const rows = byTruths(evaluation.classes.filter(isThere));
  const columns = columnsOf(evaluation, at);
  const left = evaluation.classes.length - rows.length;
  const note =
    `Counts, precision, recall and F1 are at ${atConfidence(evaluation)} and IoU ${evaluation.iou}. ` +
    "Pick a class to draw its curve." +
    (left ? ` ${plural(left, "class", "classes")} without objects or predictions ${left === 1 ? "is" : "are"} not listed.` : "");
  return (
    <Panel
      title="Classes"
      id="classes"
      note={note}
      tools={<ExportMenu name={`${evaluation.name}-classes`} data={() => tableData(columns, rows)} />}
    >
      <DataTable
        caption="Classes"
        hideCaption
        columns={columns}
        rows={rows}
        rowKey={({ key }) => key}
        isCurrent={({ name }) => chosen.has(name)}
        onRow={({ name }) => onChoose(name)}
        shown={12}
      />
    </Panel>
  );
}
