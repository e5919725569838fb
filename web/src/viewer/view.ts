/** Where points of an image lie in a pane, and how zooming and panning move them. */

import type { Box, Spot, View } from "./types";

export const WHOLE: View = { x: 0.5, y: 0.5, zoom: 1 };
export const MOST_ZOOM = 32;

/** From shares of the image to CSS pixels of the pane: `x · width + left`. */
export interface Frame {
  left: number;
  top: number;
  width: number;
  height: number;
}

export type Size = readonly [number, number];

/** Return where the whole image lies in a pane, parts of it outside. */
export function frameOf(view: View, image: Size, pane: Size): Frame {
  const scale = Math.min(pane[0] / image[0], pane[1] / image[1]) * view.zoom;
  const width = image[0] * scale;
  const height = image[1] * scale;
  return { left: pane[0] / 2 - view.x * width, top: pane[1] / 2 - view.y * height, width, height };
}

export function spotAt(frame: Frame, x: number, y: number): Spot {
  return { x: (x - frame.left) / frame.width, y: (y - frame.top) / frame.height };
}

export function pointOf(frame: Frame, spot: Spot): readonly [number, number] {
  return [frame.left + spot.x * frame.width, frame.top + spot.y * frame.height];
}

export function isOnImage({ x, y }: Spot): boolean {
  return x >= 0 && x < 1 && y >= 0 && y < 1;
}

/** Keep the zoom in its range and the image in sight: in the middle while it fits. */
export function limited(view: View, image: Size, pane: Size): View {
  const zoom = Math.min(MOST_ZOOM, Math.max(1, view.zoom));
  const { width, height } = frameOf({ ...view, zoom }, image, pane);
  const within = (centre: number, whole: number, shown: number) => {
    const half = shown / whole / 2;
    return half >= 0.5 ? 0.5 : Math.min(1 - half, Math.max(half, centre));
  };
  return { x: within(view.x, width, pane[0]), y: within(view.y, height, pane[1]), zoom };
}

/** Zoom by a factor; the point of the image at (x, y) of the pane stays there. */
export function zoomedAt(view: View, factor: number, x: number, y: number, image: Size, pane: Size): View {
  const zoom = Math.min(MOST_ZOOM, Math.max(1, view.zoom * factor));
  const spot = spotAt(frameOf(view, image, pane), x, y);
  const { width, height } = frameOf({ ...view, zoom }, image, pane);
  const centre = { x: spot.x + (pane[0] / 2 - x) / width, y: spot.y + (pane[1] / 2 - y) / height };
  return limited({ ...centre, zoom }, image, pane);
}

/** Move the image by CSS pixels. */
export function panned(view: View, dx: number, dy: number, image: Size, pane: Size): View {
  const { width, height } = frameOf(view, image, pane);
  return limited({ ...view, x: view.x - dx / width, y: view.y - dy / height }, image, pane);
}

/** Move no further than needed for a spot to be in sight. */
export function following(view: View, spot: Spot, image: Size, pane: Size): View {
  const [x, y] = pointOf(frameOf(view, image, pane), spot);
  const over = (at: number, size: number) => Math.min(0, size - at) + Math.max(0, -at);
  const [dx, dy] = [over(x, pane[0]), over(y, pane[1])];
  return dx === 0 && dy === 0 ? view : panned(view, dx, dy, image, pane);
}

/** A view as a word of the address; nothing for the whole image. */
export function viewWords(view: View): string {
  if (view.zoom === 1) return "";
  return [view.x, view.y, view.zoom].map((value) => Number(value.toFixed(4))).join(",");
}

/** Read a view from a word of the address; what is no view is the whole image. */
export function parseView(text: string): View {
  const [x = NaN, y = NaN, zoom = NaN, ...rest] = text.split(",").map(Number);
  const good = rest.length === 0 && [x, y].every((at) => at >= 0 && at <= 1);
  return good && zoom >= 1 && zoom <= MOST_ZOOM ? { x, y, zoom } : WHOLE;
}

/** Return the box between two spots, inside the image. */
export function boxBetween(a: Spot, b: Spot): Box {
  const inside = (share: number) => Math.min(1, Math.max(0, share));
  const [x0, x1] = [inside(Math.min(a.x, b.x)), inside(Math.max(a.x, b.x))];
  const [y0, y1] = [inside(Math.min(a.y, b.y)), inside(Math.max(a.y, b.y))];
  return [x0, y0, x1, y1];
}
