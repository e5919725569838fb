// @vitest-environment jsdom
import { QueryClientProvider } from "@tanstack/react-query";
import { act } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { newQueryClient, useFreshAnswers, useHealth, useSparsity } from "./queries";

const progress = { done: 1, all: 4, running: true, finished: false, rows: 1, updated: null, version: "one" };
let now = progress;
let asked: string[] = [];
let root: Root;

function Shell() {
  useFreshAnswers();
  useHealth();
  useSparsity();
  return null;
}

const times = (path: string): number => asked.filter((one) => one === path).length;
const wait = (ms: number) => act(() => vi.advanceTimersByTimeAsync(ms));

beforeEach(async () => {
  vi.useFakeTimers();
  vi.stubGlobal("IS_REACT_ACT_ENVIRONMENT", true);
  [now, asked] = [progress, []];
  vi.stubGlobal("fetch", (url: string) => {
    asked.push(url);
    return Promise.resolve(new Response(JSON.stringify(url === "/api/progress" ? now : {})));
  });
  root = createRoot(document.createElement("div"));
  const client = newQueryClient();
  act(() => root.render(<QueryClientProvider client={client}><Shell /></QueryClientProvider>));
  await wait(100);
});

afterEach(() => {
  act(() => root.unmount());
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

describe("a store that grows", () => {
  it("is asked again, however long nothing came", async () => {
    expect(times("/api/health")).toBe(1);
    await wait(20 * 60_000);
    expect(times("/api/health")).toBe(1);
    now = { ...progress, version: "two" };
    await wait(60_000);
    expect(times("/api/health")).toBe(2);
  });

  it("gets its sparsity report made again when the study rests, not with each of its steps", async () => {
    for (const version of ["two", "three"]) {
      now = { ...progress, version };
      await wait(60_000);
    }
    expect([times("/api/health"), times("/api/sparsity")]).toEqual([3, 1]);
    now = { ...now, running: false, finished: true };
    await wait(60_000);
    expect([times("/api/health"), times("/api/sparsity")]).toEqual([3, 2]);
  });
});
