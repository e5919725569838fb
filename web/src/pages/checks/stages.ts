/** Lines of a cascade: similarities, what they are compared with, and what the model still knows. */
import type { CascadeLine } from "../../api/client";
import type { LineLook, LineSeries } from "../../charts";
import { score } from "../../format";
import { keyOf } from "./lines";

/** What stages are called. */
export const stagesOf = (line: CascadeLine): Map<number, string> =>
  new Map(line.points.map(({ stage, name }) => [stage, stage < 0 ? "trained" : name]));

export function similaritySeries(line: CascadeLine, name: string): LineSeries {
  return {
    key: keyOf(line),
    name,
    points: line.points.map(({ stage, similarity, low, high, images }) => ({
      x: stage,
      y: similarity,
      low,
      high,
      n: images,
    })),
  };
}

const REFERENCES = [
  { key: "cross", name: "map of another image", look: { colour: "var(--ink)", dash: "5 3", marker: "square" } },
  { key: "edge", name: "edges of the image", look: { colour: "var(--soft)", dash: "2 3", marker: "triangle" } },
  { key: "training", name: "another training", look: { colour: "var(--purple)", dash: "8 3 2 3", marker: "diamond" } },
] as const satisfies readonly { key: "cross" | "edge" | "training"; name: string; look: LineLook }[];

/** Level lines: what is reached without anything being redrawn. */
export function referenceSeries(line: CascadeLine): LineSeries[] {
  const ends = [line.points[0], line.points.at(-1)].flatMap((point) => (point ? [point.stage] : []));
  return REFERENCES.filter(({ key }) => line[key] !== null).map(({ key, name, look }) => ({
    key,
    name: `${name} (${score(line[key], 2)})`,
    look,
    points: ends.map((x) => ({ x, y: line[key] })),
    band: false,
  }));
}

const ACCURACY: LineLook = { colour: "var(--edge)", dash: "1.5 2.5", marker: "circle" };

/** How many predictions are still right: the same for all methods of a model. */
export function accuracySeries(line: CascadeLine): LineSeries {
  return {
    key: "accuracy",
    name: "accuracy of the model",
    look: ACCURACY,
    points: line.points.map((p) => ({ x: p.stage, y: p.accuracy, low: p.accuracy_low, high: p.accuracy_high })),
    band: false,
  };
}
