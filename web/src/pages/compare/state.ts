/** What the address says of the Compare page. */
import { useMemo } from "react";

import type { StudyInfo } from "../../api/client";
import type { Rule } from "../../numeric";
import { setParams, useUrl, type Params, type SetOptions } from "../../url";
import { COLOUR_NAMES, parseView, viewWords, WHOLE, type ColourName, type View } from "../../viewer";
import { oneLayer, readRule } from "../image/state";
import { UNITS, type Unit } from "./difference";
import { LEAST_PANES, PANES, panesBy, paneWord, readPane, type By, type Pane, type PaneName } from "./words";

export const MODES = ["side", "swipe", "difference"] as const;
export type Mode = (typeof MODES)[number];

export interface Compared {
  readonly image: string;
  readonly panes: readonly Pane[];
  readonly mode: Mode;
  /** The pane that is swiped over, and compared over all images with, the first. */
  readonly other: number;
  /** Where the swipe is, 0 to 1. */
  readonly swipe: number;
  readonly rule: Rule;
  readonly region: number | null;
  readonly view: View;
  readonly opacity: number;
  readonly colours: ColourName;
  readonly smooth: boolean;
  readonly scale: "own" | "one";
  readonly outline: boolean;
  /** Of differences; null: shares where methods differ, else values. */
  readonly unit: Unit | null;
  /** By which images are compared over all of them; empty: the study's main one. */
  readonly metric: string;
}

const SPEAKING: readonly By[] = ["variants", "models", "methods", "layers"];

/** A pane beside that from which it differs in one thing; beside itself where there is none. */
function withPartner(study: StudyInfo, pane: Pane): Pane[] {
  for (const by of SPEAKING) {
    const panes = panesBy(by, pane, study);
    const other = panes.find((one) => paneWord(one) !== paneWord(pane));
    if (other !== undefined && panes.length >= LEAST_PANES) return [pane, other];
  }
  return [pane, pane];
}

/** The pane to start with: what the words of the address name, else the study's best. */
function firstPane(study: StudyInfo, params: URLSearchParams): Pane {
  const plain = (name: string) => params.get(name) ?? "";
  const word = (name: string) =>
    name === "layer" ? oneLayer(plain(name), study, plain("model"), plain("method")) : plain(name);
  const named = readPane(["model", "method", "layer", "head", "target", "seed"].map(word).join("~"));
  const start = study.default;
  const model = named.model || start?.model || study.models[0]?.name || "";
  const methods = study.models.find((one) => one.name === model)?.methods ?? [];
  const fallback = start && methods.includes(start.method) ? start.method : (methods[0] ?? "");
  return { ...named, model, method: methods.includes(named.method) ? named.method : fallback };
}

function readPanes(study: StudyInfo, params: URLSearchParams): Pane[] {
  const words = PANES.map((name) => params.get(name) ?? "").filter((word) => word !== "");
  const panes = words.map(readPane);
  if (panes.length >= LEAST_PANES) return panes;
  return withPartner(study, panes[0] ?? firstPane(study, params));
}

function share(word: string | null, fallback: number): number {
  const number = word === null || word.trim() === "" ? Number.NaN : Number(word);
  return Number.isFinite(number) ? Math.min(1, Math.max(0, number)) : fallback;
}

function readRegion(word: string | null): number | null {
  return word !== null && /^\d{1,6}$/.test(word) ? Number(word) : null;
}

/** What an address asks for. */
export function readCompared(study: StudyInfo, params: URLSearchParams): Compared {
  const panes = readPanes(study, params);
  const other = PANES.indexOf((params.get("with") ?? "b") as PaneName);
  return {
    image: params.get("image") ?? "",
    panes,
    mode: MODES.find((mode) => mode === params.get("mode")) ?? "side",
    other: other >= 1 && other < panes.length ? other : 1,
    swipe: share(params.get("swipe"), 0.5),
    rule: readRule(params, study.default),
    region: readRegion(params.get("region")),
    view: parseView(params.get("view") ?? "") ?? WHOLE,
    opacity: share(params.get("opacity"), 0.6),
    colours: COLOUR_NAMES.find((name) => name === params.get("colours")) ?? "inferno",
    smooth: params.get("cells") !== "1",
    scale: params.get("scale") === "one" ? "one" : "own",
    outline: params.get("outline") !== "0",
    unit: UNITS.find((unit) => unit === params.get("unit")) ?? null,
    metric: params.get("metric") ?? "",
  };
}

export function useCompared(study: StudyInfo): Compared {
  const { params } = useUrl();
  return useMemo(() => readCompared(study, params), [study, params]);
}

/** Writes panes into the address; those beyond are taken away. */
export function setPanes(panes: readonly Pane[], options: SetOptions = { push: true }): void {
  const words: Params = { model: null, method: null, layer: null, head: null, target: null, seed: null };
  PANES.forEach((name, index) => {
    const pane = panes[index];
    words[name] = pane === undefined ? null : paneWord(pane);
  });
  setParams(words, options);
}

/** Puts another pane in the place of one. */
export function replacePane(panes: readonly Pane[], index: number, pane: Pane): void {
  setPanes(panes.with(index, pane));
}

export function setView(view: View): void {
  setParams({ view: viewWords(view) });
}
