import { describe, expect, it } from "vitest";

import type { Drawn } from "../../viewer";
import { differenceOf, oneScale, scaleOf } from "./difference";

const WHOLE = { x0: 0, y0: 0, x1: 1, y1: 1 };

function map(values: number[], columns = 2, ignore: number[] | null = null): Drawn {
  return {
    values: Float32Array.from(values),
    rows: values.length / columns,
    columns,
    place: WHOLE,
    ignore: ignore === null ? null : Uint8Array.from(ignore),
  };
}

function drawn(difference: ReturnType<typeof differenceOf>): Drawn {
  if (!("drawn" in difference)) throw new Error(difference.problem);
  return difference.drawn;
}

describe("differenceOf", () => {
  it("is b less a", () => {
    expect([...(drawn(differenceOf(map([1, 0, 2, 1]), map([0, 0, 3, 1.5]), "values")).values as Float32Array)]).toEqual([
      -1, 0, 1, 0.5,
    ]);
  });

  it("of shares does not change with the unit of a map", () => {
    const shares = drawn(differenceOf(map([1, 1, 1, 1]), map([1, 0, 0, 3]), "share"));
    expect([...(shares.values as Float32Array)]).toEqual([0, -0.25, -0.25, 0.5]);
    const scaled = drawn(differenceOf(map([8, 8, 8, 8]), map([1, 0, 0, 3]), "share"));
    expect(scaled.values).toEqual(shares.values);
  });

  it("of shares counts only pixels that count, and ignores what either ignores", () => {
    const a = map([1, 1, 1, 5], 2, [0, 0, 0, 1]);
    const b = map([2, 1, 0, 0], 2, [0, 1, 0, 0]);
    const shares = drawn(differenceOf(a, b, "share"));
    expect(shares.values[0]).toBeCloseTo(2 / 2 - 1 / 3, 6);
    expect([...(shares.ignore ?? [])]).toEqual([0, 1, 0, 1]);
  });

  it("says why there is none", () => {
    expect(differenceOf(map([1, 2]), map([1, 2], 1), "values")).toEqual({
      problem: expect.stringContaining("1 × 2 and 2 × 1") as string,
    });
    expect(differenceOf({ ...map([1, 2]), place: { ...WHOLE, x0: 0.2 } }, map([1, 2]), "values")).toEqual({
      problem: expect.stringContaining("different parts of the image") as string,
    });
    expect(differenceOf(map([0, 0]), map([1, 2]), "share")).toEqual({
      problem: expect.stringContaining("positive sum") as string,
    });
  });
});

it("scaleOf has zero in the middle, over all maps", () => {
  const one = differenceOf(map([0, 0]), map([1, -3]), "values");
  const two = differenceOf(map([0, 0]), map([2, 0]), "values");
  expect(scaleOf([one, two])).toEqual([-3, 3]);
  expect(scaleOf([{ problem: "none" }])).toEqual([-0, 0]);
});

it("oneScale is that of all maps, around zero where one is signed", () => {
  expect(oneScale([map([1, 2]), null, map([5, 3])], false)).toEqual([1, 5]);
  expect(oneScale([map([1, 2]), map([-4, 3])], true)).toEqual([-4, 4]);
});
