/** What pages ask the API for: one hook for each route. */
import {
  QueryClient,
  keepPreviousData,
  useQuery,
  useQueryClient,
  type UseQueryResult,
} from "@tanstack/react-query";
import { useEffect, useRef } from "react";

import { WORDS, type Words } from "../url";
import { ApiError, type Asked, type Query } from "./ask";
import * as Api from "./client";

const RUNNING_POLL_MS = 2_000;
const IDLE_POLL_MS = 30_000;
const SETTLING_MS = 15_000;
const RETRIES = 2;

export type Result<T> = UseQueryResult<T, Error>;

/** A request that was wrong is wrong again; one that found nobody may be tried again. */
function worthAnother(failures: number, error: Error): boolean {
  const wrong = error instanceof ApiError && error.status >= 400 && error.status < 500;
  return !wrong && failures < RETRIES;
}

export function newQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        // What a finished study answers does not change; a growing one tells so by its version.
        staleTime: Number.POSITIVE_INFINITY,
        gcTime: 5 * 60_000,
        refetchOnWindowFocus: false,
        retry: worthAnother,
      },
    },
  });
}

export interface Options {
  /** False: do not ask yet. */
  enabled?: boolean;
  /** True: keep showing the answer before while a new one comes. */
  keep?: boolean;
}

/** Asks by a function of the client; equal questions share an answer. */
function useAsked<T>(
  key: readonly unknown[],
  question: (asked: Asked) => Promise<T>,
  options: Options = {},
): Result<T> {
  return useQuery({
    queryKey: key,
    queryFn: ({ signal }) => question({ signal }),
    enabled: options.enabled ?? true,
    placeholderData: options.keep ? keepPreviousData : undefined,
  });
}

/**
 * The words that a route takes: words of the address that it does not know are left out, since the
 * address carries them from page to page. All else is passed on, and refused if it is wrong.
 */
export function known<T extends object>(query: object, names: readonly string[]): T {
  const travelling: readonly string[] = WORDS;
  const kept = Object.entries(query).filter(([name]) => names.includes(name) || !travelling.includes(name));
  return Object.fromEntries(kept) as T;
}

export const useHealth = (): Result<Api.Health> => useAsked(["health"], (asked) => Api.health({}, asked));
export const useStudy = (): Result<Api.StudyInfo> => useAsked(["study"], (asked) => Api.study({}, asked));
export const useMetricTable = (): Result<Api.MetricTable> => useAsked(["metrics"], (asked) => Api.metrics({}, asked));

let seenUnfinished = Number.NEGATIVE_INFINITY;

/** How long to wait before asking again: the version of a study may follow a little after its end. */
function pause(progress: Api.Progress | undefined): number {
  if (progress === undefined || progress.running || !progress.finished) seenUnfinished = Date.now();
  return Date.now() - seenUnfinished < SETTLING_MS ? RUNNING_POLL_MS : IDLE_POLL_MS;
}

/** How far the study has come; asked again and again, quickly while it runs. */
export function useProgress(): Result<Api.Progress> {
  return useQuery({
    queryKey: ["progress"],
    queryFn: ({ signal }) => Api.progress({}, { signal }),
    refetchInterval: (query) => pause(query.state.data),
  });
}

/** What is not asked again with each version of the store. */
const ASIDE: readonly unknown[] = ["progress", "sparsity", "sparsity progress"];

/**
 * Asks everything again when the store has grown. Used once, by the shell. The sparsity report
 * takes longer to make than a running study takes to grow: it is made again once that rests.
 */
export function useFreshAnswers(): void {
  const client = useQueryClient();
  const progress = useProgress().data;
  const version = progress?.version;
  const rests = progress === undefined || progress.finished || !progress.running;
  const known = useRef<string>(undefined);
  const rested = useRef<string>(undefined);
  useEffect(() => {
    if (version === undefined) return;
    if (known.current !== undefined && known.current !== version) {
      void client.invalidateQueries({ predicate: ({ queryKey }) => !ASIDE.includes(queryKey[0]) });
    }
    known.current = version;
    rested.current ??= version;
    if (!rests || rested.current === version) return;
    rested.current = version;
    void client.invalidateQueries({ queryKey: ["sparsity"] });
  }, [client, version, rests]);
}

