/**
 * State in the address, so that a link reproduces the view.
 *
 * The address is held in memory and written to the browser a little later: browsers refuse more
 * than some hundred writes in half a minute, and a slider makes more.
 */
import { useCallback, useSyncExternalStore } from "react";

import { urlOf as href, type Query } from "./api/ask";

export type Params = Query;

export interface Place {
  /** Path without the query, such as `/image/facade-00001.png`. */
  readonly path: string;
  readonly params: URLSearchParams;
  /** Path and query. */
  readonly href: string;
}

export interface SetOptions {
  /** Whether "back" returns to the state before; else the state is replaced. */
  push?: boolean;
}

const WRITE_AFTER_MS = 150;

let place: Place = read();
let pending: ReturnType<typeof setTimeout> | null = null;
const listeners = new Set<() => void>();

function read(): Place {
  return parse(window.location.pathname + window.location.search);
}

function parse(address: string): Place {
  const url = new URL(address, window.location.origin);
  return { path: url.pathname, params: url.searchParams, href: url.pathname + url.search };
}

function tell(next: Place): void {
  place = next;
  for (const listener of listeners) listener();
}

/** Writes the address to the browser at once. */
export function flush(): void {
  if (pending === null) return;
  clearTimeout(pending);
  pending = null;
  window.history.replaceState(null, "", place.href);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

window.addEventListener("popstate", () => {
  if (pending !== null) clearTimeout(pending);
  pending = null;
  tell(read());
});
window.addEventListener("pagehide", flush);

/** The address now, for code outside components. */
export function here(): Place {
  return place;
}

export { href };

/** Goes to an address of the app; `replace` leaves no step for "back". */
export function go(address: string, options: { replace?: boolean } = {}): void {
  flush();
  const next = parse(address);
  if (next.href === place.href) return;
  const moved = next.path !== place.path;
  if (options.replace) window.history.replaceState(null, "", next.href);
  else window.history.pushState(null, "", next.href);
  tell(next);
  if (moved && !options.replace) window.scrollTo(0, 0);
}

/** Sets some parameters and keeps the others; null takes one away. */
export function setParams(changes: Params, options: SetOptions = {}): void {
  const params = new URLSearchParams(place.params);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === undefined || value === "") params.delete(name);
    else params.set(name, String(value));
  }
  const text = params.toString();
  const next = parse(text === "" ? place.path : `${place.path}?${text}`);
  if (next.href === place.href) return;
  if (options.push) {
    flush();
    window.history.pushState(null, "", next.href);
  } else if (pending === null) {
    pending = setTimeout(flush, WRITE_AFTER_MS);
  }
  tell(next);
}

/** The address; the component is drawn again whenever it changes. */
export function useUrl(): Place {
  return useSyncExternalStore(subscribe, here);
}

export type Setter<T> = (value: T, options?: SetOptions) => void;

function useRaw(name: string): string | null {
  return useSyncExternalStore(subscribe, () => place.params.get(name));
}

/** A parameter as text; the fallback stands for "not given" and is not written. */
export function useParam(name: string, fallback = ""): [string, Setter<string>] {
  const raw = useRaw(name);
  const set = useCallback<Setter<string>>(
    (value, options) => setParams({ [name]: value === fallback ? null : value }, options),
    [name, fallback],
  );
  return [raw ?? fallback, set];
}

/** A parameter as a number; what is no number counts as not given. */
export function useNumberParam<T extends number | null>(
  name: string,
  fallback: T,
): [number | T, Setter<number | T>] {
  const raw = useRaw(name);
  const number = raw === null || raw.trim() === "" ? Number.NaN : Number(raw);
  const set = useCallback<Setter<number | T>>(
    (value, options) => setParams({ [name]: value === fallback ? null : value }, options),
    [name, fallback],
  );
  return [Number.isFinite(number) ? number : fallback, set];
}

/** A parameter as yes or no, written as 1 or 0. */
export function useFlag(name: string, fallback = false): [boolean, Setter<boolean>] {
  const raw = useRaw(name);
  const set = useCallback<Setter<boolean>>(
    (value, options) => setParams({ [name]: value === fallback ? null : value ? 1 : 0 }, options),
    [name, fallback],
  );
  return [raw === null ? fallback : raw === "1" || raw === "true", set];
}

/** One of some words; a word that is not among them counts as not given. */
export function useWord<T extends string>(
  name: string,
  words: readonly T[],
  fallback: T,
): [T, Setter<T>] {
  const raw = useRaw(name);
  const set = useCallback<Setter<T>>(
    (value, options) => setParams({ [name]: value === fallback ? null : value }, options),
    [name, fallback],
  );
  return [words.find((word) => word === raw) ?? fallback, set];
}

const SEPARATOR = "~";

/** Several words in one parameter. */
export function useList(name: string): [string[], Setter<readonly string[]>] {
  const raw = useRaw(name);
  const set = useCallback<Setter<readonly string[]>>(
    (values, options) => setParams({ [name]: values.join(SEPARATOR) }, options),
    [name],
  );
  return [raw === null || raw === "" ? [] : raw.split(SEPARATOR), set];
}

/** The words that say which maps are meant: a choice on pages of one map, a filter on tables of all. */
export const MAP_WORDS = ["model", "method", "layer", "head", "target", "seed"] as const;

/** The words that say which maps and which rule; pages that know them read them from the address. */
export const WORDS = [...MAP_WORDS, "percentile", "selection", "ties", "metric"] as const;
export type WordName = (typeof WORDS)[number];
export type Words = Partial<Record<WordName, string | number>>;

/** The words that stand in the address. */
export function wordsOf(params: URLSearchParams): Words {
  const words: Words = {};
  for (const name of WORDS) {
    const value = params.get(name);
    if (value !== null && value !== "") words[name] = value;
  }
  return words;
}

/**
 * The words that a link takes along. A choice of maps goes where one choice is shown as well: in a
 * table of all maps it would be a filter that nobody set there, and leave a single row.
 */
export function carried<W extends object>(words: W, single: boolean): Partial<W> {
  const left: readonly string[] = single ? [] : MAP_WORDS;
  return Object.fromEntries(Object.entries(words).filter(([name]) => !left.includes(name))) as Partial<W>;
}

/** The words of the address, for hooks and links. */
export function useWords(): Words {
  const { params } = useUrl();
  return wordsOf(params);
}

/** Addresses of the pages. */
export const to = {
  gallery: (params: Params = {}) => href("/", params),
  image: (id: string, params: Params = {}) => href(`/image/${encodeURIComponent(id)}`, params),
  compare: (params: Params = {}) => href("/compare", params),
  dashboard: (params: Params = {}) => href("/dashboard", params),
  detection: (params: Params = {}) => href("/detection", params),
  sparsity: (params: Params = {}) => href("/sparsity", params),
  checks: (params: Params = {}) => href("/checks", params),
  prototypes: (params: Params = {}) => href("/prototypes", params),
  review: (params: Params = {}) => href("/review", params),
  rating: (params: Params = {}) => href("/rating", params),
  study: (params: Params = {}) => href("/study", params),
};
