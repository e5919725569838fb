/**
 * A chart with what stands around it on the page, in one drawing: title above, key below. A file
 * that holds lines without their names could not be read.
 */

const SVG = "http://www.w3.org/2000/svg";
const TITLE = 26;
const ROW = 20;
const GAP = 14;
const INNER = 6;
const LETTER = 6.6;
const DASHES: Readonly<Record<string, string>> = { dashed: "4 3", dotted: "1.5 2.5" };

function element(name: string, attributes: Readonly<Record<string, string | number>>): SVGElement {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  return made;
}

/** A part of a key that takes some width; `place` draws it with its middle at a height. */
interface Piece {
  readonly width: number;
  readonly place: (x: number, y: number) => SVGElement;
}

function textOf(text: string, className = ""): Piece {
  const place = (x: number, y: number) => {
    const made = element("text", { x, y: y + 4, style: "font-size: 12px", class: className });
    made.textContent = text;
    return made;
  };
  return { width: text.length * LETTER, place };
}

function drawnOf(svg: SVGSVGElement): Piece {
  const [width, height] = ["width", "height"].map((name) => Number(svg.getAttribute(name)));
  const place = (x: number, y: number) => {
    const twin = svg.cloneNode(true) as SVGSVGElement;
    twin.setAttribute("x", String(x));
    twin.setAttribute("y", String(y - (height ?? 0) / 2));
    return twin;
  };
  return { width: width ?? 0, place };
}

/** The sign before a word of the key, which the style sheet draws as borders. */
function signOf(word: Element): Piece {
  const style = getComputedStyle(word, "::before");
  const [top, left] = [Number.parseFloat(style.borderTopWidth) || 0, Number.parseFloat(style.borderLeftWidth) || 0];
  const name = word.className;
  const stroke = name === "key-ceiling" || name === "key-baseline" ? "var(--soft)" : name === "key-interval" ? "var(--blue)" : "var(--ink)";
  if (top > 0 && left > 0) {
    return { width: 9, place: (x, y) => element("rect", { x, y: y - 4.5, width: 9, height: 9, style: `fill: none; stroke: ${stroke}; stroke-width: 1.5` }) };
  }
  const upright = left > 0;
  const dash = DASHES[upright ? style.borderLeftStyle : style.borderTopStyle] ?? "none";
  const look = `stroke: ${stroke}; stroke-width: 2; stroke-dasharray: ${dash}`;
  return {
    width: upright ? 4 : 22,
    place: (x, y) =>
      element("line", upright ? { x1: x + 2, x2: x + 2, y1: y - 6, y2: y + 6, style: look } : { x1: x, x2: x + 22, y1: y, y2: y, style: look }),
  };
}

const isShown = (entry: Element): boolean => entry.querySelector("[aria-pressed='false']") === null;

/** What the key says: each entry with its parts. */
function entriesOf(body: Element): Piece[][] {
  const lines = [...body.querySelectorAll(".legend > li")].filter(isShown).map((entry) => {
    const sample = entry.querySelector("svg");
    return [...(sample ? [drawnOf(sample)] : []), textOf((entry.textContent ?? "").trim())];
  });
  const words = [...body.querySelectorAll(".key-note > span")].map((word) => [signOf(word), textOf(word.textContent ?? "")]);
  const scales = [...body.querySelectorAll(".scale-bar")].map((bar) =>
    [...bar.children].map((part) => (part instanceof SVGSVGElement ? drawnOf(part) : textOf(part.textContent ?? ""))),
  );
  return [...lines, ...words, ...scales];
}

/** Entries one after the other, in as many rows as they need; returns the height. */
function layKey(out: SVGElement, entries: readonly (readonly Piece[])[], top: number, width: number): number {
  let [x, y] = [4, top + ROW / 2];
  for (const pieces of entries) {
    const needed = pieces.reduce((sum, piece) => sum + piece.width + INNER, 0);
    if (x > 4 && x + needed > width) [x, y] = [4, y + ROW];
    for (const piece of pieces) {
      out.append(piece.place(x, y));
      x += piece.width + INNER;
    }
    x += GAP;
  }
  return entries.length === 0 ? 0 : y + ROW / 2 + 4 - top;
}

/** The first chart of a panel with the panel's title and key; null where nothing is drawn. */
export function figureOf(body: Element | null, title: string): SVGSVGElement | null {
  const chart = body?.querySelector<SVGSVGElement>("svg.chart");
  if (!body || !chart) return null;
  const [width, height] = ["width", "height"].map((name) => Number(chart.getAttribute(name))) as [number, number];
  const out = element("svg", { class: "chart" }) as SVGSVGElement;
  const heading = textOf(title).place(4, TITLE / 2);
  heading.setAttribute("style", "font-size: 14px; font-weight: 600");
  const twin = chart.cloneNode(true) as SVGSVGElement;
  twin.setAttribute("y", String(TITLE));
  out.append(heading, twin);
  const whole = TITLE + height + layKey(out, entriesOf(body), TITLE + height, width);
  for (const [name, value] of [["width", width], ["height", whole], ["viewBox", `0 0 ${width} ${whole}`]] as const) {
    out.setAttribute(name, String(value));
  }
  return out;
}