/** Filters and order of the gallery; the names are those of the query. */
export interface ImagesQuery extends Words {
  sort?: string;
  ascending?: boolean;
  label?: string;
  style?: string;
  split?: string;
  text?: string;
  /** Names with commas between. */
  ids?: string;
  warning?: string;
  limit?: number;
  offset?: number;
}

export function useImages(query: ImagesQuery, options?: Options): Result<Api.ImagePage> {
  const words = known<Api.ImagesQuery>(query, Api.imagesWords);
  return useAsked(["images", words], (asked) => Api.images(words, asked), options);
}

export function useImage(id: string, options?: Options): Result<Api.ImageDetail> {
  return useAsked(["image", id], (asked) => Api.imageDetail(id, {}, asked), options);
}

/** Scores of one map; `region` null: of the union of all regions. */
export function useImageMetrics(
  id: string,
  words: Words,
  region: number | null = null,
  options?: Options,
): Result<Api.ImageMetrics> {
  const query = known<Api.GetImageMetricsQuery>(words, Api.getImageMetricsWords);
  const ask = (asked: Asked) =>
    region === null ? Api.getImageMetrics(id, query, asked) : Api.getRegionMetrics(id, region, query, asked);
  return useAsked(["image metrics", id, region, query], ask, options);
}

/** Words, and the region that is looked at; null: the union. */
export type RegionWords = Words & { region?: number | null };

export function useImageLayers(id: string, words: RegionWords, options?: Options): Result<Api.ImageLayers> {
  const query = known<Api.GetImageLayersQuery>(words, Api.getImageLayersWords);
  return useAsked(["image layers", id, query], (asked) => Api.getImageLayers(id, query, asked), options);
}

export function useImageModels(id: string, words: RegionWords, options?: Options): Result<Api.ImageModels> {
  const query = known<Api.GetImageModelsQuery>(words, Api.getImageModelsWords);
  return useAsked(["image models", id, query], (asked) => Api.getImageModels(id, query, asked), options);
}

export function useImageHeads(id: string, words: RegionWords, options?: Options): Result<Api.ImageHeads> {
  const query = known<Api.GetImageHeadsQuery>(words, Api.getImageHeadsWords);
  return useAsked(["image heads", id, query], (asked) => Api.getImageHeads(id, query, asked), options);
}

export function useLeaderboard(words: Words, options?: Options): Result<Api.Leaderboard> {
  const query = known<Api.LeaderboardQuery>(words, Api.leaderboardWords);
  return useAsked(["leaderboard", query], (asked) => Api.leaderboard(query, asked), options);
}

export function useProgression(words: Words, options?: Options): Result<Api.Progression> {
  const query = known<Api.LayersQuery>(words, Api.layersWords);
  return useAsked(["layers", query], (asked) => Api.layers(query, asked), options);
}

export function useSweep(words: Words, options?: Options): Result<Api.Sweep> {
  const query = known<Api.PercentilesQuery>(words, Api.percentilesWords);
  return useAsked(["percentiles", query], (asked) => Api.percentiles(query, asked), options);
}

export function useRanking(words: Words & { metrics?: string }, options?: Options): Result<Api.Ranking> {
  const query = known<Api.RankingQuery>(words, Api.rankingWords);
  return useAsked(["ranking", query], (asked) => Api.ranking(query, asked), options);
}

export interface LabelsQuery extends Words {
  ancestors?: boolean;
  min_count?: number;
}

export function useLabels(words: LabelsQuery, options?: Options): Result<Api.Breakdown> {
  const query = known<Api.LabelBreakdownQuery>(words, Api.labelBreakdownWords);
  return useAsked(["labels", query], (asked) => Api.labelBreakdown(query, asked), options);
}

