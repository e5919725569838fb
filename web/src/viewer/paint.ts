/** What is drawn on the canvas: picture, map, selected pixels, regions, marks; in this order. */

import type { MapPlace, RegionInfo } from "../api/client";
import { levelOf, packedColours } from "./colours";
import { cellsOf } from "./drawn";
import { borderOf, type Piece } from "./outline";
import { isScored, ringsOf } from "./regions";
import { type Line, newLine, type Surface } from "./surface";
import type { Box, Drawn, Look, Outline, Spot } from "./types";
import { type Frame, pointOf } from "./view";

/** Colours of marks: told apart by people who see few, on light and on dark ground. */
const MARKS = {
  halo: "rgb(0 0 0 / 0.75)",
  region: "#ffffff",
  unscored: "#bbbbbb",
  chosen: "#00c08b",
  chosenGround: "#00664a",
  selected: "#56b4e9",
  hovered: "#f0e442",
  peak: "#f0e442",
  labelGround: "rgb(0 0 0 / 0.8)",
  text: "#ffffff",
};

/** A map in colours, ready to be drawn, and where it goes. */
export interface Texture {
  canvas: HTMLCanvasElement;
  place: MapPlace;
}

export interface Border {
  pieces: readonly Piece[];
  rows: number;
  columns: number;
  place: MapPlace;
}

export interface Scene {
  picture: CanvasImageSource | null;
  texture: Texture | null;
  opacity: number;
  smooth: boolean;
  border: Border | null;
  regions: readonly RegionInfo[];
  chosen: number | null;
  hovered: number | null;
  peak: Spot | null;
  cross: Spot | null;
  box: Box | null;
}

/** Colour a map, pixel by pixel; pixels that do not count stay clear. */
export function textureOf(drawn: Drawn, look: Pick<Look, "colours" | "smooth" | "scale">): Texture | null {
  const { values, rows, columns, place, ignore } = look.smooth ? drawn : cellsOf(drawn);
  const canvas = document.createElement("canvas");
  canvas.width = columns;
  canvas.height = rows;
  const context = canvas.getContext("2d");
  if (context === null) return null;
  const pixels = context.createImageData(columns, rows);
  const whole = new Uint32Array(pixels.data.buffer);
  const colours = packedColours(look.colours);
  for (let i = 0; i < values.length; i += 1) {
    if (!ignore?.[i]) whole[i] = colours[levelOf(values[i] as number, look.scale)] as number;
  }
  context.putImageData(pixels, 0, 0);
  return { canvas, place };
}

/** No screen shows a finer border than this many pixels along a side. */
const FINEST = 640;

/** Find the border of selected pixels; of a very fine raster, that of every second, third, … pixel. */
export function borderFor({ weights, rows, columns, place }: Outline): Border {
  const step = Math.ceil(Math.max(rows, columns) / FINEST);
  if (step === 1) return { pieces: borderOf(weights, rows, columns), rows, columns, place };
  const size = [Math.ceil(rows / step), Math.ceil(columns / step)] as const;
  const at = (i: number, count: number) => Math.min(count - 1, i * step + (step >> 1));
  const thinned = Float32Array.from(
    { length: size[0] * size[1] },
    (_, i) => weights[at(Math.floor(i / size[1]), rows) * columns + at(i % size[1], columns)] as number,
  );
  return { pieces: borderOf(thinned, ...size), rows: rows / step, columns: columns / step, place };
}

/** Draw everything; the surface, a canvas or a drawing in SVG, is scaled to CSS pixels. */
export function paint(context: Surface, scene: Scene, frame: Frame): void {
  paintPicture(context, scene, frame);
  if (scene.border) strokeTwice(context, borderPath(context, scene.border, frame), MARKS.selected, 1.5);
  for (const region of scene.regions) {
    if (region.index !== scene.chosen && region.index !== scene.hovered) paintRegion(context, region, scene, frame);
  }
  for (const index of [scene.hovered, scene.chosen]) {
    const region = scene.regions.find((one) => one.index === index);
    if (region) paintRegion(context, region, scene, frame);
  }
  if (scene.peak) paintPeak(context, frame, scene.peak);
  if (scene.cross) paintCross(context, frame, scene.cross);
  if (scene.box) paintBox(context, frame, scene.box);
}

