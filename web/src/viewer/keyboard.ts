/** What keys do while a pane has the focus. */

import type { Drawn, Spot, View } from "./types";
import { following, isOnImage, panned, type Size, WHOLE, zoomedAt } from "./view";

export interface KeyState {
  view: View;
  cursor: Spot | null;
  image: Size;
  pane: Size;
  map: Drawn | null;
}

export interface Moved {
  view?: View;
  cursor?: Spot;
  choose?: Spot;
}

type Pressed = Pick<KeyboardEvent, "key" | "shiftKey" | "ctrlKey" | "metaKey" | "altKey">;

const ARROWS: Readonly<Record<string, readonly [number, number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};
const ZOOM = 1.5;
const PAN = 0.15;
const PLAIN_STEPS = 32;

/** Return what a key changes; null: it means nothing here. */
export function moveByKey(pressed: Pressed, state: KeyState): Moved | null {
  if (pressed.ctrlKey || pressed.metaKey || pressed.altKey) return null;
  const { view, image, pane, cursor } = state;
  const arrow = ARROWS[pressed.key];
  if (arrow) return pressed.shiftKey ? pan(arrow, state) : step(arrow, state);
  const zoom = (factor: number) => ({ view: zoomedAt(view, factor, pane[0] / 2, pane[1] / 2, image, pane) });
  if (pressed.key === "+" || pressed.key === "=") return zoom(ZOOM);
  if (pressed.key === "-" || pressed.key === "_") return zoom(1 / ZOOM);
  if (pressed.key === "0") return { view: WHOLE };
  if ((pressed.key === "Enter" || pressed.key === " ") && cursor) return { choose: cursor };
  return null;
}

function pan([dx, dy]: readonly [number, number], { view, image, pane }: KeyState): Moved {
  return { view: panned(view, -dx * PAN * pane[0], -dy * PAN * pane[1], image, pane) };
}

/** Move the cross-hair by a cell of the map; the view follows it. */
function step([dx, dy]: readonly [number, number], { view, cursor, image, pane, map }: KeyState): Moved {
  const [rows, columns] = map?.cells ?? [PLAIN_STEPS, PLAIN_STEPS];
  const from = cursor ?? { x: view.x - dx / columns, y: view.y - dy / rows };
  const next = { x: from.x + dx / columns, y: from.y + dy / rows };
  if (!isOnImage(next)) return {};
  return { cursor: next, view: following(view, next, image, pane) };
}
