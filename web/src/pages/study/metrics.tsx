import type { MetricInfo, MetricTable } from "../../api/client";
import { DataTable, MetricTip, Panel, rangeText, type Column } from "../../components";
import { metricParts } from "../../format";

interface Line {
  info: MetricInfo;
  names: string[];
}

/** Metrics of which the study stored something, each with the names under which it did. */
export function storedMetrics(table: MetricTable): Line[] {
  return table.metrics
    .map((info) => ({ info, names: table.stored.filter((name) => metricParts(name).metric === info.name) }))
    .filter(({ names }) => names.length > 0);
}

const COLUMNS: readonly Column<Line>[] = [
  { key: "title", title: "Metric", value: ({ info }) => info.title, render: ({ info }) => <MetricTip name={info.name} /> },
  { key: "meaning", title: "Meaning", value: ({ info }) => info.meaning, sortable: false, wide: true },
  { key: "better", title: "Better", value: ({ info }) => info.direction },
  { key: "range", title: "Range", value: ({ info }) => rangeText(info), sortable: false },
  { key: "chance", title: "Chance", value: ({ info }) => info.chance, render: ({ info }) => info.chance ?? "none", sortable: false },
  { key: "names", title: "Stored as", value: ({ names }) => names.join(" "), render: ({ names }) => names.join(", "), sortable: false, wide: true },
];

export function Metrics({ table }: { table: MetricTable }) {
  const lines = storedMetrics(table);
  return (
    <Panel title="Metrics" note="g: annotated share of the image, a: selected share.">
      <DataTable columns={COLUMNS} rows={lines} rowKey={({ info }) => info.name} caption="Metrics that the study stored" hideCaption />
    </Panel>
  );
}
