/** Where the cards of the grid lie, and where the keyboard goes from one: pure, so that it is tested. */

export type CardSize = "small" | "medium" | "large";

export interface Grid {
  readonly columns: number;
  /** Width of a card in CSS pixels. */
  readonly card: number;
  /** Height of the picture on a card. */
  readonly picture: number;
  /** Height of a row, with the gap below it. */
  readonly row: number;
  readonly rows: number;
}

export const GAP = 12;
/** Text below the picture: name, score with its bar, chips. Fixed, so that rows are equal. */
const TEXT_HEIGHT = 92;
/** Cards that are too narrow for score, chance and ceiling in one line. */
const NARROW = 215;
const NARROW_TEXT_HEIGHT = 110;
const LEAST_WIDTH: Readonly<Record<CardSize, number>> = { small: 148, medium: 196, large: 290 };
const SHAPE = 0.8;

/** As many columns as fit, two at least: one column of pictures makes a poor gallery. */
export function gridOf(width: number, total: number, size: CardSize): Grid {
  const least = LEAST_WIDTH[size];
  const fitting = Math.floor((width + GAP) / (least + GAP));
  const columns = Math.max(size === "large" ? 1 : 2, fitting);
  const card = Math.max(1, Math.floor((width - GAP * (columns - 1)) / columns));
  const picture = Math.round(card * SHAPE);
  return {
    columns,
    card,
    picture,
    row: picture + (card < NARROW ? NARROW_TEXT_HEIGHT : TEXT_HEIGHT) + GAP,
    rows: Math.ceil(total / columns),
  };
}

/** The first and the last row that a window shows; `from` is its upper edge, from the grid's top. */
export function rowsInSight(from: number, height: number, { row, rows }: Pick<Grid, "row" | "rows">): readonly [number, number] {
  const at = (offset: number) => Math.min(Math.max(0, rows - 1), Math.max(0, Math.floor(offset / row)));
  return [at(from), at(from + height)];
}

/** The rows to draw: those in sight and some beyond; what was in sight of a taller grid is not. */
export function rowsDrawn([first, last]: readonly [number, number], beyond: number, rows: number): number[] {
  if (rows === 0) return [];
  return between(Math.max(0, Math.min(first, rows - 1) - beyond), Math.min(rows - 1, last + beyond));
}

/** What a window shows of the grid: its upper edge, from the grid's top, and its height. */
export interface Sight {
  readonly from: number;
  readonly height: number;
  /** Height of what covers its upper edge; as much is left free at the lower one. */
  readonly covered: number;
}

/** Where the window's upper edge goes so that a row is in sight; null: it is. `start`: at the top. */
export function edgeFor(index: number, row: number, { from, height, covered }: Sight, start: boolean): number | null {
  const [top, bottom] = [index * row - covered, (index + 1) * row + covered - height];
  if (start || top < from) return top;
  if (bottom <= from || top === from) return null;
  return Math.min(top, bottom); // a row that is higher than the window shows its top
}

/** `rows`, in order, with `kept` among them where the grid has it. */
export function withRow(rows: readonly number[], kept: number, count: number): number[] {
  if (kept < 0 || kept >= count || rows.includes(kept)) return [...rows];
  return [...rows, kept].sort((one, other) => one - other);
}

export type Move =
  | "left"
  | "right"
  | "up"
  | "down"
  | "rowStart"
  | "rowEnd"
  | "first"
  | "last"
  | "pageUp"
  | "pageDown";

/** The move that a key asks for, as grids of the ARIA practices have it. */
export function moveOf(key: string, control: boolean): Move | null {
  switch (key) {
    case "ArrowLeft":
      return "left";
    case "ArrowRight":
      return "right";
    case "ArrowUp":
      return "up";
    case "ArrowDown":
      return "down";
    case "Home":
      return control ? "first" : "rowStart";
    case "End":
      return control ? "last" : "rowEnd";
    case "PageUp":
      return "pageUp";
    case "PageDown":
      return "pageDown";
    default:
      return null;
  }
}

/** The card to which a move leads; the edges of the grid stop it. */
export function moved(
  index: number,
  move: Move,
  grid: { readonly columns: number; readonly total: number; readonly rowsShown: number },
): number {
  const { columns, total, rowsShown } = grid;
  const start = index - (index % columns);
  const page = columns * Math.max(1, rowsShown);
  const inColumn = (next: number): number => (next < 0 || next >= total ? index : next);
  const target: Readonly<Record<Move, number>> = {
    left: index - 1,
    right: index + 1,
    up: inColumn(index - columns),
    down: index + columns < total || start + columns >= total ? inColumn(index + columns) : total - 1,
    rowStart: start,
    rowEnd: start + columns - 1,
    first: 0,
    last: total - 1,
    pageUp: index - page < 0 ? index % columns : index - page,
    pageDown: index + page >= total ? total - 1 : index + page,
  };
  return Math.min(Math.max(target[move], 0), Math.max(total - 1, 0));
}

/** Numbers of the pages that hold the cards from `first` to `last` (both shown). */
export function pagesBetween(
  first: number,
  last: number,
  pageSize: number,
  total: number,
): number[] {
  const end = Math.min(last, total - 1);
  if (end < 0 || first > end) return [];
  const from = Math.floor(Math.max(first, 0) / pageSize);
  const to = Math.floor(end / pageSize);
  return Array.from({ length: to - from + 1 }, (_, offset) => from + offset);
}

/** All whole numbers between two, both counted, in whichever order they come. */
export function between(a: number, b: number): number[] {
  const from = Math.min(a, b);
  return Array.from({ length: Math.abs(a - b) + 1 }, (_, offset) => from + offset);
}
