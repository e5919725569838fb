/**
 * Made by web/make_client.py from the API's schema: do not edit.
 */
import { ask, type Asked, bytesOf, urlOf } from "./ask";

/** A method: the accuracy of its model and the score of its maps, on the same images. */
export interface AccuracyLine {
  /** Full name of the model. */
  model: string;
  /** Name of the method that made the maps. */
  method: string;
  /** Family of the method; baseline for maps without a model. */
  group: string;
  /** What is explained; empty: no class. */
  target: string;
  /** From 0; null: no layers. Two numbers where halves of the images have their own. */
  layer: number | string | null;
  /** Share of the images whose label is predicted. */
  accuracy: number | null;
  /** Lower end of its 95% interval. */
  accuracy_low: number | null;
  /** Upper end. */
  accuracy_high: number | null;
  /** Mean score. */
  value: number | null;
  /** Lower end of the 95% interval; null where there is none. */
  low: number | null;
  /** Upper end of the 95% interval; null where there is none. */
  high: number | null;
  /** How many images. */
  images: number;
  /** Why an interval is null; else "". */
  reason: string;
}

/** One of those whose maps are compared. */
export interface AgreementLine {
  /** What it is called. */
  name: string;
  /** Full name of the model. */
  model: string;
  /** Name of the method that made the maps. */
  method: string;
  /** Family of the method; baseline for maps without a model. */
  group: string;
  /** What is explained; empty: no class. */
  target: string;
  /** From 0; null: no layers. Two numbers where halves of the images have their own. */
  layer: number | string | null;
}

/** How much the maps of methods agree, image by image. */
export interface AgreementMatrix {
  /** So ordered that those that agree stand together. */
  lines: AgreementLine[];
  /** Rank correlations, means over images. */
  values: ((number | null)[])[];
  /** Lower ends of 95% intervals. */
  low: ((number | null)[])[];
  /** Upper ends. */
  high: ((number | null)[])[];
  /** Images of each mean. */
  counts: number[][];
  /** How many images. */
  images: number;
  /** What must be known to read the numbers. */
  note: string;
}

/** A way to say which pixels make an image similar to a prototype. */
export interface AttributionInfo {
  /** What it is called. */
  name: string;
  /** What it shows. */
  what: string;
  /** Where it comes from. */
  citation: string;
  /** Whether it knows nothing of the model. */
  control: boolean;
}

/** Two models' maps: which lie more on the background. */
export interface Background {
  /** Full name of the first model. */
  one: string;
  /** Full name of the second. */
  other: string;
  /** The lines of the table, in order. */
  lines: BackgroundLine[];
  /** What must be known to read the numbers. */
  note: string;
  /** What speaks against comparing the scores with one another; empty: nothing does. */
  warnings: string[];
}

/** Whether the maps of one model lie more on the background than those of another. */
export interface BackgroundLine {
  /** Name of the method that made the maps. */
  method: string;
  /** What is explained; empty: no class. */
  target: string;
  /** Layer of the first model's maps. */
  layer_one: number | string | null;
  /** Layer of the second model's. */
  layer_other: number | string | null;
  /** Share of the first model's maps outside all regions; mean over images. */
  share_one: number | null;
  /** Of the second model's. */
  share_other: number | null;
  /** share_one − share_other, paired by image. */
  difference: number | null;
  /** Lower end of the 95% interval; null where there is none. */
  low: number | null;
  /** Upper end of the 95% interval; null where there is none. */
  high: number | null;
  /** p-value by sign-flip test; null where there are too few images. */
  p: number | null;
  /** The same, corrected by Holm for all lines. */
  p_holm: number | null;
  /** How many images. */
  images: number;
}

/** A perturbation of a benchmark. */
export interface BenchmarkPerturbation {
  /** What it is called. */
  name: string;
  /** What is done, in words. */
  description: string;
  /** Done one after the other. */
  steps: PerturbationStep[];
}

/** A configuration against the best baseline of the run, paired by image. */
export interface BestBaseline {
  /** Name of the score: metric[@threshold]. */
  metric: string;
  /** Its name; empty where only baselines are scored. */
  configuration: string;
  /** The score; null: undefined. */
  value: number | null;
  /** How its layer or method was chosen. */
  chosen: string;
  /** Whether the configuration is a baseline itself. */
  is_baseline: boolean;
  /** The baseline with the best mean; empty where there is none. */
  baseline: string;
  /** Its mean over images. */
  baseline_value: number | null;
  /** How the layer of the baseline was chosen. */
  baseline_chosen: string;
  /** Configuration minus baseline. */
  difference: number | null;
  /** Lower end of the 95% interval; null where there is none. */
  low: number | null;
  /** Upper end of the 95% interval; null where there is none. */
  high: number | null;
  /** Two-sided, by sign-flip test. */
  p: number | null;
  /** Images where both are defined. */
  n: number;
  /** Whether split-half selection was used for the difference. */
  split: boolean;
  /** What the line means, in words. */
  sentence: string;
}

/** Scores by label of regions or images. */
export interface Breakdown {
  /** What the lines are about. */
  by: "labels" | "styles";
  /** Which maps the answer is about, and how that was chosen. */
  choice: Choice;
  /** Name of the score: metric[@threshold]. */
  metric: string;
  /** The lines of the table, in order. */
  lines: BreakdownLine[];
  /** What must be known to read the numbers. */
  note: string;
  /** What speaks against comparing the scores with one another; empty: nothing does. */
  warnings: string[];
}

/** A label: IoU, recall, pointing and coverage of its regions; or the score of its images. */
export interface BreakdownLine {
  /** Name of what is annotated. */
  label: string;
  /** Labels directly above. */
  parents: string[];
  /** mean is null: value is a mean itself. */
  figures: Figure[];
  /** Regions, or images, with a defined score. */
  n: number;
  /** How many images. */
  images: number;
  /** How many have no defined score. */
  undefined: number;
}

/** Similarity by stage, with the accuracy that the model has left. */
export interface Cascade {
  /** What is measured, as /api/checks lists it. */
  measure: string;
  /** Whether maps are compared as they are, or by the size of their values. */
  reading: "signed" | "absolute";
  /** How weights were redrawn. */
  way: string;
  /** The lines of the table, in order. */
  lines: CascadeLine[];
  /** What must be known to read the numbers. */
  note: string;
}

/** A method's maps as one part of the network after the other is redrawn. */
export interface CascadeLine {
  /** Full name of the model. */
  model: string;
  /** Name of the method that made the maps. */
  method: string;
  /** What is explained; empty: no class. */
  target: string;
  /** Layer that was checked. */
  layer: number | null;
  /** Layer that the leaderboard reports for these maps; null without layers. */
  best_layer: number | null;
  /** Similarity to the map of another image. */
  cross: number | null;
  /** Similarity to the edges of the image. */
  edge: number | null;
  /** Similarity to the map of the same network trained from another seed. */
  training: number | null;
  /** How many times weights were drawn. */
  seeds: number;
  /** The points of the line, from left to right. */
  points: CascadePoint[];
}

/** A stage of a cascade. */
export interface CascadePoint {
  /** From 0, in the order of drawing; −1: nothing is redrawn. */
  stage: number;
  /** The part of the network that is redrawn last. */
  name: string;
  /** To the map of the trained network. */
  similarity: number | null;
  /** Lower end of the 95% interval; null where there is none. */
  low: number | null;
  /** Upper end of the 95% interval; null where there is none. */
  high: number | null;
  /** Share of images whose label is still predicted. */
  accuracy: number | null;
  /** Lower end of its 95% interval. */
  accuracy_low: number | null;
  /** Upper end. */
  accuracy_high: number | null;
  /** How many images. */
  images: number;
}

/** Checks that are stored, and what can be asked of them. */
export interface CheckList {
  /** Names of the checks that are stored. */
  checks: string[];
  /** The models, or how many. */
  models: string[];
  /** Methods that were checked, baselines last. */
  methods: string[];
  /** What was explained; none: no class. */
  targets: string[];
  /** How weights were redrawn: full, top-down, bottom-up, single. */
  ways: string[];
  /** By which maps of both networks are compared. */
  measures: string[];
  /** Whether maps were compared as they are, and by the size of their values. */
  readings: ("signed" | "absolute")[];
  /** Measures of faithfulness that are stored. */
  faithfulness: string[];
  /** Those that are areas under curves that are stored. */
  curves: string[];
  /** A line for each check of each method: over how many images and draws. */
  table: Table;
}

/** Which maps an answer is about, and by which rule pixels of theirs are selected. */
export interface Choice {
  /** Full name. */
  model: string;
  /** Name of the method that made the maps. */
  method: string;
  /** From 0; null: the method has no layers, or halves of the images have each their own, which `why` names. */
  layer: number | null;
  /** From 0; null: heads are fused. */
  head: number | null;
  /** What is explained; empty: no class. */
  target: string;
  /** Of a method that draws; null: it draws nothing, or scores are means over its seeds. */
  seed: number | null;
  /** percentile, mass60, mean or matched. */
  selection: string;
  /** Of percentile selection; 90 selects the top 10%. */
  percentile: number;
  /** What equal pixels get. */
  ties: "share" | "include";
  /** How values of the map are read. */
  sign: "positive" | "absolute" | "signed";
  /** Names of what was not asked for and was chosen here. */
  chosen: string[];
  /** How it was chosen, in words. */
  why: string;
}

/** A class of images: how often the model is right, and how its maps score. */
export interface ClassLine {
  /** Full name of the model. */
  model: string;
  /** Name of the method that made the maps. */
  method: string;
  /** Family of the method; baseline for maps without a model. */
  group: string;
  /** What is explained; empty: no class. */
  target: string;
  /** From 0; null: no layers. Two numbers where halves of the images have their own. */
  layer: number | string | null;
  /** Of the images. */
  label: string;
  /** Share of its images whose label is predicted. */
  accuracy: number | null;
  /** The score; null: undefined. */
  value: number | null;
  /** How many images. */
  images: number;
}

/** Two models, variants, methods or layers. */
export interface Comparison {
  /** What the lines are about. */
  by: "model" | "method" | "layer";
  /** Name of the score: metric[@threshold]. */
  metric: string;
  /** What was found, in a sentence. */
  summary: string;
  /** The better side of the main line against the best baseline of the run; null where no value is better than another, or neither side is. */
  best_baseline: BestBaseline | null;
  /** The lines of the table, in order. */
  lines: ComparisonLine[];
  /** Of the first line, the largest shift first. */
  images: Shift[];
  /** What must be known to read the numbers. */
  note: string;
  /** What speaks against comparing the scores with one another; empty: nothing does. */
  warnings: string[];
}

/** a against b, image by image. */
export interface ComparisonLine {
  /** What is compared: the first. */
  a: string;
  /** What is compared: the second. */
  b: string;
  /** Full name of the model. */
  model: string;
  /** Name of the method that made the maps. */
  method: string;
  /** What is explained; empty: no class. */
  target: string;
  /** Layer of a. */
  layer_a: number | string | null;
  /** Layer of b. */
  layer_b: number | string | null;
  /** Images on which both have a score. */
  n: number;
  /** Mean score of a. */
  value_a: number | null;
  /** Mean score of b. */
  value_b: number | null;
  /** Chance, over the images of a. */
  chance_a: number | null;
  /** Chance, over the images of b. */
  chance_b: number | null;
  /** The best that is possible of a. */
  ceiling_a: number | null;
  /** The best that is possible of b. */
  ceiling_b: number | null;
  /** a − b, mean over images. */
  difference: number | null;
  /** Lower end of the 95% interval; null where there is none. */
  low: number | null;
  /** Upper end of the 95% interval; null where there is none. */
  high: number | null;
  /** p-value by sign-flip test; null where there are too few images. */
  p: number | null;
  /** The same, corrected by Holm for all lines. */
  p_holm: number | null;
  /** Mean of the differences over their standard deviation. */
  dz: number | null;
  /** Images on which a scores more than b. */
  better: number | null;
  /** Images on which both score the same. */
  equal: number | null;
  /** Images on which a scores less than b. */
  worse: number | null;
  /** What the line means, in words. */
  sentence: string;
}

/** Rows true, columns predicted. */
export interface Confusion {
  /** Labels, in order. */
  labels: string[];
  /** How often; rows are true classes, columns predicted ones. */
  counts: number[][];
}

/** Whether maps score better where the model is right. */
export interface Correctness {
  /** Name of the score: metric[@threshold]. */
  metric: string;
  /** The lines of the table, in order. */
  lines: CorrectnessLine[];
  /** A point per model and method: score against accuracy. */
  models: AccuracyLine[];
  /** A line for each class. */
  classes: ClassLine[];
  /** What must be known to read the numbers. */
  note: string;
  /** What speaks against comparing the scores with one another; empty: nothing does. */
  warnings: string[];
}

/** A method's scores on images that the model gets right and wrong. */
export interface CorrectnessLine {
  /** Full name of the model. */
  model: string;
  /** Name of the method that made the maps. */
  method: string;
  /** Family of the method; baseline for maps without a model. */
  group: string;
  /** What is explained; empty: no class. */
  target: string;
  /** From 0; null: no layers. Two numbers where halves of the images have their own. */
  layer: number | string | null;
  /** Mean score where the label is predicted. */
  right: number | null;
  /** Mean score where it is not. */
  wrong: number | null;
  /** right − wrong */
  difference: number | null;
  /** Lower end of the 95% interval; null where there is none. */
  low: number | null;
  /** Upper end of the 95% interval; null where there is none. */
  high: number | null;
  /** The difference between images of the same annotated area and confidence. */
  adjusted: number | null;
  /** Lower end of its 95% interval. */
  adjusted_low: number | null;
  /** Upper end. */
  adjusted_high: number | null;
  /** Why there is no difference; empty: there is one. */
  reason: string;
  /** Images that the model gets right. */
  right_images: number;
  /** Images that it gets wrong. */
  wrong_images: number;
}

/** A true or predicted box of an image. */
export interface DetectedBox {
  /** x0, y0, x1, y1 as shares. */
  box: [number, number, number, number];
  /** Name of what is annotated. */
  label: string;
  /** Null: a true box. */
  score: number | null;
  /** found: a true box that a TP covers. */
  state: "TP" | "FP" | "FN" | "found" | "ignored";
  /** With the box it was paired with. */
  iou: number | null;
  /** Index of that box in this list. */
  partner: number | null;
  /** Index of the box that the confusion matrix pairs it with, whatever their classes. */
  across: number | null;
  /** Label of that box, where it is another; else null. */
  taken_for: string | null;
}

/** All of one evaluation. */
export interface Detection {
  /** What it is called. */
  name: string;
  /** By whose rules detections were matched. */
  protocol: string;
  /** From which on boxes belong together. */
  iou: number;
  /** Lowest score of the counts and the confusion matrix; null: not stored. */
  confidence: number | null;
  /** The scores. */
  figures: Figure[];
  /** A line for each class. */
  classes: DetectionClass[];
  /** Precision over recall of each class. */
  curves: DetectionCurve[];
  /** What was taken for what; null where it is not stored. */
  confusion: Confusion | null;
  /** What each kind of error costs, in AP. */
  errors: Record<string, number | null>;
  /** How many there are of each kind. */
  counts: Record<string, number>;
  /** How often detections are right, by confidence; null where it is not stored. */
  reliability: Table | null;
  /** Whether boxes were stored, so that images can be shown. */
  boxes: boolean;
  /** What must be known to read the numbers. */
  note: string;
}

/** A class of an evaluation. */
export interface DetectionClass {
  /** Number or name of the class in its file. */
  key: string;
  /** What it is called. */
  name: string;
  /** Average precision, by the protocol. */
  ap: number | null;
  /** Average precision at an IoU of 0.5. */
  ap50: number | null;
  /** Share of what was selected, or found, that is right. */
  precision: number | null;
  /** Share of what is annotated that was selected, or found. */
  recall: number | null;
  /** Harmonic mean of precision and recall. */
  f1: number | null;
  /** Detections that are right. */
  tp: number | null;
  /** Detections that are wrong. */
  fp: number | null;
  /** Objects that were missed. */
  fn: number | null;
  /** From which on F1 is highest. */
  best_confidence: number | null;
  /** F1 at the confidence at which it is highest. */
  best_f1: number | null;
}

/** Precision over recall of a class. */
export interface DetectionCurve {
  /** Number or name of the class in its file. */
  key: string;
  /** What it is called. */
  name: string;
  /** At each point. */
  recall: number[];
  /** At each point. */
  precision: number[];
  /** Score of the detection at each point. */
  confidence: (number | null)[];
}

/** Ground truth and predictions of one image at a confidence. */
export interface DetectionImage {
  /** What it is called. */
  name: string;
  /** Id of the image. */
  image: string;
  /** Lowest score that counts. */
  confidence: number;
  /** Intersection over union. */
  iou: number;
  /** True boxes first, then what was found. */
  boxes: DetectedBox[];
  /** Detections that are right. */
  tp: number;
  /** Detections that are wrong. */
  fp: number;
  /** Objects that were missed. */
  fn: number;
}

