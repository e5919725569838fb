/** What the page asks the service for, and how decisions get there. */
import { keepPreviousData, useQuery, useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useSyncExternalStore } from "react";

import { ApiError } from "../../api/ask";
import * as Api from "../../api/client";
import type { Result } from "../../api/queries";
import { Box, memory, newId, type Entry, type Keep, type Outcome, type Ready, type Saved } from "./outbox";
import { byLease, byLocks, Courier } from "./sending";
import { joined, undoTarget } from "./undo";

export type Mode = "review" | "gold";
const POLL_MS = 5_000;
/** Who has not answered by then is asked again. */
const LONGEST_MS = 30_000;
const TAIL = 1000;

/** Asks; without a connection it says so rather than wait. */
export function useAsked<T>(key: readonly unknown[], ask: (signal: AbortSignal) => Promise<T>, enabled = true, keep = false): Result<T> {
  return useQuery({
    queryKey: ["review", ...key],
    queryFn: ({ signal }) => ask(signal),
    enabled,
    networkMode: "always",
    placeholderData: keep ? keepPreviousData : undefined,
  });
}

export const useInfo = (): Result<Api.ReviewInfo> => useAsked(["info"], (signal) => Api.review({}, { signal }));

export function useQueue(who: string, label: string, limit: number): Result<Api.ReviewQueue> {
  return useAsked(["queue", who, label, limit], (signal) => Api.reviewQueue({ who, label, limit }, { signal }), true, true);
}

const imageKey = (image: string, who: string) => ["review", "image", image, who];

export function useReviewImage(image: string | null, who: string): Result<Api.ReviewImage> {
  return useAsked(imageKey(image ?? "", who).slice(1), (signal) => Api.reviewImage(image ?? "", { who }, { signal }), image !== null);
}

/** Asks for images that come next, so that going on needs no wait, nor a connection. */
export function useAhead(images: readonly string[], who: string): void {
  const client = useQueryClient();
  const key = images.join("\n");
  useEffect(() => {
    for (const image of key === "" ? [] : key.split("\n")) {
      void client.prefetchQuery({ queryKey: imageKey(image, who), queryFn: () => Api.reviewImage(image, { who }), networkMode: "always", retry: false });
      new Image().src = Api.imageFileUrl(image, {});
    }
  }, [client, key, who]);
}

export function useHistory(item: string | null, who: string): Result<Api.ReviewHistory> {
  return useAsked(["history", item, who], (signal) => Api.reviewHistory(item ?? "", { who }, { signal }), item !== null);
}

export function useGoldList(who: string): Result<Api.GoldList> {
  return useAsked(["gold", who], (signal) => Api.goldList({ who }, { signal }));
}

export function useGoldImage(image: string | null, who: string): Result<Api.GoldImage> {
  return useAsked(["gold image", image, who], (signal) => Api.goldImage(image ?? "", { who }, { signal }), image !== null);
}

/** Events as far as they were asked for. */
export interface Log {
  readonly events: readonly Api.ReviewEvent[];
  /** Events up to this number were not asked for. */
  readonly start: number;
  readonly last: number;
}

async function since(log: Log, mode: Mode, who: string): Promise<Log> {
  let [events, last, more] = [log.events, log.last, true];
  while (more) {
    const answer = await Api.reviewEvents({ after: last, mode, who, limit: TAIL });
    events = joined(events, answer.events);
    more = answer.more;
    last = more ? (answer.events.at(-1)?.number ?? answer.last) : answer.last;
  }
  return { ...log, events, last };
}

/** The last events, and those before them until one of this person can be taken back. */
export async function begin(mode: Mode, who: string): Promise<Log> {
  const { last } = await Api.reviewEvents({ after: 0, mode, who, limit: 1 });
  let log: Log = { events: [], start: last, last };
  do {
    const start = Math.max(0, log.start - TAIL);
    const part = await Api.reviewEvents({ after: start, mode, who, limit: TAIL });
    log = { events: joined(log.events, part.events), start, last };
  } while (log.start > 0 && undoTarget(log.events, who, mode) === null);
  return log;
}

