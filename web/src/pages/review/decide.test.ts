import { describe, expect, it } from "vitest";

import type { ReviewEvent, ReviewItem } from "../../api/client";
import { swapped, type Log } from "./data";
import { canAgain, draftOf, seenVersion, toRedo, toUndo, undoable, type Person } from "./decide";
import { changeOf, drawingOf, editingOf } from "./editing";
import { after } from "./hooks";
import type { Aside, Entry } from "./outbox";
import { shapeAt, type Shape } from "./shapes";
import { closeUp, zoomed } from "./stage";
import { conflictText, eventText, timeText, waitingText, whyText } from "./words";

const SIZE = [200, 100] as const;
const BOX: [number, number, number, number] = [0.1, 0.2, 0.5, 0.6];
const ITEM: ReviewItem = {
  id: "x", image: "i.png", label: "window", kind: "box", box: BOX, outline: [], proposed: BOX, proposed_label: "window",
  score: 0.5, source: "similarity", prompt: 0, model: "m", status: "open", edited: false, version: 3, decision: 0,
  value: 0.4, by: null, at: null, comment: null,
};
const FACTS = { status: "open", label: "window", box: BOX, edited: false };

function event(number: number, more: Partial<ReviewEvent> = {}): ReviewEvent {
  return {
    number, id: `id-${number}`, at: "2026-01-02T10:00:00Z", who: "Anna", mode: "review", kind: "accept", image: "i.png", item: "x",
    before: FACTS, after: { ...FACTS, status: "accepted" }, seconds: 1, comment: "", undoes: null, ...more,
  };
}

const log = (...events: ReviewEvent[]): Log => ({ events, start: 0, last: events.length });
const person = (waiting: readonly Entry[] = [], known: Log | undefined = log()): Omit<Person, "courier"> => ({ who: "Anna", mode: "review", waiting, log: known });
const ABOUT = { image: "i.png", item: "x", version: 3 };

function entry(id: string, more: Partial<Entry> = {}): Entry {
  return { ...draftOf(person(), ABOUT, { kind: "accept", then: { status: "accepted" } }), id, order: id, ...more };
}

describe("what is expected", () => {
  it("is the last event that this tab knows, of the item alone", () => {
    const known = log(event(4), event(5, { item: "y" }), event(6, { image: "other.png" }));
    expect(seenVersion(known, "review", ABOUT)).toBe(4);
    expect(seenVersion(undefined, "review", ABOUT)).toBe(3);
  });

  it("is of an image all its events, of the set all of the mode", () => {
    const known = log(event(4, { mode: "gold" }), event(5, { mode: "gold", item: "y" }), event(6, { mode: "gold", image: "other.png" }), event(7));
    expect(seenVersion(known, "gold", { image: "i.png", item: null, version: 0 })).toBe(5);
    expect(seenVersion(known, "gold", { image: "", item: null, version: 0 })).toBe(6);
  });

  it("is what a waiting decision about the same becomes", () => {
    const waiting = [entry("e1"), entry("e2", { item: "y" })];
    expect(draftOf(person(waiting), ABOUT, { kind: "reject" })).toMatchObject({ kind: "reject", follows: "e1", expected: 3 });
    expect(draftOf(person(waiting), { ...ABOUT, item: "z" }, { kind: "reject" }).follows).toBeNull();
  });
});

describe("undo", () => {
  it("takes back what waits before what is saved, to where it stood", () => {
    const found = toUndo(person([entry("e1")], log(event(2))), () => ITEM);
    expect(found?.told).toMatchObject({ undoes: "e1", then: { status: "open", label: "window", box: BOX } });
    const outline: [number, number][][] = [[[0, 0], [1, 1], [0, 1]]];
    const edit = { ...entry("e2"), kind: "edit", then: { status: "accepted", box: [0, 0, 1, 1], outline: [] } };
    expect(toUndo(person([edit], log()), () => ({ ...ITEM, outline }))?.told.then).toMatchObject({ box: BOX, outline });
  });

  it("takes back what is saved, but nothing twice", () => {
    const known = log(event(1, { item: "y" }), event(2));
    expect(toUndo(person([], known), () => null)?.told).toMatchObject({ kind: "undo", undoes: 2, then: { status: "open" } });
    const taken = entry("e1", { kind: "undo", undoes: 2 });
    expect(toUndo(person([taken], known), () => null)?.told.undoes).toBe(1);
    expect(toUndo(person([], undefined), () => null)).toBeNull();
  });

  it("is itself taken back once all is saved", () => {
    const known = log(event(1), event(2, { kind: "undo", undoes: 1 }));
    expect(toRedo(person([], known))?.told.undoes).toBe(2);
    expect(toRedo(person([entry("e1")], known))).toBeNull();
  });

  it("is offered in a history for what counts", () => {
    expect([...undoable([event(1), event(2, { kind: "undo", undoes: 1 }), event(3)])]).toEqual([3]);
  });
});

