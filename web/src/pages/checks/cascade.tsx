/** The cascade: how similar maps stay as one part of the network after the other is redrawn. */
import type { Cascade, CascadeLine } from "../../api/client";
import { useCascade, useChecks } from "../../api/queries";
import { ChartFrame, LineChart } from "../../charts";
import { Empty, Loaded, Segmented } from "../../components";
import type { DataSet } from "../../export";
import { useWord } from "../../url";
import { useRandomised, waysFor } from "./filters";
import { groupBy } from "../../tables";
import { dotted, keyOf, layeredName } from "./lines";
import { NoLine } from "./notes";
import { accuracySeries, referenceSeries, similaritySeries, stagesOf } from "./stages";
import { similarityName, seriesDomain, stageTick } from "./words";

const PANELS = ["model", "line"] as const;
type PanelsBy = (typeof PANELS)[number];

const COLUMNS = ["model", "method", "target", "layer", "best_layer", "stage", "name", "similarity", "low", "high"];

function dataOf(lines: readonly CascadeLine[]): DataSet {
  const rows = lines.flatMap((line) =>
    line.points.map((p) => [
      ...[line.model, line.method, line.target, line.layer, line.best_layer, p.stage, p.name, p.similarity, p.low, p.high],
      ...[line.cross, line.edge, line.training, p.accuracy, p.accuracy_low, p.accuracy_high, p.images, line.seeds],
    ]),
  );
  const more = ["cross", "edge", "training", "accuracy", "accuracy_low", "accuracy_high", "images", "seeds"];
  return { columns: [...COLUMNS, ...more], rows };
}

interface PanelProps {
  title: string;
  lines: readonly CascadeLine[];
  measure: string;
}

/** Lines of one model; where there is one alone, what it is compared with is drawn, too. */
export function CascadePanel({ title, lines, measure }: PanelProps) {
  const [first] = lines;
  if (!first) return null;
  const stages = stagesOf(first);
  const alone = lines.length === 1;
  const similarities = lines.map((line) => ({ ...similaritySeries(line, layeredName(line, lines)), band: alone }));
  const marks = [...(alone ? referenceSeries(first) : []), accuracySeries(first)];
  const name = similarityName(measure);
  return (
    <ChartFrame level={3} title={title} name={`cascade-${title}`} data={() => dataOf(lines)}>
      <LineChart
        label={`${name} to the map of the trained network, ${title}, by the part that was redrawn last`}
        series={[...similarities, ...marks].filter(({ points }) => points.some(({ y }) => y !== null))}
        xLabel="redrawn so far"
        yLabel={`${name}, accuracy`}
        xTicks={first.points.map(({ stage }) => stage)}
        xFormat={(x) => stageTick(stages.get(x) ?? "")}
        xRead={(x) => (x < 0 ? "the trained network" : `up to ${stages.get(x) ?? x}`)}
        yDomain={seriesDomain(similarities, marks)}
        height={300}
      />
    </ChartFrame>
  );
}

function Panels({ answer, by }: { answer: Cascade; by: PanelsBy }) {
  const { lines, measure } = answer;
  if (lines.length === 0) return <NoLine />;
  const groups =
    by === "line"
      ? lines.map((line) => [dotted(line.model, layeredName(line, lines)), [line]] as const)
      : [...groupBy(lines, ({ model }) => model)];
  return (
    <div className="checks-panels">
      {groups.map(([title, some]) => (
        <CascadePanel key={by + title + keyOf(some[0]!)} title={title} lines={some} measure={measure} />
      ))}
    </div>
  );
}

function Stored() {
  const answer = useCascade(useRandomised("cascade"), { keep: true });
  const [by, setBy] = useWord("panels", PANELS, "model");
  const options = [
    { value: "model" as const, label: "model" },
    { value: "line" as const, label: "method, with references" },
  ];
  return (
    <>
      <div className="checks-filters">
        <Segmented label="A panel for each" value={by} options={options} onChange={setBy} />
      </div>
      <Loaded of={answer}>{(data) => <Panels answer={data} by={by} />}</Loaded>
      <p className="note">
        A sharp drop at the top says that a map depends on what the upper layers learnt. A line that stays high need not
        be an edge detector: what lower layers see is left while they are not redrawn. {answer.data?.note}
      </p>
    </>
  );
}

/** Weights may have been redrawn all at once alone, which has no stages. */
export function CascadeView() {
  const checks = useChecks();
  return (
    <Loaded of={checks}>
      {({ ways }) => (waysFor("cascade", ways).length === 0 ? <NoCascade /> : <Stored />)}
    </Loaded>
  );
}

function NoCascade() {
  return (
    <Empty title="No cascade is stored">
      <p>Weights were re-initialised all at once. Add stages to the study file and run it again; nothing stored is lost:</p>
      <pre className="checks-example">{"checks:\n  randomisation: {ways: [full, top-down]}"}</pre>
    </Empty>
  );
}
