/** Lines of tables: what is said of them. */
import { MARK_NAMES, type MarkNames } from "../../charts";

interface Grouped {
  readonly group: string;
}

export const isBaseline = ({ group }: Grouped): boolean => group === "baseline";

/** A layer in words; layers count from 0, and halves of the images may have different ones. */
export function layerName(layer: number | string | null | undefined): string {
  if (layer === null || layer === undefined || layer === "") return "";
  const parts = String(layer).split("|");
  return parts.length > 1 ? `layers ${parts.join(" and ")} by halves` : `layer ${layer}`;
}

/** What is said of a line that is the same for several models. */
export const sharedBy = (models: number): string => (models > 1 ? `same for ${models} models` : "");

/** Words with commas between; empty ones are left out. */
export const joined = (...parts: readonly (string | undefined)[]): string =>
  parts.filter((part) => part !== undefined && part !== "").join(", ");

/** Names in the order in which they first appear. */
export const distinct = <T>(values: readonly T[]): T[] => [...new Set(values)];

/** A rank in words: shared ranks are halves where their number is even. */
export const rankName = (rank: number | null): string =>
  rank === null ? "unranked" : Number.isInteger(rank) ? `${rank}` : rank.toFixed(1);

/** What the marks of lines stand for: where a score has no chance, the first is a uniform map's. */
export function markNames(lines: readonly { readonly chance: number | null; readonly uniform: number | null }[]): MarkNames {
  const uniform = lines.some(({ chance, uniform }) => chance === null && uniform !== null);
  return uniform ? { ...MARK_NAMES, chance: "uniform map" } : MARK_NAMES;
}
