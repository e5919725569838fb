/** Values with intervals, one line each: leaderboards and breakdowns. */
import { type KeyboardEvent } from "react";

import { interval, score } from "../format";
import { BASELINE, lineLook, type LineLook } from "./colours";
import { selectForAxis } from "./interval_layout";
import { MarkerShape } from "./marker";
import { linear, niceDomain, tickDigits, ticks, type Domain, type Scale } from "./scale";
import { useSize } from "./use_size";

export interface IntervalLine {
  key: string;
  name: string;
  /** Small print after the name. */
  detail?: string;
  value: number | null;
  low?: number | null;
  high?: number | null;
  chance?: number | null;
  ceiling?: number | null;
  n?: number | null;
  look?: LineLook;
  baseline?: boolean;
  /** Steps to the right, for trees. */
  depth?: number;
  current?: boolean;
}

interface IntervalPlotProps {
  label: string;
  lines: readonly IntervalLine[];
  xLabel: string;
  domain?: Domain;
  include?: readonly number[];
  onPick?: (line: IntervalLine) => void;
  /** Bars from zero in place of dots. */
  bars?: boolean;
  format?: (value: number | null) => string;
  /** An upright line, such as 0 for differences. */
  reference?: number;
  rowHeight?: number;
}

const TOP = 8;
const BOTTOM = 40;
const NARROW = 560;
const CHARACTER = 6.9;

