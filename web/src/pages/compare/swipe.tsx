/** Two maps in one frame, parted by a line that is moved. */
import { useRef, type KeyboardEvent, type PointerEvent, type ReactNode } from "react";

import { setParams } from "../../url";

interface SwipeProps {
  /** Left of the line, and right of it. */
  readonly under: ReactNode;
  readonly over: ReactNode;
  readonly names: readonly [string, string];
  /** Where the line is, 0 to 1. */
  readonly share: number;
}

const STEP = 0.02;
const LEAP = 0.1;

/** Where a key moves the line; null: it does not. */
export function swipeByKey(key: string, share: number): number | null {
  const moves: Readonly<Record<string, number>> = {
    ArrowLeft: share - STEP,
    ArrowDown: share - STEP,
    ArrowRight: share + STEP,
    ArrowUp: share + STEP,
    PageDown: share - LEAP,
    PageUp: share + LEAP,
    Home: 0,
    End: 1,
  };
  const next = moves[key];
  return next === undefined ? null : Math.round(Math.min(1, Math.max(0, next)) * 1000) / 1000;
}

function setShare(share: number): void {
  setParams({ swipe: share === 0.5 ? null : share });
}

export function Swipe({ under, over, names, share }: SwipeProps) {
  const frame = useRef<HTMLDivElement>(null);
  const onMove = (event: PointerEvent<HTMLElement>) => {
    const box = frame.current?.getBoundingClientRect();
    if (!event.currentTarget.hasPointerCapture(event.pointerId) || box === undefined || box.width === 0) return;
    const next = (event.clientX - box.left) / box.width;
    setShare(Math.round(Math.min(1, Math.max(0, next)) * 1000) / 1000);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const next = swipeByKey(event.key, share);
    if (next === null) return;
    event.preventDefault();
    setShare(next);
  };
  return (
    <div className="compare-swipe" ref={frame}>
      <div className="compare-swipe-layer">{under}</div>
      <div className="compare-swipe-layer" style={{ clipPath: `inset(0 0 0 ${share * 100}%)` }}>
        {over}
      </div>
      <span className="compare-swipe-name left">{names[0]}</span>
      <span className="compare-swipe-name right">{names[1]}</span>
      <div
        role="slider"
        tabIndex={0}
        className="compare-swipe-line"
        aria-label={`Swipe between ${names[0]} and ${names[1]}`}
        aria-orientation="horizontal"
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={Math.round(share * 100)}
        aria-valuetext={`${names[0]} up to ${Math.round(share * 100)}% of the width`}
        style={{ left: `${share * 100}%` }}
        onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
        onPointerMove={onMove}
        onKeyDown={onKeyDown}
      >
        <span aria-hidden="true">⇔</span>
      </div>
    </div>
  );
}
