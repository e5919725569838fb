/** Image, map and regions on one canvas, to look at closely by mouse, touch and keyboard. */
import {
  useId,
  useImperativeHandle,
  useLayoutEffect,
  useMemo,
  useRef,
  type CSSProperties,
  type KeyboardEvent,
  type ReactNode,
  type Ref,
} from "react";

import type { RegionInfo } from "../api/client";
import { useGestures } from "./gestures";
import { useElementSize, usePicture } from "./hooks";
import { moveByKey } from "./keyboard";
import { borderFor, paint, type Scene, textureOf } from "./paint";
import { isScored, regionAt } from "./regions";
import { type SvgPicture, SvgSurface } from "./surface";
import type { Box, Drawn, Look, Outline, Spot, View } from "./types";
import { type Frame, frameOf, isOnImage, type Size, WHOLE, zoomedAt } from "./view";
import "./viewer.css";

export interface ViewerHandle {
  /** The canvas as it is seen, to be exported. */
  canvas: () => HTMLCanvasElement | null;
  /** The same as a drawing: image and map are pictures in it, regions and words stay lines and words. */
  svg: () => SvgPicture | null;
}

export interface ViewerProps {
  /** What is shown, for people who do not see it. */
  label: string;
  /** Address of the picture; null: none. */
  image: string | null;
  /** Width and height of the image. */
  size: Size;
  map: Drawn | null;
  look: Look;
  view: View;
  onView: (view: View) => void;
  cursor?: Spot | null;
  onCursor?: (spot: Spot | null) => void;
  regions?: readonly RegionInfo[];
  chosen?: number | null;
  onRegion?: (index: number | null) => void;
  /** Told instead of `onRegion` where a point was chosen. */
  onTap?: ((spot: Spot) => void) | undefined;
  outline?: Outline | null;
  peak?: Spot | null;
  box?: Box | null;
  onBox?: ((box: Box) => void) | undefined;
  drawing?: boolean;
  /** The shortest side of a drawn box, as a share. */
  leastBox?: number;
  height?: string;
  testid?: string;
  ref?: Ref<ViewerHandle>;
  children?: ReactNode;
}

const NO_REGIONS: readonly RegionInfo[] = [];
const STEP = 1.5;

export function Viewer(props: ViewerProps) {
  const { label, size, view, onView, regions = NO_REGIONS, cursor = null, testid, children } = props;
  const pane = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const shown = useElementSize(pane);
  const picture = usePicture(props.image);
  const onCursor = (spot: Spot | null) => props.onCursor?.(spot && isOnImage(spot) ? spot : null);
  const choose = (spot: Spot) => props.onTap ? props.onTap(spot) : props.onRegion?.(regionAt(regions.filter(isScored), spot)?.index ?? null);
  const { listeners, box, hint } = useGestures(pane, {
    image: size,
    size: shown,
    view,
    drawing: props.drawing ?? false,
    onView,
    onCursor,
    onTap: choose,
    onBox: props.onBox,
    leastBox: props.leastBox,
  });
  const scene = useScene(props, picture.element, box);
  usePainting(canvas, scene, size, shown, view);
  const asSvg = () => (shown[0] === 0 ? null : svgOf(scene, frameOf(view, size, shown), shown));
  useImperativeHandle(props.ref, () => ({ canvas: () => canvas.current, svg: asSvg }));

  const onKeyDown = (event: KeyboardEvent) => {
    const moved = moveByKey(event, { view, cursor, image: size, pane: shown, map: props.map });
    if (moved === null) return;
    event.preventDefault();
    if (moved.view) onView(moved.view);
    if (moved.cursor) onCursor(moved.cursor);
    if (moved.choose) choose(moved.choose);
  };
  const zoom = (factor: number) => onView(zoomedAt(view, factor, shown[0] / 2, shown[1] / 2, size, shown));
  const style: CSSProperties = props.height
    ? { height: props.height }
    : { aspectRatio: `${size[0]} / ${size[1]}`, width: `min(100%, ${(75 * size[0]) / size[1]}vh)` };
  const help = useId();
  return (
    <div className="viewer" style={style} data-testid={testid}>
      <div
        ref={pane}
        className="viewer-pane"
        role="application"
        aria-label={label}
        aria-describedby={help}
        tabIndex={0}
        data-zoom={view.zoom}
        style={{ touchAction: view.zoom > 1 || props.drawing ? "none" : "pan-y", cursor: cursorOf(props) }}
        onKeyDown={onKeyDown}
        {...listeners}
      >
        <canvas ref={canvas} aria-hidden="true" />
      </div>
      <p id={help} className="hidden">
        Arrows move the cross-hair, Enter chooses the region under it, plus and minus zoom, Shift with arrows moves the
        image, 0 shows it whole.
      </p>
      {hint && <p className="viewer-hint">Click the image, or hold Ctrl, to zoom with the wheel</p>}
      {picture.failed && <p className="viewer-hint">The picture cannot be shown; map and regions can.</p>}
      <div className="viewer-zoom" role="group" aria-label="Zoom">
        <button type="button" aria-label="Zoom in" onClick={() => zoom(STEP)}>+</button>
        <button type="button" aria-label="Zoom out" disabled={view.zoom <= 1} onClick={() => zoom(1 / STEP)}>−</button>
        <button type="button" aria-label="Show whole image" disabled={view.zoom <= 1} onClick={() => onView(WHOLE)}>⤢</button>
      </div>
      {children}
    </div>
  );
}

function cursorOf({ drawing, view }: ViewerProps): string {
  return drawing ? "crosshair" : view.zoom > 1 ? "grab" : "default";
}

function useScene(props: ViewerProps, picture: HTMLImageElement | null, drawnBox: Box | null): Scene {
  const { map, look, regions = NO_REGIONS, outline = null, cursor = null } = props;
  const [low, high] = look.scale;
  const texture = useMemo(
    () => map && textureOf(map, { colours: look.colours, smooth: look.smooth, scale: [low, high] }),
    [map, look.colours, look.smooth, low, high],
  );
  const border = useMemo(() => outline && borderFor(outline), [outline]);
  return {
    picture,
    texture,
    border,
    regions,
    opacity: look.opacity,
    smooth: look.smooth,
    chosen: props.chosen ?? null,
    hovered: cursor && props.onRegion ? (regionAt(regions, cursor)?.index ?? null) : null,
    peak: props.peak ?? null,
    cross: cursor,
    box: drawnBox ?? props.box ?? null,
  };
}

/** What is seen, without what the pointer adds. */
function svgOf(scene: Scene, frame: Frame, [width, height]: Size): SvgPicture {
  const surface = new SvgSurface();
  paint(surface, { ...scene, cross: null, hovered: null }, frame);
  return { width, height, body: surface.body() };
}

/** Draw after each change, sharp on dense screens. */
function usePainting(
  canvas: { readonly current: HTMLCanvasElement | null },
  scene: Scene,
  image: Size,
  shown: Size,
  view: View,
): void {
  useLayoutEffect(() => {
    const node = canvas.current;
    const context = node?.getContext("2d");
    if (!node || !context || shown[0] === 0) return;
    const density = window.devicePixelRatio || 1;
    const [width, height] = [Math.round(shown[0] * density), Math.round(shown[1] * density)];
    if (node.width !== width) node.width = width;
    if (node.height !== height) node.height = height;
    context.setTransform(density, 0, 0, density, 0, 0);
    context.clearRect(0, 0, shown[0], shown[1]);
    paint(context, scene, frameOf(view, image, shown));
  });
}
