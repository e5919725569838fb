/** The numbers of the map on the screen, made here: the values are there, so no question is needed. */
import { useMemo } from "react";

import type { DecodedMap } from "../../api/map";
import {
  insideOf,
  scoreAt,
  sortMap,
  unionOf,
  weightsOf,
  type Inside,
  type Rule,
  type Scores,
  type Sorted,
} from "../../numeric";
import type { Outline } from "../../viewer";

export interface ScoredMap {
  sorted: Sorted;
  inside: Inside;
  scores: Scores;
  outline: Outline;
}

/** Score a map; it is sorted once, and counted once for each region. Null: there is none yet. */
export function useScored(map: DecodedMap | undefined, region: number | null, rule: Rule): ScoredMap | null {
  const { selection, percentile, ties } = rule;
  const sorted = useMemo(() => map && sortMap(map.values, map.header.choice.sign, map.ignore), [map]);
  const inside = useMemo(() => map && sorted && insideOf(sorted, maskOf(map, region)), [map, sorted, region]);
  const scores = useMemo(
    () => sorted && inside && scoreAt(sorted, inside, { selection, percentile, ties }),
    [sorted, inside, selection, percentile, ties],
  );
  const outline = useMemo(
    () => map && sorted && scores && outlineOf(map, sorted, scores),
    [map, sorted, scores],
  );
  return sorted && inside && scores && outline ? { sorted, inside, scores, outline } : null;
}

/** All regions together, or one of them; one that is not scored has no pixels. */
function maskOf(map: DecodedMap, region: number | null): Uint8Array {
  const pixels = map.rows * map.columns;
  return region === null ? unionOf(map.regions.values(), pixels) : (map.regions.get(region) ?? new Uint8Array(pixels));
}

function outlineOf(map: DecodedMap, sorted: Sorted, scores: Scores): Outline {
  const { rows, columns, header } = map;
  return { weights: weightsOf(sorted, scores.selected), rows, columns, place: header.place };
}
