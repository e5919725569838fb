/** The confusion matrix, as it is shown. */

import { count } from "../../format";
import { tellKind } from "./address";
import { BACKGROUND } from "./boxes";

export type Over = "true" | "predicted" | "counts";

export interface Counts {
  readonly labels: readonly string[];
  readonly counts: readonly (readonly number[])[];
}

export interface ShownCell {
  readonly true: string;
  readonly predicted: string;
  readonly count: number;
  /** Of its row, its column or the largest count; null: of nothing. */
  readonly share: number | null;
}

export interface ShownMatrix {
  readonly labels: readonly string[];
  readonly cells: readonly (readonly ShownCell[])[];
  /** How many labels have neither objects nor predictions, and are not shown. */
  readonly empty: number;
}

const sum = (values: readonly number[]): number => values.reduce((all, one) => all + one, 0);

/** Leave out labels of which there is nothing, and say each count as a share. */
export function showMatrix({ labels, counts }: Counts, over: Over): ShownMatrix {
  const rows = counts.map(sum);
  const columns = labels.map((_, j) => sum(counts.map((row) => row[j]!)));
  const kept = labels.map((_, i) => i).filter((i) => rows[i]! + columns[i]! > 0);
  const most = Math.max(0, ...counts.flat());
  const whole = (i: number, j: number): number =>
    over === "true" ? rows[i]! : over === "predicted" ? columns[j]! : most;
  const cell = (i: number, j: number): ShownCell => {
    const count = counts[i]![j]!;
    const of = whole(i, j);
    return { true: labels[i]!, predicted: labels[j]!, count, share: of ? count / of : null };
  };
  return {
    labels: kept.map((i) => labels[i]!),
    cells: kept.map((i) => kept.map((j) => cell(i, j))),
    empty: labels.length - kept.length,
  };
}

export interface Confused {
  readonly true: string;
  readonly predicted: string;
  readonly count: number;
}

/** Labels that are no class: all classes without a row of their own, and nothing. */
const NO_CLASS: readonly string[] = ["Others", BACKGROUND];

/** The confusions between two classes that happen most often. */
export function mostConfused({ labels, counts }: Counts, most: number): Confused[] {
  const found: Confused[] = [];
  labels.forEach((truth, i) => {
    labels.forEach((predicted, j) => {
      const count = counts[i]![j]!;
      const classes = !NO_CLASS.includes(truth) && !NO_CLASS.includes(predicted);
      if (i !== j && count && classes) found.push({ true: truth, predicted, count });
    });
  });
  return found.sort((a, b) => b.count - a.count).slice(0, most);
}

/** How often, and what. */
export const tellCell = (cell: Confused): string => `${count(cell.count)} × ${tellKind(cell)}`;
