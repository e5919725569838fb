/** What scores are called, for people. */
import { useMetricTable } from "../api/queries";
import { metricParts } from "../format";
import type { Choosable } from "./fields";

/** Scores by name; those with thresholds stand together. */
export function metricChoices(names: readonly string[], titles: ReadonlyMap<string, string>): Choosable[] {
  return names.map((name) => {
    const { metric, threshold } = metricParts(name);
    const title = titles.get(metric) ?? metric;
    return threshold === null
      ? { value: name, label: title }
      : { value: name, label: `${title} @${threshold}`, group: `${title} by threshold` };
  });
}

/** Names of all metrics for people. */
export function useTitles(): ReadonlyMap<string, string> {
  const table = useMetricTable().data;
  return new Map((table?.metrics ?? []).map(({ name, title }) => [name, title]));
}

/** The title of `metric[@threshold]`. */
export function useTitle(name: string): string {
  const { metric, threshold } = metricParts(name);
  return (useTitles().get(metric) ?? metric) + (threshold === null ? "" : `@${threshold}`);
}
