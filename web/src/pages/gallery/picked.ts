/** Images that are picked in the gallery: they stay picked while one looks at an image and returns. */
import { useCallback, useRef, useSyncExternalStore } from "react";

import { between } from "./layout";
import type { Items } from "./items";

let picked: ReadonlySet<string> = new Set();
const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function setPicked(images: Iterable<string>): void {
  picked = new Set(images);
  for (const listener of listeners) listener();
}

/** Picks an image, or lets it go. */
function toggle(image: string): void {
  const next = new Set(picked);
  if (!next.delete(image)) next.add(image);
  setPicked(next);
}

/** `from` is where a range starts if nothing was picked before it. */
export type Pick = (index: number, range: boolean, from?: number) => Promise<void>;

/** The picked images, and how to pick: one card, or all from the card before to this one. */
export function usePick(items: Items): { readonly picked: ReadonlySet<string>; readonly pick: Pick } {
  const anchor = useRef<number | null>(null);
  const latest = useRef(items);
  latest.current = items;
  const pick = useCallback<Pick>(async (index, range, start) => {
    anchor.current ??= range ? (start ?? null) : null;
    const from = anchor.current;
    if (!range || from === null) {
      anchor.current = index;
      const image = latest.current.at(index)?.image;
      if (image !== undefined) toggle(image);
      return;
    }
    const indices = between(from, index);
    let found = indices.map((one) => latest.current.at(one));
    if (found.includes(undefined)) {
      // A range may reach over cards that were never in sight.
      const all = await latest.current.all();
      found = indices.map((one) => all[one]);
    }
    setPicked([...picked, ...found.flatMap((item) => (item === undefined ? [] : [item.image]))]);
  }, []);
  return { picked: useSyncExternalStore(subscribe, () => picked), pick };
}
