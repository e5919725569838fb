/** One pane: whose map it is, the map over the image, what can be changed. */
import type { Ref } from "react";

import type { Choice, ImageDetail, StudyInfo } from "../../api/client";
import { fileUrl } from "../../api/queries";
import { Chip, ErrorNote, Spinner } from "../../components";
import { ChoiceFields } from "../../components/choice_fields";
import { short } from "../../format";
import { ColourBar, valueAt, Viewer, type Drawn, type Look, type Outline, type Spot, type ViewerHandle } from "../../viewer";
import { setParams } from "../../url";
import { replacePane, setPanes, setView, type Compared } from "./state";
import { LEAST_PANES, PANES, paneTitle, type Pane } from "./words";

/** What all panes share. */
export interface Shared {
  readonly detail: ImageDetail;
  readonly compared: Compared;
  readonly cursor: Spot | null;
  readonly onCursor: (spot: Spot | null) => void;
}

export function letterOf(index: number): string {
  return (PANES[index] ?? "?").toUpperCase();
}

interface CanvasProps extends Shared {
  readonly label: string;
  readonly map: Drawn | null;
  readonly look: Look;
  readonly outline: Outline | null;
  readonly testid: string;
  readonly handle?: Ref<ViewerHandle>;
}

function sizeOf(detail: ImageDetail): readonly [number, number] {
  return [detail.width ?? 1, detail.height ?? 1];
}

/** A viewer that moves with the others. */
export function Linked(props: CanvasProps) {
  const { detail, compared, cursor, onCursor, label, map, look, outline, testid, handle } = props;
  return (
    <Viewer
      ref={handle}
      label={label}
      image={fileUrl(detail.image)}
      size={sizeOf(detail)}
      map={map}
      look={look}
      view={compared.view}
      onView={setView}
      cursor={cursor}
      onCursor={onCursor}
      regions={detail.regions.filter((region) => region.dropped === "")}
      chosen={compared.region}
      onRegion={(region) => setParams({ region }, { push: true })}
      outline={compared.outline ? outline : null}
      testid={testid}
    />
  );
}

/** The value under the cursor and the colours of the scale. */
export function Reading({ map, look, cursor }: { map: Drawn | null; look: Look; cursor: Spot | null }) {
  if (map === null) return null;
  const value = cursor === null ? null : valueAt(map, cursor);
  return (
    <div className="compare-reading">
      <ColourBar look={look} value={value} />
      <output aria-label="Value under the pointer">{value === null ? "" : short(Number(value.toPrecision(4)))}</output>
    </div>
  );
}

interface HeadProps {
  readonly index: number;
  readonly panes: readonly Pane[];
  readonly choice: Choice | undefined;
  readonly study: StudyInfo;
}

/** Letter and name of a pane, and the fields that change it. */
export function PaneHead({ index, panes, choice, study }: HeadProps) {
  const pane = panes[index];
  if (pane === undefined) return null;
  const letter = letterOf(index);
  const asked = {
    model: pane.model,
    method: pane.method,
    layer: pane.layer === null ? "" : String(pane.layer),
    head: pane.head === null ? "" : String(pane.head),
    target: pane.target,
  };
  const change = (changes: Partial<typeof asked>) => {
    const next = { ...asked, ...changes };
    const number = (text: string) => (text === "" ? null : Number(text));
    replacePane(panes, index, { ...pane, ...next, layer: number(next.layer), head: number(next.head) });
  };
  return (
    <header>
      <h2>
        <Chip tone="accent">{letter}</Chip> {paneTitle(choice ?? pane)}
      </h2>
      {panes.length > LEAST_PANES && (
        <button
          type="button"
          className="button quiet"
          aria-label={`Remove pane ${letter}`}
          onClick={() => setPanes(panes.toSpliced(index, 1))}
        >
          Remove
        </button>
      )}
      <details open={window.innerWidth > 760}>
        <summary>Change</summary>
        <div className="compare-fields">
          <ChoiceFields study={study} asked={asked} choice={choice} onChange={change} />
        </div>
      </details>
    </header>
  );
}

/** What stands in a pane while there is no map, and why there is none. */
export function NoMap({ error, retry }: { error: Error | null; retry: () => void }) {
  return error === null ? <Spinner label="Loading the map" /> : <ErrorNote error={error} retry={retry} />;
}
