/**
 * Tags and saved selections as this browser keeps them: one record for each study.
 *
 * Tabs of the same study follow each other. A record that cannot be read is set aside, never
 * overwritten; where the browser keeps nothing, marks hold until the page is left, and say so.
 */
import { useCallback, useSyncExternalStore } from "react";

import { NO_MARKS, readMarks, writeMarks, type Marks } from "./tags";

/** The part of the browser's storage that is needed. */
export type Keep = Pick<Storage, "getItem" | "setItem">;

export interface Kept {
  readonly marks: Marks;
  /** Why marks were not read or are not kept; empty: all is well. */
  readonly problem: string;
}

export function keyOf(study: string): string {
  return `sightline.marks.${study}`;
}

const NOT_KEPT = "This browser keeps nothing for this page: export the marks before leaving it.";

/** Reads the marks of a study; what cannot be read is set aside under another key. */
export function load(keep: Keep, study: string): Kept {
  const key = keyOf(study);
  let stored: string | null = null;
  try {
    stored = keep.getItem(key);
    if (stored === null) return { marks: NO_MARKS, problem: "" };
    return { marks: readMarks(stored).marks, problem: "" };
  } catch (error) {
    if (stored === null) return { marks: NO_MARKS, problem: NOT_KEPT };
    const why = error instanceof Error ? error.message : String(error);
    try {
      keep.setItem(`${key}.unreadable`, stored);
    } catch {
      // There is no room for a copy; the record stays where it is until marks are changed.
    }
    const problem = `The marks kept here cannot be read (${why}); a copy is set aside as ${key}.unreadable.`;
    return { marks: NO_MARKS, problem };
  }
}

/** Writes the marks of a study. */
export function store(keep: Keep, study: string, marks: Marks): Kept {
  try {
    keep.setItem(keyOf(study), writeMarks(marks, study));
    return { marks, problem: "" };
  } catch {
    return { marks, problem: NOT_KEPT };
  }
}

/** The browser's storage; asking for it fails where it is switched off. */
function browser(): Keep {
  try {
    return window.localStorage;
  } catch {
    const refuse = (): never => {
      throw new Error("storage is off");
    };
    return { getItem: refuse, setItem: refuse };
  }
}

const known = new Map<string, Kept>();
const listeners = new Set<() => void>();

function tell(study: string, kept: Kept): void {
  known.set(study, kept);
  for (const listener of listeners) listener();
}

function current(study: string): Kept {
  const found = known.get(study);
  if (found !== undefined) return found;
  const kept = load(browser(), study);
  known.set(study, kept);
  return kept;
}

/** Changes the marks of a study, for all who look at them. */
export function changeMarks(study: string, change: (marks: Marks) => Marks): void {
  const before = current(study);
  const after = change(before.marks);
  if (after !== before.marks) tell(study, store(browser(), study, after));
}

function fromOtherTab(event: StorageEvent): void {
  for (const study of known.keys()) {
    if (event.key === null || event.key === keyOf(study)) tell(study, load(browser(), study));
  }
}

function subscribe(listener: () => void): () => void {
  if (listeners.size === 0) window.addEventListener("storage", fromOtherTab);
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) {
      window.removeEventListener("storage", fromOtherTab);
      // Another tab may change them while nobody listens here.
      known.clear();
    }
  };
}

/** The marks of a study, and how to change them. */
export function useMarks(
  study: string,
): Kept & { readonly change: (change: (marks: Marks) => Marks) => void } {
  const kept = useSyncExternalStore(subscribe, () => current(study));
  const change = useCallback(
    (how: (marks: Marks) => Marks) => changeMarks(study, how),
    [study],
  );
  return { ...kept, change };
}
