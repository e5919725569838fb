import { beforeEach, describe, expect, it, vi } from "vitest";

import { changeMarks, keyOf, load, store, type Keep } from "./marks";
import { addTag, NO_MARKS } from "./tags";

const TAGGED = addTag(NO_MARKS, "odd", ["a.png"]);

function memory(start: Record<string, string> = {}): Keep & { kept: Map<string, string> } {
  const kept = new Map(Object.entries(start));
  return {
    kept,
    getItem: (key) => kept.get(key) ?? null,
    setItem: (key, value) => void kept.set(key, value),
  };
}

function full(): Keep {
  const fail = (): never => {
    throw new DOMException("full", "QuotaExceededError");
  };
  return { getItem: () => null, setItem: fail };
}

describe("kept marks", () => {
  it("come back", () => {
    const keep = memory();
    store(keep, "demo", TAGGED);
    expect(load(keep, "demo")).toEqual({ marks: TAGGED, problem: "" });
  });

  it("belong to one study", () => {
    const keep = memory();
    store(keep, "demo", TAGGED);
    expect(load(keep, "other").marks).toBe(NO_MARKS);
  });

  it("that cannot be read are set aside and said", () => {
    const keep = memory({ [keyOf("demo")]: "{broken" });
    const kept = load(keep, "demo");
    expect(kept.marks).toBe(NO_MARKS);
    expect(kept.problem).toContain("not JSON");
    expect(keep.kept.get(`${keyOf("demo")}.unreadable`)).toBe("{broken");
  });

  it("that find no room still hold, and say so", () => {
    const kept = store(full(), "demo", TAGGED);
    expect(kept.marks).toBe(TAGGED);
    expect(kept.problem).toContain("export");
  });
});

describe("in the browser", () => {
  beforeEach(() => window.localStorage.clear());

  it("a change is written at once", () => {
    changeMarks("mine", (marks) => addTag(marks, "odd", ["a.png"]));
    expect(load(window.localStorage, "mine").marks).toEqual(TAGGED);
  });

  it("no change writes nothing", () => {
    const write = vi.spyOn(Storage.prototype, "setItem");
    changeMarks("none", (marks) => marks);
    expect(write).not.toHaveBeenCalled();
    write.mockRestore();
  });
});
