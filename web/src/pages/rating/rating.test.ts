import { expect, it } from "vitest";

import type { RatingTask } from "../../api/client";
import type { Entry } from "../review/outbox";
import { answersOf, expectedOf, nextTask } from "./steps";

const TASK: RatingTask = { id: "t", image: "i.png", kind: "rate", left: "/l", right: null, version: 3 };
const entry = (id: string, item: string) => ({ id, item }) as Entry;

it("each answer has a key of its own", () => {
  expect(answersOf("rate").map(({ answer }) => answer)).toEqual([1, 2, 3, 4, 5]);
  expect(answersOf("choose").map(({ answer }) => answer)).toEqual(["left", "equal", "right"]);
  for (const kind of ["rate", "choose"] as const) {
    const keys = answersOf(kind).map((one) => one.key);
    expect(new Set(keys).size).toBe(keys.length);
  }
  expect(answersOf("choose").map(({ key }) => key)).toEqual(["ArrowLeft", "ArrowDown", "ArrowRight"]); // as browsers name them
});

it("a question is gone once its answer is on its way", () => {
  expect(nextTask(TASK, [entry("a", "other")], [])).toBe(TASK);
  expect(nextTask(TASK, [entry("a", "t")], [])).toBeNull();
  expect(nextTask(TASK, [], [{ task: TASK, entry: "a", answer: 2 }])).toBeNull(); // the next is not told yet
  expect(nextTask(null, [], [])).toBeNull();
});

it("a changed answer follows the one before, saved or not", () => {
  const before = { task: TASK, entry: "first", answer: 2 };
  expect(expectedOf(TASK, null, [])).toEqual({ expected: 3, follows: null });
  expect(expectedOf(TASK, before, [])).toEqual({ expected: 3, follows: "first" });
  expect(expectedOf(TASK, before, [entry("second", "t")])).toEqual({ expected: 3, follows: "second" });
});
