import { describe, expect, it } from "vitest";
import { bestFromHere, fallingLine, levelsOf, meanLine, placeAt } from "./curves";

const curve = {
  recall: [0.25, 0.25, 0.5, 0.75],
  precision: [1, 0.5, 2 / 3, 0.75],
  confidence: [0.9, 0.8, 0.7, 0.6],
};
const none = { recall: [], precision: [], confidence: [] };

describe("curves of precision over recall", () => {
  it("take the best precision from each point on", () => {
    expect(bestFromHere(curve.precision)).toEqual([1, 0.75, 0.75, 0.75]);
    expect(bestFromHere([])).toEqual([]);
  });

  it("have levels whose mean is COCO's average precision", () => {
    const levels = levelsOf(curve);
    const mean = levels.reduce((sum, one) => sum + one, 0) / 101;
    // 26 recalls up to 0.25 at 1, 50 more up to 0.75 at 0.75, the rest out of reach.
    expect(mean).toBeCloseTo((26 + 50 * 0.75) / 101, 12);
  });

  it("fall to 0 once, where no detection reaches further", () => {
    const line = fallingLine(curve);
    expect(line[25]).toEqual({ x: 0.25, y: 1 });
    expect(line[26]).toEqual({ x: 0.26, y: 0.75 });
    expect(line[76]).toEqual({ x: 0.76, y: 0 });
    expect(line[77]!.y).toBeNull();
    expect(fallingLine(none)).toEqual([]);
  });

  it("have a mean that counts 0 where a class reaches no further", () => {
    const short = { recall: [0.5], precision: [1], confidence: [0.9] };
    const mean = meanLine([curve, short]);
    expect(mean[0]!.y).toBe(1);
    expect(mean[50]!.y).toBeCloseTo((0.75 + 1) / 2, 12);
    expect(mean[60]!.y).toBeCloseTo(0.75 / 2, 12);
    expect(mean[100]!.y).toBeNull();
    expect(meanLine([curve, none])[0]!.y).toBe(0.5);
    expect(meanLine([])).toEqual([]);
  });

  it("know where a confidence stands", () => {
    expect(placeAt(curve, 0.7)).toEqual({ x: 0.5, y: 2 / 3 });
    expect(placeAt(curve, 0.75)).toEqual({ x: 0.25, y: 0.5 });
    expect(placeAt(curve, 0.95)).toBeNull();
  });
});
