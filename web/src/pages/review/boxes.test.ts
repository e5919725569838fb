import { describe, expect, it } from "vitest";

import { differs, dragged, fitted, HANDLES, handleText, middle, nudged, pixelText, placeOf, SIDES, toPixels, toShares, typed, type PixelBox } from "./boxes";

const SIZE = [200, 100] as const;
const BOX: PixelBox = [20, 30, 60, 70];

describe("pixels and shares", () => {
  it("come back as the same whole pixels, whatever the size", () => {
    for (const size of [[7, 3], [224, 224], [1920, 1081], [4001, 2999]] as const) {
      for (let i = 0; i < size[0] - 2; i += Math.ceil(size[0] / 50)) {
        const box: PixelBox = [i, 0, i + 2, Math.min(2, size[1])];
        expect(toPixels(toShares(box, size), size).map(Math.round)).toEqual([...box]);
        expect(fitted(toPixels(toShares(box, size), size), size)).toEqual(box);
      }
    }
  });

  it("are written whole where they are whole", () => {
    expect([pixelText(12), pixelText(12.04), pixelText(12.25)]).toEqual(["12", "12", "12.3"]);
  });

  it("differ only when somebody moved them", () => {
    const box = [0.1, 0.2, 0.7, 0.9] as const;
    expect(differs(box, toShares(toPixels(box, SIZE), SIZE), SIZE)).toBe(false);
    expect(differs(box, toShares([21, 20, 140, 90], SIZE), SIZE)).toBe(true);
  });
});

describe("dragging", () => {
  it("moves the sides that a handle names, and no other", () => {
    const moved = Object.fromEntries(HANDLES.map((handle) => [handle, dragged(BOX, handle, 5, -4, SIZE)]));
    expect(moved).toEqual({
      move: [25, 26, 65, 66],
      nw: [25, 26, 60, 70],
      n: [20, 26, 60, 70],
      ne: [20, 26, 65, 70],
      e: [20, 30, 65, 70],
      se: [20, 30, 65, 66],
      s: [20, 30, 60, 66],
      sw: [25, 30, 60, 66],
      w: [25, 30, 60, 70],
    });
  });

  it("stops at the edges of the image", () => {
    expect(dragged(BOX, "se", 1e6, 1e6, SIZE)).toEqual([20, 30, 200, 100]);
    expect(dragged(BOX, "nw", -1e6, -1e6, SIZE)).toEqual([0, 0, 60, 70]);
    expect(dragged(BOX, "move", 1e6, 1e6, SIZE)).toEqual([160, 60, 200, 100]);
    expect(dragged(BOX, "move", -1e6, -1e6, SIZE)).toEqual([0, 0, 40, 40]);
  });

  it("never turns a box over nor makes it empty", () => {
    expect(dragged(BOX, "e", -1e6, 0, SIZE)).toEqual([20, 30, 22, 70]);
    expect(dragged(BOX, "nw", 1e6, 1e6, SIZE)).toEqual([58, 68, 60, 70]);
  });

  it("ends on whole pixels", () => {
    expect(dragged(BOX, "se", 0.4, 0.6, SIZE)).toEqual([20, 30, 60, 71]);
    expect(dragged([20.3, 30, 60, 70], "e", 1, 0, SIZE)).toEqual([20.3, 30, 61, 70]);
  });
});

describe("arrow keys", () => {
  it("move a handle by a pixel, with Shift by ten", () => {
    expect(nudged(BOX, "w", "ArrowLeft", false, SIZE)).toEqual([19, 30, 60, 70]);
    expect(nudged(BOX, "move", "ArrowDown", true, SIZE)).toEqual([20, 40, 60, 80]);
    expect(nudged(BOX, "move", "a", false, SIZE)).toBeNull();
  });

  it("leave the side alone that a handle does not have", () => {
    expect(nudged(BOX, "w", "ArrowUp", false, SIZE)).toEqual(BOX);
  });
});

describe("typing", () => {
  it("sets one side, clamped", () => {
    expect(SIDES.map((side) => typed(BOX, side, "40", SIZE))).toEqual([
      [40, 30, 60, 70], [20, 40, 60, 70], [20, 30, 40, 70], [20, 30, 60, 40],
    ]);
    expect(typed(BOX, "x1", "999", SIZE)).toEqual([20, 30, 200, 70]);
    expect(typed(BOX, "x0", "-3", SIZE)).toEqual([0, 30, 60, 70]);
    expect(typed(BOX, "y1", "0", SIZE)).toEqual([20, 30, 60, 32]);
  });

  it("takes no text that is no number", () => {
    for (const text of ["", " ", "ten", "NaN", "Infinity"]) expect(typed(BOX, "x0", text, SIZE)).toBeNull();
  });
});

it("a box drawn backwards, too small or beyond the image is made to fit", () => {
  expect(fitted([60, 70, 20, 30], SIZE)).toEqual(BOX);
  expect(fitted([199.8, 99.9, 200, 100], SIZE)).toEqual([198, 98, 200, 100]);
  expect(fitted([-50, -50, 500, 500], SIZE)).toEqual([0, 0, 200, 100]);
  expect(fitted([0, 0, 1, 1], [1, 1])).toEqual([0, 0, 1, 1]);
  expect(middle(SIZE)).toEqual([75, 38, 125, 63]);
});

it("handles lie where they are named, and say where the box is", () => {
  expect(HANDLES.map(placeOf)).toEqual([
    [0.5, 0.5], [0, 0], [0.5, 0], [1, 0], [1, 0.5], [1, 1], [0.5, 1], [0, 1], [0, 0.5],
  ]);
  expect(handleText("se", BOX)).toBe("Lower right corner; box from 20, 30 to 60, 70 pixels");
});
