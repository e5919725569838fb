import { describe, expect, it } from "vitest";

import { cellInk, cellColour, lineLook } from "./colours";
import { linear, nearest, niceDomain, tickDigits, ticks } from "./scale";

describe("ticks", () => {
  it("are round and lie inside", () => {
    expect(ticks([0, 1])).toEqual([0, 0.2, 0.4, 0.6, 0.8, 1]);
    expect(ticks([0.03, 0.27])).toEqual([0.05, 0.1, 0.15, 0.2, 0.25]);
    expect(ticks([-0.3, 0.3], 6)).toEqual([-0.3, -0.2, -0.1, 0, 0.1, 0.2, 0.3]);
  });

  it("of one value are that value", () => {
    expect(ticks([3, 3])).toEqual([3]);
  });

  it("need as many digits as their step has", () => {
    expect(tickDigits([0, 0.05, 0.1])).toBe(2);
    expect(tickDigits([0, 5, 10])).toBe(0);
  });
});

describe("niceDomain", () => {
  it("covers all values that are there", () => {
    const [low, high] = niceDomain([0.12, null, 0.33, undefined], [0]);
    expect(low).toBe(0);
    expect(high).toBeGreaterThanOrEqual(0.33);
  });

  it("has room where there is nothing, or one value", () => {
    expect(niceDomain([null])).toEqual([0, 1]);
    const [low, high] = niceDomain([0.4, 0.4]);
    expect(high).toBeGreaterThan(low);
  });
});

it("linear goes there and back", () => {
  const scale = linear([10, 20], [100, 0]);
  expect(scale(15)).toBe(50);
  expect(scale.invert(25)).toBe(17.5);
});

it("nearest finds the nearest", () => {
  expect(nearest([50, 60, 90], 74)).toBe(1);
  expect(nearest([], 3)).toBe(-1);
});

it("lines differ in colour, and after seven in dash too", () => {
  const looks = Array.from({ length: 14 }, (_, index) => lineLook(index));
  expect(new Set(looks.map(({ colour, dash }) => `${colour} ${dash}`)).size).toBe(14);
});

function luminance(rgb: string): number {
  const [r = 0, g = 0, b = 0] = (rgb.startsWith("#") ? [1, 3, 5].map((at) => Number.parseInt(rgb.slice(at, at + 2), 16)) : rgb.match(/\d+/g)?.map(Number) ?? []).map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

it("text in cells has a contrast of 4.5 or more everywhere", () => {
  for (const kind of ["sequential", "diverging"] as const) {
    for (let share = 0; share <= 1; share += 0.01) {
      const [a, b] = [luminance(cellColour(share, kind)), luminance(cellInk(share, kind))].sort((x, y) => y - x);
      expect(((a ?? 0) + 0.05) / ((b ?? 0) + 0.05)).toBeGreaterThanOrEqual(4.5);
    }
  }
});
