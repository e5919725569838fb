import { describe, expect, it } from "vitest";

import fixtures from "./fixtures.json";
import {
  bestPoint,
  budgetOf,
  cutAt,
  insideOf,
  massShare,
  percentileCurve,
  scoreAt,
  select,
  sortMap,
  unionOf,
  weightsOf,
} from "./index";
import type { Rule, ScoreName, Scores, Sign, Ties } from "./types";

type Triple = [number | null, number | null, number | null];
type Case = (typeof fixtures.cases)[number];
const names = fixtures.names as ScoreName[];

/** Draw the values that the maker of the fixtures draws. */
function scattered(seed: number, levels: number, count: number): Float32Array {
  let state = BigInt(seed);
  return Float32Array.from({ length: count }, () => {
    state = (state * 1103515245n + 12345n) % 2n ** 31n;
    return (Number(state >> 8n) % levels) / 1024;
  });
}

function valuesOf(one: Case): Float32Array {
  const { made, values, rows, columns } = one as Case & {
    made?: { seed: number; levels: number };
    values?: number[];
  };
  return made ? scattered(made.seed, made.levels, rows * columns) : Float32Array.from(values ?? []);
}

/** Read a mask from the lengths of its runs. */
function maskOf(runs: readonly number[]): Uint8Array {
  return Uint8Array.from(runs.flatMap((run, i) => Array<number>(run).fill(i % 2)));
}

function expectClose(seen: number, wanted: number | null, what: string): void {
  if (wanted === null) expect(seen, what).toBeNaN();
  else expect(Math.abs(seen - wanted), `${what}: ${seen} for ${wanted}`).toBeLessThan(1e-12);
}

function expectScores(seen: Scores, wanted: readonly unknown[], what: string): void {
  expectClose(seen.attentionArea, wanted[0] as number | null, `${what}, selected area`);
  expectClose(seen.annotationArea, wanted[1] as number | null, `${what}, annotated area`);
  names.forEach((name, i) => {
    const figure = wanted[i + 2] as Triple;
    const { value, chance, ceiling } = seen.scores[name];
    expectClose(value, figure[0], `${what}, ${name}`);
    expectClose(chance, figure[1], `${what}, chance of ${name}`);
    expectClose(ceiling, figure[2], `${what}, ceiling of ${name}`);
  });
}

describe("scores equal those of the engine", () => {
  it.each(fixtures.cases.map((one) => [one.name, one] as const))("%s", (_, one) => {
    const ignore = one.ignore ? maskOf(one.ignore) : null;
    const sorted = sortMap(valuesOf(one), one.sign as Sign, ignore);
    const masks = one.regions.map(maskOf);
    const union = unionOf(masks, one.rows * one.columns);
    const inside = [union, ...masks].map((mask) => insideOf(sorted, mask));
    for (const line of one.lines) {
      const rule = line.rule as Rule;
      inside.forEach((counted, i) => {
        const what = `${rule.selection} ${rule.percentile} ${rule.ties}, region ${i - 1}`;
        expectScores(scoreAt(sorted, counted, rule), line.scores[i] ?? [], what);
      });
    }
  });
});

const share = (percentile: number): Rule => ({ selection: "percentile", percentile, ties: "share" });

describe("weights of pixels", () => {
  it("share what is left among equal pixels", () => {
    const sorted = sortMap(Float32Array.of(3, 1, 1, 1, 0), "positive");
    const weights = weightsOf(sorted, cutAt(sorted, 2));
    expect([...weights]).toEqual([1, Math.fround(1 / 3), Math.fround(1 / 3), Math.fround(1 / 3), 0]);
  });

  it.each(["share", "include"] as Ties[])("sum to the budget (ties: %s)", (ties) => {
    const sorted = sortMap(scattered(3, 16, 400), "positive");
    for (const percentile of [1, 33.3, 90, 99.9]) {
      const selected = select(sorted, { selection: "percentile", percentile, ties }, 0);
      const total = weightsOf(sorted, selected).reduce((sum, weight) => sum + weight, 0);
      expect(total).toBeCloseTo(selected.budget, 4);
    }
  });

  it("leave out pixels that do not count", () => {
    const sorted = sortMap(Float32Array.of(9, 1, 2, 3), "positive", Uint8Array.of(1, 0, 0, 0));
    const selected = select(sorted, share(60), 0);
    expect(weightsOf(sorted, selected)[0]).toBe(0);
  });

  it("are none where the rule is undefined", () => {
    const sorted = sortMap(new Float32Array(4), "positive");
    const selected = select(sorted, { ...share(0), selection: "mass60" }, 0);
    expect(selected.budget).toBeNaN();
    expect([...weightsOf(sorted, selected)]).toEqual([0, 0, 0, 0]);
  });
});

describe("sorting", () => {
  it("orders signed values, equal ones by place", () => {
    const sorted = sortMap(Float32Array.of(0, -2, 3, -0, -1e-30, -2), "signed");
    expect([...sorted.values]).toEqual([-2, -2, Math.fround(-1e-30), 0, 0, 3]);
    expect([...sorted.order]).toEqual([1, 5, 4, 0, 3, 2]);
  });

  it("reads signs before anything else", () => {
    expect([...sortMap(Float32Array.of(-3, 1), "absolute").values]).toEqual([1, 3]);
    expect([...sortMap(Float32Array.of(-3, 1), "positive").values]).toEqual([0, 1]);
  });

  it("does not change the map it was given", () => {
    const raw = Float32Array.of(-1, 2);
    sortMap(raw, "absolute");
    expect([...raw]).toEqual([-1, 2]);
  });

  it("orders any floats, of any size and sign", () => {
    const raw = Float32Array.from({ length: 3000 }, (_, i) => Math.sin(i * i) * 10 ** ((i % 60) - 30));
    const sorted = sortMap(raw, "signed");
    expect([...sorted.values]).toEqual([...raw].sort((a, b) => a - b));
    expect([...sorted.order].sort((a, b) => a - b)).toEqual([...raw.keys()]);
  });
});

describe("curve over percentiles", () => {
  it("has the values of single thresholds and knows its best", () => {
    const sorted = sortMap(scattered(8, 64, 256), "positive");
    const inside = insideOf(sorted, Uint8Array.from({ length: 256 }, (_, i) => Number(i % 5 === 0)));
    const points = percentileCurve(sorted, inside, "iou", "share");
    expect(points).toHaveLength(99);
    expect(points[89]).toEqual({
      percentile: 90,
      ...scoreAt(sorted, inside, share(90)).scores.iou,
    });
    const best = bestPoint(points);
    expect(best?.value).toBe(Math.max(...points.map((point) => point.value)));
  });

  it("has no best without an annotation", () => {
    const sorted = sortMap(Float32Array.of(1, 2), "positive");
    const inside = insideOf(sorted, new Uint8Array(2));
    expect(bestPoint(percentileCurve(sorted, inside, "iou", "share"))).toBeNull();
  });
});

describe("rules", () => {
  it("read the share of mass selection", () => {
    expect([massShare("mass"), massShare("mass25"), massShare("mass7.5")]).toEqual([0.6, 0.25, 0.075]);
  });

  it("refuse what they do not know", () => {
    const sorted = sortMap(Float32Array.of(1, 2), "positive");
    expect(() => budgetOf(sorted, { ...share(90), selection: "median" }, 0)).toThrow('"median"');
  });
});
