import { expect, it } from "vitest";
import { countShifts, farthest, shiftsOf } from "./shifts";

const IMAGES = [
  { image: "up", a: 0.1, b: 0.5 },
  { image: "none", a: null, b: 0.5 },
  { image: "down", a: 0.5, b: 0.2 },
  { image: "same", a: 0.3, b: 0.3 },
  { image: "a little up", a: 0.3, b: 0.4 },
];

it("orders from the largest loss to the largest gain, what is undefined last", () => {
  const shifts = shiftsOf(IMAGES);
  expect(shifts.map(({ image }) => image)).toEqual(["down", "same", "a little up", "up", "none"]);
  expect(shifts[0]!.shift).toBeCloseTo(-0.3);
  expect(shifts.at(-1)!.shift).toBeNull();
});

it("finds the farthest in both directions, and no others", () => {
  const { lost, gained } = farthest(shiftsOf(IMAGES), 5);
  expect(lost.map(({ image }) => image)).toEqual(["down"]);
  expect(gained.map(({ image }) => image)).toEqual(["up", "a little up"]);
  expect(farthest(shiftsOf(IMAGES), 1).gained.map(({ image }) => image)).toEqual(["up"]);
});

it("counts every image once", () => {
  expect(countShifts(shiftsOf(IMAGES))).toEqual({ gained: 2, equal: 1, lost: 1, undefined: 1 });
});
