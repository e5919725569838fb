/** Cells coloured by value: rankings, heads by labels, confusions. */
import { useState, type KeyboardEvent } from "react";

import { score } from "../format";
import { cellColour, cellInk, type ScaleKind } from "./colours";
import { fitText } from "./interval_plot";
import { useSize } from "./use_size";

export interface HeatCell {
  value: number | null;
  /** In the cell; the value unless given. */
  text?: string;
  /** Read out and shown on hover, after the names of row and column. */
  title?: string;
  /** A star in the corner, for what a test found. */
  marked?: boolean;
}

export interface HeatTableProps {
  label: string;
  rows: readonly { key: string; name: string; detail?: string }[];
  columns: readonly { key: string; name: string; detail?: string }[];
  cell: (row: number, column: number) => HeatCell;
  /** What is lightest and darkest; the least and greatest value unless given. */
  domain?: readonly [number, number];
  kind?: ScaleKind;
  /** True: dark is low, for ranks. */
  reverse?: boolean;
  onPick?: (row: number, column: number) => void;
  onPickRow?: (row: number) => void;
  columnLabel?: string;
  format?: (value: number | null) => string;
  /** Height of a cell. */
  size?: number;
  /** Width from which on cells hold their text; less where texts are short. */
  textFrom?: number;
  /** What the colours say, under the table. */
  scaleLabel?: string;
  current?: readonly [number, number] | null;
}

const LEAST_TEXT_WIDTH = 30;
const LEAST_CELL = 16;
const MOST_CELL = 74;
const SCALE_STEPS = 24;

function extent(props: HeatTableProps): readonly [number, number] {
  if (props.domain) return props.domain;
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (let row = 0; row < props.rows.length; row += 1) {
    for (let column = 0; column < props.columns.length; column += 1) {
      const { value } = props.cell(row, column);
      if (value === null) continue;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
  }
  if (!Number.isFinite(low)) return [0, 1];
  if (props.kind !== "diverging") return [low, high];
  const most = Math.max(Math.abs(low), Math.abs(high));
  return [-most, most];
}

interface Layout {
  left: number;
  top: number;
  width: number;
  height: number;
  cell: number;
}

function layoutOf({ rows, columns, size = 24, columnLabel }: HeatTableProps, width: number): Layout {
  const longest = Math.max(4, ...rows.map((row) => row.name.length + (row.detail ? row.detail.length + 1 : 0)));
  const left = Math.min(longest * 6.9 + 16, width * 0.4, 240);
  const heads = Math.max(3, ...columns.map((column) => column.name.length));
  const top = Math.min(heads * 4.9 + 22, 130) + (columnLabel ? 16 : 0);
  // Room on the right for the last slanted name.
  const spare = Math.min(heads * 4.3, 90);
  const cell = Math.min(MOST_CELL, Math.max(LEAST_CELL, (width - left - spare) / Math.max(1, columns.length)));
  return { left, top, width: Math.max(width, left + cell * columns.length + spare), height: top + rows.length * size + 4, cell };
}

/** A table of coloured cells. One tab stop, beside rows that are buttons: arrows move, Enter picks. */
export function HeatTable(props: HeatTableProps) {
  const { label, rows, columns, cell, kind = "sequential", reverse, onPick, size = 24, current } = props;
  const [box, room] = useSize<HTMLDivElement>();
  const [at, setAt] = useState<readonly [number, number] | null>(null);
  const layout = layoutOf(props, room);
  const domain = extent(props);
  const format = props.format ?? ((value: number | null) => score(value));
  const shareOf = (value: number) => {
    const share = domain[1] === domain[0] ? 0.5 : (value - domain[0]) / (domain[1] - domain[0]);
    return reverse ? 1 - share : share;
  };
  const said = (row: number, column: number) => {
    const { value, title } = cell(row, column);
    return `${rows[row]?.name ?? ""}, ${columns[column]?.name ?? ""}: ${title ?? format(value)}`;
  };
  const onKey = (event: KeyboardEvent) => {
    const [row, column] = at ?? [0, 0];
    const steps: Record<string, readonly [number, number]> = {
      ArrowUp: [-1, 0],
      ArrowDown: [1, 0],
      ArrowLeft: [0, -1],
      ArrowRight: [0, 1],
    };
    const step = steps[event.key];
    if (step) {
      const next = (now: number, by: number, many: number) => Math.min(many - 1, Math.max(0, now + by));
      setAt(at === null ? [0, 0] : [next(row, step[0], rows.length), next(column, step[1], columns.length)]);
    } else if (event.key === "Enter" && at !== null) onPick?.(row, column);
    else if (event.key === "Escape") setAt(null);
    else return;
    event.preventDefault();
  };
  return (
    <div className="chart-box heat-box" ref={box}>
      <svg
        className={onPick ? "chart heat-table pickable" : "chart heat-table"}
        width={layout.width}
        height={layout.height}
        viewBox={`0 0 ${layout.width} ${layout.height}`}
        role="group"
        aria-roledescription="coloured table"
        aria-label={`${label}. ${rows.length} by ${columns.length}; arrows read cells.`}
        tabIndex={0}
        onKeyDown={onKey}
        onPointerLeave={() => setAt(null)}
        onBlur={() => setAt(null)}
      >
        <defs>
          <pattern id="heat-missing" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
            <line x1="0" y1="0" x2="0" y2="6" style={{ stroke: "var(--line)", strokeWidth: 3 }} />
          </pattern>
        </defs>
        {props.columnLabel && (
          <text className="label" x={layout.left} y={12}>
            {props.columnLabel} →
          </text>
        )}
        <Heads props={props} layout={layout} at={at} />
        {rows.map((row, r) => (
          <g key={row.key}>
            <RowName row={row} layout={layout} y={layout.top + (r + 0.5) * size} onPick={props.onPickRow && (() => props.onPickRow?.(r))} />
            {columns.map((column, c) => {
              const { value, text, marked } = cell(r, c);
              const share = value === null ? null : shareOf(value);
              const [x, y] = [layout.left + c * layout.cell, layout.top + r * size];
              const lit = at !== null && at[0] === r && at[1] === c;
              const chosen = current?.[0] === r && current[1] === c;
              return (
                <g
                  key={column.key}
                  className={lit || chosen ? "cell lit" : "cell"}
                  onPointerEnter={() => setAt([r, c])}
                  onClick={() => onPick?.(r, c)}
                >
                  <rect
                    x={x}
                    y={y}
                    width={layout.cell - 1}
                    height={size - 1}
                    style={{ fill: share === null ? "url(#heat-missing)" : cellColour(share, kind) }}
                  />
                  {layout.cell >= (props.textFrom ?? LEAST_TEXT_WIDTH) && share !== null && (
                    <text x={x + layout.cell / 2} y={y + size / 2} className="cell-text" style={{ fill: cellInk(share, kind) }}>
                      {text ?? format(value)}
                      {marked ? "*" : ""}
                    </text>
                  )}
                  <title>{said(r, c)}</title>
                </g>
              );
            })}
          </g>
        ))}
      </svg>
      <p className="heat-reading" role="status">
        {at === null ? "" : said(at[0], at[1])}
      </p>
      <ScaleBar domain={domain} kind={kind} reverse={reverse} label={props.scaleLabel} format={format} />
    </div>
  );
}

interface RowNameProps {
  row: HeatTableProps["rows"][number];
  layout: Layout;
  y: number;
  onPick: (() => void) | undefined;
}

/** The name of a row; a button where rows can be picked. */
function RowName({ row, layout, y, onPick }: RowNameProps) {
  const name = row.detail ? `${row.name} ${row.detail}` : row.name;
  const press = (event: KeyboardEvent) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation();
    onPick?.();
  };
  const button = onPick && { role: "button", tabIndex: 0, "aria-label": name, onClick: onPick, onKeyDown: press };
  return (
    <text className={onPick ? "row-name link" : "row-name"} x={layout.left - 8} y={y} textAnchor="end" {...button}>
      {fitText(name, layout.left - 8)}
      <title>{name}</title>
    </text>
  );
}

