import { afterEach, expect, it, vi } from "vitest";

import { begin, browserKeep, postTo } from "./data";
import type { Ready } from "./outbox";

afterEach(() => vi.unstubAllGlobals());

const ENTRY: Ready = {
  to: "event", who: "Anna", mode: "review", kind: "accept", image: "i.png", item: "x", after: null, comment: "",
  seconds: 2, expected: 0, follows: null, undoes: null, then: {}, id: "e", order: "1",
};

/** Answers by the path that is asked for; keeps what was asked. */
function served(answers: (path: string) => [number, unknown]): string[] {
  const asked: string[] = [];
  vi.stubGlobal("fetch", (url: string) => {
    asked.push(url);
    const [status, body] = answers(url);
    return Promise.resolve(new Response(JSON.stringify(body), { status }));
  });
  return asked;
}

it("decisions wait for their own review: another one gets none of them, and none of them is refused", async () => {
  let answer: [number, unknown] = [200, { id: "other" }];
  const asked = served((path) => (path.startsWith("/api/review/events") ? [200, { event: { number: 4 }, item: null }] : answer));
  const post = postTo("mine");
  expect(await post(ENTRY)).toHaveProperty("unreachable");
  answer = [404, { title: "Not found", status: 404, detail: "no review is served" }];
  expect(await post(ENTRY)).toHaveProperty("unreachable");
  expect(asked).toEqual(["/api/review", "/api/review"]);
  answer = [200, { id: "mine" }];
  expect(await post(ENTRY)).toMatchObject({ saved: { number: 4 } });
});

it("what others did is gone through once, in one mode", async () => {
  const event = (number: number) => ({ number, id: String(number), who: number === 1 ? "Anna" : "Berta", mode: "gold", kind: "draw", item: "x", image: "i", undoes: null });
  const asked = served((path) => {
    const from = Number(new URL(path, "http://x").searchParams.get("after"));
    const limit = Number(new URL(path, "http://x").searchParams.get("limit"));
    const events = Array.from({ length: 2500 - from }, (_, i) => event(from + i + 1)).slice(0, limit);
    return [200, { events, last: 2500, more: from + limit < 2500 }];
  });
  const log = await begin("gold", "Anna");
  expect([log.events.length, log.start, log.last]).toEqual([2500, 0, 2500]);
  expect(asked).toHaveLength(4);
  for (const path of asked) expect(path).toContain("mode=gold");
});

it("a full storage is used as long as decisions wait in it", () => {
  const held: Record<string, string> = {};
  const full = Object.defineProperties(held, { setItem: { value: () => { throw new Error("full"); } }, removeItem: { value: () => undefined } });
  vi.stubGlobal("localStorage", full);
  expect(browserKeep().lasting).toBe(false);
  held["sightline.review.r.out.1.e"] = "{}";
  expect(browserKeep()).toEqual({ keep: full, lasting: true });
});
