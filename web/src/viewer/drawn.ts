/** Maps as they are drawn: values after the sign rule, their range, the value at a point. */

import type { MapHeader } from "../api/client";
import type { DecodedMap } from "../api/map";
import { readValues } from "../numeric";
import type { Drawn, Spot } from "./types";

/** Return a map as its own sign rule reads it. */
export function drawnOf(map: DecodedMap): Drawn {
  const { rows, columns, header, ignore } = map;
  const values = readValues(map.values, header.choice.sign);
  return {
    values: header.scale === 1 ? values : Float64Array.from(values, (value) => value * header.scale),
    rows,
    columns,
    place: header.place,
    cells: header.cells,
    cellsPlace: header.cells_place ?? header.place,
    ignore,
  };
}

/** Return the values at the ends of the scale; signed maps have zero in the middle. */
export function rangeOf(drawn: Drawn, how: "image" | "dataset", header?: MapHeader): [number, number] {
  const own = extent([drawn]);
  const wide = how === "dataset" && header?.dataset_low != null && header.dataset_high != null;
  const [low, high] = wide ? [header.dataset_low as number, header.dataset_high as number] : own;
  return header?.choice.sign === "signed" ? centred(low, high) : [low, high];
}

/** One range for several maps. */
export function commonRange(drawn: readonly Drawn[]): [number, number] {
  return extent(drawn);
}

/** One range for several maps of differences, as far below zero as above. */
export function zeroCentred(drawn: readonly Drawn[]): [number, number] {
  return centred(...extent(drawn));
}

function centred(low: number, high: number): [number, number] {
  const most = Math.max(Math.abs(low), Math.abs(high));
  return [-most, most];
}

function extent(drawn: readonly Drawn[]): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (const { values, ignore } of drawn) {
    for (let i = 0; i < values.length; i += 1) {
      if (ignore?.[i]) continue;
      const value = values[i] as number;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  return low > high ? [0, 0] : [low, high];
}

/** Return the pixel of the raster under a point of the image; null: it is beside the raster. */
export function pixelAt(drawn: Drawn, { x, y }: Spot): { row: number; column: number } | null {
  const { x0, y0, x1, y1 } = drawn.place;
  const column = Math.floor(((x - x0) / (x1 - x0)) * drawn.columns);
  const row = Math.floor(((y - y0) / (y1 - y0)) * drawn.rows);
  const inside = row >= 0 && column >= 0 && row < drawn.rows && column < drawn.columns;
  return inside ? { row, column } : null;
}

/** Return the value under a point of the image; null where there is none. */
export function valueAt(drawn: Drawn, spot: Spot): number | null {
  const pixel = pixelAt(drawn, spot);
  if (pixel === null) return null;
  const place = pixel.row * drawn.columns + pixel.column;
  return drawn.ignore?.[place] ? null : (drawn.values[place] as number);
}

/** Return where the maximum is; of equal pixels the middle of the first. */
export function peakOf(drawn: Drawn): Spot | null {
  let best = -1;
  for (let i = 0; i < drawn.values.length; i += 1) {
    if (drawn.ignore?.[i]) continue;
    if (best < 0 || (drawn.values[i] as number) > (drawn.values[best] as number)) best = i;
  }
  if (best < 0) return null;
  const { x0, y0, x1, y1 } = drawn.place;
  const x = (best % drawn.columns) + 0.5;
  const y = Math.floor(best / drawn.columns) + 0.5;
  return { x: x0 + (x / drawn.columns) * (x1 - x0), y: y0 + (y / drawn.rows) * (y1 - y0) };
}

/**
 * Return a map on the model's own cells where it was scored on a finer raster.
 *
 * Finer rasters interpolate between the centres of cells, so the value at a centre is the cell's.
 */
export function cellsOf(drawn: Drawn): Drawn {
  const [rows, columns] = drawn.cells ?? [drawn.rows, drawn.columns];
  if (rows >= drawn.rows && columns >= drawn.columns) return drawn;
  const place = drawn.cellsPlace ?? drawn.place;
  const values = new Float32Array(rows * columns);
  const ignore = new Uint8Array(rows * columns);
  for (let i = 0; i < values.length; i += 1) {
    const x = place.x0 + (((i % columns) + 0.5) / columns) * (place.x1 - place.x0);
    const y = place.y0 + ((Math.floor(i / columns) + 0.5) / rows) * (place.y1 - place.y0);
    const value = between(drawn, { x, y });
    values[i] = value ?? 0;
    ignore[i] = value === null ? 1 : 0;
  }
  return { values, rows, columns, place, ignore };
}

/** Interpolate between the four pixels around a point; null beside the raster. */
function between(drawn: Drawn, spot: Spot): number | null {
  if (valueAt(drawn, spot) === null) return null;
  const { x0, y0, x1, y1 } = drawn.place;
  const column = ((spot.x - x0) / (x1 - x0)) * drawn.columns - 0.5;
  const row = ((spot.y - y0) / (y1 - y0)) * drawn.rows - 0.5;
  const at = (r: number, c: number) => {
    const line = Math.min(drawn.rows - 1, Math.max(0, r));
    return drawn.values[line * drawn.columns + Math.min(drawn.columns - 1, Math.max(0, c))] as number;
  };
  const [r, c] = [Math.floor(row), Math.floor(column)];
  const [v, u] = [row - r, column - c];
  const top = at(r, c) * (1 - u) + at(r, c + 1) * u;
  const bottom = at(r + 1, c) * (1 - u) + at(r + 1, c + 1) * u;
  return top * (1 - v) + bottom * v;
}
