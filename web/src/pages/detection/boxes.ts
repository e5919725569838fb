/** The boxes of an image: which are shown, in which order, and what is said of each. */

import type { State } from "./states";

/** As the API has it. */
export interface Box {
  readonly box: readonly [number, number, number, number];
  readonly label: string;
  readonly score: number | null;
  readonly state: State;
  readonly iou: number | null;
  readonly partner: number | null;
  /** The box it is paired with whatever their classes, as the confusion matrix pairs them. */
  readonly across: number | null;
  readonly taken_for: string | null;
}

/** A cell of the confusion matrix. */
export interface Cell {
  readonly true: string;
  readonly predicted: string;
}

export const BACKGROUND = "Background";

const areaOf = ({ box }: Box): number => (box[2] - box[0]) * (box[3] - box[1]);

/** Places of the boxes to draw, the largest first, so that none hides a smaller one. */
export function drawingOrder(boxes: readonly Box[], states: ReadonlySet<State>): number[] {
  return boxes
    .map((_, place) => place)
    .filter((place) => states.has(boxes[place]!.state))
    .sort((a, b) => areaOf(boxes[b]!) - areaOf(boxes[a]!) || a - b);
}

/** Whether a box is one of those that a cell of the confusion matrix counts. */
export function inCell(box: Box, boxes: readonly Box[], cell: Cell): boolean {
  if (box.state === "ignored") return false;
  const other = box.across === null ? null : (boxes[box.across] ?? null);
  const [truth, found] = box.score === null ? [box, other] : [other, box];
  return (truth?.label ?? BACKGROUND) === cell.true && (found?.label ?? BACKGROUND) === cell.predicted;
}

export const shownScore = (score: number): string => score.toFixed(2);

/** A box in a few words, as its tag on the image says it. */
export function tagOf(box: Box): string {
  const score = box.score === null ? "" : ` ${shownScore(box.score)}`;
  return `${box.label}${score}`;
}

/** All that is known of a box, in a sentence. */
export function tellBox(box: Box): string {
  const found = box.iou === null ? "" : ` at IoU ${shownScore(box.iou)}`;
  const score = box.score === null ? "" : `, confidence ${shownScore(box.score)}`;
  switch (box.state) {
    case "TP":
      return `true positive: ${box.label}${score}, on a true box${found}`;
    case "FP":
      return box.taken_for
        ? `false positive: ${box.label}${score}, on a true ${box.taken_for}`
        : `false positive: ${box.label}${score}, on no true box of its own`;
    case "FN":
      return box.taken_for
        ? `false negative: ${box.label}, taken for ${box.taken_for}`
        : `false negative: ${box.label}, found by no prediction`;
    case "found":
      return `true box: ${box.label}, found${found}`;
    case "ignored":
      return `${box.label}${score}: not counted`;
  }
}

export interface Counted {
  readonly tp: number;
  readonly fp: number;
  readonly fn: number;
}

const many = (count: number, one: string): string => `${count} ${one}${count === 1 ? "" : "s"}`;

/** What an image comes to, for those who do not see it. */
export function tellImage(image: string, confidence: number, counted: Counted): string {
  return (
    `${image} at confidence ${shownScore(confidence)}: ${many(counted.tp, "true positive")}, ` +
    `${many(counted.fp, "false positive")}, ${many(counted.fn, "false negative")}`
  );
}

/** Precision and recall of one image; null where nothing was predicted, or nothing is there. */
export function shares({ tp, fp, fn }: Counted): { precision: number | null; recall: number | null } {
  const share = (of: number): number | null => (of ? tp / of : null);
  return { precision: share(tp + fp), recall: share(tp + fn) };
}