/** An image of an evaluation. */
export interface DetectionImageSummary {
  /** Id of the image. */
  image: string;
  /** Of the pairs asked for, or of errors. */
  count: number;
  /** Detections that are right. */
  tp: number;
  /** Detections that are wrong. */
  fp: number;
  /** Objects that were missed. */
  fn: number;
  /** Whether the store has the picture. */
  shown: boolean;
}

/** Images behind a cell of the confusion matrix, or with the most errors. */
export interface DetectionImages {
  /** What it is called. */
  name: string;
  /** How many there are, on all pages. */
  total: number;
  /** What was found, in order. */
  items: DetectionImageSummary[];
}

/** The stored evaluations. */
export interface DetectionList {
  /** The stored evaluations, by name. */
  evaluations: DetectionSummary[];
}

/** One stored evaluation. */
export interface DetectionSummary {
  /** What it is called. */
  name: string;
  /** By whose rules detections were matched. */
  protocol: string;
  /** How many images. */
  images: number | null;
  /** COCO's 12, with intervals in low and high. */
  figures: Figure[];
}

/** An image on which a head does well. */
export interface ExemplarImage {
  /** Id of the image. */
  image: string;
  /** Index of a region in the annotation; null: all of them together. */
  region: number | null;
  /** The score; null: undefined. */
  value: number | null;
  /** What a map without information gets on average; null where that is not known. */
  chance: number | null;
}

/** Images, or their regions of one label, on which a head does best. */
export interface Exemplars {
  /** Which maps the answer is about, and how that was chosen. */
  choice: Choice;
  /** Name of the score: metric[@threshold]. */
  metric: string;
  /** Name of what is annotated. */
  label: string | null;
  /** What was found, in order. */
  items: ExemplarImage[];
  /** What must be known to read the numbers. */
  note: string;
}

/** An image on which a method scores badly, and what is peculiar about it. */
export interface FailureImage {
  /** Id of the image. */
  image: string;
  /** The score; null: undefined. */
  value: number | null;
  /** What a map without information gets on average; null where that is not known. */
  chance: number | null;
  /** What may have to do with it; no proof. */
  reasons: string[];
}

/** How much more often a peculiarity is found among the worst images than among the others. */
export interface FailureReason {
  /** In words. */
  reason: string;
  /** Share of the worst images that have it. */
  worst: number | null;
  /** Share of the others. */
  rest: number | null;
  /** worst − rest */
  difference: number | null;
  /** Lower end of the 95% interval; null where there is none. */
  low: number | null;
  /** Upper end of the 95% interval; null where there is none. */
  high: number | null;
  /** Fisher's exact test, two-sided. */
  p: number | null;
  /** The same, corrected by Holm for all reasons. */
  p_holm: number | null;
}

/** The worst images of one method, and what goes with being among them. */
export interface Failures {
  /** Which maps the answer is about, and how that was chosen. */
  choice: Choice;
  /** Name of the score: metric[@threshold]. */
  metric: string;
  /** What was found, in order. */
  items: FailureImage[];
  /** Peculiarities, the smallest p first. */
  reasons: FailureReason[];
  /** What must be known to read the numbers. */
  note: string;
}

/** Whether the model's answer changes when pixels go that maps rank first. */
export interface Faithfulness {
  /** In the order in which they are told. */
  measures: string[];
  /** The lines of the table, in order. */
  lines: FaithfulnessLine[];
  /** What must be known to read the numbers. */
  note: string;
}

/** One measure of faithfulness of one method, beside a random map. */
export interface FaithfulnessLine {
  /** Full name of the model. */
  model: string;
  /** Name of the method that made the maps. */
  method: string;
  /** Family of the method; baseline for maps without a model. */
  group: string;
  /** What is explained; empty: no class. */
  target: string;
  /** Layer that was checked. */
  layer: number | null;
  /** Layer that the leaderboard reports for these maps; null without layers. */
  best_layer: number | null;
  /** What is measured, as /api/checks lists it. */
  measure: string;
  /** The score; null: undefined. */
  value: number | null;
  /** Lower end of the 95% interval; null where there is none. */
  low: number | null;
  /** Upper end of the 95% interval; null where there is none. */
  high: number | null;
  /** What a random map gets on the same images. */
  random: number | null;
  /** value − random, paired by image; null of the random map itself, and of max_sensitivity and random_logit, which maps that know nothing pass or fail anyway. */
  difference: number | null;
  /** Lower end of its 95% interval. */
  difference_low: number | null;
  /** Upper end. */
  difference_high: number | null;
  /** Which values are better. */
  better: "higher" | "lower" | "zero";
  /** How many images. */
  images: number;
}

/** One score, beside what a map without information gets and the best that is possible. */
export interface Figure {
  /** metric[@threshold] */
  metric: string;
  /** Null: undefined. */
  value: number | null;
  /** What a map without information gets on average; null where that is not known. */
  chance: number | null;
  /** The best score that is possible; null where there is no such bound. */
  ceiling: number | null;
  /** A uniform map's, where there is no chance. */
  uniform: number | null;
  /** Where it lies between chance (0) and ceiling (1); null without both. */
  beyond: number | null;
  /** Mean over all images of the data set. */
  mean: number | null;
  /** Lower end of the mean's 95% interval. */
  low: number | null;
  /** Upper end. */
  high: number | null;
  /** Of breakdowns. */
  median: number | null;
  /** Of breakdowns: standard deviation. */
  std: number | null;
  /** Images in the mean. */
  n: number | null;
}

/** A gold image with what people drew on it from scratch, and nothing else. */
export interface GoldImage {
  /** Id of the image. */
  image: string;
  /** Of the image, in pixels; null: not known. */
  width: number | null;
  /** Of the image, in pixels; null: not known. */
  height: number | null;
  /** What people drew, in that order. */
  regions: ReviewItem[];
  /** Whether it is annotated completely. */
  done: boolean;
  /** Number of the event that said so, which undo takes back; null: not done. */
  done_by: number | null;
  /** Whether nothing in the gold set changes any more. */
  locked: boolean;
  /** Number of the last event about it: what done expects. */
  version: number;
  /** Number of the last event of the review, whatever it is about; 0: there is none. */
  last: number;
}

/** An image of the gold set. */
export interface GoldLine {
  /** Id of the image. */
  image: string;
  /** Whether it is annotated completely. */
  done: boolean;
  /** How many regions are drawn on it; null: this person must not know. */
  regions: number | null;
  /** Whether this person may annotate it: who reviewed its proposals may not. */
  allowed: boolean;
}

/** The gold set. */
export interface GoldList {
  /** Its images. */
  images: GoldLine[];
  /** How many there are. */
  count: number;
  /** How many are annotated completely. */
  done: number;
  /** Whether nothing in it changes any more. */
  locked: boolean;
  /** How often its lock was taken away. */
  reopened: number;
  /** Whether it was drawn at random. */
  random: boolean;
  /** Of the draw; null: picked by hand. */
  seed: number | null;
  /** What its strata are; empty: there are none. */
  by: string;
  /** What a region may be called. */
  labels: string[];
  /** What speaks against estimates from it. */
  warnings: string[];
  /** Number of its last event: what lock and reopen expect. */
  version: number;
  /** Number of the last event of the review, whatever it is about; 0: there is none. */
  last: number;
}

/** A head. */
export interface HeadLine {
  /** From 0; null: no layers. Two numbers where halves of the images have their own. */
  layer: number;
  /** From 0; null: heads are fused. */
  head: number;
  /** The score; null: undefined. */
  value: number | null;
  /** Lower end of the 95% interval; null where there is none. */
  low: number | null;
  /** Upper end of the 95% interval; null where there is none. */
  high: number | null;
  /** What a map without information gets on average; null where that is not known. */
  chance: number | null;
  /** The best score that is possible; null where there is no such bound. */
  ceiling: number | null;
  /** How many scores the mean is over. */
  n: number | null;
  /** How many have no defined score. */
  undefined: number | null;
  /** 1 is best; equal ones share a rank. */
  rank: number | null;
}

/** Heads by labels of regions: which head looks at what. */
export interface HeadMatrix {
  /** Which maps the answer is about, and how that was chosen. */
  choice: Choice;
  /** Name of the score: metric[@threshold]. */
  metric: string;
  /** Labels, in order. */
  labels: string[];
  /** Regions of each label. */
  counts: number[];
  /** Layer and head of each line. */
  heads: [number, number][];
  /** The scores; null: undefined. */
  values: ((number | null)[])[];
  /** What must be known to read the numbers. */
  note: string;
  /** What speaks against comparing the scores with one another; empty: nothing does. */
  warnings: string[];
}

/** The heads of one model, the best first. */
export interface HeadRanking {
  /** Which maps the answer is about, and how that was chosen. */
  choice: Choice;
  /** Name of the score: metric[@threshold]. */
  metric: string;
  /** The lines of the table, in order. */
  lines: HeadLine[];
  /** What must be known to read the numbers. */
  note: string;
  /** What speaks against comparing the scores with one another; empty: nothing does. */
  warnings: string[];
}

/** Whether the service is up, and what it has loaded. */
export interface Health {
  /** Always ok: the service answers. */
  status: "ok";
  /** Of the program. */
  version: string;
  /** Name of the study. */
  study: string;
  /** How many images. */
  images: number;
  /** How many models. */
  models: number;
  /** How many of them are stored. */
  tasks_done: number;
  /** How many tasks the study has. */
  tasks_all: number;
  /** Whether the images can be shown. */
  pictures: boolean;
  /** Whether maps were kept. */
  maps: boolean;
  /** Whether single heads were stored. */
  heads: boolean;
  /** Names of stored evaluations. */
  detection: string[];
  /** Whether the sparsity report can be made. */
  sparsity: boolean;
  /** Names of the checks that are stored. */
  checks: string[];
  /** Names of the stored analyses. */
  prototypes: string[];
  /** The review that is served; null: none is. */
  review: ReviewHealth | null;
  /** Why something is not there. */
  missing: Record<string, string>;
  /** Whether what is likely to be asked for is still being prepared: answers may take longer until then. */
  warming: boolean;
}

/** An image with its regions. */
export interface ImageDetail {
  /** Id of the image. */
  image: string;
  /** Labels, in order. */
  labels: string[];
  /** Part of the data; empty: none. */
  split: string;
  /** Of the image, in pixels; null: not known. */
  width: number | null;
  /** Of the image, in pixels; null: not known. */
  height: number | null;
  /** Share of the image that is annotated. */
  area: number | null;
  /** The regions, or how many. */
  regions: RegionInfo[];
  /** What the study's classifiers say of the image. */
  predictions: Prediction[];
}

/** The heads on one image, the best first. */
export interface ImageHeads {
  /** Id of the image. */
  image: string;
  /** Index of a region in the annotation; null: all of them together. */
  region: number | null;
  /** Which maps the answer is about, and how that was chosen. */
  choice: Choice;
  /** Name of the score: metric[@threshold]. */
  metric: string;
  /** The lines of the table, in order. */
  lines: HeadLine[];
  /** What must be known to read the numbers. */
  note: string;
  /** What speaks against comparing the scores with one another; empty: nothing does. */
  warnings: string[];
}

/** One image's scores over the layers. */
export interface ImageLayers {
  /** Id of the image. */
  image: string;
  /** Index of a region in the annotation; null: all of them together. */
  region: number | null;
  /** Which maps the answer is about, and how that was chosen. */
  choice: Choice;
  /** Name of the score: metric[@threshold]. */
  metric: string;
  /** The points of the line, from left to right. */
  points: Point[];
  /** What must be known to read the numbers. */
  note: string;
  /** What speaks against comparing the scores with one another; empty: nothing does. */
  warnings: string[];
}

/** Scores of one map against the union of an image's regions, or one of them. */
export interface ImageMetrics {
  /** Id of the image. */
  image: string;
  /** Index of a region in the annotation; null: all of them together. */
  region: number | null;
  /** Name of what is annotated. */
  label: string | null;
  /** Which maps the answer is about, and how that was chosen. */
  choice: Choice;
  /** Intersection over union. */
  iou: number | null;
  /** Of the IoU. */
  chance: number | null;
  /** Of the IoU. */
  ceiling: number | null;
  /** (iou − chance) / (ceiling − chance) */
  corrected: number | null;
  /** Share of the map's energy on the annotation. */
  coverage: number | null;
  /** Share of what is annotated that was selected, or found. */
  recall: number | null;
  /** Share of what was selected, or found, that is right. */
  precision: number | null;
  /** How many times denser annotation is among the selected pixels than anywhere. */
  lift: number | null;
  /** 1 where the map's maximum lies on the annotation, 0 where not; shared by ties. */
  pointing: number | null;
  /** Share of the pixels that is selected. */
  attention_area: number | null;
  /** Share of the pixels that is annotated. */
  annotation_area: number | null;
  /** Share of the annotated area that the model could see. */
  visible: number | null;
  /** All of these and more, each with chance. */
  figures: Figure[];
  /** What disagreeing metrics may mean, in words; or empty. */
  divergence: string;
  /** Share of images that score less than this one. */
  rank: number | null;
  /** What must be known to read the numbers. */
  note: string;
}

/** All models on one image. */
export interface ImageModels {
  /** Id of the image. */
  image: string;
  /** Index of a region in the annotation; null: all of them together. */
  region: number | null;
  /** Name of the score: metric[@threshold]. */
  metric: string;
  /** The lines of the table, in order. */
  lines: ImageModelsLine[];
  /** What must be known to read the numbers. */
  note: string;
  /** What speaks against comparing the scores with one another; empty: nothing does. */
  warnings: string[];
}

/** One model and method on one image. */
export interface ImageModelsLine {
  /** Which maps the answer is about, and how that was chosen. */
  choice: Choice;
  /** Family of the method; baseline for maps without a model. */
  group: string;
  /** The score; null: undefined. */
  value: number | null;
  /** What a map without information gets on average; null where that is not known. */
  chance: number | null;
  /** The best score that is possible; null where there is no such bound. */
  ceiling: number | null;
  /** 1 is best; equal ones share a rank. */
  rank: number | null;
}

/** A page of images. */
export interface ImagePage {
  /** Images that pass the filters. */
  total: number;
  /** How many were left out before. */
  offset: number;
  /** How many at most. */
  limit: number;
  /** By what the images are sorted. */
  sort: string;
  /** Whether the smallest come first. */
  ascending: boolean;
  /** Whose values stand beside the images. */
  metric: string;
  /** Which maps the answer is about, and how that was chosen. */
  choice: Choice;
  /** What must be known to read the numbers. */
  note: string;
  /** What was found, in order. */
  items: ImageSummary[];
}

/** One image's score over the percentiles. */
export interface ImagePercentiles {
  /** Id of the image. */
  image: string;
  /** Index of a region in the annotation; null: all of them together. */
  region: number | null;
  /** Which maps the answer is about, and how that was chosen. */
  choice: Choice;
  /** Name of the score: metric[@threshold]. */
  metric: string;
  /** The points of the line, from left to right. */
  points: Point[];
  /** The highest point; null where none is defined. */
  best: Point | null;
  /** What must be known to read the numbers. */
  note: string;
}

/** An image in the gallery. */
export interface ImageSummary {
  /** Id of the image. */
  image: string;
  /** Labels, in order. */
  labels: string[];
  /** Part of the data; empty: none. */
  split: string;
  /** Of the image, in pixels; null: not known. */
  width: number | null;
  /** Of the image, in pixels; null: not known. */
  height: number | null;
  /** Annotated share. */
  area: number | null;
  /** How many regions are scored. */
  regions: number;
  /** The score; null: undefined. */
  value: number | null;
  /** What a map without information gets on average; null where that is not known. */
  chance: number | null;
  /** The best score that is possible; null where there is no such bound. */
  ceiling: number | null;
  /** Share of the annotated area that the model saw. */
  visible: number | null;
  /** What is to be known of the image. */
  warnings: ("cropped" | "undefined" | "dropped" | "no regions")[];
}

/** A label of regions or of images. */
export interface LabelInfo {
  /** Name of what is annotated. */
  label: string;
  /** Regions, or images, that have it. */
  count: number;
  /** How many images. */
  images: number;
  /** The labels right above. */
  parents: string[];
}

/** How much the maps of one layer and the next agree. */
export interface LayerChange {
  /** From 0; null: no layers. Two numbers where halves of the images have their own. */
  layer: number;
  /** The layer that it is compared with. */
  next: number;
  /** Rank correlation, mean over images. */
  spearman: number | null;
  /** Lower end of the 95% interval; null where there is none. */
  low: number | null;
  /** Upper end of the 95% interval; null where there is none. */
  high: number | null;
  /** How many images. */
  images: number;
}

/** How maps change from layer to layer. */
export interface LayerChanges {
  /** The lines of the table, in order. */
  lines: LayerChangesLine[];
  /** What must be known to read the numbers. */
  note: string;
}

/** A method's maps from layer to layer. */
export interface LayerChangesLine {
  /** Full name of the model. */
  model: string;
  /** Name of the method that made the maps. */
  method: string;
  /** Family of the method; baseline for maps without a model. */
  group: string;
  /** What is explained; empty: no class. */
  target: string;
  /** The points of the line, from left to right. */
  points: LayerChange[];
}

