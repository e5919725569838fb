import type { MapPlace } from "../api/client";

/** What part of the image a pane shows. */
export interface View {
  /** Point of the image, as shares, in the middle of the pane. */
  x: number;
  y: number;
  /** 1: the whole image fits. */
  zoom: number;
}

/** A point of the image, as shares of its width and height. */
export interface Spot {
  x: number;
  y: number;
}

/** x0, y0, x1, y1 as shares of the image. */
export type Box = readonly [number, number, number, number];

export type ColourName = "inferno" | "viridis" | "cividis" | "greys" | "rdbu";

export interface Look {
  /** Of the map, 0 to 1. */
  opacity: number;
  colours: ColourName;
  /** False: cell by cell. */
  smooth: boolean;
  /** Values that get the first and the last colour. */
  scale: readonly [number, number];
}

/** A raster of values as it is drawn. */
export interface Drawn {
  /** After the sign rule. */
  values: ArrayLike<number>;
  rows: number;
  columns: number;
  place: MapPlace;
  /** Rows and columns of the model's own grid, and where it lies on the image. */
  cells?: readonly [number, number];
  cellsPlace?: MapPlace;
  /** 1: not drawn. */
  ignore?: Uint8Array | null;
}

/** Selected pixels, by weight, that are outlined. */
export interface Outline {
  weights: Float32Array;
  rows: number;
  columns: number;
  place: MapPlace;
}