export function useStyles(words: Words & { min_count?: number }, options?: Options): Result<Api.Breakdown> {
  const query = known<Api.StyleBreakdownQuery>(words, Api.styleBreakdownWords);
  return useAsked(["styles", query], (asked) => Api.styleBreakdown(query, asked), options);
}

export function useHeads(words: Words, options?: Options): Result<Api.HeadRanking> {
  const query = known<Api.HeadRankingQuery>(words, Api.headRankingWords);
  return useAsked(["heads", query], (asked) => Api.headRanking(query, asked), options);
}

export function useHeadMatrix(words: Words & { min_count?: number }, options?: Options): Result<Api.HeadMatrix> {
  const query = known<Api.HeadMatrixQuery>(words, Api.headMatrixWords);
  return useAsked(["head matrix", query], (asked) => Api.headMatrix(query, asked), options);
}

export function useExemplars(words: Words & { label?: string; limit?: number }, options?: Options): Result<Api.Exemplars> {
  const query = known<Api.GetExemplarsQuery>(words, Api.getExemplarsWords);
  return useAsked(["exemplars", query], (asked) => Api.getExemplars(query, asked), options);
}

export interface CompareQuery extends Words {
  a: string;
  b: string;
  by?: "model" | "method" | "layer";
}

export function useComparison(words: CompareQuery, options?: Options): Result<Api.Comparison> {
  const query = known<Api.CompareQuery>(words, Api.compareWords);
  return useAsked(["compare", query], (asked) => Api.compare(query, asked), options);
}

export function useSparsity(words: Words = {}, options?: Options): Result<Api.Sparsity> {
  const query = known<Api.SparsityQuery>(words, Api.sparsityWords);
  return useAsked(["sparsity", query], (asked) => Api.sparsity(query, asked), options);
}

/** How far the report has come that is being made; asked again and again while someone waits. */
export function useSparsityProgress(): Result<Api.SparsityProgress> {
  return useQuery({
    queryKey: ["sparsity progress"],
    queryFn: ({ signal }) => Api.sparsityProgress({}, { signal }),
    refetchInterval: RUNNING_POLL_MS,
    gcTime: 0,
  });
}

export function useDetectionList(options?: Options): Result<Api.DetectionList> {
  return useAsked(["detections"], (asked) => Api.detections({}, asked), options);
}

export function useDetection(name: string, query: Api.DetectionQuery = {}, options?: Options): Result<Api.Detection> {
  return useAsked(["detection", name, query], (asked) => Api.detection(name, query, asked), options);
}

export function useDetectionImages(
  name: string,
  query: Api.DetectionImagesQuery = {},
  options?: Options,
): Result<Api.DetectionImages> {
  return useAsked(["detection images", name, query], (asked) => Api.detectionImages(name, query, asked), options);
}

export function useDetectionImage(
  name: string,
  id: string,
  query: Api.DetectionImageQuery = {},
  options?: Options,
): Result<Api.DetectionImage> {
  return useAsked(["detection image", name, id, query], (asked) => Api.detectionImage(name, id, query, asked), options);
}

/** Which checks are stored; asked only where there are any. */
export function useChecks(options?: Options): Result<Api.CheckList> {
  return useAsked(["checks"], (asked) => Api.checks({}, asked), options);
}

export function useSanity(words: Words & Api.CheckSanityQuery, options?: Options): Result<Api.Sanity> {
  const query = known<Api.CheckSanityQuery>(words, Api.checkSanityWords);
  return useAsked(["sanity", query], (asked) => Api.checkSanity(query, asked), options);
}

export function useCascade(words: Words & Api.CheckCascadeQuery, options?: Options): Result<Api.Cascade> {
  const query = known<Api.CheckCascadeQuery>(words, Api.checkCascadeWords);
  return useAsked(["cascade", query], (asked) => Api.checkCascade(query, asked), options);
}

export function useFaithfulness(words: Words & Api.CheckFaithfulnessQuery, options?: Options): Result<Api.Faithfulness> {
  const query = known<Api.CheckFaithfulnessQuery>(words, Api.checkFaithfulnessWords);
  return useAsked(["faithfulness", query], (asked) => Api.checkFaithfulness(query, asked), options);
}

