/** Curves of precision over recall, as they are drawn. */

export interface RawCurve {
  readonly recall: readonly number[];
  readonly precision: readonly number[];
  readonly confidence: readonly (number | null)[];
}

export interface Place {
  readonly x: number;
  readonly y: number;
}

/** At each point the best precision there or beyond: what average precision sums. */
export function bestFromHere(precision: readonly number[]): number[] {
  const best = [...precision];
  for (let i = best.length - 2; i >= 0; i -= 1) best[i] = Math.max(best[i]!, best[i + 1]!);
  return best;
}

const LEVELS = Array.from({ length: 101 }, (_, step) => step / 100);

/** Best precision at 101 recalls; 0 where no detection reaches so far. */
export function levelsOf(curve: RawCurve): number[] {
  const best = bestFromHere(curve.precision);
  let place = 0;
  return LEVELS.map((level) => {
    while (place < best.length && curve.recall[place]! < level) place += 1;
    return place < best.length ? best[place]! : 0;
  });
}

export interface LevelPoint {
  readonly x: number;
  readonly y: number | null;
}

/** The line of such precisions: it falls to 0 once, and ends there. */
function lineOf(levels: readonly number[]): LevelPoint[] {
  return LEVELS.map((x, i) => ({ x, y: levels[i] === 0 && levels[i - 1] === 0 ? null : levels[i]! }));
}

/** Precision over recall, falling, as average precision reads it. */
export const fallingLine = (curve: RawCurve): LevelPoint[] =>
  curve.recall.length ? lineOf(levelsOf(curve)) : [];

/** The mean over classes. */
export function meanLine(curves: readonly RawCurve[]): LevelPoint[] {
  if (!curves.length) return [];
  const all = curves.map(levelsOf);
  return lineOf(LEVELS.map((_, i) => all.reduce((sum, one) => sum + one[i]!, 0) / all.length));
}

/** Where a class stands if predictions from a confidence on are kept; null: none is. */
export function placeAt(curve: RawCurve, confidence: number): Place | null {
  let found: Place | null = null;
  curve.confidence.forEach((score, i) => {
    if (score !== null && score >= confidence) {
      found = { x: curve.recall[i]!, y: curve.precision[i]! };
    }
  });
  return found;
}
