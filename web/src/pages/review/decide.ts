/** Making decisions: what is expected, what follows what, what can be taken back. */
import type { ReviewEvent, ReviewItem } from "../../api/client";
import type { Kept, Log, Mode } from "./data";
import { foreseen, lastToUndo, lastWaiting, type Aside, type Draft, type Entry, type Then } from "./outbox";
import type { Courier } from "./sending";
import { redoTarget, undoneBy, undoTarget } from "./undo";

export interface Person {
  readonly who: string;
  readonly mode: Mode;
  readonly courier: Courier<Kept>;
  readonly waiting: readonly Entry[];
  readonly log: Log | undefined;
}

/** What a decision is about. */
export interface About {
  readonly image: string;
  readonly item: string | null;
  /** As the page has it. */
  readonly version: number;
}

export interface Told {
  readonly kind: string;
  readonly after?: Draft["after"];
  readonly comment?: string;
  readonly seconds?: number | null;
  readonly undoes?: number | string;
  readonly then?: Then;
}

/** The last number that this tab knows: an answer may be newer than what is shown. */
export function seenVersion(log: Pick<Log, "events"> | undefined, mode: Mode, about: About): number {
  const events = (log?.events ?? []).filter((event) => event.mode === mode && (about.image === "" || event.image === about.image));
  const own = events.filter((event) => about.item === null || event.item === about.item);
  return own.reduce((most, { number }) => Math.max(most, number), about.version);
}

/** A decision as it is kept until it is saved. */
export function draftOf({ who, mode, waiting, log }: Omit<Person, "courier">, about: About, told: Told): Draft {
  const before =
    about.image === "" ? (waiting.filter((entry) => entry.mode === mode).at(-1) ?? null) : lastWaiting(waiting, mode, about.image, about.item);
  return {
    to: "event",
    who,
    mode,
    kind: told.kind,
    image: about.image,
    item: about.item,
    after: told.after ?? null,
    comment: told.comment ?? "",
    seconds: told.seconds ?? null,
    expected: seenVersion(log, mode, about),
    follows: before?.id ?? null,
    undoes: told.undoes ?? null,
    then: told.then ?? {},
  };
}

/** Makes a decision; false: it could not be kept, which the page tells. */
export function decide(person: Person, about: About, told: Told): boolean {
  return person.courier.add(draftOf(person, about, told)) !== null;
}

/** What undo, or redo, would take back. */
export interface Undoable {
  readonly about: About;
  readonly told: Told;
  /** Kind of what is taken back. */
  readonly kind: string;
}

/** Events of the service that no waiting decision takes back already. */
function left(log: Log, waiting: readonly Entry[]): readonly ReviewEvent[] {
  const taken = new Set(waiting.map((entry) => entry.undoes));
  return log.events.filter((event) => !taken.has(event.number));
}

/** Finds an item as the service has it. */
export type Find = (id: string) => ReviewItem | null | undefined;

/** Where an item stands without one decision that waits. */
function without(entry: Entry, waiting: readonly Entry[], find: Find): Then {
  const item = entry.item === null ? null : find(entry.item);
  if (!item) return { status: entry.kind === "draw" ? "withdrawn" : "open" };
  const { status, box, label, outline } = foreseen(item, waiting.filter(({ id }) => id !== entry.id));
  return { status, box, label, outline };
}

function backTo(event: ReviewEvent): Then {
  const { status, label, box } = event.before;
  return { status, ...(box && { box }), ...(label !== null && { label }) };
}

/** Takes back one event of the service; the page has its item as of a version. */
export function undoing(event: ReviewEvent, version = 0): Undoable {
  return {
    about: { image: event.image, item: event.item, version },
    told: { kind: "undo", undoes: event.number, then: backTo(event) },
    kind: event.kind,
  };
}

/** The last of this person's decisions that counts; null: none. */
export function toUndo({ who, mode, waiting, log }: Omit<Person, "courier">, find: Find): Undoable | null {
  const entry = lastToUndo(waiting, who, mode);
  if (entry) {
    const about = { image: entry.image, item: entry.item, version: 0 };
    return { about, told: { kind: "undo", undoes: entry.id, then: without(entry, waiting, find) }, kind: entry.kind };
  }
  const event = log ? undoTarget(left(log, waiting), who, mode) : null;
  return event && undoing(event);
}

/** What was taken back last, to bring it back; null: nothing, or not all is saved. */
export function toRedo({ who, mode, waiting, log }: Omit<Person, "courier">): Undoable | null {
  if (!log || waiting.length > 0) return null;
  const event = redoTarget(log.events, who, mode);
  return event && undoing(event);
}

/** Which events of a history this person may take back. */
export function undoable(events: readonly ReviewEvent[]): ReadonlySet<number> {
  const undone = undoneBy(events);
  return new Set(events.filter((event) => event.kind !== "undo" && !undone.has(event.number)).map(({ number }) => number));
}

/** Sends a decision that was refused once more, over what came in between. */
export function decideAgain(courier: Courier<Kept>, aside: Aside): void {
  const { id: _, order: __, ...draft } = aside.entry;
  const version = Number(aside.present?.["version"] ?? draft.expected);
  if (courier.add({ ...draft, follows: null, expected: version }) === null) return;
  courier.box.dismiss(aside);
  courier.refresh();
}

/** Whether it can be sent again: what took back a decision that was never saved cannot. */
export function canAgain({ entry, status }: Aside): boolean {
  return status === 409 && typeof entry.undoes !== "string";
}