/** The best first, baselines among them. */
export interface Leaderboard {
  /** Name of the score: metric[@threshold]. */
  metric: string;
  /** The lines of the table, in order. */
  lines: LeaderboardLine[];
  /** The best line that is no baseline against the best baseline of the run; null where no value is better than another, or nothing is scored. */
  best_baseline: BestBaseline | null;
  /** What must be known to read the numbers. */
  note: string;
  /** What speaks against comparing the scores with one another; empty: nothing does. */
  warnings: string[];
}

/** A model, method and target. */
export interface LeaderboardLine {
  /** As figures call it; the same in every answer. */
  name: string;
  /** How many share it: equal baselines are one line. */
  models: number;
  /** 1 is best; equal ones share a rank. */
  rank: number | null;
  /** Full name of the model. */
  model: string;
  /** Name of the method that made the maps. */
  method: string;
  /** Family of the method; baseline for maps without a model. */
  group: string;
  /** What is explained; empty: no class. */
  target: string;
  /** From 0; null: no layers. Two numbers where halves of the images have their own. */
  layer: number | string | null;
  /** The score; null: undefined. */
  value: number | null;
  /** Lower end of the 95% interval; null where there is none. */
  low: number | null;
  /** Upper end of the 95% interval; null where there is none. */
  high: number | null;
  /** Median over images. */
  median: number | null;
  /** Standard deviation over images. */
  std: number | null;
  /** What a map without information gets on average; null where that is not known. */
  chance: number | null;
  /** What a random ranking gets: of average precision, where it is known. */
  random: number | null;
  /** The best score that is possible; null where there is no such bound. */
  ceiling: number | null;
  /** What a uniform map gets, where the metric has no chance. */
  uniform: number | null;
  /** The score with 0 at chance and 1 at the ceiling. */
  corrected: number | null;
  /** Of recall and lift, which are never read alone: another score. */
  beside: string | null;
  /** Its mean over images. */
  beside_value: number | null;
  /** Of best_iou: lower quartile over images of the percentile that gives it. */
  percentile_q1: number | null;
  /** Its median. */
  percentile_median: number | null;
  /** Its upper quartile. */
  percentile_q3: number | null;
  /** How many scores the mean is over. */
  n: number;
  /** How many have no defined score. */
  undefined: number;
  /** How the layer was chosen, in words; empty where there was no choice. */
  chosen: string;
}

/** Similarities of an image and its changed copies, with their pictures. */
export interface Live {
  /** Id of the image. */
  image: string;
  /** Its number. */
  prototype: number;
  /** Row and column that are compared. */
  cell: [number, number];
  /** Rows and columns of the cells. */
  grid: [number, number];
  /** The cell: x0, y0, x1, y1 as shares of what the network sees. */
  box: [number, number, number, number];
  /** Box around the most relevant tenth, which a distortion goes by. */
  relevant: [number, number, number, number];
  /** How it was said which pixels count. */
  attribution: string;
  /** What was done, in words. */
  description: string;
  /** Similarity before. */
  original: number | null;
  /** Similarity of the focused copy. */
  focused: number | null;
  /** Similarity of the dual copy. */
  dual: number | null;
  /** Share of the similarity that is gone; null where it was 0 or less. */
  focused_drop: number | null;
  /** The same of the dual copy. */
  dual_drop: number | null;
  /** What the network sees: a data URL of a PNG file. */
  original_png: string;
  /** Changed where the attribution is high, likewise. */
  focused_png: string;
  /** Changed where it is low, likewise. */
  dual_png: string;
  /** What the line means, in words. */
  sentence: string;
}

/** An image, a prototype, and what is to be changed. */
export interface LiveAsked {
  /** Id of the image. */
  image: string;
  /** Its number; the most similar unless given. */
  prototype?: number | null;
  /** Row and column; the most similar unless given. */
  cell?: [number, number] | null;
  /** Changes, done one after the other. */
  steps: PerturbationStep[];
  /** Name; that of the benchmark unless given. */
  attribution?: string | null;
}

/** What stands before the values in the binary answer of /api/maps/{id}. */
export interface MapHeader {
  /** Id of the image. */
  image: string;
  /** Which maps the answer is about, and how that was chosen. */
  choice: Choice;
  /** Rows of the raster. */
  rows: number;
  /** Columns of the raster. */
  columns: number;
  /** Where the raster lies on the image. */
  place: MapPlace;
  /** Least value, as the map is read. */
  low: number;
  /** Greatest value, as the map is read. */
  high: number;
  /** The same over a sample of images. */
  dataset_low: number | null;
  /** The greatest value over a sample of images. */
  dataset_high: number | null;
  /** Rows and columns of the model's own grid. */
  cells: [number, number];
  /** Where that grid lies, which may reach beyond the image. */
  cells_place: MapPlace | null;
  /** Indices of the masks that follow, in order. */
  regions: number[];
  /** Whether a mask of pixels that do not count comes last. */
  ignore: boolean;
  /** Pixels that count. */
  kept: number;
  /** What the values that follow are to be multiplied by, a power of 2: 1 unless they are too large or too small for 32 bits. Scores do not depend on it. */
  scale: number;
}

/** Where the raster of a map lies on its image. */
export interface MapPlace {
  /** Left edge of the raster, as a share of the image's width. */
  x0: number;
  /** Upper edge, as a share of the image's height. */
  y0: number;
  /** Right edge, as a share of the image's width. */
  x1: number;
  /** Lower edge, as a share of the image's height. */
  y1: number;
}

/** A method of the study. */
export interface MethodInfo {
  /** What it is called. */
  name: string;
  /** Family of the method; baseline for maps without a model. */
  group: string;
  /** What the method shows. */
  what: string;
  /** How values of the map are read. */
  sign: string;
  /** Whether there are layers. */
  layered: boolean;
  /** Who found the method. */
  paper: string;
  /** What the maps explain; none: no class. */
  targets: string[];
}

/** What a metric is, from the one table of metrics. */
export interface MetricInfo {
  /** What it is called. */
  name: string;
  /** For people. */
  title: string;
  /** In one line. */
  meaning: string;
  /** Whether more or less is better. */
  direction: "higher" | "lower" | "neither";
  /** Of its range; null: no bound. */
  low: number | null;
  /** The greatest value that is possible; null: no bound. */
  high: number | null;
  /** Formula of what no information scores. */
  chance: string | null;
  /** Formula of the best that is possible. */
  ceiling: string | null;
  /** What has the score: a map, a region, or the data set. */
  level: string;
  /** Kind of metric. */
  category: string;
  /** What the metric is for. */
  role: string;
  /** Whether it matters where the values lie. */
  spatial: boolean;
  /** What must be known for it. */
  needs: string[];
  /** When it is not defined. */
  undefined: string[];
  /** What the metric tells best. */
  best_for: string;
  /** What the metric does not tell. */
  limitation: string;
  /** Where the metric comes from. */
  citation: string;
  /** Whether names end in @threshold. */
  thresholded: boolean;
}

/** All metrics, and the names that this study stored. */
export interface MetricTable {
  /** The metrics. */
  metrics: MetricInfo[];
  /** The scores that the study stored. */
  stored: string[];
  /** By which images can be sorted. */
  sortable: string[];
  /** What is taken where nothing is asked for. */
  default: string;
}

/** A model of the study. */
export interface ModelInfo {
  /** What it is called. */
  name: string;
  /** Name of the model without its variant. */
  base: string;
  /** Of the model; empty: none. */
  variant: string;
  /** How many; 0: none. */
  layers: number;
  /** How many were kept apart in any layer; 0: fused alone. */
  heads: number;
  /** Which layers are stored by any method; a study need not ask for all. */
  layer_numbers: number[];
  /** Which heads were kept apart. */
  head_numbers: number[];
  /** Whether it stands for baselines that see no model. */
  baseline: boolean;
  /** The methods. */
  methods: string[];
  /** Whether similarity to a region can be asked of it. */
  similarity: boolean;
}

/** How well maps find the parts that are known to decide. */
export interface Parts {
  /** The lines of the table, in order. */
  lines: PartsLine[];
  /** What must be known to read the numbers. */
  note: string;
}

/** Parts whose removal changes the class, against what a map ranks first. */
export interface PartsLine {
  /** Full name of the model. */
  model: string;
  /** Name of the method that made the maps. */
  method: string;
  /** Family of the method; baseline for maps without a model. */
  group: string;
  /** What is explained; empty: no class. */
  target: string;
  /** Layer that was checked. */
  layer: number | null;
  /** Layer that the leaderboard reports for these maps; null without layers. */
  best_layer: number | null;
  /** Share of the parts ranked first that decide. */
  precision: number | null;
  /** Lower end of its 95% interval. */
  precision_low: number | null;
  /** Upper end. */
  precision_high: number | null;
  /** Share of the deciding parts that are ranked first. */
  recall: number | null;
  /** Lower end of its 95% interval. */
  recall_low: number | null;
  /** Upper end. */
  recall_high: number | null;
  /** Average precision of the ranking of parts. */
  ap: number | null;
  /** Lower end of its 95% interval. */
  ap_low: number | null;
  /** Upper end. */
  ap_high: number | null;
  /** Share of the parts that decide: precision by chance. */
  base: number | null;
  /** Lower end of its 95% interval. */
  base_low: number | null;
  /** Upper end. */
  base_high: number | null;
  /** How many images. */
  images: number;
}

/** A parameter of a perturbation, as a slider or a choice offers it. */
export interface PerturbationParam {
  /** What it is called. */
  name: string;
  /** The usual value. */
  default: number | string;
  /** With which nothing changes; null: none. */
  neutral: number | null;
  /** Least value that is taken; null: it is a word. */
  low: number | null;
  /** Greatest value that is taken; null: it is a word. */
  high: number | null;
  /** Of a slider. */
  step: number;
  /** The words; none: it is a number. */
  choices: string[];
}

/** One change of an image. */
export interface PerturbationStep {
  /** Type, as `offered` lists them. */
  type: string;
  /** Parameters by name; those not given have their defaults. */
  params: Record<string, number | string>;
}

/** A type of perturbation. */
export interface PerturbationType {
  /** Its name. */
  type: string;
  /** What it does, exactly. */
  about: string;
  /** Where it is from. */
  citation: string;
  /** What can be chosen. */
  params: PerturbationParam[];
}

/** One point of a curve. */
export interface Point {
  /** Layer or percentile. */
  x: number;
  /** The score; null: undefined. */
  value: number | null;
  /** Lower end of the 95% interval; null where there is none. */
  low: number | null;
  /** Upper end of the 95% interval; null where there is none. */
  high: number | null;
  /** What a map without information gets on average; null where that is not known. */
  chance: number | null;
  /** The best score that is possible; null where there is no such bound. */
  ceiling: number | null;
  /** How many scores the mean is over. */
  n: number | null;
  /** How many have no defined score. */
  undefined: number | null;
}

/** What a classifier says of an image. */
export interface Prediction {
  /** Full name of the model. */
  model: string;
  /** The class that the model says. */
  predicted: string;
  /** That the model gives to it. */
  probability: number | null;
  /** Name of what is annotated. */
  label: string;
  /** Whether the label was predicted; null where the image has none. */
  correct: boolean | null;
}

/** What went wrong, as RFC 9457 has it. */
export interface Problem {
  /** Kind of problem. */
  type: string;
  /** Kind of problem in words. */
  title: string;
  /** The HTTP status. */
  status: number;
  /** What was expected, and what was seen. */
  detail: string;
  /** The part of the request that is wrong. */
  field: string | null;
}

/** How far a study has come. */
export interface Progress {
  /** How many are done. */
  done: number;
  /** How many there are. */
  all: number;
  /** Whether a process writes the store now. */
  running: boolean;
  /** Whether all tasks are done. */
  finished: boolean;
  /** How many scores are stored. */
  rows: number;
  /** When the last task was stored; ISO 8601. */
  updated: string | null;
  /** Changes whenever answers may. */
  version: string;
}

/** Means over the images by layer. */
export interface Progression {
  /** Name of the score: metric[@threshold]. */
  metric: string;
  /** The lines of the table, in order. */
  lines: ProgressionLine[];
  /** What must be known to read the numbers. */
  note: string;
  /** What speaks against comparing the scores with one another; empty: nothing does. */
  warnings: string[];
}

/** One line over layers, or percentiles. */
export interface ProgressionLine {
  /** As figures call it; the same in every answer. */
  name: string;
  /** How many share it: equal baselines are one line. */
  models: number;
  /** Full name of the model. */
  model: string;
  /** Name of the method that made the maps. */
  method: string;
  /** Family of the method; baseline for maps without a model. */
  group: string;
  /** What is explained; empty: no class. */
  target: string;
  /** From 0; null: no layers. Two numbers where halves of the images have their own. */
  layer: number | string | null;
  /** False: no layers; its one point (x 0) stands beside any layer. */
  layered: boolean;
  /** The points of the line, from left to right. */
  points: Point[];
}

/** What became of proposals that were sent. */
export interface ProposalsAdded {
  /** New ones. */
  added: number;
  /** Those that were there already. */
  known: number;
  /** Those that do not fit, and why; 100 at most. */
  refused: string[];
  /** How many do not fit. */
  refused_count: number;
  /** Number of the last event of the review, whatever it is about; 0: there is none. */
  last: number;
}

/** What a benchmark of prototypes found. */
export interface PrototypeBenchmark {
  /** Of the benchmark. */
  name: string;
  /** Full name of the model. */
  model: string;
  /** The images in words. */
  data: string;
  /** What perturbations change: the similarity to a prototype, or a class's logit. */
  score: "similarity" | "class_logit";
  /** How it was said which pixels count. */
  attribution: string;
  /** In the data; a stride may have taken fewer. */
  images: number;
  /** That the model uses; classes where their logit counts. */
  prototypes: number;
  /** How often the model is right on the images analysed. */
  accuracy: Figure;
  /** Of prototypes and patches; none: not analysed. */
  relevance: PrototypeRelevance[];
  /** That were analysed; none: not analysed. */
  perturbations: BenchmarkPerturbation[];
  /** Of each perturbation over all prototypes. */
  effects: PrototypeEffect[];
  /** Null: not analysed. */
  natures: PrototypeNatures | null;
  /** Null: no dual copies were analysed. */
  premise: PrototypePremise | null;
  /** What must be kept in mind, in sentences. */
  cautions: string[];
  /** Images that are analysed, in order. */
  image_ids: string[];
  /** What the live route can do. */
  offered: PerturbationType[];
  /** How the live route can say which pixels count. */
  attributions: AttributionInfo[];
  /** What must be known to read the numbers. */
  note: string;
}

/** A stored benchmark of prototypes, in a line. */
export interface PrototypeBenchmarkSummary {
  /** Of the benchmark. */
  name: string;
  /** Full name of the model. */
  model: string;
  /** The images in words. */
  data: string;
  /** What perturbations change: the similarity to a prototype, or a class's logit. */
  score: "similarity" | "class_logit";
  /** In the data; a stride may have taken fewer. */
  images: number;
  /** That the model uses; classes where their logit counts. */
  prototypes: number;
  /** Prototypes that some image is most similar to; null: not analysed. */
  covered: number | null;
  /** How often the model is right on the images analysed. */
  accuracy: Figure;
}

/** A prototype with the images behind its numbers. */
export interface PrototypeDetail {
  /** Of the benchmark. */
  name: string;
  /** The prototype. */
  line: PrototypeLine;
  /** The most similar first. */
  images: PrototypeImage[];
  /** What must be known to read the numbers. */
  note: string;
}

/** What a perturbation takes of one image's score. */
export interface PrototypeDrop {
  /** Its name. */
  perturbation: string;
  /** The score before. */
  original: number | null;
  /** Drop where the attribution is high. */
  focused: number | null;
  /** Drop where it is low; null: not asked for. */
  dual: number | null;
  /** Drop of the image changed all over, if asked for. */
  whole: number | null;
}

/** What a perturbation does to the score of a prototype, or of all. */
export interface PrototypeEffect {
  /** Its number; null: all of them. */
  prototype: number | null;
  /** Its name. */
  perturbation: string;
  /** How many images. */
  images: number;
  /** Rows without a drop: the score was 0 or less. */
  undefined: number;
  /** Mean drop where the attribution is high. */
  focused: number | null;
  /** Lower end of its 95% interval. */
  focused_low: number | null;
  /** Upper end of its 95% interval. */
  focused_high: number | null;
  /** Mean drop where it is low; null: not asked for. */
  dual: number | null;
  /** Lower end of its 95% interval. */
  dual_low: number | null;
  /** Upper end of its 95% interval. */
  dual_high: number | null;
  /** Mean drop of images changed all over, if asked for. */
  whole: number | null;
  /** Mean of focused minus dual drop. */
  difference: number | null;
  /** Lower end of its 95% interval. */
  difference_low: number | null;
  /** Upper end of its 95% interval. */
  difference_high: number | null;
  /** Whether the interval of the difference lies above 0; null: too few images. */
  matters: boolean | null;
  /** Of the sign-flip test of the difference. */
  p: number | null;
  /** The same, corrected by Holm for all lines. */
  p_holm: number | null;
}

