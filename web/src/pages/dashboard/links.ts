/** Addresses of the images behind a mark: the same maps, sorted by the same score. */
import { metricParts } from "../../format";
import { to, type Params } from "../../url";
import { paneWord, type Pane } from "../compare/words";

/** Which maps a mark stands for. */
export interface Behind {
  readonly model: string;
  readonly method: string;
  /** A number from 0, or how it was chosen. */
  readonly layer?: number | string | null;
  readonly head?: number | null;
  readonly target?: string | null;
}

const CHOSEN_LAYERS = ["best", "last", "split"];

/** The layer as a word of the address: a number, or the way in which layers were chosen. */
export function layerWord(layer: Behind["layer"], rule = ""): string | number | null {
  if (typeof layer === "number") return layer;
  if (typeof layer === "string" && /^\d+$/.test(layer)) return Number(layer);
  return layer !== null && layer !== undefined && CHOSEN_LAYERS.includes(rule) ? rule : null;
}

/** The percentile that a score is about, so that images open at it. */
export function percentileWord(metric: string): number | null {
  const { threshold } = metricParts(metric);
  const number = threshold === null ? Number.NaN : Number(threshold);
  return Number.isFinite(number) ? number : null;
}

function mapWords(behind: Behind, metric: string, rule: string): Params {
  const { model, method, head, target } = behind;
  const layer = layerWord(behind.layer, rule);
  return { model, method, layer, head, target, percentile: percentileWord(metric) };
}

/** The gallery of what a mark stands for, by the score that the mark shows. */
export function imagesBehind(behind: Behind, metric: string, more: Params = {}, rule = ""): string {
  return to.gallery({ ...mapWords(behind, metric, rule), sort: metric, ...more });
}

/** One image with the map that a mark stands for; a region of it in front where one is meant. */
export function imageBehind(
  image: string,
  behind: Behind,
  metric: string,
  region: number | null = null,
): string {
  return to.image(image, { ...mapWords(behind, metric, ""), region });
}

function paneOf({ model, method, layer, head, target }: Behind): Pane {
  const number = layerWord(layer);
  return {
    model,
    method,
    layer: typeof number === "number" ? number : null,
    head: head ?? null,
    target: target ?? "",
    seed: null,
  };
}

/** One image in two panes. */
export function compareBehind(image: string, a: Behind, b: Behind, metric: string): string {
  const percentile = percentileWord(metric);
  return to.compare({ image, a: paneWord(paneOf(a)), b: paneWord(paneOf(b)), percentile });
}
