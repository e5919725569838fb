/** Regions over the picture, and the handles of the box that is being changed. */
import { useRef, type PointerEvent } from "react";

import type { Spot, View } from "../../viewer";
import { useElementSize } from "../../viewer/hooks";
import { frameOf, pointOf, type Frame } from "../../viewer/view";
import { dragged, HANDLES, handleText, placeOf, toShares, type Handle, type PixelBox, type Size } from "./boxes";

/** How a region is drawn; the words of the legend follow it. */
export type Tone = "given" | "item" | "open" | "accepted" | "rejected" | "drawn";

export interface Shape {
  readonly id: string;
  readonly label: string;
  readonly tone: Tone;
  readonly box: readonly number[];
  /** Rings; empty: the box. */
  readonly outline: readonly (readonly (readonly number[])[])[];
}

/** The smallest region at a point; null: there is none. */
export function shapeAt(shapes: readonly Shape[], { x, y }: Spot): Shape | null {
  const area = ([x0 = 0, y0 = 0, x1 = 0, y1 = 0]: readonly number[]) => (x1 - x0) * (y1 - y0);
  const hit = shapes.filter(({ box: [x0 = 0, y0 = 0, x1 = 0, y1 = 0] }) => x >= x0 && x <= x1 && y >= y0 && y <= y1);
  return hit.reduce<Shape | null>((least, one) => (least === null || area(one.box) < area(least.box) ? one : least), null);
}

function pathOf(shape: Shape, frame: Frame): string {
  const [x0 = 0, y0 = 0, x1 = 0, y1 = 0] = shape.box;
  const rings = shape.outline.length > 0 ? shape.outline : [[[x0, y0], [x1, y0], [x1, y1], [x0, y1]]];
  const point = ([x = 0, y = 0]: readonly number[]) => pointOf(frame, { x, y }).map((value) => value.toFixed(1)).join(" ");
  return rings.map((ring) => `M${ring.map(point).join("L")}Z`).join("");
}

function Label({ shape, frame }: { shape: Shape; frame: Frame }) {
  const [x, y] = pointOf(frame, { x: shape.box[0] ?? 0, y: shape.box[1] ?? 0 });
  return (
    <text x={Math.max(2, x)} y={y > 18 ? y - 6 : y + 16}>
      {shape.label}
    </text>
  );
}

interface LayerProps {
  size: Size;
  view: View;
  shapes: readonly Shape[];
  /** The box that is being changed; null: none. */
  box: PixelBox | null;
  handle: Handle;
  onHandle: (handle: Handle) => void;
  onBox: (box: PixelBox) => void;
}

/** Lies over the picture; all but the handles lets the pointer through. */
export function Layer({ size, view, shapes, box, handle, onHandle, onBox }: LayerProps) {
  const element = useRef<HTMLDivElement>(null);
  const shown = useElementSize(element);
  const frame = frameOf(view, size, shown);
  const ready = shown[0] > 0;
  return (
    <div ref={element} className="review-layer">
      <svg aria-hidden="true" width={shown[0]} height={shown[1]}>
        {ready &&
          shapes.map((shape) => (
            <g key={shape.id} className={`review-shape ${shape.tone}`} data-shape={shape.id}>
              <path className="halo" d={pathOf(shape, frame)} />
              <path d={pathOf(shape, frame)} />
              {shape.tone === "item" && <Label shape={shape} frame={frame} />}
            </g>
          ))}
      </svg>
      {ready && box && <Handles size={size} frame={frame} box={box} handle={handle} onHandle={onHandle} onBox={onBox} />}
    </div>
  );
}

interface HandlesProps extends Omit<LayerProps, "view" | "shapes" | "box"> {
  frame: Frame;
  box: PixelBox;
}

function Handles({ size, frame, box, handle, onHandle, onBox }: HandlesProps) {
  const from = useRef<{ x: number; y: number; box: PixelBox } | null>(null);
  const [x0, y0, x1, y1] = toShares(box, size);
  const [left, top] = pointOf(frame, { x: x0, y: y0 });
  const [right, bottom] = pointOf(frame, { x: x1, y: y1 });
  const down = (event: PointerEvent<HTMLElement>) => {
    event.currentTarget.setPointerCapture(event.pointerId);
    from.current = { x: event.clientX, y: event.clientY, box };
  };
  const move = (one: Handle) => (event: PointerEvent<HTMLElement>) => {
    const start = from.current;
    if (start === null) return;
    const [dx, dy] = [((event.clientX - start.x) / frame.width) * size[0], ((event.clientY - start.y) / frame.height) * size[1]];
    onBox(dragged(start.box, one, dx, dy, size));
  };
  const up = () => {
    from.current = null;
  };
  return (
    <div className="review-handles" role="group" aria-label="The box: arrows move what has the focus by a pixel, with Shift by ten">
      {HANDLES.map((one) => {
        const [ax, ay] = placeOf(one);
        const place = { left: left + ax * (right - left), top: top + ay * (bottom - top) };
        const whole = { left, top, width: right - left, height: bottom - top };
        return (
          <button
            key={one}
            type="button"
            className={one === "move" ? "review-whole" : `review-handle ${one}`}
            style={one === "move" ? whole : place}
            aria-label={handleText(one, box)}
            aria-current={one === handle ? "true" : undefined}
            data-handle={one}
            onFocus={() => onHandle(one)}
            onPointerDown={down}
            onPointerMove={move(one)}
            onPointerUp={up}
            onPointerCancel={up}
          />
        );
      })}
    </div>
  );
}
