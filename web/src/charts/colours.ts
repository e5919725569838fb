/** Colours of charts: Okabe and Ito's for lines, one-hue and two-hue scales for cells. */

/** Lines take these in turn; yellow is for areas only. They change a little on dark ground. */
export const SERIES = ["--blue", "--vermillion", "--green", "--purple", "--orange", "--sky", "--ink"] as const;
const DASHES = ["", "6 3", "2 3", "8 3 2 3"] as const;
export type Marker = "circle" | "square" | "triangle" | "diamond";
const MARKERS: readonly Marker[] = ["circle", "square", "triangle", "diamond"];

export interface LineLook {
  colour: string;
  dash: string;
  marker: Marker;
}

/** Colour, dash and marker of the n-th line: after seven lines the colours come again, dashed. */
export function lineLook(index: number): LineLook {
  const turn = Math.floor(index / SERIES.length);
  return {
    colour: `var(${SERIES[index % SERIES.length]})`,
    dash: DASHES[turn % DASHES.length] ?? "",
    marker: MARKERS[index % MARKERS.length] ?? "circle",
  };
}

/** Baselines that see no model: grey, dotted. */
export const BASELINE: LineLook = { colour: "var(--soft)", dash: "2 3", marker: "square" };

type Rgb = readonly [number, number, number];

// Light to dark in one hue, so that order survives in greys and for every kind of colour vision.
const SEQUENTIAL: readonly Rgb[] = [[247, 251, 255], [198, 219, 239], [107, 174, 214], [33, 113, 181], [8, 48, 107]];
// Blue below, white at zero, red above: red supports.
const DIVERGING: readonly Rgb[] = [[5, 48, 97], [67, 147, 195], [247, 247, 247], [214, 96, 77], [103, 0, 31]];

function between(stops: readonly Rgb[], share: number): Rgb {
  const at = Math.min(1, Math.max(0, share)) * (stops.length - 1);
  const low = stops[Math.floor(at)] ?? [0, 0, 0];
  const high = stops[Math.ceil(at)] ?? low;
  const part = at - Math.floor(at);
  return [0, 1, 2].map((i) => Math.round((low[i] ?? 0) + ((high[i] ?? 0) - (low[i] ?? 0)) * part)) as unknown as Rgb;
}

export type ScaleKind = "sequential" | "diverging";

/** The colour of a share from 0 to 1. */
export function cellColour(share: number, kind: ScaleKind = "sequential"): string {
  return `rgb(${between(kind === "sequential" ? SEQUENTIAL : DIVERGING, share).join(" ")})`;
}

function luminance(rgb: Rgb): number {
  const [r = 0, g = 0, b = 0] = rgb.map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** Black or white, whichever reads better on that cell. */
export function cellInk(share: number, kind: ScaleKind = "sequential"): string {
  const light = luminance(between(kind === "sequential" ? SEQUENTIAL : DIVERGING, share));
  return light > 0.179 ? "#000000" : "#ffffff";
}