it("only a decision that came second is sent again", () => {
  const aside = (status: number, undoes: number | string | null = null): Aside => ({ entry: entry("e", { undoes }), status, why: "why", present: null });
  expect([canAgain(aside(409)), canAgain(aside(403)), canAgain(aside(409, "e0")), canAgain(aside(409, 4))]).toEqual([true, false, false, true]);
});

describe("an edit", () => {
  it("says only what changed", () => {
    const editing = editingOf(ITEM, SIZE);
    expect(changeOf(editing, SIZE)).toBeNull();
    expect(changeOf({ ...editing, label: "door" }, SIZE)).toEqual({ label: "door" });
    expect(changeOf({ ...editing, box: [20, 20, 101, 60] }, SIZE)).toEqual({ box: [0.1, 0.2, 0.505, 0.6] });
  });

  it("of a new region says all, on whole pixels", () => {
    const drawn = drawingOf("drawn-1", [0.1001, 0.2, 0.5, 0.6], "door", SIZE);
    expect(changeOf(drawn, SIZE)).toEqual({ box: [0.1, 0.2, 0.5, 0.6], label: "door" });
  });
});

describe("items", () => {
  it("stand as the newest event says", () => {
    const moved = event(4, { after: { status: "accepted", label: "door", box: [0, 0, 1, 1], edited: true } });
    const item = { ...ITEM, outline: [[[0, 0], [1, 1], [0, 1]]] as [number, number][][] };
    expect(after(item, moved)).toMatchObject({ status: "accepted", label: "door", box: [0, 0, 1, 1], outline: [], version: 4 });
    expect(after(item, event(4))).toMatchObject({ status: "accepted", outline: item.outline });
    expect(after(item, event(3))).toBe(item);
    expect(after(item, undefined)).toBe(item);
  });

  it("take the place of what they were, or come last", () => {
    expect(swapped([{ id: "a", n: 1 }, { id: "b", n: 1 }], { id: "a", n: 2 })).toEqual([{ id: "a", n: 2 }, { id: "b", n: 1 }]);
    expect(swapped([{ id: "a" }], { id: "c" })).toEqual([{ id: "a" }, { id: "c" }]);
  });

  it("are chosen by the smallest region under a point", () => {
    const shape = (id: string, box: number[]): Shape => ({ id, label: "", tone: "open", box, outline: [] });
    const shapes = [shape("large", [0, 0, 1, 1]), shape("small", [0.4, 0.4, 0.6, 0.6])];
    expect([shapeAt(shapes, { x: 0.5, y: 0.5 })?.id, shapeAt(shapes, { x: 0.1, y: 0.5 })?.id, shapeAt([], { x: 0, y: 0 })]).toEqual(["small", "large", null]);
  });

  it("fill half of a close view", () => {
    const view = closeUp([0.4, 0.4, 0.6, 0.5], SIZE);
    expect([view.x, view.y, view.zoom].map((value) => value.toFixed(2))).toEqual(["0.50", "0.45", "2.50"]);
    expect(zoomed(view, 0.01, SIZE).zoom).toBe(1);
  });
});

describe("words", () => {
  it("say why an item is here, and what is not known", () => {
    expect(whyText(ITEM, 0.8)).toContain("80% of the attention on this image lies outside all regions: 0.50 × 0.80 = 0.40");
    expect(whyText(ITEM, null)).toContain("not known");
    expect(whyText({ ...ITEM, score: null }, 0.8)).toBe("A person drew it.");
  });

  it("say who came first", () => {
    const aside: Aside = { entry: entry("e"), status: 409, why: "why", present: { by: "Berta", status: "rejected" } };
    expect(conflictText(aside)).toBe("You accepted a region of i.png, but Berta came first: it is rejected now. Your decision was not saved.");
    expect(conflictText({ ...aside, status: 403, present: null })).toBe("You accepted a region of i.png; that was not saved. why");
  });

  it("say what waits, what was done, and when", () => {
    expect(waitingText(1, "")).toBe("Not saved yet: 1 decision.");
    expect(waitingText(2, "Nobody answers.")).toBe("Not saved yet: 2 decisions. Nobody answers. They are kept here and sent again.");
    expect(eventText(event(1, { kind: "undo", undoes: 7 }))).toBe("Anna took back event 7");
    expect(timeText("2026-01-02T10:00:00", new Date("2026-01-02T12:00:00"))).toBe("10:00");
    expect(timeText("2026-01-02T10:00:00", new Date("2026-01-03T12:00:00"))).toBe("02/01/2026 10:00");
  });
});
