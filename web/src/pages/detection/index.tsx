/** Detection: how good boxes are, where they fail, and the images behind each number. */
import { useMemo } from "react";

import type { Detection, DetectionList } from "../../api/client";
import { useDetection, useDetectionList } from "../../api/queries";
import { Empty, Link, Loaded, Page, Select } from "../../components";
import { plural } from "../../format";
import { go, useList, useUrl } from "../../url";
import { ANY_ERROR, imagesAddress, overviewAddress, readBehind, type At } from "./address";
import { byTruths, Classes, isThere } from "./classes";
import { ConfidenceSlider, useConfidence } from "./confidence";
import { ConfusionMatrix } from "./confusion";
import { ErrorTypes, Reliability } from "./errors";
import { Evaluations, Figures } from "./figures";
import { ImagesBehind } from "./images";
import { ImageView } from "./image_view";
import { PrCurves } from "./pr_curves";
import "./detection.css";

const FIRST_CURVES = 5;

/** The classes whose curves are drawn: as asked, else those with the most objects. */
function useChosen(evaluation: Detection): [readonly string[], (name: string) => void] {
  const [asked, setAsked] = useList("classes");
  const key = asked.join("\n");
  const chosen = useMemo(
    () =>
      key
        ? key.split("\n")
        : byTruths(evaluation.classes.filter(isThere))
            .slice(0, FIRST_CURVES)
            .map(({ name }) => name),
    [evaluation, key],
  );
  // Before anything was chosen, a pick means that class alone.
  const turn = (name: string) =>
    setAsked(asked.includes(name) ? asked.filter((one) => one !== name) : [...asked, name]);
  return [chosen, turn];
}

interface Props {
  at: At;
  evaluation: Detection;
  list: DetectionList;
}

/** The evaluation as a whole; its counts are of the confidence asked for. */
function Overview({ at, evaluation, list }: Props) {
  const [chosen, turn] = useChosen(evaluation);
  const [, setConfidence] = useConfidence();
  const confidence = at.confidence ?? evaluation.confidence;
  return (
    <>
      {list.evaluations.length > 1 && <Evaluations all={list.evaluations} current={evaluation.name} />}
      <div className="detection-pair">
        <PrCurves evaluation={evaluation} chosen={chosen} />
        <Figures evaluation={evaluation} />
      </div>
      {evaluation.boxes && confidence !== null && (
        <div className="panel detection-confidence">
          <ConfidenceSlider evaluation={evaluation} value={confidence} onChange={(next) => setConfidence(next)} />
          <p className="note">Classes and the confusion matrix below follow; figures and curves are of all confidences.</p>
        </div>
      )}
      <Classes at={at} evaluation={evaluation} chosen={new Set(chosen)} onChoose={turn} />
      <ConfusionMatrix at={at} evaluation={evaluation} />
      <div className="detection-pair">
        <ErrorTypes at={at} evaluation={evaluation} />
        <Reliability evaluation={evaluation} />
      </div>
      {evaluation.note && <p className="note">{`${evaluation.note[0]!.toUpperCase()}${evaluation.note.slice(1)}.`}</p>}
    </>
  );
}

function NoBoxes({ at }: { at: At }) {
  return (
    <Empty title="This evaluation has no boxes">
      Its boxes were not stored, so that its images cannot be shown: evaluate the detections again to store them.{" "}
      <Link href={overviewAddress(at)}>To the evaluation</Link>
    </Empty>
  );
}

function Tools({ list, at, images }: { list: DetectionList; at: At; images: boolean }) {
  const names = list.evaluations.map(({ name }) => ({ value: name, label: name }));
  const choose = (name: string) => go(overviewAddress({ name, confidence: null }));
  return (
    <>
      {images && (
        <Link className="button" href={imagesAddress(at, ANY_ERROR)}>
          Images with errors
        </Link>
      )}
      {names.length > 1 && <Select label="Evaluation" value={at.name} options={names} onChange={choose} />}
    </>
  );
}

function Found({ list, name }: { list: DetectionList; name: string }) {
  const { params } = useUrl();
  const [confidence] = useConfidence();
  const at = { name, confidence };
  const image = params.get("image");
  const behind = readBehind(params);
  const whole = !image && !behind;
  const query = whole && confidence !== null ? { confidence } : {};
  const answer = useDetection(name, query, { keep: true });
  const about = list.evaluations.find((one) => one.name === name);
  const lead = about && `${name}: protocol ${about.protocol}${about.images === null ? "" : `, ${plural(about.images, "image")}`}.`;
  const draw = (evaluation: Detection) => {
    if (whole) return <Overview at={at} evaluation={evaluation} list={list} />;
    if (!evaluation.boxes) return <NoBoxes at={at} />;
    if (!image) return <ImagesBehind at={at} behind={behind ?? ANY_ERROR} />;
    return <ImageView key={`${name} ${image}`} evaluation={evaluation} image={image} behind={behind} />;
  };
  return (
    <Page title="Detection" wide lead={lead} tools={<Tools list={list} at={at} images={whole && answer.data?.boxes === true} />}>
      <Loaded of={answer} label="Reading the evaluation">
        {draw}
      </Loaded>
    </Page>
  );
}

function None() {
  return (
    <Empty title="No detections are stored">
      Evaluate some into this store: <code>sightline detect TRUTH PREDICTIONS --store STORE</code>
    </Empty>
  );
}

export default function DetectionPage() {
  const list = useDetectionList();
  const asked = useUrl().params.get("name");
  const first = list.data?.evaluations[0]?.name;
  if (!list.data || !first) {
    return (
      <Page title="Detection">
        <Loaded of={list}>{() => <None />}</Loaded>
      </Page>
    );
  }
  return <Found key={asked ?? first} list={list.data} name={asked ?? first} />;
}
