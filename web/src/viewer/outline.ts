/** The border around selected pixels, as straight pieces. */

/** x0, y0, x1, y1 in pixels of the raster. */
export type Piece = readonly [number, number, number, number];

/** Return the border between pixels with and without weight; neighbouring edges are one piece. */
export function borderOf(weights: ArrayLike<number>, rows: number, columns: number): Piece[] {
  const selected = (row: number, column: number) =>
    row >= 0 && column >= 0 && row < rows && column < columns && (weights[row * columns + column] as number) > 0;
  const pieces: Piece[] = [];
  for (let row = 0; row <= rows; row += 1) {
    runs(columns, (column) => selected(row - 1, column) !== selected(row, column), (from, upTo) =>
      pieces.push([from, row, upTo, row]),
    );
  }
  for (let column = 0; column <= columns; column += 1) {
    runs(rows, (row) => selected(row, column - 1) !== selected(row, column), (from, upTo) =>
      pieces.push([column, from, column, upTo]),
    );
  }
  return pieces;
}

/** Tell the runs of places for which a condition holds. */
function runs(count: number, holds: (place: number) => boolean, tell: (from: number, upTo: number) => void): void {
  let from = -1;
  for (let place = 0; place <= count; place += 1) {
    const on = place < count && holds(place);
    if (on && from < 0) from = place;
    if (!on && from >= 0) {
      tell(from, place);
      from = -1;
    }
  }
}