interface HeadsProps {
  props: HeatTableProps;
  layout: Layout;
  at: readonly [number, number] | null;
}

function Heads({ props, layout, at }: HeadsProps) {
  const every = Math.max(1, Math.ceil(13 / layout.cell));
  return (
    <g>
      {props.columns.map((column, index) => {
        if (index % every !== 0 && at?.[1] !== index) return null;
        const x = layout.left + (index + 0.5) * layout.cell;
        const y = layout.top - 6;
        return (
          <text
            key={column.key}
            className="column-name"
            transform={`translate(${x} ${y}) rotate(-48)`}
          >
            {fitText(column.name, 150)}
            <title>{column.detail ? `${column.name}: ${column.detail}` : column.name}</title>
          </text>
        );
      })}
    </g>
  );
}

interface ScaleBarProps {
  domain: readonly [number, number];
  kind?: ScaleKind;
  reverse?: boolean;
  label?: string;
  format?: (value: number | null) => string;
}

/** What the colours of cells say. */
export function ScaleBar({ domain, kind = "sequential", reverse, label, format = (value) => score(value) }: ScaleBarProps) {
  return (
    <div className="scale-bar">
      <span>{format(domain[0])}</span>
      <svg width="120" height="10" aria-hidden="true">
        {Array.from({ length: SCALE_STEPS }, (_, step) => {
          const share = step / SCALE_STEPS;
          return <rect key={step} x={share * 120} width={120 / SCALE_STEPS + 0.5} height={10} style={{ fill: cellColour(reverse ? 1 - share : share, kind) }} />;
        })}
      </svg>
      <span>{format(domain[1])}</span>
      {label && <span className="soft">{label}</span>}
    </div>
  );
}

/** The numbers of the cells, one row each, for CSV. */
export function heatData({ rows, columns, cell }: Pick<HeatTableProps, "rows" | "columns" | "cell">, names: readonly [string, string, string] = ["row", "column", "value"]) {
  return {
    columns: names,
    rows: rows.flatMap((row, r) => columns.map((column, c) => [row.name, column.name, cell(r, c).value])),
  };
}
