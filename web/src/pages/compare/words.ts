/** The Compare page's words in the URL: which maps its panes show, and how. Pure. */

/** Which map a pane shows; null and "" leave the choice to the server. */
export interface Pane {
  readonly model: string;
  readonly method: string;
  readonly layer: number | null;
  readonly head: number | null;
  readonly target: string;
  readonly seed: number | null;
}

export const PANES = ["a", "b", "c", "d"] as const;
export type PaneName = (typeof PANES)[number];
export const LEAST_PANES = 2;

const EMPTY: Pane = { model: "", method: "", layer: null, head: null, target: "", seed: null };

function guarded(part: string): string {
  return part.replaceAll("%", "%25").replaceAll("~", "%7E");
}

function unguarded(part: string): string {
  return part.replaceAll("%7E", "~").replaceAll("%25", "%");
}

/** A pane as one word: `demo/vit~rollout~3`; what is left out at the end is left to the server. */
export function paneWord(pane: Pane): string {
  const { model, method, layer, head, target, seed } = pane;
  const parts = [model, method, layer ?? "", head ?? "", target, seed ?? ""];
  return parts.map((part) => guarded(String(part))).join("~").replace(/~+$/, "");
}

function wholeNumber(part: string | undefined): number | null {
  return part !== undefined && /^\d{1,6}$/.test(part) ? Number(part) : null;
}

/** The pane that a word stands for; what cannot be read is left to the server. */
export function readPane(word: string): Pane {
  const [model, method, layer, head, target, seed] = word.split("~").map(unguarded);
  return {
    ...EMPTY,
    model: model ?? "",
    method: method ?? "",
    layer: wholeNumber(layer),
    head: wholeNumber(head),
    target: target ?? "",
    seed: wholeNumber(seed),
  };
}

/** The words of the server for a pane: what is null or empty is not asked. */
export function asked(pane: Pane): Record<string, string | number> {
  const entries = Object.entries(pane).filter(([, value]) => value !== null && value !== "");
  return Object.fromEntries(entries);
}

/** What a preset needs to know of the study. */
export interface Known {
  readonly models: readonly {
    readonly name: string;
    readonly base: string;
    /** Layers of which maps are stored. */
    readonly layer_numbers: readonly number[];
    readonly methods: readonly string[];
  }[];
  readonly methods: readonly { readonly name: string; readonly layered: boolean }[];
}

export type By = "models" | "variants" | "methods" | "layers";
export const BYS: readonly By[] = ["models", "variants", "methods", "layers"];

/** Up to four of `all`, with `first` in front. */
function upToFour(first: string, all: readonly string[]): string[] {
  return [first, ...all.filter((name) => name !== first)].slice(0, PANES.length);
}

/** Up to four of some layers, evenly from the first to the last. */
export function spreadLayers(layers: readonly number[]): number[] {
  const count = Math.min(layers.length, PANES.length);
  if (count < LEAST_PANES) return [...layers];
  const step = (layers.length - 1) / (count - 1);
  return Array.from({ length: count }, (_, index) => layers[Math.round(index * step)] as number);
}

function withModels(from: Pane, names: readonly string[]): Pane[] {
  // Layers, heads and classes of one model need not be another's: the server chooses again.
  return names.map((model) => (model === from.model ? from : { ...EMPTY, model, method: from.method }));
}

/** Panes that differ in one thing alone, beginning from one pane; fewer than two: it cannot be. */
export function panesBy(by: By, from: Pane, known: Known): Pane[] {
  const model = known.models.find((one) => one.name === from.model);
  if (model === undefined) return [];
  const others = known.models.filter((one) => one.methods.includes(from.method));
  if (by === "models") {
    return withModels(from, upToFour(from.model, others.map((one) => one.name)));
  }
  if (by === "variants") {
    const variants = others.filter((one) => one.base === model.base).map((one) => one.name);
    return withModels(from, variants.slice(0, PANES.length));
  }
  if (by === "methods") {
    return upToFour(from.method, model.methods).map((method) =>
      method === from.method ? from : { ...EMPTY, model: from.model, method },
    );
  }
  const layered = known.methods.find((method) => method.name === from.method)?.layered ?? false;
  return layered ? spreadLayers(model.layer_numbers).map((layer) => ({ ...from, layer })) : [];
}

/** What the service is asked about two panes over all images. */
export interface OverAllQuery {
  readonly a: string;
  readonly b: string;
  readonly by: "model" | "method" | "layer";
  readonly model?: string;
  readonly method?: string;
  readonly layer?: number;
  readonly head?: number;
  readonly target?: string;
}

/**
 * How two panes are compared over all images; null where they differ in more than one thing, or in
 * nothing. `chosen` are the layers that each pane shows, where it was left open.
 */
export function overAllQuery(a: Pane, b: Pane, chosen: readonly [number | null, number | null]): OverAllQuery | null {
  if (a.head !== b.head || a.target !== b.target) return null;
  const rest = { head: a.head ?? undefined, target: a.target || undefined };
  const sameModel = a.model === b.model;
  const sameMethod = a.method === b.method;
  if (sameModel && sameMethod) {
    const [first, second] = [a.layer ?? chosen[0], b.layer ?? chosen[1]];
    if (first === null || second === null || first === second) return null;
    return { a: String(first), b: String(second), by: "layer", model: a.model, method: a.method, ...rest };
  }
  if ((!sameModel && !sameMethod) || a.layer !== b.layer) return null;
  const layer = a.layer ?? undefined;
  if (sameMethod) return { a: a.model, b: b.model, by: "model", method: a.method, layer, ...rest };
  return { a: a.method, b: b.method, by: "method", model: a.model, layer, ...rest };
}

/** A map in a line, for titles. */
export function paneTitle(pane: Omit<Pane, "seed">): string {
  const parts = [
    pane.model,
    pane.method,
    pane.layer === null ? "" : `layer ${pane.layer}`,
    pane.head === null ? "" : `head ${pane.head}`,
    pane.target,
  ];
  return parts.filter((part) => part !== "").join(" · ");
}
