import { act, createElement, type ReactNode } from "react";
import { createRoot } from "react-dom/client";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { carried, go, here, href, setParams, to, useFlag, useList, useNumberParam, useParam, useWord, wordsOf } from "./url";

beforeEach(() => {
  vi.useFakeTimers();
  Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true });
  window.scrollTo = () => undefined;
  go("/start", { replace: true });
});

afterEach(() => {
  vi.runAllTimers();
  vi.useRealTimers();
});

/** What a hook gives, drawn anew whenever the address changes. */
function watch<T>(use: () => T): { now: () => T; end: () => void } {
  let last: T | undefined;
  const Watcher = (): ReactNode => {
    last = use();
    return null;
  };
  const root = createRoot(document.createElement("div"));
  act(() => root.render(createElement(Watcher)));
  return { now: () => last as T, end: () => act(() => root.unmount()) };
}

describe("href", () => {
  it("leaves out what is not given and keeps 0 and false", () => {
    expect(href("/x", { a: null, b: undefined, c: "", d: 0, e: false })).toBe("/x?d=0&e=false");
  });

  it("escapes names, so that they cannot become paths or parameters", () => {
    expect(to.image("a b&c=d")).toBe("/image/a%20b%26c%3Dd");
    expect(to.gallery({ label: "a&b=c" })).toBe("/?label=a%26b%3Dc");
  });
});

describe("setParams", () => {
  it("keeps other parameters, and null takes one away", () => {
    go("/p?a=1&b=2");
    setParams({ b: null, c: 3 });
    expect(here().href).toBe("/p?a=1&c=3");
  });

  it("holds at once, and is written to the browser once for many changes", () => {
    go("/p");
    const written = vi.spyOn(window.history, "replaceState");
    for (let step = 1; step <= 50; step += 1) setParams({ percentile: step });
    expect(here().params.get("percentile")).toBe("50");
    expect(written).not.toHaveBeenCalled();
    vi.runAllTimers();
    expect(written).toHaveBeenCalledTimes(1);
    expect(window.location.search).toBe("?percentile=50");
    written.mockRestore();
  });

  it("makes a step for back only when asked", () => {
    go("/p");
    const steps = window.history.length;
    setParams({ a: 1 });
    vi.runAllTimers();
    expect(window.history.length).toBe(steps);
    setParams({ a: 2 }, { push: true });
    expect(window.history.length).toBe(steps + 1);
  });

  it("is not lost when a page is opened before it was written", () => {
    go("/p");
    setParams({ a: 1 });
    const replaced = vi.spyOn(window.history, "replaceState");
    go("/q");
    expect(replaced).toHaveBeenCalledWith(null, "", "/p?a=1");
    expect(here().href).toBe("/q");
    replaced.mockRestore();
  });
});

describe("hooks", () => {
  it("follow the address", () => {
    const seen = watch(() => useParam("model", "best"));
    expect(seen.now()[0]).toBe("best");
    act(() => setParams({ model: "demo/vit" }));
    expect(seen.now()[0]).toBe("demo/vit");
    act(() => seen.now()[1]("best"));
    expect(here().params.has("model")).toBe(false);
    seen.end();
  });

  it("take what is no number, or no known word, as not given", () => {
    go("/p?percentile=ten&by=colour");
    const number = watch(() => useNumberParam("percentile", 90));
    const word = watch(() => useWord("by", ["model", "method"] as const, "model"));
    expect(number.now()[0]).toBe(90);
    expect(word.now()[0]).toBe("model");
    act(() => setParams({ percentile: "87.5" }));
    expect(number.now()[0]).toBe(87.5);
    number.end();
    word.end();
  });

  it("keep 0 apart from not given", () => {
    go("/p?layer=0");
    const layer = watch(() => useNumberParam("layer", null));
    expect(layer.now()[0]).toBe(0);
    layer.end();
  });

  it("read flags and lists", () => {
    go("/p?smooth=0&models=a~b");
    const flag = watch(() => useFlag("smooth", true));
    const list = watch(() => useList("models"));
    expect(flag.now()[0]).toBe(false);
    expect(list.now()[0]).toEqual(["a", "b"]);
    act(() => list.now()[1]([]));
    expect(here().params.has("models")).toBe(false);
    flag.end();
    list.end();
  });
});

it("an image keeps the layers of the table that it was opened from, as they order its neighbours", () => {
  expect(to.image("a b.png", { layer: "split", sort: "iou@90" })).toBe("/image/a%20b.png?layer=split&sort=iou%4090");
});

it("a choice of maps goes along to pages of one choice alone: in a table of all it would be a filter", () => {
  const words = { model: "m", method: "cls", layer: "0", head: "1", target: "t", seed: "0", percentile: "80", metric: "iou@90" };
  expect(carried(words, true)).toEqual(words);
  expect(carried(words, false)).toEqual({ percentile: "80", metric: "iou@90" });
});

it("wordsOf takes the words that travel and no others", () => {
  expect(wordsOf(new URLSearchParams("model=m&zoom=3&layer=0&head="))).toEqual({ model: "m", layer: "0" });
});
