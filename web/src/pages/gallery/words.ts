/** The gallery's words in the URL and what they ask of the server. Pure. */
import type { Params, Words } from "../../url";
import type { CardSize } from "./layout";

export const WARNINGS = ["cropped", "undefined", "dropped", "no regions"] as const;
export type Warning = (typeof WARNINGS)[number];

/** What each warning means, for tips and chips. */
export const WARNING_MEANS: Readonly<Record<Warning, string>> = {
  cropped: "Part of the annotated area lies outside what the model was shown.",
  undefined: "The score is not defined for this image: there is nothing to score, or nothing selected.",
  dropped: "Some of its regions are not scored, for instance because they lie outside the image.",
  "no regions": "Nobody annotated a region on this image.",
};

export const SHOWS = ["picture", "overlay"] as const;
export type Show = (typeof SHOWS)[number];
export const SIZES: readonly CardSize[] = ["small", "medium", "large"];
/** What images can be sorted by that is no score, for people. */
export const COLUMN_TITLES: Readonly<Record<string, string>> = {
  image: "Name",
  area: "Annotated area",
  regions: "Number of regions",
  split: "Split",
};

export interface GalleryWords {
  readonly text: string;
  readonly label: string;
  readonly style: string;
  readonly split: string;
  readonly warning: string;
  /** A metric, or `image` for the name; empty: the study's main metric. */
  readonly sort: string;
  /** Null: the worst first, or names from A on. */
  readonly ascending: boolean | null;
  readonly ids: readonly string[];
  readonly tags: readonly string[];
  /** Name of a saved selection. */
  readonly saved: string;
}

/** Names in one word, parted by commas. */
export function readList(word: string | null): string[] {
  const parts = (word ?? "").split(",").map((part) => part.trim());
  return [...new Set(parts.filter((part) => part !== ""))];
}

function readFlag(word: string | null): boolean | null {
  if (word === "true" || word === "1") return true;
  if (word === "false" || word === "0") return false;
  return null;
}

/** What an address asks for. */
export function readWords(params: URLSearchParams): GalleryWords {
  const word = (name: string): string => params.get(name) ?? "";
  return {
    text: word("text"),
    label: word("label"),
    style: word("style"),
    split: word("split"),
    warning: word("warning"),
    sort: word("sort"),
    ascending: readFlag(params.get("ascending")),
    ids: readList(params.get("ids")),
    tags: readList(params.get("tag")),
    saved: word("saved"),
  };
}

/** Parameters that narrow the images down, and the empty value that takes each away. */
export const NO_FILTERS: Params = {
  text: null,
  label: null,
  style: null,
  split: null,
  warning: null,
  ids: null,
  tag: null,
  saved: null,
  at: null,
};

/** How many filters are set, for the button that shows them. */
export function countFilters(words: GalleryWords): number {
  const single = [words.text, words.label, words.style, words.split, words.warning, words.saved];
  const lists = [words.ids, words.tags];
  return single.filter((word) => word !== "").length + lists.filter((list) => list.length > 0).length;
}

/**
 * Whether low values come first. The worst are the lowest where more is better, the highest where
 * less is better; where a metric has no direction, and for names, the lowest come first.
 */
export function ascends(words: GalleryWords, direction: "higher" | "lower" | "neither"): boolean {
  return words.ascending ?? direction !== "lower";
}

/** Images asked for by name, by tag and by saved selection: those in all of them; null: all. */
export function idsAsked(
  words: GalleryWords,
  tagged: readonly string[],
  saved: readonly string[] | null,
): readonly string[] | null {
  const lists: (readonly string[])[] = [];
  if (words.ids.length > 0) lists.push(words.ids);
  if (saved !== null) lists.push(saved);
  if (words.tags.length > 0) lists.push(tagged);
  const [first, ...rest] = lists;
  if (first === undefined) return null;
  const others = rest.map((list) => new Set(list));
  return first.filter((image) => others.every((list) => list.has(image)));
}

/**
 * What a page of images is asked by, but for its place. The names of scores carry their threshold,
 * so that a percentile that came along from another page changes nothing here.
 */
export function pageQuery(
  words: GalleryWords,
  choice: Words,
  order: { readonly sort: string; readonly ascending: boolean },
): Params {
  const { text, label, style, split, warning } = words;
  const { model, method, layer, head, target, seed, metric } = choice;
  const maps = { model, method, layer, head, target, seed, metric };
  return { ...maps, text, label, style, split, warning, ...order };
}

/** Words by which another page knows the same images: their names, or where these are too many what stands for them. */
export function namedParams(words: GalleryWords, named: readonly string[] | null): Params {
  if (named === null) return {};
  if (fitsInAddress(named)) return { ids: named.join(",") };
  return { ids: words.ids.join(","), tag: words.tags.join(","), saved: words.saved };
}

/** Names for `ids` in one request: addresses are cut off by servers when they grow too long. */
export const LONGEST_IDS = 6000;

export function fitsInAddress(ids: readonly string[]): boolean {
  return ids.reduce((length, id) => length + id.length + 3, 0) <= LONGEST_IDS;
}
