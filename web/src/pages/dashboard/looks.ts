/** Colours of models: each keeps its own in all views. */
import { BASELINE, lineLook, type LineLook } from "../../charts";

export type Looks = (model: string) => LineLook;

/** The look of each model by its place in the study. */
export function looksOf(models: readonly string[]): Looks {
  const places = new Map(models.map((name, place) => [name, place]));
  return (model) => {
    const place = places.get(model);
    return place === undefined ? BASELINE : lineLook(place);
  };
}
