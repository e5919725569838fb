/** Which maps and which score the views are about; kept in the address. */
import type { ModelInfo, StudyInfo } from "../../api/client";
import { useMetricTable, useStudy } from "../../api/queries";
import { Select, useNamedWords, type Choosable } from "../../components";
import { hasHeads, OPEN_LAYER_RULES } from "../../components/choice_fields";
import { metricChoices, useTitles } from "../../components/metric_names";
import { setParams, useUrl, type Words } from "../../url";
import { distinct } from "./lines";
import { VIEW_INFO, type Field, type View } from "./views";

/** The words in the address that a view reads; others are kept for the other views. */
export const useViewWords = (view: View, also: readonly Field[] = []): Words =>
  useNamedWords([...VIEW_INFO[view].fields, ...also]);

interface FieldProps {
  study: StudyInfo;
  view: View;
}

function MetricField() {
  const table = useMetricTable().data;
  const titles = useTitles();
  const { params } = useUrl();
  if (!table) return null;
  const value = params.get("metric") ?? table.default;
  const options = metricChoices(table.stored, titles);
  return <Select label="Score" value={value} options={options} onChange={(metric) => setParams({ metric })} />;
}

/** Models that a view can be about. */
export function modelsFor(study: StudyInfo, view: View): readonly ModelInfo[] {
  const heads = view === "heads" || view === "matrix";
  return study.models.filter((model) => !model.baseline && (!heads || model.heads > 0));
}

function ModelField({ study, view }: FieldProps) {
  const { params } = useUrl();
  const names = modelsFor(study, view).map(({ name }) => ({ value: name, label: name }));
  const all = { value: "", label: VIEW_INFO[view].single ? "best" : "all models" };
  // Layers and heads of one model need not be another's.
  const change = (model: string) => setParams({ model, layer: keptRule(params.get("layer")), head: null });
  return <Select label="Model" value={params.get("model") ?? ""} options={[all, ...names]} onChange={change} />;
}

const keptRule = (layer: string | null): string | null =>
  layer !== null && /^\d+$/.test(layer) ? null : layer;

function MethodField({ study, view }: FieldProps) {
  const { params } = useUrl();
  const model = study.models.find(({ name }) => name === params.get("model"));
  const names = study.methods
    .filter(({ name }) => model === undefined || model.methods.includes(name))
    .map(({ name, group }) => ({ value: name, label: name, group }));
  const all = { value: "", label: VIEW_INFO[view].single ? "best" : "all methods" };
  return (
    <Select
      label="Method"
      value={params.get("method") ?? ""}
      options={[all, ...names]}
      onChange={(method) => setParams({ method, head: null })}
    />
  );
}

/** Layers that are stored of a model, or of any. */
function layersOf(study: StudyInfo, model: string | null): number[] {
  const models = study.models.filter(({ name }) => model === null || model === "" || name === model);
  return distinct(models.flatMap((one) => one.layer_numbers)).sort((a, b) => a - b);
}

const numbered = (places: readonly number[], name: string): Choosable[] =>
  places.map((place) => ({ value: String(place), label: `${name} ${place}` }));

function LayerField({ study, view }: FieldProps) {
  const { params } = useUrl();
  const heads = view === "heads" || view === "matrix";
  const rules = heads ? [{ value: "", label: "all layers" }] : OPEN_LAYER_RULES;
  const value = params.get("layer") ?? "";
  const options = [...rules, ...numbered(layersOf(study, params.get("model")), "layer")];
  const shown = options.some((option) => option.value === value) ? value : "";
  return <Select label="Layer" value={shown} options={options} onChange={(layer) => setParams({ layer })} />;
}

function HeadField({ study }: FieldProps) {
  const { params } = useUrl();
  const model = study.models.find(({ name }) => name === params.get("model"));
  const method = params.get("method") ?? "";
  const kept = model !== undefined && (method === "" || hasHeads(study, model.name, method));
  const heads = kept ? model.head_numbers : [];
  if (heads.length === 0) return null;
  const options = [{ value: "", label: "fused" }, ...numbered(heads, "head")];
  return <Select label="Head" value={params.get("head") ?? ""} options={options} onChange={(head) => setParams({ head })} />;
}

function TargetField({ study }: FieldProps) {
  const { params } = useUrl();
  const targets = [...new Set(study.methods.flatMap((method) => method.targets))].filter((name) => name !== "");
  if (targets.length < 2) return null;
  const options = [{ value: "", label: "any" }, ...targets.map((name) => ({ value: name, label: name }))];
  return (
    <Select label="Explains" value={params.get("target") ?? ""} options={options} onChange={(target) => setParams({ target })} />
  );
}

/** Fields of a view. */
export function FilterBar({ view }: { view: View }) {
  const study = useStudy().data;
  if (!study) return null;
  const fields = VIEW_INFO[view].fields;
  return (
    <div className="dashboard-filters" role="group" aria-label="What is shown">
      {fields.includes("metric") && <MetricField />}
      {fields.includes("model") && <ModelField study={study} view={view} />}
      {fields.includes("method") && <MethodField study={study} view={view} />}
      {fields.includes("layer") && <LayerField study={study} view={view} />}
      {fields.includes("head") && <HeadField study={study} view={view} />}
      {fields.includes("target") && <TargetField study={study} view={view} />}
    </div>
  );
}
