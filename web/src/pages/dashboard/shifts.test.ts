import { expect, it } from "vitest";
import { countShifts, farthest, ordered } from "./shifts";

const IMAGES = [
  { image: "up", a: 0.1, b: 0.5, shift: 0.4 },
  { image: "none", a: null, b: 0.5, shift: null },
  { image: "down", a: 0.5, b: 0.2, shift: -0.3 },
  { image: "same", a: 0.3, b: 0.3, shift: 0 },
  { image: "a little up", a: 0.3, b: 0.4, shift: 0.1 },
];

it("orders from the largest loss to the largest gain, what is undefined last", () => {
  expect(ordered(IMAGES).map(({ image }) => image)).toEqual(["down", "same", "a little up", "up", "none"]);
});

it("finds the farthest in both directions, and no others", () => {
  const { lost, gained } = farthest(ordered(IMAGES), 5);
  expect(lost.map(({ image }) => image)).toEqual(["down"]);
  expect(gained.map(({ image }) => image)).toEqual(["up", "a little up"]);
  expect(farthest(ordered(IMAGES), 1).gained.map(({ image }) => image)).toEqual(["up"]);
});

it("counts every image once", () => {
  expect(countShifts(ordered(IMAGES))).toEqual({ gained: 2, equal: 1, lost: 1, undefined: 1 });
});
