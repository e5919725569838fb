/** Lines over layers, percentiles, recall: with bands, chance, marks and where one is now. */
import { useId, useMemo, useState, type KeyboardEvent, type MouseEvent } from "react";

import { score, short } from "../format";
import { BASELINE, lineLook, type LineLook } from "./colours";
import { Legend } from "./legend";
import { Axes, Line, pathOf, type Frame, type LinePoint, type LineSeries } from "./line_parts";
import { MarkerShape } from "./marker";
import { Readout } from "./readout";
import { linear, nearest, niceDomain, ticks, type Domain } from "./scale";
import { useSize } from "./use_size";

export interface LineChartProps {
  /** What the chart shows, read out. */
  label: string;
  series: readonly LineSeries[];
  xLabel: string;
  yLabel: string;
  /** Where there are ticks; whole steps unless given. */
  xTicks?: readonly number[];
  xFormat?: (x: number) => string;
  /** A place in full, where what is read off stands; as on the axis unless given. */
  xRead?: (x: number) => string;
  yFormat?: (y: number) => string;
  xDomain?: Domain;
  yDomain?: Domain;
  /** Values that the y axis must show, such as 0. */
  include?: readonly number[];
  /** Chance by x; or one number for a level line. */
  chance?: readonly LinePoint[] | number | null;
  /** The best that is possible, by x. */
  ceiling?: readonly LinePoint[];
  /** Single points that matter, such as the best. */
  marks?: readonly { x: number; y: number; text: string }[];
  /** Where the page is now: an upright line. */
  current?: number | null;
  /** A click or Enter chose this x (and the nearest line's point). */
  onPick?: (x: number, series: LineSeries | null, point: LinePoint | null) => void;
  height?: number;
  /** Names under the chart; on unless there is one line. */
  legend?: boolean;
  /** Marks on the points; on unless there are many. */
  markers?: boolean;
}

const MARGIN = { left: 48, right: 14, top: 26, bottom: 42 };
/** How far marks on the edge of the axes reach over it. */
const EDGE = 6;
const MANY_LINES = 6;
const MANY_POINTS = 30;

interface Drawn {
  series: LineSeries;
  look: LineLook;
}

function looksOf(series: readonly LineSeries[]): Drawn[] {
  let index = 0;
  return series.map((one) => {
    if (one.look) return { series: one, look: one.look };
    if (one.baseline) return { series: one, look: BASELINE };
    index += 1;
    return { series: one, look: lineLook(index - 1) };
  });
}

function frameOf(props: LineChartProps, drawn: readonly Drawn[], width: number, height: number): Frame {
  const points = drawn.flatMap(({ series }) => series.points);
  const chance = typeof props.chance === "number" ? [props.chance] : (props.chance ?? []).map((point) => point.y);
  const ceiling = (props.ceiling ?? []).map((point) => point.y);
  const values = points.flatMap((point) => [point.y, point.low, point.high]);
  const xs = points.map((point) => point.x);
  const xDomain = props.xDomain ?? (xs.length > 0 ? [Math.min(...xs), Math.max(...xs)] : [0, 1]);
  const yDomain = props.yDomain ?? niceDomain([...values, ...chance, ...ceiling], props.include);
  const [left, right] = [MARGIN.left, Math.max(MARGIN.left + 40, width - MARGIN.right)];
  const [top, bottom] = [MARGIN.top, height - MARGIN.bottom];
  const single = xDomain[0] === xDomain[1];
  const x = linear(single ? [xDomain[0] - 1, xDomain[1] + 1] : xDomain, [left, right]);
  return { x, y: linear(yDomain, [bottom, top]), left, right, top, bottom };
}

function fitting(values: readonly number[], room: number): readonly number[] {
  const every = Math.max(1, Math.ceil(values.length / Math.max(2, Math.floor(room / 34))));
  return values.filter((_, index) => index % every === 0);
}

function closest(drawn: readonly Drawn[], x: number, y: number | null): { series: LineSeries; point: LinePoint } | null {
  let best: { series: LineSeries; point: LinePoint; far: number } | null = null;
  for (const { series } of drawn) {
    const point = series.points.find((other) => other.x === x);
    if (!point || point.y === null) continue;
    const far = y === null ? 0 : Math.abs(point.y - y);
    if (best === null || far < best.far) best = { series, point, far };
  }
  return best;
}

