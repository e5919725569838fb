import type { LineLook } from "./colours";

interface MarkerProps {
  x: number;
  y: number;
  look: LineLook;
  size?: number;
  hollow?: boolean;
}

/** A mark whose shape also tells lines apart. */
export function MarkerShape({ x, y, look, size = 3, hollow }: MarkerProps) {
  const style = { fill: hollow ? "var(--paper)" : look.colour, stroke: look.colour, strokeWidth: hollow ? 1.5 : 0 };
  if (look.marker === "square") {
    return <rect x={x - size} y={y - size} width={2 * size} height={2 * size} style={style} />;
  }
  if (look.marker === "circle") return <circle cx={x} cy={y} r={size} style={style} />;
  const reach = size * 1.3;
  const points =
    look.marker === "triangle"
      ? `${x},${y - reach} ${x + reach},${y + reach * 0.8} ${x - reach},${y + reach * 0.8}`
      : `${x},${y - reach} ${x + reach},${y} ${x},${y + reach} ${x - reach},${y}`;
  return <polygon points={points} style={style} />;
}
