/** Changes in the address and on sliders, bins, cells and filters of prototypes. */
import { describe, expect, it } from "vitest";

import type { BenchmarkPerturbation, PerturbationType, PrototypeEffect, PrototypeLine } from "../../api/client";
import { liveAddress, prototypeAddress, viewAddress } from "./address";
import { binned, dropCell, dropsData, filtered, linesData, natureOf, withDrops } from "./numbers";
import { complete, firstSteps, fit, moved, presetOf, readSteps, toggled, withParam, writeSteps } from "./steps";

const number = (name: string, low: number, high: number, step: number, usual: number) => ({
  name, default: usual, neutral: null, low, high, step, choices: [],
});
const OFFERED: PerturbationType[] = [
  { type: "hue", about: "", citation: "", params: [number("factor", -0.5, 0.5, 0.01, 0.2)] },
  { type: "blur", about: "", citation: "", params: [number("ksize", 1, 51, 2, 21), number("sigma", 0.1, 10, 0.1, 2)] },
  {
    type: "distortion", about: "", citation: "",
    params: [
      number("amplitude", 0, 20, 0.5, 7),
      { name: "direction", default: "both", neutral: null, low: null, high: null, step: 0.01, choices: ["horizontal", "vertical", "both"] },
    ],
  },
];
const hue = { type: "hue", params: { factor: 0.2 } };
const blur = { type: "blur", params: { ksize: 21, sigma: 2 } };

describe("steps", () => {
  const [ksize, sigma] = OFFERED[1]!.params as [ReturnType<typeof number>, ReturnType<typeof number>];

  it("keep parameters in their range and on their steps", () => {
    expect(fit(ksize, 4)).toBe(5);
    expect(fit(ksize, 99)).toBe(51);
    expect(fit(ksize, -3)).toBe(1);
    expect(fit(sigma, 0.30000000000000004)).toBe(0.3);
    expect(fit(sigma, "2.5")).toBe(2.5);
    expect(fit(sigma, "wide")).toBe(2);
    expect(fit(sigma, "")).toBe(2);
    expect(fit(sigma, undefined)).toBe(2);
    expect(fit(OFFERED[2]!.params[1]!, "up")).toBe("both");
    expect(fit(OFFERED[2]!.params[1]!, "vertical")).toBe("vertical");
    expect(fit(OFFERED[0]!.params[0]!, -0.25)).toBe(-0.25);
  });

  it("come back from the address as they were written", () => {
    const steps = [{ type: "distortion", params: { amplitude: 2.5, direction: "vertical" } }, hue];
    expect(writeSteps(steps)).toBe("distortion:amplitude=2.5,direction=vertical~hue:factor=0.2");
    expect(readSteps(writeSteps(steps), OFFERED)).toEqual(steps);
    expect(readSteps(writeSteps([]), OFFERED)).toEqual([]);
    expect(readSteps("", OFFERED)).toBeNull();
    expect(readSteps(null, OFFERED)).toBeNull();
  });

  it("leave out of an address what is not offered", () => {
    expect(readSteps("melt:heat=3~hue:factor=9,speed=2~blur", OFFERED)).toEqual([{ type: "hue", params: { factor: 0.5 } }, blur]);
    expect(complete(OFFERED, { type: "melt" })).toBeNull();
  });

  it("are turned on at the end, off, and set", () => {
    expect(toggled([hue], OFFERED, "blur")).toEqual([hue, blur]);
    expect(toggled([hue, blur], OFFERED, "hue")).toEqual([blur]);
    expect(withParam([hue], OFFERED, "hue", "factor", 0.4)).toEqual([{ type: "hue", params: { factor: 0.4 } }]);
    expect(withParam([hue], OFFERED, "blur", "sigma", 5)).toEqual([hue, { type: "blur", params: { ksize: 21, sigma: 5 } }]);
  });

  it("change places", () => {
    expect(moved([hue, blur], "blur", -1)).toEqual([blur, hue]);
    expect(moved([hue, blur], "hue", -1)).toEqual([hue, blur]);
    expect(moved([hue, blur], "hue", 1)).toEqual([blur, hue]);
    expect(moved([hue], "blur", 1)).toEqual([hue]);
  });

  it("start with the benchmark's first, and know which of its perturbations they are", () => {
    const asked: BenchmarkPerturbation[] = [
      { name: "dull", description: "", steps: [{ type: "hue", params: { factor: 0.4 } }, { type: "blur", params: {} }] },
      { name: "hue", description: "", steps: [hue] },
    ];
    const first = firstSteps(asked, OFFERED);
    expect(first).toEqual([{ type: "hue", params: { factor: 0.4 } }, blur]);
    expect(presetOf(first, asked, OFFERED)).toBe("dull");
    expect(presetOf([hue], asked, OFFERED)).toBe("hue");
    expect(presetOf([blur], asked, OFFERED)).toBeNull();
    expect(firstSteps([], OFFERED)).toEqual([hue]);
  });
});

