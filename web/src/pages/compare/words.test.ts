import { describe, expect, it } from "vitest";

import { asked, overAllQuery, panesBy, paneTitle, paneWord, readPane, spreadLayers, type Known, type Pane } from "./words";

const FULL: Pane = {
  model: "demo/vit@seed2",
  method: "grad_cam",
  layer: 0,
  head: 3,
  target: "Gothic ~ 50% late",
  seed: 7,
};
const KNOWN: Known = {
  models: [
    { name: "demo/vit", base: "demo/vit", layer_numbers: [0, 1, 2, 3, 4, 5], methods: ["cls", "rollout"] },
    { name: "demo/vit@lora", base: "demo/vit", layer_numbers: [0, 1, 2, 3, 4, 5], methods: ["cls"] },
    { name: "demo/mae", base: "demo/mae", layer_numbers: [0, 1, 2], methods: ["cls", "mean"] },
    { name: "demo/cnn", base: "demo/cnn", layer_numbers: [], methods: ["cam"] },
  ],
  methods: [
    { name: "cls", layered: true },
    { name: "rollout", layered: true },
    { name: "cam", layered: false },
  ],
};
const VIT = readPane("demo/vit~cls~4");

describe("a pane's word", () => {
  it("gives the pane back", () => {
    expect(readPane(paneWord(FULL))).toEqual(FULL);
    expect(readPane(paneWord(VIT))).toEqual(VIT);
  });

  it("is short where little is said", () => {
    expect(paneWord(VIT)).toBe("demo/vit~cls~4");
    expect(paneWord({ ...VIT, layer: null, target: "predicted" })).toBe("demo/vit~cls~~~predicted");
  });

  it("that is odd leaves the choice to the server", () => {
    expect(readPane("demo/vit~cls~-1~x")).toEqual({ ...VIT, layer: null });
    expect(asked(readPane(""))).toEqual({});
  });

  it("asks for layer 0 and head 0 too", () => {
    expect(asked({ ...VIT, layer: 0, head: 0 })).toEqual({
      model: "demo/vit",
      method: "cls",
      layer: 0,
      head: 0,
    });
  });
});

describe("panes that differ in one thing", () => {
  it("models: those that have the method, this one first", () => {
    const panes = panesBy("models", readPane("demo/mae~cls~1"), KNOWN);
    expect(panes.map(paneWord)).toEqual(["demo/mae~cls~1", "demo/vit~cls", "demo/vit@lora~cls"]);
  });

  it("variants: of one base, frozen first", () => {
    const panes = panesBy("variants", readPane("demo/vit@lora~cls"), KNOWN);
    expect(panes.map(paneWord)).toEqual(["demo/vit~cls", "demo/vit@lora~cls"]);
    expect(panesBy("variants", readPane("demo/cnn~cam"), KNOWN)).toHaveLength(1);
  });

  it("methods: of one model", () => {
    expect(panesBy("methods", VIT, KNOWN).map(paneWord)).toEqual(["demo/vit~cls~4", "demo/vit~rollout"]);
  });

  it("layers: spread over the model", () => {
    expect(panesBy("layers", VIT, KNOWN).map((pane) => pane.layer)).toEqual([0, 2, 3, 5]);
    expect(panesBy("layers", readPane("demo/cnn~cam"), KNOWN)).toEqual([]);
  });

  it("unknown model: none", () => {
    expect(panesBy("models", readPane("x~cls"), KNOWN)).toEqual([]);
  });
});

it.each([
  [[], []],
  [[7], [7]],
  [[0, 1], [0, 1]],
  [[0, 1, 2], [0, 1, 2]],
  [[0, 3, 6, 9, 11], [0, 3, 9, 11]],
  [[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], [0, 4, 7, 11]],
])("spreadLayers of %j", (layers, expected) => {
  expect(spreadLayers(layers)).toEqual(expected);
});

describe("overAllQuery", () => {
  const none = [null, null] as const;

  it("compares models, each at its best layer or both at one", () => {
    const a = readPane("demo/vit~cls");
    expect(overAllQuery(a, readPane("demo/mae~cls"), none)).toEqual({ a: "demo/vit", b: "demo/mae", by: "model", method: "cls" });
    expect(overAllQuery(VIT, readPane("demo/mae~cls~4"), none)?.layer).toBe(4);
    expect(overAllQuery(VIT, readPane("demo/mae~cls"), none)).toBeNull();
  });

  it("compares methods of one model", () => {
    const query = overAllQuery(readPane("demo/vit~cls"), readPane("demo/vit~rollout"), none);
    expect(query).toEqual({ a: "cls", b: "rollout", by: "method", model: "demo/vit" });
  });

  it("compares layers, those that were chosen among them", () => {
    const query = overAllQuery(VIT, readPane("demo/vit~cls"), [4, 7]);
    expect(query).toEqual({ a: "4", b: "7", by: "layer", model: "demo/vit", method: "cls" });
    expect(overAllQuery(VIT, readPane("demo/vit~cls"), [4, 4])).toBeNull();
    expect(overAllQuery(VIT, VIT, none)).toBeNull();
  });

  it("compares one thing at a time", () => {
    expect(overAllQuery(readPane("demo/vit~cls"), readPane("demo/mae~mean"), none)).toBeNull();
    expect(overAllQuery(VIT, { ...VIT, head: 1, layer: 2 }, none)).toBeNull();
    expect(overAllQuery({ ...VIT, head: 0 }, { ...VIT, head: 0, layer: 2 }, none)?.head).toBe(0);
  });
});

it("paneTitle says what is known", () => {
  expect(paneTitle(FULL)).toBe("demo/vit@seed2 · grad_cam · layer 0 · head 3 · Gothic ~ 50% late");
  expect(paneTitle(readPane("demo/vit~cls"))).toBe("demo/vit · cls");
});
