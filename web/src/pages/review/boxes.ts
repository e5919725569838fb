/** Boxes while they are changed: in whole pixels, inside the image, never without a size. */
import type { Box } from "../../viewer";

/** Width and height of the image. */
export type Size = readonly [number, number];
/** x0, y0, x1, y1 in pixels of the image. */
export type PixelBox = readonly [number, number, number, number];

export const HANDLES = ["move", "nw", "n", "ne", "e", "se", "s", "sw", "w"] as const;
export type Handle = (typeof HANDLES)[number];
export const SIDES = ["x0", "y0", "x1", "y1"] as const;
export type Side = (typeof SIDES)[number];

/** No side is shorter, in pixels; an image of a single pixel has room for less. */
const LEAST = 2;

const leastOf = (length: number): number => Math.min(LEAST, length);
const within = (value: number, low: number, high: number): number => Math.min(high, Math.max(low, value));

/** Shares as pixels, not rounded. */
export function toPixels(box: Box, [width, height]: Size): PixelBox {
  return [box[0] * width, box[1] * height, box[2] * width, box[3] * height];
}

/** Pixels as shares: whole pixels come back as the same whole pixels. */
export function toShares(box: PixelBox, [width, height]: Size): Box {
  return [box[0] / width, box[1] / height, box[2] / width, box[3] / height];
}

/** A pixel as people read it: whole where it is, else with one digit. */
export function pixelText(value: number): string {
  return String(Number(value.toFixed(1)));
}

/** Two ends of a length on whole pixels, inside the image and apart; the second gives way first. */
function ends(from: number, to: number, length: number): readonly [number, number] {
  const least = leastOf(length);
  const low = within(Math.round(Math.min(from, to)), 0, length - least);
  return [low, within(Math.round(Math.max(from, to)), low + least, length)];
}

/** A box on whole pixels, inside the image, with a size. */
export function fitted(box: PixelBox, [width, height]: Size): PixelBox {
  const [x0, x1] = ends(box[0], box[2], width);
  const [y0, y1] = ends(box[1], box[3], height);
  return [x0, y0, x1, y1];
}

/** One end of a length moved; it stops at the image's edge, and before the other end. */
function oneEnd(from: number, to: number, first: boolean, at: number, length: number): readonly [number, number] {
  const least = leastOf(length);
  const place = Math.round(at);
  if (first) return [within(place, 0, Math.max(0, to - least)), to];
  return [from, within(place, Math.min(length, from + least), length)];
}

/** Both ends moved: the length stays, whatever the edge. */
function bothEnds(from: number, to: number, by: number, length: number): readonly [number, number] {
  const low = within(Math.round(from + by), 0, Math.max(0, length - (to - from)));
  return [low, Math.min(length, low + (to - from))];
}

/** The box when a handle has gone some way from where the box was. */
export function dragged(box: PixelBox, handle: Handle, dx: number, dy: number, size: Size): PixelBox {
  const [x0, y0, x1, y1] = box;
  if (handle === "move") {
    const [left, right] = bothEnds(x0, x1, dx, size[0]);
    const [top, bottom] = bothEnds(y0, y1, dy, size[1]);
    return [left, top, right, bottom];
  }
  const has = (letter: string) => handle.includes(letter);
  const across = has("w") ? oneEnd(x0, x1, true, x0 + dx, size[0]) : has("e") ? oneEnd(x0, x1, false, x1 + dx, size[0]) : ([x0, x1] as const);
  const down = has("n") ? oneEnd(y0, y1, true, y0 + dy, size[1]) : has("s") ? oneEnd(y0, y1, false, y1 + dy, size[1]) : ([y0, y1] as const);
  return [across[0], down[0], across[1], down[1]];
}

const ARROWS: Readonly<Record<string, readonly [number, number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};
const FAR = 10;

/** The box after an arrow key; null: it is another key. */
export function nudged(box: PixelBox, handle: Handle, key: string, far: boolean, size: Size): PixelBox | null {
  const arrow = ARROWS[key];
  if (!arrow) return null;
  const step = far ? FAR : 1;
  return dragged(box, handle, arrow[0] * step, arrow[1] * step, size);
}

/** The box with a typed side; null: what was typed is no number. */
export function typed(box: PixelBox, side: Side, text: string, size: Size): PixelBox | null {
  const value = text.trim() === "" ? Number.NaN : Number(text);
  if (!Number.isFinite(value)) return null;
  const [x0, y0, x1, y1] = box;
  const across = side[0] === "x" ? oneEnd(x0, x1, side === "x0", value, size[0]) : ([x0, x1] as const);
  const down = side[0] === "y" ? oneEnd(y0, y1, side === "y0", value, size[1]) : ([y0, y1] as const);
  return [across[0], down[0], across[1], down[1]];
}

/** A box in the middle of the image, for people who draw by keys. */
export function middle([width, height]: Size): PixelBox {
  return fitted([width * 0.375, height * 0.375, width * 0.625, height * 0.625], [width, height]);
}

/** Whether a box was changed, beyond what rounding to whole pixels does. */
export function differs(a: Box, b: Box, size: Size): boolean {
  const [p, q] = [toPixels(a, size), toPixels(b, size)];
  return p.some((value, i) => Math.abs(value - (q[i] as number)) > 1e-6);
}

/** Where a handle lies on the box, as shares of it. */
export function placeOf(handle: Handle): readonly [number, number] {
  const x = handle.includes("w") ? 0 : handle.includes("e") && handle !== "move" ? 1 : 0.5;
  const y = handle === "move" ? 0.5 : handle.includes("n") ? 0 : handle.includes("s") ? 1 : 0.5;
  return [x, y];
}

const NAMES: Readonly<Record<Handle, string>> = {
  move: "Whole box",
  nw: "Upper left corner",
  n: "Upper side",
  ne: "Upper right corner",
  e: "Right side",
  se: "Lower right corner",
  s: "Lower side",
  sw: "Lower left corner",
  w: "Left side",
};

/** A handle in words, with where it is. */
export function handleText(handle: Handle, box: PixelBox): string {
  const [x0, y0, x1, y1] = box.map(pixelText);
  return `${NAMES[handle]}; box from ${x0}, ${y0} to ${x1}, ${y1} pixels`;
}
