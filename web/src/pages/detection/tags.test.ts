import { describe, expect, it } from "vitest";
import { fitInto, placeTags, tagWidth, TAG_HEIGHT } from "./tags";

const frame = { width: 200, height: 100 };
const box = (x: number, y: number) => ({ x, y, width: 60, height: 30 });

describe("tags of boxes", () => {
  it("stand above the left corner where there is room", () => {
    expect(placeTags([box(20, 40)], [50], frame)).toEqual([
      { x: 20, y: 40 - TAG_HEIGHT, width: 50, height: TAG_HEIGHT },
    ]);
  });

  it("stay inside the picture", () => {
    const [tag] = placeTags([box(190, 0)], [80], frame);
    expect(tag!.x + tag!.width).toBeLessThanOrEqual(frame.width);
    expect(tag!.y).toBeGreaterThanOrEqual(0);
  });

  it("give way to each other", () => {
    const tags = placeTags([box(20, 40), box(20, 40), box(20, 40)], [50, 50, 50], frame);
    const keys = tags.map(({ x, y }) => `${x},${y}`);
    expect(new Set(keys).size).toBe(3);
  });

  it("are as wide as their words", () => {
    expect(tagWidth("rose window 0.91")).toBeGreaterThan(tagWidth("door"));
    expect(tagWidth("")).toBe(16);
  });
});

describe("a picture", () => {
  it("keeps its shape as it is fitted", () => {
    expect(fitInto({ width: 100, height: 200 }, { width: 400, height: 400 })).toEqual({
      width: 200,
      height: 400,
    });
  });
});
