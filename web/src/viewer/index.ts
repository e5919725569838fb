export { ColourBar } from "./ColourBar";
export { COLOUR_NAMES, coloursOf, gradientOf, levelOf } from "./colours";
export { cellsOf, commonRange, drawnOf, peakOf, pixelAt, rangeOf, valueAt, zeroCentred } from "./drawn";
export { contains, isScored, regionAt } from "./regions";
export { escaped, placed, svgFile, type SvgPicture } from "./surface";
export type { Box, ColourName, Drawn, Look, Outline, Spot, View } from "./types";
export { parseView, viewWords, WHOLE } from "./view";
export { Viewer, type ViewerHandle, type ViewerProps } from "./Viewer";
