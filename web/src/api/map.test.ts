import { describe, expect, it } from "vitest";

import { decodeMap, MapFormatError, mapUrl } from "./map";

interface Parts {
  rows: number;
  columns: number;
  regions: number[];
  ignore: boolean;
}

/** Write a map as the service does. */
function encode(parts: Parts, values: number[], masks: number[][]): ArrayBuffer {
  let text = JSON.stringify(parts);
  while (text.length % 4 !== 0) text += " ";
  const bytes = new ArrayBuffer(8 + text.length + 4 * values.length + masks.flat().length);
  const view = new DataView(bytes);
  [..."SLM1"].forEach((letter, i) => view.setUint8(i, letter.charCodeAt(0)));
  view.setUint32(4, text.length, true);
  [...text].forEach((letter, i) => view.setUint8(8 + i, letter.charCodeAt(0)));
  values.forEach((value, i) => view.setFloat32(8 + text.length + 4 * i, value, true));
  new Uint8Array(bytes).set(masks.flat(), 8 + text.length + 4 * values.length);
  return bytes;
}

const VALUES = [0.5, -1, 2, 3, 4, 5, 6, 7, 8];
const PARTS = { rows: 3, columns: 3, regions: [4, 7], ignore: true };
// Bits from the most significant on, each mask filled up to whole bytes.
const MASKS = [
  [0b1100_0000, 0b1000_0000],
  [0b0000_0001, 0],
  [0b0010_0000, 0],
];

describe("maps in bytes", () => {
  it("have values, masks by region, and pixels that do not count", () => {
    const map = decodeMap(encode(PARTS, VALUES, MASKS));
    expect([...map.values]).toEqual(VALUES);
    expect([...map.regions.keys()]).toEqual([4, 7]);
    expect([...(map.regions.get(4) ?? [])]).toEqual([1, 1, 0, 0, 0, 0, 0, 0, 1]);
    expect([...(map.regions.get(7) ?? [])]).toEqual([0, 0, 0, 0, 0, 0, 0, 1, 0]);
    expect([...(map.ignore ?? [])]).toEqual([0, 0, 1, 0, 0, 0, 0, 0, 0]);
  });

  it("may leave nothing out", () => {
    const map = decodeMap(encode({ ...PARTS, regions: [], ignore: false }, VALUES, []));
    expect(map.ignore).toBeNull();
    expect(map.regions.size).toBe(0);
  });

  it("are refused when they are something else, or cut short", () => {
    expect(() => decodeMap(new TextEncoder().encode("<html></html>").buffer as ArrayBuffer)).toThrow(MapFormatError);
    expect(() => decodeMap(new ArrayBuffer(2))).toThrow(MapFormatError);
    const whole = encode(PARTS, VALUES, MASKS);
    expect(() => decodeMap(whole.slice(0, -1))).toThrow(`${whole.byteLength} bytes`);
  });

  it("are asked for without the rule, which does not change them", () => {
    const url = mapUrl("a b.png", { model: "m", layer: 0, percentile: 90, selection: "mean", ties: "share", metric: "iou@90" });
    expect(url).toBe("/api/maps/a%20b.png?model=m&layer=0");
  });
});
