/** Failures: the worst images of a method, and what is peculiar about them. */
import type { FailureReason, Failures } from "../../api/client";
import { overlayUrl, useFailures, useStudy } from "../../api/queries";
import { Caution, Chip, DataTable, ExportMenu, Link, Loaded, MetricTip, Panel, Score, Select, tableData, type Column } from "../../components";
import { interval, percent, plural, pValue, signed } from "../../format";
import { useNumberParam } from "../../url";
import { imageBehind, imagesBehind } from "../dashboard/links";
import { ChoiceNote } from "../dashboard/parts";
import { useViewWords } from "./filters";
import { NoLine } from "./notes";

const COUNTS = [6, 12, 24, 48, 96];

const COLUMNS: readonly Column<FailureReason>[] = [
  { key: "reason", title: "What goes with it", value: (line) => line.reason, wide: true },
  { key: "worst", title: "Among the worst", value: (line) => line.worst, render: (line) => percent(line.worst), align: "right" },
  { key: "rest", title: "Among the others", value: (line) => line.rest, render: (line) => percent(line.rest), align: "right" },
  {
    key: "difference",
    title: "Difference",
    value: (line) => line.difference,
    render: (line) => (
      <span className="score">
        <b>{signed(line.difference, 2)}</b> <small>{interval(line.low, line.high, 2)}</small>
      </span>
    ),
    align: "right",
  },
  { key: "p", title: "p", value: (line) => line.p, render: (line) => pValue(line.p), align: "right" },
  { key: "p_holm", title: "p, Holm", value: (line) => line.p_holm, render: (line) => pValue(line.p_holm), align: "right" },
];

function Pictures({ answer }: { answer: Failures }) {
  const { model, method, layer, head, target } = answer.choice;
  const words = { model, method, layer, head, target };
  return (
    <ol className="checks-pictures">
      {answer.items.map(({ image, value, chance, reasons }) => (
        <li key={image}>
          <Link href={imageBehind(image, answer.choice, answer.metric)}>
            <img src={overlayUrl(image, words)} alt="" loading="lazy" width="160" height="160" />
            <span className="name">{image}</span>
          </Link>
          <Score value={value} chance={chance} />
          <span className="chips">
            {reasons.length === 0 && <span className="soft">nothing peculiar</span>}
            {reasons.map((reason) => (
              <Chip key={reason} tone="doubt">
                {reason}
              </Chip>
            ))}
          </span>
        </li>
      ))}
    </ol>
  );
}

function Answer({ answer }: { answer: Failures }) {
  if (answer.items.length === 0) return <NoLine />;
  const tools = <ExportMenu name="failure-reasons" data={() => tableData(COLUMNS, answer.reasons)} />;
  const images = () => ({
    columns: ["image", answer.metric, "reasons"],
    rows: answer.items.map(({ image, value, reasons }) => [image, value, reasons.join("; ")]),
  });
  return (
    <>
      <ChoiceNote choice={answer.choice} />
      <Panel
        title={<>The {plural(answer.items.length, "worst image")} by <MetricTip name={answer.metric} /></>}
        tools={<ExportMenu name="worst-images" data={images} />}
        id="worst"
      >
        <Pictures answer={answer} />
        <p>
          <Link href={imagesBehind(answer.choice, answer.metric)}>All images, the worst first</Link>
        </p>
      </Panel>
      <Panel title="What goes with failing" tools={tools} note={answer.note} id="reasons">
        <Caution>
          <p>
            <b>Association, not cause.</b> That something is found more often among the worst images does not mean that it
            made them so.
          </p>
        </Caution>
        <DataTable columns={COLUMNS} rows={answer.reasons} rowKey={({ reason }) => reason} caption="Peculiarities among the worst images and the others" hideCaption />
      </Panel>
    </>
  );
}

/** How many images may be called the worst: others must be left to compare them with. */
export const countsFor = (images: number): number[] => COUNTS.filter((count) => count <= images / 2);

export function FailuresView() {
  const [asked, setCount] = useNumberParam("count", null);
  const counts = countsFor(useStudy().data?.images ?? 0);
  const count = asked !== null && counts.includes(asked) ? asked : undefined;
  const answer = useFailures({ ...useViewWords("failures"), ...(count === undefined ? {} : { count }) }, { keep: true });
  const options = counts.map((one) => ({ value: String(one), label: `${one} images` }));
  return (
    <>
      {counts.length > 0 && (
        <div className="checks-filters">
          <Select
            label="The worst"
            value={count === undefined ? "" : String(count)}
            options={[{ value: "", label: "a few" }, ...options]}
            onChange={(value) => setCount(value === "" ? null : Number(value))}
          />
        </div>
      )}
      <Loaded of={answer}>{(data) => <Answer answer={data} />}</Loaded>
    </>
  );
}
