/** Two of the panes over all images: what the study says, and where they differ most. */
import type { Comparison, Shift } from "../../api/client";
import { useComparison, useMetricTable, type CompareQuery } from "../../api/queries";
import { DataTable, Empty, ExportMenu, Loaded, MetricTip, metricTitle, Panel, Select, tableData, type Column } from "../../components";
import { interval, metricParts, plural, pValue, score, signed } from "../../format";
import { setParams } from "../../url";
import { letterOf } from "./pane";

interface OverAllProps {
  /** Null: the panes differ in more than one thing, or in nothing. */
  readonly query: Omit<CompareQuery, "metric"> | null;
  readonly metric: string;
  readonly other: number;
  readonly image: string;
}

function columnsFor(other: string): Column<Shift>[] {
  return [
    { key: "image", title: "Image", value: (shift) => shift.image },
    { key: "a", title: "A", name: "A", value: (shift) => shift.a, align: "right" },
    { key: "b", title: other, name: other, value: (shift) => shift.b, align: "right" },
    {
      key: "shift",
      title: `${other} − A`,
      name: `${other} less A`,
      value: (shift) => shift.shift,
      render: (shift) => signed(shift.shift),
      align: "right",
    },
  ];
}

function MetricField({ metric }: { metric: string }) {
  const table = useMetricTable().data;
  if (table === undefined) return null;
  const infoOf = (name: string) => table.metrics.find((info) => info.name === metricParts(name).metric);
  return (
    <Select
      label="By"
      value={metric || table.default}
      options={table.stored.map((name) => ({ value: name, label: metricTitle(infoOf(name), name) }))}
      onChange={(value) => setParams({ metric: value === table.default ? null : value })}
    />
  );
}

/** The service tells a less b; the page tells how far the other one is from A. */
function Summary({ found, other }: { found: Comparison; other: string }) {
  const [line] = found.lines;
  if (line === undefined) return null;
  const flipped = (value: number | null) => (value === null ? null : -value);
  return (
    <>
      <p>
        {line.sentence} {found.best_baseline?.sentence}
      </p>
      <dl className="pairs">
        <dt>
          Mean <MetricTip name={found.metric} />
        </dt>
        <dd className="compare-line">
          A {score(line.value_a)} · {other} {score(line.value_b)}
        </dd>
        <dt>{other} − A</dt>
        <dd className="compare-line">
          {signed(flipped(line.difference))}, 95% interval {interval(flipped(line.high), flipped(line.low))} · p{" "}
          {pValue(line.p)} (sign-flip, two-sided) · {plural(line.n, "image")}
        </dd>
      </dl>
    </>
  );
}

export function OverAll({ query, metric, other, image }: OverAllProps) {
  const letter = letterOf(other);
  const words = { ...(query ?? { a: "", b: "" }), metric };
  const found = useComparison(words, { enabled: query !== null, keep: true });
  const columns = columnsFor(letter);
  const data = found.data;
  return (
    <Panel
      title={`A and ${letter} over all images`}
      tools={
        <>
          <MetricField metric={metric} />
          {data && query !== null && <ExportMenu name={`shifts-${data.metric}`} data={() => tableData(columns, data.images)} />}
        </>
      }
    >
      {query === null ? (
        <Empty title="These two differ in more than one thing, or in nothing">
          A comparison over all images is of two models, two methods or two layers, the rest being equal.
        </Empty>
      ) : (
        <Loaded of={found} label="Comparing">
          {(comparison) => (
            <>
              <Summary found={comparison} other={letter} />
              <DataTable
                caption="Images, the largest shift first"
                columns={columns}
                rows={comparison.images}
                rowKey={(shift) => shift.image}
                shown={8}
                onRow={(shift) => setParams({ image: shift.image, region: null, view: null }, { push: true })}
                isCurrent={(shift) => shift.image === image}
              />
            </>
          )}
        </Loaded>
      )}
    </Panel>
  );
}
