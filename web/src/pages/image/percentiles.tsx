/** IoU over all percentiles, from the map on the screen; a line shows where the slider is. */
import { useMemo } from "react";

import { ChartFrame, LineChart, lineData, type LinePoint, type LineSeries } from "../../charts";
import { score, short } from "../../format";
import { bestPoint, percentileCurve, type CurvePoint, type Rule } from "../../numeric";
import type { ScoredMap } from "./scored";
import { change, percentileWords } from "./state";

interface PercentilesProps {
  image: string;
  scored: ScoredMap;
  rule: Rule;
}

export function Percentiles({ image, scored, rule }: PercentilesProps) {
  const { sorted, inside } = scored;
  const points = useMemo(() => percentileCurve(sorted, inside, "iou", rule.ties), [sorted, inside, rule.ties]);
  const series = useMemo<LineSeries[]>(() => [{ key: "iou", name: "IoU", points: points.map(pointOf) }], [points]);
  const best = bestPoint(points);
  const here = rule.selection === "percentile" ? rule.percentile : null;
  return (
    <ChartFrame
      title="Over the percentiles"
      name={`${image}-percentiles`}
      data={() => lineData(series, "percentile")}
      note={
        best
          ? `Highest at percentile ${short(best.percentile)} (${score(best.value)}), which is chosen on the annotation of this image. Click the chart to go to a percentile.`
          : "Undefined: nothing is annotated here."
      }
    >
      <LineChart
        label={`IoU of ${image} over the percentiles`}
        series={series}
        xLabel="percentile"
        yLabel="IoU"
        xTicks={[1, 10, 20, 30, 40, 50, 60, 70, 80, 90, 99]}
        include={[0]}
        chance={points.map((point) => ({ x: point.percentile, y: plain(point.chance) }))}
        ceiling={points.map((point) => ({ x: point.percentile, y: plain(point.ceiling) }))}
        marks={best ? [{ x: best.percentile, y: best.value, text: "highest" }] : []}
        current={here}
        onPick={(percentile) => change(percentileWords(percentile, rule), true)}
        height={220}
      />
    </ChartFrame>
  );
}

function pointOf({ percentile, value, chance, ceiling }: CurvePoint): LinePoint {
  return { x: percentile, y: plain(value), chance: plain(chance), ceiling: plain(ceiling) };
}

function plain(value: number): number | null {
  return Number.isNaN(value) ? null : value;
}
