/** The panes, in the three ways of looking at them. */
import type { Ref } from "react";

import type { StudyInfo } from "../../api/client";
import type { DecodedMap } from "../../api/map";
import type { Result } from "../../api/queries";
import { Empty } from "../../components";
import type { Drawn, Look, ViewerHandle } from "../../viewer";
import type { ScoredMap } from "../image/scored";
import { scaleOf, type Difference } from "./difference";
import { letterOf, Linked, NoMap, PaneHead, Reading, type Shared } from "./pane";
import { Swipe } from "./swipe";
import { paneTitle, type Pane } from "./words";

/** A pane with all that is known of it. */
export interface Filled {
  readonly pane: Pane;
  readonly result: Result<DecodedMap>;
  /** Of this image; null while it is on its way. */
  readonly map: DecodedMap | null;
  readonly drawn: Drawn | null;
  readonly scored: ScoredMap | null;
  readonly look: Look;
}

export interface PanesProps extends Shared {
  readonly study: StudyInfo;
  readonly filled: readonly Filled[];
  /** Of each pane but the first: what it has more than the first; null while on its way. */
  readonly differences: readonly (Difference | null)[];
  /** Takes hold of what is drawn, for export. */
  readonly handle: (index: number) => Ref<ViewerHandle>;
}

function titleOf({ pane, map }: Filled): string {
  return paneTitle(map?.header.choice ?? pane);
}

interface MapOfProps {
  index: number;
  one: Filled;
  shared: Shared;
  handle: Ref<ViewerHandle>;
}

function MapOf({ index, one, shared, handle }: MapOfProps) {
  return (
    <Linked
      {...shared}
      handle={handle}
      label={`Pane ${letterOf(index)}: map of ${titleOf(one)} over ${shared.detail.image}`}
      map={one.drawn}
      look={one.look}
      outline={one.scored?.outline ?? null}
      testid={`pane-${letterOf(index)}`}
    />
  );
}

/** Each map in a pane of its own. */
export function SideBySide({ study, filled, handle, ...shared }: PanesProps) {
  const panes = filled.map(({ pane }) => pane);
  return (
    <div className="compare-panes" data-count={filled.length}>
      {filled.map((one, index) => (
        <section key={letterOf(index)} className="compare-pane" aria-label={`Pane ${letterOf(index)}`}>
          <PaneHead index={index} panes={panes} choice={one.map?.header.choice} study={study} />
          <MapOf index={index} one={one} shared={shared} handle={handle(index)} />
          <div>
            <Reading map={one.drawn} look={one.look} cursor={shared.cursor} />
            {one.map === null && <NoMap error={one.result.error} retry={() => void one.result.refetch()} />}
          </div>
        </section>
      ))}
    </div>
  );
}

/** The first map and another in one frame. */
export function Swiped({ study, filled, handle, ...shared }: PanesProps) {
  const { other, swipe } = shared.compared;
  const [first, second] = [filled[0], filled[other]];
  if (first === undefined || second === undefined) return null;
  const panes = filled.map(({ pane }) => pane);
  const shown = [first, second] as const;
  return (
    <div className="compare-one">
      <div className="compare-swipe-heads">
        {[0, other].map((index) => (
          <section key={index} className="compare-pane" aria-label={`Pane ${letterOf(index)}`}>
            <PaneHead index={index} panes={panes} choice={filled[index]?.map?.header.choice} study={study} />
            {filled[index]?.map === null && (
              <NoMap error={filled[index].result.error} retry={() => void filled[index]?.result.refetch()} />
            )}
          </section>
        ))}
      </div>
      <Swipe
        share={swipe}
        names={[`A ${titleOf(first)}`, `${letterOf(other)} ${titleOf(second)}`]}
        under={<MapOf index={0} one={first} shared={shared} handle={handle(0)} />}
        over={<MapOf index={other} one={second} shared={shared} handle={handle(1)} />}
      />
      <div className="compare-swipe-heads">
        {shown.map((one, index) => (
          <Reading key={index} map={one.drawn} look={one.look} cursor={shared.cursor} />
        ))}
      </div>
    </div>
  );
}

/** What the other maps have more than the first, on one scale around zero. */
export function Differences({ study, filled, differences, handle, ...shared }: PanesProps) {
  const panes = filled.map(({ pane }) => pane);
  const scale = scaleOf(differences.flatMap((one) => (one === null ? [] : [one])));
  const look: Look = { opacity: shared.compared.opacity, colours: "rdbu", smooth: shared.compared.smooth, scale };
  return (
    <div className="compare-panes" data-count={filled.length}>
      {filled.map((one, index) => {
        const difference = index === 0 ? null : (differences[index - 1] ?? null);
        const drawn = difference !== null && "drawn" in difference ? difference.drawn : null;
        return (
          <section key={letterOf(index)} className="compare-pane" aria-label={`Pane ${letterOf(index)}`}>
            <PaneHead index={index} panes={panes} choice={one.map?.header.choice} study={study} />
            {index === 0 ? (
              <MapOf index={0} one={one} shared={shared} handle={handle(0)} />
            ) : (
              <Linked
                {...shared}
                handle={handle(index)}
                label={`Difference ${letterOf(index)} less A over ${shared.detail.image}`}
                map={drawn}
                look={look}
                outline={null}
                testid={`difference-${letterOf(index)}`}
              />
            )}
            <div>
              <Reading map={index === 0 ? one.drawn : drawn} look={index === 0 ? one.look : look} cursor={shared.cursor} />
              {one.map === null && <NoMap error={one.result.error} retry={() => void one.result.refetch()} />}
              {difference !== null && "problem" in difference && <Empty title="No difference">{difference.problem}</Empty>}
              {drawn !== null && (
                <p className="note">
                  {letterOf(index)} − A: red where {letterOf(index)} has more, blue where A has more.
                </p>
              )}
            </div>
          </section>
        );
      })}
    </div>
  );
}
