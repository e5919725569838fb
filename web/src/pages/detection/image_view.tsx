import { useMemo, useRef, useState } from "react";

import type { Detection, DetectionImage } from "../../api/client";
import { fileUrl, useDetectionImage, useDetectionImages } from "../../api/queries";
import { useSize } from "../../charts/use_size";
import { ExportMenu, Link, Loaded, Panel, Segmented, Spinner } from "../../components";
import { percent, score } from "../../format";
import { useKeys } from "../../keys";
import { go, to, useParam, useWord } from "../../url";
import { usePicture } from "../../viewer/hooks";
import { ANY_ERROR, behindWords, imageAddress, imagesAddress, tellBehind, tellKind, type Behind } from "./address";
import { inCell, shares, tellImage } from "./boxes";
import { boxData, BoxList } from "./box_list";
import { BoxPicture, type Labelling } from "./box_picture";
import { ConfidenceSlider, scoreRange, useConfidence } from "./confidence";
import { readStates, writeStates, type State } from "./states";
import { StateLegend } from "./state_legend";
import { fitInto, type Size } from "./tags";

const MOST_NEIGHBOURS = 1000;
const TALLEST = 720;
const PLAIN: Size = { width: 4, height: 3 };
const LABELLINGS = ["errors", "all", "none"] as const;

interface ViewProps {
  evaluation: Detection;
  image: string;
  behind: Behind | null;
}

/** The images before and after this one, among those it was opened from. */
function useNeighbours({ evaluation, image, behind }: ViewProps, confidence: number | null) {
  // The list stays as it was when the image was opened, however the slider moves.
  const [opened] = useState(confidence);
  const query = { ...behindWords(behind ?? ANY_ERROR), confidence: opened, limit: MOST_NEIGHBOURS };
  const items = useDetectionImages(evaluation.name, query).data?.items ?? [];
  const here = items.findIndex((item) => item.image === image);
  const at = (place: number) => (here < 0 ? undefined : items[place]?.image);
  return { before: at(here - 1), after: at(here + 1), here, total: items.length };
}

function Neighbours(props: ViewProps & { confidence: number | null }) {
  const { evaluation, behind, confidence } = props;
  const { before, after, here, total } = useNeighbours(props, confidence);
  const address = (image: string) => imageAddress({ name: evaluation.name, confidence }, image, behind);
  useKeys("Images of an evaluation", [
    { keys: ["n", "ArrowRight"], label: "next image", run: () => after && go(address(after)) },
    { keys: ["p", "ArrowLeft"], label: "previous image", run: () => before && go(address(before)) },
  ]);
  return (
    <nav className="detection-steps" aria-label="Images">
      {before && (
        <Link className="button" href={address(before)}>
          Previous
        </Link>
      )}
      {here >= 0 && (
        <span>
          {here + 1} of {total}
        </span>
      )}
      {after && (
        <Link className="button" href={address(after)}>
          Next
        </Link>
      )}
    </nav>
  );
}

function Counts({ answer }: { answer: DetectionImage }) {
  const { precision, recall } = shares(answer);
  return (
    <p className="detection-sum" aria-live="polite">
      At confidence {score(answer.confidence, 2)} and IoU {score(answer.iou, 2)}: <b>{answer.tp} TP</b>,{" "}
      <b>{answer.fp} FP</b>, <b>{answer.fn} FN</b>; precision {percent(precision)}, recall {percent(recall)}.
    </p>
  );
}

interface BoxesProps extends ViewProps {
  answer: DetectionImage;
}

