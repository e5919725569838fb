import { describe, expect, it } from "vitest";

import type { AgreementMatrix, CascadeLine, CorrectnessLine, FaithfulnessLine, PartsLine, SanityLine } from "../../api/client";
import { cellOf } from "./agreement";
import { accuracyRange, methodsOf, modelSpots, spotsOf } from "./classes";
import { seriesOf } from "./curves";
import { correctnessRow } from "./correctness";
import { countsFor } from "./failures";
import { waysFor } from "./filters";
import { groupBy } from "../../tables";
import { checkedLayer, dotted, layeredName, nameAmong } from "./lines";
import { cascadeOf, sanityData } from "./links";
import { measureRows } from "./measure_table";
import { partsRow } from "./parts";
import { heightsOf, nameOf, nameShifts, nameSide } from "./scatter";
import { accuracySeries, referenceSeries, stagesOf } from "./stages";
import { axisOf, differenceRow, similarityRow } from "./verdicts";
import { VIEW_INFO, VIEWS } from "./views";
import { againstRandom, MEASURE_WORDS, stageTick, unitDomain, verdictCounts } from "./words";

const sanity = (changes: Partial<SanityLine> = {}): SanityLine => ({
  model: "demo/vit",
  method: "rollout",
  target: "",
  layer: 5,
  best_layer: 5,
  similarity: 0.42,
  low: 0.3,
  high: 0.5,
  cross: 0.4,
  difference: 0.02,
  difference_low: -0.05,
  difference_high: 0.09,
  verdict: "pass",
  guide: "between",
  cascade: "gradual: acceptable",
  edge: 0.2,
  training: null,
  images: 32,
  seeds: 5,
  ...changes,
});

describe("right and wrong", () => {
  const line: CorrectnessLine = {
    ...{ model: "demo/vit", method: "cls", group: "attention", target: "", layer: 5, right: 0.3, wrong: 0.2 },
    ...{ difference: 0.1, low: 0.02, high: 0.18, adjusted: 0.08, adjusted_low: 0.01, adjusted_high: 0.15 },
    ...{ right_images: 40, wrong_images: 12, reason: "" },
  };
  const rowOf = (changes: Partial<CorrectnessLine>, shown: "adjusted" | "difference" = "difference") =>
    correctnessRow({ ...line, ...changes }, [line], shown, "iou@90");

  it("shows the difference that is asked for, with its interval", () => {
    expect(rowOf({})).toMatchObject({ value: 0.1, low: 0.02, high: 0.18 });
    expect(rowOf({}, "adjusted")).toMatchObject({ value: 0.08, low: 0.01, high: 0.15 });
    expect(rowOf({}).reason).toBeUndefined();
  });

  it("has no mark without an interval, whether the service gives a difference or not", () => {
    for (const difference of [0.4, null]) {
      expect(rowOf({ difference, low: null, high: null, wrong_images: 1 })).toMatchObject({
        value: null,
        reason: { short: "n = 1", text: "1 image wrong: too few for an interval" },
      });
    }
    expect(rowOf({ low: null, high: null, right_images: 0 }).reason?.short).toBe("n = 0");
    expect(rowOf({ low: null, high: null }).reason?.short).toBe("no interval");
  });

  it("says the reason of the service where there is one", () => {
    expect(rowOf({ difference: null, low: null, high: null, wrong_images: 3, reason: "needs 5" }).reason).toEqual({
      short: "n = 3",
      text: "needs 5",
    });
  });

  it("draws classes over the heights of those with some images", () => {
    const spot = { key: "a", name: "a", x: 1, href: null };
    const [one, many] = [{ ...spot, y: 0.9, n: 1 }, { ...spot, y: 0.2, n: 20 }];
    expect(heightsOf([one, many])).toEqual([0.2]);
    expect(heightsOf([one])).toEqual([0.9]);
    expect([nameOf(one, true), nameOf(one, false), nameOf(many, false)]).toEqual(["a (n = 1, 0.900)", "a (n = 1)", "a"]);
  });
});

