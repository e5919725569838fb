/** The picture with its map, what is under the pointer, and how it looks. */
import { useMemo, useRef, useState } from "react";

import type { ImageDetail } from "../../api/client";
import type { DecodedMap } from "../../api/map";
import { fileUrl, heatmapUrl, overlayUrl } from "../../api/queries";
import { ExportMenu, Spinner } from "../../components";
import type { DataSet } from "../../export";
import { short } from "../../format";
import {
  cellsOf,
  ColourBar,
  drawnOf,
  peakOf,
  pixelAt,
  rangeOf,
  regionAt,
  svgFile,
  valueAt,
  Viewer,
  type Drawn,
  type Look,
  type Outline,
  type Spot,
  type ViewerHandle,
} from "../../viewer";
import { LookFields } from "./fields";
import { boxWords, change, chooseRegion, COLOURS_OPEN, exactWords, showView, type PageState } from "./state";

interface StageProps {
  detail: ImageDetail;
  state: PageState;
  /** What is drawn: the map, or the similarity to a region. */
  shown: DecodedMap | undefined;
  outline: Outline | null;
  /** Index of the region whose figures are shown. */
  chosen: number | null;
  drawing: boolean;
  onDrawn: () => void;
  /** What is on its way; empty: nothing. */
  waiting: string;
}

export function Stage({ detail, state, shown, outline, chosen, drawing, onDrawn, waiting }: StageProps) {
  const [cursor, setCursor] = useState<Spot | null>(null);
  const viewer = useRef<ViewerHandle>(null);
  const drawn = useMemo(() => shown && drawnOf(shown), [shown]);
  const peak = useMemo(() => drawn && peakOf(drawn), [drawn]);
  const look = lookOf(state, shown, drawn);
  const similarity = shown !== undefined && isSimilarity(shown);
  const value = drawn && cursor ? valueAt(drawn, cursor) : null;
  const size: [number, number] = [detail.width ?? shown?.columns ?? 1, detail.height ?? shown?.rows ?? 1];
  const onBox = (box: readonly [number, number, number, number]) => {
    change({ box: boxWords(box), region: null, mode: "similarity" }, true);
    onDrawn();
  };
  return (
    <div className="image-stage">
      <Viewer
        ref={viewer}
        label={stageLabel(detail, shown)}
        image={fileUrl(detail.image)}
        size={size}
        map={drawn ?? null}
        look={look}
        view={state.view}
        onView={showView}
        cursor={cursor}
        onCursor={setCursor}
        regions={state.regions ? detail.regions : []}
        chosen={chosen}
        onRegion={chooseRegion}
        outline={state.outline && !similarity ? outline : null}
        peak={state.outline && !similarity ? (peak ?? null) : null}
        box={state.box}
        onBox={onBox}
        drawing={drawing}
        testid="stage"
      >
        {waiting !== "" && (
          <div className="image-waiting">
            <Spinner label={waiting} />
          </div>
        )}
      </Viewer>
      <div className="image-stage-foot">
        <ColourBar look={look} value={value} />
        <Reading drawn={drawn} cursor={cursor} outline={similarity ? null : outline} detail={detail} smooth={state.smooth} />
      </div>
      <LookFields state={state} fixed={shown !== undefined && (isSimilarity(shown) || shown.header.dataset_high !== null)} />
      <div className="image-stage-tools">
        <p className="note">
          Click a region to see its figures. Scroll, pinch or press + to zoom, drag to move.
        </p>
        {shown && drawn && (
          <ExportMenu
            name={`${detail.image}-${shown.header.choice.method}`}
            label="Export picture"
            canvas={() => viewer.current?.canvas() ?? null}
            drawing={() => drawingOf(viewer.current)}
            data={() => valuesOf(drawn, similarity ? null : outline)}
            links={similarity ? [] : pictureLinks(detail.image, shown)}
          />
        )}
      </div>
    </div>
  );
}

