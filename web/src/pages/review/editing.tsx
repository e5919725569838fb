/** A box and a label while they are changed. */
import { useId, useState } from "react";

import type { ReviewItem } from "../../api/client";
import { Select } from "../../components";
import { useKeys } from "../../keys";
import type { Box } from "../../viewer";
import { differs, fitted, nudged, pixelText, SIDES, toPixels, toShares, typed, type Handle, type PixelBox, type Side, type Size } from "./boxes";

export interface Editing {
  readonly what: "edit" | "draw";
  /** Of the item; of a new one the name it gets. */
  readonly id: string;
  readonly box: PixelBox;
  readonly label: string;
  readonly handle: Handle;
  /** As it was; null: it is new. */
  readonly from: { readonly box: Box; readonly label: string; readonly kind: string } | null;
}

export function editingOf(item: Pick<ReviewItem, "id" | "box" | "label" | "kind">, size: Size): Editing {
  const { id, box, label, kind } = item;
  return { what: "edit", id, box: toPixels(box, size), label, handle: "move", from: { box, label, kind } };
}

export function drawingOf(id: string, box: Box, label: string, size: Size): Editing {
  return { what: "draw", id, box: fitted(toPixels(box, size), size), label, handle: "move", from: null };
}

/** What changed, as the service takes it; null: nothing did. */
export function changeOf({ box, label, from }: Editing, size: Size): { box?: Box; label?: string } | null {
  const shares = toShares(box, size);
  if (from === null) return { box: shares, label };
  const moved = differs(shares, from.box, size);
  if (!moved && label === from.label) return null;
  return { ...(moved && { box: toShares(fitted(box, size), size) }), ...(label !== from.label && { label }) };
}

const NAMES: Readonly<Record<Side, string>> = { x0: "left x0", y0: "top y0", x1: "right x1", y1: "bottom y1" };

interface SideFieldProps {
  side: Side;
  value: number;
  most: number;
  onType: (text: string) => void;
}

/** What is typed stays as it is typed until the field is left. */
function SideField({ side, value, most, onType }: SideFieldProps) {
  const id = useId();
  const [text, setText] = useState<string | null>(null);
  return (
    <div className="field">
      <label htmlFor={id}>{NAMES[side]}</label>
      <input
        id={id}
        type="number"
        min={0}
        max={most}
        step="any"
        value={text ?? pixelText(value)}
        onChange={(event) => {
          setText(event.target.value);
          onType(event.target.value);
        }}
        onBlur={() => setText(null)}
      />
    </div>
  );
}

interface EditFormProps {
  editing: Editing;
  size: Size;
  labels: readonly string[];
  onEditing: (editing: Editing) => void;
  onSave: () => void;
  onCancel: () => void;
}

/** Typed pixels, the label, save and cancel; the same by keys. */
export function EditForm({ editing, size, labels, onEditing, onSave, onCancel }: EditFormProps) {
  const known = labels.includes(editing.label) ? labels : [editing.label, ...labels];
  const nudge = (event: KeyboardEvent) => {
    const box = nudged(editing.box, editing.handle, event.key, event.shiftKey, size);
    if (box) onEditing({ ...editing, box });
  };
  const arrows = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"];
  useKeys("Changing a box", [
    { keys: arrows, label: "move the side or the box by a pixel", run: nudge },
    { keys: arrows.map((key) => `Shift+${key}`), label: "by ten pixels", run: nudge },
    { keys: ["Enter"], label: "save", run: onSave, once: true },
    { keys: ["Escape"], label: "leave it as it was", run: onCancel, inFields: true },
  ]);
  const type = (side: Side) => (text: string) => {
    const box = typed(editing.box, side, text, size);
    if (box) onEditing({ ...editing, box });
  };
  const outline = editing.from !== null && editing.from.kind !== "box" && changeOf(editing, size)?.box !== undefined;
  return (
    <form
      className="review-edit"
      aria-label={editing.what === "draw" ? "New region" : "Change the region"}
      onSubmit={(event) => {
        event.preventDefault();
        onSave();
      }}
    >
      <div className="review-label" id="review-label">
        <Select label="Label" value={editing.label} options={known.map((one) => ({ value: one, label: one || "(none)" }))} onChange={(label) => onEditing({ ...editing, label })} />
      </div>
      <fieldset className="review-sides">
        <legend>
          Box in pixels, of {size[0]} × {size[1]}
        </legend>
        {SIDES.map((side, i) => (
          <SideField key={side} side={side} value={editing.box[i] as number} most={size[i % 2] as number} onType={type(side)} />
        ))}
      </fieldset>
      {outline && <p className="note">Its outline becomes this box.</p>}
      <div className="tools">
        <button type="submit" className="button primary">
          Save <kbd>Enter</kbd>
        </button>
        <button type="button" className="button" onClick={onCancel}>
          Cancel <kbd>Esc</kbd>
        </button>
      </div>
    </form>
  );
}
