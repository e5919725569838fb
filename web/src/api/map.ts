/** Maps in the API's compact binary form: header, values, then a mask for each region. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";

import { bytesOf, type Query, urlOf } from "./ask";
import type { MapHeader, SimilarityAsked } from "./client";
import type { Result } from "./queries";

export interface DecodedMap {
  header: MapHeader;
  rows: number;
  columns: number;
  /** Row by row, raw, with their signs. */
  values: Float32Array;
  /** By index of the region: a byte for each pixel, 1 inside. */
  regions: ReadonlyMap<number, Uint8Array>;
  /** 1: the pixel does not count; null: all do. */
  ignore: Uint8Array | null;
}

/** Bytes that are no map. */
export class MapFormatError extends Error {
  override name = "MapFormatError";
}

const MAGIC = "SLM1";
const HEADER_AT = 8;

/** Read the bytes of `/api/maps/{id}`. */
export function decodeMap(bytes: ArrayBuffer): DecodedMap {
  const header = readHeader(bytes);
  const pixels = header.rows * header.columns;
  const start = HEADER_AT + new DataView(bytes).getUint32(4, true);
  const maskBytes = Math.ceil(pixels / 8);
  const masks = header.regions.length + (header.ignore ? 1 : 0);
  const wanted = start + 4 * pixels + masks * maskBytes;
  if (bytes.byteLength !== wanted) {
    throw new MapFormatError(`a map of ${wanted} bytes was announced, ${bytes.byteLength} came`);
  }
  const mask = (i: number) => unpack(new Uint8Array(bytes, start + 4 * pixels + i * maskBytes, maskBytes), pixels);
  return {
    header,
    rows: header.rows,
    columns: header.columns,
    values: readFloats(bytes, start, pixels),
    regions: new Map(header.regions.map((index, i) => [index, mask(i)])),
    ignore: header.ignore ? mask(header.regions.length) : null,
  };
}

function readHeader(bytes: ArrayBuffer): MapHeader {
  const magic = bytes.byteLength < HEADER_AT ? "" : new TextDecoder().decode(new Uint8Array(bytes, 0, 4));
  if (magic !== MAGIC) throw new MapFormatError(`expected bytes that begin with ${MAGIC}, saw "${magic}"`);
  const length = new DataView(bytes).getUint32(4, true);
  const text = new TextDecoder().decode(new Uint8Array(bytes, HEADER_AT, length));
  return JSON.parse(text) as MapHeader;
}

/** Values are little endian, whatever the machine is. */
function readFloats(bytes: ArrayBuffer, start: number, count: number): Float32Array {
  const view = new DataView(bytes, start, 4 * count);
  const values = new Float32Array(count);
  for (let i = 0; i < count; i += 1) values[i] = view.getFloat32(4 * i, true);
  return values;
}

/** One byte for each bit, the most significant first. */
function unpack(packed: Uint8Array, count: number): Uint8Array {
  const mask = new Uint8Array(count);
  for (let i = 0; i < count; i += 1) mask[i] = ((packed[i >> 3] as number) >> (7 - (i & 7))) & 1;
  return mask;
}

/** Where the map of an image is; a rule does not change it, so it is left out of the address. */
export function mapUrl(image: string, words: Query): string {
  const { percentile: _, selection: __, ties: ___, metric: ____, ...which } = words;
  return urlOf(`/api/maps/${encodeURIComponent(image)}`, which);
}

/** How a map is asked for, for queries and for fetching it ahead. */
export function mapQuery(url: string) {
  return {
    queryKey: ["map", url],
    queryFn: async ({ signal }: { signal: AbortSignal }) => decodeMap(await bytesOf(url, { signal })),
    // A map takes some hundred kilobytes: those not looked at are let go early.
    gcTime: 60_000,
  };
}

/** The map of an image; the one before stays while the next comes. `words` null: not asked. */
export function useMap(image: string, words: Query | null): Result<DecodedMap> {
  return useQuery({
    ...mapQuery(mapUrl(image, words ?? {})),
    enabled: words !== null,
    placeholderData: keepPreviousData,
  });
}

/** How alike all patches are to a region or a box. */
export function useSimilarity(image: string, asked: Partial<SimilarityAsked> | null): Result<DecodedMap> {
  const url = `/api/similarity/${encodeURIComponent(image)}`;
  return useQuery({
    queryKey: ["similarity", url, asked],
    queryFn: async ({ signal }) => decodeMap(await bytesOf(url, { method: "POST", body: asked, signal })),
    enabled: asked !== null,
    placeholderData: keepPreviousData,
    gcTime: 60_000,
  });
}
