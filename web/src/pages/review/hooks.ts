/** What the page keeps while somebody works on it. */
import { useEffect, useMemo, useRef } from "react";

import type { ReviewEvent, ReviewItem } from "../../api/client";
import { fileUrl } from "../../api/queries";
import { usePicture } from "../../viewer/hooks";
import type { Size } from "./boxes";
import type { Log } from "./data";
import { foreseen, type Entry } from "./outbox";
import { merged } from "./steps";
import { Stopwatch } from "./stopwatch";

/** Measures the time spent on what the key names. */
export function useStopwatch(key: string): () => number {
  const watch = useRef(new Stopwatch(performance.now()));
  useEffect(() => {
    const own = new Stopwatch(performance.now());
    watch.current = own;
    const touch = () => own.touch(performance.now());
    const seen = () => (document.hidden ? own.pause(performance.now()) : touch());
    document.addEventListener("visibilitychange", seen);
    window.addEventListener("pointermove", touch);
    window.addEventListener("keydown", touch, { capture: true });
    return () => {
      document.removeEventListener("visibilitychange", seen);
      window.removeEventListener("pointermove", touch);
      window.removeEventListener("keydown", touch, { capture: true });
    };
  }, [key]);
  return () => watch.current.seconds(performance.now());
}

/** Width and height of an image; of one whose size is not told, the picture's own. */
export function useImageSize(image: string | null, width: number | null | undefined, height: number | null | undefined): Size | null {
  const told = typeof width === "number" && typeof height === "number";
  const { element } = usePicture(told || image === null ? null : fileUrl(image));
  const [w, h] = told ? [width, height] : [element?.naturalWidth, element?.naturalHeight];
  return useMemo(() => (w && h ? [w, h] : null), [w, h]);
}

/** An item after an event that is newer than what is known of it. */
export function after(item: ReviewItem, event: ReviewEvent | undefined): ReviewItem {
  if (!event || event.number <= item.version) return item;
  const { status, box, label, edited } = event.after;
  return {
    ...item,
    status: status as ReviewItem["status"],
    box: box ?? item.box,
    label: label ?? item.label,
    outline: box && box.join() !== item.box.join() ? [] : item.outline,
    edited,
    version: event.number,
  };
}

/** Items seen so far, in the order in which they came, each as it stands. */
export function useItems(key: string, queue: readonly ReviewItem[], others: readonly ReviewItem[], log: Log | undefined, waiting: readonly Entry[]) {
  const seen = useRef({ key, order: [] as readonly string[], known: new Map<string, ReviewItem>() });
  if (seen.current.key !== key) seen.current = { key, order: [], known: new Map() };
  const { known } = seen.current;
  for (const item of [...queue, ...others]) {
    if (item.version >= (known.get(item.id)?.version ?? 0)) known.set(item.id, item);
  }
  seen.current.order = merged(seen.current.order, queue.map(({ id }) => id));
  const latest = useMemo(() => {
    const found = new Map<string, ReviewEvent>();
    for (const event of log?.events ?? []) if (event.item !== null && event.mode === "review") found.set(event.item, event);
    return found;
  }, [log]);
  const savedOf = (id: string): ReviewItem | null => {
    const item = known.get(id);
    return item ? after(item, latest.get(id)) : null;
  };
  const itemOf = (id: string): ReviewItem | null => {
    const item = savedOf(id);
    return item && foreseen(item, waiting);
  };
  return { order: seen.current.order, itemOf, savedOf };
}
