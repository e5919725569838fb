/** Curves over layers or percentiles, put into panels that can be read. */
import type { Point, ProgressionLine } from "../../api/client";
import { niceDomain, selectForAxis, type Domain } from "../../charts";
import { groupBy } from "../../tables";
import { isBaseline, joined } from "./lines";

export type PanelsBy = "method" | "model";

export interface Curves {
  readonly title: string;
  readonly lines: readonly ProgressionLine[];
}

/** One panel for each method (a line for each model in it), or the other way round. */
export function panelsOf(lines: readonly ProgressionLine[], by: PanelsBy): Curves[] {
  const read = (line: ProgressionLine) => (by === "method" ? line.method : line.model);
  const groups = groupBy(lines.filter((line) => !isBaseline(line)), read);
  return [...groups].map(([title, inside]) => ({ title, lines: inside }));
}

/** What a line is called inside a panel that says the rest; its target where there are several. */
export function nameInPanel(line: ProgressionLine, by: PanelsBy, panel: Curves): string {
  const name = by === "method" ? line.model : line.method;
  const own = (one: ProgressionLine) => (by === "method" ? one.model : one.method) === name;
  return panel.lines.filter(own).length > 1 ? joined(name, line.target) : name;
}

/** The y axis that panels share; it holds these marks as well. */
export function sharedDomain(lines: readonly ProgressionLine[], marks: readonly ("chance" | "ceiling")[]): Domain {
  const points = lines.flatMap((line) => line.points);
  const values = selectForAxis(points).flatMap(({ value, low, high }) => [value, low, high]);
  return niceDomain([...values, ...points.flatMap((point) => marks.map((mark) => point[mark]))], [0]);
}

/** The point with the best value; null where none has one. */
export function bestPoint(points: readonly Point[], lower = false): Point | null {
  const sign = lower ? -1 : 1;
  let best: Point | null = null;
  for (const point of points) {
    if (point.value === null) continue;
    if (best === null || best.value === null || sign * point.value > sign * best.value) best = point;
  }
  return best;
}

/**
 * What stands beside all lines of a panel: chance or ceiling at each x.
 *
 * Both follow from areas alone, so that lines over the same images have them in common; where they
 * do not, nothing is drawn for all. A line that ends before others says nothing of what follows.
 */
export function sharedCurve(
  lines: readonly ProgressionLine[],
  read: (point: Point) => number | null | undefined,
): { x: number; value: number }[] {
  const close = (a: number, b: number) => Math.abs(a - b) <= 1e-6 * Math.max(1, Math.abs(a));
  const at = new Map<number, (number | null)[]>();
  for (const point of lines.flatMap((line) => line.points)) {
    at.set(point.x, [...(at.get(point.x) ?? []), read(point) ?? null]);
  }
  const found: { x: number; value: number }[] = [];
  for (const [x, values] of [...at].toSorted(([a], [b]) => a - b)) {
    const [value] = values;
    if (typeof value !== "number") continue;
    if (values.every((other) => other !== null && close(value, other))) found.push({ x, value });
  }
  return found;
}
