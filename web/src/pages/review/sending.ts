/** When decisions are sent: by one tab at a time, at once, and again until the service answers. */
import { drain, newId, type Aside, type Box, type Draft, type Entry, type Saved, type Sender } from "./outbox";

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 20_000;
const LEASE_MS = 10_000;
const SETTLE_MS = 60;

/** Runs one thing at a time over all tabs; false: another tab is at it. */
export type Exclusive = (name: string, run: () => Promise<void>) => Promise<boolean>;

/** By the browser's locks, which end with the tab that holds them. */
export function byLocks(locks: Pick<LockManager, "request">): Exclusive {
  return async (name, run) => {
    let ran = false;
    await locks.request(name, { ifAvailable: true }, async (lock) => {
      if (lock === null) return;
      ran = true;
      await run();
    });
    return ran;
  };
}

interface Lease {
  tab: string;
  until: number;
}

/**
 * Where the browser has no locks (pages that are not served securely): a lease in the storage,
 * renewed while it is held. Should two tabs ever take it at once, the service keeps an event once.
 */
export function byLease(keep: Pick<Storage, "getItem" | "setItem" | "removeItem">, tab: string, now = Date.now): Exclusive {
  const held = (name: string): Lease | null => {
    try {
      return JSON.parse(keep.getItem(name) ?? "null") as Lease | null;
    } catch {
      return null;
    }
  };
  // A lease of longer than one is given was taken before the clock went back.
  const holds = ({ until }: Lease) => until > now() && until <= now() + LEASE_MS;
  const take = (name: string) => {
    try {
      keep.setItem(name, JSON.stringify({ tab, until: now() + LEASE_MS }));
    } catch {
      keep.removeItem(name); // no room: what is sent makes some
    }
  };
  return async (name, run) => {
    const other = held(name);
    if (other !== null && other.tab !== tab && holds(other)) return false;
    take(name);
    await new Promise((done) => setTimeout(done, SETTLE_MS));
    if ((held(name)?.tab ?? tab) !== tab) return false;
    const renewal = setInterval(() => take(name), LEASE_MS / 3);
    try {
      await run();
    } finally {
      clearInterval(renewal);
      if (held(name)?.tab === tab) keep.removeItem(name);
    }
    return true;
  };
}

/** What pages see of what is on its way. */
export interface Shown {
  readonly waiting: readonly Entry[];
  readonly aside: readonly Aside[];
  /** Why the service was not reached; empty: it was, or nothing was sent yet. */
  readonly problem: string;
  /** Why the last decision could not even be kept; empty: it was. */
  readonly refused: string;
}

/** Sends what a box holds, from when it is first looked at until the tab is closed. */
export class Courier<T extends Saved> {
  private shown: Shown;
  private readonly listeners = new Set<() => void>();
  private readonly savers = new Set<(entry: Entry, saved: T | null) => void>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private pause = FIRST_PAUSE_MS;
  private busy = false;
  private again = false;
  private started = false;
  readonly box: Box;
  private readonly post: Sender<T>["post"];
  private readonly exclusive: Exclusive;

  constructor(box: Box, post: Sender<T>["post"], exclusive: Exclusive) {
    this.box = box;
    this.post = post;
    this.exclusive = exclusive;
    this.shown = { waiting: box.waiting(), aside: box.aside(), problem: "", refused: "" };
  }

  readonly see = (): Shown => this.shown;

  readonly subscribe = (listener: () => void): (() => void) => {
    if (!this.started) {
      this.started = true;
      window.addEventListener("storage", this.onStorage);
      window.addEventListener("online", this.onOnline);
      void this.send();
    }
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  /** Called with each decision that was saved; null: another tab saved it, or it was refused. */
  readonly onSaved = (listener: (entry: Entry, saved: T | null) => void): (() => void) => {
    this.savers.add(listener);
    return () => this.savers.delete(listener);
  };

  private readonly onStorage = (event: StorageEvent): void => {
    if (event.key !== null && !event.key.startsWith(this.box.prefix)) return;
    const before = this.shown.waiting;
    this.refresh();
    const still = new Set(this.shown.waiting.map(({ id }) => id));
    for (const entry of before) if (!still.has(entry.id)) this.tell(entry, null);
    if (!this.busy) this.sendLater(); // the tab that kept it may be gone
  };

  private readonly onOnline = (): void => {
    this.pause = FIRST_PAUSE_MS;
    void this.send();
  };

  private tell(entry: Entry, saved: T | null): void {
    for (const listener of this.savers) listener(entry, saved);
  }

  /** Keeps a decision and sends it; null: there is no room to keep it, and the page says so. */
  add(draft: Draft): Entry | null {
    let entry: Entry | null = null;
    let refused = "";
    try {
      entry = this.box.add(draft, newId(), Date.now());
    } catch (error) {
      refused = `The browser could not keep the decision: ${error instanceof Error ? error.message : String(error)}`;
    }
    this.shown = { ...this.shown, refused };
    this.refresh();
    if (entry) void this.send();
    return entry;
  }

  /** Reads anew what is kept. */
  refresh(problem = this.shown.problem): void {
    const waiting = this.box.waiting();
    this.shown = { ...this.shown, waiting, aside: this.box.aside(), problem: waiting.length === 0 ? "" : problem };
    for (const listener of this.listeners) listener();
  }

  /** Sends now, unless that is under way; tries again later where nobody answers. */
  async send(): Promise<void> {
    clearTimeout(this.timer);
    if (this.busy) {
      this.again = true;
      return;
    }
    this.busy = true;
    let problem = "";
    try {
      const sender: Sender<T> = {
        post: this.post,
        onSaved: (entry, saved) => this.tell(entry, saved),
        onChange: () => this.refresh(""),
      };
      await this.exclusive(`${this.box.prefix}lock`, async () => {
        problem = await drain(this.box, sender);
      });
    } catch (error) {
      problem = error instanceof Error ? error.message : String(error);
    }
    this.busy = false;
    this.refresh(problem);
    this.plan(problem);
  }

  private plan(problem: string): void {
    if (this.again) {
      this.again = false;
      void this.send();
      return;
    }
    this.pause = problem === "" ? FIRST_PAUSE_MS : Math.min(LONGEST_PAUSE_MS, 2 * this.pause);
    this.sendLater();
  }

  private sendLater(): void {
    clearTimeout(this.timer);
    if (this.shown.waiting.length > 0) this.timer = setTimeout(() => void this.send(), this.pause);
  }
}
