/** What the tables of the report on missing labels say, put together for the page. */

import { count, percent, score } from "../../format";
import { groupBy } from "../../tables";
import { numberOf, wordOf, type Line } from "./records";

const KEYS = ["model", "method", "target", "layer"] as const;

/** The same for all lines of one model, method, target and layer. */
export const keyOf = (line: Line): string => KEYS.map((key) => wordOf(line, key)).join("\u0001");

/** What a line is called: as the report calls its main line. */
export function nameOf(line: Line): string {
  const layer = wordOf(line, "layer");
  const target = wordOf(line, "target");
  return [
    `${wordOf(line, "model")} · ${wordOf(line, "method")}`,
    layer && `layer ${layer}`,
    target,
  ]
    .filter(Boolean)
    .join(" · ");
}

export const isBaseline = (line: Line): boolean => wordOf(line, "group") === "baseline";

/** The line that single findings are about: the best that is no baseline. */
export function mainLine(lines: readonly Line[]): Line | undefined {
  return lines.find((line) => !isBaseline(line)) ?? lines[0];
}

/** The part of a table that is about one line. */
export function about(lines: readonly Line[], key: string): Line[] {
  return lines.filter((line) => keyOf(line) === key);
}

/** A line of scores; `models` is more than one where baselines of several models are the same. */
export interface Scores {
  readonly line: Line;
  readonly models: number;
}

/** Join the lines of a baseline that scores the same for several models. */
export function joinBaselines(lines: readonly Line[]): Scores[] {
  const alike = (line: Line): string =>
    isBaseline(line)
      ? ["method", "target", "layer", "iou", "n"].map((key) => wordOf(line, key)).join("\u0001")
      : keyOf(line);
  return [...groupBy(lines, alike).values()].map((same) => ({
    line: same[0]!,
    models: same.length,
  }));
}

export interface Card {
  readonly value: string;
  readonly what: string;
  readonly small: string;
}

const SET_WORDS: Record<string, string> = {
  sparse: "IoU with the labels as they are (sparse)",
  gold: "IoU with gold labels",
  joined: "IoU, gold joined with the rest",
};

const sumOf = (lines: readonly Line[], column: string): number =>
  lines.reduce((all, line) => all + (numberOf(line, column) ?? 0), 0);

const knows = (lines: readonly Line[], column: string): boolean =>
  lines.some((line) => numberOf(line, column) !== null);

/** Which share of the instances is labelled, where that is known. */
export function labelledCard(counts: readonly Line[]): Card | null {
  const what = "of the instances are labelled";
  const mine = sumOf(counts, "regions");
  if (knows(counts, "unlabelled")) {
    const all = mine + sumOf(counts, "unlabelled");
    const small = `${count(mine)} of ${count(all)}, known from the data`;
    return all ? { value: percent(mine / all), what, small } : null;
  }
  const gold = sumOf(counts, "gold");
  if (!gold) return null;
  const here = sumOf(counts, "on_gold_images");
  const small = `${count(here)} of ${count(gold)} on the gold images`;
  return { value: percent(Math.min(1, here / gold)), what, small };
}

function setCard(line: Line): Card | null {
  const what = SET_WORDS[wordOf(line, "set")];
  if (!what) return null;
  const [low, high] = [numberOf(line, "low"), numberOf(line, "high")];
  const ends = low === null ? "" : `95% interval ${score(low)} to ${score(high)}, `;
  const small = wordOf(line, "reason") || `${ends}${numberOf(line, "n") ?? 0} images`;
  return { value: score(numberOf(line, "value")), what, small };
}

function correctedCard(line: Line): Card | null {
  const what = "IoU corrected for unlabelled instances";
  const [low, high] = [numberOf(line, "low"), numberOf(line, "high")];
  const corrected = numberOf(line, "corrected");
  if (low === null || high === null) return null;
  if (corrected !== null) {
    return { value: score(corrected), what, small: "by known counts, if labels are random" };
  }
  const value = `${score(low, 2)} – ${score(high, 2)}`;
  return { value, what, small: `if ${wordOf(line, "by")}; a range, not an interval` };
}

export interface Tables {
  readonly counts: readonly Line[];
  readonly sets: readonly Line[];
  readonly pu: readonly Line[];
}

/** The few numbers at the top, of one line. */
export function cardsOf(tables: Tables, key: string): Card[] {
  const sets = about(tables.sets, key);
  const joined = sets.some((line) => wordOf(line, "set") === "joined");
  const found = [
    labelledCard(tables.counts),
    ...sets.map(setCard),
    ...(joined ? [] : about(tables.pu, key).map(correctedCard)),
  ];
  return found.filter((card) => card !== null);
}

/** Findings below their headings, in order. */
export function byHeading(
  findings: readonly (readonly [string, string])[],
): { heading: string; texts: string[] }[] {
  const found: { heading: string; texts: string[] }[] = [];
  for (const [heading, text] of findings) {
    const last = found.find((one) => one.heading === heading);
    if (last) last.texts.push(text);
    else found.push({ heading, texts: [text] });
  }
  return found;
}

export type Doubt = "good" | "bad" | "doubt" | "none";

const DOUBTS: Record<string, Doubt> = {
  "survives random dropout": "good",
  "confirmed by the gold set": "good",
  "reversed by the gold set": "bad",
  "does not survive dropout": "doubt",
  "cannot be told apart": "doubt",
};

/** How far a difference with this verdict can be relied on. */
export const doubtOf = (verdict: string): Doubt => DOUBTS[verdict] ?? "none";

/** What two compared models have in common. */
export function pairMethod(line: Line): string {
  const target = wordOf(line, "target");
  return target ? `${wordOf(line, "method")} (${target})` : wordOf(line, "method");
}

/** The same for all lines of one pair of models. */
export const pairKey = (line: Line): string =>
  ["a", "b", "method", "target"].map((key) => wordOf(line, key)).join("\u0001");

/** Leave out the folder that all names share: room is short in charts. */
export function shortener(names: readonly string[]): (name: string) => string {
  const folder = /^[^/]+\//.exec(names[0] ?? "")?.[0] ?? "";
  const shared = folder !== "" && names.every((name) => name.startsWith(folder));
  return (name) => (shared ? name.slice(folder.length) : name);
}
