/** What the address says of the gallery, and where in it one is. */
import { useCallback, useEffect, useMemo, useRef, useState } from "react";

import type { MetricTable } from "../../api/client";
import type { Asked } from "../../components/choice_fields";
import { metricParts } from "../../format";
import { useMarks } from "../../marks";
import { findSelection, imagesWith } from "../../tags";
import { here, setParams, useUrl, wordsOf } from "../../url";
import { ascends, idsAsked, pageQuery, readWords, SHOWS, SIZES, type GalleryWords } from "./words";

const PLACE_SETTLES_MS = 250;

function askedOf(params: URLSearchParams): Asked {
  const word = (name: string) => params.get(name) ?? "";
  return { model: word("model"), method: word("method"), layer: word("layer"), head: word("head"), target: word("target") };
}

/** Everything that the address says, read once for each address. */
export function useView(table: MetricTable) {
  const { params } = useUrl();
  return useMemo(() => {
    const words = readWords(params);
    const choice = wordsOf(params);
    const sort = words.sort || String(choice.metric ?? table.default);
    const info = table.metrics.find((one) => one.name === metricParts(sort).metric);
    const direction = info?.direction ?? "neither";
    const ascending = ascends(words, direction);
    // Cards show the score by which they are sorted.
    const metric = info === undefined ? choice.metric : sort;
    return {
      words,
      sort,
      direction,
      ascending,
      choice,
      asked: askedOf(params),
      show: SHOWS.find((show) => show === params.get("show")) ?? "picture",
      size: SIZES.find((size) => size === params.get("size")) ?? "medium",
      // The words of this view without its place, so that scrolling asks for nothing anew.
      key: JSON.stringify([words, choice, sort, ascending]),
      query: pageQuery(words, { ...choice, metric }, { sort, ascending }),
    } as const;
  }, [params, table]);
}

export type View = ReturnType<typeof useView>;

/** The images named by the address, by its tags and its saved selection; null: all. */
export function useNamed(study: string, words: GalleryWords): readonly string[] | null {
  const { marks } = useMarks(study);
  return useMemo(() => {
    const saved = words.saved === "" ? null : (findSelection(marks, words.saved)?.images ?? []);
    return idsAsked(words, imagesWith(marks, words.tags), saved);
  }, [marks, words]);
}

function placeInAddress(): number {
  const at = Number(here().params.get("at") ?? 0);
  return Number.isInteger(at) && at > 0 ? at : 0;
}

export interface Place {
  /** Card at which the view starts, as the address had it when the view was opened. */
  readonly start: number;
  /** First and last card that are drawn. */
  readonly shown: readonly [number, number];
  readonly onShown: (first: number, last: number) => void;
  /** Told which card is the first in sight when people scroll. */
  readonly onScrolled: (first: number) => void;
}

/** Where the grid starts, and what keeps the address at what is shown. */
export function usePlace(key: string): Place {
  const start = useMemo(placeInAddress, [key]);
  const [shown, setShown] = useState<readonly [number, number]>([start, start]);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), [key]);
  const onShown = useCallback((first: number, last: number) => {
    setShown((before) => (before[0] === first && before[1] === last ? before : [first, last]));
  }, []);
  const onScrolled = useCallback((first: number) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setParams({ at: first === 0 ? null : first }), PLACE_SETTLES_MS);
  }, []);
  return { start, shown, onShown, onScrolled };
}
