/**
 * Decisions on their way to the service.
 *
 * Each is kept in the browser under a key of its own until the service has acknowledged it, and is
 * sent in the order in which it was made, always with the same id: what is sent twice counts once.
 * A decision that the service refuses is set aside and shown, never dropped. Tabs share what is
 * kept; one of them sends at a time.
 */

/** The part of the browser's storage that is needed. */
export type Keep = Pick<Storage, "getItem" | "setItem" | "removeItem" | "key" | "length">;

/** Where an item is taken to stand once the decision is saved. */
export interface Then {
  readonly status?: string;
  readonly box?: readonly number[];
  readonly label?: string;
  /** Empty: the shape is the box now. */
  readonly outline?: readonly unknown[];
}

/** A decision, as it is made. */
export interface Draft {
  readonly to: "event" | "answer";
  readonly who: string;
  readonly mode: "review" | "gold" | "rating";
  readonly kind: string;
  readonly image: string;
  readonly item: string | null;
  readonly after: Readonly<Record<string, unknown>> | null;
  readonly comment: string;
  readonly seconds: number | null;
  /** Number of the last event that the person had seen. */
  readonly expected: number;
  /** Id of a decision that is not saved yet and comes right before: its number is expected. */
  readonly follows: string | null;
  /** What is taken back: the number of an event, or the id of a decision that is not saved yet. */
  readonly undoes: number | string | null;
  readonly then: Then;
}

export interface Entry extends Draft {
  readonly id: string;
  /** Sorts entries: time, then count. */
  readonly order: string;
}

/** A decision that was refused. */
export interface Aside {
  readonly entry: Entry;
  /** 409: somebody else came first; 0: it follows one that was set aside. */
  readonly status: number;
  readonly why: string;
  /** Where the item stands; null: not told. */
  readonly present: Record<string, unknown> | null;
}

/** What the service made of a decision. */
export interface Saved {
  readonly number: number;
}

/** What was refused. */
export interface Refusal {
  readonly status: number;
  readonly message: string;
  readonly present: Record<string, unknown> | null;
}

export type Outcome<T> = { readonly saved: T } | { readonly refused: Refusal } | { readonly unreachable: string };

const LONGEST_MEMORY = 200;

let count = 0;

/** Sorts by when it was made; within a millisecond by count. */
export function orderOf(now: number): string {
  count = (count + 1) % 1_000_000;
  return `${String(now).padStart(15, "0")}-${String(count).padStart(6, "0")}`;
}

/** A random id as RFC 9562 has it; also where the browser offers no function for it. */
export function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** What holds while the page is open, where the browser keeps nothing. */
export function memory(): Keep {
  const held = new Map<string, string>();
  return {
    getItem: (key) => held.get(key) ?? null,
    setItem: (key, value) => void held.set(key, value),
    removeItem: (key) => void held.delete(key),
    key: (index) => [...held.keys()][index] ?? null,
    get length() {
      return held.size;
    },
  };
}

/** All that is kept of one review. */
export class Box {
  readonly keep: Keep;
  readonly prefix: string;

  constructor(keep: Keep, review: string) {
    this.keep = keep;
    this.prefix = `sightline.review.${review}.`;
  }

  private read<T>(part: string): T[] {
    const start = `${this.prefix}${part}.`;
    const keys: string[] = [];
    for (let i = 0; i < this.keep.length; i += 1) {
      const key = this.keep.key(i);
      if (key?.startsWith(start)) keys.push(key);
    }
    return keys.sort().flatMap((key) => {
      try {
        return [JSON.parse(this.keep.getItem(key) ?? "") as T];
      } catch {
        return []; // Written by something else: it stays where it is.
      }
    });
  }

  private key(part: string, entry: Entry): string {
    return `${this.prefix}${part}.${entry.order}.${entry.id}`;
  }

  waiting(): Entry[] {
    return this.read<Entry>("out");
  }

  aside(): Aside[] {
    return this.read<Aside>("aside");
  }

  /** Keeps a decision, after all that waits whatever the clock says; raises where there is no room. */
  add(draft: Draft, id: string, now: number): Entry {
    const last = this.waiting().at(-1)?.order ?? "";
    const entry: Entry = { ...draft, id, order: orderOf(Math.max(now, Number.parseInt(last || "0", 10) + 1)) };
    this.keep.setItem(this.key("out", entry), JSON.stringify(entry));
    return entry;
  }

  /** Number under which a decision was saved; null: it was not, or long ago. */
  numberOf(id: string): number | null {
    return this.saved().find(([known]) => known === id)?.[1] ?? null;
  }

  private saved(): [string, number][] {
    try {
      return JSON.parse(this.keep.getItem(`${this.prefix}saved`) ?? "[]") as [string, number][];
    } catch {
      return [];
    }
  }