/** A line chart. One tab stop: arrows move along x, Enter picks. */
export function LineChart(props: LineChartProps) {
  const { label, series, xLabel, yLabel, height = 260, current, onPick, marks = [] } = props;
  const [box, width] = useSize<HTMLDivElement>();
  const [at, setAt] = useState<{ x: number; y: number | null } | null>(null);
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const [lit, setLit] = useState<string | null>(null);
  const area = useId();
  const all = useMemo(() => looksOf(series), [series]);
  const drawn = all.filter(({ series: one }) => !hidden.has(one.key));
  const frame = frameOf(props, all, width, height);
  const xs = useMemo(
    () => [...new Set(series.flatMap((one) => one.points.map((point) => point.x)))].sort((a, b) => a - b),
    [series],
  );
  const xFormat = props.xFormat ?? short;
  const yFormat = props.yFormat ?? ((y: number) => score(y));
  const room = frame.right - frame.left;
  const outside = (y: number) => y < frame.top - 0.5 || y > frame.bottom + 0.5;
  const beyond = drawn.flatMap(({ series: one }) => one.points).filter(({ y }) => y !== null && outside(frame.y(y))).length;
  const xTicks = fitting(props.xTicks ?? (xs.length <= 26 && xs.every(Number.isInteger) ? xs : ticks(frame.x.domain, 6)), room);
  const markers = props.markers ?? xs.length <= MANY_POINTS;

  const spotOf = (event: MouseEvent<SVGSVGElement>) => {
    const area = event.currentTarget.getBoundingClientRect();
    const x = xs[nearest(xs, frame.x.invert(event.clientX - area.left))];
    return x === undefined ? null : { x, y: frame.y.invert(event.clientY - area.top) };
  };
  const pick = (spot: typeof at) => {
    if (!onPick || spot === null) return;
    const near = closest(drawn, spot.x, spot.y);
    onPick(spot.x, near?.series ?? null, near?.point ?? null);
  };
  const onKey = (event: KeyboardEvent) => {
    const steps: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, Home: -xs.length, End: xs.length };
    const step = steps[event.key];
    if (step !== undefined) {
      const now = at === null ? nearest(xs, current ?? xs[0] ?? 0) - Math.sign(step) : xs.indexOf(at.x);
      const x = xs[Math.min(xs.length - 1, Math.max(0, now + step))];
      if (x !== undefined) setAt({ x, y: null });
    } else if (event.key === "Enter" || event.key === " ") pick(at);
    else if (event.key === "Escape") setAt(null);
    else return;
    event.preventDefault();
  };
  const toggle = (key: string) => {
    const next = new Set(hidden);
    if (!next.delete(key)) next.add(key);
    setHidden(next);
  };
  const chance = typeof props.chance === "number" ? frame.x.domain.map((x) => ({ x, y: props.chance as number })) : props.chance;
  const reading = at === null ? [] : drawn.map((one) => ({ ...one, point: one.series.points.find((point) => point.x === at.x) }));

  return (
    <div className="chart-box" ref={box}>
      <svg
        className={onPick ? "chart line-chart pickable" : "chart line-chart"}
        width={width}
        height={height}
        viewBox={`0 0 ${width} ${height}`}
        role={onPick ? "group" : "img"}
        aria-label={`${label}. ${drawn.length} lines; arrows read values.`}
        tabIndex={0}
        onPointerMove={(event) => setAt(spotOf(event))}
        onPointerLeave={() => setAt(null)}
        onBlur={() => setAt(null)}
        onClick={(event) => pick(spotOf(event))}
        onKeyDown={onKey}
      >
        <Axes frame={frame} xTicks={xTicks} xFormat={xFormat} yFormat={props.yFormat} xLabel={xLabel} yLabel={yLabel} />
        {props.ceiling && <path className="ceiling" d={pathOf(props.ceiling, frame, (point) => point.y)} />}
        {chance && <path className="chance" d={pathOf(chance, frame, (point) => point.y)} />}
        <clipPath id={area}>
          <rect x={frame.left - EDGE} y={frame.top - EDGE} width={room + 2 * EDGE} height={frame.bottom - frame.top + 2 * EDGE} />
        </clipPath>
        <g clipPath={`url(#${area})`}>
          {drawn.map(({ series: one, look }) => (
            <Line
              key={one.key}
              series={one}
              look={look}
              frame={frame}
              band={one.band ?? (drawn.length <= MANY_LINES || lit === one.key)}
              faded={lit !== null && lit !== one.key}
              markers={markers}
            />
          ))}
        </g>
        {typeof current === "number" && (
          <line className="current" x1={frame.x(current)} x2={frame.x(current)} y1={frame.top} y2={frame.bottom} />
        )}
        {marks.map((mark) => (
          <g key={`${mark.x} ${mark.y}`} className="mark">
            <circle cx={frame.x(mark.x)} cy={frame.y(mark.y)} r={5} />
            <text x={frame.x(mark.x)} y={frame.y(mark.y) - 9} textAnchor={frame.x(mark.x) > width - 90 ? "end" : frame.x(mark.x) < 90 ? "start" : "middle"}>
              {mark.text}
            </text>
          </g>
        ))}
        {at !== null && (
          <g data-passing="" className="reading" clipPath={`url(#${area})`}>
            <line x1={frame.x(at.x)} x2={frame.x(at.x)} y1={frame.top} y2={frame.bottom} />
            {reading.map(({ series: one, look, point }) =>
              point && point.y !== null ? <MarkerShape key={one.key} x={frame.x(at.x)} y={frame.y(point.y)} look={look} size={4.5} hollow /> : null,
            )}
          </g>
        )}
      </svg>
      {at !== null && (
        <Readout
          title={props.xRead ? props.xRead(at.x) : `${xLabel} ${xFormat(at.x)}`}
          lines={reading}
          x={frame.x(at.x)}
          width={width}
          top={height - 6}
          yFormat={yFormat}
        />
      )}
      {(props.legend ?? series.length > 1) && (
        <Legend
          items={all.map(({ series: one, look }) => ({ key: one.key, name: one.name, look }))}
          hidden={hidden}
          onToggle={toggle}
          onHover={setLit}
        />
      )}
      {beyond > 0 && <p className="key-note">{beyond} without an interval beyond the axis</p>}
      {(chance || props.ceiling) && (
        <p className="key-note">
          {chance && <span className="key-chance">chance</span>} {props.ceiling && <span className="key-ceiling">ceiling</span>}
        </p>
      )}
    </div>
  );
}

/** The numbers of lines, for CSV. */
export function lineData(series: readonly LineSeries[], xName: string) {
  return {
    columns: ["series", xName, "value", "low", "high", "chance", "ceiling", "n", "undefined"],
    rows: series.flatMap((one) =>
      one.points.map((p) => [one.name, p.x, p.y, p.low, p.high, p.chance, p.ceiling, p.n, p.undefined]),
    ),
  };
}