/** An image that was analysed with a prototype. */
export interface PrototypeImage {
  /** Id of the image. */
  image: string;
  /** Of the cell; null: the score is of a class. */
  row: number | null;
  /** Of the cell; null: the score is of a class. */
  column: number | null;
  /** Similarity of the cell, or the logit. */
  score: number | null;
  /** Its class; null: not known. */
  label: string | null;
  /** The class that the model says. */
  predicted: string | null;
  /** Null: not analysed. */
  mask_relevance: number | null;
  /** Null: not analysed. */
  energy_relevance: number | null;
  /** Share of the image that the object takes. */
  chance: number | null;
  /** Why a relevance is null; empty: none is. */
  reason: string | null;
  /** By perturbation. */
  drops: PrototypeDrop[];
}

/** A prototype. */
export interface PrototypeLine {
  /** Its number, from 0. */
  prototype: number;
  /** The class that it says most for; null: not known. */
  label: string | null;
  /** For each class; none where the model cannot be loaded. */
  weights: PrototypeWeight[];
  /** Null: not known. */
  source: PrototypeSource | null;
  /** Share of the most relevant pixels on the object. */
  mask_relevance: number | null;
  /** Share of the attribution on the object. */
  energy_relevance: number | null;
  /** The same of the map before it was scaled. */
  energy_raw: number | null;
  /** Share of its image that the object takes. */
  chance: number | null;
  /** Perturbations that matter, the strongest first; none: unknown; null: not decided. */
  nature: string[] | null;
  /** The nature in words. */
  told: string;
  /** Images that were analysed with it. */
  images: number;
  /** By perturbation. */
  drops: PrototypeEffect[];
}

/** All prototypes of a benchmark. */
export interface PrototypeLines {
  /** Of the benchmark. */
  name: string;
  /** Names, in the order of the benchmark. */
  perturbations: string[];
  /** The lines of the table, in order. */
  lines: PrototypeLine[];
  /** What must be known to read the numbers. */
  note: string;
}

/** Benchmarks of prototypes that are stored. */
export interface PrototypeList {
  /** A line for each. */
  benchmarks: PrototypeBenchmarkSummary[];
}

/** A prototype that an image is similar to. */
export interface PrototypeMatch {
  /** Its number. */
  prototype: number;
  /** The class that it says most for. */
  label: string | null;
  /** Similarity of the most similar cell. */
  score: number;
  /** Of that cell, from 0 at the top. */
  row: number;
  /** Of that cell, from 0 at the left. */
  column: number;
  /** The cell: x0, y0, x1, y1 as shares of what the network sees. */
  box: [number, number, number, number];
  /** Those that are stored, if any. */
  drops: PrototypeDrop[];
}

/** The prototypes that an image is most similar to. */
export interface PrototypeMatches {
  /** Of the benchmark. */
  name: string;
  /** Id of the image. */
  image: string;
  /** Rows and columns of the cells. */
  grid: [number, number];
  /** The lines of the table, in order. */
  lines: PrototypeMatch[];
}

/** What the similarity to prototypes is made of, counted. */
export interface PrototypeNatures {
  /** By perturbation: to how many prototypes it matters. */
  matter: Record<string, number>;
  /** Prototypes to which none matters. */
  unknown: number;
  /** Prototypes with too few images to say. */
  undecided: number;
  /** Prototypes that no image is most similar to. */
  uncovered: number;
  /** What the line means, in words. */
  sentence: string;
}

/** How often changing what the attribution shows costs more than changing all else. */
export interface PrototypePremise {
  /** Pairs of image and prototype, times perturbations. */
  rows: number;
  /** How many images. */
  images: number;
  /** Of the rows, in how many the focused drop is larger. */
  share: number | null;
  /** Lower end of its 95% interval. */
  share_low: number | null;
  /** Upper end of its 95% interval. */
  share_high: number | null;
  /** Share of the rows where both are equal. */
  equal: number | null;
  /** With such rows. */
  prototypes: number;
  /** Of these, how many have a larger mean focused drop. */
  prototype_share: number | null;
  /** Mean of focused minus dual drop. */
  difference: number | null;
  /** Lower end of its 95% interval. */
  difference_low: number | null;
  /** Upper end of its 95% interval. */
  difference_high: number | null;
  /** What the line means, in words. */
  sentence: string;
}

/** How much of attributions lies on the object, in the mean. */
export interface PrototypeRelevance {
  /** Where prototypes were taken from, or what images have in common with them. */
  kind: "prototype" | "patch";
  /** Share of the whole attribution, or of the most relevant pixels. */
  measure: "energy_relevance" | "mask_relevance";
  /** The score; null: undefined. */
  value: number | null;
  /** Lower end of the 95% interval; null where there is none. */
  low: number | null;
  /** Upper end of the 95% interval; null where there is none. */
  high: number | null;
  /** Mean share of the images that the object takes. */
  chance: number | null;
  /** Mean of relevance minus chance. */
  difference: number | null;
  /** Lower end of its 95% interval. */
  difference_low: number | null;
  /** Upper end of its 95% interval. */
  difference_high: number | null;
  /** Prototypes or patches that count. */
  n: number;
  /** Those that do not. */
  undefined: number;
  /** Fraction of those that do not. */
  undefined_fraction: number | null;
  /** Why they do not, each reason with their number. */
  reasons: string;
  /** How many images. */
  images: number;
  /** Of each prototype or patch. */
  values: (number | null)[];
  /** What the line means, in words. */
  sentence: string;
}

/** Where a prototype was taken from. */
export interface PrototypeSource {
  /** Id of the image. */
  image: string;
  /** Of the cell, from 0 at the top. */
  row: number;
  /** Of the cell, from 0 at the left. */
  column: number;
  /** Similarity of the cell to the prototype. */
  score: number | null;
  /** Class of that image; null: not known. */
  label: string | null;
}

/** What a prototype says for a class. */
export interface PrototypeWeight {
  /** The class. */
  label: string;
  /** By which its similarity is multiplied. */
  weight: number;
}

/** Ranks of lines by metrics; equal ones share a rank. */
export interface Ranking {
  /** The metrics. */
  metrics: string[];
  /** The lines of the table, in order. */
  lines: RankingLine[];
  /** What must be known to read the numbers. */
  note: string;
  /** What speaks against comparing the scores with one another; empty: nothing does. */
  warnings: string[];
}

/** The mean and the rank of a line by one metric. */
export interface RankingCell {
  /** Name of the score: metric[@threshold]. */
  metric: string;
  /** The score; null: undefined. */
  value: number | null;
  /** 1 is best; equal ones share a rank. */
  rank: number | null;
  /** Whether it differs from the best beyond chance; null: not tested. */
  significant: boolean | null;
}

/** One line of the ranking heatmap. */
export interface RankingLine {
  /** As figures call it; the same in every answer. */
  name: string;
  /** How many share it: equal baselines are one line. */
  models: number;
  /** Full name of the model. */
  model: string;
  /** Name of the method that made the maps. */
  method: string;
  /** Family of the method; baseline for maps without a model. */
  group: string;
  /** What is explained; empty: no class. */
  target: string;
  /** From 0; null: no layers. Two numbers where halves of the images have their own. */
  layer: number | string | null;
  /** The scores of a line, one for each metric; or rows and columns of the model's grid. */
  cells: RankingCell[];
}

/** How far people agree: Krippendorff's alpha. */
export interface RatingAgreement {
  /** 1: all agree; 0: as by chance; null: undefined. */
  value: number | null;
  /** Lower end of the 95% interval; null: none. */
  low: number | null;
  /** Upper end of the 95% interval; null: none. */
  high: number | null;
  /** Questions that at least two people answered. */
  units: number;
  /** Why it is undefined; empty: it is not. */
  reason: string;
}

/** A person's answer to a question about maps. */
export interface RatingAnswerAsked {
  /** Made by whoever sends it, a UUID: sent twice, it counts once. */
  id: string;
  /** The person. */
  who: string;
  /** Id of the question. */
  task: string;
  /** 1 (bad) to 5 (good) of one map; left, right or equal of two. */
  answer: number | "left" | "right" | "equal";
  /** The `version` of the question. */
  expected?: number;
  /** How long it took. */
  seconds?: number | null;
}

/** How far a person is with the questions about maps. */
export interface RatingInfo {
  /** How many questions there are. */
  tasks: number;
  /** How many of them this person has answered. */
  done: number;
  /** How many ask to rate one map, and how many to choose between two. */
  kinds: Record<string, number>;
  /** How many people have answered any. */
  people: number;
}

/** What people think of the maps of one method, or of one method beside another. */
export interface RatingLine {
  /** Name of the map; of a pair: the first > the second. */
  method: string;
  /** Mean rating, or share of choices won. */
  value: number | null;
  /** Lower end of the 95% interval for other images and people; null: none. */
  low: number | null;
  /** Upper end, likewise. */
  high: number | null;
  /** How many answers it is over. */
  answers: number;
  /** How many images. */
  images: number;
  /** How many people gave them. */
  people: number;
}

/** The next question for a person. */
export interface RatingNext {
  /** Null: all are answered. */
  task: RatingTask | null;
  /** How many questions there are. */
  tasks: number;
  /** How many of them this person has answered. */
  done: number;
}

/** An answer that is kept. */
export interface RatingSaved {
  /** Of its event. */
  number: number;
  /** How many questions there are. */
  tasks: number;
  /** How many of them this person has answered. */
  done: number;
  /** Whether it was there already, and nothing was written. */
  repeated: boolean;
}

/** What people think of maps, method by method, and how far they agree. */
export interface RatingSummary {
  /** Mean ratings, 1 to 5, the best first. */
  ratings: RatingLine[];
  /** Share of its choices that each wins, equal ones half; the best first. */
  wins: RatingLine[];
  /** Share of choices between two that the first wins. */
  pairs: RatingLine[];
  /** Share of choices for the left side: 0.5 unless the side mattered. */
  left: RatingLine;
  /** On ratings, as ranks. */
  ratings_agreement: RatingAgreement;
  /** On choices. */
  choices_agreement: RatingAgreement;
  /** How many people have answered any question. */
  people: number;
  /** What must be known to read the numbers. */
  note: string;
  /** Whether it is shown though this person has questions left: answers after that are not blind. */
  unblinded: boolean;
}

/** A question about maps of an image. Nothing in it says which methods they are of. */
export interface RatingTask {
  /** Its own. */
  id: string;
  /** Id of the image. */
  image: string;
  /** Rate one map from 1 to 5, or choose between two. */
  kind: "rate" | "choose";
  /** Where the map, or the left of two, can be fetched: a PNG. */
  left: string;
  /** Where the right one can be; null: there is none. */
  right: string | null;
  /** Number of this person's last answer to it; 0: none. */
  version: number;
}

/** An annotated region. */
export interface RegionInfo {
  /** In the order of the annotation file; bbox/{bbox_index}. */
  index: number;
  /** Name of what is annotated. */
  label: string;
  /** The labels above, the nearest first. */
  ancestors: string[];
  /** Shape of the region: box, polygon, mask, point …; empty: the data are gone. */
  kind: string;
  /** x0, y0, x1, y1 as shares. */
  box: [number, number, number, number];
  /** Rings of x, y as shares, of regions that are no boxes. */
  outline: [number, number][][];
  /** Share of the image that it covers. */
  area: number | null;
  /** Why it is not scored; empty: it is. */
  dropped: string;
  /** Whether it counts for nothing, neither for nor against a map. */
  ignore: boolean;
}

/** Curves of one measure of faithfulness. */
export interface RemovalCurves {
  /** What is measured, as /api/checks lists it. */
  measure: string;
  /** The lines of the table, in order. */
  lines: RemovalLine[];
  /** What must be known to read the numbers. */
  note: string;
}

/** The score of the class as more and more pixels are changed. */
export interface RemovalLine {
  /** Full name of the model. */
  model: string;
  /** Name of the method that made the maps. */
  method: string;
  /** Family of the method; baseline for maps without a model. */
  group: string;
  /** What is explained; empty: no class. */
  target: string;
  /** Layer that was checked. */
  layer: number | null;
  /** Layer that the leaderboard reports for these maps; null without layers. */
  best_layer: number | null;
  /** x is the share of pixels that are changed. */
  points: Point[];
}

/** Somebody else came first, and nothing was written; or the gold set is done or locked. */
export interface ReviewConflict {
  /** Kind of problem. */
  type: string;
  /** Kind of problem in words. */
  title: string;
  /** The HTTP status. */
  status: number;
  /** What was expected, and what was seen. */
  detail: string;
  /** The part of the request that is wrong. */
  field: string | null;
  /** Where the item stands now; null: no item is meant. */
  item: ReviewItem | null;
  /** What would have to be expected. */
  version: number | null;
  /** Number of the last event of the review, whatever it is about; 0: there is none. */
  last: number | null;
}

/** What a person did; never changed, never deleted. */
export interface ReviewEvent {
  /** Events are numbered as they came. */
  number: number;
  /** As it was sent. */
  id: string;
  /** When, in UTC, by the clock of the service. */
  at: string;
  /** The person. */
  who: string;
  /** What it belongs to. */
  mode: "review" | "gold";
  /** What was done. */
  kind: "accept" | "reject" | "skip" | "edit" | "draw" | "comment" | "undo" | "done" | "lock" | "reopen";
  /** The image; empty: all of the gold set. */
  image: string;
  /** The proposed or drawn region; null: the image. */
  item: string | null;
  /** Where it stood. */
  before: ReviewFacts;
  /** Where it stands by it. */
  after: ReviewFacts;
  /** How long it took; null: not measured. */
  seconds: number | null;
  /** In the person's own words; empty: none. */
  comment: string;
  /** Number of the event that it undoes; null: none. */
  undoes: number | null;
}

/** What a person did. */
export interface ReviewEventAsked {
  /** Made by whoever sends it, a UUID: sent twice, it counts once. */
  id: string;
  /** The person. */
  who: string;
  /** About proposals, or about the gold set. */
  mode?: "review" | "gold";
  /** accept, reject, skip, edit, draw, comment, undo; in the gold set also done, lock, reopen, and no skip. reject takes a drawn region away. */
  kind: "accept" | "reject" | "skip" | "edit" | "draw" | "comment" | "undo" | "done" | "lock" | "reopen";
  /** The image; empty for lock and reopen alone. */
  image?: string;
  /** The proposed or drawn region; for draw a new name, drawn-UUID. Null: the event is about the image. */
  item?: string | null;
  /** The `version` that the person had seen: of the item; where item is null, of the image; for lock and reopen, of the gold set. 409 where another event came since. */
  expected?: number;
  /** Of edit and draw: the region as it is to be. */
  after?: ReviewRegionAsked | null;
  /** In the person's own words. */
  comment?: string;
  /** How long it took. */
  seconds?: number | null;
  /** Of undo: number of the event. */
  undoes?: number | null;
}

/** Events, in order. */
export interface ReviewEvents {
  /** The first one first. */
  events: ReviewEvent[];
  /** Number of the last event of the review, whatever it is about; 0: there is none. */
  last: number;
  /** Whether there are further ones: ask after the last of these. */
  more: boolean;
}

/** Where something stood before an event, or after it. */
export interface ReviewFacts {
  /** open, accepted, done, locked, … */
  status: string;
  /** Of the region; null: there is none. */
  label: string | null;
  /** x0, y0, x1, y1 as shares; null: there is no region. */
  box: [number, number, number, number] | null;
  /** Whether a person had changed it. */
  edited: boolean;
}

/** How far the gold set is, and how it was drawn. */
export interface ReviewGold {
  /** How many images it has. */
  images: number;
  /** How many of them are annotated completely. */
  done: number;
  /** Whether nothing in it changes any more. */
  locked: boolean;
  /** How often its lock was taken away. */
  reopened: number;
  /** Whether it was drawn at random. */
  random: boolean;
  /** Of the draw; null: picked by hand. */
  seed: number | null;
  /** What its strata are; empty: there are none. */
  by: string;
  /** Number of its last event: what lock and reopen expect. */
  version: number;
}

/** The review that is served. */
export interface ReviewHealth {
  /** How many regions are proposed. */
  proposals: number;
  /** How many of them are not decided, skipped ones included. */
  open: number;
  /** The gold set; null: there is none. */
  gold: ReviewGold | null;
  /** Questions about maps, for people to answer. */
  tasks: number;
}

/** All events about an item, in order. */
export interface ReviewHistory {
  /** Where it stands now. */
  item: ReviewItem;
  /** The first one first. */
  events: ReviewEvent[];
  /** Number of the last event of the review, whatever it is about; 0: there is none. */
  last: number;
}

/** An image, what is annotated on it, and what was proposed and drawn. Whether it is in the gold set is not told: who reviews is to treat all images alike. */
export interface ReviewImage {
  /** Id of the image. */
  image: string;
  /** Of the image, in pixels; null: not known. */
  width: number | null;
  /** Of the image, in pixels; null: not known. */
  height: number | null;
  /** What was annotated from the start. */
  given: ReviewRegion[];
  /** Proposals, then what people drew. */
  items: ReviewItem[];
  /** Share of the best line's map outside all regions; null: not known. */
  attention: number | null;
  /** Number of the last event about the image; 0: none. */
  version: number;
  /** Number of the last event of the review, whatever it is about; 0: there is none. */
  last: number;
}

