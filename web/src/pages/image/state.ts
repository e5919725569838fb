/** What the address says about the image page. */
import { useMemo } from "react";

import type { Choice, RegionInfo, StudyInfo } from "../../api/client";
import type { Asked } from "../../components/choice_fields";
import { massShare, type Rule } from "../../numeric";
import { setParams, useFlag, useNumberParam, useParam, useUrl, useWord, wordsOf, type Params, type Words } from "../../url";
import { COLOUR_NAMES, parseView, viewWords, type Box, type ColourName, type View } from "../../viewer";

export const MODES = ["map", "similarity"] as const;
export type Mode = (typeof MODES)[number];
/** `fixed`: colours mean the same on all images. */
export const SCALES = ["image", "fixed"] as const;
export type ScaleName = (typeof SCALES)[number];
export const COLOURS_OPEN = "auto";

/** Percentiles lie between 0 and 100, both left out. */
export const PERCENTILE = { least: 0.1, most: 99.9 } as const;

export interface PageState {
  asked: Asked;
  /** The layer as the address words it. */
  layerWord: string;
  /** Of a method that draws; empty: the first. */
  seed: string;
  rule: Rule;
  region: number | null;
  mode: Mode;
  box: Box | null;
  opacity: number;
  colours: ColourName | typeof COLOURS_OPEN;
  smooth: boolean;
  scale: ScaleName;
  outline: boolean;
  regions: boolean;
  view: View;
}

/** Return the state that the address stands for. */
export function usePageState(study: StudyInfo): PageState {
  const { params } = useUrl();
  const words = wordsOf(params);
  const [region] = useNumberParam("region", null);
  const [mode] = useWord("mode", MODES, "map");
  const [boxWord] = useParam("box");
  const [opacity] = useNumberParam("opacity", 0.6);
  const [colours] = useWord("colours", [COLOURS_OPEN, ...COLOUR_NAMES], COLOURS_OPEN);
  const [cells] = useFlag("cells");
  const [scale] = useWord("scale", SCALES, "image");
  const [outline] = useFlag("outline", true);
  const [regions] = useFlag("regions", true);
  const [viewWord] = useParam("view");
  const view = useMemo(() => parseView(viewWord), [viewWord]);
  const box = useMemo(() => parseBox(boxWord), [boxWord]);
  return {
    asked: askedOf(words, study),
    layerWord: String(words.layer ?? ""),
    seed: String(words.seed ?? ""),
    rule: readRule(params, study.default),
    region: region !== null && Number.isInteger(region) && region >= 0 ? region : null,
    mode,
    box,
    opacity: Math.min(1, Math.max(0, opacity)),
    colours,
    smooth: !cells,
    scale,
    outline,
    regions,
    view,
  };
}

/** Write changes into the address; "back" undoes what was chosen, not every step of a slider. */
export function change(changes: Params, push = false): void {
  setParams(changes, { push });
}

export const showView = (view: View): void => change({ view: viewWords(view) });

/** Choose a region, or none; a drawn box then no longer counts. */
export const chooseRegion = (region: number | null): void => change({ region, box: null }, true);

function askedOf(words: Words, study: StudyInfo): Asked {
  const text = (name: keyof Asked) => String(words[name] ?? "");
  const [model, method] = [text("model"), text("method")];
  return { model, method, layer: oneLayer(text("layer"), study, model, method), head: text("head"), target: text("target") };
}

/** Why an address that names a region shows all of them. */
export function missedText(index: number, region: Pick<RegionInfo, "label" | "ignore" | "dropped"> | undefined): string {
  if (!region) return `This image has no region ${index}: figures are of all regions together.`;
  const why = region.ignore ? "its pixels do not count" : region.dropped;
  return `Region ${index} (${region.label}) is not scored (${why}): figures are of all regions together.`;
}

/**
 * The layer whose map one image shows where tables say best, last or split: these travel in the
 * address, as they set the order of images. Empty: the service chooses the best over all images.
 */
export function oneLayer(word: string, study: Pick<StudyInfo, "models" | "methods" | "default">, model: string, method: string): string {
  if (word === "best" || word === "split") return "";
  if (word !== "last") return word;
  const layered = study.methods.find((one) => one.name === (method || study.default?.method))?.layered ?? false;
  const layers = study.models.find((one) => one.name === (model || study.default?.model))?.layer_numbers ?? [];
  return layered ? String(layers.at(-1) ?? "") : "";
}

/** What is shown for a layer that only tables over many images have. */
export function layerNote(word: string): string {
  return word === "split" ? "one image has one layer: in place of the best, chosen on the other half, the best over all images" : "";
}

/** The words that name exactly one map, for questions that must be about the same one. */
export function exactWords(choice: Choice): Words {
  const { model, method, layer, head, target, seed } = choice;
  const every = { model, method, layer, head, target, seed };
  return Object.fromEntries(Object.entries(every).filter(([, value]) => value !== null && value !== ""));
}

/** The words of a rule. */
export function ruleWords({ selection, percentile, ties }: Rule): Words {
  return selection === "percentile" ? { selection, percentile, ties } : { selection, ties };
}

/** The part of a metric's name behind the @. */
export function threshold({ selection, percentile }: Rule): string {
  return selection === "percentile" ? String(percentile) : selection;
}

/** A rule in words. */
export function ruleText(rule: Rule): string {
  if (rule.selection === "percentile") return `the top ${trim(100 - rule.percentile)}% of the pixels`;
  if (rule.selection === "mean") return "the pixels above the mean";
  if (rule.selection === "matched") return "as many pixels as are annotated";
  return `the highest pixels that hold ${rule.selection.slice("mass".length)}% of the energy`;
}

function trim(value: number): string {
  return String(Number(value.toFixed(4)));
}

/** The rule that an address asks for; what is no rule counts as not given: then it is the study's. */
export function readRule(params: URLSearchParams, usual: StudyInfo["default"]): Rule {
  const word = params.get("percentile") ?? "";
  const percentile = word.trim() === "" ? NaN : Number(word);
  const ties = params.get("ties");
  return {
    selection: knownSelection(params.get("selection") ?? "") ?? knownSelection(usual?.selection ?? "") ?? "percentile",
    percentile: percentile > 0 && percentile < 100 ? percentile : (usual?.percentile ?? 90),
    ties: ties === "share" || ties === "include" ? ties : (usual?.ties ?? "share"),
  };
}

function knownSelection(selection: string): string | null {
  if (selection === "mass") return "mass60";
  if (["percentile", "mean", "matched"].includes(selection)) return selection;
  if (!/^mass\d+(\.\d+)?$/.test(selection)) return null;
  const share = massShare(selection);
  return share > 0 && share <= 1 ? selection : null;
}

/** The words for a percentile, whichever rule was set before. */
export function percentileWords(percentile: number, { selection }: Pick<Rule, "selection">): Params {
  return selection === "percentile" ? { percentile } : { percentile, selection: "percentile" };
}

export const boxWords = (box: Box): string => box.map((edge) => Number(edge.toFixed(4))).join(",");

export function parseBox(text: string): Box | null {
  const [x0 = NaN, y0 = NaN, x1 = NaN, y1 = NaN, ...rest] = text.split(",").map(Number);
  const inside = [x0, y0, x1, y1].every((edge) => edge >= 0 && edge <= 1);
  return inside && rest.length === 0 && x0 < x1 && y0 < y1 ? [x0, y0, x1, y1] : null;
}
