import { describe, expect, it } from "vitest";
import { allPaths, byName, byNumber, growTree, visibleLeaves, type Labelled } from "./tree";

const line = (label: string, n: number, ...parents: string[]): Labelled => ({ label, n, parents });

const LINES = [
  line("opening", 12),
  line("window", 9, "opening"),
  line("rose window", 2, "window"),
  line("pointed window", 7, "window"),
  line("door", 3, "opening"),
  line("gable", 5),
  line("stepped gable", 1, "gable", "ornament"),
];

const NOTHING = { least: 0, text: "", open: new Set<string>() };
const labels = (leaves: readonly { line: Labelled }[]) => leaves.map((leaf) => leaf.line.label);

describe("growTree", () => {
  it("puts labels below their parents and takes those without known parents as roots", () => {
    const tree = growTree(LINES, byName);
    expect(tree.map((branch) => branch.line.label)).toEqual(["gable", "opening"]);
    expect(allPaths(tree)).toEqual(["gable", "opening", "opening › window"]);
  });

  it("shows a label with two parents below both", () => {
    const tree = growTree([line("a", 2), line("b", 2), line("both", 2, "a", "b")], byName);
    const open = new Set(allPaths(tree));
    const paths = visibleLeaves(tree, { ...NOTHING, open }).map((leaf) => leaf.path);
    expect(paths).toEqual(["a", "a › both", "b", "b › both"]);
  });

  it("ends where labels stand above themselves", () => {
    const tree = growTree([line("top", 1), line("a", 1, "top", "b"), line("b", 1, "a")], byName);
    expect(allPaths(tree)).toEqual(["top", "top › a"]);
  });

  it("orders by a number, what has none last", () => {
    const value: Record<string, number | null> = { gable: null, opening: 0.1, late: 0.4 };
    const lines = [line("gable", 5), line("opening", 12), line("late", 1)];
    const tree = growTree(lines, byNumber((one) => value[one.label] ?? null));
    expect(labels(tree)).toEqual(["late", "opening", "gable"]);
  });
});

describe("visibleLeaves", () => {
  const tree = growTree(LINES, byName);

  it("shows roots alone until branches are opened", () => {
    expect(labels(visibleLeaves(tree, NOTHING))).toEqual(["gable", "opening"]);
    const seen = visibleLeaves(tree, { ...NOTHING, open: new Set(["opening"]) });
    expect(labels(seen)).toEqual(["gable", "opening", "door", "window"]);
    expect(seen.map((leaf) => leaf.depth)).toEqual([0, 0, 1, 1]);
    expect(seen.map((leaf) => leaf.open)).toEqual([false, true, false, false]);
  });

  it("leaves out labels with fewer regions than wanted", () => {
    const open = new Set(allPaths(tree));
    const seen = labels(visibleLeaves(tree, { least: 3, text: "", open }));
    expect(seen).toEqual(["gable", "opening", "door", "window", "pointed window"]);
    expect(visibleLeaves(tree, { least: 3, text: "", open })[0]?.children).toBe(0);
  });

  it("opens the way to what a search finds, and keeps what lies below a match", () => {
    expect(labels(visibleLeaves(tree, { ...NOTHING, text: "ROSE " }))).toEqual([
      "opening",
      "window",
      "rose window",
    ]);
    const below = visibleLeaves(tree, { least: 0, text: "gable", open: new Set() });
    expect(labels(below)).toEqual(["gable", "stepped gable"]);
    expect(visibleLeaves(tree, { ...NOTHING, text: "spire" })).toEqual([]);
  });
});
