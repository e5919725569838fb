/** Lines of the tables of checks: what they are called, and how they stand together. */

export interface Studied {
  readonly model: string;
  readonly method: string;
  readonly target?: string;
  readonly layer?: number | string | null;
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

/** Maps that see no model. */
export const isBaseline = ({ group }: Studied): boolean => group === "baseline";
