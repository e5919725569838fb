import { describe, expect, it } from "vitest";

import { joined, redoTarget, samePerson, undoneBy, undoTarget, type Kept } from "./undo";

const event = (number: number, kind: string, undoes: number | null = null, who = "Anna", mode = "review"): Kept => ({
  number, id: `id-${number}`, who, mode, kind, item: "x", image: "i.png", undoes,
});
const number = (found: Kept | null) => found?.number ?? null;

describe("undo", () => {
  it("takes back my last decision, whatever others did since", () => {
    const events = [event(1, "accept"), event(2, "reject"), event(3, "accept", null, "Berta")];
    expect(number(undoTarget(events, " anna ", "review"))).toBe(2);
    expect(number(undoTarget(events, "berta", "review"))).toBe(3);
    expect(undoTarget(events, "Carl", "review")).toBeNull();
    expect(undoTarget(events, "Anna", "gold")).toBeNull();
  });

  it("goes on to the decision before, and may be taken back itself", () => {
    const events = [event(1, "accept"), event(2, "reject"), event(3, "undo", 2)];
    expect(number(undoTarget(events, "Anna", "review"))).toBe(1);
    const redone = [...events, event(4, "undo", 3)];
    expect(undoneBy(redone).has(2)).toBe(false);
    expect(number(undoTarget(redone, "Anna", "review"))).toBe(2);
  });

  it("knows that somebody else took it back", () => {
    const events = [event(1, "accept"), event(2, "reject"), event(3, "undo", 2, "Berta")];
    expect(number(undoTarget(events, "Anna", "review"))).toBe(1);
  });

  it("leaves the lock alone: reopening says why", () => {
    const events = [event(1, "done", null, "Anna", "gold"), event(2, "lock", null, "Anna", "gold")];
    expect(number(undoTarget(events, "Anna", "gold"))).toBe(1);
  });
});

describe("redo", () => {
  const events = [event(1, "accept"), event(2, "reject"), event(3, "undo", 2), event(4, "undo", 1)];

  it("brings back what was taken back, the last first", () => {
    expect(number(redoTarget(events, "Anna", "review"))).toBe(4);
    expect(number(redoTarget([...events, event(5, "undo", 4)], "Anna", "review"))).toBe(3);
    expect(redoTarget([...events, event(5, "undo", 4), event(6, "undo", 3)], "Anna", "review")).toBeNull();
  });

  it("is over once another decision was made", () => {
    expect(redoTarget([...events, event(5, "skip")], "Anna", "review")).toBeNull();
    expect(redoTarget([], "Anna", "review")).toBeNull();
  });
});

it("events are joined in order, each once", () => {
  const known = [event(2, "accept"), event(5, "skip")];
  expect(joined(known, [event(5, "skip"), event(3, "reject")]).map((one) => one.number)).toEqual([2, 3, 5]);
  expect(joined(known, [event(2, "accept")])).toBe(known);
});

it("names are compared as the service compares them", () => {
  expect(samePerson(" Anna  BERG ")).toBe("anna berg");
});
