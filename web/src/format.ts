/** How numbers and names are written, everywhere the same. */

export const UNDEFINED = "undefined";
const MINUS = "−";

/** A score; null is "undefined", never 0. */
export function score(value: number | null | undefined, digits = 3): string {
  if (value === null || value === undefined || Number.isNaN(value)) return UNDEFINED;
  const text = Math.abs(value).toFixed(digits);
  return value < 0 && Number(text) !== 0 ? MINUS + text : text;
}

/** A difference, with its sign. */
export function signed(value: number | null | undefined, digits = 3): string {
  const text = score(value, digits);
  return typeof value === "number" && value > 0 && Number(text) !== 0 ? `+${text}` : text;
}

/** A share as per cent. */
export function percent(value: number | null | undefined, digits = 0): string {
  if (value === null || value === undefined || Number.isNaN(value)) return UNDEFINED;
  return `${(value * 100).toFixed(digits)}%`;
}

/** An interval; empty where an end is missing. */
export function interval(
  low: number | null | undefined,
  high: number | null | undefined,
  digits = 3,
): string {
  if (typeof low !== "number" || typeof high !== "number") return "";
  return `[${score(low, digits)}, ${score(high, digits)}]`;
}

/** A count with thin spaces between thousands. */
export function count(value: number): string {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
}

/** "1 image", "2 images". */
export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** A p-value. */
export function pValue(value: number | null | undefined): string {
  if (value === null || value === undefined) return UNDEFINED;
  return value < 0.001 ? "< 0.001" : value.toFixed(3);
}

/** A layer as the API has it: a number from 0, a word, or null for methods without layers. */
export function layer(value: number | string | null | undefined): string {
  if (value === null || value === undefined || value === "") return "no layers";
  return `layer ${value}`;
}

/** A number as short as it can be without losing a digit, for thresholds and ticks. */
export function short(value: number): string {
  const text = String(Number(value.toPrecision(6)));
  return text.startsWith("-") ? MINUS + text.slice(1) : text;
}

/** The parts of `metric[@threshold]`. */
export function metricParts(name: string): { metric: string; threshold: string | null } {
  const at = name.indexOf("@");
  return at < 0
    ? { metric: name, threshold: null }
    : { metric: name.slice(0, at), threshold: name.slice(at + 1) };
}
