/** How far each image moved: one bar each, from the largest loss to the largest gain. */
import { useState, type KeyboardEvent, type MouseEvent } from "react";

import { score, signed } from "../format";
import { linear, niceDomain, tickDigits, ticks } from "./scale";
import { useSize } from "./use_size";

export interface ShiftBar {
  key: string;
  /** Null: cannot be compared, not drawn. */
  shift: number | null;
  a: number | null;
  b: number | null;
}

interface ShiftBarsProps {
  label: string;
  bars: readonly ShiftBar[];
  yLabel: string;
  /** Names of both sides, for what is read out. */
  sides: readonly [string, string];
  onPick: (key: string) => void;
}

const HEIGHT = 220;
const MARGIN = { left: 52, right: 8, top: 24, bottom: 22 };
const LEAST = 3;
const MOST = 60;

/** Bars; one tab stop, arrows move, Enter opens. */
export function ShiftBars({ label, bars, yLabel, sides, onPick }: ShiftBarsProps) {
  const [box, room] = useSize<HTMLDivElement>();
  const [at, setAt] = useState<number | null>(null);
  const drawn = bars.filter((bar): bar is ShiftBar & { shift: number } => bar.shift !== null);
  const inside = room - MARGIN.left - MARGIN.right;
  const step = Math.min(MOST, Math.max(LEAST, inside / Math.max(1, drawn.length)));
  const width = Math.max(room, MARGIN.left + MARGIN.right + step * drawn.length);
  const y = linear(niceDomain(drawn.map(({ shift }) => shift), [0]), [HEIGHT - MARGIN.bottom, MARGIN.top]);
  const marks = ticks(y.domain);
  const digits = tickDigits(marks);
  const said = (bar: ShiftBar) =>
    `${bar.key}: ${signed(bar.shift)} (${sides[0]} ${score(bar.a)}, ${sides[1]} ${score(bar.b)})`;
  const placeOf = (event: MouseEvent<SVGSVGElement>) => {
    const x = event.clientX - event.currentTarget.getBoundingClientRect().left - MARGIN.left;
    const place = Math.floor(x / step);
    return place >= 0 && place < drawn.length ? place : null;
  };
  const open = (place: number | null) => {
    const bar = place === null ? undefined : drawn[place];
    if (bar) onPick(bar.key);
  };
  const onKey = (event: KeyboardEvent) => {
    const last = drawn.length - 1;
    const moves: Record<string, number> = {
      ArrowLeft: Math.max(0, (at ?? 1) - 1),
      ArrowRight: Math.min(last, (at ?? -1) + 1),
      Home: 0,
      End: last,
    };
    const next = moves[event.key];
    if (next !== undefined) setAt(next);
    else if (event.key === "Enter") open(at);
    else if (event.key === "Escape") setAt(null);
    else return;
    event.preventDefault();
  };
  const current = at === null ? undefined : drawn[at];
  return (
    <div className="chart-box heat-box" ref={box}>
      <svg
        className="chart shift-bars pickable"
        width={width}
        height={HEIGHT}
        viewBox={`0 0 ${width} ${HEIGHT}`}
        role="group"
        aria-roledescription="bars"
        aria-label={`${label}. ${drawn.length} images; arrows read them, Enter opens one.`}
        tabIndex={0}
        onKeyDown={onKey}
        onPointerMove={(event) => setAt(placeOf(event))}
        onPointerLeave={() => setAt(null)}
        onBlur={() => setAt(null)}
        onClick={(event) => open(placeOf(event))}
      >
        <g className="axes" aria-hidden="true">
          {marks.map((mark) => (
            <g key={mark}>
              <line className={mark === 0 ? "axis" : "grid"} x1={MARGIN.left} x2={width - MARGIN.right} y1={y(mark)} y2={y(mark)} />
              <text className="tick y" x={MARGIN.left - 6} y={y(mark)}>
                {signed(mark, digits)}
              </text>
            </g>
          ))}
          <text className="label y" x={4} y={13}>
            {yLabel}
          </text>
          <text className="label" x={MARGIN.left} y={HEIGHT - 5}>
            images, from the largest loss to the largest gain
          </text>
        </g>
        {drawn.map((bar, place) => (
          <rect
            key={bar.key}
            className={place === at ? "lit" : undefined}
            x={MARGIN.left + place * step + 0.5}
            width={Math.max(1, step - 1)}
            y={Math.min(y(0), y(bar.shift))}
            height={Math.max(1, Math.abs(y(bar.shift) - y(0)))}
            style={{ fill: bar.shift < 0 ? "var(--vermillion)" : "var(--blue)" }}
          >
            <title>{said(bar)}</title>
          </rect>
        ))}
      </svg>
      <p className="heat-reading" role="status">
        {current ? said(current) : ""}
      </p>
    </div>
  );
}