function lookOf(state: PageState, shown: DecodedMap | undefined, drawn: Drawn | undefined): Look {
  const signed = shown?.header.choice.sign === "signed";
  return {
    opacity: state.opacity,
    smooth: state.smooth,
    colours: state.colours === COLOURS_OPEN ? (signed ? "rdbu" : "inferno") : state.colours,
    scale: drawn && shown ? scaleOf(state, shown, drawn) : [0, 1],
  };
}

/** Cosines lie between −1 and 1 on every image; maps have the range of the data set. */
function scaleOf(state: PageState, shown: DecodedMap, drawn: Drawn): readonly [number, number] {
  if (state.scale === "fixed" && isSimilarity(shown)) return [-1, 1];
  return rangeOf(drawn, state.scale === "fixed" ? "dataset" : "image", shown.header);
}

function isSimilarity({ header }: DecodedMap): boolean {
  return header.choice.method === "similarity";
}

function stageLabel(detail: ImageDetail, shown: DecodedMap | undefined): string {
  if (!shown) return `${detail.image}, its map is loading`;
  const { model, method, layer, head } = shown.header.choice;
  const parts = [model, method, layer === null ? "" : `layer ${layer}`, head === null ? "" : `head ${head}`];
  return `Map over ${detail.image}: ${parts.filter((part) => part !== "").join(", ")}`;
}

interface ReadingProps {
  drawn: Drawn | undefined;
  cursor: Spot | null;
  outline: Outline | null;
  detail: ImageDetail;
  /** False: cells are drawn, whose value is told, too. */
  smooth: boolean;
}

/** The value under the pointer or the cross-hair, in words. */
function Reading({ drawn, cursor, outline, detail, smooth }: ReadingProps) {
  const cells = useMemo(() => (drawn && !smooth ? cellsOf(drawn) : null), [drawn, smooth]);
  const cell = cells && cells !== drawn && cursor ? valueAt(cells, cursor) : null;
  return (
    <p className="image-reading" role="status" data-testid="reading">
      {drawn && cursor ? readingOf(drawn, cursor, outline, detail, cell) : "Point at the image to read values."}
    </p>
  );
}

function readingOf(drawn: Drawn, cursor: Spot, outline: Outline | null, detail: ImageDetail, cell: number | null): string {
  const value = valueAt(drawn, cursor);
  if (value === null) {
    const ignored = regionAt(detail.regions.filter((one) => one.ignore), cursor);
    return `no value here: ${ignored ? `pixels of ${ignored.label} do not count` : "the model did not look"}`;
  }
  const pixel = pixelAt(drawn, cursor);
  const weight = outline && pixel ? (outline.weights[pixel.row * drawn.columns + pixel.column] ?? 0) : null;
  const region = regionAt(detail.regions, cursor);
  return [
    `value ${short(Number(value.toPrecision(4)))}`,
    cell === null ? "" : `of the cell ${short(Number(cell.toPrecision(4)))}`,
    pixel ? `row ${pixel.row}, column ${pixel.column}` : "",
    weight === null ? "" : weight === 1 ? "selected" : weight > 0 ? `selected by ${short(Number(weight.toPrecision(3)))}` : "not selected",
    region ? region.label : "no region",
  ]
    .filter((part) => part !== "")
    .join(" · ");
}

function valuesOf(drawn: Drawn, outline: Outline | null): DataSet {
  const rows = Array.from({ length: drawn.values.length }, (_, i) => [
    Math.floor(i / drawn.columns),
    i % drawn.columns,
    drawn.ignore?.[i] ? null : (drawn.values[i] as number),
    outline ? outline.weights[i] : null,
  ]);
  return { columns: ["row", "column", "value", "selected"], rows };
}

function drawingOf(viewer: ViewerHandle | null): string | null {
  const picture = viewer?.svg() ?? null;
  return picture && svgFile(picture);
}

function pictureLinks(image: string, shown: DecodedMap) {
  const words = { ...exactWords(shown.header.choice) };
  return [
    { label: "Map as PNG", href: heatmapUrl(image, { ...words, size: 1024 }) },
    { label: "Map over image as PNG", href: overlayUrl(image, { ...words, size: 1024 }) },
  ];
}