describe("names of lines", () => {
  const lines = [
    { model: "a", method: "cls", target: "" },
    { model: "a", method: "gradcam", target: "predicted" },
    { model: "a", method: "gradcam", target: "label" },
    { model: "b", method: "cls", target: "" },
  ];

  it("hold the model and the target only where they tell lines apart", () => {
    expect(lines.map((line) => nameAmong(line, lines))).toEqual([
      "a · cls",
      "a · gradcam · predicted",
      "a · gradcam · label",
      "b · cls",
    ]);
    expect(nameAmong(lines[0]!, lines.slice(0, 2))).toBe("cls");
    expect(nameAmong(lines[0]!, lines, false)).toBe("cls");
  });

  it("hold the layer where a method was checked at several", () => {
    const deep = [3, 5].map((layer) => ({ model: "a", method: "cls", target: "", layer }));
    expect(deep.map((line) => nameAmong(line, deep))).toEqual(["cls · layer 3", "cls · layer 5"]);
  });

  it("are grouped in order of appearance", () => {
    expect([...groupBy(lines, ({ model }) => model)].map(([name, some]) => [name, some.length])).toEqual([["a", 3], ["b", 1]]);
    expect(dotted("a", "", null, "b")).toBe("a · b");
  });
});

describe("verdicts", () => {
  it("stand before the name, so that colour never stands alone", () => {
    const lines = [sanity(), sanity({ method: "edge", verdict: "fail" }), sanity({ method: "x", verdict: "cannot tell" })];
    const rows = lines.map((line) => differenceRow(line, lines));
    expect(rows.map(({ label }) => label)).toEqual(["✓ rollout", "✗ edge", "? x"]);
    expect(rows.map(({ hollow }) => hollow)).toEqual([false, false, true]);
    expect(new Set(rows.map(({ colour }) => colour)).size).toBe(3);
  });

  it("show the difference with its own interval, and the similarity beside its references", () => {
    const line = sanity();
    expect(differenceRow(line, [line])).toMatchObject({ value: 0.02, low: -0.05, high: 0.09 });
    expect(differenceRow(line, [line]).chance).toBeUndefined();
    expect(similarityRow(line, [line])).toMatchObject({ value: 0.42, low: 0.3, high: 0.5, chance: 0.4, ceiling: 0.2 });
  });

  it("have an axis that very wide intervals do not stretch", () => {
    const row = { key: "a", label: "a", value: 0.1, low: -2, high: 2 };
    const [low, high] = axisOf([row], [0]);
    expect(low).toBeGreaterThan(-0.7);
    expect(high).toBeLessThan(0.7);
    expect(axisOf([{ ...row, low: 0, high: 0.2 }], [0, 0.1])).toEqual([0, 0.2]);
    const few = { ...row, key: "b", value: 3, low: null, high: null };
    expect(axisOf([{ ...row, low: 0, high: 0.2 }, few], [0, 0.1])).toEqual([0, 0.2]);
    expect(axisOf([few], [0, 0.1])).toEqual([0, 3]);
  });

  it("are counted, those that nobody has too", () => {
    expect(verdictCounts([sanity(), sanity({ verdict: "fail" }), sanity()])).toEqual([
      { verdict: "pass", count: 2 },
      { verdict: "fail", count: 1 },
      { verdict: "cannot tell", count: 0 },
    ]);
  });

  it("lead to their cascade, and are saved with nothing in place of what is undefined", () => {
    expect(cascadeOf(sanity({ target: "label" }))).toBe("/checks?view=cascade&model=demo%2Fvit&method=rollout&target=label");
    const data = sanityData({ measure: "spearman", reading: "signed", way: "full", lines: [sanity()], note: "" });
    expect(data.rows[0]?.[data.columns.indexOf("training")]).toBeNull();
    expect(data.rows[0]?.[data.columns.indexOf("verdict")]).toBe("pass");
  });
});

