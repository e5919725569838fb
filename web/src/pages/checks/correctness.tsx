/** Right and wrong: whether scores differ where the model predicts the label and where it does not. */
import type { Correctness, CorrectnessLine } from "../../api/client";
import { useCorrectness } from "../../api/queries";
import { ChartFrame, IntervalRows, rankRows, type IntervalRow } from "../../charts";
import { Caution, Loaded, MetricTip, Segmented } from "../../components";
import type { DataSet } from "../../export";
import { score } from "../../format";
import { useWord } from "../../url";
import { useTitle } from "../../components/metric_names";
import { imagesBehind } from "../dashboard/links";
import { ClassPanel, ModelPanel } from "./classes";
import { useViewWords } from "./filters";
import { dotted, isBaseline, keyOf, layerText, nameAmong } from "./lines";
import { NoLine } from "./notes";

const SHOWN = ["adjusted", "difference"] as const;
type Shown = (typeof SHOWN)[number];

const SHOWN_NAMES: Readonly<Record<Shown, string>> = {
  adjusted: "same area and confidence",
  difference: "as it is",
};

/** Images that each side must have for a difference between the two. */
export const FEWEST = 5;

const COLUMNS = [
  ...(["model", "method", "layer", "right", "wrong", "difference", "low", "high"] as const),
  ...(["adjusted", "adjusted_low", "adjusted_high", "right_images", "wrong_images", "reason"] as const),
];

const dataOf = (lines: readonly CorrectnessLine[]): DataSet => ({
  columns: COLUMNS,
  rows: lines.map((line) => COLUMNS.map((column) => line[column])),
});

/** The mean of one side, and over how many images. */
const sideText = (name: string, value: number | null, images: number): string =>
  images === 0 ? `none ${name}` : `${name} ${score(value, 2)} (${images})`;

/** Why a difference has no interval: mostly as one side has few images. */
function reasonOf({ right_images, wrong_images, reason }: CorrectnessLine): IntervalRow["reason"] {
  const least = Math.min(right_images, wrong_images);
  const side = wrong_images <= right_images ? "wrong" : "right";
  const few = least < FEWEST;
  const own = few ? `${least} ${least === 1 ? "image" : "images"} ${side}: too few for an interval` : "no interval can be given";
  return { short: few ? `n = ${least}` : "no interval", text: reason || own };
}

/** A line by its difference; one without an interval has no mark, as it may be anything. */
export function correctnessRow(
  line: CorrectnessLine,
  lines: readonly CorrectnessLine[],
  shown: Shown,
  metric: string,
): IntervalRow {
  const adjusted = shown === "adjusted";
  const [low, high] = adjusted ? [line.adjusted_low, line.adjusted_high] : [line.low, line.high];
  const known = low !== null && high !== null;
  return {
    key: keyOf(line),
    label: nameAmong(line, lines),
    detail: dotted(layerText(line.layer), sideText("right", line.right, line.right_images), sideText("wrong", line.wrong, line.wrong_images)),
    value: !known ? null : adjusted ? line.adjusted : line.difference,
    low,
    high,
    ...(known ? {} : { reason: reasonOf(line) }),
    colour: isBaseline(line) ? "var(--soft)" : "var(--blue)",
    hollow: isBaseline(line),
    href: imagesBehind(line, metric),
  };
}

function Answer({ answer }: { answer: Correctness }) {
  const [shown, setShown] = useWord("difference", SHOWN, "adjusted");
  const title = useTitle(answer.metric);
  const { lines } = answer;
  if (lines.length === 0) return <NoLine />;
  return (
    <>
      <ChartFrame
        title={<><MetricTip name={answer.metric} />: images that the model gets right, less those it gets wrong</>}
        name="right-and-wrong"
        data={() => dataOf(lines)}
        tools={
          <Segmented
            label="Difference"
            value={shown}
            options={SHOWN.map((value) => ({ value, label: SHOWN_NAMES[value] }))}
            onChange={setShown}
          />
        }
        note={answer.note}
      >
        <IntervalRows
          label={`Difference in ${title} between images that the model gets right and wrong; each line opens its images`}
          rows={rankRows(lines.map((line) => correctnessRow(line, lines, shown, answer.metric)))}
          axis={`difference in ${title}`}
          differences
        />
      </ChartFrame>
      {lines.every(({ difference }) => difference === null) && (
        <Caution>
          <p>
            <b>Nothing can be compared here.</b> A difference needs 5 images that the model gets right and 5 that it gets
            wrong; the counts are beside the names.
          </p>
        </Caution>
      )}
      <Caution>
        <p>
          <b>A difference shows plausibility, not faithfulness.</b> Maps that agree with people where the model is right
          may be no truer to the model. Few images that it gets wrong make wide intervals.
        </p>
      </Caution>
      <ModelPanel answer={answer} title={title} />
      <ClassPanel answer={answer} title={title} />
    </>
  );
}

export function CorrectnessView() {
  const answer = useCorrectness(useViewWords("correctness"), { keep: true });
  return <Loaded of={answer} label="Asking the classifiers">{(data) => <Answer answer={data} />}</Loaded>;
}
