/** What can be compared with what. Pure. */
import type { ComparisonLine, ModelInfo, StudyInfo } from "../../api/client";
import type { Words } from "../../url";
import { distinct, joined } from "./lines";
import type { Behind } from "./links";

export const BYS = ["model", "method", "layer"] as const;
export type By = (typeof BYS)[number];

type Known = Pick<StudyInfo, "models" | "methods">;

const trained = (known: Known): readonly ModelInfo[] => known.models.filter((model) => !model.baseline);

/** Names of what may stand on either side. */
export function sidesOf(by: By, known: Known, model: string): string[] {
  const models = trained(known);
  if (by === "model") return models.map(({ name }) => name);
  const meant = models.filter(({ name }) => model === "" || name === model);
  if (by === "method") return distinct(meant.flatMap(({ methods }) => methods));
  const layers = distinct(meant.flatMap((one) => one.layer_numbers)).sort((one, other) => one - other);
  return layers.map(String);
}

/** The pair that is shown first: a model and its variant, two methods, the first and last layer. */
export function usualPair(by: By, known: Known, model: string): readonly [string, string] | null {
  const sides = sidesOf(by, known, model);
  const [first, second] = [sides[0], by === "layer" ? sides.at(-1) : sides[1]];
  if (by === "model") {
    const variant = trained(known).find((one) => one.variant !== "" && sides.includes(one.base));
    if (variant) return [variant.base, variant.name];
  }
  if (by === "method") {
    const plain = sides.filter((name) => known.methods.find((one) => one.name === name)?.group !== "baseline");
    if (plain[0] !== undefined && plain[1] !== undefined) return [plain[0], plain[1]];
  }
  return first === undefined || second === undefined || first === second ? null : [first, second];
}

/** One side in words. */
export const sideName = (by: By, side: string): string => (by === "layer" ? `layer ${side}` : side);

/** What both sides of a line have in common, in words. */
export const commonName = (line: ComparisonLine): string =>
  joined(line.model, line.method, line.target) || "all";

/** The words that ask for one line alone. */
export function wordsOfLine(line: ComparisonLine, by: By): Words {
  const words: Words = {};
  if (by !== "model" && line.model !== "") words.model = line.model;
  if (by !== "method" && line.method !== "") words.method = line.method;
  if (line.target !== "") words.target = line.target;
  return words;
}

/** Whose maps stand on one side of a line. */
export function sideBehind(line: ComparisonLine, by: By, side: "a" | "b"): Behind {
  const own = line[side];
  return {
    model: by === "model" ? own : line.model,
    method: by === "method" ? own : line.method,
    layer: side === "a" ? line.layer_a : line.layer_b,
    target: line.target,
  };
}
