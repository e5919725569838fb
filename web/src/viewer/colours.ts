/** Colour scales, read as 256 colours each. */

import stops from "./colourmaps.json";
import type { ColourName } from "./types";

export const COLOUR_NAMES: readonly ColourName[] = ["inferno", "viridis", "cividis", "greys", "rdbu"];
const LEVELS = 256;
const tables = new Map<ColourName, Uint8ClampedArray>();

/** Return red, green, blue of each level, one after the other. */
export function coloursOf(name: ColourName): Uint8ClampedArray {
  const known = tables.get(name);
  if (known) return known;
  const table = spread(stops[name].map(parse));
  tables.set(name, table);
  return table;
}

/** Return the colours as whole pixels, in the order of bytes that this machine has. */
export function packedColours(name: ColourName): Uint32Array {
  const table = coloursOf(name);
  const bytes = Uint8ClampedArray.from({ length: 4 * LEVELS }, (_, i) =>
    i % 4 === 3 ? 255 : (table[3 * (i >> 2) + (i % 4)] as number),
  );
  return new Uint32Array(bytes.buffer);
}

/** Return the level of a value on a scale; a scale without width is in the middle. */
export function levelOf(value: number, [low, high]: readonly [number, number]): number {
  if (high <= low) return LEVELS / 2;
  return Math.min(LEVELS - 1, Math.max(0, Math.floor(((value - low) / (high - low)) * LEVELS)));
}

/** A gradient for legends. */
export function gradientOf(name: ColourName): string {
  return `linear-gradient(to right, ${stops[name].map((stop) => `#${stop}`).join(", ")})`;
}

function parse(hex: string): readonly number[] {
  return [0, 2, 4].map((at) => Number.parseInt(hex.slice(at, at + 2), 16));
}

function spread(colours: readonly (readonly number[])[]): Uint8ClampedArray {
  const table = new Uint8ClampedArray(3 * LEVELS);
  for (let level = 0; level < LEVELS; level += 1) {
    const place = (level / (LEVELS - 1)) * (colours.length - 1);
    const lower = Math.min(Math.floor(place), colours.length - 2);
    for (let channel = 0; channel < 3; channel += 1) {
      const a = colours[lower]?.[channel] ?? 0;
      const b = colours[lower + 1]?.[channel] ?? 0;
      table[3 * level + channel] = Math.round(a + (b - a) * (place - lower));
    }
  }
  return table;
}
