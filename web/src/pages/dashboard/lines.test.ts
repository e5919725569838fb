import { expect, it } from "vitest";
import { distinct, groupBy, joined, layerName, rankName, sharedBy } from "./lines";

it("counts layers from 0 and names those of both halves", () => {
  expect([layerName(0), layerName("7"), layerName("5|6"), layerName(null)]).toEqual([
    "layer 0",
    "layer 7",
    "layers 5 and 6 by halves",
    "",
  ]);
});

it("says which lines several models share", () => {
  expect([sharedBy(1), sharedBy(5)]).toEqual(["", "same for 5 models"]);
  expect(joined("baseline", "", undefined, sharedBy(2))).toBe("baseline, same for 2 models");
});

it("shows shared ranks as they are", () => {
  expect([rankName(3), rankName(21.5), rankName(null)]).toEqual(["3", "21.5", "unranked"]);
});

it("groups in order of appearance", () => {
  expect([...groupBy(["b1", "a1", "b2"], (name) => name.slice(0, 1))]).toEqual([
    ["b", ["b1", "b2"]],
    ["a", ["a1"]],
  ]);
  expect(distinct(["b", "a", "b"])).toEqual(["b", "a"]);
});
