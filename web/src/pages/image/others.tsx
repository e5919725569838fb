/** Other maps of the same image: all models and methods, all heads. */
import type { Choice, HeadLine, ImageHeads, ImageModels, ImageModelsLine } from "../../api/client";
import type { Result } from "../../api/queries";
import { HeatTable, heatData, LoadedChart, type HeatTableProps } from "../../charts";
import { DataTable, ExportMenu, Loaded, Panel, Score, tableData, type Column } from "../../components";
import { score } from "../../format";
import { change } from "./state";

/** Lines of the table: `models` are all to which it belongs. */
export interface ModelsLine extends ImageModelsLine {
  models: readonly string[];
}

/**
 * One line for what is the same with several models: a baseline does not ask the model. Only equal
 * numbers are put together; on other rasters a baseline has others.
 */
export function merged(lines: readonly ImageModelsLine[], baselines: ReadonlySet<string>): ModelsLine[] {
  const found = new Map<string, ModelsLine>();
  for (const line of lines) {
    const { model, method, target } = line.choice;
    const same = baselines.has(method) ? [method, target, line.value, line.chance, line.ceiling] : [model, method, target];
    const key = JSON.stringify(same);
    const before = found.get(key);
    found.set(key, before ? { ...before, models: [...before.models, model] } : { ...line, models: [model] });
  }
  return [...found.values()];
}

const MODEL_COLUMNS: readonly Column<ModelsLine>[] = [
  {
    key: "model",
    title: "Model",
    value: (line) => line.models.join(" "),
    render: (line) => (line.models.length === 1 ? line.choice.model : <span title={line.models.join(", ")}>{line.models.length} models alike</span>),
  },
  { key: "method", title: "Method", value: (line) => line.choice.method },
  {
    key: "value",
    title: "Value",
    value: (line) => line.value,
    render: (line) => <Score value={line.value} chance={line.chance} ceiling={line.ceiling} stacked />,
  },
  { key: "target", title: "Target", value: (line) => line.choice.target, render: (line) => line.choice.target || "–" },
  {
    key: "layer",
    title: "Layer",
    align: "right",
    value: (line) => line.choice.layer,
    render: (line) => line.choice.layer ?? "–",
  },
  { key: "chance", title: "Chance", align: "right", value: (line) => line.chance, render: (line) => score(line.chance) },
];

interface ModelsProps {
  image: string;
  answer: Result<ImageModels>;
  choice: Choice;
  /** Methods that do not ask the model. */
  baselines: ReadonlySet<string>;
}

/** All models on this image, the best first; a click shows its map. */
export function Models({ image, answer, choice, baselines }: ModelsProps) {
  const columns = MODEL_COLUMNS.slice(0, 5);
  const show = ({ choice: { model, method, layer, target } }: ModelsLine) =>
    change({ model, method, layer, target, head: null, seed: null }, true);
  return (
    <Panel
      title="All models on this image"
      note={answer.data?.note}
      tools={<ExportMenu name={`${image}-models`} data={() => tableData(MODEL_COLUMNS, merged(answer.data?.lines ?? [], baselines))} />}
    >
      <Loaded of={answer}>
        {({ lines, metric }) => (
          <DataTable
            columns={columns}
            rows={merged(lines, baselines)}
            rowKey={(line) => `${line.choice.model} ${line.choice.method} ${line.choice.target}`}
            caption={`${metric} of all models on ${image}`}
            hideCaption
            onRow={show}
            isCurrent={(line) =>
              line.models.includes(choice.model) && line.choice.method === choice.method && line.choice.target === choice.target
            }
            shown={12}
          />
        )}
      </Loaded>
    </Panel>
  );
}

interface HeadsProps {
  image: string;
  answer: Result<ImageHeads>;
  choice: Choice;
}

/** All heads on this image, layer by layer; a click shows the head's map. */
export function Heads({ image, answer, choice }: HeadsProps) {
  return (
    <LoadedChart
      title="Heads on this image"
      name={`${image}-heads`}
      of={answer}
      data={(heads) => heatData(tableOf(heads, choice))}
      note={answer.data?.note}
    >
      {(heads) =>
        heads.lines.length === 0 ? <p className="soft">No single heads are stored.</p> : <HeatTable {...tableOf(heads, choice)} />
      }
    </LoadedChart>
  );
}

function headText({ head, value, chance, ceiling }: HeadLine): string {
  return `head ${head}: ${score(value)}, chance ${score(chance)}, ceiling ${score(ceiling)}`;
}

function tableOf({ image, metric, lines }: ImageHeads, choice: Choice): HeatTableProps {
  const layers = [...new Set(lines.map((line) => line.layer))].sort((a, b) => a - b);
  const heads = [...new Set(lines.map((line) => line.head))].sort((a, b) => a - b);
  const found = new Map<string, HeadLine>(lines.map((line) => [`${line.layer} ${line.head}`, line]));
  const at = (row: number, column: number) => found.get(`${layers[row]} ${heads[column]}`);
  const here: [number, number] = [layers.indexOf(choice.layer ?? -1), heads.indexOf(choice.head ?? -1)];
  return {
    label: `${metric} of each head on ${image}`,
    rows: layers.map((layer) => ({ key: String(layer), name: `layer ${layer}` })),
    columns: heads.map((head) => ({ key: String(head), name: String(head) })),
    columnLabel: "head",
    cell: (row, column) => {
      const line = at(row, column);
      return { value: line?.value ?? null, title: line ? headText(line) : "not stored" };
    },
    format: (value) => score(value, 2),
    scaleLabel: metric,
    current: here[0] < 0 || here[1] < 0 ? null : here,
    onPick: (row, column) => change({ layer: layers[row], head: heads[column] }, true),
  };
}
