/** One image: its map, its figures, its layers and percentiles, other maps of it. */
import { useMemo, useState } from "react";

import type { ImageDetail, StudyInfo } from "../../api/client";
import { ErrorNote, Page, Panel } from "../../components";
import { TagBar } from "../../components/tag_bar";
import { isScored } from "../../viewer";
import { useAnswers } from "./answers";
import { usePageKeys } from "./commands";
import { MapFields, RuleFields } from "./fields";
import { Figures } from "./figures";
import { Lead, Tools } from "./head";
import { LayerChart, LayerStrip, usePlay } from "./layers";
import { useNeighbours } from "./neighbours";
import { Heads, Models } from "./others";
import { Percentiles } from "./percentiles";
import { Regions } from "./regions";
import { useScored } from "./scored";
import { Stage } from "./stage";
import { layerNote, missedText, usePageState } from "./state";

interface BodyProps {
  study: StudyInfo;
  detail: ImageDetail;
}

export function Body({ study, detail }: BodyProps) {
  const image = detail.image;
  const state = usePageState(study);
  const [playing, setPlaying] = useState(false);
  const [drawing, setDrawing] = useState(false);
  const neighbours = useNeighbours(study.name, image);
  const baselines = useMemo(() => new Set(study.methods.filter((one) => one.group === "baseline").map((one) => one.name)), [study]);

  const found = detail.regions.find((one) => one.index === state.region);
  const region = found && isScored(found) ? found : null;
  const chosen = region?.index ?? null;
  const answers = useAnswers(image, study, state, chosen);
  const { map, choice, layers } = answers;
  const scored = useScored(map.data, chosen, state.rule);
  usePlay({ image, choice, layers, playing, ready: !map.isPlaceholderData && !map.isFetching });
  usePageKeys({ state, detail, layer: choice?.layer ?? null, layers, playing, onPlay: setPlaying, neighbours });

  return (
    <Page
      title={image}
      wide
      lead={<Lead detail={detail} choice={choice} />}
      tools={<Tools detail={detail} choice={choice} region={chosen} neighbours={neighbours} />}
    >
      <div className="image-page">
        <div className="image-left">
          {answers.problem && <ErrorNote error={answers.problem} retry={answers.retry} />}
          <Stage
            detail={detail}
            state={state}
            shown={answers.shown}
            outline={scored?.outline ?? null}
            chosen={chosen}
            drawing={drawing}
            onDrawn={() => setDrawing(false)}
            waiting={map.isLoading ? "Loading the map" : answers.comparing ? "Comparing patches" : ""}
          />
          <Regions detail={detail} state={state} chosen={chosen} model={answers.model} drawing={drawing} onDrawing={setDrawing} />
          <Panel title="Tags" className="image-tags">
            <TagBar study={study.name} image={image} id="image-tags" />
          </Panel>
        </div>
        <div className="image-right">
          <Panel title="Map" note={[answers.layered ? layerNote(state.layerWord) : "", choice?.why].filter(Boolean).join("; ")} className="image-map">
            <MapFields study={study} state={state} choice={choice} />
          </Panel>
          <Panel title="Threshold" className="image-rule">
            <RuleFields study={study} state={state} signed={choice?.sign === "signed"} />
          </Panel>
          <Figures
            image={image}
            region={region}
            missed={state.region !== null && region === null ? missedText(state.region, found) : ""}
            rule={state.rule}
            scores={scored?.scores ?? null}
            answer={answers.metrics}
            current={answers.current}
          />
        </div>
        <div className="image-below">
          {choice && answers.layered && (
            <>
              <LayerStrip image={image} choice={choice} layers={layers} answer={answers.byLayer} playing={playing} onPlay={setPlaying} />
              <LayerChart image={image} answer={answers.byLayer} layer={choice.layer} />
            </>
          )}
          {scored && <Percentiles image={image} scored={scored} rule={state.rule} />}
          {choice && <Models image={image} answer={answers.byModel} choice={choice} baselines={baselines} />}
          {choice && answers.heads && <Heads image={image} answer={answers.byHead} choice={choice} />}
        </div>
      </div>
    </Page>
  );
}
