/**
 * Which pixels a rule selects.
 *
 * Every rule comes down to a budget: how many pixels it selects, a real number. The highest pixels
 * fill it; where it ends inside a group of equal pixels, each of them takes an equal share. The
 * steps, and the order in which numbers are rounded, are those of the scoring engine.
 */

import type { Rule, Selected, Sorted, Ties } from "./types";

/** Relative distance within which a value counts as equal to a computed threshold. */
const ROUNDING = 1e-12;
const MASS = 60;

/** Return the pixels that a rule selects; `inside` is read by matched selection alone. */
export function select(sorted: Sorted, rule: Rule, inside: number): Selected {
  return cutAt(sorted, budgetOf(sorted, rule, inside));
}

/** Return the pixels selected by a budget. */
export function cutAt(sorted: Sorted, budget: number): Selected {
  const { kept, values } = sorted;
  if (!(budget > 0) || kept === 0) {
    return { budget, start: kept, stop: kept, share: budget === 0 ? 0 : NaN };
  }
  const cut = values[Math.max(kept - Math.ceil(budget), 0)] as number;
  const start = firstAtLeast(values, cut);
  const stop = firstAbove(values, cut);
  return { budget, start, stop, share: (budget - (kept - stop)) / (stop - start) };
}

/** Return how many pixels a rule selects; NaN where it is undefined. */
export function budgetOf(sorted: Sorted, rule: Rule, inside: number): number {
  const { kept } = sorted;
  if (kept === 0) return NaN;
  if (rule.selection === "percentile") {
    const whole = (kept * (100 - rule.percentile)) / 100;
    return rule.ties === "share" ? whole : atLeast(sorted, quantile(sorted, rule.percentile / 100));
  }
  if (rule.selection === "matched") {
    if (rule.ties === "share" || inside === 0) return inside;
    return atLeast(sorted, sorted.values[kept - inside] as number);
  }
  if (sorted.sign === "signed") return NaN;
  if (rule.selection === "mean") return aboveMean(sorted);
  return massBudget(sorted, massShare(rule.selection), rule.ties);
}

/** Read the share out of `mass60`; a bare `mass` is 60%. */
export function massShare(selection: string): number {
  const found = /^mass(\d+(?:\.\d+)?)?$/.exec(selection);
  if (!found) {
    throw new RangeError(
      `selection must be percentile, mass, massNN, mean or matched; got "${selection}"`,
    );
  }
  return Number(found[1] ?? MASS) / 100;
}

/** Return the weight of every pixel of the raster: 1 selected, 0 not, between them a share. */
export function weightsOf(sorted: Sorted, selected: Selected): Float32Array {
  const weights = new Float32Array(sorted.pixels);
  const share = Number.isNaN(selected.share) ? 0 : selected.share;
  for (let i = selected.start; i < sorted.kept; i += 1) {
    weights[sorted.order[i] as number] = i < selected.stop ? share : 1;
  }
  return weights;
}

function aboveMean({ values, kept, energy }: Sorted): number {
  if (values[0] === values[kept - 1]) return kept;
  const mean = energy * (1 + ROUNDING);
  return kept - firstWhere(values, (value) => value * kept > mean);
}

/** Count the highest pixels that hold a share of the energy; the last group in part or whole. */
function massBudget({ values, kept, energy }: Sorted, share: number, ties: Ties): number {
  if (energy === 0) return NaN;
  const target = share * energy;
  let held = 0;
  let end = kept;
  while (end > 0) {
    const value = values[end - 1] as number;
    if (value === 0) break;
    let start = end - 1;
    while (start > 0 && values[start - 1] === value) start -= 1;
    const group = value * (end - start);
    if (ties === "include" && held + group >= target - ROUNDING * energy) return kept - start;
    if (ties === "share" && held + group >= target) return kept - end + (target - held) / value;
    held += group;
    end = start;
  }
  return kept - end;
}

/** Interpolate linearly between the two values around the share, rounding as numpy does. */
function quantile({ values, kept }: Sorted, share: number): number {
  const place = share * (kept - 1);
  const lower = Math.floor(place);
  const weight = place - lower;
  const a = values[lower] as number;
  const b = values[Math.min(lower + 1, kept - 1)] as number;
  return weight >= 0.5 ? b - (b - a) * (1 - weight) : a + (b - a) * weight;
}

function atLeast({ values, kept }: Sorted, cut: number): number {
  return kept - firstAtLeast(values, cut);
}

function firstAtLeast(values: Float64Array, cut: number): number {
  return firstWhere(values, (value) => value >= cut);
}

function firstAbove(values: Float64Array, cut: number): number {
  return firstWhere(values, (value) => value > cut);
}

/** Return the first place for which a condition holds that holds from some place on. */
function firstWhere(values: Float64Array, holds: (value: number) => boolean): number {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(values[middle] as number)) high = middle;
    else low = middle + 1;
  }
  return low;
}
