/**
 * The virtualised grid: only the cards in sight are there, however many images pass, and the row
 * of the current card, which keeps the focus wherever one scrolls.
 */
import { defaultRangeExtractor, useWindowVirtualizer, type Range } from "@tanstack/react-virtual";
import {
  useCallback,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
  type CSSProperties,
  type KeyboardEvent,
  type RefObject,
} from "react";

import { Card, EmptyCard, type CardLook } from "./card";
import type { Items } from "./items";
import { between, GAP, gridOf, moved, moveOf, withRow, type CardSize, type Grid as Shape } from "./layout";
import type { Pick } from "./picked";
import type { Place } from "./view";

/** Rows drawn above and below those in sight. */
const BEYOND = 2;
const NO_TAGS: readonly string[] = [];
/** Height of what sticks to the top of the window. */
const STICKY = 96;

export interface GridProps {
  readonly items: Items;
  readonly size: CardSize;
  readonly look: CardLook;
  readonly tags: ReadonlyMap<string, readonly string[]>;
  readonly picked: ReadonlySet<string>;
  readonly place: Place;
  readonly onPick: Pick;
  /** The card at which Tab stops. */
  readonly current: number;
  readonly onCurrent: (index: number) => void;
}

/** Width of an element and where it begins on the page. */
function useMeasured(ref: RefObject<HTMLElement | null>): { width: number; top: number } {
  const [measured, setMeasured] = useState({ width: 0, top: 0 });
  useLayoutEffect(() => {
    const element = ref.current;
    if (element === null) return;
    const measure = () => {
      const box = element.getBoundingClientRect();
      const next = { width: Math.floor(box.width), top: Math.round(box.top + window.scrollY) };
      setMeasured((before) => (before.width === next.width && before.top === next.top ? before : next));
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    // What stands above may grow, which moves the grid without changing its size.
    observer.observe(document.body);
    return () => observer.disconnect();
  }, [ref]);
  return measured;
}

function useRows(shape: Shape, top: number, current: number) {
  const kept = Math.floor(current / shape.columns);
  const rangeExtractor = useCallback((range: Range) => withRow(defaultRangeExtractor(range), kept, range.count), [kept]);
  const virtual = useWindowVirtualizer({
    count: shape.rows,
    estimateSize: () => shape.row,
    overscan: BEYOND,
    rangeExtractor,
    scrollMargin: top,
    scrollPaddingStart: STICKY,
    scrollPaddingEnd: STICKY,
  });
  useEffect(() => virtual.measure(), [virtual, shape.row]);
  return virtual;
}

/** Moves the focus to the current card once it is drawn. */
function useFocus(root: RefObject<HTMLElement | null>, current: number) {
  const wanted = useRef(false);
  useEffect(() => {
    if (!wanted.current) return;
    const link = root.current?.querySelector<HTMLElement>(`[data-index="${current}"] a`);
    if (!link) return;
    wanted.current = false;
    link.focus({ preventScroll: true });
  });
  return useCallback(() => {
    wanted.current = true;
  }, []);
}

type Virtual = ReturnType<typeof useRows>;

/** Goes once to the card at which the address starts; a new view starts at its top. */
function useStart(virtual: Virtual, start: number, shape: Shape, ready: boolean): void {
  const done = useRef(false);
  useEffect(() => {
    if (done.current || !ready || shape.rows === 0) return;
    done.current = true;
    const row = Math.min(Math.floor(start / shape.columns), shape.rows - 1);
    const below = (virtual.scrollOffset ?? 0) > virtual.options.scrollMargin;
    if (row > 0 || below) virtual.scrollToIndex(row, { align: "start" });
  }, [virtual, start, shape, ready]);
}

/** Tells which cards are drawn, and after scrolling which is the first in sight. */
function useTold(virtual: Virtual, shape: Shape, place: Place): void {
  const { startIndex, endIndex } = virtual.range ?? { startIndex: 0, endIndex: 0 };
  const first = Math.max(0, startIndex - BEYOND) * shape.columns;
  const last = Math.min(shape.rows, endIndex + BEYOND + 1) * shape.columns - 1;
  const { onShown, onScrolled } = place;
  useEffect(() => onShown(first, last), [first, last, onShown]);
  useEffect(() => {
    const tell = () => {
      const passed = window.scrollY + STICKY - virtual.options.scrollMargin;
      onScrolled(Math.max(0, Math.floor(passed / shape.row)) * shape.columns);
    };
    window.addEventListener("scroll", tell, { passive: true });
    return () => window.removeEventListener("scroll", tell);
  }, [virtual, shape, onScrolled]);
}

interface CellProps extends GridProps {
  index: number;
  shape: Shape;
}

function Cell({ index, shape, items, look, tags, picked, current, onCurrent, onPick }: CellProps) {
  const item = items.at(index);
  return (
    <div
      role="gridcell"
      aria-colindex={(index % shape.columns) + 1}
      aria-selected={item !== undefined && picked.has(item.image)}
      aria-busy={item === undefined}
      data-index={index}
      style={{ width: shape.card }}
      onFocus={() => onCurrent(index)}
    >
      {item === undefined ? (
        <EmptyCard />
      ) : (
        <Card
          item={item}
          index={index}
          look={look}
          tags={tags.get(item.image) ?? NO_TAGS}
          picked={picked.has(item.image)}
          current={index === current}
          onPick={onPick}
        />
      )}
    </div>
  );
}

export function Grid(props: GridProps) {
  const { items, size, place, current, onCurrent, onPick } = props;
  const { total } = items;
  const root = useRef<HTMLDivElement>(null);
  const { width, top } = useMeasured(root);
  const shape = useMemo(() => gridOf(width, width === 0 ? 0 : total, size), [width, total, size]);
  const virtual = useRows(shape, top, current);
  const focusSoon = useFocus(root, current);
  useTold(virtual, shape, place);
  useStart(virtual, place.start, shape, !items.stale);

  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    if (event.key === " " && event.target instanceof HTMLAnchorElement) {
      event.preventDefault();
      void onPick(current, event.shiftKey);
      return;
    }
    const move = moveOf(event.key, event.ctrlKey || event.metaKey);
    if (move === null || event.altKey) return;
    event.preventDefault();
    const rowsShown = Math.max(1, Math.floor(window.innerHeight / shape.row));
    const next = moved(current, move, { columns: shape.columns, total, rowsShown });
    if (event.shiftKey) void onPick(next, true, current);
    onCurrent(next);
    focusSoon();
    virtual.scrollToIndex(Math.floor(next / shape.columns), { align: "auto" });
  };
  const style: CSSProperties & Record<"--card-picture", string> = {
    height: Math.max(0, virtual.getTotalSize() - GAP),
    "--card-picture": `${shape.picture}px`,
  };
  return (
    <div
      ref={root}
      role="grid"
      aria-label="Images"
      aria-multiselectable="true"
      aria-rowcount={shape.rows}
      aria-colcount={shape.columns}
      aria-busy={items.stale}
      className={items.stale ? "gallery-grid stale" : "gallery-grid"}
      style={style}
      onKeyDown={onKeyDown}
    >
      {virtual.getVirtualItems().map((row) => (
        <div
          key={row.key}
          role="row"
          aria-rowindex={row.index + 1}
          className="gallery-row"
          style={{ height: shape.row - GAP, transform: `translateY(${row.start - top}px)`, gap: GAP }}
        >
          {between(row.index * shape.columns, Math.min((row.index + 1) * shape.columns, total) - 1).map((index) => (
            <Cell key={index} {...props} index={index} shape={shape} />
          ))}
        </div>
      ))}
    </div>
  );
}
