/** Where metrics disagree as missing labels would make them, and what is labelled at all. */
import { DataTable, ExportMenu, Link, Panel, tableData, Tip, type Column } from "../../components";
import { percent, pValue, score } from "../../format";
import { to } from "../../url";
import { numberOf, wordOf, type Line } from "./records";
import { about, nameOf } from "./report";
import { Warning } from "./words";

const labelOf = (line: Line): string => wordOf(line, "label") || "(none)";

function Bar({ share }: { share: number | null }) {
  const width = `${100 * Math.min(1, Math.max(0, share ?? 0))}%`;
  return (
    <span className="sparsity-bar" aria-hidden="true">
      <i style={{ width }} />
    </span>
  );
}

const number = (
  key: string,
  title: Column<Line>["title"],
  render?: (value: number | null) => string,
): Column<Line> => ({
  key,
  title,
  align: "right",
  value: (line) => numberOf(line, key),
  render: (line) => {
    const value = numberOf(line, key);
    return render ? render(value) : (value ?? "–");
  },
});

const times = (value: number | null): string => (value === null ? score(null) : `${value.toFixed(1)}×`);

/** A label that opens its images, worst first, for the maps at hand. */
function labelColumn(line: Line | undefined): Column<Line> {
  const words = line && {
    model: wordOf(line, "model"),
    method: wordOf(line, "method"),
    layer: wordOf(line, "layer"),
    target: wordOf(line, "target"),
  };
  return {
    key: "label",
    title: "Label",
    value: labelOf,
    render: (one) =>
      wordOf(one, "label") ? (
        <Link href={to.gallery({ label: wordOf(one, "label"), ...words })}>{labelOf(one)}</Link>
      ) : (
        labelOf(one)
      ),
  };
}

const divergenceColumns = (line: Line | undefined): readonly Column<Line>[] => [
  labelColumn(line),
  number("regions", "Regions"),
  number("hit", <Tip text="How often the map's maximum is inside.">Hit</Tip>, (value) => percent(value)),
  number("coverage_lift", <Tip text="Energy inside over what chance puts there.">Energy over chance</Tip>, times),
  number("ceiling_share", <Tip text="IoU as a share of the largest that is possible at the region's size.">IoU of ceiling</Tip>, (value) => percent(value)),
  {
    key: "share",
    title: "Flagged",
    align: "right",
    value: (one) => numberOf(one, "share"),
    render: (one) => (
      <>
        {numberOf(one, "flagged") ?? 0} ({percent(numberOf(one, "share"))}) <Bar share={numberOf(one, "share")} />
      </>
    ),
  },
  number("by_chance", <Tip text="The largest share that maps without information would get.">By chance at most</Tip>, (value) => percent(value)),
];

/** Regions where pointing and coverage are good and IoU is low. */
export function Divergence({ divergence, chosen }: { divergence: readonly Line[]; chosen: string }) {
  const lines = about(divergence, chosen);
  const whole = lines.find((line) => line.get("label") === null);
  const rows = lines
    .filter((line) => line.get("label") !== null)
    .sort((a, b) => (numberOf(b, "share") ?? 0) - (numberOf(a, "share") ?? 0) || (numberOf(b, "regions") ?? 0) - (numberOf(a, "regions") ?? 0));
  if (!whole) return null;
  const columns = divergenceColumns(whole);
  return (
    <Panel
      title={`Where metrics disagree: ${nameOf(whole)}`}
      id="divergence"
      tools={<ExportMenu name="divergence" data={() => tableData(columns, rows)} />}
    >
      <p>
        A region is flagged when the map’s maximum is inside, it holds at least twice the energy of chance, and its IoU is
        at most half of what is possible at its size. All three are read against the region’s own size.
      </p>
      <Warning>
        <p>{wordOf(whole, "sentence")}</p>
      </Warning>
      <DataTable caption="Where metrics disagree, by label" hideCaption columns={columns} rows={rows} rowKey={labelOf} shown={10} />
    </Panel>
  );
}

function countColumns(counts: readonly Line[]): readonly Column<Line>[] {
  const has = (key: string) => counts.some((line) => numberOf(line, key) !== null);
  return [
    labelColumn(undefined),
    number("regions", "Labelled regions"),
    ...(has("unlabelled") ? [number("unlabelled", "Unlabelled")] : []),
    ...(has("gold") ? [number("on_gold_images", "Of these on gold images"), number("gold", "Gold regions")] : []),
    ...(has("labelled")
      ? [
          {
            key: "labelled",
            title: "Share labelled",
            align: "right" as const,
            value: (line: Line) => numberOf(line, "labelled"),
            render: (line: Line) => (
              <>
                {percent(numberOf(line, "labelled"))} <Bar share={numberOf(line, "labelled")} />
              </>
            ),
          },
        ]
      : []),
  ];
}

const TEST_COLUMNS: readonly Column<Line>[] = [
  { key: "quantity", title: "Quantity", value: (line) => wordOf(line, "quantity") },
  number("rank", <Tip text="0: smallest of its kind on the image, 1: largest, 0.5: no difference.">Mean rank of labelled ones</Tip>, (value) => score(value, 2)),
  { key: "direction", title: "Labelled ones are", value: (line) => wordOf(line, "direction") || "none" },
  {
    key: "p_holm",
    title: "p (Holm)",
    align: "right",
    value: (line) => numberOf(line, "p_holm"),
    render: (line) => `${pValue(numberOf(line, "p_holm"))}${wordOf(line, "reason") ? `: ${wordOf(line, "reason")}` : ""}`,
  },
  number("groups", "Groups"),
];

/** How many instances are labelled, and whether these look chosen at random. */
export function Labelled({ counts, labelling }: { counts: readonly Line[]; labelling: readonly Line[] }) {
  const known = counts.some((line) => numberOf(line, "labelled") !== null);
  const rows = known ? [...counts].sort((a, b) => (numberOf(a, "labelled") ?? 2) - (numberOf(b, "labelled") ?? 2)) : counts;
  const columns = countColumns(counts);
  return (
    <Panel title="What is labelled" id="labelled" tools={<ExportMenu name="labelled" data={() => tableData(columns, rows)} />}>
      {!known && (
        <p>
          How many instances have no label is not known: neither the data nor a gold set say so. Repeating parts (windows,
          columns, arches) suffer most.
        </p>
      )}
      <DataTable caption="Regions by label" hideCaption columns={columns} rows={rows} rowKey={labelOf} shown={10} />
      {labelling.length > 0 && (
        <>
          <h3>Were the labelled instances picked at random?</h3>
          <p>
            Labelled instances are ranked among those of their kind on their image. A small p says that they were picked
            for a reason; a large one is no proof that they were not.
          </p>
          <DataTable caption="Tests of the labelling" hideCaption columns={TEST_COLUMNS} rows={labelling} rowKey={(line) => wordOf(line, "quantity")} />
        </>
      )}
    </Panel>
  );
}
