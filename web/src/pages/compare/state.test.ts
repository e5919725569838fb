import { describe, expect, it } from "vitest";

import type { StudyInfo } from "../../api/client";
import { readCompared } from "./state";
import { swipeByKey } from "./swipe";
import { paneWord } from "./words";

const STUDY = {
  default: { model: "demo/vit", method: "cls" },
  models: [
    { name: "demo/vit", base: "demo/vit", layer_numbers: [0, 1], methods: ["cls", "rollout"] },
    { name: "demo/vit@lora", base: "demo/vit", layer_numbers: [0, 1], methods: ["cls"] },
    { name: "demo/cnn", base: "demo/cnn", layer_numbers: [0, 1], methods: ["cam"] },
  ],
  methods: [
    { name: "cls", layered: true },
    { name: "rollout", layered: true },
    { name: "cam", layered: true },
  ],
} as unknown as StudyInfo;

function read(query: string) {
  return readCompared(STUDY, new URLSearchParams(query));
}

function panes(query: string): string[] {
  return read(query).panes.map(paneWord);
}

describe("panes of an address", () => {
  it("start with what differs in one thing", () => {
    expect(panes("")).toEqual(["demo/vit~cls", "demo/vit@lora~cls"]);
    expect(panes("model=demo/vit&method=rollout")).toEqual(["demo/vit~rollout", "demo/vit~cls"]);
    expect(panes("model=demo/cnn&method=cls")).toEqual(["demo/cnn~cam", "demo/cnn~cam~0"]);
  });

  it("are those that it names", () => {
    expect(panes("a=demo/cnn~cam&b=demo/vit~cls~1&d=demo/vit~cls~0")).toEqual([
      "demo/cnn~cam",
      "demo/vit~cls~1",
      "demo/vit~cls~0",
    ]);
  });

  it("are two at least", () => {
    expect(panes("a=demo/vit@lora~cls")).toEqual(["demo/vit@lora~cls", "demo/vit~cls"]);
    expect(panes("a=unknown~cls")).toEqual(["unknown~cls", "unknown~cls"]);
  });
});

it("the first pane shows the last layer where tables do", () => {
  expect(panes("layer=last")[0]).toBe("demo/vit~cls~1");
  expect(panes("layer=split")[0]).toBe("demo/vit~cls");
});

describe("the rest of an address", () => {
  it("has the study's rule where none is given", () => {
    const study = { ...STUDY, default: { ...STUDY.default, selection: "matched", percentile: 80, ties: "include" } } as StudyInfo;
    const rule = readCompared(study, new URLSearchParams("")).rule;
    expect(rule).toEqual({ selection: "matched", percentile: 80, ties: "include" });
  });

  it("is read", () => {
    const found = read("mode=swipe&swipe=0.25&with=c&a=x~y&b=x~z&c=x~w&percentile=72.5&region=3&unit=share&scale=one&cells=1");
    expect(found).toMatchObject({ mode: "swipe", swipe: 0.25, other: 2, region: 3, unit: "share", scale: "one", smooth: false });
    expect(found.rule).toEqual({ selection: "percentile", percentile: 72.5, ties: "share" });
  });

  it("that is odd counts as not given", () => {
    const found = read("mode=x&swipe=7&with=d&percentile=100&region=-1&unit=x&selection=top&opacity=no");
    expect(found).toMatchObject({ mode: "side", swipe: 1, other: 1, region: null, unit: null, opacity: 0.6 });
    expect(found.rule).toEqual({ selection: "percentile", percentile: 90, ties: "share" });
  });
});

it("swipeByKey stays within the frame", () => {
  expect(swipeByKey("ArrowRight", 0.5)).toBe(0.52);
  expect(swipeByKey("PageDown", 0.05)).toBe(0);
  expect(swipeByKey("End", 0.1)).toBe(1);
  expect(swipeByKey("x", 0.1)).toBeNull();
});
