import { scoreAt } from "./scores";
import type { Inside, Rule, Score, ScoreName, Sorted } from "./types";

export interface CurvePoint extends Score {
  percentile: number;
}

/** Percentiles at which curves are drawn. */
export const STEPS: readonly number[] = Array.from({ length: 99 }, (_, i) => i + 1);

/** Return a score over the percentiles: the map is sorted already, so each point costs little. */
export function percentileCurve(
  sorted: Sorted,
  inside: Inside,
  name: ScoreName,
  ties: Rule["ties"],
): CurvePoint[] {
  return STEPS.map((percentile) => {
    const { scores } = scoreAt(sorted, inside, { selection: "percentile", percentile, ties });
    return { percentile, ...scores[name] };
  });
}

/** Return the point with the highest value; of equal ones the first; null if all are undefined. */
export function bestPoint(points: readonly CurvePoint[]): CurvePoint | null {
  return points.reduce<CurvePoint | null>(
    (best, point) =>
      !Number.isNaN(point.value) && (best === null || point.value > best.value) ? point : best,
    null,
  );
}
