/** Numbers about prototypes: bins, cells of the table of drops, what is said of them. Pure. */
import type { PrototypeEffect, PrototypeLine, PrototypeRelevance } from "../../api/client";
import type { HeatCell } from "../../charts";
import type { DataSet } from "../../export";
import { interval, percent, plural, signed } from "../../format";

export interface Bin {
  readonly from: number;
  readonly to: number;
  readonly count: number;
}

/** How many values lie in each of some equal parts of 0 to 1; 1 itself belongs to the last. */
export function binned(values: readonly (number | null)[], parts = 20): Bin[] {
  const counts = Array.from({ length: parts }, () => 0);
  for (const value of values) {
    if (value === null || !(value >= 0 && value <= 1)) continue;
    const at = Math.min(parts - 1, Math.floor(value * parts));
    counts[at] = (counts[at] ?? 0) + 1;
  }
  return counts.map((count, at) => ({ from: at / parts, to: (at + 1) / parts, count }));
}

export const MEASURES = ["energy_relevance", "mask_relevance"] as const;
export type Measure = (typeof MEASURES)[number];
export const MEASURE_WORDS: Readonly<Record<Measure, string>> = {
  energy_relevance: "energy relevance",
  mask_relevance: "mask relevance",
};
export const KIND_WORDS: Readonly<Record<PrototypeRelevance["kind"], string>> = {
  prototype: "Prototypes",
  patch: "Patches of images",
};

export const SHOWN = ["difference", "focused", "dual"] as const;
export type Shown = (typeof SHOWN)[number];
export const SHOWN_WORDS: Readonly<Record<Shown, string>> = {
  difference: "focused minus dual",
  focused: "focused drop",
  dual: "dual drop",
};

const MATTERS = (effect: PrototypeEffect): string => {
  if (effect.matters === null) return "not decided";
  return effect.matters ? "matters" : "does not matter";
};

/** What a perturbation does to a prototype, in words. */
export function effectWords(effect: PrototypeEffect): string {
  const ends = interval(effect.difference_low, effect.difference_high, 2);
  const parts = [
    `focused drop ${percent(effect.focused)}`,
    effect.dual === null ? "" : `dual ${percent(effect.dual)}`,
    effect.difference === null ? "" : `difference ${signed(effect.difference, 2)} ${ends}`.trim(),
    plural(effect.images, "image"),
    MATTERS(effect),
  ];
  return parts.filter((part) => part !== "").join(", ");
}

/** A cell of the table of drops. */
export function dropCell(line: PrototypeLine | undefined, perturbation: string, shown: Shown): HeatCell {
  const effect = line?.drops.find((one) => one.perturbation === perturbation);
  if (!effect) return { value: null, text: "", title: "not analysed" };
  const value = effect[shown];
  return { value, text: value === null ? "–" : signed(value, 2), title: effectWords(effect), marked: effect.matters === true };
}

/** The lines that have drops, those with the largest difference of any perturbation first. */
export function withDrops(lines: readonly PrototypeLine[]): PrototypeLine[] {
  const most = ({ drops }: PrototypeLine) => Math.max(...drops.map(({ difference, focused }) => difference ?? focused ?? -Infinity));
  return lines.filter(({ drops }) => drops.length > 0).sort((a, b) => most(b) - most(a) || a.prototype - b.prototype);
}

/** The numbers of all prototypes and perturbations, for CSV. */
export function dropsData(lines: readonly PrototypeLine[]): DataSet {
  const names = [
    "images", "undefined", "focused", "focused_low", "focused_high", "dual", "dual_low", "dual_high", "whole",
    "difference", "difference_low", "difference_high", "matters", "p", "p_holm",
  ] as const;
  const rows = lines.flatMap((line) => line.drops.map((one) => [line.prototype, line.label, one.perturbation, ...names.map((name) => one[name])]));
  return { columns: ["prototype", "label", "perturbation", ...names], rows };
}

/** All prototypes in a table, for CSV. */
export function linesData(lines: readonly PrototypeLine[]): DataSet {
  const columns = ["prototype", "label", "source", "row", "column", "energy_relevance", "mask_relevance", "energy_raw", "chance", "images", "nature"];
  const rows = lines.map((one) => [
    one.prototype, one.label, one.source?.image, one.source?.row, one.source?.column,
    one.energy_relevance, one.mask_relevance, one.energy_raw, one.chance, one.images, one.nature?.join(" ") ?? null,
  ]);
  return { columns, rows };
}

export type Nature = "any" | "known" | "unknown" | "undecided" | "uncovered";

/** What is known of the nature of a prototype. */
export function natureOf({ nature, images }: Pick<PrototypeLine, "nature" | "images">): Exclude<Nature, "any"> {
  if (images === 0) return "uncovered";
  if (nature === null) return "undecided";
  return nature.length > 0 ? "known" : "unknown";
}

/** The lines that filters leave. */
export function filtered(lines: readonly PrototypeLine[], label: string, nature: Nature): PrototypeLine[] {
  return lines.filter((one) => (label === "" || one.label === label) && (nature === "any" || natureOf(one) === nature));
}
