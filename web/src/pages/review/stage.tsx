/** The picture with regions over it, where boxes are drawn and changed. */
import { useEffect, useMemo, useRef, useState, type KeyboardEvent } from "react";

import { useMap } from "../../api/map";
import { fileUrl } from "../../api/queries";
import { ColourBar, drawnOf, rangeOf, Viewer, type Look, type Spot, type View } from "../../viewer";
import { limited } from "../../viewer/view";
import { nudged, type PixelBox, type Size } from "./boxes";
import type { Editing } from "./editing";
import { Layer, shapeAt, type Shape } from "./shapes";

interface StageProps {
  image: string;
  size: Size;
  /** What is shown, for people who do not see it. */
  label: string;
  shapes: readonly Shape[];
  onPick?: (id: string) => void;
  view: View;
  onView: (view: View) => void;
  /** Whether the study's map lies over the picture. */
  map: boolean;
  editing: Editing | null;
  onEditing: (editing: Editing) => void;
  /** Whether a drag draws a box. */
  drawing: boolean;
  /** Missing: nothing may be drawn. */
  onDrawn: ((box: readonly [number, number, number, number]) => void) | undefined;
  onSave: () => void;
}

const OPACITY = 0.55;

/** The map that the service chooses, whatever the address says: its words may be those of a table. */
function useDrawn(image: string, on: boolean) {
  const map = useMap(image, on ? {} : null);
  const drawn = useMemo(() => (on && map.data && !map.isPlaceholderData ? drawnOf(map.data) : null), [on, map.data, map.isPlaceholderData]);
  const signed = map.data?.header.choice.sign === "signed";
  const look: Look = {
    opacity: OPACITY,
    colours: signed ? "rdbu" : "inferno",
    smooth: true,
    scale: drawn && map.data ? rangeOf(drawn, "image", map.data.header) : [0, 1],
  };
  return { drawn, look, error: on ? map.error : null, choice: on && drawn ? map.data?.header.choice : undefined };
}

export function Stage(props: StageProps) {
  const { image, size, shapes, view, editing, onEditing, drawing } = props;
  const [cursor, setCursor] = useState<Spot | null>(null);
  const stage = useRef<HTMLDivElement>(null);
  const { drawn, look, error, choice } = useDrawn(image, props.map);
  // The first handle gets the focus when a box is to be changed: arrows work at once.
  const begun = editing?.id ?? null;
  useEffect(() => {
    if (begun !== null) stage.current?.querySelector<HTMLElement>("[data-handle=move]")?.focus({ preventScroll: true });
  }, [begun]);
  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    const own = (event.target as Element).closest(".viewer-zoom") !== null;
    if (!editing || own || event.ctrlKey || event.metaKey || event.altKey) return;
    const box = nudged(editing.box, editing.handle, event.key, event.shiftKey, size);
    if (box) onEditing({ ...editing, box });
    else if (event.key === "Enter") props.onSave();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const setBox = (box: PixelBox) => editing && onEditing({ ...editing, box });
  const pick = (spot: Spot) => {
    const found = drawing ? null : shapeAt(shapes, spot);
    if (found && found.tone !== "given") props.onPick?.(found.id);
  };
  return (
    <div ref={stage} className={drawing ? "review-stage drawing" : "review-stage"} onKeyDownCapture={onKeyDown}>
      <Viewer
        label={props.label}
        image={fileUrl(image)}
        size={size}
        map={drawn}
        look={look}
        view={view}
        onView={props.onView}
        cursor={drawing ? cursor : null}
        onCursor={setCursor}
        onTap={pick}
        onBox={editing ? undefined : props.onDrawn}
        drawing={drawing}
        leastBox={2 / Math.max(...size)}
        height="var(--review-stage)"
        testid="stage"
      >
        <Layer
          size={size}
          view={view}
          shapes={editing ? shapes.filter(({ id }) => id !== editing.id) : shapes}
          box={editing?.box ?? null}
          handle={editing?.handle ?? "move"}
          onHandle={(handle) => editing && onEditing({ ...editing, handle })}
          onBox={setBox}
        />
      </Viewer>
      {error && <p className="note">The map cannot be shown: {error.message}</p>}
      {choice && (
        <div className="review-map">
          <ColourBar look={look} />
          <span className="soft">
            {choice.model}, {choice.method}
            {choice.layer === null ? "" : `, layer ${choice.layer}`}
          </span>
        </div>
      )}
    </div>
  );
}

/** Nearer or farther, with the same point in the middle. */
export function zoomed(view: View, factor: number, size: Size): View {
  return limited({ ...view, zoom: view.zoom * factor }, size, size);
}

/** A view in which a box fills a good part of the pane. */
export function closeUp([x0 = 0, y0 = 0, x1 = 1, y1 = 1]: readonly number[], size: Size): View {
  const zoom = Math.min(12, 0.5 / Math.max(x1 - x0, y1 - y0, 1e-6));
  return limited({ x: (x0 + x1) / 2, y: (y0 + y1) / 2, zoom }, size, size);
}
