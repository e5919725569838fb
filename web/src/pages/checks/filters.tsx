/** Which lines and which measure the views are about; kept in the address. */
import type { ReactNode } from "react";

import type { CheckList, StudyInfo } from "../../api/client";
import { useMetricTable, useStudy } from "../../api/queries";
import { ClearButton, Select, useNamedWords, type Choosable } from "../../components";
import { setParams, useUrl } from "../../url";
import { metricChoices, useTitles } from "../../components/metric_names";
import { READING_NAMES, SIMILARITY_NAMES, WAY_NAMES } from "./words";
import { NARROWING, VIEW_INFO, type Field, type View } from "./views";

/** The words in the address that a view reads; others are kept for the other views. */
export const useViewWords = (view: View): Partial<Record<Field, string>> => useNamedWords(VIEW_INFO[view].fields);

/** What a table of randomisation is asked for. */
export function useRandomised(view: "verdicts" | "cascade") {
  const { similarity, reading, ...words } = useViewWords(view);
  return { ...words, measure: similarity, reading: reading === "absolute" ? ("absolute" as const) : undefined };
}

const named = (names: readonly string[], titles: Readonly<Record<string, string>> = {}): Choosable[] =>
  names.map((value) => ({ value, label: titles[value] ?? value }));

interface FieldProps {
  name: Field;
  label: string;
  options: readonly Choosable[];
  /** What stands for "not given". */
  usual: string;
}

/** A list whose choice stands in the address; without a choice there is no field. */
function AddressField({ name, label, options, usual }: FieldProps) {
  const { params } = useUrl();
  if (options.length < 2) return null;
  const asked = params.get(name) ?? usual;
  const value = options.some((option) => option.value === asked) ? asked : usual;
  return (
    <Select
      label={label}
      value={value}
      options={options}
      onChange={(next) => setParams({ [name]: next === usual ? null : next })}
    />
  );
}

const withAll = (label: string, options: readonly Choosable[]): Choosable[] => [{ value: "", label }, ...options];

/** Models and methods that a view can be about: those that were checked, or all. */
function namesFor(view: View, study: StudyInfo, checks: CheckList | undefined) {
  if (checks && VIEW_INFO[view].needs) return checks;
  return {
    models: study.models.filter((model) => !model.baseline).map(({ name }) => name),
    methods: study.methods.map(({ name }) => name),
    targets: [...new Set(study.methods.flatMap(({ targets }) => targets))].filter((name) => name !== ""),
  };
}

function MetricField({ label }: { label: string }) {
  const table = useMetricTable().data;
  const titles = useTitles();
  if (!table) return null;
  return <AddressField name="metric" label={label} options={metricChoices(table.stored, titles)} usual={table.default} />;
}

function layersOf(study: StudyInfo, model: string | null): Choosable[] {
  const models = study.models.filter(({ name }) => model === null || name === model);
  const layers = [...new Set(models.flatMap((one) => one.layer_numbers))].sort((a, b) => a - b);
  return layers.map((layer) => ({ value: String(layer), label: `layer ${layer}` }));
}

interface BarProps {
  view: View;
  checks: CheckList | undefined;
}

/** Fields of a view. */
export function FilterBar({ view, checks }: BarProps) {
  const study = useStudy().data;
  const { params } = useUrl();
  if (!study) return null;
  const { fields } = VIEW_INFO[view];
  const { models, methods, targets } = namesFor(view, study, checks);
  const best = view === "failures" ? "best" : "";
  const draw: Record<Field, () => ReactNode> = {
    similarity: () => (
      <AddressField name="similarity" label="Similarity by" options={named(checks?.measures ?? [], SIMILARITY_NAMES)} usual={checks?.measures[0] ?? ""} />
    ),
    reading: () => <AddressField name="reading" label="Maps are read" options={named(checks?.readings ?? [], READING_NAMES)} usual="signed" />,
    way: () => <WayField view={view} ways={checks?.ways ?? []} />,
    metric: () => <MetricField label={VIEW_INFO[view].needs ? "Best layer by" : "Score"} />,
    model: () => <AddressField name="model" label="Model" options={withAll(best || "all models", named(models))} usual="" />,
    method: () => <AddressField name="method" label="Method" options={withAll(best || "all methods", named(methods))} usual="" />,
    layer: () => <AddressField name="layer" label="Layer" options={withAll("best", layersOf(study, params.get("model")))} usual="" />,
    target: () => (targets.length < 2 ? null : <AddressField name="target" label="Explains" options={withAll("any", named(targets))} usual="" />),
  };
  return (
    <div className="checks-filters" role="group" aria-label="What is shown">
      {fields.map((field) => (
        <span key={field} className="checks-field">
          {draw[field]()}
        </span>
      ))}
      <ClearButton names={NARROWING} />
    </div>
  );
}

/** A cascade has stages; a verdict needs all weights redrawn. */
export const waysFor = (view: View, ways: readonly string[]): string[] =>
  ways.filter((way) => way !== (view === "cascade" ? "full" : "single"));

function WayField({ view, ways }: { view: View; ways: readonly string[] }) {
  const known = waysFor(view, ways);
  const usual = view === "cascade" && known.includes("top-down") ? "top-down" : (known[0] ?? "");
  return <AddressField name="way" label="Weights are redrawn" options={named(known, WAY_NAMES)} usual={usual} />;
}
