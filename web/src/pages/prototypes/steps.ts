/** Changes of an image, as the address and the sliders have them. Pure. */
import type { BenchmarkPerturbation, PerturbationParam, PerturbationStep, PerturbationType } from "../../api/client";

export type Value = number | string;
export interface Step {
  readonly type: string;
  readonly params: Readonly<Record<string, Value>>;
}
type Offered = readonly PerturbationType[];

const NONE = "none";
const BETWEEN_STEPS = "~";

/** What a parameter takes: within its range, on its steps counted from the least; else its default. */
export function fit(param: PerturbationParam, value: Value | undefined): Value {
  if (param.choices.length > 0) return param.choices.find((one) => one === value) ?? param.default;
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  if (typeof number !== "number" || !Number.isFinite(number)) return param.default;
  const [low, high] = [param.low ?? number, param.high ?? number];
  const within = Math.min(high, Math.max(low, number));
  const onStep = low + Math.round((within - low) / param.step) * param.step;
  // Sums of steps such as 0.1 end in digits that nobody meant.
  return Number(Math.min(high, onStep).toPrecision(10));
}

function typeOf(offered: Offered, type: string): PerturbationType | undefined {
  return offered.find((one) => one.type === type);
}

/** A step with all its parameters, each as it may be; null: there is no such type. */
export function complete(offered: Offered, { type, params }: { type: string; params?: Readonly<Record<string, Value>> }): Step | null {
  const about = typeOf(offered, type);
  if (!about) return null;
  const full = about.params.map((param) => [param.name, fit(param, params?.[param.name])] as const);
  return { type, params: Object.fromEntries(full) };
}

/** Steps as text: `hue:factor=0.2~blur:ksize=21,sigma=2`. */
export function writeSteps(steps: readonly Step[]): string {
  if (steps.length === 0) return NONE;
  return steps
    .map(({ type, params }) => `${type}:${Object.entries(params).map(([name, value]) => `${name}=${value}`).join(",")}`)
    .join(BETWEEN_STEPS);
}

/** The steps of an address; null: it has none. What is not offered is left out. */
export function readSteps(text: string | null, offered: Offered): Step[] | null {
  if (text === null || text === "") return null;
  if (text === NONE) return [];
  return text.split(BETWEEN_STEPS).flatMap((part) => {
    const [type = "", words = ""] = part.split(":");
    const pairs = words.split(",").map((word) => word.split("=") as [string, string | undefined]);
    const params = Object.fromEntries(pairs.filter(([, value]) => value !== undefined)) as Record<string, Value>;
    const step = complete(offered, { type, params });
    return step ? [step] : [];
  });
}

/** What is done before anything was chosen: the benchmark's first perturbation, or the first offered. */
export function firstSteps(perturbations: readonly BenchmarkPerturbation[], offered: Offered): Step[] {
  const asked: readonly PerturbationStep[] = perturbations[0]?.steps ?? offered.slice(0, 1).map(({ type }) => ({ type, params: {} }));
  return asked.flatMap((one) => complete(offered, one) ?? []);
}

/** Turns a change on, at the end, or off. */
export function toggled(steps: readonly Step[], offered: Offered, type: string): Step[] {
  if (steps.some((one) => one.type === type)) return steps.filter((one) => one.type !== type);
  const step = complete(offered, { type });
  return step ? [...steps, step] : [...steps];
}

/** Sets a parameter; a change that was off is turned on. */
export function withParam(steps: readonly Step[], offered: Offered, type: string, name: string, value: Value): Step[] {
  const on = steps.some((one) => one.type === type) ? [...steps] : toggled(steps, offered, type);
  return on.map((one) => (one.type === type ? (complete(offered, { type, params: { ...one.params, [name]: value } }) ?? one) : one));
}

/** Does a change earlier (−1) or later (1): their order matters. */
export function moved(steps: readonly Step[], type: string, by: -1 | 1): Step[] {
  const from = steps.findIndex((one) => one.type === type);
  const into = from + by;
  if (from < 0 || into < 0 || into >= steps.length) return [...steps];
  const next = [...steps];
  [next[from], next[into]] = [next[into]!, next[from]!];
  return next;
}

/** Which perturbation of the benchmark these steps are; null: none. */
export function presetOf(steps: readonly Step[], perturbations: readonly BenchmarkPerturbation[], offered: Offered): string | null {
  const text = writeSteps(steps);
  const same = ({ steps: own }: BenchmarkPerturbation) => writeSteps(own.flatMap((one) => complete(offered, one) ?? [])) === text;
  return perturbations.find(same)?.name ?? null;
}
