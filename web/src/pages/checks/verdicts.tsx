/** Verdicts: whether maps change when what the model learnt is drawn anew. */
import type { Sanity, SanityLine } from "../../api/client";
import { useSanity } from "../../api/queries";
import { ChartFrame, IntervalRows, niceDomain, selectForAxis, type Domain, type IntervalRow } from "../../charts";
import { Caution, Chip, Loaded } from "../../components";
import { useRandomised } from "./filters";
import { cascadeOf, sanityData } from "./links";
import { dotted, keyOf, layerText, nameAmong } from "./lines";
import { NoLine } from "./notes";
import { VerdictTable } from "./verdict_table";
import { similarityName, verdictCounts, VERDICT_COLOURS, VERDICT_SAYS, VERDICT_SIGNS, VERDICT_TONES, WAY_NAMES } from "./words";

export function differenceRow(line: SanityLine, lines: readonly SanityLine[]): IntervalRow {
  return {
    key: keyOf(line),
    label: `${VERDICT_SIGNS[line.verdict]} ${nameAmong(line, lines)}`,
    detail: dotted(line.verdict, layerText(line.layer)),
    value: line.difference,
    low: line.difference_low,
    high: line.difference_high,
    colour: VERDICT_COLOURS[line.verdict],
    hollow: line.verdict === "cannot tell",
    href: cascadeOf(line),
  };
}

export function similarityRow(line: SanityLine, lines: readonly SanityLine[]): IntervalRow {
  return {
    ...differenceRow(line, lines),
    value: line.similarity,
    low: line.low,
    high: line.high,
    chance: line.cross,
    ceiling: line.edge,
  };
}

const REACH = 0.4;

/** The axis of rows; ends of wide intervals lie beyond it, and are drawn as arrows. */
export function axisOf(rows: readonly IntervalRow[], include: readonly number[]): Domain {
  const values = [...selectForAxis(rows).map(({ value }) => value), ...rows.flatMap(({ chance, ceiling }) => [chance, ceiling])];
  const there = [...values, ...include].filter((value): value is number => typeof value === "number");
  const [least, most] = [Math.min(...there) - REACH, Math.max(...there) + REACH];
  const ends = rows.flatMap(({ low, high }) => [low, high]).map((end) => (typeof end === "number" ? Math.min(most, Math.max(least, end)) : null));
  return niceDomain([...there, ...ends]);
}

function Counts({ lines }: { lines: readonly SanityLine[] }) {
  return (
    <ul className="checks-counts">
      {verdictCounts(lines).map(({ verdict, count }) => (
        <li key={verdict}>
          <Chip tone={VERDICT_TONES[verdict]}>
            {VERDICT_SIGNS[verdict]} {verdict}: {count}
          </Chip>{" "}
          <span className="soft">{VERDICT_SAYS[verdict]}</span>
        </li>
      ))}
    </ul>
  );
}

/** Why nobody should be ranked by this. */
function NoRanking() {
  return (
    <Caution>
      <p>
        <b>Verdicts do not rank methods.</b> To pass says that a map is not the same without the model; it does not say
        that it is right. Redrawing the upper layers leaves what the lower ones see, so maps of faithful methods may stay
        similar as well; and noisy maps fall to nothing faster (Binder et al. 2023).
      </p>
    </Caution>
  );
}

function Answer({ answer }: { answer: Sanity }) {
  const { lines, measure, way } = answer;
  if (lines.length === 0) return <NoLine />;
  const name = similarityName(measure);
  const drawn = WAY_NAMES[way] ?? way;
  const data = () => sanityData(answer);
  const differences = lines.map((line) => differenceRow(line, lines));
  const similarities = lines.map((line) => similarityRow(line, lines));
  return (
    <>
      <Counts lines={lines} />
      <NoRanking />
      <div className="checks-panels">
        <ChartFrame
          title="More similar than the map of another image?"
          name="sanity-differences"
          data={data}
          note="Similarity of maps of the trained and of the randomised network, less that of maps of two images. Fails: the interval lies above 0.1; passes: it lies below. A line opens its cascade."
        >
          <IntervalRows
            label={`${name}: difference to the map of another image; each line opens its cascade`}
            rows={differences}
            domain={axisOf(differences, [0, 0.1])}
            axis={`difference in ${name}`}
            limit={{ at: 0.1, text: "0.1" }}
            differences
            verb="show its cascade"
          />
        </ChartFrame>
        <ChartFrame
          title={`How similar, weights redrawn ${drawn}?`}
          name="sanity-similarities"
          data={data}
          note="Above 0.6 a map fails. Marks: how similar maps of two images are, and the map and the edges of its image."
        >
          <IntervalRows
            label={`${name} of maps of the trained and the randomised network`}
            rows={similarities}
            domain={axisOf(similarities, [0, 0.6])}
            axis={name}
            limit={{ at: 0.6, text: "0.6" }}
            names={{ chance: "other image", ceiling: "edges" }}
            verb="show its cascade"
          />
        </ChartFrame>
      </div>
      <VerdictTable answer={answer} />
    </>
  );
}

export function VerdictsView() {
  const answer = useSanity(useRandomised("verdicts"), { keep: true });
  return <Loaded of={answer}>{(data) => <Answer answer={data} />}</Loaded>;
}
