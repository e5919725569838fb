import { describe, expect, it } from "vitest";

import type { ImageSummary } from "../../api/client";
import { dataOf } from "./data";
import { linkTo, viewOf } from "./picked_bar";
import { filtersSet, orderNames } from "./toolbar";
import { readWords } from "./words";

describe("orderNames", () => {
  it("knows on which side the worst are", () => {
    expect(orderNames("iou@90", "higher").low).toBe("Worst first");
    expect(orderNames("kl", "lower").high).toBe("Worst first");
    expect(orderNames("entropy", "neither").low).toBe("Lowest first");
    expect(orderNames("image", "neither")).toEqual({ low: "A–Z", high: "Z–A" });
  });
});

describe("filtersSet", () => {
  it("takes each filter away alone", () => {
    const set = filtersSet(readWords(new URLSearchParams("style=Gothic&tag=a,b&ids=x.png,y.png&saved=s")));
    expect(set).toEqual([
      { text: "style: Gothic", without: { style: null } },
      { text: "selection: s", without: { saved: null } },
      { text: "tag: a", without: { tag: "b" } },
      { text: "tag: b", without: { tag: "a" } },
      { text: "2 named images", without: { ids: null } },
    ]);
  });
});

describe("a link to images", () => {
  it("carries the view and names the images", () => {
    const view = viewOf(new URLSearchParams("sort=coverage&model=demo/vit&tag=a&saved=s&ids=z&at=40"));
    const url = new URL(linkTo(["a.png", "b.png"], view) ?? "");
    expect(Object.fromEntries(url.searchParams)).toEqual({ sort: "coverage", model: "demo/vit", ids: "a.png,b.png" });
  });

  it("is not made where it would be too long", () => {
    expect(linkTo(Array.from({ length: 2000 }, (_, i) => `facade-${i}.png`), "")).toBeNull();
  });
});

it("dataOf leaves what is undefined empty", () => {
  const item: ImageSummary = {
    image: "a.png",
    labels: ["Gothic", "late"],
    split: "test",
    width: 10,
    height: 10,
    area: 0.1,
    regions: 2,
    value: null,
    chance: 0.05,
    ceiling: null,
    visible: 1,
    warnings: ["undefined"],
  };
  const data = dataOf([item], "iou@90", new Map([["a.png", ["odd"]]]));
  expect(data.columns.slice(0, 4)).toEqual(["image", "iou@90", "chance", "ceiling"]);
  expect(data.rows).toEqual([["a.png", null, 0.05, null, 0.1, 2, 1, "Gothic; late", "test", "undefined", "odd"]]);
});