/** Where a review stands. */
export interface ReviewInfo {
  /** Of the review alone, whatever its folder is called. */
  id: string;
  /** Name of its folder. */
  folder: string;
  /** How many images. */
  images: number;
  /** How many regions are proposed. */
  items: number;
  /** Of them, not decided yet. */
  open: number;
  /** Of them, accepted, as they were or edited. */
  accepted: number;
  /** Of them, rejected. */
  rejected: number;
  /** Of them, put off. */
  skipped: number;
  /** Of them, accepted with another box or label. */
  edited: number;
  /** Regions that people added. */
  drawn: number;
  /** For an item; null: not measured. */
  seconds_median: number | null;
  /** In the order in which they began. */
  people: ReviewPerson[];
  /** What a region may be called. */
  labels: string[];
  /** The gold set; null: there is none. */
  gold: ReviewGold | null;
  /** Number of the last event of the review, whatever it is about; 0: there is none. */
  last: number;
  /** What made the proposals. */
  proposers: ReviewProposer[];
  /** By what the queue is ordered, in words. */
  order: string;
  /** What speaks against results of this review, in sentences. */
  warnings: string[];
}

/** A proposed or drawn region, and where it stands. */
export interface ReviewItem {
  /** Its own. */
  id: string;
  /** Id of the image. */
  image: string;
  /** Name of what is annotated. */
  label: string;
  /** Shape of the region: box, polygon, mask, point …; empty: the data are gone. */
  kind: "box" | "polygon" | "mask" | "point";
  /** As it stands: x0, y0, x1, y1 as shares of the image. */
  box: [number, number, number, number];
  /** Rings of x, y as shares, of regions that are no boxes. */
  outline: [number, number][][];
  /** Box as it was proposed; null: a person drew it. */
  proposed: [number, number, number, number] | null;
  /** Label as it was proposed; null: a person drew it. */
  proposed_label: string | null;
  /** Of the proposal, 0 to 1; null: a person drew it. */
  score: number | null;
  /** similarity, sam, imported, …; drawn by a person. */
  source: string;
  /** Index of the annotated region that it was made from; null: none. */
  prompt: number | null;
  /** What proposed it; empty: not known. */
  model: string;
  /** withdrawn: it was drawn, and that was undone; its box is the last it had. */
  status: "open" | "accepted" | "rejected" | "skipped" | "withdrawn";
  /** Whether a person changed its box or label. */
  edited: boolean;
  /** Number of its last event, which a decision expects; 0: none. */
  version: number;
  /** Number of the event that made it so; 0: none. */
  decision: number;
  /** Expected value of a decision: score × attention outside all regions. */
  value: number | null;
  /** Who decided last; null: nobody. */
  by: string | null;
  /** When; null: never. */
  at: string | null;
  /** The last comment; null: none. */
  comment: string | null;
}

/** What one person did. */
export interface ReviewPerson {
  /** The person. */
  who: string;
  /** Items that this person decided. */
  decisions: number;
  /** All that this person did, comments and undoing included. */
  events: number;
  /** For an item; null: not measured. */
  seconds_median: number | null;
}

/** What made proposals. */
export interface ReviewProposer {
  /** Its name; empty: not known. */
  model: string;
  /** Of its weights; empty: not known. */
  digest: string;
  /** How proposals were made. */
  source: string;
  /** How many are from it. */
  proposals: number;
  /** Evaluated models of the study that have the same weights. */
  shared: string[];
}

/** Items that are not decided, the most valuable first, skipped ones last. */
export interface ReviewQueue {
  /** How many there are, on all pages. */
  total: number;
  /** What was found, in order. */
  items: ReviewItem[];
  /** Number of the last event of the review, whatever it is about; 0: there is none. */
  last: number;
}

/** A region that was annotated from the start. */
export interface ReviewRegion {
  /** In the order of the annotation: the `prompt` of items. */
  index: number;
  /** Name of what is annotated. */
  label: string;
  /** Shape of the region: box, polygon, mask, point …; empty: the data are gone. */
  kind: "box" | "polygon" | "mask" | "point";
  /** x0, y0, x1, y1 as shares of the image. */
  box: [number, number, number, number];
  /** Rings of x, y as shares, of regions that are no boxes. */
  outline: [number, number][][];
}

/** A region as a person drew or changed it: a box or a polygon, a label, or both. */
export interface ReviewRegionAsked {
  /** x0, y0, x1, y1 as shares of the image. */
  box?: [number, number, number, number] | null;
  /** Corners x, y as shares. */
  polygon?: [number, number][] | null;
  /** What it shows. */
  label?: string | null;
}

/** An event that is kept, and what has become of what it is about. */
export interface ReviewSaved {
  /** As it is kept. */
  event: ReviewEvent;
  /** Where it stands now; null: no item is meant. */
  item: ReviewItem | null;
  /** Of what it is about: the item, the image, or the gold set; the next event about the same expects it. */
  version: number;
  /** Number of the last event of the review, whatever it is about; 0: there is none. */
  last: number;
  /** Whether it was there already, and nothing was written. */
  repeated: boolean;
}

/** Verdicts on whether maps depend on what the model learnt; they do not rank methods. */
export interface Sanity {
  /** What is measured, as /api/checks lists it. */
  measure: string;
  /** Whether maps are compared as they are, or by the size of their values. */
  reading: "signed" | "absolute";
  /** How weights were redrawn. */
  way: string;
  /** The lines of the table, in order. */
  lines: SanityLine[];
  /** What must be known to read the numbers. */
  note: string;
}

/** What becomes of a method's maps when the model forgets what it learnt. */
export interface SanityLine {
  /** Full name of the model. */
  model: string;
  /** Name of the method that made the maps. */
  method: string;
  /** What is explained; empty: no class. */
  target: string;
  /** Layer that was checked. */
  layer: number | null;
  /** Layer that the leaderboard reports for these maps; null without layers. */
  best_layer: number | null;
  /** Of maps of the trained and the randomised network; mean over images and draws. */
  similarity: number | null;
  /** Lower end of the 95% interval; null where there is none. */
  low: number | null;
  /** Upper end of the 95% interval; null where there is none. */
  high: number | null;
  /** Similarity to the map of another image. */
  cross: number | null;
  /** similarity − cross, paired by image. */
  difference: number | null;
  /** Lower end of its 95% interval. */
  difference_low: number | null;
  /** Upper end. */
  difference_high: number | null;
  /** fail: the map hardly depends on what was learnt. */
  verdict: "pass" | "fail" | "cannot tell";
  /** What the guide's rule says: below 0.3 reliable, above 0.6 unreliable; empty where there is no similarity. */
  guide: "reliable" | "between" | "unreliable" | "";
  /** What the guide's rule says of the cascade; empty where none is stored. */
  cascade: string;
  /** Similarity to the edges of the image. */
  edge: number | null;
  /** Similarity to the map of the same network trained from another seed. */
  training: number | null;
  /** How many images. */
  images: number;
  /** How many times weights were drawn. */
  seeds: number;
}

/** How much an image's score moved from a to b. */
export interface Shift {
  /** Id of the image. */
  image: string;
  /** Score of a on the image. */
  a: number | null;
  /** Score of b on the image. */
  b: number | null;
  /** b − a */
  shift: number | null;
}

/** A box, or a region of the annotation, to which patches are compared. */
export interface SimilarityAsked {
  /** x0, y0, x1, y1 as shares of the image. */
  box?: [number, number, number, number] | null;
  /** Index of a region, in place of a box. */
  region?: number | null;
  /** Full name of the model. */
  model?: string | null;
  /** From 0; the last features unless given. */
  layer?: number | null;
}

/** What missing labels may have done to the scores. */
export interface Sparsity {
  /** Name of the score: metric[@threshold]. */
  metric: string;
  /** Name of the line that the report is mostly about. */
  main: string;
  /** The main line against the best baseline. */
  best_baseline: BestBaseline;
  /** How many images. */
  images: number;
  /** The regions, or how many. */
  regions: number;
  /** What was found, in sentences. */
  findings: [string, string][];
  /** What would tell more, in sentences. */
  missing: string[];
  /** The numbers, by name. */
  tables: Record<string, Table>;
  /** What must be known to read the numbers. */
  note: string;
  /** What speaks against comparing the scores with one another; empty: nothing does. */
  warnings: string[];
}

/** How far the report that is being made has come. */
export interface SparsityProgress {
  /** Whether one is being made now; others wait for it. */
  making: boolean;
  /** Which score it is about. */
  metric: string | null;
  /** What is being done. */
  step: string | null;
  /** Of this step. */
  done: number;
  /** Of this step; the number of steps is not known beforehand. */
  all: number;
}

/** What was asked, of what, by what. */
export interface StudyInfo {
  /** What it is called. */
  name: string;
  /** Name of the folder of the store. */
  path: string;
  /** Every choice, as in the study's file. */
  study: Record<string, unknown>;
  /** The study's file. */
  yaml: string;
  /** Versions, digests, machine. */
  provenance: Record<string, unknown>;
  /** A line for each source of maps: tasks, done. */
  plan: Table;
  /** The models, or how many. */
  models: ModelInfo[];
  /** The methods. */
  methods: MethodInfo[];
  /** Of regions, with the labels above. */
  labels: LabelInfo[];
  /** Of images. */
  styles: LabelInfo[];
  /** Parts of the data. */
  splits: string[];
  /** How many images. */
  images: number;
  /** Those of the study. */
  percentiles: number[];
  /** Rules that were stored. */
  selections: string[];
  /** On which raster maps were scored. */
  resolution: string;
  /** What is chosen where nothing is asked for; null while nothing is stored. */
  default: Choice | null;
  /** Version of the images' files: with it as ?v= they may be kept for ever. */
  pictures: string;
  /** Names for /api/export/{name}. */
  downloads: string[];
}

/** Means over the images by percentile. */
export interface Sweep {
  /** Name of the score: metric[@threshold]. */
  metric: string;
  /** The lines of the table, in order. */
  lines: ProgressionLine[];
  /** What must be known to read the numbers. */
  note: string;
  /** What speaks against comparing the scores with one another; empty: nothing does. */
  warnings: string[];
}

/** Any table: columns and lines. */
export interface Table {
  /** Columns, from left to right. */
  columns: string[];
  /** Rows, from top to bottom; or how many. */
  rows: unknown[][];
  /** What must be known to read the numbers. */
  note: string;
}

export type HealthQuery = {
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
};

export const healthWords: readonly string[] = ["v"];

/** Whether the service is up */
export function health(query: HealthQuery = {}, asked?: Asked): Promise<Health> {
  return ask<Health>(urlOf("/api/health", query), asked);
}

export type ProgressQuery = {
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
};

export const progressWords: readonly string[] = ["v"];

/** How far the study has come */
export function progress(query: ProgressQuery = {}, asked?: Asked): Promise<Progress> {
  return ask<Progress>(urlOf("/api/progress", query), asked);
}

export type MetricsQuery = {
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
};

export const metricsWords: readonly string[] = ["v"];

/** All metrics */
export function metrics(query: MetricsQuery = {}, asked?: Asked): Promise<MetricTable> {
  return ask<MetricTable>(urlOf("/api/metrics", query), asked);
}

export type StudyQuery = {
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
};

export const studyWords: readonly string[] = ["v"];

/** What was asked, of what, by what */
export function study(query: StudyQuery = {}, asked?: Asked): Promise<StudyInfo> {
  return ask<StudyInfo>(urlOf("/api/study", query), asked);
}

export type ImagesQuery = {
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
  /** Full name of a model; a base stands for all its variants. */
  model?: string | null;
  /** Name of a method. */
  method?: string | null;
  /** From 0; heads are fused unless given. */
  head?: number | null | string;
  /** What is explained. */
  target?: string | null;
  /** Of a method that draws random numbers. */
  seed?: number | null | string;
  /** Any number between 0 and 100; 90 selects the top 10% of pixels. */
  percentile?: number | null | string;
  /** How pixels are selected: percentile, mass60 (or another share), mean, matched. */
  selection?: string | null;
  /** What pixels equal to the threshold get: a share each, or all. */
  ties?: "share" | "include" | null;
  /** From 0; or best (on the same images), last, or split (for each half of the images that which did best on the other half). */
  layer?: number | "best" | "last" | "split" | null | string;
  /** A score that the study stored, metric[@threshold]. */
  metric?: string | null;
  /** A stored score, or image, area, regions, split; the score that stands beside the images unless given. Undefined ones come last. */
  sort?: string | null;
  /** Smallest first. */
  ascending?: boolean | null;
  /** Only images with a region of this label, or of one below it. */
  label?: string | null;
  /** Only images that have this label. */
  style?: string | null;
  /** Only images of this part of the data. */
  split?: string | null;
  /** Only images with this in their id or labels. */
  text?: string | null;
  /** Only these images: ids, separated by commas. */
  ids?: string | null;
  /** Only images with this warning. */
  warning?: "cropped" | "undefined" | "dropped" | "no regions" | null;
  /** How many at most. */
  limit?: number | string | null;
  /** How many to leave out. */
  offset?: number | string | null;
};

export const imagesWords: readonly string[] = ["v", "model", "method", "head", "target", "seed", "percentile", "selection", "ties", "layer", "metric", "sort", "ascending", "label", "style", "split", "text", "ids", "warning", "limit", "offset"];

/** A page of images */
export function images(query: ImagesQuery = {}, asked?: Asked): Promise<ImagePage> {
  return ask<ImagePage>(urlOf("/api/images", query), asked);
}

export type ImageDetailQuery = {
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
};

export const imageDetailWords: readonly string[] = ["v"];

/** An image with its regions */
export function imageDetail(imageId: string, query: ImageDetailQuery = {}, asked?: Asked): Promise<ImageDetail> {
  return ask<ImageDetail>(urlOf(`/api/images/${encodeURIComponent(imageId)}`, query), asked);
}

export type ImageFileQuery = {
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
};

export const imageFileWords: readonly string[] = ["v"];

/** The picture of an image */
export function imageFileUrl(imageId: string, query: ImageFileQuery = {}): string {
  return urlOf(`/api/images/${encodeURIComponent(imageId)}/file`, query);
}

export type ImageThumbnailQuery = {
  /** Pixels of the longer side, at most. */
  size?: number | string | null;
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
};

export const imageThumbnailWords: readonly string[] = ["size", "v"];

/** A small picture of an image */
export function imageThumbnailUrl(imageId: string, query: ImageThumbnailQuery = {}): string {
  return urlOf(`/api/images/${encodeURIComponent(imageId)}/thumbnail`, query);
}

export type GetMapQuery = {
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
  /** Full name of a model; a base stands for all its variants. */
  model?: string | null;
  /** Name of a method. */
  method?: string | null;
  /** From 0; heads are fused unless given. */
  head?: number | null | string;
  /** What is explained. */
  target?: string | null;
  /** Of a method that draws random numbers. */
  seed?: number | null | string;
  /** Any number between 0 and 100; 90 selects the top 10% of pixels. */
  percentile?: number | null | string;
  /** How pixels are selected: percentile, mass60 (or another share), mean, matched. */
  selection?: string | null;
  /** What pixels equal to the threshold get: a share each, or all. */
  ties?: "share" | "include" | null;
  /** From 0. */
  layer?: number | null | string;
};

export const getMapWords: readonly string[] = ["v", "model", "method", "head", "target", "seed", "percentile", "selection", "ties", "layer"];

/** One map, as numbers */
export function getMap(imageId: string, query: GetMapQuery = {}, asked?: Asked): Promise<ArrayBuffer> {
  return bytesOf(urlOf(`/api/maps/${encodeURIComponent(imageId)}`, query), asked);
}

export type GetMapHeaderQuery = {
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
  /** Full name of a model; a base stands for all its variants. */
  model?: string | null;
  /** Name of a method. */
  method?: string | null;
  /** From 0; heads are fused unless given. */
  head?: number | null | string;
  /** What is explained. */
  target?: string | null;
  /** Of a method that draws random numbers. */
  seed?: number | null | string;
  /** Any number between 0 and 100; 90 selects the top 10% of pixels. */
  percentile?: number | null | string;
  /** How pixels are selected: percentile, mass60 (or another share), mean, matched. */
  selection?: string | null;
  /** What pixels equal to the threshold get: a share each, or all. */
  ties?: "share" | "include" | null;
  /** From 0. */
  layer?: number | null | string;
};

export const getMapHeaderWords: readonly string[] = ["v", "model", "method", "head", "target", "seed", "percentile", "selection", "ties", "layer"];

/** What a map is, without its numbers */
export function getMapHeader(imageId: string, query: GetMapHeaderQuery = {}, asked?: Asked): Promise<MapHeader> {
  return ask<MapHeader>(urlOf(`/api/maps/${encodeURIComponent(imageId)}/header`, query), asked);
}

