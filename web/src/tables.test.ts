import { expect, it } from "vitest";
import { groupBy } from "./tables";

it("groups in order of appearance", () => {
  expect([...groupBy(["b1", "a1", "b2"], (name) => name.slice(0, 1))]).toEqual([
    ["b", ["b1", "b2"]],
    ["a", ["a1"]],
  ]);
});
