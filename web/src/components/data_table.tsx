/** Tables that sort, say what they hold and can be saved. */
import { useMemo, useState, type ReactNode } from "react";

import type { Cell, DataSet } from "../export";
import { score } from "../format";

export interface Column<Row> {
  key: string;
  title: ReactNode;
  /** In the file and for sorting. */
  value: (row: Row) => Cell;
  /** On the page; a number is written as a score unless given. */
  render?: (row: Row) => ReactNode;
  align?: "left" | "right";
  /** Plain words for the title in CSV; the key unless given. */
  name?: string;
  sortable?: boolean;
  /** Holds sentences: never squeezed to a few letters. */
  wide?: boolean;
}

export interface Order {
  key: string;
  ascending: boolean;
}

interface DataTableProps<Row> {
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowKey: (row: Row, index: number) => string;
  /** Read out, and shown unless `hideCaption`. */
  caption: string;
  hideCaption?: boolean;
  /** Makes rows clickable; the first column holds the button. */
  onRow?: (row: Row) => void;
  /** Marks a row. */
  isCurrent?: (row: Row) => boolean;
  rowClass?: (row: Row) => string | undefined;
  /** Rows at first; more on demand. */
  shown?: number;
  /** Given: the caller keeps the order, for instance in the address. */
  order?: Order | null;
  onOrder?: (order: Order) => void;
}

/** Undefined values come last in both directions. */
export function compareCells(a: Cell, b: Cell, ascending: boolean): number {
  const missing = (cell: Cell) => cell === null || cell === undefined || Number.isNaN(cell);
  if (missing(a) || missing(b)) return Number(missing(a)) - Number(missing(b));
  const sign = ascending ? 1 : -1;
  if (typeof a === "number" && typeof b === "number") return sign * (a - b);
  return sign * String(a).localeCompare(String(b), "en", { numeric: true });
}

function sorted<Row>(rows: readonly Row[], columns: readonly Column<Row>[], order: Order | null): readonly Row[] {
  const column = order === null ? undefined : columns.find(({ key }) => key === order.key);
  if (!column || order === null) return rows;
  return [...rows].sort((a, b) => compareCells(column.value(a), column.value(b), order.ascending));
}

/** The numbers of a table, for CSV. */
export function tableData<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): DataSet {
  return {
    columns: columns.map((column) => column.name ?? column.key),
    rows: rows.map((row) => columns.map((column) => column.value(row))),
  };
}

function shownCell<Row>(column: Column<Row>, row: Row): ReactNode {
  if (column.render) return column.render(row);
  const value = column.value(row);
  if (typeof value === "number") return Number.isInteger(value) ? value : score(value);
  return value === null || value === undefined ? score(null) : String(value);
}

interface HeadProps<Row> {
  column: Column<Row>;
  order: Order | null;
  onOrder: (order: Order) => void;
}

function Head<Row>({ column, order, onOrder }: HeadProps<Row>) {
  const current = order?.key === column.key ? order : null;
  const direction = current === null ? undefined : current.ascending ? "ascending" : "descending";
  const turn = () => onOrder({ key: column.key, ascending: current === null ? false : !current.ascending });
  return (
    <th scope="col" className={column.align === "right" ? "number" : undefined} aria-sort={direction}>
      {column.title}
      {column.sortable !== false && (
        <button type="button" className="sort" onClick={turn} aria-label={`Sort by ${column.name ?? column.key}`}>
          <span aria-hidden="true">{current === null ? "↕" : current.ascending ? "↑" : "↓"}</span>
        </button>
      )}
    </th>
  );
}

/** A table. */
export function DataTable<Row>(props: DataTableProps<Row>) {
  const { columns, rows, rowKey, caption, hideCaption, onRow, isCurrent, rowClass, shown = 200 } = props;
  const [own, setOwn] = useState<Order | null>(null);
  const [all, setAll] = useState(false);
  const order = props.order === undefined ? own : props.order;
  const ordered = useMemo(() => sorted(rows, columns, order), [rows, columns, order]);
  const visible = all ? ordered : ordered.slice(0, shown);
  const draw = (column: Column<Row>, row: Row, first: boolean) => {
    const cell = shownCell(column, row);
    if (!first || !onRow) return cell;
    return (
      <button type="button" className="row-button" onClick={() => onRow(row)}>
        {cell}
      </button>
    );
  };
  return (
    <div className="table-box" tabIndex={0} role="region" aria-label={caption}>
      <table className={onRow ? "data clickable" : "data"}>
        <caption className={hideCaption ? "hidden" : undefined}>{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <Head key={column.key} column={column} order={order} onOrder={props.onOrder ?? setOwn} />
            ))}
          </tr>
        </thead>
        <tbody>
          {visible.map((row, index) => (
            <tr
              key={rowKey(row, index)}
              className={rowClass?.(row)}
              aria-current={isCurrent?.(row) ? "true" : undefined}
              onClick={onRow ? (event) => !(event.target as Element).closest("a, button") && onRow(row) : undefined}
            >
              {columns.map((column, at) => (
                <td key={column.key} className={column.align === "right" ? "number" : column.wide ? "wide" : undefined}>
                  {draw(column, row, at === 0)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {visible.length < ordered.length && (
        <button type="button" className="button" onClick={() => setAll(true)}>
          Show all {ordered.length} rows
        </button>
      )}
    </div>
  );
}
