/** One prototype: where it is from, what it says, what perturbations take, and the images behind. */
import type { PrototypeBenchmark, PrototypeDetail, PrototypeEffect, PrototypeImage } from "../../api/client";
import { usePrototype, usePrototypeLines } from "../../api/queries";
import { DataTable, Empty, ExportMenu, Link, Loaded, Panel, Score, tableData, type Column } from "../../components";
import { interval, percent, pValue, score, signed } from "../../format";
import { useKeys } from "../../keys";
import { go, useParam } from "../../url";
import { liveAddress, prototypeAddress, viewAddress } from "./address";
import { ImagePicture, PatchPicture } from "./picture";
import { complete, writeSteps } from "./steps";

const ENDS = (low: number | null, high: number | null) => interval(low, high, 2);

const COLUMNS: readonly Column<PrototypeEffect>[] = [
  { key: "perturbation", title: "Perturbation", value: (one) => one.perturbation },
  { key: "focused", title: "Focused drop", value: (one) => one.focused, align: "right", render: (one) => <>{score(one.focused, 2)} <small>{ENDS(one.focused_low, one.focused_high)}</small></> },
  { key: "dual", title: "Dual drop", value: (one) => one.dual, align: "right", render: (one) => <>{score(one.dual, 2)} <small>{ENDS(one.dual_low, one.dual_high)}</small></> },
  { key: "difference", title: "Difference", value: (one) => one.difference, align: "right", render: (one) => <>{signed(one.difference, 2)} <small>{ENDS(one.difference_low, one.difference_high)}</small></> },
  { key: "matters", title: "Matters", value: (one) => (one.matters === null ? "not decided" : one.matters ? "yes" : "no") },
  { key: "p_holm", title: "p (Holm)", value: (one) => one.p_holm, align: "right", render: (one) => pValue(one.p_holm) },
  { key: "images", title: "Images", value: (one) => one.images, align: "right" },
];

function About({ of, detail }: { of: PrototypeBenchmark; detail: PrototypeDetail }) {
  const { line } = detail;
  const weights = [...line.weights].sort((a, b) => b.weight - a.weight);
  return (
    <Panel title={`Prototype ${line.prototype}${line.label ? `: ${line.label}` : ""}`}>
      <div className="prototypes-source">
        {(["patch", "box", "heatmap"] as const).map((view) => (
          <figure key={view}>
            <PatchPicture name={of.name} prototype={line.prototype} view={view} />
            <figcaption>{view === "patch" ? "The patch" : view === "box" ? "The image it is from" : "Its attribution"}</figcaption>
          </figure>
        ))}
        <dl className="prototypes-facts">
          <dt>Nature</dt>
          <dd>{line.told}</dd>
          {line.source && (
            <>
              <dt>From</dt>
              <dd>
                {line.source.image}, row {line.source.row}, column {line.source.column}
                {line.source.label && ` (${line.source.label})`}
              </dd>
            </>
          )}
          <dt>Relevance</dt>
          <dd>
            energy <Score value={line.energy_relevance} chance={line.chance} digits={2} />, mask{" "}
            <Score value={line.mask_relevance} chance={line.chance} digits={2} />
          </dd>
          <dt>Says for</dt>
          <dd>{weights.length === 0 ? "not known" : weights.map((one) => `${one.label} ${signed(one.weight, 2)}`).join(", ")}</dd>
        </dl>
      </div>
    </Panel>
  );
}

function Behind({ of, image, prototype, perturbation }: { of: PrototypeBenchmark; image: PrototypeImage; prototype: number; perturbation: string }) {
  const drop = image.drops.find((one) => one.perturbation === perturbation);
  const asked = of.perturbations.find((one) => one.name === perturbation);
  const steps = asked ? writeSteps(asked.steps.flatMap((one) => complete(of.offered, one) ?? [])) : null;
  return (
    <li className="prototypes-card">
      <Link href={liveAddress(of.name, image.image, prototype, steps)}>
        <ImagePicture name={of.name} image={image.image} prototype={prototype} view="box" size={160} />
        <span className="name">{image.image}</span>
      </Link>
      <small>
        similarity {score(image.score)}
        {image.label && `; ${image.label}`}
        {image.predicted && image.predicted !== image.label && `, predicted ${image.predicted}`}
      </small>
      {drop && (
        <small>
          {perturbation}: focused {percent(drop.focused)}, dual {percent(drop.dual)}
        </small>
      )}
    </li>
  );
}

