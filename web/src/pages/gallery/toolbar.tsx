/** Order and look of the grid, and the filters that are set. */
import type { MetricInfo, MetricTable } from "../../api/client";
import { Chip, MetricTip, metricTitle, Segmented, Select } from "../../components";
import { count, metricParts, plural } from "../../format";
import { setParams, type Params } from "../../url";
import { filterBy } from "./filters";
import type { View } from "./view";
import { COLUMN_TITLES, NO_FILTERS, type GalleryWords } from "./words";

type Direction = MetricInfo["direction"];

/** What the two orders are called. */
export function orderNames(sort: string, direction: Direction): { low: string; high: string } {
  if (sort === "image" || sort === "split") return { low: "A–Z", high: "Z–A" };
  if (direction === "higher") return { low: "Worst first", high: "Best first" };
  if (direction === "lower") return { low: "Best first", high: "Worst first" };
  return { low: "Lowest first", high: "Highest first" };
}

interface OrderProps {
  table: MetricTable;
  sort: string;
  ascending: boolean;
  direction: Direction;
}

function OrderFields({ table, sort, ascending, direction }: OrderProps) {
  const infoOf = (name: string) => table.metrics.find((info) => info.name === metricParts(name).metric);
  const options = table.sortable.map((name) => {
    const column = COLUMN_TITLES[name];
    if (column !== undefined) return { value: name, label: column, group: "The image" };
    return { value: name, label: metricTitle(infoOf(name), name), group: `Scores: ${infoOf(name)?.category ?? "other"}` };
  });
  const names = orderNames(sort, direction);
  const low = { value: "low" as const, label: names.low };
  const high = { value: "high" as const, label: names.high };
  return (
    <>
      <Select label="Sort by" value={sort} options={options} onChange={(value) => filterBy({ sort: value, ascending: null })} />
      <Segmented
        label="Order"
        value={ascending ? "low" : "high"}
        options={direction === "lower" ? [high, low] : [low, high]}
        onChange={(value) => filterBy({ ascending: value === "low" })}
      />
    </>
  );
}

interface ToolbarProps {
  table: MetricTable;
  view: View;
  /** Whether maps were kept, so that they can be shown over the pictures. */
  maps: boolean;
}

/** Order and look. */
export function Toolbar({ table, view, maps }: ToolbarProps) {
  const { sort, ascending, direction, show, size } = view;
  return (
    <div className="gallery-toolbar" role="toolbar" aria-label="Order and look">
      <OrderFields table={table} sort={sort} ascending={ascending} direction={direction} />
      {maps && (
        <Segmented
          label="Show"
          value={show}
          options={[
            { value: "picture", label: "Picture" },
            { value: "overlay", label: "Map over it" },
          ]}
          onChange={(value) => setParams({ show: value === "picture" ? null : value })}
        />
      )}
      <Segmented
        label="Cards"
        value={size}
        options={[
          { value: "small", label: "S" },
          { value: "medium", label: "M" },
          { value: "large", label: "L" },
        ]}
        onChange={(value) => setParams({ size: value === "medium" ? null : value })}
      />
    </div>
  );
}

interface Set {
  readonly text: string;
  readonly without: Params;
}

/** Each filter that is set, and what takes it away. */
export function filtersSet(words: GalleryWords): Set[] {
  const single = (["text", "style", "label", "split", "warning", "saved"] as const)
    .filter((name) => words[name] !== "")
    .map((name) => ({ text: `${name === "saved" ? "selection" : name}: ${words[name]}`, without: { [name]: null } }));
  const tags = words.tags.map((tag) => ({
    text: `tag: ${tag}`,
    without: { tag: words.tags.filter((other) => other !== tag).join(",") },
  }));
  const ids = words.ids.length === 0 ? [] : [{ text: `${plural(words.ids.length, "named image")}`, without: { ids: null } }];
  return [...single, ...tags, ...ids];
}

interface CountProps {
  words: GalleryWords;
  total: number | undefined;
  all: number;
  metric: string;
}

/** How many images pass, and what they had to pass. */
export function CountLine({ words, total, all, metric }: CountProps) {
  const set = filtersSet(words);
  return (
    <div className="gallery-count">
      <p role="status">
        {total === undefined ? "…" : set.length === 0 ? plural(total, "image") : `${count(total)} of ${plural(all, "image")}`}
      </p>
      {metric !== "" && (
        <p className="soft">
          Cards show <MetricTip name={metric} /> against all regions of the image.
        </p>
      )}
      {set.map(({ text, without }) => (
        <Chip key={text} tone="accent" onRemove={() => filterBy(without)} removeLabel={`Remove filter ${text}`}>
          {text}
        </Chip>
      ))}
      {set.length > 0 && (
        <button type="button" className="button quiet" onClick={() => filterBy(NO_FILTERS)}>
          Clear filters
        </button>
      )}
    </div>
  );
}