export type GetHeatmapQuery = {
  /** Of the map; inferno unless given, for signed maps blue, white, red. */
  colour?: "inferno" | "viridis" | "greys" | "rdbu" | null;
  /** Interpolate between the cells of the map; else they are shown. */
  smooth?: boolean | null;
  /** Colours mean the same on all images; else on this one alone. */
  fixed?: boolean | null;
  /** Pixels of the longer side. */
  size?: number | string | null;
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
  /** Full name of a model; a base stands for all its variants. */
  model?: string | null;
  /** Name of a method. */
  method?: string | null;
  /** From 0; heads are fused unless given. */
  head?: number | null | string;
  /** What is explained. */
  target?: string | null;
  /** Of a method that draws random numbers. */
  seed?: number | null | string;
  /** Any number between 0 and 100; 90 selects the top 10% of pixels. */
  percentile?: number | null | string;
  /** How pixels are selected: percentile, mass60 (or another share), mean, matched. */
  selection?: string | null;
  /** What pixels equal to the threshold get: a share each, or all. */
  ties?: "share" | "include" | null;
  /** From 0. */
  layer?: number | null | string;
};

export const getHeatmapWords: readonly string[] = ["colour", "smooth", "fixed", "size", "v", "model", "method", "head", "target", "seed", "percentile", "selection", "ties", "layer"];

/** One map in colours */
export function getHeatmapUrl(imageId: string, query: GetHeatmapQuery = {}): string {
  return urlOf(`/api/maps/${encodeURIComponent(imageId)}/heatmap.png`, query);
}

export type GetOverlayQuery = {
  /** How much of the image the colours cover. */
  opacity?: number | string | null;
  /** Of the map; inferno unless given, for signed maps blue, white, red. */
  colour?: "inferno" | "viridis" | "greys" | "rdbu" | null;
  /** Draw the edges of the regions. */
  outline?: boolean | null;
  /** Interpolate between the cells of the map; else they are shown. */
  smooth?: boolean | null;
  /** Colours mean the same on all images; else on this one alone. */
  fixed?: boolean | null;
  /** Pixels of the longer side. */
  size?: number | string | null;
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
  /** Full name of a model; a base stands for all its variants. */
  model?: string | null;
  /** Name of a method. */
  method?: string | null;
  /** From 0; heads are fused unless given. */
  head?: number | null | string;
  /** What is explained. */
  target?: string | null;
  /** Of a method that draws random numbers. */
  seed?: number | null | string;
  /** Any number between 0 and 100; 90 selects the top 10% of pixels. */
  percentile?: number | null | string;
  /** How pixels are selected: percentile, mass60 (or another share), mean, matched. */
  selection?: string | null;
  /** What pixels equal to the threshold get: a share each, or all. */
  ties?: "share" | "include" | null;
  /** From 0. */
  layer?: number | null | string;
};

export const getOverlayWords: readonly string[] = ["opacity", "colour", "outline", "smooth", "fixed", "size", "v", "model", "method", "head", "target", "seed", "percentile", "selection", "ties", "layer"];

/** One map in colours over its image */
export function getOverlayUrl(imageId: string, query: GetOverlayQuery = {}): string {
  return urlOf(`/api/maps/${encodeURIComponent(imageId)}/overlay.png`, query);
}

export type GetImageMetricsQuery = {
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
  /** Full name of a model; a base stands for all its variants. */
  model?: string | null;
  /** Name of a method. */
  method?: string | null;
  /** From 0; heads are fused unless given. */
  head?: number | null | string;
  /** What is explained. */
  target?: string | null;
  /** Of a method that draws random numbers. */
  seed?: number | null | string;
  /** Any number between 0 and 100; 90 selects the top 10% of pixels. */
  percentile?: number | null | string;
  /** How pixels are selected: percentile, mass60 (or another share), mean, matched. */
  selection?: string | null;
  /** What pixels equal to the threshold get: a share each, or all. */
  ties?: "share" | "include" | null;
  /** From 0. */
  layer?: number | null | string;
};

export const getImageMetricsWords: readonly string[] = ["v", "model", "method", "head", "target", "seed", "percentile", "selection", "ties", "layer"];

/** Scores of one map against all regions of its image */
export function getImageMetrics(imageId: string, query: GetImageMetricsQuery = {}, asked?: Asked): Promise<ImageMetrics> {
  return ask<ImageMetrics>(urlOf(`/api/metrics/${encodeURIComponent(imageId)}`, query), asked);
}

export type GetRegionMetricsQuery = {
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
  /** Full name of a model; a base stands for all its variants. */
  model?: string | null;
  /** Name of a method. */
  method?: string | null;
  /** From 0; heads are fused unless given. */
  head?: number | null | string;
  /** What is explained. */
  target?: string | null;
  /** Of a method that draws random numbers. */
  seed?: number | null | string;
  /** Any number between 0 and 100; 90 selects the top 10% of pixels. */
  percentile?: number | null | string;
  /** How pixels are selected: percentile, mass60 (or another share), mean, matched. */
  selection?: string | null;
  /** What pixels equal to the threshold get: a share each, or all. */
  ties?: "share" | "include" | null;
  /** From 0. */
  layer?: number | null | string;
};

export const getRegionMetricsWords: readonly string[] = ["v", "model", "method", "head", "target", "seed", "percentile", "selection", "ties", "layer"];

/** Scores of one map against one region */
export function getRegionMetrics(imageId: string, bboxIndex: number, query: GetRegionMetricsQuery = {}, asked?: Asked): Promise<ImageMetrics> {
  return ask<ImageMetrics>(urlOf(`/api/metrics/${encodeURIComponent(imageId)}/bbox/${encodeURIComponent(bboxIndex)}`, query), asked);
}

export type GetImageLayersQuery = {
  /** Index of a region; all of them together unless given. */
  region?: number | null | string;
  /** A metric of /api/metrics, iou unless given; a threshold behind an @ takes the place of percentile and selection. */
  metric?: string | null;
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
  /** Full name of a model; a base stands for all its variants. */
  model?: string | null;
  /** Name of a method. */
  method?: string | null;
  /** From 0; heads are fused unless given. */
  head?: number | null | string;
  /** What is explained. */
  target?: string | null;
  /** Of a method that draws random numbers. */
  seed?: number | null | string;
  /** Any number between 0 and 100; 90 selects the top 10% of pixels. */
  percentile?: number | null | string;
  /** How pixels are selected: percentile, mass60 (or another share), mean, matched. */
  selection?: string | null;
  /** What pixels equal to the threshold get: a share each, or all. */
  ties?: "share" | "include" | null;
  /** From 0. */
  layer?: number | null | string;
};

export const getImageLayersWords: readonly string[] = ["region", "metric", "v", "model", "method", "head", "target", "seed", "percentile", "selection", "ties", "layer"];

/** One image's score over the layers */
export function getImageLayers(imageId: string, query: GetImageLayersQuery = {}, asked?: Asked): Promise<ImageLayers> {
  return ask<ImageLayers>(urlOf(`/api/metrics/${encodeURIComponent(imageId)}/layers`, query), asked);
}

export type GetImagePercentilesQuery = {
  /** Index of a region; all of them together unless given. */
  region?: number | null | string;
  /** A metric of /api/metrics, iou unless given; a threshold behind an @ takes the place of percentile and selection. */
  metric?: string | null;
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
  /** Full name of a model; a base stands for all its variants. */
  model?: string | null;
  /** Name of a method. */
  method?: string | null;
  /** From 0; heads are fused unless given. */
  head?: number | null | string;
  /** What is explained. */
  target?: string | null;
  /** Of a method that draws random numbers. */
  seed?: number | null | string;
  /** Any number between 0 and 100; 90 selects the top 10% of pixels. */
  percentile?: number | null | string;
  /** How pixels are selected: percentile, mass60 (or another share), mean, matched. */
  selection?: string | null;
  /** What pixels equal to the threshold get: a share each, or all. */
  ties?: "share" | "include" | null;
  /** From 0. */
  layer?: number | null | string;
};

export const getImagePercentilesWords: readonly string[] = ["region", "metric", "v", "model", "method", "head", "target", "seed", "percentile", "selection", "ties", "layer"];

/** One image's score over the percentiles */
export function getImagePercentiles(imageId: string, query: GetImagePercentilesQuery = {}, asked?: Asked): Promise<ImagePercentiles> {
  return ask<ImagePercentiles>(urlOf(`/api/metrics/${encodeURIComponent(imageId)}/percentiles`, query), asked);
}

export type GetImageModelsQuery = {
  /** Index of a region; all of them together unless given. */
  region?: number | null | string;
  /** A metric of /api/metrics, iou unless given; a threshold behind an @ takes the place of percentile and selection. */
  metric?: string | null;
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
  /** Full name of a model; a base stands for all its variants. */
  model?: string | null;
  /** Name of a method. */
  method?: string | null;
  /** From 0; heads are fused unless given. */
  head?: number | null | string;
  /** What is explained. */
  target?: string | null;
  /** Of a method that draws random numbers. */
  seed?: number | null | string;
  /** Any number between 0 and 100; 90 selects the top 10% of pixels. */
  percentile?: number | null | string;
  /** How pixels are selected: percentile, mass60 (or another share), mean, matched. */
  selection?: string | null;
  /** What pixels equal to the threshold get: a share each, or all. */
  ties?: "share" | "include" | null;
  /** From 0. */
  layer?: number | null | string;
};

export const getImageModelsWords: readonly string[] = ["region", "metric", "v", "model", "method", "head", "target", "seed", "percentile", "selection", "ties", "layer"];

/** All models on one image */
export function getImageModels(imageId: string, query: GetImageModelsQuery = {}, asked?: Asked): Promise<ImageModels> {
  return ask<ImageModels>(urlOf(`/api/metrics/${encodeURIComponent(imageId)}/models`, query), asked);
}

export type GetImageHeadsQuery = {
  /** Index of a region; all of them together unless given. */
  region?: number | null | string;
  /** A metric of /api/metrics, iou unless given; a threshold behind an @ takes the place of percentile and selection. */
  metric?: string | null;
  /** Heads of all layers; else of the layer of the choice alone. */
  every_layer?: boolean | null;
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
  /** Full name of a model; a base stands for all its variants. */
  model?: string | null;
  /** Name of a method. */
  method?: string | null;
  /** From 0; heads are fused unless given. */
  head?: number | null | string;
  /** What is explained. */
  target?: string | null;
  /** Of a method that draws random numbers. */
  seed?: number | null | string;
  /** Any number between 0 and 100; 90 selects the top 10% of pixels. */
  percentile?: number | null | string;
  /** How pixels are selected: percentile, mass60 (or another share), mean, matched. */
  selection?: string | null;
  /** What pixels equal to the threshold get: a share each, or all. */
  ties?: "share" | "include" | null;
  /** From 0. */
  layer?: number | null | string;
};

export const getImageHeadsWords: readonly string[] = ["region", "metric", "every_layer", "v", "model", "method", "head", "target", "seed", "percentile", "selection", "ties", "layer"];

/** The heads on one image */
export function getImageHeads(imageId: string, query: GetImageHeadsQuery = {}, asked?: Asked): Promise<ImageHeads> {
  return ask<ImageHeads>(urlOf(`/api/metrics/${encodeURIComponent(imageId)}/heads`, query), asked);
}

export type SimilarityQuery = {
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
};

export const similarityWords: readonly string[] = ["v"];

/** How similar patches are to a region */
export function similarity(imageId: string, body: SimilarityAsked, query: SimilarityQuery = {}, asked?: Asked): Promise<ArrayBuffer> {
  return bytesOf(urlOf(`/api/similarity/${encodeURIComponent(imageId)}`, query), { ...asked, method: "POST", body });
}

export type LeaderboardQuery = {
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
  /** Full name of a model; a base stands for all its variants. */
  model?: string | null;
  /** Name of a method. */
  method?: string | null;
  /** From 0; heads are fused unless given. */
  head?: number | null | string;
  /** What is explained. */
  target?: string | null;
  /** Of a method that draws random numbers. */
  seed?: number | null | string;
  /** Any number between 0 and 100; 90 selects the top 10% of pixels. */
  percentile?: number | null | string;
  /** How pixels are selected: percentile, mass60 (or another share), mean, matched. */
  selection?: string | null;
  /** What pixels equal to the threshold get: a share each, or all. */
  ties?: "share" | "include" | null;
  /** From 0; or best (on the same images), last, or split (for each half of the images that which did best on the other half). */
  layer?: number | "best" | "last" | "split" | null | string;
  /** A score that the study stored, metric[@threshold]. */
  metric?: string | null;
};

export const leaderboardWords: readonly string[] = ["v", "model", "method", "head", "target", "seed", "percentile", "selection", "ties", "layer", "metric"];

/** All models and methods, the best first */
export function leaderboard(query: LeaderboardQuery = {}, asked?: Asked): Promise<Leaderboard> {
  return ask<Leaderboard>(urlOf("/api/leaderboard", query), asked);
}

export type LayersQuery = {
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
  /** Full name of a model; a base stands for all its variants. */
  model?: string | null;
  /** Name of a method. */
  method?: string | null;
  /** From 0; heads are fused unless given. */
  head?: number | null | string;
  /** What is explained. */
  target?: string | null;
  /** Of a method that draws random numbers. */
  seed?: number | null | string;
  /** Any number between 0 and 100; 90 selects the top 10% of pixels. */
  percentile?: number | null | string;
  /** How pixels are selected: percentile, mass60 (or another share), mean, matched. */
  selection?: string | null;
  /** What pixels equal to the threshold get: a share each, or all. */
  ties?: "share" | "include" | null;
  /** From 0; or best (on the same images), last, or split (for each half of the images that which did best on the other half). */
  layer?: number | "best" | "last" | "split" | null | string;
  /** A score that the study stored, metric[@threshold]. */
  metric?: string | null;
};

export const layersWords: readonly string[] = ["v", "model", "method", "head", "target", "seed", "percentile", "selection", "ties", "layer", "metric"];

/** Scores by layer */
export function layers(query: LayersQuery = {}, asked?: Asked): Promise<Progression> {
  return ask<Progression>(urlOf("/api/layers", query), asked);
}

export type PercentilesQuery = {
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
  /** Full name of a model; a base stands for all its variants. */
  model?: string | null;
  /** Name of a method. */
  method?: string | null;
  /** From 0; heads are fused unless given. */
  head?: number | null | string;
  /** What is explained. */
  target?: string | null;
  /** Of a method that draws random numbers. */
  seed?: number | null | string;
  /** Any number between 0 and 100; 90 selects the top 10% of pixels. */
  percentile?: number | null | string;
  /** How pixels are selected: percentile, mass60 (or another share), mean, matched. */
  selection?: string | null;
  /** What pixels equal to the threshold get: a share each, or all. */
  ties?: "share" | "include" | null;
  /** From 0; or best (on the same images), last, or split (for each half of the images that which did best on the other half). */
  layer?: number | "best" | "last" | "split" | null | string;
  /** A score that the study stored, metric[@threshold]. */
  metric?: string | null;
};

export const percentilesWords: readonly string[] = ["v", "model", "method", "head", "target", "seed", "percentile", "selection", "ties", "layer", "metric"];

/** Scores by percentile */
export function percentiles(query: PercentilesQuery = {}, asked?: Asked): Promise<Sweep> {
  return ask<Sweep>(urlOf("/api/percentiles", query), asked);
}

export type RankingQuery = {
  /** Scores to rank by, separated by commas; the usual ones unless given. */
  metrics?: string | null;
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
  /** Full name of a model; a base stands for all its variants. */
  model?: string | null;
  /** Name of a method. */
  method?: string | null;
  /** From 0; heads are fused unless given. */
  head?: number | null | string;
  /** What is explained. */
  target?: string | null;
  /** Of a method that draws random numbers. */
  seed?: number | null | string;
  /** Any number between 0 and 100; 90 selects the top 10% of pixels. */
  percentile?: number | null | string;
  /** How pixels are selected: percentile, mass60 (or another share), mean, matched. */
  selection?: string | null;
  /** What pixels equal to the threshold get: a share each, or all. */
  ties?: "share" | "include" | null;
  /** From 0; or best (on the same images), last, or split (for each half of the images that which did best on the other half). */
  layer?: number | "best" | "last" | "split" | null | string;
  /** A score that the study stored, metric[@threshold]. */
  metric?: string | null;
};

export const rankingWords: readonly string[] = ["metrics", "v", "model", "method", "head", "target", "seed", "percentile", "selection", "ties", "layer", "metric"];

/** Ranks of models and methods by several scores */
export function ranking(query: RankingQuery = {}, asked?: Asked): Promise<Ranking> {
  return ask<Ranking>(urlOf("/api/ranking", query), asked);
}

export type LabelBreakdownQuery = {
  /** Add lines for the labels above; each counts all regions below it. */
  ancestors?: boolean | null;
  /** Leave out labels with fewer regions, or images. */
  min_count?: number | string | null;
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
  /** Full name of a model; a base stands for all its variants. */
  model?: string | null;
  /** Name of a method. */
  method?: string | null;
  /** From 0; heads are fused unless given. */
  head?: number | null | string;
  /** What is explained. */
  target?: string | null;
  /** Of a method that draws random numbers. */
  seed?: number | null | string;
  /** Any number between 0 and 100; 90 selects the top 10% of pixels. */
  percentile?: number | null | string;
  /** How pixels are selected: percentile, mass60 (or another share), mean, matched. */
  selection?: string | null;
  /** What pixels equal to the threshold get: a share each, or all. */
  ties?: "share" | "include" | null;
  /** From 0; or best (on the same images), last, or split (for each half of the images that which did best on the other half). */
  layer?: number | "best" | "last" | "split" | null | string;
  /** A score that the study stored, metric[@threshold]. */
  metric?: string | null;
};

