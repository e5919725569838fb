/** What measures, ways and verdicts are called, and what they mean. */
import type { SanityLine } from "../../api/client";
import { selectForAxis, type Domain, type LineSeries } from "../../charts";
import type { Tone } from "../../components";

export type Verdict = SanityLine["verdict"];

export const SIMILARITY_NAMES: Readonly<Record<string, string>> = {
  spearman: "rank correlation",
  ssim: "structural similarity",
  hog: "correlation of gradients (HOG)",
  overlap: "overlap of the top pixels",
};

export const WAY_NAMES: Readonly<Record<string, string>> = {
  full: "all at once",
  "top-down": "from the output down",
  "bottom-up": "from the input up",
  single: "one part alone",
};

export const READING_NAMES: Readonly<Record<string, string>> = {
  signed: "as they are",
  absolute: "by size of values",
};

interface MeasureWords {
  readonly title: string;
  readonly meaning: string;
}

export const MEASURE_WORDS: Readonly<Record<string, MeasureWords>> = {
  deletion: {
    title: "Deletion",
    meaning: "The score of the class as the pixels ranked first are taken away: area under the curve. Low is better.",
  },
  insertion: {
    title: "Insertion",
    meaning: "The score of the class as the pixels ranked first are put onto a blurred image: area under the curve. High is better.",
  },
  road_morf: {
    title: "ROAD, first ranked first",
    meaning: "Pixels ranked first are imputed from their neighbours. Low is better.",
  },
  road_lerf: {
    title: "ROAD, last ranked first",
    meaning: "The same from the other end: pixels ranked last are replaced first. High is better.",
  },
  pixel_flipping: {
    title: "Pixel flipping",
    meaning: "The score of the class as pixels are flipped in the order of the map. Low is better.",
  },
  infidelity: {
    title: "Infidelity",
    meaning: "How far the map is from telling what random changes of the image do to the score. Low is better.",
  },
  max_sensitivity: {
    title: "Max-sensitivity",
    meaning: "How much the map changes, at most, when the image changes a little. Low is better.",
  },
  faithfulness_correlation: {
    title: "Faithfulness correlation",
    meaning: "Whether sets of pixels with more of the map cost more of the score when they are taken away. High is better.",
  },
  completeness: {
    title: "Completeness",
    meaning: "How far the sum of the map is from what the model's score changes by. Only for methods that promise it; zero is best.",
  },
  random_logit: {
    title: "Random logit",
    meaning: "How similar the map stays when another class is explained. Low is better.",
  },
};

export const measureTitle = (name: string): string => MEASURE_WORDS[name]?.title ?? name;
export const similarityName = (name: string): string => SIMILARITY_NAMES[name] ?? name;

export const VERDICT_TONES: Readonly<Record<Verdict, Tone>> = {
  pass: "good",
  fail: "bad",
  "cannot tell": "doubt",
};

export const VERDICT_COLOURS: Readonly<Record<Verdict, string>> = {
  pass: "var(--green)",
  fail: "var(--vermillion)",
  "cannot tell": "var(--orange)",
};

/** Before names, since colour never stands alone. */
export const VERDICT_SIGNS: Readonly<Record<Verdict, string>> = { pass: "✓", fail: "✗", "cannot tell": "?" };

export const VERDICT_SAYS: Readonly<Record<Verdict, string>> = {
  pass: "without what it learnt, the model's map is no more similar than the map of another image",
  fail: "the map stays much the same without what the model learnt",
  "cannot tell": "too few images or draws to say",
};

/** How many lines have each verdict, in the order of the verdicts. */
export function verdictCounts(lines: readonly { verdict: Verdict }[]): { verdict: Verdict; count: number }[] {
  const order: readonly Verdict[] = ["pass", "fail", "cannot tell"];
  return order.map((verdict) => ({ verdict, count: lines.filter((line) => line.verdict === verdict).length }));
}

/** Whether a difference to the random map is surely good, surely bad, or neither. */
export function againstRandom(line: {
  difference_low: number | null;
  difference_high: number | null;
  better: "higher" | "lower" | "zero";
}): "better" | "worse" | "alike" | "unknown" {
  const { difference_low: low, difference_high: high, better } = line;
  if (low === null || high === null) return "unknown";
  if (low <= 0 && high >= 0) return "alike";
  return low > 0 === (better === "higher") ? "better" : "worse";
}

/** A stage as short as an axis needs it. */
export function stageTick(name: string): string {
  const layer = /^layer\s?(\d+)$/.exec(name);
  if (layer) return `L${layer[1]}`;
  if (name === "embedding") return "emb.";
  return name.length <= 7 ? name : `${name.slice(0, 5)}…`;
}

/** The y axis of lines with intervals, and of marks that have none by nature: 0 to 1, or beyond. */
export function seriesDomain(series: readonly LineSeries[], marks: readonly LineSeries[] = []): Domain {
  const points = series.flatMap((one) => one.points.map((point) => ({ ...point, band: one.band ?? true })));
  const held = selectForAxis(points).flatMap(({ y, low, high, band }) => (band ? [y, low, high] : [y]));
  return unitDomain([...held, ...marks.flatMap((one) => one.points.map(({ y }) => y))]);
}

/** A range from 0 to 1, or beyond where values lie beyond it. */
export function unitDomain(values: readonly (number | null | undefined)[]): Domain {
  const there = values.filter((value): value is number => typeof value === "number");
  const tenths = (value: number, round: (value: number) => number) => round(value * 10 - 1e-9) / 10;
  return [Math.min(0, ...there.map((value) => tenths(value, Math.floor))), Math.max(1, ...there.map((value) => tenths(value, Math.ceil)))];
}
