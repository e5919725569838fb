import { LOOKS, type State } from "./states";

const SHAPES: Record<string, string> = {
  tick: "M3.5 8.5 L6.8 11.8 L12.5 4.8",
  cross: "M4.5 4.5 L11.5 11.5 M11.5 4.5 L4.5 11.5",
  triangle: "M8 3.6 L13 12.4 L3 12.4 Z",
  ring: "M8 4.4 A3.6 3.6 0 1 0 8 11.6 A3.6 3.6 0 1 0 8 4.4 Z",
  none: "M4 8 L12 8",
};

/** The mark of a state in a square of 16: inside another drawing. */
export function MarkShape({ state }: { state: State }) {
  const { mark, ink } = LOOKS[state];
  return (
    <path
      d={SHAPES[mark]}
      fill={mark === "triangle" ? ink : "none"}
      stroke={ink}
      strokeWidth={2}
      strokeLinecap="round"
      strokeLinejoin="round"
    />
  );
}

/** A state as the legend shows it: a piece of its line with its mark. */
export function StateSwatch({ state }: { state: State }) {
  const { colour, halo, dash, width } = LOOKS[state];
  const line = { x1: 0, x2: 40, y1: 9, y2: 9 };
  return (
    <svg className="detection-swatch" width={40} height={18} aria-hidden="true">
      <line {...line} stroke={halo} strokeOpacity={0.8} strokeWidth={width + 1.5} />
      <line {...line} stroke={colour} strokeWidth={width} strokeDasharray={dash} />
      <rect x={12} y={1} width={16} height={16} rx={2} fill={colour} />
      <g transform="translate(12 1)">
        <MarkShape state={state} />
      </g>
    </svg>
  );
}
