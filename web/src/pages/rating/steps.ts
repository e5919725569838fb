/** Answers and their keys; what a changed answer expects. */
import type { RatingAnswerAsked, RatingTask } from "../../api/client";
import type { Entry } from "../review/outbox";

export type Answer = RatingAnswerAsked["answer"];

/** An answer that was given while the page is open. */
export interface Answered {
  readonly task: RatingTask;
  /** Id under which it was sent. */
  readonly entry: string;
  readonly answer: Answer;
}

export interface Offered {
  readonly answer: Answer;
  readonly label: string;
  readonly key: string;
}

const RATES = ["1 bad", "2", "3", "4", "5 good"];
const SIDES: readonly Offered[] = [
  { answer: "left", label: "Left", key: "ArrowLeft" },
  { answer: "equal", label: "Equal", key: "ArrowDown" },
  { answer: "right", label: "Right", key: "ArrowRight" },
];

export function answersOf(kind: RatingTask["kind"]): readonly Offered[] {
  if (kind === "choose") return SIDES;
  return RATES.map((label, i) => ({ answer: i + 1, label, key: String(i + 1) }));
}

/** The question to show; none while the answer to it is on its way, or saved and the next one not told. */
export function nextTask(task: RatingTask | null, waiting: readonly Entry[], saved: readonly Answered[]): RatingTask | null {
  const given = task !== null && (waiting.some((entry) => entry.item === task.id) || saved.some((one) => one.task.id === task.id));
  return given ? null : task;
}

/** What an answer expects: the question as it was asked, or the answer that it changes. */
export function expectedOf(task: RatingTask, before: Answered | null, waiting: readonly Entry[]): { expected: number; follows: string | null } {
  const sent = waiting.filter((entry) => entry.item === task.id).at(-1)?.id ?? before?.entry ?? null;
  return { expected: task.version, follows: sent };
}
