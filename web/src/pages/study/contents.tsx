import type { Choice, LabelInfo, MethodInfo, ModelInfo, StudyInfo } from "../../api/client";
import { Chip, DataTable, Link, Panel, type Column } from "../../components";
import { layer, short } from "../../format";
import { to } from "../../url";

const FEW = 12;

function choiceText(choice: Choice): string {
  const parts = [choice.model, choice.method, layer(choice.layer)];
  if (choice.head !== null) parts.push(`head ${choice.head}`);
  if (choice.target) parts.push(choice.target);
  return parts.join(", ");
}

function Labels({ labels, filter }: { labels: readonly LabelInfo[]; filter: "label" | "style" }) {
  const most = [...labels].sort((a, b) => b.count - a.count);
  const link = (info: LabelInfo) => (
    <Link key={info.label} className="study-label" href={to.gallery({ [filter]: info.label })}>
      {info.label} <span>{info.count}</span>
    </Link>
  );
  return (
    <div className="chips">
      {most.slice(0, FEW).map(link)}
      {most.length > FEW && (
        <details className="study-more">
          <summary>{most.length - FEW} more</summary>
          <div className="chips">{most.slice(FEW).map(link)}</div>
        </details>
      )}
    </div>
  );
}

/** Which percentiles there are: others need the maps. */
export function percentilesText(percentiles: readonly number[], maps: boolean): string {
  const stored = `${percentiles.map(short).join(", ")} are stored`;
  return maps ? `${stored}; any other is computed on demand` : stored;
}

/** What the study holds, and what the pages show unless one chooses. */
export function Contents({ study, missing }: { study: StudyInfo; missing: Record<string, string> }) {
  const absent = Object.entries(missing);
  return (
    <Panel title="Contents">
      <dl className="pairs">
        {study.default && (
          <>
            <dt>Shown first</dt>
            <dd>
              {choiceText(study.default)} <span className="soft">({study.default.why})</span>
            </dd>
          </>
        )}
        <dt>Percentiles</dt>
        <dd>{percentilesText(study.percentiles, missing["maps"] === undefined)}</dd>
        <dt>Rules</dt>
        <dd>{study.selections.join(", ")}</dd>
        {study.splits.length > 0 && (
          <>
            <dt>Splits</dt>
            <dd>{study.splits.join(", ")}</dd>
          </>
        )}
        {study.styles.length > 0 && (
          <>
            <dt>Labels of images</dt>
            <dd>
              <Labels labels={study.styles} filter="style" />
            </dd>
          </>
        )}
        {study.labels.length > 0 && (
          <>
            <dt>Labels of regions</dt>
            <dd>
              <Labels labels={study.labels} filter="label" />
            </dd>
          </>
        )}
        {absent.length > 0 && (
          <>
            <dt>Not there</dt>
            <dd>
              {absent.map(([what, why]) => (
                <div key={what}>
                  {what}: <span className="soft">{why}</span>
                </div>
              ))}
            </dd>
          </>
        )}
      </dl>
    </Panel>
  );
}

const MODEL_COLUMNS: readonly Column<ModelInfo>[] = [
  {
    key: "name",
    title: "Model",
    value: (model) => model.name,
    render: (model) => (
      <>
        {model.name} {model.variant && <Chip tone="accent">variant</Chip>} {model.baseline && <Chip>baseline</Chip>}
      </>
    ),
  },
  { key: "layers", title: "Layers", value: (model) => model.layers, align: "right" },
  { key: "heads", title: "Heads", value: (model) => model.heads, align: "right" },
  { key: "methods", title: "Methods", value: (model) => model.methods.join(" "), render: (model) => model.methods.join(", "), sortable: false },
];

export function Models({ study }: { study: StudyInfo }) {
  return (
    <Panel title="Models" note="Layers and heads count from 0 everywhere. Heads 0: the study kept fused heads alone.">
      <DataTable columns={MODEL_COLUMNS} rows={study.models} rowKey={(model) => model.name} caption="Models of the study" hideCaption />
    </Panel>
  );
}

const METHOD_COLUMNS: readonly Column<MethodInfo>[] = [
  { key: "name", title: "Method", value: (method) => method.name },
  { key: "group", title: "Group", value: (method) => method.group },
  {
    key: "what",
    title: "What it is",
    value: (method) => method.what,
    sortable: false,
    wide: true,
    render: (method) => (
      <>
        {method.what} {method.paper && <span className="soft">{method.paper}</span>}
      </>
    ),
  },
  { key: "sign", title: "Read as", value: (method) => method.sign },
];

export function Methods({ study }: { study: StudyInfo }) {
  return (
    <Panel title="Methods" note="Read as: how values below 0 count. positive: as 0; absolute: by their size; signed: as they are.">
      <DataTable columns={METHOD_COLUMNS} rows={study.methods} rowKey={(method) => method.name} caption="Methods of the study" hideCaption />
    </Panel>
  );
}
