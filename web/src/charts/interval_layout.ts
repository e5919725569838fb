/** Where the parts of a row of values with intervals lie. Pure. */
import { interval, score } from "../format";

export interface IntervalRow {
  key: string;
  label: string;
  /** Small print behind the label. */
  detail?: string;
  value: number | null;
  low?: number | null;
  high?: number | null;
  /** Why there is no interval: in short, in its place, and in full. */
  reason?: { readonly short: string; readonly text: string };
  chance?: number | null;
  ceiling?: number | null;
  colour?: string;
  /** Drawn as a ring: a baseline. */
  hollow?: boolean;
  /** The row that the page is about now. */
  current?: boolean;
  /** Where the images behind the value are. */
  href?: string | null;
  /** How deep the label lies in a tree. */
  depth?: number;
  /** Present: the label has others below it. */
  toggle?: { open: boolean; run: () => void };
}

/** What the two marks of a row stand for; chance and ceiling unless given. */
export interface MarkNames {
  readonly chance: string;
  readonly ceiling: string;
}

export const MARK_NAMES: MarkNames = { chance: "chance", ceiling: "ceiling" };

export interface IntervalLayout {
  readonly width: number;
  /** Label and value stand over the plot rather than beside it. */
  readonly narrow: boolean;
  readonly rowHeight: number;
  readonly labelWidth: number;
  readonly plot: readonly [number, number];
  /** Right ends of the texts: of the value, and of its interval behind it. */
  readonly figureEnd: number;
  readonly valueEnd: number;
}

const CHARACTER = 6.7;
const INDENT = 16;
const TOGGLE = 20;
const NARROW = 560;
const PAD = 10;
const SMALL_CHARACTER = 6.2;
const FIGURE_WIDTH = 56;

/** How wide a text is, about. */
export const textWidth = (text: string): number => text.length * CHARACTER;

/** A text that fits, ended by dots where it was cut. */
export function fitted(text: string, width: number): string {
  const most = Math.max(3, Math.floor(width / CHARACTER));
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

/** Where a label begins: deeper ones farther to the right, behind a place for the toggle. */
export const indentOf = (row: IntervalRow, tree: boolean): number =>
  (row.depth ?? 0) * INDENT + (tree ? TOGGLE : 0);

interface WithEnds {
  readonly low?: number | null;
  readonly high?: number | null;
}

/** Whether both ends of the interval are known. */
export const hasInterval = ({ low, high }: WithEnds): boolean => typeof low === "number" && typeof high === "number";

/** What an axis must reach: what has an interval, or all where nothing has one. */
export function selectForAxis<Item extends WithEnds>(items: readonly Item[]): readonly Item[] {
  const sure = items.filter(hasInterval);
  return sure.length > 0 ? sure : items;
}

/** The interval in small print, or why there is none. */
export const intervalText = (row: IntervalRow, digits?: number): string =>
  hasInterval(row) ? interval(row.low, row.high, digits) : (row.reason?.short ?? "");

/** The highest value first; rows without an interval, which may be anything, come last as they are. */
export function rankRows(rows: readonly IntervalRow[]): IntervalRow[] {
  const sure = rows.filter((row) => hasInterval(row) && row.value !== null);
  const ranked = [...sure].sort((a, b) => (b.value ?? 0) - (a.value ?? 0));
  return [...ranked, ...rows.filter((row) => !sure.includes(row))];
}

/** Room for the longest interval in small print. */
const intervalWidth = (rows: readonly IntervalRow[]): number =>
  Math.max(0, ...rows.map((row) => intervalText(row).length)) * SMALL_CHARACTER;

export function layoutOf(rows: readonly IntervalRow[], width: number, tree: boolean): IntervalLayout {
  const beside = intervalWidth(rows);
  const narrow = width < NARROW;
  const whole = (row: IntervalRow) => (row.detail ? `${row.label}  ${row.detail}` : row.label);
  const widest = Math.max(60, ...rows.map((row) => indentOf(row, tree) + textWidth(whole(row))));
  const labelWidth = narrow ? width - 130 : Math.min(widest + PAD, width * 0.42);
  return {
    width,
    narrow,
    rowHeight: narrow ? 44 : 26,
    labelWidth,
    plot: narrow ? [PAD, width - PAD] : [labelWidth + PAD, width - beside - FIGURE_WIDTH - PAD],
    figureEnd: narrow ? width - 2 : width - beside - PAD,
    valueEnd: width - 2,
  };
}

const OVERSHOOT = 1.25;

/**
 * The values that the axis must reach.
 *
 * A few regions may give an interval over half the range, which would press all else together:
 * where chance or ceiling show what size values have, intervals are cut off a little beyond them.
 */
export function axisValues(rows: readonly IntervalRow[]): number[] {
  const there = (values: readonly (number | null | undefined)[]) =>
    values.filter((value): value is number => typeof value === "number");
  const values = selectForAxis(rows).map(({ value }) => value);
  const marks = there([...values, ...rows.flatMap(({ chance, ceiling }) => [chance, ceiling])]);
  const ends = there(rows.flatMap(({ low, high }) => [low, high]));
  const sized = rows.some(({ chance, ceiling }) => typeof (chance ?? ceiling) === "number");
  const most = sized ? Math.max(...marks.map(Math.abs)) * OVERSHOOT : Number.POSITIVE_INFINITY;
  return [...marks, ...ends.map((end) => Math.min(most, Math.max(-most, end)))];
}

/** A row in words, for people who hear it. */
export function spokenRow(row: IntervalRow, digits: number, names: MarkNames = MARK_NAMES): string {
  const ends = interval(row.low, row.high, digits);
  const parts = [
    `${row.label}${row.detail ? `, ${row.detail}` : ""}: ${score(row.value, digits)}`,
    ends === "" ? (row.reason?.text ?? "") : `95% interval ${ends}`,
    typeof row.chance === "number" ? `${names.chance} ${score(row.chance, digits)}` : "",
    typeof row.ceiling === "number" ? `${names.ceiling} ${score(row.ceiling, digits)}` : "",
  ];
  return parts.filter((part) => part !== "").join(", ");
}
