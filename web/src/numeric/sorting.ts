import type { Inside, Sign, Sorted } from "./types";

/** Values have 32 bits; they are sorted by so many of them at a time. */
const DIGIT_BITS = 11;
const DIGITS = 3;
const BUCKETS = 2 ** DIGIT_BITS;

/** Return a value as the sign rule reads it; −0 becomes 0, which it equals. */
export function readValue(value: number, sign: Sign): number {
  if (sign === "absolute") return Math.abs(value);
  return sign === "positive" && !(value > 0) ? 0 : value + 0;
}

/** Return all values of a map as the sign rule reads them. */
export function readValues(values: Float32Array, sign: Sign): Float32Array {
  return values.map((value) => readValue(value, sign));
}

/** Sort the pixels of a map that count, once for every threshold that follows. */
export function sortMap(raw: Float32Array, sign: Sign, ignore: Uint8Array | null = null): Sorted {
  const read = readValues(raw, sign);
  const order = sortedPlaces(read, keptPlaces(read.length, ignore));
  const values = new Float64Array(order.length);
  let energy = 0;
  for (let i = 0; i < order.length; i += 1) {
    const value = read[order[i] as number] as number;
    values[i] = value;
    energy += value;
  }
  return {
    pixels: read.length,
    kept: order.length,
    values,
    order,
    energy: sign === "signed" ? NaN : energy,
    sign,
  };
}

/** Count an annotation along the sorted pixels; a mask has a byte for each pixel of the raster. */
export function insideOf(sorted: Sorted, mask: Uint8Array): Inside {
  const upTo = new Uint32Array(sorted.kept + 1);
  let count = 0;
  let energy = 0;
  for (let i = 0; i < sorted.kept; i += 1) {
    if (mask[sorted.order[i] as number]) {
      count += 1;
      energy += sorted.values[i] as number;
    }
    upTo[i + 1] = count;
  }
  return { upTo, count, energy };
}

/** Return the union of masks, of a given length where there are none. */
export function unionOf(masks: Iterable<Uint8Array>, pixels: number): Uint8Array {
  const union = new Uint8Array(pixels);
  for (const mask of masks) for (let i = 0; i < pixels; i += 1) union[i]! |= mask[i]!;
  return union;
}

function keptPlaces(pixels: number, ignore: Uint8Array | null): Uint32Array {
  const places = new Uint32Array(pixels);
  let count = 0;
  for (let i = 0; i < pixels; i += 1) if (!ignore?.[i]) places[count++] = i;
  return places.subarray(0, count);
}

/** Sort digit by digit, which takes time in proportion to the pixels; equal values keep their order. */
function sortedPlaces(values: Float32Array, places: Uint32Array): Uint32Array {
  const bits = orderedBits(values);
  let from = places;
  let into: Uint32Array = new Uint32Array(places.length);
  for (let digit = 0; digit < DIGITS; digit += 1) {
    const shift = digit * DIGIT_BITS;
    const starts = startsOf(bits, from, shift);
    for (let i = 0; i < from.length; i += 1) {
      const place = from[i]!;
      into[starts[(bits[place]! >>> shift) & (BUCKETS - 1)]!++] = place;
    }
    [from, into] = [into, from];
  }
  return from;
}

/** Where each bucket of a digit starts. */
function startsOf(bits: Uint32Array, places: Uint32Array, shift: number): Uint32Array {
  const counts = new Uint32Array(BUCKETS);
  for (let i = 0; i < places.length; i += 1) counts[(bits[places[i]!]! >>> shift) & (BUCKETS - 1)]! += 1;
  let before = 0;
  for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
    const count = counts[bucket]!;
    counts[bucket] = before;
    before += count;
  }
  return counts;
}

/** Return bits that order as integers like the floats whose bits they are. */
function orderedBits(values: Float32Array): Uint32Array {
  const bits = new Uint32Array(values.buffer, values.byteOffset, values.length);
  return bits.map((one) => (one >= 0x8000_0000 ? ~one : one | 0x8000_0000));
}
