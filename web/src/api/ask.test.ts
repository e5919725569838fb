import { afterEach, describe, expect, it, vi } from "vitest";

import { ApiError, ask, urlOf } from "./ask";
import { known } from "./queries";

afterEach(() => vi.unstubAllGlobals());

const answering = (response: Response | Error) =>
  vi.stubGlobal("fetch", () => (response instanceof Error ? Promise.reject(response) : Promise.resolve(response)));

describe("ask", () => {
  it("tells problems in the service's words, with the field", async () => {
    const problem = { title: "Not found", status: 404, detail: "no image 'x' is stored", field: "image_id" };
    answering(new Response(JSON.stringify(problem), { status: 404 }));
    const error = await ask("/api/images/x").catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ status: 404, field: "image_id", message: "no image 'x' is stored", body: problem });
  });

  it("says what to look at when nobody answers", async () => {
    answering(new TypeError("Failed to fetch"));
    await expect(ask("/api/health")).rejects.toThrow("sightline serve");
  });

  it("takes answers that are no problem details", async () => {
    answering(new Response("<html>bad gateway", { status: 502, statusText: "Bad Gateway" }));
    await expect(ask("/api/health")).rejects.toMatchObject({ status: 502, title: "Bad Gateway" });
  });
});

it("urlOf keeps 0 and false", () => {
  expect(urlOf("/a", { layer: 0, smooth: false, head: null, text: "" })).toBe("/a?layer=0&smooth=false");
});

it("known leaves out travelling words that a route does not take, and nothing else", () => {
  expect(known({ model: "m", metric: "iou@90", misspelt: 1 }, ["model"])).toEqual({ model: "m", misspelt: 1 });
});
