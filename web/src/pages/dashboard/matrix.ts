/** Heads by labels: which are shown, in which order, and how cells are coloured. */
import { score } from "../../format";

export interface Matrix {
  readonly labels: readonly string[];
  /** Regions of each label. */
  readonly counts: readonly number[];
  /** Layer and head of each line. */
  readonly heads: readonly (readonly number[])[];
  readonly values: readonly (readonly (number | null)[])[];
}

export const HEAD_ORDERS = ["layer", "best"] as const;
export type HeadOrder = (typeof HEAD_ORDERS)[number];

export const MATRIX_SCALES = ["label", "score", "chance"] as const;
/** label: against the best head of each label; score: one scale for all cells; chance: as a multiple of it. */
export type MatrixScale = (typeof MATRIX_SCALES)[number];

export interface Arranged {
  /** Places of labels and heads in the answer. */
  readonly labels: readonly number[];
  readonly heads: readonly number[];
}

export interface MatrixWanted {
  readonly least: number;
  readonly text: string;
  readonly order: HeadOrder;
}

const places = (length: number): number[] => Array.from({ length }, (_, place) => place);

/** The best value of each label over all heads; null where none has one. */
export function bestByLabel(matrix: Matrix): (number | null)[] {
  return places(matrix.labels.length).map((label) => {
    const there = matrix.values.flatMap((line) => line[label] ?? []);
    return there.length === 0 ? null : Math.max(...there);
  });
}

const shareOf = (value: number | null | undefined, top: number | null | undefined): number | null => {
  if (value === null || value === undefined) return null;
  return typeof top === "number" && top > 0 ? Math.max(0, value) / top : 0;
};

function meanShares(matrix: Matrix, labels: readonly number[]): number[] {
  const tops = bestByLabel(matrix);
  return matrix.values.map((line) => {
    const shares = labels.flatMap((label) => shareOf(line[label], tops[label]) ?? []);
    return shares.length === 0 ? -1 : shares.reduce((sum, share) => sum + share, 0) / shares.length;
  });
}

/** What is shown: labels by count, the most frequent first; heads by layer or by what they find. */
export function arrange(matrix: Matrix, wanted: MatrixWanted): Arranged {
  const text = wanted.text.trim().toLowerCase();
  const count = (label: number) => matrix.counts[label] ?? 0;
  const labels = places(matrix.labels.length)
    .filter((label) => count(label) >= wanted.least)
    .filter((label) => matrix.labels[label]?.toLowerCase().includes(text))
    .sort((a, b) => count(b) - count(a) || a - b);
  const heads = places(matrix.heads.length);
  if (wanted.order === "best") {
    const shares = meanShares(matrix, labels);
    heads.sort((a, b) => (shares[b] ?? -1) - (shares[a] ?? -1) || a - b);
  }
  return { labels, heads };
}

/** How often chance a value is; null where there is no chance to speak of. */
export function timesChance(value: number | null, chance: number | null): number | null {
  return value === null || chance === null || chance <= 0 ? null : value / chance;
}

export interface Colours {
  /** The number by which a cell is coloured. */
  readonly at: (head: number, label: number) => number | null;
  readonly domain: readonly [number, number];
  /** That number in words, at the ends of the scale. */
  readonly format: (value: number | null) => string;
}

const MOST_DOUBLINGS = 3;

/** Doublings of chance, cut off so that one odd cell does not pale all others. */
function doublings(value: number | null, chance: number | null): number | null {
  const times = timesChance(value, chance);
  if (times === null) return null;
  return times <= 0 ? -MOST_DOUBLINGS : Math.min(MOST_DOUBLINGS, Math.max(-MOST_DOUBLINGS, Math.log2(times)));
}

const timesName = (value: number | null): string => {
  if (value === null) return score(null);
  return value < 0 ? `1/${2 ** -value}` : `${2 ** value}×`;
};

/** How all cells are coloured. */
export function coloursOf(matrix: Matrix, scale: MatrixScale, chances: ReadonlyMap<string, number>): Colours {
  const value = (head: number, label: number) => matrix.values[head]?.[label] ?? null;
  if (scale === "chance") {
    const chance = (label: number) => chances.get(matrix.labels[label] ?? "") ?? null;
    return {
      at: (head, label) => doublings(value(head, label), chance(label)),
      domain: [-MOST_DOUBLINGS, MOST_DOUBLINGS],
      format: timesName,
    };
  }
  const tops = bestByLabel(matrix);
  if (scale === "label") {
    const at = (head: number, label: number) => shareOf(value(head, label), tops[label]);
    return { at, domain: [0, 1], format: (share) => score(share, 1) };
  }
  const top = Math.max(0, ...tops.flatMap((one) => one ?? []));
  return { at: value, domain: [0, top > 0 ? top : 1], format: (one) => score(one) };
}