  /** The service has it: others may ask for its number, then it goes. */
  settle(entry: Entry, number: number): void {
    const saved = [...this.saved().filter(([id]) => id !== entry.id), [entry.id, number] as [string, number]];
    const needed = new Set(this.waiting().flatMap(({ follows, undoes }) => [follows, undoes]));
    const told = saved.filter(([id], i) => needed.has(id) || i >= saved.length - LONGEST_MEMORY);
    this.instead(entry, `${this.prefix}saved`, JSON.stringify(told));
  }

  /** Set aside first, taken away then: whatever happens in between, it is kept. */
  putAside(entry: Entry, refusal: Refusal): void {
    const aside: Aside = { entry, status: refusal.status, why: refusal.message, present: refusal.present };
    this.instead(entry, this.key("aside", entry), JSON.stringify(aside));
  }

  /** Writes something, then takes a waiting entry away; without room the entry makes it. */
  private instead(entry: Entry, key: string, value: string): void {
    const own = this.key("out", entry);
    try {
      this.keep.setItem(key, value);
      this.keep.removeItem(own);
    } catch {
      this.keep.removeItem(own);
      try {
        this.keep.setItem(key, value);
      } catch (error) {
        this.keep.setItem(own, JSON.stringify(entry));
        throw error;
      }
    }
  }

  /** The person has seen that it was refused. */
  dismiss({ entry }: Aside): void {
    this.keep.removeItem(this.key("aside", entry));
  }
}

/** A decision that can be sent: what it follows has its number. */
export interface Ready extends Entry {
  readonly follows: null;
  readonly undoes: number | null;
}

/** Fills in numbers of decisions that were saved meanwhile; a text says why that cannot be. */
export function resolved(entry: Entry, numberOf: (id: string) => number | null): Ready | string {
  const follows = entry.follows === null ? null : numberOf(entry.follows);
  const undoes = typeof entry.undoes === "string" ? numberOf(entry.undoes) : entry.undoes;
  const lost = (entry.follows !== null && follows === null) || (typeof entry.undoes === "string" && undoes === null);
  if (lost) return "It follows a decision that was not saved.";
  return { ...entry, expected: Math.max(entry.expected, follows ?? 0), follows: null, undoes };
}

export interface Sender<T extends Saved> {
  post: (entry: Ready) => Promise<Outcome<T>>;
  /** Null: it was refused, so that what is shown may be old. */
  onSaved: (entry: Entry, saved: T | null) => void;
  onChange: () => void;
}

/**
 * Sends what waits, the oldest first, until nothing waits or the service does not answer.
 * Returns why it does not; empty: all was sent.
 */
export async function drain<T extends Saved>(box: Box, sender: Sender<T>): Promise<string> {
  for (;;) {
    const [entry] = box.waiting();
    if (entry === undefined) return "";
    const ready = resolved(entry, (id) => box.numberOf(id));
    if (typeof ready === "string") {
      box.putAside(entry, { status: 0, message: ready, present: null });
      sender.onChange();
      continue;
    }
    const outcome = await sender.post(ready);
    if ("unreachable" in outcome) return outcome.unreachable;
    if ("saved" in outcome) {
      box.settle(entry, outcome.saved.number);
      sender.onSaved(entry, outcome.saved);
    } else {
      box.putAside(entry, outcome.refused);
      sender.onSaved(entry, null);
    }
    sender.onChange();
  }
}

/** The decision about an item (or, without one, an image) that waits and was made last. */
export function lastWaiting(waiting: readonly Entry[], mode: string, image: string, item: string | null): Entry | null {
  const about = waiting.filter((entry) => entry.mode === mode && entry.image === image);
  return about.filter((entry) => item === null || entry.item === item).at(-1) ?? null;
}

/** An item as it will stand once what waits is saved. */
export function foreseen<T extends { id: string; status: string; box: readonly number[]; label: string }>(
  item: T,
  waiting: readonly Entry[],
): T {
  return waiting
    .filter((entry) => entry.item === item.id)
    .reduce((seen, { then }) => ({ ...seen, ...then }) as T, item);
}

/** Kinds that are taken back by an event of their own. */
export const APART: readonly string[] = ["lock", "reopen"];

/** Which of the decisions that wait counts and was made last: the one that "undo" takes back. */
export function lastToUndo(waiting: readonly Entry[], who: string, mode: string): Entry | null {
  const taken = new Set(waiting.map((entry) => entry.undoes));
  const own = waiting.filter((entry) => entry.who === who && entry.mode === mode && entry.undoes === null);
  return own.filter((entry) => !taken.has(entry.id) && !APART.includes(entry.kind)).at(-1) ?? null;
}