function Images({ of, detail }: { of: PrototypeBenchmark; detail: PrototypeDetail }) {
  const first = of.perturbations[0]?.name ?? "";
  const [perturbation] = useParam("perturbation", first);
  const rows = detail.images.flatMap((one) =>
    one.drops.map((drop) => [one.image, one.row, one.column, one.score, one.label, one.predicted, drop.perturbation, drop.original, drop.focused, drop.dual, drop.whole]),
  );
  const columns = ["image", "row", "column", "score", "label", "predicted", "perturbation", "original", "focused_drop", "dual_drop", "global_drop"];
  return (
    <Panel
      title="Images behind it"
      tools={<ExportMenu name={`${of.name}-prototype-${detail.line.prototype}-images`} data={() => ({ columns, rows })} />}
      note="The most similar first. An image opens where it can be changed live."
    >
      {detail.images.length === 0 && <Empty title="No image">None of those analysed is most similar to this prototype.</Empty>}
      <ul className="prototypes-cards" aria-label="Images">
        {detail.images.map((one) => (
          <Behind key={one.image} of={of} image={one} prototype={detail.line.prototype} perturbation={perturbation} />
        ))}
      </ul>
    </Panel>
  );
}

function Shown({ of, detail }: { of: PrototypeBenchmark; detail: PrototypeDetail }) {
  const [perturbation, setPerturbation] = useParam("perturbation");
  const { line } = detail;
  return (
    <>
      <About of={of} detail={detail} />
      {line.drops.length > 0 && (
        <Panel title="What perturbations take" tools={<ExportMenu name={`${of.name}-prototype-${line.prototype}`} data={() => tableData(COLUMNS, line.drops)} />}>
          <DataTable
            columns={COLUMNS}
            rows={line.drops}
            rowKey={(one) => one.perturbation}
            caption={`Drops of prototype ${line.prototype}`}
            hideCaption
            onRow={(one) => setPerturbation(one.perturbation)}
            isCurrent={(one) => one.perturbation === perturbation}
          />
        </Panel>
      )}
      {of.score === "similarity" && <Images of={of} detail={detail} />}
    </>
  );
}

/** Steps to the prototype before and after. */
function useNeighbours(name: string, number: number): readonly [number | null, number | null] {
  const numbers = usePrototypeLines(name).data?.lines.map(({ prototype }) => prototype) ?? [];
  const at = numbers.indexOf(number);
  return at < 0 ? [null, null] : [numbers[at - 1] ?? null, numbers[at + 1] ?? null];
}

export function Detail({ of, number }: { of: PrototypeBenchmark; number: number }) {
  const answer = usePrototype(of.name, number);
  const [before, after] = useNeighbours(of.name, number);
  const open = (next: number | null) => next !== null && go(prototypeAddress(of.name, next));
  useKeys("Prototype", [
    { keys: ["."], label: "next prototype", run: () => open(after) },
    { keys: [","], label: "prototype before", run: () => open(before) },
    { keys: ["Escape"], label: "all prototypes", run: () => go(viewAddress(of.name, "prototypes")) },
  ]);
  return (
    <>
      <p className="prototypes-steps">
        <Link href={viewAddress(of.name, "prototypes")}>All prototypes</Link>
        {before !== null && <Link href={prototypeAddress(of.name, before)}>Before: {before}</Link>}
        {after !== null && <Link href={prototypeAddress(of.name, after)}>Next: {after}</Link>}
        {of.image_ids[0] !== undefined && of.score === "similarity" && <Link href={liveAddress(of.name, answer.data?.images[0]?.image ?? of.image_ids[0], number)}>Change an image live</Link>}
      </p>
      <Loaded of={answer} label="Loading the model and its prototypes">{(detail) => <Shown of={of} detail={detail} />}</Loaded>
    </>
  );
}