describe("the layer that was checked", () => {
  const last = sanity({ layer: 11, best_layer: 9 });

  it("is named, with the best layer of the leaderboard where that is another", () => {
    expect(checkedLayer(last)).toBe("checked on layer 11; the leaderboard’s best layer is 9");
    expect(checkedLayer(sanity())).toBe("layer 5");
    expect(checkedLayer(sanity({ layer: null, best_layer: null }))).toBe("");
  });

  it("is part of the names of lines in charts, and of what is saved", () => {
    const best = sanity({ layer: 9, best_layer: 9 });
    expect(layeredName(best, [last, best])).toBe("rollout · layer 9");
    expect(differenceRow(best, [best]).detail).toBe("pass · layer 9");
    const { columns, rows } = sanityData({ measure: "spearman", reading: "signed", way: "full", lines: [last], note: "" });
    expect(["layer", "best_layer"].map((name) => rows[0]?.[columns.indexOf(name)])).toEqual([11, 9]);
  });

  it("keeps the curves of two layers of a method apart", () => {
    const curve = { model: "m", method: "cls", group: "attention", target: "", best_layer: 9, points: [] };
    const series = seriesOf([{ ...curve, layer: 9 }, { ...curve, layer: 11 }]);
    expect(new Set(series.map(({ key }) => key)).size).toBe(2);
    expect(series[0]?.name).toBe("cls · layer 9");
  });
});

describe("a cascade", () => {
  const line: CascadeLine = {
    ...{ model: "m", method: "cls", target: "", layer: 2, best_layer: 2, cross: 0.3, edge: null, training: 0.5, seeds: 5 },
    points: [-1, 0, 1].map((stage) => ({
      ...{ stage, name: ["", "head", "layer2"][stage + 1] ?? "", similarity: 1 - 0.3 * (stage + 1), low: null, high: null },
      ...{ accuracy: stage < 0 ? 0.9 : 0.25, accuracy_low: 0.1, accuracy_high: 1, images: 8 },
    })),
  };

  it("begins with the trained network", () => {
    expect([...stagesOf(line)]).toEqual([[-1, "trained"], [0, "head"], [1, "layer2"]]);
    expect(["trained", "head", "layer11", "embedding", "features"].map(stageTick)).toEqual(["trained", "head", "L11", "emb.", "featu…"]);
  });

  it("has level lines for what is known alone, and the accuracy that is left", () => {
    const [cross, training, ...more] = referenceSeries(line);
    expect([cross?.name, training?.name, more]).toEqual(["map of another image (0.30)", "another training (0.50)", []]);
    expect(cross?.points).toEqual([{ x: -1, y: 0.3 }, { x: 1, y: 0.3 }]);
    expect(accuracySeries(line).points.map(({ y }) => y)).toEqual([0.9, 0.25, 0.25]);
  });

  it("is drawn from 0 to 1, and further where values lie beyond", () => {
    expect(unitDomain([0.2, null, 0.9])).toEqual([0, 1]);
    expect(unitDomain([-0.03, 1])).toEqual([-0.1, 1]);
    expect(unitDomain([])).toEqual([0, 1]);
  });

  it("has ways with stages alone; a verdict needs all weights redrawn", () => {
    const ways = ["full", "top-down", "single"];
    expect(waysFor("cascade", ways)).toEqual(["top-down", "single"]);
    expect(waysFor("verdicts", ways)).toEqual(["full", "top-down"]);
  });
});

describe("faithfulness", () => {
  const faithful = (changes: Partial<FaithfulnessLine> = {}): FaithfulnessLine => ({
    ...{ model: "m", method: "cls", group: "attention", target: "", layer: 2, best_layer: 2, measure: "deletion", value: 0.3, low: 0.2, high: 0.4 },
    ...{ random: 0.5, difference: -0.2, difference_low: -0.3, difference_high: -0.1, better: "lower", images: 8 },
    ...changes,
  });

  it("is better or worse than a random map by which values are better", () => {
    expect(againstRandom(faithful())).toBe("better");
    expect(againstRandom(faithful({ better: "higher" }))).toBe("worse");
    expect(againstRandom(faithful({ better: "zero" }))).toBe("better");
    expect(againstRandom(faithful({ difference_high: 0.01 }))).toBe("alike");
    expect(againstRandom(faithful({ difference_low: null }))).toBe("unknown");
  });

  it("has a row for each method with its measures", () => {
    const rows = measureRows([faithful(), faithful({ measure: "insertion" }), faithful({ method: "random", group: "baseline", layer: null })]);
    expect(rows.map(({ name, baseline, by }) => [name, baseline, [...by.keys()]])).toEqual([
      ["cls", false, ["deletion", "insertion"]],
      ["random", true, ["deletion"]],
    ]);
  });

  it("tells baselines apart by their dashes", () => {
    const points = [{ x: 0, value: 1 }, { x: 1, value: null }] as never[];
    const line = (method: string, group: string) => ({ model: "m", method, group, target: "", layer: null, best_layer: null, points });
    const series = seriesOf([line("cls", "attention"), line("random", "baseline"), line("edge", "baseline")]);
    expect(series[0]?.look).toBeUndefined();
    expect(series[1]?.look?.dash).not.toBe(series[2]?.look?.dash);
    expect(series[0]?.points[1]?.y).toBeNull();
  });

  it("explains every measure", () => {
    expect(Object.keys(MEASURE_WORDS)).toHaveLength(10);
    for (const { meaning } of Object.values(MEASURE_WORDS)) expect(meaning).toMatch(/(better|best)\.$/);
  });
});

