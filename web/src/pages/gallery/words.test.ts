import { describe, expect, it } from "vitest";

import { ascends, countFilters, fitsInAddress, idsAsked, namedParams, pageQuery, readList, readWords } from "./words";

function words(query: string) {
  return readWords(new URLSearchParams(query));
}

describe("readWords", () => {
  it("reads an address", () => {
    const read = words("text=rose&style=Gothic&ascending=false&ids=a.png,b.png,a.png&tag=odd,look+again");
    expect(read.text).toBe("rose");
    expect(read.ascending).toBe(false);
    expect(read.ids).toEqual(["a.png", "b.png"]);
    expect(read.tags).toEqual(["odd", "look again"]);
    expect(countFilters(read)).toBe(4);
  });

  it("takes nothing for nothing", () => {
    expect(countFilters(words("sort=coverage&ascending=yes&ids=,"))).toBe(0);
    expect(words("ascending=yes").ascending).toBeNull();
    expect(readList(null)).toEqual([]);
  });
});

describe("ascends", () => {
  it("puts the worst first unless told", () => {
    expect(ascends(words(""), "higher")).toBe(true);
    expect(ascends(words(""), "lower")).toBe(false);
    expect(ascends(words(""), "neither")).toBe(true);
    expect(ascends(words("ascending=true"), "lower")).toBe(true);
    expect(ascends(words("ascending=0"), "higher")).toBe(false);
  });
});

describe("idsAsked", () => {
  it("is null where all images are meant, empty where none has the tag", () => {
    expect(idsAsked(words(""), [], null)).toBeNull();
    expect(idsAsked(words("tag=unknown"), [], null)).toEqual([]);
    expect(idsAsked(words("saved=x"), [], [])).toEqual([]);
  });

  it("joins the ways of naming images by what they share", () => {
    expect(idsAsked(words("ids=a,b,c&tag=t"), ["c", "b"], null)).toEqual(["b", "c"]);
    expect(idsAsked(words("ids=a,b,c&tag=t&saved=s"), ["c", "b"], ["c", "z"])).toEqual(["c"]);
  });
});

it("pageQuery has the filters, the choice and the order", () => {
  const query = pageQuery(words("label=portal&tag=x"), { model: "demo/vit", percentile: 80 }, { sort: "iou@90", ascending: true });
  expect(query).toEqual({
    model: "demo/vit",
    method: undefined,
    layer: undefined,
    head: undefined,
    target: undefined,
    seed: undefined,
    metric: undefined,
    text: "",
    label: "portal",
    style: "",
    split: "",
    warning: "",
    sort: "iou@90",
    ascending: true,
  });
});

it("fitsInAddress knows when names are too many", () => {
  expect(fitsInAddress(["a.png"])).toBe(true);
  expect(fitsInAddress(Array.from({ length: 1000 }, (_, i) => `facade-${i}.png`))).toBe(false);
});

it("namedParams names the images, or says what stands for too many", () => {
  expect(namedParams(words("text=rose"), null)).toEqual({});
  expect(namedParams(words("tag=odd"), ["a.png", "b.png"])).toEqual({ ids: "a.png,b.png" });
  const many = Array.from({ length: 1000 }, (_, i) => `facade-${i}.png`);
  expect(namedParams(words("tag=odd,look+again&saved=x"), many)).toEqual({ ids: "", tag: "odd,look again", saved: "x" });
});
