import { describe, expect, it } from "vitest";

import type { MapHeader, RegionInfo } from "../api/client";
import { coloursOf, levelOf } from "./colours";
import { cellsOf, commonRange, drawnOf, peakOf, rangeOf, valueAt, zeroCentred } from "./drawn";
import { moveByKey } from "./keyboard";
import { borderOf } from "./outline";
import { borderFor } from "./paint";
import { regionAt } from "./regions";
import type { Drawn } from "./types";
import { boxBetween, frameOf, limited, panned, parseView, pointOf, spotAt, viewWords, WHOLE, zoomedAt } from "./view";

const PLACE = { x0: 0, y0: 0, x1: 1, y1: 1 };
const drawn = (values: number[], rows: number, columns: number, more: Partial<Drawn> = {}): Drawn => ({
  values,
  rows,
  columns,
  place: PLACE,
  ...more,
});

const header = (more: Partial<MapHeader> = {}): MapHeader =>
  ({
    choice: { sign: "positive" },
    place: PLACE,
    cells: [1, 2],
    dataset_low: 0,
    dataset_high: 9,
    scale: 1,
    ...more,
  }) as MapHeader;

describe("views", () => {
  const image = [200, 100] as const;
  const pane = [400, 400] as const;

  it("show the whole image in the middle", () => {
    expect(frameOf(WHOLE, image, pane)).toEqual({ left: 0, top: 100, width: 400, height: 200 });
  });

  it("keep the point under the pointer while zooming", () => {
    const before = spotAt(frameOf(WHOLE, image, pane), 300, 200);
    const view = zoomedAt(WHOLE, 4, 300, 200, image, pane);
    const [x, y] = pointOf(frameOf(view, image, pane), before);
    expect([view.zoom, x, y]).toEqual([4, expect.closeTo(300), expect.closeTo(200)]);
  });

  it("never leave the image, nor zoom beyond their limits", () => {
    expect(limited({ x: -3, y: 9, zoom: 4 }, image, pane)).toEqual({ x: 0.125, y: 0.75, zoom: 4 });
    expect(limited({ x: 0.2, y: 0.2, zoom: 0.1 }, image, pane)).toEqual(WHOLE);
    expect(zoomedAt(WHOLE, 1e6, 0, 0, image, pane).zoom).toBe(32);
  });

  it("pan with the hand", () => {
    const view = { x: 0.5, y: 0.5, zoom: 4 };
    const next = panned(view, -80, 0, image, pane);
    expect(next.x).toBeCloseTo(0.55);
    expect(next.y).toBe(0.5);
  });

  it("are words of the address and back", () => {
    expect(viewWords(WHOLE)).toBe("");
    expect(parseView(viewWords({ x: 0.25, y: 0.123456, zoom: 3 }))).toEqual({ x: 0.25, y: 0.1235, zoom: 3 });
    for (const wrong of ["", "1,2", "a,b,c", "0.5,0.5,0", "5,0.5,2", "0.1,0.1,99", "0.1,0.1,2,2"]) {
      expect(parseView(wrong)).toEqual(WHOLE);
    }
  });

  it("draw boxes inside the image in any direction", () => {
    expect(boxBetween({ x: 0.5, y: 1.4 }, { x: -0.2, y: 0.25 })).toEqual([0, 0.25, 0.5, 1]);
  });
});

describe("values", () => {
  it("lie where the raster lies", () => {
    const map = drawn([1, 2, 3, 4], 2, 2, { place: { x0: 0.5, y0: 0, x1: 1, y1: 1 } });
    expect(valueAt(map, { x: 0.6, y: 0.1 })).toBe(1);
    expect(valueAt(map, { x: 0.9, y: 0.9 })).toBe(4);
    expect(valueAt(map, { x: 0.4, y: 0.5 })).toBeNull();
  });

  it("do not exist where pixels do not count", () => {
    const map = drawn([1, 9], 1, 2, { ignore: Uint8Array.of(0, 1) });
    expect(valueAt(map, { x: 0.9, y: 0.5 })).toBeNull();
    expect(commonRange([map])).toEqual([1, 1]);
    expect(peakOf(map)).toEqual({ x: 0.25, y: 0.5 });
  });

  it("have a scale of the image, the data set, or around zero", () => {
    const map = drawn([1, 4], 1, 2);
    expect(rangeOf(map, "image", header())).toEqual([1, 4]);
    expect(rangeOf(map, "dataset", header())).toEqual([0, 9]);
    expect(rangeOf(map, "dataset", header({ dataset_low: null }))).toEqual([1, 4]);
    const signed = header({ choice: { sign: "signed" } as MapHeader["choice"] });
    expect(rangeOf(drawn([-1, 4], 1, 2), "image", signed)).toEqual([-4, 4]);
    expect(zeroCentred([drawn([-5, 1], 1, 2), map])).toEqual([-5, 5]);
  });

  it("are read by the sign rule and scaled back", () => {
    const map = { rows: 1, columns: 2, values: Float32Array.of(-2, 1), regions: new Map(), ignore: null };
    const absolute = header({ choice: { sign: "absolute" } as MapHeader["choice"], scale: 4 });
    expect([...(drawnOf({ ...map, header: absolute }).values as Float64Array)]).toEqual([8, 4]);
    expect([...(drawnOf({ ...map, header: header() }).values as Float32Array)]).toEqual([0, 1]);
  });

  it("on cells are those at their centres", () => {
    const columns = 8;
    // Linear between two centres at columns 1.5 and 5.5, level beyond them: cells 10 and 30.
    const line = [10, 10, 12.5, 17.5, 22.5, 27.5, 30, 30];
    const map = drawn([...line, ...line], 2, columns, { cells: [1, 2] });
    const cells = cellsOf(map);
    expect([cells.rows, cells.columns]).toEqual([1, 2]);
    expect([...(cells.values as Float32Array)]).toEqual([11.25, 28.75]);
    expect(cellsOf(drawn([1, 2], 1, 2, { cells: [4, 4] })).columns).toBe(2);
  });

  it("on cells beside the raster are none", () => {
    const map = drawn([1, 1, 1, 1, 1, 1, 1, 1], 2, 4, {
      cells: [1, 2],
      cellsPlace: { x0: -1, y0: 0, x1: 1, y1: 1 },
    });
    expect([...(cellsOf(map).ignore ?? [])]).toEqual([1, 0]);
  });
});

