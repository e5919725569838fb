import { describe, expect, it } from "vitest";

import { leftText, merged, nearEnd, nextOpen, stepped } from "./steps";
import { Stopwatch } from "./stopwatch";

const ORDER = ["a", "b", "c", "d"];
const statuses = (open: Record<string, string>) => (id: string) => open[id] ?? "accepted";

describe("the order", () => {
  it("keeps its place when the service orders anew, and takes new items at the end", () => {
    expect(merged(ORDER, ["d", "e", "b", "e"])).toEqual(["a", "b", "c", "d", "e"]);
    expect(merged(ORDER, ["b"])).toBe(ORDER);
  });

  it("is stepped through, and ends", () => {
    expect([stepped(ORDER, "a", 1), stepped(ORDER, "d", 1), stepped(ORDER, "a", -1)]).toEqual(["b", "d", "a"]);
    expect([stepped(ORDER, null, 1), stepped(ORDER, "gone", -1), stepped([], "a", 1)]).toEqual(["a", "d", null]);
  });

  it("asks for more before it ends", () => {
    const long = Array.from({ length: 50 }, (_, i) => String(i));
    expect([nearEnd(long, "10", 80), nearEnd(long, "46", 80), nearEnd(long, "46", 50)]).toEqual([false, true, false]);
  });
});

describe("what comes next", () => {
  it("is the next open item, then one before", () => {
    expect(nextOpen(ORDER, "b", statuses({ a: "open", b: "open", d: "open" }))).toBe("d");
    expect(nextOpen(ORDER, "b", statuses({ a: "open", b: "open", d: "rejected" }))).toBe("a");
  });

  it("is one that was skipped once nothing is open", () => {
    expect(nextOpen(ORDER, "b", statuses({ a: "skipped", c: "open" }))).toBe("c");
    expect(nextOpen(ORDER, "c", statuses({ a: "skipped" }))).toBe("a");
  });

  it("is nothing once all is decided; not even the item just decided", () => {
    expect(nextOpen(ORDER, "b", statuses({ b: "open" }))).toBeNull();
    expect(nextOpen(ORDER, null, statuses({}))).toBeNull();
  });
});

it("the rest is told in minutes or hours, and not at all where nothing was measured", () => {
  expect([leftText(3, 10), leftText(60, 10), leftText(1000, 18), leftText(0, 5), leftText(9, null)]).toEqual([
    "less than a minute left", "about 10 min left", "about 5 h left", "", "",
  ]);
});

describe("the time of an item", () => {
  it("counts what is spent on it", () => {
    const watch = new Stopwatch(1000);
    watch.touch(3000);
    expect(watch.seconds(5500)).toBe(4.5);
  });

  it("stands still while the page is out of sight", () => {
    const watch = new Stopwatch(0);
    watch.pause(2000);
    expect(watch.seconds(900_000)).toBe(2);
    watch.touch(900_000);
    expect(watch.seconds(901_000)).toBe(3);
  });

  it("counts a long rest as one minute", () => {
    const watch = new Stopwatch(0);
    watch.touch(3_600_000);
    expect(watch.seconds(3_601_000)).toBe(61);
  });
});
