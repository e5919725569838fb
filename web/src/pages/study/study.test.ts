import { expect, it } from "vitest";

import type { Progress } from "../../api/client";
import { percentilesText } from "./contents";
import { grouped, sorted } from "./downloads";
import { linesOf, toldColumns } from "./plan";
import { stateOf } from "./progress";
import { flatten } from "./provenance";

const PROGRESS: Progress = { done: 3, all: 9, running: false, finished: false, rows: 1, updated: null, version: "v" };

it("a study that is neither running nor finished has stopped", () => {
  expect(stateOf(PROGRESS).text).toBe("stopped before its end");
  expect(stateOf({ ...PROGRESS, running: true }).text).toBe("running");
  expect(stateOf({ ...PROGRESS, done: 9, finished: true }).text).toBe("finished");
});

it("files that differ in their ending stand together", () => {
  expect(grouped(["pr_curves.png", "rows.csv", "pr_curves.svg"])).toEqual([
    { stem: "pr_curves", endings: ["png", "svg"] },
    { stem: "rows", endings: ["csv"] },
  ]);
});

it("columns of the plan that say nothing are left out, and 0 says something", () => {
  const table = { columns: ["model", "check", "heads"], rows: [["m", "", 0], ["n", null, 0]], note: "" };
  expect(toldColumns(table, linesOf(table))).toEqual(["model", "heads"]);
});

it("provenance is told to its leaves", () => {
  expect(flatten({ a: { b: 1 }, c: [1, 2], d: null })).toEqual([["a · b", "1"], ["c", "1, 2"], ["d", "none"]]);
});

it("a figure stands with its numbers, apart from tables", () => {
  const { figures, tables } = sorted(["pr.csv", "rows.csv", "pr.png"]);
  expect(figures).toEqual([{ stem: "pr", endings: ["csv", "png"] }]);
  expect(tables).toEqual([{ stem: "rows", endings: ["csv"] }]);
});

it("other percentiles are promised only where maps are kept", () => {
  expect(percentilesText([90, 95], true)).toBe("90, 95 are stored; any other is computed on demand");
  expect(percentilesText([90, 95], false)).toBe("90, 95 are stored");
});
