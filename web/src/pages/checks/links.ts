/** Where verdicts lead to, and what of them is saved. */
import type { Sanity, SanityLine } from "../../api/client";
import type { DataSet } from "../../export";
import { here, to } from "../../url";

/** The cascade of a line, by the same measure. */
export function cascadeOf({ model, method, target }: SanityLine): string {
  const { params } = here();
  const kept = { similarity: params.get("similarity"), reading: params.get("reading") };
  return to.checks({ view: "cascade", model, method, target, ...kept });
}

const COLUMNS = [
  ...(["model", "method", "target", "layer", "best_layer", "similarity", "low", "high", "cross", "difference"] as const),
  ...(["difference_low", "difference_high", "verdict", "guide", "cascade", "edge", "training", "images", "seeds"] as const),
];

export const sanityData = ({ lines }: Sanity): DataSet => ({
  columns: COLUMNS,
  rows: lines.map((line) => COLUMNS.map((column) => line[column])),
});