describe("colours", () => {
  it("begin and end with their stops", () => {
    const table = coloursOf("inferno");
    expect([...table.slice(0, 3)]).toEqual([0, 0, 4]);
    expect([...table.slice(-3)]).toEqual([252, 255, 164]);
  });

  it("have white in the middle of the signed scale", () => {
    const middle = 3 * levelOf(0, [-2, 2]);
    for (const channel of coloursOf("rdbu").slice(middle, middle + 3)) expect(channel).toBeGreaterThan(240);
  });

  it("keep within their ends; a scale without width has its middle", () => {
    expect([levelOf(-1, [0, 1]), levelOf(7, [0, 1]), levelOf(3, [3, 3])]).toEqual([0, 255, 128]);
  });
});

describe("outlines", () => {
  it("go once around neighbouring pixels", () => {
    const pieces = borderOf([0, 0, 0, 0, 1, 0.5, 0, 0, 0], 3, 3);
    expect(pieces).toEqual([
      [1, 1, 3, 1],
      [1, 2, 3, 2],
      [1, 1, 1, 2],
      [3, 1, 3, 2],
    ]);
  });

  it("of very fine rasters are found on fewer pixels, and lie where they did", () => {
    const [rows, columns] = [2, 1300];
    const weights = Float32Array.from({ length: rows * columns }, (_, i) => Number(i % columns >= 650));
    const border = borderFor({ weights, rows, columns, place: PLACE });
    expect(border.pieces.map(([x]) => x / border.columns)).toContain(651 / 1300);
    expect(Math.max(...border.pieces.map(([, , x]) => x / border.columns))).toBeCloseTo(1, 2);
  });

  it("are nothing where nothing is selected", () => {
    expect(borderOf([0, 0, 0, 0], 2, 2)).toEqual([]);
  });
});

describe("regions", () => {
  const region = (index: number, box: [number, number, number, number], more: Partial<RegionInfo> = {}) =>
    ({ index, label: `r${index}`, box, outline: [], area: null, ...more }) as unknown as RegionInfo;
  const portal = region(0, [0.1, 0.1, 0.9, 0.9]);
  const window = region(1, [0.4, 0.4, 0.6, 0.6]);

  it("are found by the smallest under a point", () => {
    expect(regionAt([portal, window], { x: 0.5, y: 0.5 })?.index).toBe(1);
    expect(regionAt([portal, window], { x: 0.2, y: 0.2 })?.index).toBe(0);
    expect(regionAt([portal, window], { x: 0.05, y: 0.5 })).toBeNull();
  });

  it("may have holes", () => {
    const square = (a: number, b: number): [number, number][] => [[a, a], [b, a], [b, b], [a, b]];
    const ring = region(2, [0, 0, 1, 1], { outline: [square(0.1, 0.9), square(0.4, 0.6)] });
    expect(regionAt([ring], { x: 0.2, y: 0.5 })?.index).toBe(2);
    expect(regionAt([ring], { x: 0.5, y: 0.5 })).toBeNull();
  });
});

describe("keys", () => {
  const state = { view: WHOLE, cursor: null, image: [100, 100], pane: [100, 100], map: null } as const;
  const press = (key: string, shiftKey = false) => ({ key, shiftKey, ctrlKey: false, metaKey: false, altKey: false });

  it("move the cross-hair cell by cell and stop at the edge", () => {
    const map = drawn([0], 1, 1, { cells: [4, 4] });
    expect(moveByKey(press("ArrowRight"), { ...state, map })?.cursor).toEqual({ x: 0.5, y: 0.5 });
    const next = moveByKey(press("ArrowDown"), { ...state, map, cursor: { x: 0.5, y: 0.5 } });
    expect(next?.cursor).toEqual({ x: 0.5, y: 0.75 });
    expect(moveByKey(press("ArrowLeft"), { ...state, map, cursor: { x: 0.1, y: 0.5 } })).toEqual({});
  });

  it("zoom, pan and show all", () => {
    const view = moveByKey(press("+"), state)?.view;
    expect(view?.zoom).toBe(1.5);
    expect(moveByKey(press("ArrowRight", true), { ...state, view: view ?? WHOLE })?.view?.x).toBeGreaterThan(0.5);
    expect(moveByKey(press("0"), { ...state, view: view ?? WHOLE })?.view).toEqual(WHOLE);
  });

  it("choose under the cross-hair, and leave other keys alone", () => {
    expect(moveByKey(press("Enter"), { ...state, cursor: { x: 0.2, y: 0.3 } })?.choose).toEqual({ x: 0.2, y: 0.3 });
    expect(moveByKey(press("Enter"), state)).toBeNull();
    expect(moveByKey({ ...press("+"), ctrlKey: true }, state)).toBeNull();
    expect(moveByKey(press("q"), state)).toBeNull();
  });
});
