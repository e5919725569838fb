/** What can be taken back: the last event of a person that counts, as the service has kept it. */
import { APART } from "./outbox";

/** The parts of a stored event that are needed. */
export interface Kept {
  readonly number: number;
  readonly id: string;
  readonly who: string;
  readonly mode: string;
  readonly kind: string;
  readonly item: string | null;
  readonly image: string;
  /** Number of the event that it takes back; null: it takes nothing back. */
  readonly undoes: number | null;
}


/** A name as names are compared. */
export function samePerson(who: string): string {
  return who.normalize("NFKC").toLowerCase().split(/\s+/).filter(Boolean).join(" ");
}

/** Numbers of the events that do not count, being taken back; the taking back of which counts. */
export function undoneBy(events: readonly Kept[]): ReadonlyMap<number, number> {
  const undone = new Map<number, number>();
  for (const event of [...events].sort((a, b) => b.number - a.number)) {
    if (event.undoes !== null && !undone.has(event.number)) undone.set(event.undoes, event.number);
  }
  return undone;
}

function mine(events: readonly Kept[], who: string, mode: string): readonly Kept[] {
  const person = samePerson(who);
  return events
    .filter((event) => samePerson(event.who) === person && event.mode === mode && !APART.includes(event.kind))
    .sort((a, b) => b.number - a.number);
}

/** The last decision of a person that counts; null: there is none among these events. */
export function undoTarget<T extends Kept>(events: readonly T[], who: string, mode: string): T | null {
  const undone = undoneBy(events);
  const found = mine(events, who, mode).find((event) => event.undoes === null && !undone.has(event.number));
  return (found as T | undefined) ?? null;
}

/** What "redo" takes back: the last undo that counts and was made since the last decision; null: none. */
export function redoTarget<T extends Kept>(events: readonly T[], who: string, mode: string): T | null {
  const undone = undoneBy(events);
  const kinds = new Map(events.map((event) => [event.number, event]));
  for (const event of mine(events, who, mode)) {
    if (event.undoes === null) return null; // a decision was made since
    const redo = kinds.get(event.undoes)?.kind === "undo";
    if (!redo && !undone.has(event.number)) return event as T;
  }
  return null;
}

/** Adds events to those known, in order, each once. */
export function joined<T extends Kept>(known: readonly T[], more: readonly T[]): readonly T[] {
  const numbers = new Set(known.map(({ number }) => number));
  const fresh = more.filter(({ number }) => !numbers.has(number));
  return fresh.length === 0 ? known : [...known, ...fresh].sort((a, b) => a.number - b.number);
}
