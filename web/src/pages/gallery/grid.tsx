/**
 * The virtualised grid: only the cards in sight are there, however many images pass, and the row
 * of the current card, which keeps the focus wherever one scrolls.
 */
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
import { flushSync } from "react-dom";

import { Card, EmptyCard, type CardLook } from "./card";
import type { Items } from "./items";
import { between, edgeFor, GAP, gridOf, moved, moveOf, rowsDrawn, rowsInSight, withRow, type CardSize, type Grid as Shape } from "./layout";
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

/** The rows in sight as one scrolls, and how to bring one into sight. All rows are equally high. */
function useRows(shape: Shape, top: number) {
  const measure = useCallback(() => rowsInSight(window.scrollY - top, window.innerHeight, shape), [shape, top]);
  const [sight, setSight] = useState(measure);
  useLayoutEffect(() => {
    const look = () =>
      setSight((before) => {
        const next = measure();
        return before[0] === next[0] && before[1] === next[1] ? before : next;
      });
    // At once: what comes into sight is drawn together with the scrolling.
    const scrolled = () => flushSync(look);
    look();
    window.addEventListener("scroll", scrolled, { passive: true });
    window.addEventListener("resize", look);
    return () => {
      window.removeEventListener("scroll", scrolled);
      window.removeEventListener("resize", look);
    };
  }, [measure]);
  const show = useCallback(
    (row: number, start: boolean) => {
      const view = { from: window.scrollY - top, height: window.innerHeight, covered: STICKY };
      const edge = edgeFor(row, shape.row, view, start);
      if (edge !== null) window.scrollTo(0, edge + top);
    },
    [shape, top],
  );
  return { first: sight[0], last: sight[1], top, show };
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

type Rows = ReturnType<typeof useRows>;

/** Goes once to the card at which the address starts; a new view starts at its top. */
function useStart({ top, show }: Rows, start: number, shape: Shape, ready: boolean): void {
  const done = useRef(false);
  useEffect(() => {
    if (done.current || !ready || shape.rows === 0) return;
    done.current = true;
    const row = Math.min(Math.floor(start / shape.columns), shape.rows - 1);
    if (row > 0 || window.scrollY > top) show(row, true);
  }, [top, show, start, shape, ready]);
}

/** Tells which cards are drawn, and after scrolling which is the first in sight. */
function useTold(rows: Rows, shape: Shape, place: Place): void {
  const first = Math.max(0, rows.first - BEYOND) * shape.columns;
  const last = Math.min(shape.rows, rows.last + BEYOND + 1) * shape.columns - 1;
  const { top } = rows;
  const { onShown, onScrolled } = place;
  useEffect(() => onShown(first, last), [first, last, onShown]);
  useEffect(() => {
    const tell = () => {
      const passed = window.scrollY + STICKY - top;
      onScrolled(Math.max(0, Math.floor(passed / shape.row)) * shape.columns);
    };
    window.addEventListener("scroll", tell, { passive: true });
    return () => window.removeEventListener("scroll", tell);
  }, [top, shape, onScrolled]);
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
  const rows = useRows(shape, top);
  const focusSoon = useFocus(root, current);
  useTold(rows, shape, place);
  useStart(rows, place.start, shape, !items.stale);

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
    rows.show(Math.floor(next / shape.columns), false);
  };
  const style: CSSProperties & Record<"--card-picture", string> = {
    height: Math.max(0, shape.rows * shape.row - GAP),
    "--card-picture": `${shape.picture}px`,
  };
  const near = rowsDrawn([rows.first, rows.last], BEYOND, shape.rows);
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
      {withRow(near, Math.floor(current / shape.columns), shape.rows).map((row) => (
        <div
          key={row}
          role="row"
          aria-rowindex={row + 1}
          className="gallery-row"
          style={{ height: shape.row - GAP, transform: `translateY(${row * shape.row}px)`, gap: GAP }}
        >
          {between(row * shape.columns, Math.min((row + 1) * shape.columns, total) - 1).map((index) => (
            <Cell key={index} {...props} index={index} shape={shape} />
          ))}
        </div>
      ))}
    </div>
  );
}
