/** Tables of the API as lines with named values. */

export interface PlainTable {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
}

export type Line = ReadonlyMap<string, unknown>;

/** The lines of a table; none where there is no table. */
export function linesOf(table: PlainTable | undefined): Line[] {
  if (!table) return [];
  return table.rows.map((row) => new Map(table.columns.map((column, i) => [column, row[i]])));
}

/** A number; null where it is undefined or no number. */
export function numberOf(line: Line, column: string): number | null {
  const value = line.get(column);
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

/** A word; empty where there is none. */
export function wordOf(line: Line, column: string): string {
  const value = line.get(column);
  return value === null || value === undefined ? "" : String(value);
}
