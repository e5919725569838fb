/** What the page asks the service for, all of it about the map on the screen. */
import type { SimilarityAsked, StudyInfo } from "../../api/client";
import { useMap, useSimilarity } from "../../api/map";
import { useImageHeads, useImageLayers, useImageMetrics, useImageModels } from "../../api/queries";
import { hasHeads } from "../../components/choice_fields";
import type { Rule } from "../../numeric";
import { layersOf } from "./layers";
import { useSettled } from "./settled";
import { exactWords, ruleWords, type PageState } from "./state";

/** Ask for an image's map, then for its scores; `region` null: of all regions together. */
export function useAnswers(image: string, study: StudyInfo, state: PageState, region: number | null) {
  const map = useMap(image, { ...state.asked, seed: state.seed });
  const choice = map.data?.header.choice;
  const model = study.models.find((one) => one.name === choice?.model);
  const layered = choice?.layer != null;
  const heads = choice !== undefined && hasHeads(study, choice.model, choice.method);

  // The rule waits until the slider rests; figures that depend on it alone are made here meanwhile.
  const rule = useSettled(state.rule);
  const words = { ...(choice ? exactWords(choice) : {}), ...ruleWords(rule) };
  const asked = (enabled: boolean) => ({ enabled: choice !== undefined && enabled, keep: true });
  const metrics = useImageMetrics(image, words, region, asked(true));
  const byLayer = useImageLayers(image, { ...words, region }, asked(layered));
  const byModel = useImageModels(image, { ...ruleWords(rule), region }, asked(true));
  const byHead = useImageHeads(image, { ...words, region }, asked(heads));

  const similar = useSimilarity(image, similarityAsked(state, choice, region));
  const wanted = state.mode === "similarity" && (state.box !== null || region !== null);
  return {
    map,
    choice,
    model,
    layered,
    layers: layersOf(byLayer, choice),
    heads,
    metrics,
    /** Whether the scores are by the rule that is set now. */
    current: sameRule(rule, state.rule) && !metrics.isPlaceholderData,
    byLayer,
    byModel,
    byHead,
    /** What lies over the image. */
    shown: wanted ? (similar.data ?? map.data) : map.data,
    comparing: wanted && similar.isFetching,
    problem: map.error ?? (wanted ? similar.error : null),
    retry: () => void (map.error ? map.refetch() : similar.refetch()),
  };
}

function sameRule(a: Rule, b: Rule): boolean {
  return JSON.stringify(ruleWords(a)) === JSON.stringify(ruleWords(b));
}

type Which = { model: string; layer: number | null };

/** The box that was drawn, or the chosen region; null: nothing is to be compared. */
function similarityAsked(state: PageState, choice: Which | undefined, region: number | null): Partial<SimilarityAsked> | null {
  if (state.mode !== "similarity" || !choice) return null;
  const which = { model: choice.model, layer: choice.layer };
  if (state.box) return { ...which, box: [...state.box] };
  return region === null ? null : { ...which, region };
}
