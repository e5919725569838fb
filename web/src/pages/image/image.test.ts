import { describe, expect, it } from "vitest";

import type { Choice, ImageDetail, ImageMetrics, ImageModelsLine, StudyInfo } from "../../api/client";
import { insideOf, scoreAt, sortMap, type Rule } from "../../numeric";
import { nextRegion } from "./commands";
import { dataOf, moreLines, ownLines } from "./figures";
import { merged } from "./others";
import { boxWords, exactWords, oneLayer, parseBox, percentileWords, readRule, ruleText, ruleWords, threshold } from "./state";

const rule = (selection: string, percentile = 90): Rule => ({ selection, percentile, ties: "share" });

describe("words of the address", () => {
  it("hold boxes and give them back", () => {
    expect(parseBox(boxWords([0.1, 0.25, 0.333333, 1]))).toEqual([0.1, 0.25, 0.3333, 1]);
    for (const wrong of ["", "0.1,0.2", "0.5,0,0.1,1", "0,0,2,1", "a,b,c,d"]) expect(parseBox(wrong)).toBeNull();
  });

  it("name one map exactly, without what it does not have", () => {
    const choice = { model: "m", method: "cls", layer: 0, head: null, target: "", seed: null } as Choice;
    expect(exactWords(choice)).toEqual({ model: "m", method: "cls", layer: 0 });
  });

  it("tell the rule, with a percentile only where it counts", () => {
    expect(ruleWords(rule("percentile"))).toEqual({ selection: "percentile", percentile: 90, ties: "share" });
    expect(ruleWords(rule("mean"))).toEqual({ selection: "mean", ties: "share" });
    expect([threshold(rule("percentile", 97.5)), threshold(rule("mass60"))]).toEqual(["97.5", "mass60"]);
  });
});

describe("the rule of an address", () => {
  const usual = { selection: "mean", percentile: 80, ties: "include" } as Choice;
  const read = (query: string, of: Choice | null = usual) => readRule(new URLSearchParams(query), of);

  it("is the study's where none is given, and where what is given is none", () => {
    for (const query of ["", "selection=top&percentile=abc&ties=x", "selection=mass0", "selection=mass101&percentile=100", "percentile=0&selection="]) {
      expect(read(query)).toEqual(usual);
    }
    expect(read("", null)).toEqual({ selection: "percentile", percentile: 90, ties: "share" });
  });

  it("is what is given, as far as the service takes it", () => {
    expect(read("selection=percentile&percentile=99.95&ties=share")).toEqual({ selection: "percentile", percentile: 99.95, ties: "share" });
    expect(read("selection=mass100").selection).toBe("mass100");
    expect(read("selection=mass").selection).toBe("mass60");
  });

  it("becomes percentile when a percentile is chosen", () => {
    expect(percentileWords(70, rule("mean"))).toEqual({ percentile: 70, selection: "percentile" });
    expect(percentileWords(70, rule("percentile"))).toEqual({ percentile: 70 });
  });
});

it("layers of tables come to one layer", () => {
  const study = {
    default: { model: "vit", method: "cls" },
    models: [{ name: "vit", layer_numbers: [0, 2, 11] }, { name: "cnn", layer_numbers: [0, 3] }],
    methods: [{ name: "cls", layered: true }, { name: "saliency", layered: false }],
  } as unknown as StudyInfo;
  const of = (word: string, model = "", method = "") => oneLayer(word, study, model, method);
  expect([of("best"), of("split"), of("last"), of("last", "cnn"), of("last", "vit", "saliency")]).toEqual(["", "", "11", "3", ""]);
  expect([of("5"), of("nonsense"), of("")]).toEqual(["5", "nonsense", ""]);
});

it("baselines that are the same for several models stand in one line", () => {
  const line = (model: string, method: string, value: number) =>
    ({ choice: { model, method, target: "" }, value, chance: 0.1, ceiling: 1 }) as unknown as ImageModelsLine;
  const lines = [line("a", "cls", 0.5), line("b", "cls", 0.5), line("a", "edge", 0.3), line("b", "edge", 0.3), line("c", "edge", 0.2)];
  const found = merged(lines, new Set(["edge"])).map((one) => [one.choice.method, one.models]);
  expect(found).toEqual([["cls", ["a"]], ["cls", ["b"]], ["edge", ["a", "b"]], ["edge", ["c"]]]);
});

describe("rules in words", () => {
  it("say how much is selected", () => {
    expect(ruleText(rule("percentile", 99.9))).toBe("the top 0.1% of the pixels");
    expect(ruleText(rule("mass25"))).toContain("25% of the energy");
  });
});

describe("regions one after the other", () => {
  const region = (index: number, dropped = "", ignore = false) => ({ index, dropped, ignore });
  const detail = { regions: [region(0), region(1, "outside"), region(2), region(3, "", true)] } as unknown as ImageDetail;

  it("leave out what is not scored, and come back to all", () => {
    expect(nextRegion(detail, null, 1)).toBe(0);
    expect(nextRegion(detail, 0, 1)).toBe(2);
    expect(nextRegion(detail, 2, 1)).toBeNull();
    expect(nextRegion(detail, null, -1)).toBe(2);
    expect(nextRegion({ regions: [] }, null, 1)).toBeNull();
  });
});

describe("lines of figures", () => {
  const sorted = sortMap(Float32Array.of(1, 2, 3, 4), "positive");
  const figure = (metric: string, value: number) => ({
    metric, value, chance: 0.5, ceiling: 1, uniform: null, beyond: null, mean: 0.4, low: 0.3, high: 0.5, n: 7,
  });
  const asked = { figures: [figure("iou@75", 9), figure("auc_roc", 0.8)] } as unknown as ImageMetrics;

  it("are made here; means come from the service, and more scores", () => {
    const scores = scoreAt(sorted, insideOf(sorted, Uint8Array.of(0, 0, 1, 1)), rule("percentile", 75));
    const [iou] = ownLines(scores, rule("percentile", 75), asked);
    expect(iou).toMatchObject({ metric: "iou@75", value: 0.5, mean: 0.4, low: 0.3, high: 0.5, n: 7 });
    expect(moreLines(asked).map((line) => line.metric)).toEqual(["auc_roc"]);
  });

  it("tell what a uniform map gets apart from chance", () => {
    const kl = { ...figure("kl", 1.2), chance: null, uniform: 1.8 };
    const [line] = moreLines({ figures: [kl] } as unknown as ImageMetrics);
    expect(line).toMatchObject({ chance: null, uniform: 1.8 });
    const { columns, rows } = dataOf([line!]);
    expect([rows[0]?.[columns.indexOf("chance")], rows[0]?.[columns.indexOf("uniform")]]).toEqual([null, 1.8]);
  });

  it("are null where undefined, never 0", () => {
    const scores = scoreAt(sorted, insideOf(sorted, new Uint8Array(4)), rule("percentile"));
    for (const line of ownLines(scores, rule("percentile"), undefined)) {
      expect([line.value, line.chance, line.ceiling, line.mean]).toEqual([null, null, null, null]);
    }
  });
});
