/** What pictures are drawn on: a canvas, or a drawing in SVG that keeps lines and words as such. */

/** A line, as canvases and drawings both make it. */
export type Line = Pick<Path2D, "moveTo" | "lineTo" | "closePath" | "rect" | "arc">;

type Drawing = Pick<
  CanvasRenderingContext2D,
  | "globalAlpha"
  | "imageSmoothingEnabled"
  | "imageSmoothingQuality"
  | "lineJoin"
  | "lineWidth"
  | "strokeStyle"
  | "fillStyle"
  | "font"
  | "textBaseline"
  | "setLineDash"
  | "fillRect"
>;

/** What is asked of a surface; a canvas has all of it. */
export interface Surface extends Drawing {
  drawImage(source: CanvasImageSource, x: number, y: number, width: number, height: number): void;
  stroke(line: Line): void;
  fillText(text: string, x: number, y: number): void;
  measureText(text: string): { width: number };
}

/** Begin a line of the kind that a surface strokes. */
export function newLine(surface: Surface): Line {
  return surface instanceof SvgSurface ? new SvgLine() : new Path2D();
}

/** A drawing that is not yet a file: it may become a part of another. */
export interface SvgPicture {
  readonly width: number;
  readonly height: number;
  readonly body: string;
}

/** No picture in a drawing has a longer side; photographs would make it very large. */
const LONGEST = 2048;

const short = (value: number): string => String(Number(value.toFixed(2)));

export function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

/** A line as the data of a path. */
export class SvgLine implements Line {
  private readonly parts: string[] = [];

  moveTo(x: number, y: number): void {
    this.parts.push(`M${short(x)} ${short(y)}`);
  }

  lineTo(x: number, y: number): void {
    this.parts.push(`L${short(x)} ${short(y)}`);
  }

  closePath(): void {
    this.parts.push("Z");
  }

  rect(x: number, y: number, width: number, height: number): void {
    this.parts.push(`M${short(x)} ${short(y)}h${short(width)}v${short(height)}h${short(-width)}Z`);
  }

  /** A whole circle: no other arcs are drawn. */
  arc(x: number, y: number, radius: number): void {
    const [r, d] = [short(radius), short(2 * radius)];
    this.parts.push(`M${short(x + radius)} ${short(y)}a${r} ${r} 0 1 1 -${d} 0a${r} ${r} 0 1 1 ${d} 0`);
  }

  data(): string {
    return this.parts.join("");
  }
}

/** Writes down what is drawn: pictures as PNG in the text, lines and words as they are. */
export class SvgSurface implements Surface {
  globalAlpha = 1;
  imageSmoothingEnabled = true;
  imageSmoothingQuality: ImageSmoothingQuality = "high";
  lineJoin: CanvasLineJoin = "miter";
  lineWidth = 1;
  strokeStyle: CanvasRenderingContext2D["strokeStyle"] = "#000000";
  fillStyle: CanvasRenderingContext2D["fillStyle"] = "#000000";
  font = "";
  textBaseline: CanvasTextBaseline = "alphabetic";
  private dashes: readonly number[] = [];
  private readonly parts: string[] = [];

  /** `png` and `measure` are asked of the browser. */
  constructor(
    private readonly png: (source: CanvasImageSource) => string = pngOf,
    private readonly measure: (text: string, font: string) => number = widthOf,
  ) {}

  setLineDash(dashes: Iterable<number>): void {
    this.dashes = [...dashes];
  }

  drawImage(source: CanvasImageSource, x: number, y: number, width: number, height: number): void {
    const how = this.imageSmoothingEnabled ? "auto" : "pixelated";
    this.parts.push(
      `<image ${box(x, y, width, height)} preserveAspectRatio="none" opacity="${short(this.globalAlpha)}" ` +
        `style="image-rendering:${how}" href="${this.png(source)}"/>`,
    );
  }

  stroke(line: Line): void {
    if (!(line instanceof SvgLine)) throw new TypeError("a drawing strokes its own lines alone");
    const dashes = this.dashes.length > 0 ? ` stroke-dasharray="${this.dashes.join(" ")}"` : "";
    this.parts.push(
      `<path d="${line.data()}" fill="none" ${painted("stroke", this.strokeStyle)} stroke-width="${this.lineWidth}" ` +
        `stroke-linejoin="${this.lineJoin}"${dashes}/>`,
    );
  }

  fillRect(x: number, y: number, width: number, height: number): void {
    this.parts.push(`<rect ${box(x, y, width, height)} ${painted("fill", this.fillStyle)}/>`);
  }

  fillText(text: string, x: number, y: number): void {
    const baseline = this.textBaseline === "middle" ? ' dominant-baseline="central"' : "";
    this.parts.push(
      `<text x="${short(x)}" y="${short(y)}" style="font:${this.font}" ${painted("fill", this.fillStyle)}${baseline}>` +
        `${escaped(text)}</text>`,
    );
  }

  measureText(text: string): { width: number } {
    return { width: this.measure(text, this.font) };
  }

  body(): string {
    return this.parts.join("\n");
  }
}

/** Part of a picture in a place of another: the place shows the picture from `left` on, and clips it. */
export function placed(picture: SvgPicture, x: number, y: number, left = 0): string {
  const width = picture.width - left;
  const seen = `${short(left)} 0 ${short(width)} ${short(picture.height)}`;
  return `<svg ${box(x, y, width, picture.height)} viewBox="${seen}" overflow="hidden">${picture.body}</svg>`;
}

/** A picture as the text of a file, on white. */
export function svgFile({ width, height, body }: SvgPicture): string {
  const size = `width="${short(width)}" height="${short(height)}"`;
  return (
    `<?xml version="1.0" encoding="UTF-8"?>\n<svg xmlns="http://www.w3.org/2000/svg" ${size} ` +
    `viewBox="0 0 ${short(width)} ${short(height)}"><rect width="100%" height="100%" fill="#ffffff"/>\n${body}\n</svg>\n`
  );
}

/** A colour as attributes; programs that draw know `rgb(0 0 0 / 0.5)` less well than browsers do. */
function painted(name: "fill" | "stroke", style: CanvasRenderingContext2D["fillStyle"]): string {
  const clear = /^rgb\((\d+) (\d+) (\d+) \/ ([\d.]+)\)$/.exec(String(style));
  if (clear === null) return `${name}="${String(style)}"`;
  return `${name}="rgb(${clear.slice(1, 4).join(",")})" ${name}-opacity="${clear[4]}"`;
}

function box(x: number, y: number, width: number, height: number): string {
  return `x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}"`;
}

/** A picture as PNG in an address. */
function pngOf(source: CanvasImageSource): string {
  const [width, height] = sizeOf(source);
  const scale = Math.min(1, LONGEST / Math.max(width, height));
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(width * scale));
  canvas.height = Math.max(1, Math.round(height * scale));
  canvas.getContext("2d")?.drawImage(source, 0, 0, canvas.width, canvas.height);
  return canvas.toDataURL("image/png");
}

function sizeOf(source: CanvasImageSource): readonly [number, number] {
  if (source instanceof HTMLImageElement) return [source.naturalWidth, source.naturalHeight];
  if (source instanceof HTMLCanvasElement) return [source.width, source.height];
  throw new TypeError("a drawing takes images and canvases");
}

function widthOf(text: string, font: string): number {
  const context = document.createElement("canvas").getContext("2d");
  if (context === null) return 7 * text.length;
  context.font = font;
  return context.measureText(text).width;
}
