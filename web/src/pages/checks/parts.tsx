/** Deciding parts: on drawn facades the true answer is known. */
import type { Parts, PartsLine } from "../../api/client";
import { useParts } from "../../api/queries";
import { ChartFrame, IntervalRows, type IntervalRow } from "../../charts";
import { Loaded, Segmented } from "../../components";
import type { DataSet } from "../../export";
import { useWord } from "../../url";
import { BackgroundPanel } from "./background";
import { useViewWords } from "./filters";
import { groupBy } from "../../tables";
import { checkedLayer, dotted, isBaseline, keyOf, nameAmong } from "./lines";
import { NoLine } from "./notes";

const FIGURES = ["ap", "precision", "recall"] as const;
type PartsFigure = (typeof FIGURES)[number];

const FIGURE_NAMES: Readonly<Record<PartsFigure, string>> = {
  ap: "average precision",
  precision: "precision",
  recall: "recall",
};
const FIGURE_SAYS: Readonly<Record<PartsFigure, string>> = {
  ap: "Average precision of the parts in the order of the map: do deciding ones come first?",
  precision: "Of the three kinds of part that the map ranks first: the share that decides.",
  recall: "Of the kinds of part that decide: the share among as many that the map ranks first.",
};

const ENDS = ["", "_low", "_high"] as const;
const NUMBERS = [...FIGURES, "base" as const].flatMap((name) => ENDS.map((end) => `${name}${end}` as const));
const COLUMNS = ["model", "method", "group", "target", "layer", "best_layer", ...NUMBERS, "images"] as const;

export const partsData = (lines: readonly PartsLine[]): DataSet => ({
  columns: COLUMNS,
  rows: lines.map((line) => COLUMNS.map((column) => line[column])),
});

/** Chance is the share of parts that decide: for precision, and nearly for the others. */
export function partsRow(line: PartsLine, lines: readonly PartsLine[], figure: PartsFigure): IntervalRow {
  const baseline = isBaseline(line);
  return {
    key: keyOf(line),
    label: nameAmong(line, lines, false),
    detail: dotted(baseline ? "baseline" : "", checkedLayer(line)),
    value: line[figure],
    low: line[`${figure}_low`],
    high: line[`${figure}_high`],
    chance: line.base,
    colour: baseline ? "var(--soft)" : "var(--blue)",
    hollow: baseline,
  };
}

function Panels({ answer, figure }: { answer: Parts; figure: PartsFigure }) {
  if (answer.lines.length === 0) return <NoLine />;
  return (
    <div className="checks-panels">
      {[...groupBy(answer.lines, ({ model }) => model)].map(([model, lines]) => (
        <ChartFrame key={model} level={3} title={model} name={`deciding-parts-${model}`} data={() => partsData(lines)}>
          <IntervalRows
            label={`${FIGURE_NAMES[figure]} over parts, ${model}`}
            rows={lines.map((line) => partsRow(line, lines, figure))}
            axis={`${FIGURE_NAMES[figure]} over parts`}
            domain={[0, 1]}
          />
        </ChartFrame>
      ))}
    </div>
  );
}

export function PartsView() {
  const answer = useParts(useViewWords("parts"), { keep: true });
  const [figure, setFigure] = useWord("figure", FIGURES, "ap");
  const options = FIGURES.map((value) => ({ value, label: FIGURE_NAMES[value] }));
  return (
    <>
      <div className="checks-filters">
        <Segmented label="Figure" value={figure} options={options} onChange={setFigure} />
        <p className="checks-meaning">{FIGURE_SAYS[figure]}</p>
      </div>
      <Loaded of={answer}>{(data) => <Panels answer={data} figure={figure} />}</Loaded>
      <p className="note">{answer.data?.note}</p>
      <BackgroundPanel />
    </>
  );
}