export const labelBreakdownWords: readonly string[] = ["ancestors", "min_count", "v", "model", "method", "head", "target", "seed", "percentile", "selection", "ties", "layer", "metric"];

/** Scores of regions by label */
export function labelBreakdown(query: LabelBreakdownQuery = {}, asked?: Asked): Promise<Breakdown> {
  return ask<Breakdown>(urlOf("/api/breakdown/labels", query), asked);
}

export type StyleBreakdownQuery = {
  /** Leave out labels with fewer regions, or images. */
  min_count?: number | string | null;
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
  /** Full name of a model; a base stands for all its variants. */
  model?: string | null;
  /** Name of a method. */
  method?: string | null;
  /** From 0; heads are fused unless given. */
  head?: number | null | string;
  /** What is explained. */
  target?: string | null;
  /** Of a method that draws random numbers. */
  seed?: number | null | string;
  /** Any number between 0 and 100; 90 selects the top 10% of pixels. */
  percentile?: number | null | string;
  /** How pixels are selected: percentile, mass60 (or another share), mean, matched. */
  selection?: string | null;
  /** What pixels equal to the threshold get: a share each, or all. */
  ties?: "share" | "include" | null;
  /** From 0; or best (on the same images), last, or split (for each half of the images that which did best on the other half). */
  layer?: number | "best" | "last" | "split" | null | string;
  /** A score that the study stored, metric[@threshold]. */
  metric?: string | null;
};

export const styleBreakdownWords: readonly string[] = ["min_count", "v", "model", "method", "head", "target", "seed", "percentile", "selection", "ties", "layer", "metric"];

/** Scores of images by label */
export function styleBreakdown(query: StyleBreakdownQuery = {}, asked?: Asked): Promise<Breakdown> {
  return ask<Breakdown>(urlOf("/api/breakdown/styles", query), asked);
}

export type HeadRankingQuery = {
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
  /** Full name of a model; a base stands for all its variants. */
  model?: string | null;
  /** Name of a method. */
  method?: string | null;
  /** From 0; heads are fused unless given. */
  head?: number | null | string;
  /** What is explained. */
  target?: string | null;
  /** Of a method that draws random numbers. */
  seed?: number | null | string;
  /** Any number between 0 and 100; 90 selects the top 10% of pixels. */
  percentile?: number | null | string;
  /** How pixels are selected: percentile, mass60 (or another share), mean, matched. */
  selection?: string | null;
  /** What pixels equal to the threshold get: a share each, or all. */
  ties?: "share" | "include" | null;
  /** From 0; or best (on the same images), last, or split (for each half of the images that which did best on the other half). */
  layer?: number | "best" | "last" | "split" | null | string;
  /** A score that the study stored, metric[@threshold]. */
  metric?: string | null;
};

export const headRankingWords: readonly string[] = ["v", "model", "method", "head", "target", "seed", "percentile", "selection", "ties", "layer", "metric"];

/** The heads of a model, the best first */
export function headRanking(query: HeadRankingQuery = {}, asked?: Asked): Promise<HeadRanking> {
  return ask<HeadRanking>(urlOf("/api/heads", query), asked);
}

export type HeadMatrixQuery = {
  /** Leave out labels with fewer regions, or images. */
  min_count?: number | string | null;
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
  /** Full name of a model; a base stands for all its variants. */
  model?: string | null;
  /** Name of a method. */
  method?: string | null;
  /** From 0; heads are fused unless given. */
  head?: number | null | string;
  /** What is explained. */
  target?: string | null;
  /** Of a method that draws random numbers. */
  seed?: number | null | string;
  /** Any number between 0 and 100; 90 selects the top 10% of pixels. */
  percentile?: number | null | string;
  /** How pixels are selected: percentile, mass60 (or another share), mean, matched. */
  selection?: string | null;
  /** What pixels equal to the threshold get: a share each, or all. */
  ties?: "share" | "include" | null;
  /** From 0; or best (on the same images), last, or split (for each half of the images that which did best on the other half). */
  layer?: number | "best" | "last" | "split" | null | string;
  /** A score that the study stored, metric[@threshold]. */
  metric?: string | null;
};

export const headMatrixWords: readonly string[] = ["min_count", "v", "model", "method", "head", "target", "seed", "percentile", "selection", "ties", "layer", "metric"];

/** Heads by labels of regions */
export function headMatrix(query: HeadMatrixQuery = {}, asked?: Asked): Promise<HeadMatrix> {
  return ask<HeadMatrix>(urlOf("/api/heads/matrix", query), asked);
}

export type GetExemplarsQuery = {
  /** Label of regions, or one above theirs: list these in place of images. */
  label?: string | null;
  /** How many at most. */
  limit?: number | string | null;
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
  /** Full name of a model; a base stands for all its variants. */
  model?: string | null;
  /** Name of a method. */
  method?: string | null;
  /** From 0; heads are fused unless given. */
  head?: number | null | string;
  /** What is explained. */
  target?: string | null;
  /** Of a method that draws random numbers. */
  seed?: number | null | string;
  /** Any number between 0 and 100; 90 selects the top 10% of pixels. */
  percentile?: number | null | string;
  /** How pixels are selected: percentile, mass60 (or another share), mean, matched. */
  selection?: string | null;
  /** What pixels equal to the threshold get: a share each, or all. */
  ties?: "share" | "include" | null;
  /** From 0; or best (on the same images), last, or split (for each half of the images that which did best on the other half). */
  layer?: number | "best" | "last" | "split" | null | string;
  /** A score that the study stored, metric[@threshold]. */
  metric?: string | null;
};

export const getExemplarsWords: readonly string[] = ["label", "limit", "v", "model", "method", "head", "target", "seed", "percentile", "selection", "ties", "layer", "metric"];

/** Images on which a head does best */
export function getExemplars(query: GetExemplarsQuery = {}, asked?: Asked): Promise<Exemplars> {
  return ask<Exemplars>(urlOf("/api/heads/exemplars", query), asked);
}

export type CompareQuery = {
  /** A model (or variant), a method, or the number of a layer. */
  a: string | null;
  /** A model (or variant), a method, or the number of a layer. */
  b: string | null;
  /** What a and b are. */
  by?: "model" | "method" | "layer" | null;
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
  /** Full name of a model; a base stands for all its variants. */
  model?: string | null;
  /** Name of a method. */
  method?: string | null;
  /** From 0; heads are fused unless given. */
  head?: number | null | string;
  /** What is explained. */
  target?: string | null;
  /** Of a method that draws random numbers. */
  seed?: number | null | string;
  /** Any number between 0 and 100; 90 selects the top 10% of pixels. */
  percentile?: number | null | string;
  /** How pixels are selected: percentile, mass60 (or another share), mean, matched. */
  selection?: string | null;
  /** What pixels equal to the threshold get: a share each, or all. */
  ties?: "share" | "include" | null;
  /** From 0; or best (on the same images), last, or split (for each half of the images that which did best on the other half). */
  layer?: number | "best" | "last" | "split" | null | string;
  /** A score that the study stored, metric[@threshold]. */
  metric?: string | null;
};

export const compareWords: readonly string[] = ["a", "b", "by", "v", "model", "method", "head", "target", "seed", "percentile", "selection", "ties", "layer", "metric"];

/** Two models, variants, methods or layers, image by image */
export function compare(query: CompareQuery, asked?: Asked): Promise<Comparison> {
  return ask<Comparison>(urlOf("/api/compare", query), asked);
}

export type CompareShiftQuery = {
  /** A model (or variant), a method, or the number of a layer. */
  a: string | null;
  /** A model (or variant), a method, or the number of a layer. */
  b: string | null;
  /** What a and b are. */
  by?: "model" | "method" | "layer" | null;
  /** raw: values as they are; share: each divided by the sum of its map. */
  scale?: "raw" | "share" | null;
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
  /** Full name of a model; a base stands for all its variants. */
  model?: string | null;
  /** Name of a method. */
  method?: string | null;
  /** From 0; heads are fused unless given. */
  head?: number | null | string;
  /** What is explained. */
  target?: string | null;
  /** Of a method that draws random numbers. */
  seed?: number | null | string;
  /** Any number between 0 and 100; 90 selects the top 10% of pixels. */
  percentile?: number | null | string;
  /** How pixels are selected: percentile, mass60 (or another share), mean, matched. */
  selection?: string | null;
  /** What pixels equal to the threshold get: a share each, or all. */
  ties?: "share" | "include" | null;
  /** From 0. */
  layer?: number | null | string;
};

export const compareShiftWords: readonly string[] = ["a", "b", "by", "scale", "v", "model", "method", "head", "target", "seed", "percentile", "selection", "ties", "layer"];

/** What b has more than a on one image, as a map */
export function compareShift(imageId: string, query: CompareShiftQuery, asked?: Asked): Promise<ArrayBuffer> {
  return bytesOf(urlOf(`/api/compare/${encodeURIComponent(imageId)}/shift`, query), asked);
}

export type SparsityQuery = {
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
  /** Full name of a model; a base stands for all its variants. */
  model?: string | null;
  /** Name of a method. */
  method?: string | null;
  /** From 0; heads are fused unless given. */
  head?: number | null | string;
  /** What is explained. */
  target?: string | null;
  /** Of a method that draws random numbers. */
  seed?: number | null | string;
  /** Any number between 0 and 100; 90 selects the top 10% of pixels. */
  percentile?: number | null | string;
  /** How pixels are selected: percentile, mass60 (or another share), mean, matched. */
  selection?: string | null;
  /** What pixels equal to the threshold get: a share each, or all. */
  ties?: "share" | "include" | null;
  /** From 0; or best (on the same images), last, or split (for each half of the images that which did best on the other half). */
  layer?: number | "best" | "last" | "split" | null | string;
  /** A score that the study stored, metric[@threshold]. */
  metric?: string | null;
};

export const sparsityWords: readonly string[] = ["v", "model", "method", "head", "target", "seed", "percentile", "selection", "ties", "layer", "metric"];

/** What missing labels may have done to the scores */
export function sparsity(query: SparsityQuery = {}, asked?: Asked): Promise<Sparsity> {
  return ask<Sparsity>(urlOf("/api/sparsity", query), asked);
}

export type SparsityProgressQuery = {
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
};

export const sparsityProgressWords: readonly string[] = ["v"];

/** How far the sparsity report has come that is being made */
export function sparsityProgress(query: SparsityProgressQuery = {}, asked?: Asked): Promise<SparsityProgress> {
  return ask<SparsityProgress>(urlOf("/api/sparsity/progress", query), asked);
}

export type DetectionsQuery = {
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
};

export const detectionsWords: readonly string[] = ["v"];

/** The stored evaluations of detections */
export function detections(query: DetectionsQuery = {}, asked?: Asked): Promise<DetectionList> {
  return ask<DetectionList>(urlOf("/api/detection", query), asked);
}

export type DetectionQuery = {
  /** Lowest score that counts; that of the stored confusion matrix unless given. */
  confidence?: number | null | string;
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
};

export const detectionWords: readonly string[] = ["confidence", "v"];

/** All of one evaluation of detections */
export function detection(name: string, query: DetectionQuery = {}, asked?: Asked): Promise<Detection> {
  return ask<Detection>(urlOf(`/api/detection/${encodeURIComponent(name)}`, query), asked);
}

export type DetectionImagesQuery = {
  /** Name of a class, or Background: a row or column of the confusion matrix. */
  true?: string | null;
  /** Name of a class, or Background: a row or column of the confusion matrix. */
  predicted?: string | null;
  /** Count these; errors unless given. */
  state?: "TP" | "FP" | "FN" | null;
  /** Lowest score that counts; that of the stored confusion matrix unless given. */
  confidence?: number | null | string;
  /** How many at most. */
  limit?: number | string | null;
  /** How many to leave out first. */
  offset?: number | string | null;
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
};

export const detectionImagesWords: readonly string[] = ["true", "predicted", "state", "confidence", "limit", "offset", "v"];

/** Images of an evaluation: behind a cell of the confusion matrix, or with most errors */
export function detectionImages(name: string, query: DetectionImagesQuery = {}, asked?: Asked): Promise<DetectionImages> {
  return ask<DetectionImages>(urlOf(`/api/detection/${encodeURIComponent(name)}/images`, query), asked);
}

export type DetectionImageQuery = {
  /** Lowest score that counts; that of the stored confusion matrix unless given. */
  confidence?: number | null | string;
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
};

export const detectionImageWords: readonly string[] = ["confidence", "v"];

/** Ground truth and detections of one image */
export function detectionImage(name: string, imageId: string, query: DetectionImageQuery = {}, asked?: Asked): Promise<DetectionImage> {
  return ask<DetectionImage>(urlOf(`/api/detection/${encodeURIComponent(name)}/images/${encodeURIComponent(imageId)}`, query), asked);
}

export type ExportFileQuery = {
  /** Image of a figure of one image. */
  image?: string | null;
  /** Of labels.csv: add the labels above. */
  ancestors?: boolean | null;
  /** Dots per inch of PNG. */
  dpi?: number | string | null;
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
  /** Full name of a model; a base stands for all its variants. */
  model?: string | null;
  /** Name of a method. */
  method?: string | null;
  /** From 0; heads are fused unless given. */
  head?: number | null | string;
  /** What is explained. */
  target?: string | null;
  /** Of a method that draws random numbers. */
  seed?: number | null | string;
  /** Any number between 0 and 100; 90 selects the top 10% of pixels. */
  percentile?: number | null | string;
  /** How pixels are selected: percentile, mass60 (or another share), mean, matched. */
  selection?: string | null;
  /** What pixels equal to the threshold get: a share each, or all. */
  ties?: "share" | "include" | null;
  /** From 0; or best (on the same images), last, or split (for each half of the images that which did best on the other half). */
  layer?: number | "best" | "last" | "split" | null | string;
  /** A score that the study stored, metric[@threshold]. */
  metric?: string | null;
};

export const exportFileWords: readonly string[] = ["image", "ancestors", "dpi", "v", "model", "method", "head", "target", "seed", "percentile", "selection", "ties", "layer", "metric"];

/** A table, a text or a figure as a file */
export function exportFileUrl(name: string, query: ExportFileQuery = {}): string {
  return urlOf(`/api/export/${encodeURIComponent(name)}`, query);
}

export type ChecksQuery = {
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
};

export const checksWords: readonly string[] = ["v"];

/** Checks of whether maps are about the model: what is stored */
export function checks(query: ChecksQuery = {}, asked?: Asked): Promise<CheckList> {
  return ask<CheckList>(urlOf("/api/checks", query), asked);
}

export type CheckSanityQuery = {
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
  /** Full name of a model; a base stands for all its variants. */
  model?: string | null;
  /** Name of a method. */
  method?: string | null;
  /** What is explained. */
  target?: string | null;
  /** A score that the study stored, metric[@threshold]. */
  metric?: string | null;
  /** By what maps are compared, or what is measured; as /api/checks lists them. */
  measure?: string | null;
  /** Whether maps are compared as they are, or by size of values. */
  reading?: "signed" | "absolute" | null;
  /** How weights were redrawn: full, top-down, bottom-up, single. */
  way?: string | null;
};

export const checkSanityWords: readonly string[] = ["v", "model", "method", "target", "metric", "measure", "reading", "way"];

/** Verdicts: do maps depend on what the model learnt? */
export function checkSanity(query: CheckSanityQuery = {}, asked?: Asked): Promise<Sanity> {
  return ask<Sanity>(urlOf("/api/checks/sanity", query), asked);
}

export type CheckCascadeQuery = {
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
  /** Full name of a model; a base stands for all its variants. */
  model?: string | null;
  /** Name of a method. */
  method?: string | null;
  /** What is explained. */
  target?: string | null;
  /** A score that the study stored, metric[@threshold]. */
  metric?: string | null;
  /** By what maps are compared, or what is measured; as /api/checks lists them. */
  measure?: string | null;
  /** Whether maps are compared as they are, or by size of values. */
  reading?: "signed" | "absolute" | null;
  /** How weights were redrawn: full, top-down, bottom-up, single. */
  way?: string | null;
};

export const checkCascadeWords: readonly string[] = ["v", "model", "method", "target", "metric", "measure", "reading", "way"];

/** Similarity of maps as one part of the network after the other is redrawn */
export function checkCascade(query: CheckCascadeQuery = {}, asked?: Asked): Promise<Cascade> {
  return ask<Cascade>(urlOf("/api/checks/cascade", query), asked);
}

export type CheckFaithfulnessQuery = {
  /** By what maps are compared, or what is measured; as /api/checks lists them. */
  measure?: string | null;
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
  /** Full name of a model; a base stands for all its variants. */
  model?: string | null;
  /** Name of a method. */
  method?: string | null;
  /** What is explained. */
  target?: string | null;
  /** A score that the study stored, metric[@threshold]. */
  metric?: string | null;
};

