/** Fields of the image page: which map, which pixels of it, how it looks. */
import type { Choice, StudyInfo } from "../../api/client";
import { Checkbox, Segmented, Select, Slider, Tip, type Choosable } from "../../components";
import { ChoiceFields } from "../../components/choice_fields";
import { massShare, type Ties } from "../../numeric";
import { COLOUR_NAMES } from "../../viewer";
import { change, COLOURS_OPEN, PERCENTILE, type PageState, type ScaleName } from "./state";

interface MapFieldsProps {
  study: StudyInfo;
  state: PageState;
  choice: Choice | undefined;
}

/** Model, method, layer, head, target. */
export function MapFields({ study, state, choice }: MapFieldsProps) {
  return (
    <div className="fields">
      <ChoiceFields
        study={study}
        asked={state.asked}
        choice={choice}
        onChange={(changes) => change({ ...changes }, true)}
      />
    </div>
  );
}

const RULES: readonly Choosable[] = [
  { value: "percentile", label: "Percentile" },
  { value: "mass", label: "Mass" },
  { value: "mean", label: "Above the mean" },
  { value: "matched", label: "As many as annotated" },
];

const TIES_TEXT =
  "Of equal pixels at the threshold, each takes an equal share, so that the area is exact; or all are taken, as map ≥ threshold does.";

interface RuleFieldsProps {
  study: StudyInfo;
  state: Pick<PageState, "rule">;
  /** Whether values below zero count as such: such a map has no energy, so neither mass nor mean. */
  signed: boolean;
}

/** By which rule pixels count as attended to, and where it cuts. */
export function RuleFields({ study, state, signed }: RuleFieldsProps) {
  const { selection, percentile, ties } = state.rule;
  const kind = selection.startsWith("mass") ? "mass" : selection;
  const usual = study.default;
  const choose = (word: string) => {
    const next = word === "mass" ? "mass60" : word;
    change({ selection: next === usual?.selection ? null : next }, true);
  };
  return (
    <div className="rule-fields">
      {kind === "percentile" && (
        <Slider
          label="Percentile"
          value={percentile}
          min={PERCENTILE.least}
          max={PERCENTILE.most}
          step={0.1}
          stops={study.percentiles}
          typed
          onChange={(value) => change({ percentile: value })}
        />
      )}
      {kind === "mass" && (
        <Slider
          label="Share of the energy, %"
          value={Math.round(massShare(selection) * 1000) / 10}
          min={1}
          max={100}
          typed
          onChange={(value) => change({ selection: `mass${value}` })}
        />
      )}
      <div className="fields">
        <Select label="Rule" value={kind} options={RULES.map((rule) => ({ ...rule, disabled: signed && ["mass", "mean"].includes(rule.value) }))} onChange={choose} />
        <Select<Ties>
          label={<Tip text={TIES_TEXT}>Ties</Tip>}
          value={ties}
          options={[
            { value: "share", label: "shared" },
            { value: "include", label: "all taken" },
          ]}
          onChange={(value) => change({ ties: value === (usual?.ties ?? "share") ? null : value }, true)}
        />
      </div>
    </div>
  );
}

const COLOUR_OPTIONS: readonly Choosable[] = [
  { value: COLOURS_OPEN, label: "automatic" },
  ...COLOUR_NAMES.map((name) => ({ value: name, label: name === "rdbu" ? "blue–red" : name })),
];

/** How the map lies over the image; `fixed`: whether a scale for all images is known. */
export function LookFields({ state, fixed }: { state: PageState; fixed: boolean }) {
  return (
    <div className="fields image-look-fields">
      <Slider
        label="Opacity"
        value={Math.round(state.opacity * 100)}
        min={0}
        max={100}
        text={`${Math.round(state.opacity * 100)}%`}
        onChange={(value) => change({ opacity: value / 100 })}
      />
      <Select
        label="Colours"
        value={state.colours}
        options={COLOUR_OPTIONS}
        onChange={(value) => change({ colours: value === COLOURS_OPEN ? null : value })}
      />
      <Segmented
        label="Raster"
        value={state.smooth ? "smooth" : "cells"}
        options={[
          { value: "smooth", label: "Smooth" },
          { value: "cells", label: "Cells" },
        ]}
        onChange={(value) => change({ cells: value === "cells" ? 1 : null })}
      />
      <Segmented<ScaleName>
        label="Scale"
        value={fixed ? state.scale : "image"}
        options={[
          { value: "image", label: "This image" },
          { value: "fixed", label: "Fixed", disabled: !fixed },
        ]}
        onChange={(value) => change({ scale: value === "image" ? null : value })}
      />
      <Checkbox label="Selected pixels" checked={state.outline} onChange={(on) => change({ outline: on ? null : 0 })} />
      <Checkbox label="Regions" checked={state.regions} onChange={(on) => change({ regions: on ? null : 0 })} />
    </div>
  );
}
