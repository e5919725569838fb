/** What drawing and changing boxes shares between proposals and the gold set. */
import { useState } from "react";
import { flushSync } from "react-dom";

import type { ReviewItem } from "../../api/client";
import type { Command } from "../../keys";
import { setParams, useParam } from "../../url";
import { parseView, viewWords, WHOLE, type Box, type View } from "../../viewer";
import { middle, toShares, type Size } from "./boxes";
import { changeOf, drawingOf, editingOf, type Editing } from "./editing";
import { newId } from "./outbox";
import { closeUp, zoomed } from "./stage";

export type Change = { box?: Box; label?: string };

/** Moves the focus into a part of the page, at once: the next key belongs there. */
export function focusIn(id: string, field: string): void {
  document.querySelector<HTMLElement>(`#${id} ${field}`)?.focus();
}

export const LABEL_FIELD = "review-label";
export const COMMENT_FIELD = "review-comment";

/** Handles would hide a smaller box, as a share of the image: it is shown close. */
const SMALL = 0.12;
const NOTHING = { editing: null as Editing | null, drawing: false };

/** The box that is drawn or changed; what it was about gone, it is gone too. `onSave` says whether it was kept. */
export function useBoxWork(at: string, size: Size | null, onSmall: (box: Box) => void, onSave: (editing: Editing, change: Change) => boolean) {
  const [work, setWork] = useState({ ...NOTHING, at });
  const { editing, drawing } = work.at === at ? work : NOTHING;
  const set = (next: Partial<typeof NOTHING>) => setWork({ editing, drawing, ...next, at });
  const rest = () => set(NOTHING);
  const edit = (item: ReviewItem | null, label = false) => {
    if (!size || !item) return;
    const [x0, y0, x1, y1] = item.box;
    if (Math.min(x1 - x0, y1 - y0) < SMALL) onSmall(item.box);
    flushSync(() => set({ editing: editing ?? editingOf(item, size), drawing: false }));
    if (label) focusIn(LABEL_FIELD, "select");
  };
  const save = () => {
    const change = editing && size && changeOf(editing, size);
    if (!editing || !change || onSave(editing, change)) rest();
  };
  return {
    editing,
    drawing,
    rest,
    edit,
    save,
    change: (next: Editing) => set({ editing: next }),
    draw: () => set({ editing: null, drawing: !drawing }),
    drawn: (box: Box, label: string) => size && set({ editing: drawingOf(`drawn-${newId()}`, box, label, size), drawing: false }),
    keys: drawing ? [{ keys: ["Escape"], label: "do not draw", run: rest }] : [],
  };
}

/** What part of the image is shown, in the address. */
export function useView(size: Size | null) {
  const [word] = useParam("view");
  const view = parseView(word);
  const onView = (next: View) => setParams({ view: viewWords(next) });
  const zoom = (factor: number) => () => size && onView(zoomed(view, factor, size));
  const keys: Command[] = [
    { keys: ["+", "="], label: "zoom in", run: zoom(1.5) },
    { keys: ["-"], label: "zoom out", run: zoom(1 / 1.5) },
  ];
  const close = (box: readonly number[]) => {
    if (size && view.zoom === 1) onView(closeUp(box, size));
  };
  return { view, onView, keys, close, near: (box: readonly number[]) => (view.zoom > 1 ? onView(WHOLE) : close(box)) };
}

/** How to draw, by pointer and by keys. */
export function DrawHint({ size, what, onDrawn }: { size: Size; what: string; onDrawn: (box: Box) => void }) {
  return (
    <p className="review-drawing" role="status">
      Draw a box around {what}: drag over the picture, or{" "}
      <button type="button" className="button" onClick={() => onDrawn(toShares(middle(size), size))}>
        put a box in the middle
      </button>
    </p>
  );
}