export function useRemovalCurves(words: Words & Api.CheckCurvesQuery, options?: Options): Result<Api.RemovalCurves> {
  const query = known<Api.CheckCurvesQuery>(words, Api.checkCurvesWords);
  return useAsked(["removal curves", query], (asked) => Api.checkCurves(query, asked), options);
}

export function useParts(words: Words, options?: Options): Result<Api.Parts> {
  const query = known<Api.CheckPartsQuery>(words, Api.checkPartsWords);
  return useAsked(["parts", query], (asked) => Api.checkParts(query, asked), options);
}

export function useBackground(query: Api.CheckBackgroundQuery, options?: Options): Result<Api.Background> {
  return useAsked(["background", query], (asked) => Api.checkBackground(query, asked), options);
}

export function useCorrectness(words: Words, options?: Options): Result<Api.Correctness> {
  const query = known<Api.CheckCorrectnessQuery>(words, Api.checkCorrectnessWords);
  return useAsked(["correctness", query], (asked) => Api.checkCorrectness(query, asked), options);
}

export function useAgreement(words: Words, options?: Options): Result<Api.AgreementMatrix> {
  const query = known<Api.CheckAgreementQuery>(words, Api.checkAgreementWords);
  return useAsked(["agreement", query], (asked) => Api.checkAgreement(query, asked), options);
}

export function useFailures(words: Words & { count?: number }, options?: Options): Result<Api.Failures> {
  const query = known<Api.CheckFailuresQuery>(words, Api.checkFailuresWords);
  return useAsked(["failures", query], (asked) => Api.checkFailures(query, asked), options);
}

export function useLayerChanges(words: Words, options?: Options): Result<Api.LayerChanges> {
  const query = known<Api.CheckLayersQuery>(words, Api.checkLayersWords);
  return useAsked(["layer changes", query], (asked) => Api.checkLayers(query, asked), options);
}

/** Which benchmarks of prototypes are stored. */
export function usePrototypeList(options?: Options): Result<Api.PrototypeList> {
  return useAsked(["prototypes"], (asked) => Api.prototypes({}, asked), options);
}

export function usePrototypeBenchmark(name: string, options?: Options): Result<Api.PrototypeBenchmark> {
  return useAsked(["prototype benchmark", name], (asked) => Api.prototypeBenchmark(name, {}, asked), options);
}

export function usePrototypeLines(name: string, options?: Options): Result<Api.PrototypeLines> {
  return useAsked(["prototype lines", name], (asked) => Api.prototypeLines(name, {}, asked), options);
}

export function usePrototype(name: string, number: number, options?: Options): Result<Api.PrototypeDetail> {
  return useAsked(["prototype", name, number], (asked) => Api.prototypeDetail(name, number, {}, asked), options);
}

export function usePrototypeMatches(name: string, image: string, options?: Options): Result<Api.PrototypeMatches> {
  return useAsked(["prototype matches", name, image], (asked) => Api.prototypeMatches(name, image, {}, asked), options);
}

/** What changing an image does; an answer that nobody waits for any more is given up. */
export function usePrototypeLive(name: string, body: Api.LiveAsked, options?: Options): Result<Api.Live> {
  return useAsked(["prototype live", name, body], (asked) => Api.prototypeLive(name, body, {}, asked), options);
}

/** Addresses of pictures and files, for `src` and `href`. With a version they are kept for ever. */
export const fileUrl = (id: string, v?: string): string => Api.imageFileUrl(id, { v });
export const thumbnailUrl = (id: string, size = 256, v?: string): string => Api.imageThumbnailUrl(id, { size, v });
export const heatmapUrl = (id: string, query: Query = {}): string =>
  Api.getHeatmapUrl(id, known(query, Api.getHeatmapWords));
export const overlayUrl = (id: string, query: Query = {}): string =>
  Api.getOverlayUrl(id, known(query, Api.getOverlayWords));
export const exportUrl = (name: string, query: Query = {}): string =>
  Api.exportFileUrl(name, known(query, Api.exportFileWords));
