/** Heads by labels of regions: which head looks at what, and on which images. */
import { useMemo } from "react";

import type { HeadMatrix } from "../../api/client";
import { useHeadMatrix, useLabels } from "../../api/queries";
import { HeatTable, LoadedChart, type HeatCell } from "../../charts";
import { Empty, MetricTip, Search, Select } from "../../components";
import type { DataSet } from "../../export";
import { plural, score } from "../../format";
import { setParams, useNumberParam, useParam, useUrl, useWord } from "../../url";
import { ExemplarsPanel } from "./exemplars";
import { useHeadWords } from "./head_words";
import { joined } from "./lines";
import { percentileWord } from "./links";
import { arrange, coloursOf, HEAD_ORDERS, MATRIX_SCALES, timesChance, type HeadOrder, type MatrixScale } from "./matrix";
import { ChoiceNote, LeastField } from "./parts";

const ORDER_NAMES: Record<HeadOrder, string> = { layer: "by layer", best: "best first" };
const SCALE_NAMES: Record<MatrixScale, string> = {
  label: "best head of each label = 1",
  score: "one scale for all",
  chance: "times chance",
};
const SCALE_SAYS: Record<MatrixScale, string> = {
  label: "share of the best head of that label",
  score: "score",
  chance: "times chance: red above, blue below",
};

function dataOf({ labels, counts, heads, values, metric }: HeadMatrix): DataSet {
  const rows = heads.flatMap(([layer, head], row) =>
    labels.map((label, column) => [layer, head, label, counts[column], values[row]?.[column]]),
  );
  return { columns: ["layer", "head", "label", "regions", metric], rows };
}

/** What no information scores on the regions of each label; it follows from areas alone. */
function useChances(answer: HeadMatrix | undefined): ReadonlyMap<string, number> {
  const shared = answer?.choice.ties === "share";
  const query = {
    model: answer?.choice.model ?? "",
    method: answer?.choice.method ?? "",
    percentile: percentileWord(answer?.metric ?? "") ?? "",
  };
  const labels = useLabels(query, { enabled: answer !== undefined && shared }).data;
  return new Map(
    (labels?.lines ?? []).flatMap(({ label, figures }) => {
      const chance = figures.find(({ metric }) => metric === answer?.metric)?.chance;
      return typeof chance === "number" ? [[label, chance] as const] : [];
    }),
  );
}

interface HeatProps {
  answer: HeadMatrix;
  chances: ReadonlyMap<string, number>;
  scale: MatrixScale;
  order: HeadOrder;
  least: number;
  text: string;
}

function Heat({ answer, chances, scale, order, least, text }: HeatProps) {
  const { params } = useUrl();
  const shown = useMemo(() => arrange(answer, { least, text, order }), [answer, least, text, order]);
  const colours = useMemo(() => coloursOf(answer, scale, chances), [answer, scale, chances]);
  if (shown.labels.length === 0) {
    return <Empty title="No label fits">Search for something else, or allow labels with fewer regions.</Empty>;
  }
  const names = shown.labels.map((label) => answer.labels[label] ?? "");
  const heads = shown.heads.map((head) => answer.heads[head] ?? [0, 0]);
  const cellOf = (row: number, column: number): HeatCell => {
    const [head, label] = [shown.heads[row] ?? 0, shown.labels[column] ?? 0];
    const value = answer.values[head]?.[label] ?? null;
    const chance = chances.get(names[column] ?? "") ?? null;
    const said = joined(score(value), chance === null ? "" : `chance ${score(chance)}`, timesText(value, chance));
    return { value: colours.at(head, label), text: score(value, 2), title: said };
  };
  const pick = (row: number, column: number) => {
    const [layer, head] = heads[row] ?? [];
    setParams({ pick: `${layer}.${head}`, of: names[column] }, { push: true });
  };
  const current = [
    heads.findIndex((head) => head.join(".") === params.get("pick")),
    names.indexOf(params.get("of") ?? ""),
  ] as const;
  return (
    <HeatTable
      label="Heads by labels; Enter shows on which regions a head does best"
      rows={heads.map(([layer, head]) => ({ key: `${layer}.${head}`, name: `layer ${layer}, head ${head}` }))}
      columns={shown.labels.map((label) => ({
        key: String(label),
        name: answer.labels[label] ?? "",
        detail: plural(answer.counts[label] ?? 0, "region"),
      }))}
      cell={cellOf}
      kind={scale === "chance" ? "diverging" : "sequential"}
      domain={colours.domain}
      format={colours.format}
      size={18}
      scaleLabel={SCALE_SAYS[scale]}
      onPick={pick}
      current={current}
    />
  );
}

function timesText(value: number | null, chance: number | null): string {
  const times = timesChance(value, chance);
  return times === null ? "" : `${times.toFixed(1)} times chance`;
}

export function MatrixView() {
  const answer = useHeadMatrix(useHeadWords("matrix"), { keep: true });
  const chances = useChances(answer.data);
  const [scale, setScale] = useWord("scale", MATRIX_SCALES, "label");
  const [order, setOrder] = useWord("heads", HEAD_ORDERS, "layer");
  const [least, setLeast] = useNumberParam("least", 1);
  const [text, setText] = useParam("find");
  const scales = MATRIX_SCALES.filter((one) => one !== "chance" || chances.size > 0);
  return (
    <>
      <div className="dashboard-filters">
        <Search label="Search labels" value={text} onChange={setText} placeholder="window" />
        <LeastField value={least} onChange={setLeast} />
        <Select label="Heads" value={order} options={HEAD_ORDERS.map((one) => ({ value: one, label: ORDER_NAMES[one] }))} onChange={setOrder} />
        <Select label="Colours" value={scale} options={scales.map((one) => ({ value: one, label: SCALE_NAMES[one] }))} onChange={setScale} />
      </div>
      {answer.data && <ChoiceNote choice={answer.data.choice} />}
      <div className="dashboard-matrix">
        <LoadedChart
          of={answer}
          title={answer.data ? <><MetricTip name={answer.data.metric} /> of heads by label</> : "Heads by label"}
          name="heads-by-feature"
          data={dataOf}
          note={answer.data?.note}
        >
          {(matrix) => <Heat answer={matrix} {...{ chances, scale, order, least, text }} />}
        </LoadedChart>
        {answer.data && <ExemplarsPanel matrix={answer.data} />}
      </div>
    </>
  );
}
