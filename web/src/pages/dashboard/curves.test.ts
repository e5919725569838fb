import { describe, expect, it } from "vitest";
import type { ProgressionLine } from "../../api/client";
import { bestPoint, nameInPanel, panelsOf, sharedCurve, sharedDomain } from "./curves";

function line(model: string, method: string, values: (number | null)[], chance = 0.1): ProgressionLine {
  const group = method === "edge" ? "baseline" : "attention";
  const points = values.map((value, x) => ({ x, value, chance })) as ProgressionLine["points"];
  const name = `${model} ${method}`;
  return { name, models: 1, model, method, group, target: "", layer: null, layered: true, points };
}

const LINES = [
  line("a", "cls", [0.1, 0.3, 0.2]),
  line("b", "cls", [0.2, null, 0.1]),
  line("a", "rollout", [0.2, 0.2, 0.2]),
  line("a", "edge", [0.4]),
  line("b", "edge", [0.4]),
];

describe("sharedDomain", () => {
  const sure = line("a", "cls", [0.3]);
  sure.points = sure.points.map((point) => ({ ...point, low: 0.2, high: 0.4, ceiling: 0.8 }));
  const few = line("a", "few", [0.9]);

  it("holds values with an interval, or all where none has one", () => {
    expect(sharedDomain([sure, few], [])).toEqual([0, 0.4]);
    expect(sharedDomain([few], [])).toEqual([0, 1]);
  });

  it("holds the marks", () => {
    expect(sharedDomain([sure, few], ["chance", "ceiling"])).toEqual([0, 0.8]);
  });
});

describe("panelsOf", () => {
  it("has a panel for each method, without baselines", () => {
    const panels = panelsOf(LINES, "method");
    expect(panels.map(({ title, lines }) => [title, lines.length])).toEqual([
      ["cls", 2],
      ["rollout", 1],
    ]);
    expect(panels[0]!.lines.map((one) => nameInPanel(one, "method", panels[0]!))).toEqual(["a", "b"]);
  });

  it("names targets where a panel has several of them", () => {
    const twice = [LINES[0]!, { ...LINES[0]!, target: "label" }];
    const [panel] = panelsOf(twice, "method");
    expect(twice.map((one) => nameInPanel(one, "method", panel!))).toEqual(["a", "a, label"]);
  });

  it("has a panel for each model", () => {
    const panels = panelsOf(LINES, "model");
    expect(panels.map(({ title }) => title)).toEqual(["a", "b"]);
    expect(panels[0]!.lines.map((one) => nameInPanel(one, "model", panels[0]!))).toEqual(["cls", "rollout"]);
  });
});

it("finds the best point and leaves out what is undefined", () => {
  expect(bestPoint(LINES[0]!.points)?.x).toBe(1);
  expect(bestPoint(LINES[1]!.points)?.x).toBe(0);
  expect(bestPoint(LINES[0]!.points, true)?.x).toBe(0);
  expect(bestPoint(line("a", "cls", [null]).points)).toBeNull();
});

describe("sharedCurve", () => {
  it("is what all lines have in common", () => {
    const both = sharedCurve(LINES.slice(0, 2), ({ chance }) => chance);
    expect(both).toEqual([0, 1, 2].map((x) => ({ x, value: 0.1 })));
  });

  it("goes on where a line has ended", () => {
    const short = line("c", "cls", [0.1]);
    const all = [0, 1, 2].map((x) => ({ x, value: 0.1 }));
    expect(sharedCurve([short, LINES[0]!], ({ chance }) => chance)).toEqual(all);
    expect(sharedCurve([LINES[0]!, short], ({ chance }) => chance)).toEqual(all);
  });

  it("draws nothing for all where lines differ", () => {
    const other = line("c", "cls", [0.1, 0.2, 0.3], 0.2);
    expect(sharedCurve([LINES[0]!, other], ({ chance }) => chance)).toEqual([]);
    expect(sharedCurve([], ({ chance }) => chance)).toEqual([]);
  });
});
