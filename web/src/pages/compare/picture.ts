/** The panes as one picture, for export. */
import type { DataSet } from "../../export";
import { escaped, placed, svgFile, type Drawn, type Outline, type SvgPicture, type ViewerHandle } from "../../viewer";

const GAP = 12;
const TITLE = 34;

export interface Framed {
  readonly title: string;
  readonly canvas: HTMLCanvasElement;
}

function write(context: CanvasRenderingContext2D, text: string, x: number, width: number): void {
  let shown = text;
  while (shown.length > 1 && context.measureText(shown).width > width) shown = `${shown.slice(0, -2)}…`;
  context.fillText(shown, x, TITLE - 12);
}

/** Pictures side by side, each under its title, on white. */
export function sideBySide(frames: readonly Framed[]): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  canvas.width = frames.reduce((sum, frame) => sum + frame.canvas.width + GAP, GAP);
  canvas.height = Math.max(...frames.map((frame) => frame.canvas.height)) + TITLE + GAP;
  const context = canvas.getContext("2d");
  if (context === null) return canvas;
  context.fillStyle = "#ffffff";
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.fillStyle = "#1b2430";
  context.font = "15px system-ui, sans-serif";
  let x = GAP;
  for (const { title, canvas: picture } of frames) {
    write(context, title, x, picture.width);
    context.drawImage(picture, x, TITLE);
    x += picture.width + GAP;
  }
  return canvas;
}

/** Two pictures in one frame, the second from a share of the width on. */
export function swiped(under: HTMLCanvasElement, over: HTMLCanvasElement, share: number): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  canvas.width = under.width;
  canvas.height = under.height;
  const context = canvas.getContext("2d");
  const from = Math.round(under.width * share);
  context?.drawImage(under, 0, 0);
  const width = under.width - from;
  if (width > 0) {
    context?.clearRect(from, 0, width, under.height);
    context?.drawImage(over, from, 0, width, over.height, from, 0, width, over.height);
  }
  return canvas;
}

/** The same in SVG. */
export function sideBySideSvg(pictures: readonly SvgPicture[], titles: readonly string[]): string {
  let width = GAP;
  const parts = pictures.map((picture, index) => {
    const at = width;
    width += picture.width + GAP;
    const title = `<text style="font:15px system-ui, sans-serif" fill="#1b2430" y="${TITLE - 12}">${escaped(titles[index] ?? "")}</text>`;
    // A title longer than its picture ends with it.
    return `${placed({ width: picture.width, height: TITLE, body: title }, at, 0)}\n${placed(picture, at, TITLE)}`;
  });
  const height = Math.max(...pictures.map((picture) => picture.height)) + TITLE + GAP;
  return svgFile({ width, height, body: parts.join("\n") });
}

export function swipedSvg(under: SvgPicture, over: SvgPicture, share: number): string {
  const from = Math.round(under.width * share);
  const ground = `<rect x="${from}" width="${under.width - from}" height="${under.height}" fill="#ffffff"/>`;
  const right = share < 1 ? ground + placed(over, from, 0, from) : "";
  return svgFile({ ...under, body: placed(under, 0, 0) + right });
}

/** A map, or a difference of two, as it is shown. */
export interface Shown {
  readonly title: string;
  readonly drawn: Drawn | null;
  readonly outline: Outline | null;
}

/** The values of all that is shown, pixel by pixel. */
export function valuesOf(shown: readonly Shown[]): DataSet {
  const rows = shown.flatMap(({ title, drawn, outline }) =>
    drawn === null
      ? []
      : Array.from({ length: drawn.values.length }, (_, i) => [
          title,
          Math.floor(i / drawn.columns),
          i % drawn.columns,
          drawn.ignore?.[i] ? null : (drawn.values[i] as number),
          outline ? outline.weights[i] : null,
        ]),
  );
  return { columns: ["shown", "row", "column", "value", "selected"], rows };
}

/** Frames of the viewers that are there. */
export function framesOf(handles: readonly (ViewerHandle | null)[], titles: readonly string[]): Framed[] {
  return handles.flatMap((handle, index) => {
    const canvas = handle?.canvas() ?? null;
    return canvas === null ? [] : [{ title: titles[index] ?? "", canvas }];
  });
}
