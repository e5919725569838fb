import { describe, expect, it } from "vitest";

import { PAGES, pageHref } from ".";
import { isOpenedAgain, PageFileError } from "./load";

describe("pageHref", () => {
  const words = { model: "demo/vit", method: "cls", layer: "0", percentile: "80" };
  const single = PAGES.filter((page) => page.single).map((page) => page.name);

  it("takes a choice of maps to the pages that show one", () => {
    expect(single).toEqual(["gallery", "compare"]);
    expect(pageHref(PAGES[0]!, words)).toBe("/?model=demo%2Fvit&method=cls&layer=0&percentile=80");
  });

  it.each(PAGES.filter((page) => !page.single))("leaves it behind on the way to $name", (page) => {
    expect(pageHref(page, words)).toBe(`${page.path}?percentile=80`);
  });
});

it("tells the first time that files did not come from those after", () => {
  const [error, other] = [new PageFileError("gone"), new PageFileError("gone")];
  expect([error, error, other].map(isOpenedAgain)).toEqual([false, true, false]);
});
