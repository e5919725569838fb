/** Faithfulness: measures of whether the model relies on what a map ranks first. */
import { useMemo } from "react";

import type { Faithfulness, FaithfulnessLine } from "../../api/client";
import { useChecks, useFaithfulness } from "../../api/queries";
import { ChartFrame, IntervalRows, type IntervalRow } from "../../charts";
import { Caution, Loaded, Select } from "../../components";
import { to, useParam } from "../../url";
import { faithfulnessData, MeasureTable } from "./measure_table";
import { useViewWords } from "./filters";
import { groupBy } from "../../tables";
import { checkedLayer, dotted, isBaseline, keyOf, nameAmong } from "./lines";
import { NoLine } from "./notes";
import { againstRandom, MEASURE_WORDS, measureTitle } from "./words";

const BETTER = { higher: "higher is better", lower: "lower is better", zero: "nearer to zero is better" } as const;
const AGAINST = { better: "better than random", worse: "worse than random", alike: "like random", unknown: "" } as const;

function rowOf(line: FaithfulnessLine, lines: readonly FaithfulnessLine[], curves: boolean): IntervalRow {
  const baseline = isBaseline(line);
  return {
    key: keyOf(line),
    label: nameAmong(line, lines, false),
    detail: dotted(baseline ? "baseline" : AGAINST[againstRandom(line)], checkedLayer(line)),
    value: line.value,
    low: line.low,
    high: line.high,
    chance: line.random,
    colour: baseline ? "var(--soft)" : "var(--blue)",
    hollow: baseline,
    href: curves ? to.checks({ view: "curves", curve: line.measure, model: line.model }) : null,
  };
}

interface PanelProps {
  model: string;
  lines: readonly FaithfulnessLine[];
  measure: string;
  /** Whether curves of the measure are stored. */
  curves: boolean;
}

function ModelPanel({ model, lines, measure, curves }: PanelProps) {
  const title = measureTitle(measure);
  const better = lines[0] ? BETTER[lines[0].better] : "";
  return (
    <ChartFrame level={3} title={model} name={`${measure}-${model}`} data={() => faithfulnessData(lines)}>
      <IntervalRows
        label={`${title} of ${model}; ${better}`}
        rows={lines.map((line) => rowOf(line, lines, curves))}
        axis={`${title}: ${better}`}
        names={{ chance: "random map", ceiling: "ceiling" }}
        verb="show the curves"
      />
    </ChartFrame>
  );
}

function Answer({ answer }: { answer: Faithfulness }) {
  const [asked, setMeasure] = useParam("measure");
  const measure = answer.measures.includes(asked) ? asked : (answer.measures[0] ?? "");
  const curves = useChecks().data?.curves.includes(measure) ?? false;
  const lines = useMemo(() => answer.lines.filter((line) => line.measure === measure), [answer, measure]);
  if (answer.lines.length === 0) return <NoLine />;
  const options = answer.measures.map((name) => ({ value: name, label: measureTitle(name) }));
  return (
    <>
      <div className="checks-filters">
        <Select label="Measure" value={measure} options={options} onChange={(name) => setMeasure(name === answer.measures[0] ? "" : name)} />
        <p className="checks-meaning">{MEASURE_WORDS[measure]?.meaning}</p>
      </div>
      <div className="checks-panels">
        {[...groupBy(lines, ({ model }) => model)].map(([model, some]) => (
          <ModelPanel key={model} model={model} lines={some} measure={measure} curves={curves} />
        ))}
      </div>
      <Caution>
        <p>
          <b>Read beside the random map.</b> An image with holes is one that the model was never trained on: part of what
          a score loses is owed to that, for any order of pixels. Measures disagree; no single one shows that a map is
          true to the model.
        </p>
      </Caution>
      <MeasureTable answer={answer} />
    </>
  );
}

export function FaithfulnessView() {
  const answer = useFaithfulness(useViewWords("faithfulness"), { keep: true });
  return <Loaded of={answer}>{(data) => <Answer answer={data} />}</Loaded>;
}
