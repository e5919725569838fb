/** What the scores of one map need, and what they are. */

export type Sign = "positive" | "absolute" | "signed";
export type Ties = "share" | "include";

/** Which pixels count as attended to: `percentile` is read by percentile selection alone. */
export interface Rule {
  selection: string;
  percentile: number;
  ties: Ties;
}

/** A map after its sign rule, sorted once: every threshold is read from it. */
export interface Sorted {
  /** Pixels of the raster, those that do not count among them. */
  pixels: number;
  /** Pixels that count. */
  kept: number;
  /** Their values in ascending order. */
  values: Float64Array;
  /** Where each of them is on the raster. */
  order: Uint32Array;
  /** Sum of the values; NaN for signed maps, which have no energy. */
  energy: number;
  sign: Sign;
}

/** An annotation along the sorted pixels of one map. */
export interface Inside {
  /** Annotated pixels among the `i` lowest ones; one entry more than there are pixels. */
  upTo: Uint32Array;
  count: number;
  energy: number;
}

/** The pixels that a rule selects: all above the cut, and a share of those that equal it. */
export interface Selected {
  /** How many pixels are selected, a real number; NaN where the rule is undefined. */
  budget: number;
  /** First of the tied pixels in ascending order, and where the pixels above them start. */
  start: number;
  stop: number;
  /** Weight of each tied pixel. */
  share: number;
}

/** A score with what no information gets and the best that is possible; NaN is undefined. */
export interface Score {
  value: number;
  chance: number;
  ceiling: number;
}

export type ScoreName =
  | "iou"
  | "iou_corrected"
  | "coverage"
  | "recall"
  | "precision"
  | "lift"
  | "pointing";

export interface Scores {
  scores: Readonly<Record<ScoreName, Score>>;
  attentionArea: number;
  annotationArea: number;
  selected: Selected;
}
