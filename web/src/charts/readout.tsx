/** What a chart says at the place that is pointed at. */
import { useLayoutEffect, useRef } from "react";

import { interval, score } from "../format";
import type { LineLook } from "./colours";
import type { LinePoint, LineSeries } from "./line_parts";

export interface Read {
  series: LineSeries;
  look: LineLook;
  point: LinePoint | undefined;
}

interface ReadoutProps {
  title: string;
  lines: readonly Read[];
  /** Where the place is, and how wide the chart. */
  x: number;
  width: number;
  top: number;
  yFormat: (y: number) => string;
}

/** A point in words: value, interval, chance, ceiling, number of images. */
export function pointText(point: LinePoint, yFormat: (y: number) => string): string {
  const parts = [point.y === null ? score(null) : yFormat(point.y), interval(point.low, point.high)];
  if (typeof point.chance === "number") parts.push(`chance ${score(point.chance)}`);
  if (typeof point.ceiling === "number") parts.push(`ceiling ${score(point.ceiling)}`);
  if (typeof point.n === "number") parts.push(`n ${point.n}`);
  return parts.filter((part) => part !== "").join(" ");
}

/** A box under the place, kept inside the chart. */
export function Readout({ title, lines, x, width, top, yFormat }: ReadoutProps) {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const own = element.offsetWidth;
    element.style.left = `${Math.max(0, Math.min(x - own / 2, width - own))}px`;
  });
  return (
    <div ref={box} className="readout" role="status" style={{ top }}>
      <b>{title}</b>
      {lines.map(({ series, look, point }) =>
        point ? (
          <div key={series.key}>
            <i style={{ background: look.colour }} aria-hidden="true" /> {series.name}: {pointText(point, yFormat)}
          </div>
        ) : null,
      )}
    </div>
  );
}