function Boxes({ answer, evaluation, image, behind }: BoxesProps) {
  const [labelling, setLabelling] = useWord<Labelling>("labels", LABELLINGS, "errors");
  const [words, setWords] = useParam("show");
  const [active, setActive] = useState<number | null>(null);
  const [frame, width] = useSize<HTMLDivElement>();
  const svg = useRef<SVGSVGElement>(null);
  const { element, failed } = usePicture(fileUrl(image));
  const states = useMemo(() => new Set(readStates(words)), [words]);
  const places = answer.boxes.map((_, place) => place);
  const cell = behind?.cell;
  const marked = cell ? new Set(places.filter((place) => inCell(answer.boxes[place]!, answer.boxes, cell))) : null;
  const shape = element === null ? PLAIN : { width: element.naturalWidth, height: element.naturalHeight };
  const size = fitInto(shape, { width, height: Math.min(TALLEST, window.innerHeight * 0.8) });
  const known = active !== null && active < answer.boxes.length ? active : null;
  const turn = (next: readonly State[]) => setWords(writeStates(next));
  return (
    <div className="detection-view">
      <div className="detection-frame" ref={frame}>
        {element === null && !failed ? (
          <Spinner label="Loading the picture" />
        ) : (
          <BoxPicture
            ref={svg}
            url={failed ? null : fileUrl(image)}
            size={size}
            label={tellImage(image, answer.confidence, answer)}
            boxes={answer.boxes}
            states={states}
            labelling={labelling}
            marked={marked}
            active={known}
            onActive={setActive}
          />
        )}
        {failed && <p className="note">The store has no picture of this image: only its boxes are shown.</p>}
      </div>
      <div className="detection-side">
        <StateLegend boxes={answer.boxes} states={states} onStates={turn} />
        <div className="fields">
          <Segmented
            label="Words on the picture"
            value={labelling}
            options={[
              { value: "errors", label: "errors" },
              { value: "all", label: "all" },
              { value: "none", label: "none" },
            ]}
            onChange={(next) => setLabelling(next)}
          />
          <ExportMenu name={`${evaluation.name}-${image}`} svg={() => svg.current} data={() => boxData(answer.boxes)} />
        </div>
        {cell && marked && (
          <p className="note">
            {marked.size
              ? `Boxes that are not “${tellKind(cell)}” are drawn faintly.`
              : `At this confidence nothing here is “${tellKind(cell)}”.`}
          </p>
        )}
        <BoxList
          boxes={answer.boxes}
          places={places.filter((place) => states.has(answer.boxes[place]!.state))}
          active={known}
          onActive={setActive}
        />
      </div>
    </div>
  );
}

/** One image: what is there, what was predicted, and which of it is right. Give it its image as key. */
export function ImageView(props: ViewProps) {
  const { evaluation, image, behind } = props;
  const [asked, setAsked] = useConfidence();
  const answer = useDetectionImage(evaluation.name, image, asked === null ? {} : { confidence: asked }, { keep: true });
  const confidence = asked ?? answer.data?.confidence ?? evaluation.confidence ?? 0;
  const [low, high] = scoreRange(evaluation);
  const set = (next: number) => {
    const kept = Number(Math.min(high, Math.max(low, next)).toFixed(2));
    setAsked(kept === evaluation.confidence ? null : kept);
  };
  useKeys("Images of an evaluation", [
    { keys: ["+", "="], label: "raise the confidence", run: () => set(confidence + 0.05) },
    { keys: ["-"], label: "lower the confidence", run: () => set(confidence - 0.05) },
  ]);
  return (
    <Panel
      title={image}
      tools={
        <>
          <Neighbours {...props} confidence={asked} />
          <Link className="button" href={imagesAddress({ name: evaluation.name, confidence: asked }, behind ?? ANY_ERROR)}>
            {tellBehind(behind ?? ANY_ERROR)}
          </Link>
          <Link className="button" href={to.image(image)}>
            Maps of this image
          </Link>
        </>
      }
    >
      <ConfidenceSlider evaluation={evaluation} value={confidence} onChange={set} />
      <Loaded of={answer} label="Matching boxes">
        {(found) => (
          <>
            <Counts answer={found} />
            <Boxes {...props} answer={found} />
          </>
        )}
      </Loaded>
    </Panel>
  );
}
