/** Lines of the tables of checks: what they are called, and how they stand together. */

export interface Studied {
  readonly model: string;
  readonly method: string;
  readonly target?: string;
  readonly layer?: number | string | null;
  readonly best_layer?: number | null;
  readonly group?: string;
}

export const keyOf = ({ model, method, target, layer }: Studied): string =>
  [model, method, target ?? "", layer ?? ""].join(" · ");

/** Names without empty ones, with dots between. */
export const dotted = (...parts: readonly (string | null | undefined)[]): string =>
  parts.filter((part) => part !== null && part !== undefined && part !== "").join(" · ");

const several = (values: readonly unknown[]): boolean => new Set(values).size > 1;

/**
 * What a line is called among others: its method; the model, target and layer only where they tell
 * lines apart.
 */
export function nameAmong(line: Studied, lines: readonly Studied[], model = true): string {
  const same = lines.filter((one) => one.method === line.method && one.model === line.model);
  return dotted(
    model && several(lines.map((one) => one.model)) ? line.model : "",
    line.method,
    several(same.map((one) => one.target ?? "")) ? line.target : "",
    several(same.map((one) => one.layer ?? "")) ? layerText(line.layer) : "",
  );
}

/** A layer in words; layers count from 0. */
export function layerText(layer: number | string | null | undefined): string {
  return layer === null || layer === undefined || layer === "" ? "" : `layer ${layer}`;
}

/** The layer that was checked, and the leaderboard's best one where that is another. */
export function checkedLayer({ layer, best_layer: best }: Studied): string {
  const other = best !== null && best !== undefined && best !== layer;
  return other ? `checked on ${layerText(layer)}; the leaderboard’s best layer is ${best}` : layerText(layer);
}

/** What a line is called in a chart of one model: with the layer that was checked. */
export const layeredName = (line: Studied, lines: readonly Studied[]): string =>
  dotted(nameAmong({ ...line, layer: null }, lines, false), checkedLayer(line));

/** Maps that see no model. */
export const isBaseline = ({ group }: Studied): boolean => group === "baseline";
