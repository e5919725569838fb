/** What is changed: a switch and sliders for each perturbation, with the ranges of the service. */
import type { PerturbationParam, PerturbationType, PrototypeBenchmark } from "../../api/client";
import { Checkbox, Select, Slider, Tip } from "../../components";
import { short } from "../../format";
import { complete, moved, presetOf, toggled, withParam, type Step, type Value } from "./steps";

interface Props {
  of: PrototypeBenchmark;
  steps: readonly Step[];
  onSteps: (steps: readonly Step[]) => void;
}

interface ParamProps {
  type: string;
  param: PerturbationParam;
  value: Value;
  onChange: (value: Value) => void;
}

/** A slider, or a choice where the parameter is a word. */
function ParamField({ type, param, value, onChange }: ParamProps) {
  const label = `${type} ${param.name}`;
  if (param.choices.length > 0) {
    const options = param.choices.map((one) => ({ value: one, label: one }));
    return <Select label={label} value={String(value)} options={options} onChange={onChange} />;
  }
  const number = Number(value);
  const neutral = param.neutral !== null && number === param.neutral ? " (no change)" : "";
  return (
    <Slider label={label} value={number} min={param.low ?? 0} max={param.high ?? 1} step={param.step} text={`${short(number)}${neutral}`} onChange={onChange} />
  );
}

interface ChangeProps extends Props {
  about: PerturbationType;
  place: number;
}

function Change({ of, steps, onSteps, about, place }: ChangeProps) {
  const at = steps.findIndex(({ type }) => type === about.type);
  const step = steps[at] ?? complete(of.offered, { type: about.type });
  const order = at >= 0 && steps.length > 1 ? `, step ${at + 1} of ${steps.length}` : "";
  return (
    <fieldset className={at >= 0 ? "prototypes-change on" : "prototypes-change"}>
      <legend className="hidden">{about.type}</legend>
      <div className="prototypes-switch">
        <Checkbox label={`${about.type}${order}`} checked={at >= 0} onChange={() => onSteps(toggled(steps, of.offered, about.type))} />
        <Tip text={about.about}>what it does</Tip>
        {at > 0 && (
          <button type="button" className="button quiet" aria-label={`Do ${about.type} earlier`} onClick={() => onSteps(moved(steps, about.type, -1))}>
            earlier
          </button>
        )}
        <small className="soft" aria-hidden="true">
          key {place}
        </small>
      </div>
      {step &&
        about.params.map((param) => (
          <ParamField
            key={param.name}
            type={about.type}
            param={param}
            value={step.params[param.name] ?? param.default}
            onChange={(value) => onSteps(withParam(steps, of.offered, about.type, param.name, value))}
          />
        ))}
    </fieldset>
  );
}

const OWN = "";

export function Controls({ of, steps, onSteps }: Props) {
  const preset = presetOf(steps, of.perturbations, of.offered) ?? OWN;
  const options = [{ value: OWN, label: "As set below" }, ...of.perturbations.map(({ name, description }) => ({ value: name, label: `${name}: ${description}` }))];
  const take = (name: string) => {
    const asked = of.perturbations.find((one) => one.name === name);
    if (asked) onSteps(asked.steps.flatMap((one) => complete(of.offered, one) ?? []));
  };
  return (
    <div className="prototypes-controls">
      {of.perturbations.length > 0 && <Select label="As in the benchmark" value={preset} options={options} onChange={take} />}
      {of.offered.map((about, index) => (
        <Change key={about.type} of={of} steps={steps} onSteps={onSteps} about={about} place={index + 1} />
      ))}
    </div>
  );
}
