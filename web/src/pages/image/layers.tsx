/** All layers of the model on this image: a strip of maps that can be played, and a chart. */
import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";

import type { Choice, ImageLayers } from "../../api/client";
import { mapQuery, mapUrl } from "../../api/map";
import { heatmapUrl, type Result } from "../../api/queries";
import { LineChart, lineData, LoadedChart, type LineSeries } from "../../charts";
import { Panel } from "../../components";
import { score } from "../../format";
import { change, exactWords } from "./state";

interface PlayProps {
  image: string;
  choice: Choice | undefined;
  layers: readonly number[];
  playing: boolean;
  /** Whether the map of the chosen layer is on the screen. */
  ready: boolean;
}

interface LayerStripProps {
  image: string;
  choice: Choice;
  layers: readonly number[];
  answer: Result<ImageLayers>;
  playing: boolean;
  onPlay: (on: boolean) => void;
}

const STEP_MS = 700;
const THUMBNAIL = 96;

const showLayer = (layer: number): void => change({ layer });

/** Go on to the next layer once this one has been seen; the last is followed by the first. */
export function usePlay({ image, choice, layers, playing, ready }: PlayProps): void {
  const client = useQueryClient();
  const next = layers[(layers.indexOf(choice?.layer ?? -1) + 1) % layers.length];
  const url = choice && next !== undefined ? mapUrl(image, { ...exactWords(choice), layer: next }) : "";
  useEffect(() => {
    if (!playing || next === undefined || url === "") return undefined;
    void client.prefetchQuery(mapQuery(url));
    if (!ready) return undefined;
    const timer = setTimeout(() => showLayer(next), STEP_MS);
    return () => clearTimeout(timer);
  }, [client, playing, ready, next, url]);
}

/** The layers of which maps are stored: a study need not have asked for all of them. */
export function layersOf(answer: Result<ImageLayers>, choice: Choice | undefined): number[] {
  const about = answer.data?.choice;
  if (about?.model !== choice?.model || about?.method !== choice?.method) return [];
  return answer.data?.points.map((point) => point.x) ?? [];
}

export function LayerStrip({ image, choice, layers, answer, playing, onPlay }: LayerStripProps) {
  const values = new Map(answer.data?.points.map((point) => [point.x, point.value]));
  const play = (
    <button type="button" className="button" aria-pressed={playing} disabled={layers.length < 2} onClick={() => onPlay(!playing)}>
      {playing ? "❚❚ Pause" : "▶ Play"}
    </button>
  );
  return (
    <Panel title="Layers" tools={play} className="image-layer-strip">
      <ol aria-label="Layers">
        {layers.map((layer) => (
          <li key={layer}>
            <button
              type="button"
              aria-current={layer === choice.layer ? "true" : undefined}
              aria-label={`Layer ${layer}${values.has(layer) ? `, ${answer.data?.metric} ${score(values.get(layer))}` : ""}`}
              onClick={() => change({ layer }, true)}
            >
              <img
                src={heatmapUrl(image, { ...exactWords(choice), layer, size: THUMBNAIL })}
                alt=""
                width={56}
                height={56}
                loading="lazy"
              />
              <span>{layer}</span>
              <small>{values.has(layer) ? score(values.get(layer), 2) : "\u00a0"}</small>
            </button>
          </li>
        ))}
      </ol>
    </Panel>
  );
}

interface LayerChartProps {
  image: string;
  answer: Result<ImageLayers>;
  layer: number | null;
}

export function LayerChart({ image, answer, layer }: LayerChartProps) {
  return (
    <LoadedChart
      title="Over the layers"
      name={`${image}-layers`}
      of={answer}
      data={(layers) => lineData([seriesOf(layers)], "layer")}
      note={answer.data?.note}
    >
      {(layers) => (
        <LineChart
          label={`${layers.metric} of ${image} over the layers`}
          series={[seriesOf(layers)]}
          xLabel="layer"
          yLabel={layers.metric}
          xTicks={layers.points.map((point) => point.x)}
          include={[0]}
          chance={layers.points.map((point) => ({ x: point.x, y: point.chance }))}
          ceiling={layers.points.map((point) => ({ x: point.x, y: point.ceiling }))}
          current={layer}
          onPick={(x) => change({ layer: x }, true)}
          height={220}
        />
      )}
    </LoadedChart>
  );
}

function seriesOf({ metric, points }: ImageLayers): LineSeries {
  return { key: metric, name: metric, points: points.map((point) => ({ ...point, y: point.value })) };
}
