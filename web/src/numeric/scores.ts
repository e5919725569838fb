/** Scores of one map against one annotation at one threshold. NaN is undefined, never 0. */

import { cutAt, select } from "./selection";
import type { Inside, Rule, Score, ScoreName, Scores, Selected, Sorted } from "./types";

/** Score a map: `inside` is its annotation as counted by `insideOf`. */
export function scoreAt(sorted: Sorted, inside: Inside, rule: Rule): Scores {
  const selected = select(sorted, rule, inside.count);
  const n = sorted.kept;
  const facts: Facts = {
    a: divide(selected.budget, n),
    g: divide(inside.count, n),
    hits: hitsOf(inside, selected, n),
    budget: selected.budget,
    inside: inside.count,
  };
  return {
    scores: {
      ...overlaps(facts),
      coverage: score(coverage(sorted, inside), facts.g, 1),
      pointing: score(pointing(sorted, inside), facts.g, 1),
    },
    attentionArea: facts.a,
    annotationArea: facts.g,
    selected,
  };
}

/** Expected IoU of a selection that knows nothing. */
export function iouChance(a: number, g: number): number {
  return divide(a * g, a + g - a * g);
}

/** Largest IoU possible at the areas a and g. */
export function iouCeiling(a: number, g: number): number {
  return divide(Math.min(a, g), Math.max(a, g));
}

/** IoU on a scale where chance is 0 and the ceiling 1; undefined where a or g is 0 or 1. */
export function correctedIou(iou: number, a: number, g: number): number {
  if (a === 0 || a === 1 || g === 0 || g === 1) return NaN;
  const chance = iouChance(a, g);
  return divide(iou - chance, iouCeiling(a, g) - chance);
}

interface Facts {
  a: number;
  g: number;
  hits: number;
  budget: number;
  inside: number;
}

type Overlap = Exclude<ScoreName, "coverage" | "pointing">;

function overlaps(facts: Facts): Record<Overlap, Score> {
  const { a, g, hits, budget, inside } = facts;
  const defined = (value: number): number => (inside === 0 ? NaN : value);
  const iou = defined(divide(hits, budget + inside - hits));
  const common = Math.min(a, g);
  const recall = divide(hits, inside);
  return {
    iou: score(iou, iouChance(a, g), iouCeiling(a, g)),
    iou_corrected: score(correctedIou(iou, a, g), 0, 1),
    precision: score(defined(divide(hits, budget)), g, divide(common, a)),
    recall: score(recall, a, divide(common, g)),
    lift: score(divide(recall, a), 1, divide(common, a * g)),
  };
}

/** Give a score its references; where it is undefined, so are they. */
function score(value: number, chance: number, ceiling: number): Score {
  return Number.isNaN(value) ? { value, chance: NaN, ceiling: NaN } : { value, chance, ceiling };
}

/** Share of the energy that lies inside the annotation. */
function coverage(sorted: Sorted, inside: Inside): number {
  return inside.count === 0 ? NaN : divide(inside.energy, sorted.energy);
}

/** Share of the tied maxima that lies inside the annotation. */
function pointing(sorted: Sorted, inside: Inside): number {
  return inside.count === 0 ? NaN : hitsOf(inside, cutAt(sorted, 1), sorted.kept);
}

/** Selected pixels inside the annotation. */
function hitsOf(inside: Inside, { start, stop, share }: Selected, kept: number): number {
  const below = inside.upTo[stop] as number;
  const above = (inside.upTo[kept] as number) - below;
  return above + share * (below - (inside.upTo[start] as number));
}

/** Divide, undefined wherever the denominator is zero. */
function divide(numerator: number, denominator: number): number {
  return denominator === 0 ? NaN : numerator / denominator;
}
