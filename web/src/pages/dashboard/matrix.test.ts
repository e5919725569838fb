import { describe, expect, it } from "vitest";
import { arrange, bestByLabel, coloursOf, timesChance } from "./matrix";

const MATRIX = {
  labels: ["rose window", "door", "pointed window"],
  counts: [2, 9, 5],
  heads: [
    [0, 0],
    [0, 1],
    [1, 0],
  ],
  values: [
    [0.1, 0.02, null],
    [0.2, 0.01, 0.03],
    [null, 0.04, 0.06],
  ],
};
const NO_CHANCES = new Map<string, number>();

describe("arrange", () => {
  it("shows frequent labels first and keeps heads by layer", () => {
    const shown = arrange(MATRIX, { least: 0, text: "", order: "layer" });
    expect(shown).toEqual({ labels: [1, 2, 0], heads: [0, 1, 2] });
  });

  it("leaves out rare labels and those that were not searched for", () => {
    expect(arrange(MATRIX, { least: 3, text: " WINDOW", order: "layer" }).labels).toEqual([2]);
  });

  it("puts heads first that do best on what is shown", () => {
    expect(arrange(MATRIX, { least: 0, text: "", order: "best" }).heads).toEqual([2, 1, 0]);
    expect(arrange(MATRIX, { least: 0, text: "rose", order: "best" }).heads).toEqual([1, 0, 2]);
  });
});

describe("coloursOf", () => {
  it("is against the best head of a label, or against all cells", () => {
    const byLabel = coloursOf(MATRIX, "label", NO_CHANCES);
    expect(byLabel.at(0, 1)).toBeCloseTo(0.5);
    expect(byLabel.at(0, 2)).toBeNull();
    const all = coloursOf(MATRIX, "score", NO_CHANCES);
    expect([all.at(0, 1), all.domain]).toEqual([0.02, [0, 0.2]]);
  });

  it("counts doublings of chance, and knows no number without one", () => {
    const times = coloursOf(MATRIX, "chance", new Map([["door", 0.01], ["rose window", 0.001]]));
    expect(times.at(2, 1)).toBeCloseTo(2);
    expect(times.at(1, 1)).toBeCloseTo(0);
    expect(times.at(1, 0)).toBe(3);
    expect(times.at(2, 2)).toBeNull();
    expect(times.domain.map(times.format)).toEqual(["1/8", "8×"]);
  });

  it("colours nothing where all is zero", () => {
    const dark = { ...MATRIX, values: [[0, 0, 0]], heads: [[0, 0]] };
    expect(coloursOf(dark, "label", NO_CHANCES).at(0, 0)).toBe(0);
    expect(coloursOf(dark, "score", NO_CHANCES).domain).toEqual([0, 1]);
  });

  it("finds the best of each label", () => {
    expect(bestByLabel(MATRIX)).toEqual([0.2, 0.04, 0.06]);
    expect(bestByLabel({ ...MATRIX, values: [[null, null, null]] })).toEqual([null, null, null]);
  });
});

it("says how often chance a value is", () => {
  expect([timesChance(0.2, 0.1), timesChance(null, 0.1), timesChance(0.2, 0)]).toEqual([2, null, null]);
});