const logKey = (mode: Mode, who: string) => ["review log", mode, who];

/** Events that this tab saved: known before the service is asked for news. */
const savedHere = new Map<string, readonly Api.ReviewEvent[]>();

/** What people did, asked again and again; news make all else be asked anew. */
export function useLog(mode: Mode, who: string): Log | undefined {
  const client = useQueryClient();
  const key = logKey(mode, who);
  const log = useQuery({
    queryKey: key,
    queryFn: () => {
      const known = client.getQueryData<Log>(key);
      return known === undefined ? begin(mode, who) : since(known, mode, who);
    },
    networkMode: "always",
    retry: false,
    refetchInterval: POLL_MS,
    refetchOnMount: "always",
  }).data;
  const last = log?.last;
  useEffect(() => {
    if (last !== undefined) askAnew(client);
  }, [client, last]);
  const own = savedHere.get(key.join("\n"));
  return useMemo(() => log && { ...log, events: joined(log.events, own ?? []) }, [log, own]);
}

export function askAnew(client: QueryClient): void {
  void client.invalidateQueries({ queryKey: ["review"] });
}

/** What a decision was saved as. */
export interface Kept extends Saved {
  readonly event?: Api.ReviewEvent;
  readonly item?: Api.ReviewItem | null;
}

function bodyOf(entry: Ready): Api.ReviewEventAsked {
  const { id, who, kind, image, item, expected, comment, seconds, undoes } = entry;
  const after = entry.after as Api.ReviewRegionAsked | null;
  return { id, who, mode: entry.mode as Mode, kind: kind as Api.ReviewEventAsked["kind"], image, item, expected, after, comment, seconds, undoes };
}

async function save(entry: Ready): Promise<Kept> {
  const signal = AbortSignal.timeout(LONGEST_MS);
  if (entry.to === "answer") {
    const answer = entry.after?.["answer"] as Api.RatingAnswerAsked["answer"];
    const { id, who, expected, seconds } = entry;
    return Api.ratingAnswer({ id, who, task: entry.item ?? "", answer, expected, seconds }, {}, { signal });
  }
  const { event, item } = await Api.reviewDecide(bodyOf(entry), {}, { signal });
  return { number: event.number, event, item };
}

/** Answers after which the same may be sent again: nobody there, too busy, not signed in. */
const LATER: readonly number[] = [0, 401, 408, 429];

const OTHER = "Another review is served here now; what was decided here waits for its own.";

/** Sends to one review only: the service may have been started anew with another, or with none. */
export function postTo(review: string): (entry: Ready) => Promise<Outcome<Kept>> {
  let sure = -Infinity;
  return async (entry) => {
    try {
      if (performance.now() - sure > POLL_MS) {
        const { id } = await Api.review({}, { signal: AbortSignal.timeout(LONGEST_MS) });
        if (id !== review) return { unreachable: OTHER };
        sure = performance.now();
      }
    } catch (error) {
      return { unreachable: error instanceof Error ? error.message : String(error) };
    }
    const outcome = await post(entry);
    if ("unreachable" in outcome) sure = -Infinity;
    return outcome;
  };
}

async function post(entry: Ready): Promise<Outcome<Kept>> {
  try {
    return { saved: await save(entry) };
  } catch (error) {
    if (!(error instanceof ApiError)) return { unreachable: error instanceof Error ? error.message : String(error) };
    if (LATER.includes(error.status) || error.status >= 500) return { unreachable: error.message };
    const item = (error.body?.["item"] ?? null) as Record<string, unknown> | null;
    const version = error.body?.["version"];
    const present = item ?? (typeof version === "number" ? { version } : null);
    return { refused: { status: error.status, message: error.message, present } };
  }
}

const PROBE = "sightline.review.probe";

