/** Sentences about items and events. */
import type { ReviewEvent, ReviewInfo, ReviewItem } from "../../api/client";
import { plural, score } from "../../format";
import type { Aside } from "./outbox";

/** Why a proposal stands where it does in the queue. */
export function whyText(item: ReviewItem, attention: number | null): string {
  if (item.score === null) return "A person drew it.";
  const likely = `Its score is ${score(item.score, 2)}`;
  if (attention === null || item.value === null) return `${likely}; how much attention lies outside all regions of this image is not known.`;
  return `${likely}, and ${Math.round(100 * attention)}% of the attention on this image lies outside all regions: ${score(item.score, 2)} × ${score(attention, 2)} = ${score(item.value, 2)}.`;
}

const SOURCES: Readonly<Record<string, string>> = {
  similarity: "by similar features",
  sam: "by a model of segments",
  imported: "imported from a file",
  drawn: "drawn by a person",
};

/** Who or what found it. */
export function sourceText({ source, model }: Pick<ReviewItem, "source" | "model">): string {
  const how = SOURCES[source] ?? source;
  return model === "" ? how : `${how}, ${model}`;
}

const PAST: Readonly<Record<string, string>> = {
  accept: "accepted",
  reject: "rejected",
  skip: "skipped",
  edit: "changed",
  draw: "drew",
  comment: "commented on",
  undo: "took back a decision on",
  done: "finished",
  lock: "locked",
  reopen: "reopened",
  rate: "rated",
  choose: "compared",
};

export const pastOf = (kind: string): string => PAST[kind] ?? kind;

/** One line of the history. */
export function eventText(event: ReviewEvent): string {
  if (event.kind === "undo") return `${event.who} took back event ${event.undoes}`;
  if (event.kind === "comment") return `${event.who}: “${event.comment}”`;
  return `${event.who} ${pastOf(event.kind)} it`;
}

/** A time of the day, of another day with its date. */
export function timeText(at: string, now = new Date()): string {
  const when = new Date(at);
  if (Number.isNaN(when.getTime())) return at;
  const time = when.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
  return when.toDateString() === now.toDateString() ? time : `${when.toLocaleDateString("en-GB")} ${time}`;
}

/** What was decided so far, in a line. */
export function progressText(info: ReviewInfo): string {
  const parts = [
    `${info.accepted} accepted${info.edited > 0 ? ` (${info.edited} changed)` : ""}`,
    `${info.rejected} rejected`,
    info.skipped > 0 ? `${info.skipped} skipped` : "",
    info.drawn > 0 ? `${info.drawn} drawn` : "",
  ];
  return parts.filter((part) => part !== "").join(", ");
}

/** What another person did, when a decision came too late. */
export function conflictText({ entry, status, why, present }: Aside): string {
  const part = entry.to === "answer" ? "maps" : "a region";
  const what = entry.item === null ? entry.image || "the gold set" : `${part} of ${entry.image}`;
  if (status !== 409 || present === null) return `You ${pastOf(entry.kind)} ${what}; that was not saved. ${why}`;
  const by = typeof present["by"] === "string" ? present["by"] : "Somebody";
  const state = present["status"];
  const now = state === undefined ? "" : state === "open" ? ": it is open again" : `: it is ${String(state)} now`;
  return `You ${pastOf(entry.kind)} ${what}, but ${by} came first${now}. Your decision was not saved.`;
}

export function waitingText(count: number, problem: string): string {
  return `Not saved yet: ${plural(count, "decision")}${problem === "" ? "" : `. ${problem} They are kept here and sent again`}.`;
}
