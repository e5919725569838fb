/** Which part of an evaluation the address is about. */

import { to, type Params } from "../../url";
import type { Cell } from "./boxes";

/** An evaluation, from a confidence on; null: from that with which it was stored. */
export interface At {
  readonly name: string;
  readonly confidence: number | null;
}

export type Asked = "TP" | "FP" | "FN";

/** Images that share something: a cell of the matrix, or boxes of a state; nothing: any error. */
export interface Behind {
  readonly cell: Cell | null;
  readonly state: Asked | null;
}

export const ANY_ERROR: Behind = { cell: null, state: null };

const STATES_ASKED: readonly Asked[] = ["TP", "FP", "FN"];

/** What the address asks for; null: no images are asked for. */
export function readBehind(params: URLSearchParams): Behind | null {
  const [truth, predicted] = [params.get("true"), params.get("predicted")];
  if (truth && predicted) return { cell: { true: truth, predicted }, state: null };
  const state = STATES_ASKED.find((one) => one === params.get("state")) ?? null;
  return state || params.get("images") === "1" ? { cell: null, state } : null;
}

/** The same as words of the API. */
export function behindWords({ cell, state }: Behind): Record<string, string | null> {
  return { true: cell?.true ?? null, predicted: cell?.predicted ?? null, state };
}

const behindParams = (behind: Behind): Params => ({
  ...behindWords(behind),
  images: behind.cell || behind.state ? null : 1,
});

/** The evaluation as a whole. */
export const overviewAddress = ({ name, confidence }: At): string => to.detection({ name, confidence });

/** The images that share something. */
export const imagesAddress = (at: At, behind: Behind): string =>
  to.detection({ name: at.name, ...behindParams(behind), confidence: at.confidence });

/** One image, among those that share something. */
export const imageAddress = (at: At, image: string, behind: Behind | null): string =>
  to.detection({ name: at.name, ...(behind ? behindParams(behind) : {}), image, confidence: at.confidence });

const STATE_WORDS: Record<Asked, string> = {
  TP: "true positives",
  FP: "false positives",
  FN: "false negatives",
};

/** What a cell of the confusion matrix holds, in words. */
export function tellKind(cell: Cell): string {
  if (cell.true === "Background") return `${cell.predicted} predicted where there is none`;
  if (cell.predicted === "Background") return `${cell.true} missed`;
  return cell.true === cell.predicted ? `${cell.true} found` : `${cell.true} taken for ${cell.predicted}`;
}

/** What such images share, in words. */
export function tellBehind({ cell, state }: Behind): string {
  if (cell) return `Images with ${tellKind(cell)}`;
  return state ? `Images with ${STATE_WORDS[state]}` : "Images with errors";
}
