import { expect, it } from "vitest";
import { distinct, joined, layerName, markNames, rankName, sharedBy } from "./lines";

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

it("names each once", () => {
  expect(distinct(["b", "a", "b"])).toEqual(["b", "a"]);
});

it("does not call a uniform map chance", () => {
  expect(markNames([{ chance: 0.1, uniform: null }]).chance).toBe("chance");
  expect(markNames([{ chance: null, uniform: 1.8 }]).chance).toBe("uniform map");
});
