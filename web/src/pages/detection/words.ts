/** What the figures of an evaluation mean. */

export const FIGURE_WORDS: Record<string, string> = {
  AP: "mean over classes and IoU .50 to .95",
  AP50: "at IoU .50",
  AP75: "at IoU .75",
  APs: "small objects",
  APm: "medium objects",
  APl: "large objects",
  AR1: "recall, 1 prediction per image",
  AR10: "recall, 10 predictions per image",
  AR100: "recall, 100 predictions per image",
  ARs: "recall, small objects",
  ARm: "recall, medium objects",
  ARl: "recall, large objects",
};

export interface ErrorWords {
  readonly title: string;
  readonly meaning: string;
  /** The state of boxes with this error. */
  readonly state: "FP" | "FN";
}

export const ERROR_WORDS: Record<string, ErrorWords> = {
  classification: {
    title: "Classification",
    meaning: "on an object, but of another class",
    state: "FP",
  },
  localisation: {
    title: "Localisation",
    meaning: "on an object of its class, but overlaps it too little",
    state: "FP",
  },
  both: { title: "Both", meaning: "of another class, and overlaps too little", state: "FP" },
  duplicate: {
    title: "Duplicate",
    meaning: "on an object that a more confident one has found",
    state: "FP",
  },
  background: { title: "Background", meaning: "on nothing", state: "FP" },
  missed: { title: "Missed", meaning: "an object that no prediction comes near", state: "FN" },
  false_positives: { title: "All false positives", meaning: "put right together", state: "FP" },
  false_negatives: { title: "All false negatives", meaning: "put right together", state: "FN" },
};

export const ERROR_ORDER = Object.keys(ERROR_WORDS);
