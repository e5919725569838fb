/** Saves figures and data as files: CSV, SVG and PNG. */

export type Cell = string | number | boolean | null | undefined;

export interface DataSet {
  columns: readonly string[];
  rows: readonly (readonly Cell[])[];
}

const PNG_SCALE = 2;
const STYLES = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "stroke-opacity",
  "stroke-linejoin",
  "stroke-linecap",
  "opacity",
  "font-family",
  "font-size",
  "font-weight",
  "font-style",
  "text-anchor",
  "dominant-baseline",
  "visibility",
  "paint-order",
] as const;

// Text that a spreadsheet would run as a formula, as `escape_formula` of the library has it.
const FORMULA = /^([=@\t\r\n]|[+-](?!(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$))/i;

function csvCell(cell: Cell): string {
  if (cell === null || cell === undefined) return "";
  const plain = String(cell).replace(/\r\n?/g, "\n"); // some readers end a row at a carriage return
  const text = typeof cell === "string" && FORMULA.test(plain) ? `'${plain}` : plain;
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** A table as CSV (RFC 4180); what is undefined stays empty. */
export function csvOf({ columns, rows }: DataSet): string {
  return [columns, ...rows].map((row) => row.map(csvCell).join(",")).join("\r\n") + "\r\n";
}

/** A name that every file system takes. */
export function fileName(name: string, ending: string): string {
  const plain = name
    .normalize("NFKD")
    .replace(/[^A-Za-z0-9@._-]+/g, "-")
    .replace(/^[-.]+|[-.]+$/g, "")
    .slice(0, 120);
  return `${plain || "sightline"}.${ending}`;
}

/** Gives a file to the browser. */
export function saveBlob(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

export function saveText(text: string, name: string, type = "text/plain"): void {
  saveBlob(new Blob([text], { type: `${type};charset=utf-8` }), name);
}

export function saveCsv(data: DataSet, name: string): void {
  saveText(csvOf(data), fileName(name, "csv"), "text/csv");
}

function freeze(from: Element, into: Element): void {
  const style = getComputedStyle(from);
  for (const name of STYLES) into.setAttribute(name, style.getPropertyValue(name));
  into.removeAttribute("class");
  into.removeAttribute("style");
  for (const [index, child] of [...from.children].entries()) {
    const twin = into.children[index];
    if (twin) freeze(child, twin);
  }
}

/** A drawing that stands on its own: styles written out, light colours, white ground. */
export function standalone(svg: SVGSVGElement): SVGSVGElement {
  const room = document.createElement("div");
  room.dataset["theme"] = "light";
  room.className = "export-room";
  const light = svg.cloneNode(true) as SVGSVGElement;
  for (const passing of light.querySelectorAll("[data-passing]")) passing.remove();
  room.append(light);
  document.body.append(room);
  try {
    const out = light.cloneNode(true) as SVGSVGElement;
    freeze(light, out);
    for (const name of ["tabindex", "role", "aria-label"]) out.removeAttribute(name);
    out.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    out.prepend(ground(out));
    return out;
  } finally {
    room.remove();
  }
}

function ground(svg: SVGSVGElement): SVGRectElement {
  const rect = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  rect.setAttribute("width", "100%");
  rect.setAttribute("height", "100%");
  rect.setAttribute("fill", "#ffffff");
  svg.removeAttribute("fill");
  return rect;
}

async function dataUrl(address: string): Promise<string> {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`The picture ${address} could not be read`);
  const blob = await response.blob();
  return new Promise((done, failed) => {
    const reader = new FileReader();
    reader.onload = () => done(String(reader.result));
    reader.onerror = () => failed(reader.error ?? new Error(`The picture ${address} could not be read`));
    reader.readAsDataURL(blob);
  });
}

/** The text of a drawing that stands on its own; the pictures in it are in the text, too. */
export async function svgText(svg: SVGSVGElement): Promise<string> {
  const alone = standalone(svg);
  for (const image of alone.querySelectorAll("image")) {
    image.setAttribute("href", await dataUrl(image.getAttribute("href") ?? ""));
  }
  return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(alone)}`;
}

export async function saveSvg(svg: SVGSVGElement, name: string): Promise<void> {
  saveText(await svgText(svg), fileName(name, "svg"), "image/svg+xml");
}

async function picture(address: string): Promise<HTMLImageElement> {
  const image = new Image();
  image.src = address;
  await image.decode();
  return image;
}

/** Width and height on the screen, or as written where a drawing is not on it. */
function sizeOf(svg: SVGSVGElement): [number, number] {
  const { width, height } = svg.getBoundingClientRect();
  return [width || Number(svg.getAttribute("width")), height || Number(svg.getAttribute("height"))];
}

/** A drawing as PNG, twice as fine as on the screen. */
export async function savePng(svg: SVGSVGElement, name: string): Promise<void> {
  const [width, height] = sizeOf(svg);
  const url = URL.createObjectURL(new Blob([await svgText(svg)], { type: "image/svg+xml" }));
  try {
    const canvas = document.createElement("canvas");
    canvas.width = Math.round(width * PNG_SCALE);
    canvas.height = Math.round(height * PNG_SCALE);
    canvas.getContext("2d")?.drawImage(await picture(url), 0, 0, canvas.width, canvas.height);
    await saveCanvas(canvas, name);
  } finally {
    URL.revokeObjectURL(url);
  }
}

/** What a canvas shows, as PNG. */
export async function saveCanvas(canvas: HTMLCanvasElement, name: string): Promise<void> {
  const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, "image/png"));
  if (blob === null) throw new Error("The picture could not be written as PNG");
  saveBlob(blob, fileName(name, "png"));
}