export const checkFaithfulnessWords: readonly string[] = ["measure", "v", "model", "method", "target", "metric"];

/** Does the answer of the model depend on what maps rank first? */
export function checkFaithfulness(query: CheckFaithfulnessQuery = {}, asked?: Asked): Promise<Faithfulness> {
  return ask<Faithfulness>(urlOf("/api/checks/faithfulness", query), asked);
}

export type CheckCurvesQuery = {
  /** By what maps are compared, or what is measured; as /api/checks lists them. */
  measure?: string | null;
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
  /** Full name of a model; a base stands for all its variants. */
  model?: string | null;
  /** Name of a method. */
  method?: string | null;
  /** What is explained. */
  target?: string | null;
  /** A score that the study stored, metric[@threshold]. */
  metric?: string | null;
};

export const checkCurvesWords: readonly string[] = ["measure", "v", "model", "method", "target", "metric"];

/** The score of the class as pixels are changed */
export function checkCurves(query: CheckCurvesQuery = {}, asked?: Asked): Promise<RemovalCurves> {
  return ask<RemovalCurves>(urlOf("/api/checks/curves", query), asked);
}

export type CheckPartsQuery = {
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
  /** Full name of a model; a base stands for all its variants. */
  model?: string | null;
  /** Name of a method. */
  method?: string | null;
  /** What is explained. */
  target?: string | null;
  /** A score that the study stored, metric[@threshold]. */
  metric?: string | null;
};

export const checkPartsWords: readonly string[] = ["v", "model", "method", "target", "metric"];

/** Do maps rank first the parts that decide? */
export function checkParts(query: CheckPartsQuery = {}, asked?: Asked): Promise<Parts> {
  return ask<Parts>(urlOf("/api/checks/parts", query), asked);
}

export type CheckBackgroundQuery = {
  /** Full name of a model. */
  one?: string | null;
  /** Full name of another. */
  other?: string | null;
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
};

export const checkBackgroundWords: readonly string[] = ["one", "other", "v"];

/** Do maps of one model lie more on the background than those of another? */
export function checkBackground(query: CheckBackgroundQuery = {}, asked?: Asked): Promise<Background> {
  return ask<Background>(urlOf("/api/checks/background", query), asked);
}

export type CheckCorrectnessQuery = {
  /** A score that the study stored, metric[@threshold]. */
  metric?: string | null;
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
  /** Full name of a model; a base stands for all its variants. */
  model?: string | null;
  /** Name of a method. */
  method?: string | null;
  /** What is explained. */
  target?: string | null;
};

export const checkCorrectnessWords: readonly string[] = ["metric", "v", "model", "method", "target"];

/** Do maps score better where the model is right? */
export function checkCorrectness(query: CheckCorrectnessQuery = {}, asked?: Asked): Promise<Correctness> {
  return ask<Correctness>(urlOf("/api/checks/correctness", query), asked);
}

export type CheckAgreementQuery = {
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
  /** Full name of a model; a base stands for all its variants. */
  model?: string | null;
  /** Name of a method. */
  method?: string | null;
  /** From 0; heads are fused unless given. */
  head?: number | null | string;
  /** What is explained. */
  target?: string | null;
  /** Of a method that draws random numbers. */
  seed?: number | null | string;
  /** Any number between 0 and 100; 90 selects the top 10% of pixels. */
  percentile?: number | null | string;
  /** How pixels are selected: percentile, mass60 (or another share), mean, matched. */
  selection?: string | null;
  /** What pixels equal to the threshold get: a share each, or all. */
  ties?: "share" | "include" | null;
  /** From 0; or best (on the same images), last, or split (for each half of the images that which did best on the other half). */
  layer?: number | "best" | "last" | "split" | null | string;
  /** A score that the study stored, metric[@threshold]. */
  metric?: string | null;
};

export const checkAgreementWords: readonly string[] = ["v", "model", "method", "head", "target", "seed", "percentile", "selection", "ties", "layer", "metric"];

/** Do methods show the same? */
export function checkAgreement(query: CheckAgreementQuery = {}, asked?: Asked): Promise<AgreementMatrix> {
  return ask<AgreementMatrix>(urlOf("/api/checks/agreement", query), asked);
}

export type CheckFailuresQuery = {
  /** How many of the worst images; 12, or a quarter of fewer, unless given. */
  count?: number | null | string;
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
  /** Full name of a model; a base stands for all its variants. */
  model?: string | null;
  /** Name of a method. */
  method?: string | null;
  /** From 0; heads are fused unless given. */
  head?: number | null | string;
  /** What is explained. */
  target?: string | null;
  /** Of a method that draws random numbers. */
  seed?: number | null | string;
  /** Any number between 0 and 100; 90 selects the top 10% of pixels. */
  percentile?: number | null | string;
  /** How pixels are selected: percentile, mass60 (or another share), mean, matched. */
  selection?: string | null;
  /** What pixels equal to the threshold get: a share each, or all. */
  ties?: "share" | "include" | null;
  /** From 0; or best (on the same images), last, or split (for each half of the images that which did best on the other half). */
  layer?: number | "best" | "last" | "split" | null | string;
  /** A score that the study stored, metric[@threshold]. */
  metric?: string | null;
};

export const checkFailuresWords: readonly string[] = ["count", "v", "model", "method", "head", "target", "seed", "percentile", "selection", "ties", "layer", "metric"];

/** The worst images of a method, and what is peculiar about them */
export function checkFailures(query: CheckFailuresQuery = {}, asked?: Asked): Promise<Failures> {
  return ask<Failures>(urlOf("/api/checks/failures", query), asked);
}

export type CheckLayersQuery = {
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
  /** Full name of a model; a base stands for all its variants. */
  model?: string | null;
  /** Name of a method. */
  method?: string | null;
  /** What is explained. */
  target?: string | null;
};

export const checkLayersWords: readonly string[] = ["v", "model", "method", "target"];

/** How do maps change from layer to layer? */
export function checkLayers(query: CheckLayersQuery = {}, asked?: Asked): Promise<LayerChanges> {
  return ask<LayerChanges>(urlOf("/api/checks/layers", query), asked);
}

export type PrototypesQuery = {
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
};

export const prototypesWords: readonly string[] = ["v"];

/** Stored benchmarks of prototypes */
export function prototypes(query: PrototypesQuery = {}, asked?: Asked): Promise<PrototypeList> {
  return ask<PrototypeList>(urlOf("/api/prototypes", query), asked);
}

export type PrototypeBenchmarkQuery = {
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
};

export const prototypeBenchmarkWords: readonly string[] = ["v"];

/** What a benchmark of prototypes found */
export function prototypeBenchmark(name: string, query: PrototypeBenchmarkQuery = {}, asked?: Asked): Promise<PrototypeBenchmark> {
  return ask<PrototypeBenchmark>(urlOf(`/api/prototypes/${encodeURIComponent(name)}`, query), asked);
}

export type PrototypeLinesQuery = {
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
};

export const prototypeLinesWords: readonly string[] = ["v"];

/** All prototypes of a benchmark */
export function prototypeLines(name: string, query: PrototypeLinesQuery = {}, asked?: Asked): Promise<PrototypeLines> {
  return ask<PrototypeLines>(urlOf(`/api/prototypes/${encodeURIComponent(name)}/prototypes`, query), asked);
}

export type PrototypeDetailQuery = {
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
};

export const prototypeDetailWords: readonly string[] = ["v"];

/** A prototype, with the images behind its numbers */
export function prototypeDetail(name: string, number: number, query: PrototypeDetailQuery = {}, asked?: Asked): Promise<PrototypeDetail> {
  return ask<PrototypeDetail>(urlOf(`/api/prototypes/${encodeURIComponent(name)}/prototypes/${encodeURIComponent(number)}`, query), asked);
}

export type PrototypePatchQuery = {
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
  /** The image as the network sees it; the patch: the cell with as much around it; a box around the most relevant pixels, or the image cropped to it; the attribution in colours. */
  view?: "image" | "patch" | "box" | "crop" | "heatmap" | null;
  /** Of the box: 95 surrounds the top 5% of pixels. */
  percentile?: number | string | null;
  /** Which pixels make them similar; that of the benchmark unless given. */
  attribution?: string | null;
};

export const prototypePatchWords: readonly string[] = ["v", "view", "percentile", "attribution"];

/** The patch that a prototype was taken from */
export function prototypePatchUrl(name: string, number: number, query: PrototypePatchQuery = {}): string {
  return urlOf(`/api/prototypes/${encodeURIComponent(name)}/prototypes/${encodeURIComponent(number)}/patch.png`, query);
}

export type PrototypeMatchesQuery = {
  /** How many at most. */
  count?: number | string | null;
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
};

export const prototypeMatchesWords: readonly string[] = ["count", "v"];

/** The prototypes that an image is most similar to */
export function prototypeMatches(name: string, imageId: string, query: PrototypeMatchesQuery = {}, asked?: Asked): Promise<PrototypeMatches> {
  return ask<PrototypeMatches>(urlOf(`/api/prototypes/${encodeURIComponent(name)}/images/${encodeURIComponent(imageId)}`, query), asked);
}

export type PrototypePictureQuery = {
  /** Its number; the most similar one unless given. */
  prototype?: number | null | string;
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
  /** The image as the network sees it; the patch: the cell with as much around it; a box around the most relevant pixels, or the image cropped to it; the attribution in colours. */
  view?: "image" | "patch" | "box" | "crop" | "heatmap" | null;
  /** Of the box: 95 surrounds the top 5% of pixels. */
  percentile?: number | string | null;
  /** Which pixels make them similar; that of the benchmark unless given. */
  attribution?: string | null;
};

export const prototypePictureWords: readonly string[] = ["prototype", "v", "view", "percentile", "attribution"];

/** An image as the network sees it, and what of it is like a prototype */
export function prototypePictureUrl(name: string, imageId: string, query: PrototypePictureQuery = {}): string {
  return urlOf(`/api/prototypes/${encodeURIComponent(name)}/images/${encodeURIComponent(imageId)}/picture.png`, query);
}

export type PrototypeLiveQuery = {
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
};

export const prototypeLiveWords: readonly string[] = ["v"];

/** Change one image, and see what its similarity to a prototype does */
export function prototypeLive(name: string, body: LiveAsked, query: PrototypeLiveQuery = {}, asked?: Asked): Promise<Live> {
  return ask<Live>(urlOf(`/api/prototypes/${encodeURIComponent(name)}/live`, query), { ...asked, method: "POST", body });
}

export type ReviewQuery = {
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
};

export const reviewWords: readonly string[] = ["v"];

/** Where the review stands */
export function review(query: ReviewQuery = {}, asked?: Asked): Promise<ReviewInfo> {
  return ask<ReviewInfo>(urlOf("/api/review", query), asked);
}

export type ReviewQueueQuery = {
  /** Who asks: images that must stay hidden are left out. */
  who?: string | null;
  /** Only of this label, as it stands. */
  label?: string | null;
  /** Only of this image. */
  image?: string | null;
  /** How many at most. */
  limit?: number | string | null;
  /** How many to leave out before. */
  offset?: number | string | null;
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
};

export const reviewQueueWords: readonly string[] = ["who", "label", "image", "limit", "offset", "v"];

/** What is to decide next */
export function reviewQueue(query: ReviewQueueQuery = {}, asked?: Asked): Promise<ReviewQueue> {
  return ask<ReviewQueue>(urlOf("/api/review/queue", query), asked);
}

export type ReviewImageQuery = {
  /** Who asks: images that must stay hidden are left out. */
  who?: string | null;
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
};

export const reviewImageWords: readonly string[] = ["who", "v"];

/** An image with its proposals */
export function reviewImage(image: string, query: ReviewImageQuery = {}, asked?: Asked): Promise<ReviewImage> {
  return ask<ReviewImage>(urlOf(`/api/review/images/${encodeURIComponent(image)}`, query), asked);
}

export type ReviewHistoryQuery = {
  /** Who asks: images that must stay hidden are left out. */
  who?: string | null;
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
};

export const reviewHistoryWords: readonly string[] = ["who", "v"];

/** All that was done with a region */
export function reviewHistory(item: string, query: ReviewHistoryQuery = {}, asked?: Asked): Promise<ReviewHistory> {
  return ask<ReviewHistory>(urlOf(`/api/review/items/${encodeURIComponent(item)}/history`, query), asked);
}

export type ReviewEventsQuery = {
  /** Number of the last one known. */
  after?: number | string | null;
  /** About proposals, or about the gold set. */
  mode?: "review" | "gold" | null;
  /** Who asks: images that must stay hidden are left out. */
  who?: string | null;
  /** How many at most. */
  limit?: number | string | null;
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
};

export const reviewEventsWords: readonly string[] = ["after", "mode", "who", "limit", "v"];

/** What was done since */
export function reviewEvents(query: ReviewEventsQuery = {}, asked?: Asked): Promise<ReviewEvents> {
  return ask<ReviewEvents>(urlOf("/api/review/events", query), asked);
}

export type ReviewDecideQuery = {
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
};

export const reviewDecideWords: readonly string[] = ["v"];

/** Decide */
export function reviewDecide(body: ReviewEventAsked, query: ReviewDecideQuery = {}, asked?: Asked): Promise<ReviewSaved> {
  return ask<ReviewSaved>(urlOf("/api/review/events", query), { ...asked, method: "POST", body });
}

export type ReviewExportQuery = {
  /** Sightline's own JSON, or COCO's. */
  format?: "plain" | "coco" | null;
  /** With accepted proposals, or the gold. */
  which?: "completed" | "gold" | null;
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
};

export const reviewExportWords: readonly string[] = ["format", "which", "v"];

/** The annotations that the review has come to */
export function reviewExportUrl(query: ReviewExportQuery = {}): string {
  return urlOf("/api/review/export", query);
}

export type ReviewProposeQuery = {
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
};

export const reviewProposeWords: readonly string[] = ["v"];

/** Add proposals */
export function reviewPropose(body: unknown, query: ReviewProposeQuery = {}, asked?: Asked): Promise<ProposalsAdded> {
  return ask<ProposalsAdded>(urlOf("/api/review/proposals", query), { ...asked, method: "POST", body });
}

export type GoldListQuery = {
  /** Who asks: images that must stay hidden are left out. */
  who?: string | null;
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
};

export const goldListWords: readonly string[] = ["who", "v"];

/** The gold set */
export function goldList(query: GoldListQuery = {}, asked?: Asked): Promise<GoldList> {
  return ask<GoldList>(urlOf("/api/review/gold", query), asked);
}

export type GoldImageQuery = {
  /** Who asks: images that must stay hidden are left out. */
  who?: string | null;
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
};

export const goldImageWords: readonly string[] = ["who", "v"];

/** A gold image */
export function goldImage(image: string, query: GoldImageQuery = {}, asked?: Asked): Promise<GoldImage> {
  return ask<GoldImage>(urlOf(`/api/review/gold/${encodeURIComponent(image)}`, query), asked);
}

export type RatingQuery = {
  /** Who asks. */
  who: string | null;
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
};

export const ratingWords: readonly string[] = ["who", "v"];

/** How far a person is with the questions about maps */
export function rating(query: RatingQuery, asked?: Asked): Promise<RatingInfo> {
  return ask<RatingInfo>(urlOf("/api/rating", query), asked);
}

export type RatingNextQuery = {
  /** Who asks. */
  who: string | null;
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
};

export const ratingNextWords: readonly string[] = ["who", "v"];

/** The next question about maps */
export function ratingNext(query: RatingNextQuery, asked?: Asked): Promise<RatingNext> {
  return ask<RatingNext>(urlOf("/api/rating/next", query), asked);
}

export type RatingPictureQuery = {
  /** Pixels of the longer side. */
  size?: number | string | null;
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
};

export const ratingPictureWords: readonly string[] = ["size", "v"];

/** A map that is to be judged */
export function ratingPictureUrl(task: string, side: "left" | "right", query: RatingPictureQuery = {}): string {
  return urlOf(`/api/rating/tasks/${encodeURIComponent(task)}/${encodeURIComponent(side)}.png`, query);
}

export type RatingAnswerQuery = {
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
};

export const ratingAnswerWords: readonly string[] = ["v"];

/** Answer a question about maps */
export function ratingAnswer(body: RatingAnswerAsked, query: RatingAnswerQuery = {}, asked?: Asked): Promise<RatingSaved> {
  return ask<RatingSaved>(urlOf("/api/rating/answers", query), { ...asked, method: "POST", body });
}

export type RatingSummaryQuery = {
  /** Who asks. */
  who?: string | null;
  /** Show it though questions are left. */
  unblind?: boolean | null;
  /** Version of the store that is wanted (see /api/progress): the answer may then be kept for ever. */
  v?: string | null;
};

export const ratingSummaryWords: readonly string[] = ["who", "unblind", "v"];

/** What people think of maps */
export function ratingSummary(query: RatingSummaryQuery = {}, asked?: Asked): Promise<RatingSummary> {
  return ask<RatingSummary>(urlOf("/api/rating/summary", query), asked);
}
