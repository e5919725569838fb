import { describe, expect, it } from "vitest";

import { between, edgeFor, GAP, gridOf, moved, moveOf, pagesBetween, rowsDrawn, rowsInSight, withRow, type Move } from "./layout";

describe("gridOf", () => {
  it.each([360, 390, 700, 1000, 1280, 2560])("fills %i px and no more", (width) => {
    for (const size of ["small", "medium", "large"] as const) {
      const grid = gridOf(width, 100, size);
      const used = grid.columns * grid.card + (grid.columns - 1) * GAP;
      expect(used).toBeLessThanOrEqual(width);
      expect(width - used).toBeLessThan(grid.columns);
    }
  });

  it("has two columns on a telephone, more on a desk, and fewer of larger cards", () => {
    expect(gridOf(358, 100, "medium").columns).toBe(2);
    const desk = gridOf(1000, 100, "medium").columns;
    expect(desk).toBeGreaterThan(3);
    expect(gridOf(1000, 100, "large").columns).toBeLessThan(desk);
  });

  it("counts the last row, full or not", () => {
    const { columns } = gridOf(1000, 0, "medium");
    expect(gridOf(1000, 0, "medium").rows).toBe(0);
    expect(gridOf(1000, 2 * columns, "medium").rows).toBe(2);
    expect(gridOf(1000, 2 * columns + 1, "medium").rows).toBe(3);
  });
});

describe("moved", () => {
  // 0 1 2 3
  // 4 5 6 7
  // 8 9
  const grid = { columns: 4, total: 10, rowsShown: 1 };
  it.each<[number, Move, number]>([
    [5, "left", 4],
    [4, "left", 3],
    [0, "left", 0],
    [9, "right", 9],
    [3, "right", 4],
    [5, "up", 1],
    [1, "up", 1],
    [1, "down", 5],
    [5, "down", 9],
    [6, "down", 9],
    [8, "down", 8],
    [6, "rowStart", 4],
    [6, "rowEnd", 7],
    [8, "rowEnd", 9],
    [6, "first", 0],
    [6, "last", 9],
    [6, "pageUp", 2],
    [2, "pageUp", 2],
    [2, "pageDown", 6],
    [6, "pageDown", 9],
  ])("from %i %s to %i", (from, move, to) => {
    expect(moved(from, move, grid)).toBe(to);
  });

  it("stays in an empty grid", () => {
    expect(moved(0, "last", { columns: 4, total: 0, rowsShown: 3 })).toBe(0);
  });

  it("is asked for by keys", () => {
    expect(moveOf("Home", false)).toBe("rowStart");
    expect(moveOf("Home", true)).toBe("first");
    expect(moveOf("x", false)).toBeNull();
  });
});

describe("pagesBetween", () => {
  it("names each page once", () => {
    expect(pagesBetween(0, 59, 60, 1000)).toEqual([0]);
    expect(pagesBetween(59, 60, 60, 1000)).toEqual([0, 1]);
    expect(pagesBetween(599, 721, 60, 1000)).toEqual([9, 10, 11, 12]);
  });

  it("asks for nothing beyond the end", () => {
    expect(pagesBetween(0, 500, 60, 61)).toEqual([0, 1]);
    expect(pagesBetween(0, 10, 60, 0)).toEqual([]);
    expect(pagesBetween(70, 80, 60, 61)).toEqual([]);
  });
});

it("rows in sight are those that the window touches, and never others", () => {
  const grid = { row: 100, rows: 10 };
  expect(rowsInSight(0, 250, grid)).toEqual([0, 2]);
  expect(rowsInSight(399, 250, grid)).toEqual([3, 6]);
  expect(rowsInSight(-500, 250, grid)).toEqual([0, 0]);
  expect(rowsInSight(5000, 250, grid)).toEqual([9, 9]);
  expect(rowsInSight(0, 250, { row: 100, rows: 0 })).toEqual([0, 0]);
});

it("rows are drawn that the grid has, though more were in sight before it changed", () => {
  expect(rowsDrawn([3, 6], 2, 10)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  expect(rowsDrawn([800, 805], 2, 10)).toEqual([7, 8, 9]);
  expect(rowsDrawn([0, 0], 2, 0)).toEqual([]);
});

it("the window moves no further than a row needs", () => {
  const sight = { from: 300, height: 500, covered: 50 };
  expect(edgeFor(4, 100, sight, false)).toBeNull();
  expect(edgeFor(3, 100, sight, false)).toBe(250);
  expect(edgeFor(7, 100, sight, false)).toBe(350);
  expect(edgeFor(4, 100, sight, true)).toBe(350);
  const low = { from: 0, height: 150, covered: 50 }; // a row is higher than what is free
  expect(edgeFor(4, 100, low, false)).toBe(350);
  expect(edgeFor(4, 100, { ...low, from: 350 }, false)).toBeNull();
});

it("a kept row is drawn in its place, once, and only if there is such a row", () => {
  expect(withRow([4, 5, 6], 1, 10)).toEqual([1, 4, 5, 6]);
  expect(withRow([4, 5, 6], 12, 20)).toEqual([4, 5, 6, 12]);
  expect(withRow([4, 5, 6], 5, 10)).toEqual([4, 5, 6]);
  expect(withRow([4, 5, 6], 10, 10)).toEqual([4, 5, 6]);
  expect(withRow([], -1, 0)).toEqual([]);
});

it("between counts both ends, either way", () => {
  expect(between(2, 4)).toEqual([2, 3, 4]);
  expect(between(4, 2)).toEqual([2, 3, 4]);
  expect(between(3, 3)).toEqual([3]);
});