/** Whether decisions wait in the browser's storage; false also where it is off. */
function holds(): boolean {
  try {
    return Object.keys(window.localStorage).some((key) => /^sightline\.review\..*\.out\./.test(key));
  } catch {
    return false;
  }
}

/** The browser's storage; where it is off or full, what holds until the tab is closed. */
export function browserKeep(): { keep: Keep; lasting: boolean } {
  try {
    window.localStorage.setItem(PROBE, "1");
    window.localStorage.removeItem(PROBE);
    return { keep: window.localStorage, lasting: true };
  } catch {
    return holds() ? { keep: window.localStorage, lasting: true } : { keep: memory(), lasting: false };
  }
}

const { keep, lasting } = browserKeep();
export { lasting };
const couriers = new Map<string, Courier<Kept>>();

/** The one courier of a review in this tab. */
export function courierOf(review: string): Courier<Kept> {
  const known = couriers.get(review);
  if (known) return known;
  const exclusive = "locks" in navigator ? byLocks(navigator.locks) : byLease(keep, newId());
  const made = new Courier<Kept>(new Box(keep, review), postTo(review), exclusive);
  couriers.set(review, made);
  return made;
}

/** A list with an item in the place of the one before, or at its end. */
export function swapped<T extends { id: string }>(items: readonly T[], item: T): T[] {
  return items.some(({ id }) => id === item.id) ? items.map((one) => (one.id === item.id ? item : one)) : [...items, item];
}

/** Puts what was saved where the page looks, before it is asked anew: nothing flickers. */
function patch(client: QueryClient, event: Api.ReviewEvent, item: Api.ReviewItem | null): void {
  const { image, number, mode } = event;
  if (item && mode === "review") {
    client.setQueriesData<Api.ReviewQueue>({ queryKey: ["review", "queue"] }, (found) => found && { ...found, items: found.items.map((one) => (one.id === item.id ? item : one)) });
    client.setQueriesData<Api.ReviewImage>({ queryKey: ["review", "image", image] }, (found) => found && { ...found, items: swapped(found.items, item) });
  }
  if (mode !== "gold") return;
  const done = event.after.status === "done";
  client.setQueriesData<Api.GoldImage>({ queryKey: ["review", "gold image", image] }, (found) => {
    if (!found) return found;
    return item ? { ...found, version: number, regions: swapped(found.regions, item) } : { ...found, version: number, done };
  });
  if (item) return;
  client.setQueriesData<Api.GoldList>({ queryKey: ["review", "gold"] }, (found) => {
    if (!found) return found;
    if (image === "") return { ...found, version: number, locked: event.after.status === "locked" };
    return { ...found, version: number, images: found.images.map((line) => (line.image === image ? { ...line, done } : line)) };
  });
}

function take(client: QueryClient, entry: Entry, saved: Kept | null): void {
  if (saved?.event) {
    const key = logKey(saved.event.mode, entry.who).join("\n");
    savedHere.set(key, [...(savedHere.get(key) ?? []), saved.event]);
    patch(client, saved.event, saved.item ?? null);
  } else {
    void client.invalidateQueries({ queryKey: ["review log"] });
  }
  askAnew(client);
}

/** What waits, what was set aside, and the courier. */
export function useCourier(review: string) {
  const client = useQueryClient();
  const courier = useMemo(() => courierOf(review), [review]);
  useEffect(() => {
    // Another review is served than before: nothing of the first one is to be mixed with it.
    if (lasting && couriers.size > 1) window.location.reload();
  }, [courier]);
  useEffect(() => courier.onSaved((entry, saved) => take(client, entry, saved)), [client, courier]);
  return { courier, ...useSyncExternalStore(courier.subscribe, courier.see) };
}

const WHO = "sightline.review.who";

/** The person who was here last. */
export function lastWho(): string {
  return keep.getItem(WHO) ?? "";
}

export function rememberWho(who: string): void {
  try {
    keep.setItem(WHO, who);
  } catch {
    // No room: it holds until the page is left.
  }
}
