/** What the panes show together: in which way, by which rule, in which look. */
import type { StudyInfo } from "../../api/client";
import { Checkbox, Segmented, Select, Slider } from "../../components";
import { useKeys } from "../../keys";
import { setParams } from "../../url";
import { COLOUR_NAMES } from "../../viewer";
import { RuleFields } from "../image/fields";
import { PERCENTILE, percentileWords } from "../image/state";
import type { Unit } from "./difference";
import { letterOf } from "./pane";
import { ImagePicker } from "./picker";
import { MODES, setPanes, type Compared, type Mode } from "./state";
import { BYS, LEAST_PANES, PANES, panesBy, type By, type Pane } from "./words";

const MODE_NAMES: Readonly<Record<Mode, string>> = { side: "Side by side", swipe: "Swipe", difference: "Difference" };
const BY_NAMES: Readonly<Record<By, string>> = { models: "Models", variants: "Variants", methods: "Methods", layers: "Layers" };

interface ControlsProps {
  readonly study: StudyInfo;
  readonly compared: Compared;
  readonly image: string;
  /** In which unit differences are, where it is left open. */
  readonly unit: Unit;
  /** Whether a map is signed: such maps have no energy, and colours around zero. */
  readonly signed: "none" | "some" | "all";
}

/** Panes that differ in one thing, made with one press. */
function Presets({ study, panes }: { study: StudyInfo; panes: readonly Pane[] }) {
  const [from] = panes;
  if (from === undefined) return null;
  return (
    <div className="field" role="group" aria-label="Compare">
      <span className="compare-field-name">Compare A with other</span>
      <div className="compare-presets">
        {BYS.map((by) => {
          const made = panesBy(by, from, study);
          return (
            <button
              key={by}
              type="button"
              className="button"
              disabled={made.length < LEAST_PANES}
              onClick={() => setPanes(made)}
            >
              {BY_NAMES[by]}
            </button>
          );
        })}
        <button
          type="button"
          className="button"
          disabled={panes.length >= PANES.length}
          onClick={() => setPanes([...panes, panes[panes.length - 1] ?? from])}
        >
          Add a pane
        </button>
      </div>
    </div>
  );
}

function OtherField({ compared }: { compared: Compared }) {
  if (compared.panes.length === LEAST_PANES || compared.mode === "difference") return null;
  const options = compared.panes.slice(1).map((_, index) => ({ value: String(index + 1), label: letterOf(index + 1) }));
  return (
    <Select
      label="A against"
      value={String(compared.other)}
      options={options}
      onChange={(value) => setParams({ with: value === "1" ? null : (PANES[Number(value)] ?? null) })}
    />
  );
}

function LookFields({ compared, unit, signed }: Pick<ControlsProps, "compared" | "unit" | "signed">) {
  const difference = compared.mode === "difference";
  return (
    <>
      <Slider
        label="Opacity"
        value={Math.round(compared.opacity * 100)}
        min={0}
        max={100}
        text={`${Math.round(compared.opacity * 100)}%`}
        onChange={(value) => setParams({ opacity: value / 100 })}
      />
      {difference ? (
        <Segmented<Unit>
          label="Difference of"
          value={compared.unit ?? unit}
          options={[
            { value: "values", label: "Values" },
            { value: "share", label: "Shares of the sum" },
          ]}
          onChange={(value) => setParams({ unit: value })}
        />
      ) : (
        <>
          <Select
            label="Colours"
            value={signed === "all" ? "rdbu" : compared.colours}
            disabled={signed === "all"}
            options={COLOUR_NAMES.map((name) => ({ value: name, label: name === "rdbu" ? "blue–red" : name }))}
            onChange={(value) => setParams({ colours: value === "inferno" ? null : value })}
          />
          <Segmented
            label="Scale"
            value={compared.scale}
            options={[
              { value: "own", label: "Each its own" },
              { value: "one", label: "One for all" },
            ]}
            onChange={(value) => setParams({ scale: value === "own" ? null : value })}
          />
        </>
      )}
      <Segmented
        label="Raster"
        value={compared.smooth ? "smooth" : "cells"}
        options={[
          { value: "smooth", label: "Smooth" },
          { value: "cells", label: "Cells" },
        ]}
        onChange={(value) => setParams({ cells: value === "cells" ? 1 : null })}
      />
      {!difference && (
        <Checkbox label="Selected pixels" checked={compared.outline} onChange={(on) => setParams({ outline: on ? null : 0 })} />
      )}
    </>
  );
}

export function Controls({ study, compared, image, unit, signed }: ControlsProps) {
  const setMode = (mode: Mode) => setParams({ mode: mode === "side" ? null : mode }, { push: true });
  const percentile = (by: number) => {
    const next = Math.min(PERCENTILE.most, Math.max(PERCENTILE.least, compared.rule.percentile + by));
    setParams(percentileWords(Number(next.toFixed(4)), compared.rule));
  };
  useKeys("Compare", [
    ...MODES.map((mode, index) => ({ keys: [String(index + 1)], label: MODE_NAMES[mode].toLowerCase(), run: () => setMode(mode) })),
    { keys: [","], label: "percentile down", run: () => percentile(-1) },
    { keys: ["."], label: "percentile up", run: () => percentile(1) },
  ]);
  return (
    <section className="panel compare-controls" aria-label="What is compared">
      <div className="fields">
        <ImagePicker image={image} />
        <Presets study={study} panes={compared.panes} />
        <Segmented
          label="View"
          value={compared.mode}
          options={MODES.map((mode) => ({ value: mode, label: MODE_NAMES[mode] }))}
          onChange={setMode}
        />
        <OtherField compared={compared} />
      </div>
      <details open={window.innerWidth > 760}>
        <summary>Rule and look</summary>
        <div className="fields">
          <RuleFields study={study} state={compared} signed={signed !== "none"} />
          <LookFields compared={compared} unit={unit} signed={signed} />
        </div>
      </details>
    </section>
  );
}
