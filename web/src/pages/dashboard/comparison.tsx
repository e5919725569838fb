/** Two models, variants, methods or layers: what changes, how surely, and on which images. */
import type { Comparison, ComparisonLine, StudyInfo } from "../../api/client";
import { useComparison, useStudy } from "../../api/queries";
import { ChartFrame, IntervalRows, type IntervalRow } from "../../charts";
import { Empty, Loaded, MetricTip, Segmented, Select } from "../../components";
import { OPEN_LAYER_RULES } from "../../components/choice_fields";
import type { DataSet } from "../../export";
import { pValue, percent } from "../../format";
import { setParams, useParam, useUrl, useWord, type Words } from "../../url";
import { useTitle } from "../../components/metric_names";
import { useViewWords } from "./filters";
import { joined, layerName } from "./lines";
import { ShiftsPanel } from "./shifts_panel";
import { BYS, commonName, sideName, sidesOf, usualPair, wordsOfLine, type By } from "./sides";

const COLUMNS = [
  ...(["a", "b", "model", "method", "target", "layer_a", "layer_b", "n", "value_a", "value_b"] as const),
  ...(["difference", "low", "high", "p", "p_holm", "dz", "better", "equal", "worse", "sentence"] as const),
];

const dataOf = ({ lines }: Comparison): DataSet => ({
  columns: COLUMNS,
  rows: lines.map((line) => COLUMNS.map((column) => line[column])),
});

const negative = (value: number | null): number | null => (value === null ? null : -value);

/** The service has a − b; the page shows how far things moved from a to b. */
function rowOf(line: ComparisonLine, by: By, picked: boolean, pick: (key: string) => string): IntervalRow {
  const key = commonName(line);
  const layers = by === "layer" ? "" : joined(layerName(line.layer_a), layerName(line.layer_b)).replace(", ", " → ");
  return {
    key,
    label: key,
    current: picked,
    detail: joined(layers, line.p_holm === null ? "" : `p ${pValue(line.p_holm)}`),
    value: negative(line.difference),
    low: negative(line.high),
    high: negative(line.low),
    href: pick(key),
  };
}

interface PairProps {
  study: StudyInfo;
  by: By;
  a: string;
  b: string;
  model: string;
}

function PairFields({ study, by, a, b, model }: PairProps) {
  const [method, setMethod] = useParam("method");
  const [rule, setRule] = useParam("layer");
  const named = (name: string) => ({ value: name, label: sideName(by, name) });
  const options = sidesOf(by, study, model).map(named);
  const models = sidesOf("model", study, "").map((name) => ({ value: name, label: name }));
  const methods = study.methods.map(({ name, group }) => ({ value: name, label: name, group }));
  return (
    <div className="dashboard-filters">
      <Segmented
        label="Compare two"
        value={by}
        options={BYS.map((one) => ({ value: one, label: `${one}s` }))}
        onChange={(next) => setParams({ by: next, a: null, b: null, line: null, layer: null })}
      />
      <Select label="From (a)" value={a} options={options} onChange={(next) => setParams({ a: next, b, line: null })} />
      <Select label="To (b)" value={b} options={options} onChange={(next) => setParams({ a, b: next, line: null })} />
      <button type="button" className="button" onClick={() => setParams({ a: b, b: a })}>
        Swap
      </button>
      {by !== "model" && (
        <Select
          label="Model"
          value={model}
          options={[{ value: "", label: "all models" }, ...models]}
          onChange={(next) => setParams({ model: next, line: null })}
        />
      )}
      {by !== "method" && (
        <Select
          label="Method"
          value={method}
          options={[{ value: "", label: "all methods" }, ...methods]}
          onChange={(next) => {
            setMethod(next);
            setParams({ line: null });
          }}
        />
      )}
      {by !== "layer" && <Select label="Layer" value={rule} options={OPEN_LAYER_RULES} onChange={setRule} />}
    </div>
  );
}

interface LinesProps {
  answer: Comparison;
  a: string;
  b: string;
  chosen: ComparisonLine | undefined;
}

function LinesPanel({ answer, a, b, chosen }: LinesProps) {
  const title = useTitle(answer.metric);
  const { href } = useUrl();
  const pick = (key: string) => {
    const url = new URL(href, window.location.origin);
    url.searchParams.set("line", key);
    return url.pathname + url.search;
  };
  const rows = answer.lines.map((line) => rowOf(line, answer.by, line === chosen, pick));
  return (
    <ChartFrame
      title={
        <>
          Change of <MetricTip name={answer.metric} /> from {a} to {b}
        </>
      }
      name="comparison"
      data={() => dataOf(answer)}
      note={`The chart shows b − a, what was gained on the way to b; the table has ${answer.note}`}
    >
      <p className="dashboard-summary">{answer.summary}</p>
      <IntervalRows
        label={`Change of ${title} from ${a} to ${b}; each line shows its images below`}
        rows={rows}
        axis={`${title}, b − a, mean over images`}
        verb="show shifts"
        differences
      />
    </ChartFrame>
  );
}

function LineText({ line, name }: { line: ComparisonLine; name: string }) {
  return (
    <p className="dashboard-summary">
      {line.sentence}{" "}
      <span className="soft">
        {name} is higher on {percent(line.better)} of the images, equal on {percent(line.equal)}, lower on{" "}
        {percent(line.worse)}.
      </span>
    </p>
  );
}

interface BothProps {
  words: Words;
  by: By;
  a: string;
  b: string;
}

function Both({ words, by, a, b }: BothProps) {
  const [wanted] = useParam("line");
  const answer = useComparison({ ...words, by, a, b }, { keep: true });
  const lines = answer.data?.lines ?? [];
  const line = lines.find((one) => commonName(one) === wanted) ?? lines[0];
  return (
    <Loaded of={answer}>
      {(data) => (
        <>
          <LinesPanel answer={data} a={sideName(by, a)} b={sideName(by, b)} chosen={line} />
          {line && (
            <ShiftsPanel words={{ ...words, ...wordsOfLine(line, by) }} by={by} a={a} b={b} line={line} text={<LineText line={line} name={sideName(by, a)} />} />
          )}
        </>
      )}
    </Loaded>
  );
}

/** The words that hold beside what is compared. */
function wordsFor(by: By, words: Words): Words {
  const kept: Words = { ...words };
  delete kept[by];
  if (by === "layer") return kept;
  // Layers of both sides are chosen by one rule; a number may not exist on both.
  if (kept.layer !== "split" && kept.layer !== "last") delete kept.layer;
  return kept;
}

export function CompareView() {
  const study = useStudy();
  const [by] = useWord("by", BYS, "model");
  const words = useViewWords("compare", ["model", "method", "layer"]);
  const { params } = useUrl();
  const model = by === "model" ? "" : String(words.model ?? "");
  return (
    <Loaded of={study}>
      {(known) => {
        const usual = usualPair(by, known, model);
        const [a, b] = [params.get("a") ?? usual?.[0], params.get("b") ?? usual?.[1]];
        if (a === undefined || b === undefined) {
          return (
            <>
              <PairFields study={known} by={by} a="" b="" model={model} />
              <Empty title="There is nothing to compare with">The study has one alone. Compare something else.</Empty>
            </>
          );
        }
        return (
          <>
            <PairFields study={known} by={by} a={a} b={b} model={model} />
            {a === b ? (
              <Empty title="Both sides are the same">Choose two that differ.</Empty>
            ) : (
              <Both words={wordsFor(by, words)} by={by} a={a} b={b} />
            )}
          </>
        );
      }}
    </Loaded>
  );
}
