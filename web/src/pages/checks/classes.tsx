/** Models, and classes of images: how often the model is right, and how its maps score. */
import type { AccuracyLine, ClassLine, Correctness } from "../../api/client";
import { ChartFrame } from "../../charts";
import { Empty, Select } from "../../components";
import type { Cell, DataSet } from "../../export";
import { to, useParam } from "../../url";
import { groupBy } from "../../tables";
import { imagesBehind } from "../dashboard/links";
import { dotted, isBaseline, keyOf, nameAmong } from "./lines";
import { FEW, Scatter, type Spot } from "./scatter";

const COLUMNS = ["model", "method", "label", "accuracy", "value", "images"] as const;

const MODEL_COLUMNS = ["model", "method", "layer", "accuracy", "value", "images"] as const;

const dataOf = <K extends string>(lines: readonly Record<K, Cell>[], columns: readonly K[]): DataSet => ({
  columns,
  rows: lines.map((line) => columns.map((column) => line[column])),
});

export function spotsOf(lines: readonly ClassLine[]): Spot[] {
  return lines.flatMap(({ model, method, label, accuracy, value, images }) =>
    accuracy === null || value === null
      ? []
      : [{ key: `${model} ${method} ${label}`, name: label, x: accuracy, y: value, n: images, href: to.gallery({ model, method, style: label }) }],
  );
}

/** Methods to choose from, baselines last. */
export function methodsOf(lines: readonly ClassLine[]): string[] {
  const ordered = [...lines.filter((line) => !isBaseline(line)), ...lines.filter(isBaseline)];
  return [...groupBy(ordered, (line) => dotted(line.method, line.target)).keys()];
}

export function modelSpots(lines: readonly AccuracyLine[], metric: string): Spot[] {
  return lines.flatMap((line) =>
    line.accuracy === null || line.value === null
      ? []
      : [{ key: keyOf(line), name: nameAmong(line, lines), x: line.accuracy, y: line.value, n: line.images, href: imagesBehind(line, metric) }],
  );
}

/** Values a little beyond the smallest and the largest accuracy; 0 and 1 where some are of few images. */
export function accuracyRange(spots: readonly Spot[]): number[] {
  if (spots.some(({ n }) => n < FEW)) return [0, 1];
  const values = spots.map(({ x }) => x);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return [low - (high - low) / 10, Math.min(1, high + (high - low) / 10)];
}

/** A spot for each model and method. */
export function ModelPanel({ answer: { models, metric }, title }: ClassPanelProps) {
  const spots = modelSpots(models, metric);
  return (
    <ChartFrame title="Models: accuracy and score of their maps" name="models" data={() => dataOf(models, MODEL_COLUMNS)}>
      <Scatter
        label={`${title} of each method by accuracy of its model; each spot opens its images`}
        spots={spots}
        xLabel="accuracy"
        yLabel={title}
        xInclude={accuracyRange(spots)}
        height={360}
      />
    </ChartFrame>
  );
}

interface ClassPanelProps {
  answer: Correctness;
  title: string;
}

/** A spot for each class, a panel for each model; of one method. */
export function ClassPanel({ answer, title }: ClassPanelProps) {
  const [asked, setMethod] = useParam("of");
  const methods = methodsOf(answer.classes);
  const method = methods.includes(asked) ? asked : (methods[0] ?? "");
  const lines = answer.classes.filter((line) => dotted(line.method, line.target) === method);
  if (lines.length === 0) return <Empty title="No classes">Images have no labels that the models know.</Empty>;
  const options = methods.map((name) => ({ value: name, label: name }));
  return (
    <section className="checks-section" aria-labelledby="checks-classes">
      <h2 id="checks-classes">Classes: accuracy of the model and score of its maps</h2>
      <div className="checks-filters">
        <Select label="Maps of" value={method} options={options} onChange={(name) => setMethod(name === methods[0] ? "" : name)} />
      </div>
      <div className="checks-small">
        {[...groupBy(lines, ({ model }) => model)].map(([model, some]) => (
          <ChartFrame key={model} level={3} title={model} name={`classes-${model}`} data={() => dataOf(some, COLUMNS)}>
            <Scatter
              label={`${title} of ${method} by accuracy of ${model}; each spot opens its images`}
              spots={spotsOf(some)}
              xLabel="accuracy"
              yLabel={title}
            />
          </ChartFrame>
        ))}
      </div>
    </section>
  );
}
