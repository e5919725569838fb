/** The scores of all panes side by side, and how far they are from the first. */
import type { RegionInfo } from "../../api/client";
import { Chip, ExportMenu, MetricTip, Panel, Score } from "../../components";
import type { DataSet } from "../../export";
import { percent, signed } from "../../format";
import type { Rule, Score as Scored, ScoreName, Scores } from "../../numeric";
import { setParams } from "../../url";
import { ruleText, threshold } from "../image/state";
import { letterOf } from "./pane";

interface Shown {
  readonly score: ScoreName;
  /** Whether its name carries the rule. */
  readonly thresholded: boolean;
}

const SHOWN: readonly Shown[] = [
  { score: "iou", thresholded: true },
  { score: "coverage", thresholded: false },
  { score: "recall", thresholded: true },
  { score: "precision", thresholded: true },
  { score: "lift", thresholded: true },
  { score: "pointing", thresholded: false },
];

/** NaN is undefined, and pages write null as that. */
function orNull(value: number | undefined): number | null {
  return value === undefined || Number.isNaN(value) ? null : value;
}

function nameOf({ score, thresholded }: Shown, rule: Rule): string {
  return thresholded ? `${score}@${threshold(rule)}` : score;
}

/** One side of the table. */
export interface Side {
  readonly title: string;
  readonly scores: Scores | null;
}

/** The numbers, for CSV. */
export function dataOf(sides: readonly Side[], rule: Rule, region: string): DataSet {
  const rows = sides.flatMap(({ title, scores }, index) =>
    SHOWN.map((shown) => {
      const found = scores?.scores[shown.score];
      const numbers = [orNull(found?.value), orNull(found?.chance), orNull(found?.ceiling)];
      return [letterOf(index), title, region, nameOf(shown, rule), ...numbers, orNull(scores?.attentionArea)];
    }),
  );
  return { columns: ["pane", "map", "region", "metric", "value", "chance", "ceiling", "selected_area"], rows };
}

function Cell({ score, first }: { score: Scored | undefined; first: Scored | undefined }) {
  if (score === undefined) return <span className="soft">…</span>;
  const difference = first === undefined ? NaN : score.value - first.value;
  return (
    <>
      <Score value={orNull(score.value)} chance={orNull(score.chance)} ceiling={orNull(score.ceiling)} stacked />
      {first !== undefined && first !== score && !Number.isNaN(difference) && (
        <small className="compare-from">{signed(difference)} from A</small>
      )}
    </>
  );
}

interface NumbersProps {
  readonly image: string;
  readonly sides: readonly Side[];
  readonly rule: Rule;
  readonly region: RegionInfo | null;
  /** Why the region that was asked for is not shown; empty: it is. */
  readonly missed: string;
}

export function Numbers({ image, sides, rule, region, missed }: NumbersProps) {
  const against = region === null ? "all regions" : `region ${region.index}, ${region.label}`;
  const first = sides[0]?.scores ?? null;
  return (
    <Panel
      title="On this image"
      tools={<ExportMenu name={`${image}-compared`} data={() => dataOf(sides, rule, against)} />}
      note={`Selected are ${ruleText(rule)}; ${percent(first?.annotationArea ?? null, 1)} of the image is annotated. Click a region in a pane to see its figures alone.`}
    >
      <p>
        Against{" "}
        {region === null ? (
          <Chip>all regions</Chip>
        ) : (
          <Chip tone="region" onRemove={() => setParams({ region: null }, { push: true })} removeLabel="Show figures of all regions">
            {region.label} (region {region.index})
          </Chip>
        )}
      </p>
      {missed !== "" && <p role="status">{missed}</p>}
      <div className="table-box" tabIndex={0} role="region" aria-label="Scores of the panes">
        <table className="data compare-numbers">
          <thead>
            <tr>
              <th scope="col">Metric</th>
              {sides.map(({ title }, index) => (
                <th scope="col" key={letterOf(index)}>
                  {letterOf(index)} <small>{title}</small>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {SHOWN.map((shown) => (
              <tr key={shown.score}>
                <th scope="row">
                  <MetricTip name={nameOf(shown, rule)} />
                </th>
                {sides.map(({ scores }, index) => (
                  <td key={letterOf(index)} data-testid={`${shown.score}-${letterOf(index)}`}>
                    <Cell score={scores?.scores[shown.score]} first={first?.scores[shown.score]} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}
