/** Keys of the image page. */
import type { ImageDetail } from "../../api/client";
import { useKeys } from "../../keys";
import { go } from "../../url";
import { COLOUR_NAMES, isScored } from "../../viewer";
import type { Neighbours } from "./neighbours";
import { change, chooseRegion, COLOURS_OPEN, PERCENTILE, percentileWords, type PageState } from "./state";

interface Commands {
  state: PageState;
  detail: ImageDetail;
  layer: number | null;
  /** Those of which maps are stored. */
  layers: readonly number[];
  playing: boolean;
  onPlay: (on: boolean) => void;
  neighbours: Neighbours;
}

export function usePageKeys({ state, detail, layer, layers, playing, onPlay, neighbours }: Commands): void {
  const percentile = (by: number) => {
    const next = Math.min(PERCENTILE.most, Math.max(PERCENTILE.least, state.rule.percentile + by));
    change(percentileWords(Number(next.toFixed(4)), state.rule));
  };
  const opacity = (by: number) => change({ opacity: Math.min(1, Math.max(0, Math.round((state.opacity + by) * 100) / 100)) });
  const step = (by: number) => {
    const place = Math.min(layers.length - 1, Math.max(0, layers.indexOf(layer ?? -1) + by));
    if (layers.length > 0) change({ layer: layers[place] });
  };
  const open = (image: string | null) => {
    if (image !== null) go(neighbours.link(image));
  };
  const region = (by: number) => chooseRegion(nextRegion(detail, state.region, by));
  const colours = [COLOURS_OPEN, ...COLOUR_NAMES] as const;
  const flag = (name: string, on: boolean) => change({ [name]: on ? null : 0 });
  useKeys("Image", [
    { keys: ["."], label: "percentile up", run: () => percentile(1) },
    { keys: [","], label: "percentile down", run: () => percentile(-1) },
    { keys: ["]"], label: "next layer", run: () => step(1) },
    { keys: ["["], label: "previous layer", run: () => step(-1) },
    { keys: ["p"], label: "play the layers", run: () => layers.length > 1 && onPlay(!playing) },
    { keys: ["n"], label: "next region", run: () => region(1) },
    { keys: ["b"], label: "region before", run: () => region(-1) },
    { keys: ["Escape"], label: "all regions together", run: () => chooseRegion(null) },
    { keys: ["m"], label: "map or similarity", run: () => change({ mode: state.mode === "map" ? "similarity" : null }, true) },
    { keys: ["o"], label: "map more opaque", run: () => opacity(0.1) },
    { keys: ["O"], label: "map less opaque", run: () => opacity(-0.1) },
    { keys: ["c"], label: "next colours", run: () => change({ colours: colours[(colours.indexOf(state.colours) + 1) % colours.length] }) },
    { keys: ["s"], label: "smooth or cells", run: () => change({ cells: state.smooth ? 1 : null }) },
    { keys: ["f"], label: "scale of the image or fixed", run: () => change({ scale: state.scale === "image" ? "fixed" : null }) },
    { keys: ["x"], label: "selected pixels on or off", run: () => flag("outline", !state.outline) },
    { keys: ["r"], label: "regions on or off", run: () => flag("regions", !state.regions) },
    { keys: ["j"], label: "next image", run: () => open(neighbours.after) },
    { keys: ["k"], label: "previous image", run: () => open(neighbours.before) },
  ]);
}

/** The scored region after or before the chosen one; after the last comes "all together". */
export function nextRegion(detail: Pick<ImageDetail, "regions">, chosen: number | null, by: number): number | null {
  const scored = detail.regions.filter(isScored);
  const stops = [null, ...scored.map((region) => region.index)];
  return stops[(stops.indexOf(chosen) + by + stops.length) % stops.length] ?? null;
}
