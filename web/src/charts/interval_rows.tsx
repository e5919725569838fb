/** Values with intervals, one below the other: chance and ceiling stand in every row. */
import type { KeyboardEvent } from "react";

import { score, signed } from "../format";
import {
  axisValues,
  fitted,
  indentOf,
  intervalText,
  layoutOf,
  MARK_NAMES,
  spokenRow,
  textWidth,
  type IntervalLayout,
  type IntervalRow,
  type MarkNames,
} from "./interval_layout";
import { linear, niceDomain, tickDigits, ticks, type Domain, type Scale } from "./scale";
import { SvgLink } from "./svg_link";
import { useSize } from "./use_size";

interface IntervalRowsProps {
  /** What the drawing shows, read out. */
  label: string;
  rows: readonly IntervalRow[];
  /** Under the axis. */
  axis: string;
  /** Values are differences: signs are written and zero is drawn. */
  differences?: boolean;
  domain?: Domain;
  digits?: number;
  /** What a click on a row does, read out after its numbers. */
  verb?: string;
  /** What the marks of rows stand for, where they are not chance and ceiling. */
  names?: MarkNames;
  /** A value that matters to all rows: a dashed line. */
  limit?: { at: number; text: string };
}

const HEAD = 24;
const FOOT = 38;

interface PartProps {
  layout: IntervalLayout;
  scale: Scale;
}

interface AxisProps extends PartProps {
  axis: string;
  height: number;
  differences: boolean;
  limit?: number;
}

function Axis({ layout, scale, axis, height, differences, limit }: AxisProps) {
  const marks = ticks(scale.domain, layout.narrow ? 4 : 6);
  const digits = tickDigits(marks);
  const middle = (layout.plot[0] + layout.plot[1]) / 2;
  return (
    <g aria-hidden="true" className="axes">
      {marks.map((mark) => (
        <g key={mark}>
          <line
            className={differences && mark === 0 ? "zero" : "grid"}
            x1={scale(mark)}
            x2={scale(mark)}
            y1={HEAD}
            y2={height - FOOT + 4}
          />
          <text className="tick" x={scale(mark)} y={height - FOOT + 17} textAnchor="middle">
            {score(mark, digits)}
          </text>
        </g>
      ))}
      {limit !== undefined && <line className="limit" x1={scale(limit)} x2={scale(limit)} y1={HEAD} y2={height - FOOT + 4} />}
      <text className="axis-title" x={middle} y={height - 5} textAnchor="middle">
        {axis}
      </text>
    </g>
  );
}

interface LegendProps {
  layout: IntervalLayout;
  rows: readonly IntervalRow[];
  names: MarkNames;
  limit?: string;
}

function Legend({ layout, rows, names, limit }: LegendProps) {
  const has = (read: (row: IntervalRow) => number | null | undefined) =>
    rows.some((row) => typeof read(row) === "number");
  const parts = [
    { key: "mean", text: "mean, 95% interval", there: true },
    { key: "chance", text: names.chance, there: has(({ chance }) => chance) },
    { key: "ceiling", text: names.ceiling, there: has(({ ceiling }) => ceiling) },
    { key: "limit", text: limit ?? "", there: limit !== undefined },
  ].filter(({ there }) => there);
  const room = parts.map(({ text }) => textWidth(text) + 34);
  const whole = room.reduce((sum, one) => sum + one, 0);
  // Over the plot; farther to the left where it would not end inside the drawing.
  let x = Math.max(0, Math.min(layout.plot[0], layout.width - whole));
  return (
    <g aria-hidden="true" className="interval-legend">
      {parts.map(({ key, text }, place) => {
        const at = x;
        x += room[place] ?? 0;
        return (
          <g key={key} transform={`translate(${at} 10)`}>
            {key === "mean" ? (
              <>
                <line className="whisker" x1={0} x2={16} y1={0} y2={0} />
                <circle className="dot" cx={8} cy={0} r={4} />
              </>
            ) : (
              <line className={key} x1={8} x2={8} y1={-7} y2={7} />
            )}
            <text className="tick" x={21} y={4}>
              {text}
            </text>
          </g>
        );
      })}
    </g>
  );
}

function Mark({ row, scale, y }: { row: IntervalRow; scale: Scale; y: number }) {
  const colour = row.colour ?? "var(--blue)";
  const { value, low, high, chance, ceiling } = row;
  const [first, last] = scale.domain;
  return (
    <g>
      {typeof chance === "number" && <line className="chance" x1={scale(chance)} x2={scale(chance)} y1={y - 8} y2={y + 8} />}
      {typeof ceiling === "number" && (
        <line className="ceiling" x1={scale(ceiling)} x2={scale(ceiling)} y1={y - 8} y2={y + 8} />
      )}
      {typeof low === "number" && typeof high === "number" && (
        <Whisker low={low} high={high} colour={colour} scale={scale} y={y} />
      )}
      {value !== null && value >= first && value <= last && (
        <circle
          className={row.hollow ? "dot hollow" : "dot"}
          cx={scale(value)}
          cy={y}
          r={5}
          {...(row.hollow ? { stroke: colour } : { fill: colour })}
        />
      )}
      {value !== null && value < first && <Arrow x={scale(first)} y={y} side={-1} colour={colour} />}
      {value !== null && value > last && <Arrow x={scale(last)} y={y} side={1} colour={colour} />}
    </g>
  );
}

