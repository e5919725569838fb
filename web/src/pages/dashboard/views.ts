/** The views of the dashboard and what each of them can be asked. */

export const VIEWS = [
  "leaderboard",
  "layers",
  "percentiles",
  "ranking",
  "features",
  "styles",
  "heads",
  "matrix",
  "compare",
] as const;
export type View = (typeof VIEWS)[number];

export type Field = "metric" | "model" | "method" | "layer" | "head" | "target";

export interface ViewInfo {
  readonly title: string;
  /** The question that the view answers. */
  readonly asks: string;
  readonly fields: readonly Field[];
  /** Whether it is about one choice of maps; else about all that were not left out. */
  readonly single: boolean;
}

export const VIEW_INFO: Readonly<Record<View, ViewInfo>> = {
  leaderboard: {
    title: "Leaderboard",
    asks: "Which model and method look where experts look, beside baselines that see no model?",
    fields: ["metric", "model", "method", "layer", "target"],
    single: false,
  },
  layers: {
    title: "Layers",
    asks: "In which layer do maps agree best with the annotation?",
    fields: ["metric", "model", "method", "target"],
    single: false,
  },
  percentiles: {
    title: "Percentiles",
    asks: "How do scores change with the share of pixels that is selected?",
    fields: ["model", "method", "layer", "target"],
    single: false,
  },
  ranking: {
    title: "Ranking",
    asks: "Do metrics agree on who is best?",
    fields: ["model", "method", "layer", "target"],
    single: false,
  },
  features: {
    title: "Labels",
    asks: "Which annotated labels are found, and which are not?",
    fields: ["model", "method", "layer", "head", "target"],
    single: true,
  },
  styles: {
    title: "Styles",
    asks: "On which kinds of images do maps agree with the annotation?",
    fields: ["metric", "model", "method", "layer", "head", "target"],
    single: true,
  },
  heads: {
    title: "Heads",
    asks: "Which heads look where experts look?",
    fields: ["metric", "model", "method", "layer"],
    single: true,
  },
  matrix: {
    title: "Heads × labels",
    asks: "Which head looks at which label?",
    fields: ["metric", "model", "method", "layer"],
    single: true,
  },
  compare: {
    title: "Compare two",
    asks: "What changes from one model, variant, method or layer to another, and on which images?",
    fields: ["metric"],
    single: false,
  },
};

/** Views that show single heads, which not every study keeps. */
export const HEAD_VIEWS: readonly View[] = ["heads", "matrix"];