describe("other views", () => {
  it("show parts beside the share that decides", () => {
    const line = { model: "m", method: "cls", group: "attention", target: "", layer: 2, ap: 0.7, ap_low: 0.6, ap_high: 0.8, base: 0.3 } as PartsLine;
    expect(partsRow(line, [line], "ap")).toMatchObject({ value: 0.7, low: 0.6, high: 0.8, chance: 0.3, hollow: false });
  });

  it("leave classes out whose score is undefined", () => {
    const spot = { model: "m", method: "cls", group: "x", target: "", layer: null, label: "Gothic", accuracy: 0.5, images: 6 };
    const spots = spotsOf([{ ...spot, value: 0.2 }, { ...spot, label: "Baroque", value: null }]);
    expect(spots.map(({ name, x, y }) => [name, x, y])).toEqual([["Gothic", 0.5, 0.2]]);
    const edge = { ...spot, method: "edge", group: "baseline", value: 0.1 };
    expect(methodsOf([edge, { ...spot, target: "predicted", value: 0.2 }])).toEqual(["cls · predicted", "edge"]);
    expect(spots[0]?.href).toBe("/?model=m&method=cls&style=Gothic");
  });

  it("go with the models, a spot per model and method", () => {
    const line = {
      ...{ model: "a", method: "cls", group: "attention", target: "", layer: 5, accuracy: 0.9, accuracy_low: null, accuracy_high: null },
      ...{ value: 0.3, low: null, high: null, images: 12, reason: "" },
    };
    const spots = modelSpots([line, { ...line, model: "b", accuracy: 0.4 }, { ...line, model: "c", value: null }], "iou@90");
    expect(spots.map(({ name, x, y, n }) => [name, x, y, n])).toEqual([["a · cls", 0.9, 0.3, 12], ["b · cls", 0.4, 0.3, 12]]);
    expect(spots[0]?.href).toContain("model=a&method=cls");
    const [low = 0, high = 0] = accuracyRange(spots);
    expect([low > 0.3, high < 1]).toEqual([true, true]);
    expect(accuracyRange([...spots, { key: "few", name: "few", x: 0, y: 0.1, n: 2, href: null }])).toEqual([0, 1]);
  });

  it("keep names of spots apart and inside the drawing", () => {
    expect(nameShifts([{ x: 0, y: 10 }, { x: 5, y: 12 }, { x: 200, y: 11 }])).toEqual([0, 10, 0]);
    expect(nameShifts([{ x: 0, y: 90 }, { x: 5, y: 95 }], 100)).toEqual([0, null]);
    expect(nameShifts([50, 51, 52, 53, 80].map((y) => ({ x: 0, y })))).toEqual([0, 11, null, null, 0]);
    expect(nameSide(290, 300, "Gothic")).toBe("end");
    expect(nameSide(20, 300, "Gothic")).toBe("start");
  });

  it("say of a cell of the agreement its interval and its images", () => {
    const answer = { values: [[1, 0.5], [0.5, 1]], low: [[1, 0.4], [0.4, 1]], high: [[1, 0.6], [0.6, 1]], counts: [[9, 9], [9, 9]] } as unknown as AgreementMatrix;
    expect(cellOf(answer, 0, 1).title).toBe("0.500, [0.40, 0.60], 9 images");
    expect(cellOf(answer, 1, 1).title).toBe("the same maps");
  });

  it("leave images to compare the worst with", () => {
    expect(countsFor(24)).toEqual([6, 12]);
    expect(countsFor(8)).toEqual([]);
  });

  it("each ask a question", () => {
    for (const view of VIEWS) expect(VIEW_INFO[view].asks).toMatch(/\?$/);
  });
});
