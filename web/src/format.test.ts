import { expect, it } from "vitest";

import { count, interval, layer, metricParts, pValue, percent, plural, score, short, signed } from "./format";

it("undefined is a word, never 0", () => {
  for (const write of [score, signed, percent, pValue]) {
    expect(write(null)).toBe("undefined");
    expect(write(undefined)).toBe("undefined");
  }
  expect(score(Number.NaN)).toBe("undefined");
  expect(score(0)).toBe("0.000");
});

it("signs are told, and a rounded zero has none", () => {
  expect(signed(0.1234)).toBe("+0.123");
  expect(signed(-0.1234)).toBe("−0.123");
  expect(signed(0.00001)).toBe("0.000");
  expect(score(-0.00001)).toBe("0.000");
});

it("intervals need both ends", () => {
  expect(interval(0.1, 0.2)).toBe("[0.100, 0.200]");
  expect(interval(null, 0.2)).toBe("");
});

it("counts, shares and p-values read well", () => {
  expect(count(1234567)).toBe("1\u202f234\u202f567");
  expect(plural(1, "image")).toBe("1 image");
  expect(plural(0, "image")).toBe("0 images");
  expect(percent(0.256)).toBe("26%");
  expect(pValue(0.00002)).toBe("< 0.001");
  expect(short(87.5)).toBe("87.5");
  expect(short(-0.5)).toBe("−0.5");
});

it("layers count from 0, and null is no layer", () => {
  expect(layer(0)).toBe("layer 0");
  expect(layer(null)).toBe("no layers");
});

it("metric names have two parts", () => {
  expect(metricParts("iou@90")).toEqual({ metric: "iou", threshold: "90" });
  expect(metricParts("coverage")).toEqual({ metric: "coverage", threshold: null });
});
