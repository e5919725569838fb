import { describe, expect, it } from "vitest";
import { axisValues, fitted, indentOf, intervalText, layoutOf, rankRows, spokenRow } from "./interval_layout";

const ROW = { key: "a", label: "edge", detail: "baseline", value: 0.25 };

it("says all numbers of a row, and what is undefined", () => {
  const row = { ...ROW, low: 0.2, high: 0.3, chance: 0.1, ceiling: 0.4 };
  expect(spokenRow(row, 2)).toBe(
    "edge, baseline: 0.25, 95% interval [0.20, 0.30], chance 0.10, ceiling 0.40",
  );
  expect(spokenRow({ ...ROW, value: null, low: null }, 3)).toBe("edge, baseline: undefined");
});

it("cuts labels that do not fit", () => {
  expect(fitted("short", 200)).toBe("short");
  expect(fitted("stepped round portal", 67)).toBe("stepped r…");
});

it("cuts off intervals that would press all else together", () => {
  const row = { ...ROW, value: 0.1, ceiling: 0.4, low: 0.05, high: 0.99 };
  expect(axisValues([row])).toEqual([0.1, 0.4, 0.05, 0.5]);
  expect(axisValues([{ ...ROW, value: 0, low: -0.2, high: 0.2 }])).toEqual([0, -0.2, 0.2]);
});

describe("a row without an interval", () => {
  const sure = { ...ROW, value: 0.1, low: 0.05, high: 0.15 };
  const unsure = { ...ROW, key: "b", value: 0.9, low: null, high: null, reason: { short: "n = 1", text: "1 image wrong" } };

  it("does not stretch an axis on which others have one", () => {
    expect(axisValues([sure, unsure])).toEqual([0.1, 0.05, 0.15]);
    expect(axisValues([unsure])).toEqual([0.9]);
  });

  it("comes last, whatever its value is; the others by theirs", () => {
    const low = { ...sure, key: "low", value: 0.06 };
    const nothing = { ...unsure, key: "nothing", value: null };
    expect(rankRows([unsure, low, nothing, sure]).map(({ key }) => key)).toEqual(["a", "low", "b", "nothing"]);
  });

  it("says why, in short and in full", () => {
    expect(intervalText(unsure)).toBe("n = 1");
    expect(intervalText(sure, 2)).toBe("[0.05, 0.15]");
    expect(spokenRow(unsure, 2)).toBe("edge, baseline: 0.90, 1 image wrong");
  });
});

describe("layoutOf", () => {
  it("puts labels beside the plot where there is room, else above it", () => {
    const wide = layoutOf([ROW], 1000, false);
    expect(wide.narrow).toBe(false);
    expect(wide.plot[0]).toBeGreaterThan(wide.labelWidth);
    const narrow = layoutOf([ROW], 340, false);
    expect(narrow.narrow).toBe(true);
    expect(narrow.plot[1] - narrow.plot[0]).toBeGreaterThan(300);
  });

  it("keeps values clear of the intervals behind them", () => {
    const room = (low: number, high: number) => {
      const { figureEnd, valueEnd } = layoutOf([{ ...ROW, low, high }], 1000, false);
      return valueEnd - figureEnd;
    };
    expect(room(-0.066, -0.01)).toBeGreaterThan(room(0.01, 0.066));
    expect(layoutOf([ROW], 1000, false).figureEnd).toBeGreaterThan(980);
  });

  it("never gives labels more than their part", () => {
    const long = { ...ROW, label: "x".repeat(400) };
    expect(layoutOf([long], 1000, false).labelWidth).toBe(420);
  });

  it("indents by depth", () => {
    expect(indentOf({ ...ROW, depth: 2 }, true)).toBeGreaterThan(indentOf(ROW, true));
    expect(indentOf(ROW, false)).toBe(0);
  });
});
