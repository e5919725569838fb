/** The annotated regions as a list: the way to each of them without a pointer. */
import type { ImageDetail, RegionInfo, StudyInfo } from "../../api/client";
import { Checkbox, Panel, Segmented } from "../../components";
import { percent } from "../../format";
import { change, chooseRegion, type Mode, type PageState } from "./state";

interface RegionsProps {
  detail: ImageDetail;
  state: PageState;
  /** Index of the region whose figures are shown. */
  chosen: number | null;
  /** The model that is shown, once known. */
  model: StudyInfo["models"][number] | undefined;
  drawing: boolean;
  onDrawing: (on: boolean) => void;
}

export function Regions({ detail, state, chosen, model, drawing, onDrawing }: RegionsProps) {
  const similar = model?.similarity ?? false;
  return (
    <Panel title={`Regions (${detail.regions.length})`} className="image-regions">
      <Segmented<Mode>
        label="Shown over the image"
        value={state.mode}
        options={[
          { value: "map", label: "Map" },
          { value: "similarity", label: "Similarity to a region", disabled: !similar && state.mode !== "similarity" },
        ]}
        onChange={(mode) => change({ mode: mode === "map" ? null : mode }, true)}
      />
      <SimilarityNote state={state} similar={similar} model={model?.name} />
      {similar && <Checkbox label="Draw a box to compare with (or Shift and drag)" checked={drawing} onChange={onDrawing} />}
      {detail.regions.length === 0 ? (
        <p className="soft">Nobody annotated a region on this image; scores are undefined.</p>
      ) : (
        <ul className="image-region-list" aria-label="Annotated regions">
          {detail.regions.map((region) => (
            <li key={region.index}>
              <RegionButton region={region} chosen={region.index === chosen} />
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

interface RegionButtonProps {
  region: RegionInfo;
  chosen: boolean;
}

/** Pressing it again shows all regions together. */
function RegionButton({ region, chosen }: RegionButtonProps) {
  const why = region.ignore ? "ignored: its pixels do not count" : region.dropped;
  return (
    <button
      type="button"
      aria-pressed={chosen}
      disabled={why !== ""}
      title={why !== "" ? `Not scored: ${why}` : region.ancestors.join(" › ")}
      onClick={() => chooseRegion(chosen ? null : region.index)}
    >
      <span>{region.label}</span> <small>{why !== "" ? "not scored" : percent(region.area, 1)}</small>
    </button>
  );
}

function SimilarityNote({ state, similar, model }: { state: PageState; similar: boolean; model: string | undefined }) {
  if (!similar) return <p className="note">{model ?? "This model"} cannot be asked how alike patches are.</p>;
  if (state.mode === "map") return null;
  if (state.region === null && state.box === null) {
    return <p className="note">Choose a region, or draw a box, to see which patches look alike to the model.</p>;
  }
  const what = state.box ? "the box that you drew" : "the chosen region";
  return (
    <p className="note">
      Cosine of each patch’s feature with the mean feature of {what}: red is alike, blue is opposite. The figures are
      still those of the map.
    </p>
  );
}
