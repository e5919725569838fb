/** Which map: model, method, layer, head, target; what is left open shows what was chosen. */
import type { Choice, StudyInfo } from "../api/client";
import { Select, type Choosable } from "./fields";

/** Which map is asked for; null and "" leave it open. */
export interface Asked {
  readonly model: string;
  readonly method: string;
  readonly layer: string;
  readonly head: string;
  readonly target: string;
}

export type AskedName = keyof Asked;

interface ChoiceFieldsProps {
  study: StudyInfo;
  asked: Asked;
  /** What the service made of it, once known. */
  choice: Choice | undefined;
  onChange: (changes: Partial<Asked>) => void;
  /** Also `best`, `last` and `split` as layers: where a table is asked for. */
  table?: boolean;
}

/** The choice that leaves it to the service, and what that came to. */
function open(asked: string, chosen: string | undefined): Choosable {
  return { value: "", label: asked !== "" || chosen === undefined ? "choose for me" : `${chosen} (chosen)` };
}

/** Whether a method's heads were kept apart: the plan tells how many there are of each. */
export function hasHeads(study: Pick<StudyInfo, "plan">, model: string, method: string): boolean {
  const { columns, rows } = study.plan;
  const place = (name: string) => columns.indexOf(name);
  return rows.some(
    (row) => row[place("model")] === model && row[place("method")] === method && Number(row[place("heads")]) > 0,
  );
}

/** A name from the address that is not among the choices is shown as what it is, so that it can be left. */
function withAsked(options: readonly Choosable[], asked: string): Choosable[] {
  const known = asked === "" || options.some((option) => option.value === asked);
  return known ? [...options] : [...options, { value: asked, label: `${asked} (not stored)` }];
}

function modelOptions(study: StudyInfo): Choosable[] {
  return study.models.map((model) => ({
    value: model.name,
    label: model.name,
    group: model.baseline ? "Baselines" : "Models",
  }));
}

function methodOptions(study: StudyInfo, model: string): Choosable[] {
  const names = study.models.find((one) => one.name === model)?.methods;
  const groups = new Map(study.methods.map((method) => [method.name, method.group]));
  return (names ?? study.methods.map((method) => method.name)).map((name) => ({
    value: name,
    label: name,
    group: groups.get(name),
  }));
}

/** How tables choose a layer. */
export const LAYER_RULES: readonly Choosable[] = [
  { value: "best", label: "best (same images)" },
  { value: "split", label: "best, chosen on the other half" },
  { value: "last", label: "last" },
];

/** The same where the address does not name what is usual. */
export const OPEN_LAYER_RULES = LAYER_RULES.map((rule) => (rule.value === "best" ? { ...rule, value: "" } : rule));

function numbers(found: readonly number[]): Choosable[] {
  return found.map((number) => ({ value: String(number), label: String(number) }));
}

/** What goes when something before it changes: another model has other layers, heads and classes. */
export function changed(name: AskedName, value: string, study: StudyInfo, asked: Asked): Partial<Asked> {
  if (name === "model") {
    const methods = study.models.find((model) => model.name === value)?.methods;
    const keeps = methods === undefined || methods.includes(asked.method);
    return { model: value, method: keeps ? asked.method : "", layer: "", head: "", target: "" };
  }
  if (name === "method") return { method: value, layer: "", head: "", target: "" };
  return { [name]: value };
}

/** Fields for a map; those without a choice are left out. */
export function ChoiceFields({ study, asked, choice, onChange, table }: ChoiceFieldsProps) {
  const model = study.models.find((one) => one.name === (asked.model || choice?.model));
  const method = study.methods.find((one) => one.name === (asked.method || choice?.method));
  const set = (name: AskedName) => (value: string) => onChange(changed(name, value, study, asked));
  const layers = method?.layered ? (model?.layer_numbers ?? []) : [];
  const heads = model && method && hasHeads(study, model.name, method.name) ? model.head_numbers : [];
  const targets = method?.targets ?? [];
  const chosenLayer = choice?.layer === null || choice === undefined ? undefined : String(choice.layer);
  return (
    <>
      <Select
        label="Model"
        value={asked.model}
        options={withAsked([open(asked.model, choice?.model), ...modelOptions(study)], asked.model)}
        onChange={set("model")}
      />
      <Select
        label="Method"
        value={asked.method}
        options={withAsked([open(asked.method, choice?.method), ...methodOptions(study, model?.name ?? "")], asked.method)}
        onChange={set("method")}
      />
      {layers.length > 0 && (
        <Select
          label="Layer"
          value={asked.layer}
          options={withAsked([open(asked.layer, chosenLayer), ...(table ? LAYER_RULES : []), ...numbers(layers)], asked.layer)}
          onChange={set("layer")}
        />
      )}
      {heads.length > 0 && (
        <Select
          label="Head"
          value={asked.head}
          options={withAsked([{ value: "", label: "fused" }, ...numbers(heads)], asked.head)}
          onChange={set("head")}
        />
      )}
      {targets.length > 1 && (
        <Select
          label="Target"
          value={asked.target}
          options={[open(asked.target, choice?.target), ...targets.map((target) => ({ value: target, label: target || "none" }))]}
          onChange={set("target")}
        />
      )}
    </>
  );
}