interface ArrowProps {
  x: number;
  y: number;
  side: 1 | -1;
  colour: string;
}

/** Something continues beyond the axis. */
function Arrow({ x, y, side, colour }: ArrowProps) {
  return <path d={`M${x - side * 6} ${y - 5}L${x} ${y}L${x - side * 6} ${y + 5}`} fill="none" className="whisker" stroke={colour} />;
}

interface WhiskerProps {
  low: number;
  high: number;
  colour: string;
  scale: Scale;
  y: number;
}

/** An interval; an arrow where it goes on beyond the axis. */
function Whisker({ low, high, colour, scale, y }: WhiskerProps) {
  const [first, last] = scale.domain;
  const [x1, x2] = [scale(Math.max(first, low)), scale(Math.min(last, high))];
  return (
    <>
      <line className="whisker" stroke={colour} x1={x1} x2={x2} y1={y} y2={y} />
      {low < first && <Arrow x={x1} y={y} side={-1} colour={colour} />}
      {high > last && <Arrow x={x2} y={y} side={1} colour={colour} />}
    </>
  );
}

function Toggle({ row, x, y }: { row: IntervalRow; x: number; y: number }) {
  if (!row.toggle) return null;
  const { open, run } = row.toggle;
  const press = (event: KeyboardEvent) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    run();
  };
  const name = `${open ? "Close" : "Open"} ${row.label}`;
  return (
    <g className="toggle" role="button" tabIndex={0} aria-expanded={open} aria-label={name} onClick={run} onKeyDown={press}>
      <rect x={x} y={y - 12} width={24} height={24} rx={4} />
      <text x={x + 12} y={y + 4} textAnchor="middle" aria-hidden="true">
        {open ? "▾" : "▸"}
      </text>
    </g>
  );
}

interface RowProps extends PartProps {
  row: IntervalRow;
  top: number;
  tree: boolean;
  digits: number;
  differences: boolean;
  verb: string;
  names: MarkNames;
}

function Row({ row, top, tree, digits, differences, verb, names, layout, scale }: RowProps) {
  const { narrow, rowHeight, width, labelWidth, valueEnd, figureEnd } = layout;
  const textY = narrow ? top + 16 : top + rowHeight / 2 + 4;
  const markY = narrow ? top + 31 : top + rowHeight / 2;
  const indent = indentOf(row, tree);
  const label = fitted(row.label, labelWidth - indent);
  const room = labelWidth - indent - textWidth(label) - 8;
  const number = differences ? signed(row.value, digits) : score(row.value, digits);
  const value = (narrow && row.value === null && row.reason?.short) || number;
  const name = spokenRow(row, digits, names) + (row.href ? `; ${verb}` : "");
  return (
    <g className={row.current ? "interval-row current-row" : "interval-row"}>
      <SvgLink href={row.href ?? null} label={name} current={row.current}>
        <rect className="row-ground" x={0} y={top} width={width} height={rowHeight} />
        <text className={row.toggle ? "row-label parent" : "row-label"} x={indent} y={textY}>
          {label}
          {row.detail && room > 30 && (
            <tspan className="soft" dx={8}>
              {fitted(row.detail, room)}
            </tspan>
          )}
          <title>{[row.label, row.detail, row.reason?.text].filter(Boolean).join(" · ")}</title>
        </text>
        <text className={row.value === null ? "row-value missing" : "row-value figure"} x={figureEnd} y={textY}>
          {value}
        </text>
        {!narrow && (
          <text className="row-value soft" x={valueEnd} y={textY}>
            {intervalText(row, digits)}
          </text>
        )}
        <Mark row={row} scale={scale} y={markY} />
      </SvgLink>
      <Toggle row={row} x={indent - 22} y={narrow ? top + 12 : markY} />
    </g>
  );
}

/** A drawing of rows; each row with an address opens the images behind it. */
export function IntervalRows(props: IntervalRowsProps) {
  const { label, rows, axis, differences = false, domain, digits = 3, verb = "show images", limit } = props;
  const names = props.names ?? MARK_NAMES;
  const [box, width] = useSize<HTMLDivElement>();
  const tree = rows.some((row) => row.toggle !== undefined || (row.depth ?? 0) > 0);
  const layout = layoutOf(rows, width, tree);
  const scale = linear(domain ?? niceDomain(axisValues(rows), limit ? [0, limit.at] : [0]), layout.plot);
  const height = HEAD + rows.length * layout.rowHeight + FOOT;
  return (
    <div ref={box}>
      <svg className="chart interval-rows" role="group" aria-label={label} width={width} height={height} viewBox={`0 0 ${width} ${height}`}>
        <Axis layout={layout} scale={scale} axis={axis} height={height} differences={differences} limit={limit?.at} />
        <Legend layout={layout} rows={rows} names={names} limit={limit?.text} />
        {rows.map((row, place) => (
          <Row
            key={row.key}
            row={row}
            top={HEAD + place * layout.rowHeight}
            {...{ tree, digits, differences, verb, names, layout, scale }}
          />
        ))}
      </svg>
    </div>
  );
}
