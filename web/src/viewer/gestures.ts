/** Mouse, touch, pen and wheel on a pane: zoom, pan, pinch, tap, hover, draw a box. */

import { useEffect, useRef, useState, type PointerEvent, type RefObject } from "react";

import type { Box, Spot, View } from "./types";
import { boxBetween, frameOf, panned, type Size, spotAt, zoomedAt } from "./view";

export interface Pane {
  image: Size;
  size: Size;
  view: View;
  /** A drag draws a box even without Shift. */
  drawing: boolean;
  onView: (view: View) => void;
  onCursor: (spot: Spot | null) => void;
  onTap: (spot: Spot) => void;
  /** Missing: boxes cannot be drawn. */
  onBox?: ((box: Box) => void) | undefined;
  /** Boxes with a shorter side, as a share, count as slips. */
  leastBox?: number | undefined;
}

interface Finger {
  x: number;
  y: number;
}

interface Drag {
  start: Finger;
  moved: boolean;
  box: boolean;
  touch: boolean;
}

const SLACK = { mouse: 4, touch: 10 };
const LEAST_BOX = 0.01;
const WHEEL_SPEED = 0.002;
const HINT_MS = 1500;

/** Return what the pane listens to, the box being drawn, and whether to tell how zooming works. */
export function useGestures(element: RefObject<HTMLElement | null>, pane: Pane) {
  const latest = useRef(pane);
  latest.current = pane;
  const fingers = useRef(new Map<number, Finger>());
  const drag = useRef<Drag | null>(null);
  const [box, setBox] = useState<Box | null>(null);
  const hint = useWheel(element, latest);

  /** Several events may come before the next drawing: each goes on from the one before. */
  const show = (view: View) => {
    latest.current = { ...latest.current, view };
    latest.current.onView(view);
  };
  const here = (event: PointerEvent): Finger => {
    const { left, top } = event.currentTarget.getBoundingClientRect();
    return { x: event.clientX - left, y: event.clientY - top };
  };
  const spot = ({ x, y }: Finger): Spot => {
    const { view, image, size } = latest.current;
    return spotAt(frameOf(view, image, size), x, y);
  };

  const onPointerDown = (event: PointerEvent) => {
    if (event.pointerType === "mouse" && event.button !== 0) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    const at = here(event);
    fingers.current.set(event.pointerId, at);
    const { drawing, onBox } = latest.current;
    const boxed = onBox !== undefined && (drawing || event.shiftKey);
    drag.current =
      fingers.current.size === 1
        ? { start: at, moved: false, box: boxed, touch: event.pointerType === "touch" }
        : null;
  };

  const pinch = (event: PointerEvent, at: Finger) => {
    const other = [...fingers.current].find(([id]) => id !== event.pointerId)?.[1];
    const before = fingers.current.get(event.pointerId);
    if (!other || !before) return;
    const { view, image, size } = latest.current;
    const apart = (a: Finger, b: Finger) => Math.hypot(a.x - b.x, a.y - b.y);
    const factor = apart(at, other) / Math.max(1, apart(before, other));
    const moved = panned(view, (at.x - before.x) / 2, (at.y - before.y) / 2, image, size);
    show(zoomedAt(moved, factor, (at.x + other.x) / 2, (at.y + other.y) / 2, image, size));
  };

  const onPointerMove = (event: PointerEvent) => {
    const at = here(event);
    const before = fingers.current.get(event.pointerId);
    if (event.pointerType !== "touch" || drag.current?.box) latest.current.onCursor(spot(at));
    if (before === undefined) return;
    if (fingers.current.size === 2) pinch(event, at);
    else if (drag.current) dragTo(drag.current, before, at);
    fingers.current.set(event.pointerId, at);
  };

  const dragTo = (dragged: Drag, before: Finger, at: Finger) => {
    const far = Math.hypot(at.x - dragged.start.x, at.y - dragged.start.y);
    dragged.moved ||= far > (dragged.touch ? SLACK.touch : SLACK.mouse);
    if (!dragged.moved) return;
    if (dragged.box) return setBox(boxBetween(spot(dragged.start), spot(at)));
    const { view, image, size } = latest.current;
    show(panned(view, at.x - before.x, at.y - before.y, image, size));
  };

  const onPointerUp = (event: PointerEvent) => {
    const ended = drag.current;
    fingers.current.delete(event.pointerId);
    drag.current = null;
    setBox(null);
    if (ended === null) return;
    if (!ended.moved) {
      latest.current.onCursor(spot(ended.start));
      latest.current.onTap(spot(ended.start));
    } else if (ended.box) {
      const drawn = boxBetween(spot(ended.start), spot(here(event)));
      const least = latest.current.leastBox ?? LEAST_BOX;
      const large = drawn[2] - drawn[0] >= least && drawn[3] - drawn[1] >= least;
      if (large) latest.current.onBox?.(drawn);
    }
  };

  const forget = (event: PointerEvent) => {
    fingers.current.delete(event.pointerId);
    drag.current = null;
    setBox(null);
  };
  const onPointerLeave = (event: PointerEvent) => {
    if (event.pointerType === "mouse") latest.current.onCursor(null);
  };
  const onDoubleClick = (event: React.MouseEvent) => {
    const { left, top } = event.currentTarget.getBoundingClientRect();
    const { view, image, size } = latest.current;
    const factor = event.shiftKey ? 0.5 : 2;
    show(zoomedAt(view, factor, event.clientX - left, event.clientY - top, image, size));
  };

  const listeners = { onPointerDown, onPointerMove, onPointerUp, onPointerCancel: forget, onPointerLeave, onDoubleClick };
  return { listeners, box, hint };
}

/**
 * The wheel zooms once the pane has the focus, or with Ctrl; else it scrolls the page and the pane
 * tells how to zoom. React listens to wheels without a say in scrolling, so this listens itself.
 */
function useWheel(element: RefObject<HTMLElement | null>, latest: RefObject<Pane>): boolean {
  const [hint, setHint] = useState(false);
  useEffect(() => {
    const node = element.current;
    if (node === null) return undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const onWheel = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey && !node.contains(document.activeElement)) {
        clearTimeout(timer);
        setHint(true);
        timer = setTimeout(() => setHint(false), HINT_MS);
        return;
      }
      event.preventDefault();
      const { left, top } = node.getBoundingClientRect();
      const { view, image, size, onView } = latest.current;
      const step = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
      const speed = event.ctrlKey ? 4 * WHEEL_SPEED : WHEEL_SPEED;
      const factor = Math.exp(-Math.max(-200, Math.min(200, event.deltaY * step)) * speed);
      const next = zoomedAt(view, factor, event.clientX - left, event.clientY - top, image, size);
      latest.current = { ...latest.current, view: next };
      onView(next);
    };
    // Two fingers pinch the image, not the page.
    const onTouch = (event: TouchEvent) => {
      if (event.touches.length > 1) event.preventDefault();
    };
    node.addEventListener("wheel", onWheel, { passive: false });
    node.addEventListener("touchstart", onTouch, { passive: false });
    return () => {
      clearTimeout(timer);
      node.removeEventListener("wheel", onWheel);
      node.removeEventListener("touchstart", onTouch);
    };
  }, [element, latest]);
  return hint;
}
