/**
 * The images of the gallery: pages of them, asked for as they come into sight.
 *
 * The first page is always there, since it says how many images pass and which score they show.
 */
import {
  keepPreviousData,
  useQueries,
  useQuery,
  useQueryClient,
  type QueryClient,
} from "@tanstack/react-query";
import { useCallback, useMemo } from "react";

import { ask, urlOf, type Query } from "../../api/ask";
import type { ImagePage, ImageSummary } from "../../api/client";
import { pagesBetween } from "./layout";
import { fitsInAddress } from "./words";

export const PAGE = 60;
/** Images in one request where all are wanted; the most that the service gives. */
export const LARGEST_PAGE = 500;

export interface Items {
  /** The first page, once it is there: total, metric, choice, note. */
  readonly head: ImagePage | undefined;
  readonly total: number;
  readonly at: (index: number) => ImageSummary | undefined;
  /** Whether what is shown answers the question before the current one. */
  readonly stale: boolean;
  readonly error: Error | null;
  readonly retry: () => void;
  /** Every image that passes, in order. */
  readonly all: () => Promise<readonly ImageSummary[]>;
}

function pageUrl(query: Query, offset: number, limit: number): string {
  return urlOf("/api/images", { ...query, limit, offset });
}

function pageOf(client: QueryClient, query: Query, offset: number): Promise<ImagePage> {
  const url = pageUrl(query, offset, LARGEST_PAGE);
  return client.fetchQuery({ queryKey: [url], queryFn: ({ signal }) => ask<ImagePage>(url, { signal }) });
}

/** All images that pass, from as few requests as may be. */
export async function everyImage(client: QueryClient, query: Query): Promise<ImagePage> {
  const first = await pageOf(client, query, 0);
  const offsets: number[] = [];
  for (let offset = first.items.length; offset < first.total && offset > 0; offset += LARGEST_PAGE) {
    offsets.push(offset);
  }
  const rest = await Promise.all(offsets.map((offset) => pageOf(client, query, offset)));
  return { ...first, items: [first, ...rest].flatMap((page) => page.items) };
}

function sifted(page: ImagePage, ids: readonly string[]): ImagePage {
  const wanted = new Set(ids);
  const items = page.items.filter((item) => wanted.has(item.image));
  return { ...page, items, total: items.length };
}

/** All images that pass, of those named by `ids` where it is not null. */
export async function everyNamed(
  client: QueryClient,
  query: Query,
  ids: readonly string[] | null,
): Promise<readonly ImageSummary[]> {
  if (ids === null) return (await everyImage(client, query)).items;
  if (ids.length === 0) return [];
  if (fitsInAddress(ids)) return (await everyImage(client, { ...query, ids: ids.join(",") })).items;
  return sifted(await everyImage(client, query), ids).items;
}

/** More images are named than an address holds: all are fetched, and the named ones kept. */
function useSifted(query: Query, ids: readonly string[] | null) {
  const client = useQueryClient();
  return useQuery({
    queryKey: ["sifted", pageUrl(query, 0, LARGEST_PAGE), ids],
    queryFn: async () => sifted(await everyImage(client, query), ids ?? []),
    enabled: ids !== null,
    placeholderData: keepPreviousData,
  });
}

function usePages(query: Query, pages: readonly number[], enabled: boolean) {
  return useQueries({
    queries: pages.map((page) => {
      const url = pageUrl(query, page * PAGE, PAGE);
      return { queryKey: [url], queryFn: ({ signal }: { signal: AbortSignal }) => ask<ImagePage>(url, { signal }), enabled };
    }),
  });
}

function useHead(query: Query, enabled: boolean) {
  const url = pageUrl(query, 0, PAGE);
  return useQuery({
    queryKey: [url],
    queryFn: ({ signal }) => ask<ImagePage>(url, { signal }),
    enabled,
    placeholderData: keepPreviousData,
  });
}

/**
 * The images that pass `query`, of those named by `ids` where it is not null; `shown` are the
 * first and last card in sight, `current` is the one that has or gets the focus.
 */
export function useItems(
  query: Query,
  ids: readonly string[] | null,
  shown: readonly [number, number],
  current: number,
): Items {
  const client = useQueryClient();
  const many = ids !== null && !fitsInAddress(ids);
  const none = ids !== null && ids.length === 0;
  // An empty list is "all" to the service: nothing is asked then but what the score is.
  const asked = useMemo<Query>(
    () => (ids === null || many ? query : { ...query, ids: ids.join(",") }),
    [query, ids, many],
  );
  const head = useHead(asked, !many);
  const sift = useSifted(query, many ? ids : null);
  const main = many ? sift : head;
  const total = none ? 0 : (main.data?.total ?? 0);
  const focus = Math.min(current, total - 1);
  const seen = pagesBetween(shown[0], shown[1], PAGE, total);
  const pages = [...new Set([...seen, ...pagesBetween(focus, focus, PAGE, total)])].filter((page) => page > 0);
  const results = usePages(asked, pages, !many && !head.isPlaceholderData);
  const first = main.data;
  const at = useCallback(
    (index: number): ImageSummary | undefined => {
      if (many || index < PAGE) return first?.items[index];
      const place = pages.indexOf(Math.floor(index / PAGE));
      return results[place]?.data?.items[index % PAGE];
    },
    // `results` and `pages` are new at each drawing: so is this.
    [many, first, pages, results],
  );
  const all = useCallback(() => everyNamed(client, query, ids), [client, query, ids]);
  const failed = results.find((result) => result.error !== null);
  return {
    head: first,
    total,
    at,
    stale: main.isPlaceholderData,
    error: main.error ?? failed?.error ?? null,
    retry: () => void (main.error ? main.refetch() : failed?.refetch()),
    all,
  };
}
