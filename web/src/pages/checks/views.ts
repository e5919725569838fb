/** The views of the page, what each of them asks, and which check it needs. */

export const VIEWS = [
  "verdicts",
  "cascade",
  "faithfulness",
  "curves",
  "parts",
  "correctness",
  "agreement",
  "layers",
  "failures",
] as const;
export type View = (typeof VIEWS)[number];

export type Field = "similarity" | "reading" | "way" | "model" | "method" | "target" | "metric" | "layer";

export interface ViewInfo {
  readonly title: string;
  /** The question that the view answers. */
  readonly asks: string;
  readonly fields: readonly Field[];
  /** The check whose numbers are shown; none: what every study stores is enough. */
  readonly needs?: "randomisation" | "faithfulness" | "parts";
  /** About the maps that a row elsewhere opened, or about one choice: dropped by links to tables. */
  readonly single?: boolean;
}

export const VIEW_INFO: Readonly<Record<View, ViewInfo>> = {
  verdicts: {
    title: "Verdicts",
    asks: "Does a map change when the model forgets what it learnt?",
    fields: ["similarity", "reading", "way", "model", "method", "target", "metric"],
    needs: "randomisation",
  },
  cascade: {
    title: "Cascade",
    asks: "On which parts of the network does a map depend?",
    fields: ["similarity", "reading", "way", "model", "method", "target", "metric"],
    needs: "randomisation",
    single: true,
  },
  faithfulness: {
    title: "Faithfulness",
    asks: "Does the answer of the model depend on the pixels that a map ranks first?",
    fields: ["model", "method", "target", "metric"],
    needs: "faithfulness",
  },
  curves: {
    title: "Removal curves",
    asks: "How does the score of the class fall, or rise, as pixels are changed in the order of the map?",
    fields: ["model", "method", "target", "metric"],
    needs: "faithfulness",
    single: true,
  },
  parts: {
    title: "Deciding parts",
    asks: "Do maps rank first the parts whose removal changes the class?",
    fields: ["model", "method", "metric"],
    needs: "parts",
  },
  correctness: {
    title: "Right and wrong",
    asks: "Do maps agree more with people where the model is right?",
    fields: ["metric", "model", "method"],
  },
  agreement: {
    title: "Agreement",
    asks: "Do methods show the same?",
    fields: ["model", "method", "target"],
  },
  layers: {
    title: "Layer to layer",
    asks: "How do maps change from one layer to the next?",
    fields: ["model", "method"],
  },
  failures: {
    title: "Failures",
    asks: "On which images does a method fail, and what is peculiar about them?",
    fields: ["metric", "model", "method", "layer"],
    single: true,
  },
};

/** Words of the address that narrow the views down. */
export const NARROWING = [
  "similarity",
  "reading",
  "way",
  "model",
  "method",
  "target",
  "metric",
  "layer",
] as const satisfies readonly Field[];
