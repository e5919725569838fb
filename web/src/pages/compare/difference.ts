/** What one map has more than another, pixel by pixel. Pure. */
import { commonRange, zeroCentred, type Drawn } from "../../viewer";

/** values: as they are; share: each divided by the sum of its map, so that units do not matter. */
export const UNITS = ["values", "share"] as const;
export type Unit = (typeof UNITS)[number];

/** A difference, or why there is none. */
export type Difference = { readonly drawn: Drawn } | { readonly problem: string };

function sumOf({ values, ignore }: Drawn): number {
  let sum = 0;
  for (let i = 0; i < values.length; i += 1) if (!ignore?.[i]) sum += values[i] as number;
  return sum;
}

function sameRaster(a: Drawn, b: Drawn): boolean {
  const edges = ["x0", "y0", "x1", "y1"] as const;
  const near = edges.every((edge) => Math.abs(a.place[edge] - b.place[edge]) < 1e-6);
  return a.rows === b.rows && a.columns === b.columns && near;
}

function ignoredIn(a: Drawn, b: Drawn): Uint8Array | null {
  if (!a.ignore || !b.ignore) return a.ignore ?? b.ignore ?? null;
  const [first, second] = [a.ignore, b.ignore];
  return first.map((ignored, i) => ignored | (second[i] as number));
}

/** Map b less map a, both as they are read. */
export function differenceOf(a: Drawn, b: Drawn, unit: Unit): Difference {
  if (!sameRaster(a, b)) {
    const shape = (one: Drawn) => `${one.rows} × ${one.columns}`;
    const how = shape(a) === shape(b) ? "that lie over different parts of the image" : `of ${shape(a)} and ${shape(b)} cells`;
    return {
      problem: `The maps have rasters ${how}, so they cannot be subtracted. A study with “resolution: pixels” scores all maps on one.`,
    };
  }
  const [over, under] = unit === "share" ? [sumOf(b), sumOf(a)] : [1, 1];
  if (!(over > 0) || !(under > 0)) return { problem: "A map without a positive sum has no shares." };
  const values = new Float32Array(b.values.length);
  for (let i = 0; i < values.length; i += 1) {
    values[i] = (b.values[i] as number) / over - (a.values[i] as number) / under;
  }
  const { rows, columns, place } = b;
  return { drawn: { values, rows, columns, place, ignore: ignoredIn(a, b) } };
}

/** One scale for all maps; with signed ones among them zero is in the middle, as their colours have it. */
export function oneScale(maps: readonly (Drawn | null)[], signed: boolean): [number, number] {
  const there = maps.flatMap((one) => (one === null ? [] : [one]));
  return signed ? zeroCentred(there) : commonRange(there);
}

/** One scale for all differences, as far below zero as above. */
export function scaleOf(differences: readonly Difference[]): [number, number] {
  return zeroCentred(differences.flatMap((one) => ("drawn" in one ? [one.drawn] : [])));
}