function paintPicture(context: Surface, scene: Scene, frame: Frame): void {
  const { left, top, width, height } = frame;
  context.imageSmoothingQuality = "high";
  if (scene.picture) {
    context.imageSmoothingEnabled = true;
    context.drawImage(scene.picture, left, top, width, height);
  }
  if (scene.texture) {
    const { x0, y0, x1, y1 } = scene.texture.place;
    context.globalAlpha = scene.opacity;
    context.imageSmoothingEnabled = scene.smooth;
    context.drawImage(
      scene.texture.canvas,
      left + x0 * width,
      top + y0 * height,
      (x1 - x0) * width,
      (y1 - y0) * height,
    );
    context.globalAlpha = 1;
  }
}

function borderPath(context: Surface, { pieces, rows, columns, place }: Border, frame: Frame): Line {
  const path = newLine(context);
  const x = (column: number) => frame.left + frame.width * (place.x0 + (column / columns) * (place.x1 - place.x0));
  const y = (row: number) => frame.top + frame.height * (place.y0 + (row / rows) * (place.y1 - place.y0));
  for (const [x0, y0, x1, y1] of pieces) {
    path.moveTo(x(x0), y(y0));
    path.lineTo(x(x1), y(y1));
  }
  return path;
}

/** A dark line under a light one shows on any ground. */
function strokeTwice(
  context: Surface,
  path: Line,
  colour: string,
  width: number,
  dashes: number[] = [],
): void {
  context.lineJoin = "round";
  context.setLineDash(dashes);
  context.strokeStyle = MARKS.halo;
  context.lineWidth = width + 2;
  context.stroke(path);
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.stroke(path);
  context.setLineDash([]);
}

function paintRegion(context: Surface, region: RegionInfo, scene: Scene, frame: Frame): void {
  const chosen = region.index === scene.chosen;
  const hovered = region.index === scene.hovered;
  const unscored = !isScored(region);
  const path = newLine(context);
  for (const ring of ringsOf(region)) {
    ring.forEach(([x = 0, y = 0], i) => {
      const [px, py] = pointOf(frame, { x, y });
      if (i === 0) path.moveTo(px, py);
      else path.lineTo(px, py);
    });
    path.closePath();
  }
  const plain = unscored ? MARKS.unscored : MARKS.region;
  const colour = chosen ? MARKS.chosen : hovered ? MARKS.hovered : plain;
  strokeTwice(context, path, colour, chosen ? 3 : 1.5, unscored ? [5, 4] : []);
  if (chosen || hovered) {
    paintLabel(context, region, frame, chosen ? MARKS.chosenGround : MARKS.labelGround);
  }
}

const FONT = "600 12px system-ui, sans-serif";
const LABEL = 20;

function paintLabel(context: Surface, region: RegionInfo, frame: Frame, ground: string): void {
  const [x, y] = pointOf(frame, { x: region.box[0] ?? 0, y: region.box[1] ?? 0 });
  context.font = FONT;
  const text = isScored(region) ? region.label : `${region.label} (not scored)`;
  const width = context.measureText(text).width + 12;
  const right = frame.left + frame.width;
  const left = Math.max(0, Math.min(x - 1, right - width));
  const top = y >= LABEL ? y - LABEL : y;
  context.fillStyle = ground;
  context.fillRect(left, top, width, LABEL);
  context.fillStyle = MARKS.text;
  context.textBaseline = "middle";
  context.fillText(text, left + 6, top + LABEL / 2 + 0.5);
}

function paintPeak(context: Surface, frame: Frame, spot: Spot): void {
  const [x, y] = pointOf(frame, spot);
  const path = newLine(context);
  path.arc(x, y, 6, 0, 2 * Math.PI);
  path.moveTo(x - 10, y);
  path.lineTo(x + 10, y);
  path.moveTo(x, y - 10);
  path.lineTo(x, y + 10);
  strokeTwice(context, path, MARKS.peak, 1.5);
}

function paintCross(context: Surface, frame: Frame, spot: Spot): void {
  const [x, y] = pointOf(frame, spot);
  const path = newLine(context);
  for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]] as const) {
    path.moveTo(x + 4 * dx, y + 4 * dy);
    path.lineTo(x + 14 * dx, y + 14 * dy);
  }
  strokeTwice(context, path, MARKS.text, 1.5);
}

function paintBox(context: Surface, frame: Frame, [x0, y0, x1, y1]: Box): void {
  const [left, top] = pointOf(frame, { x: x0, y: y0 });
  const [right, bottom] = pointOf(frame, { x: x1, y: y1 });
  const path = newLine(context);
  path.rect(left, top, right - left, bottom - top);
  strokeTwice(context, path, MARKS.chosen, 2, [6, 4]);
}
