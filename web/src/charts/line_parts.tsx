/** Parts of a line chart: axes, lines with bands, what is read off. */
import type { LineLook } from "./colours";
import { MarkerShape } from "./marker";
import { tickDigits, ticks, type Scale } from "./scale";

export interface LinePoint {
  x: number;
  /** Null: undefined; the line has a gap there. */
  y: number | null;
  low?: number | null;
  high?: number | null;
  chance?: number | null;
  ceiling?: number | null;
  n?: number | null;
  undefined?: number | null;
}

export interface LineSeries {
  key: string;
  name: string;
  points: readonly LinePoint[];
  /** Colour, dash and marker; by position among the series unless given. */
  look?: LineLook;
  /** Drawn as a baseline: grey and dotted. */
  baseline?: boolean;
  /** Whether the interval is drawn as a band; yes unless there are many lines. */
  band?: boolean;
}

export interface Frame {
  x: Scale;
  y: Scale;
  left: number;
  right: number;
  top: number;
  bottom: number;
}

interface AxesProps {
  frame: Frame;
  xTicks: readonly number[];
  xFormat: (x: number) => string;
  yFormat?: (y: number) => string;
  xLabel: string;
  yLabel: string;
}

/** Axes with few, quiet lines. */
export function Axes({ frame, xTicks, xFormat, yFormat, xLabel, yLabel }: AxesProps) {
  const yTicks = ticks(frame.y.domain);
  const digits = tickDigits(yTicks);
  const yText = yFormat ?? ((y: number) => y.toFixed(digits).replace("-", "−"));
  return (
    <g className="axes" aria-hidden="true">
      {yTicks.map((y) => (
        <g key={y}>
          <line className="grid" x1={frame.left} x2={frame.right} y1={frame.y(y)} y2={frame.y(y)} />
          <text x={frame.left - 6} y={frame.y(y)} className="tick y">
            {yText(y)}
          </text>
        </g>
      ))}
      <line className="axis" x1={frame.left} x2={frame.right} y1={frame.bottom} y2={frame.bottom} />
      {xTicks.map((x) => (
        <g key={x}>
          <line className="axis" x1={frame.x(x)} x2={frame.x(x)} y1={frame.bottom} y2={frame.bottom + 4} />
          <text x={frame.x(x)} y={frame.bottom + 16} className="tick x">
            {xFormat(x)}
          </text>
        </g>
      ))}
      <text x={(frame.left + frame.right) / 2} y={frame.bottom + 33} className="label x">
        {xLabel}
      </text>
      <text x={frame.left} y={frame.top - 10} className="label y">
        {yLabel}
      </text>
    </g>
  );
}

/** A path through the points; a gap where a value is undefined. */
export function pathOf(points: readonly LinePoint[], frame: Frame, pick: (point: LinePoint) => number | null | undefined): string {
  let open = false;
  let path = "";
  for (const point of points) {
    const y = pick(point);
    if (typeof y !== "number") {
      open = false;
      continue;
    }
    path += `${open ? "L" : "M"}${frame.x(point.x).toFixed(2)} ${frame.y(y).toFixed(2)}`;
    open = true;
  }
  return path;
}

function bandOf(points: readonly LinePoint[], frame: Frame): string {
  const there = points.filter((point) => typeof point.low === "number" && typeof point.high === "number");
  if (there.length < 2) return "";
  const up = there.map((point) => `${frame.x(point.x).toFixed(2)} ${frame.y(point.high ?? 0).toFixed(2)}`);
  const down = there.map((point) => `${frame.x(point.x).toFixed(2)} ${frame.y(point.low ?? 0).toFixed(2)}`);
  return `M${up.join("L")}L${down.reverse().join("L")}Z`;
}

interface LineProps {
  series: LineSeries;
  look: LineLook;
  frame: Frame;
  band: boolean;
  faded: boolean;
  markers: boolean;
}

/** A line, its interval and its marks. */
export function Line({ series, look, frame, band, faded, markers }: LineProps) {
  const shape = band ? bandOf(series.points, frame) : "";
  const alone = series.points.filter((point) => point.y !== null).length === 1;
  return (
    <g className={faded ? "line faded" : "line"}>
      {shape && <path d={shape} className="band" style={{ fill: look.colour }} />}
      <path
        d={pathOf(series.points, frame, (point) => point.y)}
        className="stroke"
        style={{ stroke: look.colour, strokeDasharray: look.dash || "none" }}
      />
      {(markers || alone) &&
        series.points.map((point) =>
          point.y === null ? null : <MarkerShape key={point.x} x={frame.x(point.x)} y={frame.y(point.y)} look={look} />,
        )}
    </g>
  );
}