const effect = (change: Partial<PrototypeEffect>): PrototypeEffect => ({
  prototype: 3, perturbation: "hue", images: 12, undefined: 0, focused: 0.5, focused_low: 0.4, focused_high: 0.6,
  dual: 0.1, dual_low: null, dual_high: null, whole: null, difference: 0.4, difference_low: 0.3, difference_high: 0.5,
  matters: true, p: 0.01, p_holm: 0.02, ...change,
});
const line = (change: Partial<PrototypeLine>): PrototypeLine => ({
  prototype: 3, label: "Gothic", weights: [], source: null, mask_relevance: 0.5, energy_relevance: 0.6, energy_raw: 0.4,
  chance: 0.2, nature: ["hue"], told: "", images: 12, drops: [effect({})], ...change,
});

describe("numbers", () => {
  it("are binned from 0 to 1, with 1 in the last", () => {
    const counts = binned([0, 0.04, 0.05, 0.999, 1, null], 20).map(({ count }) => count);
    expect([counts[0], counts[1], counts[19]]).toEqual([2, 1, 2]);
    expect(counts.reduce((sum, one) => sum + one)).toBe(5);
  });

  it("make cells that say what they mean", () => {
    expect(dropCell(line({}), "hue", "difference")).toEqual({
      value: 0.4, text: "+0.40", marked: true,
      title: "focused drop 50%, dual 10%, difference +0.40 [0.30, 0.50], 12 images, matters",
    });
    const few = line({ drops: [effect({ matters: null, difference_low: null, difference_high: null, images: 1 })] });
    expect(dropCell(few, "hue", "dual")).toMatchObject({ value: 0.1, marked: false });
    expect(dropCell(few, "hue", "dual").title).toContain("1 image, not decided");
    expect(dropCell(line({}), "blur", "focused")).toEqual({ value: null, text: "", title: "not analysed" });
    expect(dropCell(line({ drops: [effect({ focused: null })] }), "hue", "focused").text).toBe("–");
  });

  it("put prototypes with the largest differences first", () => {
    const lines = [line({ prototype: 1, drops: [effect({ difference: -0.2 })] }), line({ prototype: 2, drops: [] }), line({})];
    expect(withDrops(lines).map(({ prototype }) => prototype)).toEqual([3, 1]);
  });

  it("tell natures apart, and filter by them", () => {
    const lines = [line({}), line({ nature: [] }), line({ nature: null, label: "Baroque" }), line({ nature: null, images: 0 })];
    expect(lines.map(natureOf)).toEqual(["known", "unknown", "undecided", "uncovered"]);
    expect(filtered(lines, "", "unknown")).toEqual([lines[1]]);
    expect(filtered(lines, "Baroque", "any")).toEqual([lines[2]]);
  });

  it("are saved with empty cells for what is not known", () => {
    expect(linesData([line({ nature: null })]).rows[0]?.slice(-2)).toEqual([12, null]);
    const { columns, rows } = dropsData([line({})]);
    expect(rows[0]?.[columns.indexOf("dual_low")]).toBeNull();
    expect(rows[0]?.[columns.indexOf("matters")]).toBe(true);
  });
});

describe("addresses", () => {
  it("name the view but for the first", () => {
    expect(viewAddress("demo", "overview")).toBe("/prototypes?name=demo");
    expect(prototypeAddress("demo", 0)).toBe("/prototypes?name=demo&view=prototypes&prototype=0");
    expect(liveAddress("a b", "x.png", null, "none")).toBe("/prototypes?name=a+b&view=live&image=x.png&steps=none");
  });
});
