/** Scales and ticks of charts. */

export type Domain = readonly [number, number];

/** Steps of 1, 2 or 5 that cover a range with about so many ticks. */
export function ticks([low, high]: Domain, wanted = 5): number[] {
  if (!(high > low)) return [low];
  const rough = (high - low) / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5].find((factor) => factor * power >= rough * 0.999) ?? 10);
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  const out: number[] = [];
  for (let at = first; at <= last; at += 1) out.push(Number((at * step).toPrecision(12)));
  return out;
}

/** The range of the values that are there, widened to whole ticks. */
export function niceDomain(values: readonly (number | null | undefined)[], include: readonly number[] = []): Domain {
  const there = [...values, ...include].filter((value): value is number => Number.isFinite(value));
  if (there.length === 0) return [0, 1];
  let low = Math.min(...there);
  let high = Math.max(...there);
  if (low === high) [low, high] = low === 0 ? [0, 1] : [Math.min(0, low), Math.max(0, high)];
  const [one = low, two = high] = ticks([low, high]);
  const step = two - one;
  return [Math.floor(low / step + 1e-9) * step, Math.ceil(high / step - 1e-9) * step];
}

export interface Scale {
  (value: number): number;
  invert: (position: number) => number;
  domain: Domain;
}

/** A linear scale. */
export function linear(domain: Domain, [start, end]: Domain): Scale {
  const span = domain[1] - domain[0] || 1;
  const scale = (value: number) => start + ((value - domain[0]) / span) * (end - start);
  const invert = (position: number) => domain[0] + ((position - start) / (end - start || 1)) * span;
  return Object.assign(scale, { invert, domain });
}

/** How many digits ticks of such a step need. */
export function tickDigits(values: readonly number[]): number {
  const digits = values.map((value) => (String(Number(value.toPrecision(6))).split(".")[1] ?? "").length);
  return Math.min(4, Math.max(0, ...digits));
}

/** The index of the value nearest to a target. */
export function nearest(values: readonly number[], target: number): number {
  let best = -1;
  for (const [index, value] of values.entries()) {
    const known = values[best];
    if (known === undefined || Math.abs(value - target) < Math.abs(known - target)) best = index;
  }
  return best;
}
