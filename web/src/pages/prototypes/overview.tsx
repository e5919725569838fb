/** A benchmark as a whole: relevance beside chance, drops, what they are worth. */
import type { PrototypeBenchmark, PrototypeLines } from "../../api/client";
import { usePrototypeLines } from "../../api/queries";
import { ChartFrame, HeatTable, IntervalRows, LoadedChart } from "../../charts";
import { Empty, Panel, Score, Segmented } from "../../components";
import { plural, signed } from "../../format";
import { go, useWord } from "../../url";
import { prototypeAddress } from "./address";
import { Distribution } from "./distribution";
import { dropCell, dropsData, KIND_WORDS, MEASURE_WORDS, MEASURES, SHOWN, SHOWN_WORDS, withDrops, type Shown } from "./numbers";

/** What was found, in sentences. */
function Found({ of }: { of: PrototypeBenchmark }) {
  return (
    <Panel title="In words">
      <ul className="prototypes-words">
        <li>
          {of.model} on {of.data}; accuracy{" "}
          <Score value={of.accuracy.value} low={of.accuracy.low} high={of.accuracy.high} digits={2} /> over{" "}
          {plural(of.accuracy.n ?? 0, "image")}.
        </li>
        {of.relevance.map((one) => (
          <li key={`${one.kind} ${one.measure}`}>{one.sentence}</li>
        ))}
        {of.natures && <li>{of.natures.sentence}</li>}
        {of.premise && <li>{of.premise.sentence}</li>}
      </ul>
    </Panel>
  );
}

function Cautions({ of }: { of: PrototypeBenchmark }) {
  return (
    <Panel title="To keep in mind">
      <ul className="prototypes-words">
        {of.cautions.map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
    </Panel>
  );
}

function Relevance({ of }: { of: PrototypeBenchmark }) {
  const [measure, setMeasure] = useWord("measure", MEASURES, "energy_relevance");
  const shown = of.relevance.filter((one) => one.measure === measure);
  const options = MEASURES.map((value) => ({ value, label: MEASURE_WORDS[value] }));
  const data = () => ({
    columns: ["kind", "measure", "value"],
    rows: of.relevance.flatMap((one) => one.values.map((value) => [one.kind, one.measure, value])),
  });
  return (
    <>
      {shown.map((one) => (
        <ChartFrame
          key={one.kind}
          title={`${KIND_WORDS[one.kind]}: how much lies on the object`}
          name={`${of.name}-${one.kind}-${measure}`}
          data={data}
          tools={
            one.kind === "prototype" && (
              <Segmented label="Measure" hideLabel value={measure} options={options} onChange={(next) => setMeasure(next)} />
            )
          }
          note={one.sentence}
        >
          <Distribution of={one} />
        </ChartFrame>
      ))}
    </>
  );
}

/** What perturbations take over all prototypes. */
function Effects({ of }: { of: PrototypeBenchmark }) {
  const rows = of.effects.flatMap((one) => {
    const label = one.perturbation;
    const both = [
      { key: `${label} focused`, label, detail: "focused", value: one.focused, low: one.focused_low, high: one.focused_high },
      { key: `${label} dual`, label, detail: "dual", value: one.dual, low: one.dual_low, high: one.dual_high, colour: "var(--orange)", hollow: true },
    ];
    return both.filter(({ value }) => value !== null);
  });
  return (
    <ChartFrame
      title="What each perturbation takes, over all prototypes"
      name={`${of.name}-drops`}
      data={() => ({
        columns: ["perturbation", "images", "focused", "focused_low", "focused_high", "dual", "dual_low", "dual_high", "difference", "difference_low", "difference_high", "matters"],
        rows: of.effects.map((one) => [one.perturbation, one.images, one.focused, one.focused_low, one.focused_high, one.dual, one.dual_low, one.dual_high, one.difference, one.difference_low, one.difference_high, one.matters]),
      })}
      note={of.effects.map((one) => `${one.perturbation}: difference ${signed(one.difference, 2)}, ${one.matters === null ? "not decided" : one.matters ? "matters" : "does not matter"}`).join("; ")}
    >
      <IntervalRows label="Drops by perturbation" rows={rows} axis="share of the score that is gone" digits={2} differences />
    </ChartFrame>
  );
}

const COLOUR_WORDS: Readonly<Record<Shown, string>> = {
  difference: "red: focused copies lose more, blue: dual ones",
  focused: "red: the score falls, blue: it rises",
  dual: "red: the score falls, blue: it rises",
};

function Heat({ of, answer, shown }: { of: PrototypeBenchmark; answer: PrototypeLines; shown: Shown }) {
  const lines = withDrops(answer.lines);
  if (lines.length === 0) return <Empty title="No prototype has drops">No image is most similar to any of them.</Empty>;
  const columns = of.perturbations.map(({ name, description }) => ({ key: name, name, detail: description }));
  const rows = lines.map((line) => ({ key: String(line.prototype), name: `${line.prototype}`, detail: line.label ?? undefined }));
  const pick = (row: number, column: number) => {
    const [line, perturbation] = [lines[row], columns[column]];
    if (line) go(prototypeAddress(of.name, line.prototype, perturbation?.name ?? null));
  };
  return (
    <HeatTable
      label="Drops of prototypes by perturbation; Enter shows the images behind"
      rows={rows}
      columns={columns}
      cell={(row, column) => dropCell(lines[row], columns[column]?.name ?? "", shown)}
      kind="diverging"
      format={(value) => signed(value, 2)}
      scaleLabel={`${SHOWN_WORDS[shown]}; ${COLOUR_WORDS[shown]}; a star: matters`}
      onPick={pick}
      onPickRow={(row) => pick(row, -1)}
    />
  );
}

function Drops({ of }: { of: PrototypeBenchmark }) {
  const answer = usePrototypeLines(of.name);
  const [shown, setShown] = useWord("drop", SHOWN, "difference");
  const options = SHOWN.map((value) => ({ value, label: value }));
  return (
    <LoadedChart
      of={answer}
      title="Prototypes by perturbation"
      name={`${of.name}-drop-heatmap`}
      data={({ lines }) => dropsData(lines)}
      tools={<Segmented label="Number shown" hideLabel value={shown} options={options} onChange={(next) => setShown(next)} />}
      note="A cell shows the prototype and the images behind it. Others have no line."
    >
      {(data) => <Heat of={of} answer={data} shown={shown} />}
    </LoadedChart>
  );
}

export function Overview({ of }: { of: PrototypeBenchmark }) {
  return (
    <>
      <div className="prototypes-pair">
        <Found of={of} />
        <Cautions of={of} />
      </div>
      {of.relevance.length > 0 && (
        <div className="prototypes-pair">
          <Relevance of={of} />
        </div>
      )}
      {of.effects.length > 0 && (
        <div className="prototypes-pair">
          <Effects of={of} />
          <Drops of={of} />
        </div>
      )}
      <p className="note">{of.note}</p>
    </>
  );
}