/** A name cut to the room it has. */
export function fitText(text: string, room: number): string {
  const most = Math.max(3, Math.floor(room / CHARACTER));
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

function lineText(line: IntervalLine, format: (value: number | null) => string): string {
  const parts = [line.name, line.detail ?? "", format(line.value), interval(line.low, line.high)];
  if (typeof line.chance === "number") parts.push(`chance ${score(line.chance)}`);
  if (typeof line.ceiling === "number") parts.push(`ceiling ${score(line.ceiling)}`);
  if (typeof line.n === "number") parts.push(`n ${line.n}`);
  return parts.filter((part) => part !== "").join(", ");
}

interface RowProps {
  line: IntervalLine;
  look: LineLook;
  x: Scale;
  y: number;
  bars: boolean;
  zero: number;
}

function Drawing({ line, look, x, y, bars, zero }: RowProps) {
  const within = (value: number) => Math.min(x.domain[1], Math.max(x.domain[0], value));
  return (
    <>
      {typeof line.ceiling === "number" && <line className="ceiling" x1={x(line.ceiling)} x2={x(line.ceiling)} y1={y - 6} y2={y + 6} />}
      {bars && line.value !== null && (
        <rect
          x={Math.min(x(zero), x(within(line.value)))}
          y={y - 6}
          width={Math.abs(x(within(line.value)) - x(zero))}
          height={12}
          style={{ fill: look.colour, fillOpacity: 0.75 }}
        />
      )}
      {typeof line.chance === "number" && <line className="chance" x1={x(line.chance)} x2={x(line.chance)} y1={y - 7} y2={y + 7} />}
      {typeof line.low === "number" && typeof line.high === "number" && (
        <line x1={x(line.low)} x2={x(line.high)} y1={y} y2={y} style={{ stroke: bars ? "var(--ink)" : look.colour, strokeWidth: 2 }} />
      )}
      {!bars && line.value !== null && <MarkerShape x={x(within(line.value))} y={y} look={look} size={4} hollow={line.baseline} />}
    </>
  );
}

/** Dots with intervals. Each line is a button where lines can be picked. */
export function IntervalPlot(props: IntervalPlotProps) {
  const { label, lines, xLabel, onPick, bars = false, reference, rowHeight = 24 } = props;
  const [box, width] = useSize<HTMLDivElement>();
  const format = props.format ?? ((value: number | null) => score(value));
  const marks = lines.flatMap(({ low, high, chance, ceiling }) => [low, high, chance, ceiling]);
  const values = [...selectForAxis(lines).map(({ value }) => value), ...marks];
  const include = [...(props.include ?? []), ...(bars ? [0] : []), ...(reference === undefined ? [] : [reference])];
  const domain = props.domain ?? niceDomain(values, include);
  const names = Math.max(...lines.map((line) => line.name.length + (line.detail?.length ?? 0) + 2 + (line.depth ?? 0) * 2), 8);
  const left = Math.min(names * CHARACTER + 12, width * (width < NARROW ? 0.42 : 0.45));
  const right = width - 58;
  const x = linear(domain, [left, right]);
  const bottom = TOP + lines.length * rowHeight;
  const steps = ticks(domain, Math.max(2, Math.floor((right - left) / 70)));
  const digits = tickDigits(steps);
  const press = (event: KeyboardEvent, line: IntervalLine) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    onPick?.(line);
  };
  return (
    <div className="chart-box" ref={box}>
      <svg
        className={onPick ? "chart interval-plot pickable" : "chart interval-plot"}
        width={width}
        height={bottom + BOTTOM}
        viewBox={`0 0 ${width} ${bottom + BOTTOM}`}
        role={onPick ? "group" : "img"}
        aria-label={onPick ? label : `${label}. ${lines.map((line) => lineText(line, format)).join("; ")}`}
      >
        <g className="axes" aria-hidden="true">
          {steps.map((mark) => (
            <g key={mark}>
              <line className="grid" x1={x(mark)} x2={x(mark)} y1={TOP} y2={bottom} />
              <text className="tick x" x={x(mark)} y={bottom + 15}>
                {mark.toFixed(digits).replace("-", "−")}
              </text>
            </g>
          ))}
          {reference !== undefined && <line className="current" x1={x(reference)} x2={x(reference)} y1={TOP} y2={bottom} />}
          <text className="label x" x={(left + right) / 2} y={bottom + 32}>
            {xLabel}
          </text>
        </g>
        {lines.map((line, index) => {
          const y = TOP + (index + 0.5) * rowHeight;
          const look = line.look ?? (line.baseline ? BASELINE : lineLook(0));
          const indent = (line.depth ?? 0) * 12;
          const name = fitText(line.name, left - 10 - indent);
          const detail = fitText(line.detail ?? "", left - 10 - indent - name.length * CHARACTER - 8);
          const pickable = onPick
            ? { role: "button", tabIndex: 0, onClick: () => onPick(line), onKeyDown: (event: KeyboardEvent) => press(event, line), "aria-label": lineText(line, format) }
            : {};
          return (
            <g key={line.key} className={line.current ? "row current-row" : "row"} {...pickable}>
              <rect className="row-ground" x={0} y={y - rowHeight / 2} width={width} height={rowHeight} />
              <title>{lineText(line, format)}</title>
              <text className="row-name" x={indent} y={y}>
                {name}
                {detail.length > 3 && <tspan className="row-detail"> {detail}</tspan>}
              </text>
              <Drawing line={line} look={look} x={x} y={y} bars={bars} zero={Math.min(Math.max(0, domain[0]), domain[1])} />
              <text className={line.value === null ? "row-value missing" : "row-value"} x={width - 2} y={y}>
                {format(line.value)}
              </text>
            </g>
          );
        })}
      </svg>
      <PlotKey lines={lines} />
    </div>
  );
}

function PlotKey({ lines }: { lines: readonly IntervalLine[] }) {
  const has = (pick: (line: IntervalLine) => unknown) => lines.some((line) => typeof pick(line) === "number");
  const items = [
    has((line) => line.low) && <span key="i" className="key-interval">95% interval</span>,
    has((line) => line.chance) && <span key="c" className="key-chance">chance</span>,
    has((line) => line.ceiling) && <span key="t" className="key-ceiling">ceiling</span>,
    lines.some((line) => line.baseline) && <span key="b" className="key-baseline">baseline that sees no model</span>,
  ].filter(Boolean);
  return items.length > 0 ? <p className="key-note">{items}</p> : null;
}

/** The numbers of the lines, for CSV. */
export function intervalData(lines: readonly IntervalLine[]) {
  return {
    columns: ["name", "detail", "value", "low", "high", "chance", "ceiling", "n"],
    rows: lines.map((l) => [l.name, l.detail, l.value, l.low, l.high, l.chance, l.ceiling, l.n]),
  };
}
