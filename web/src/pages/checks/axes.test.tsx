import { describe, expect, it } from "vitest";

import type { CascadeLine, LayerChanges, RemovalLine } from "../../api/client";
import { drawnBox } from "../../drawn";
import { CascadePanel } from "./cascade";
import { CurvesPanel } from "./curves";
import { Panels } from "./layers";

const { box, draw } = drawnBox();
const ticks = () => [...box.querySelectorAll(".tick.y")].map((tick) => Number(tick.textContent?.replace("−", "-")));
const lowest = () => Math.min(...ticks());
const highest = () => Math.max(...ticks());
const NONE = { low: null, high: null };

describe("values without an interval do not stretch the axis of", () => {
  it("removal curves", () => {
    const line = { model: "m", group: "attention", target: "", layer: 1, best_layer: 1 };
    const rest = { x: 0, chance: null, ceiling: null, undefined: 0 };
    const sure = { ...line, method: "a", points: [{ ...rest, value: 0.5, low: 0.4, high: 0.6, n: 9 }] };
    const few = { ...line, method: "b", points: [{ ...rest, value: 4, ...NONE, n: 2 }] };
    const panel = (lines: RemovalLine[]) => <CurvesPanel model="m" lines={lines} measure="deletion" />;
    draw(panel([sure, few]));
    expect(highest()).toBe(1);
    draw(panel([few]));
    expect(highest()).toBe(4);
  });

  it("changes from layer to layer", () => {
    const line = { model: "m", group: "attention", target: "" };
    const sure = { ...line, method: "a", points: [{ layer: 0, next: 1, spearman: 0.5, low: -0.5, high: 0.6, images: 9 }] };
    const few = { ...line, method: "b", points: [{ layer: 0, next: 1, spearman: -1, ...NONE, images: 2 }] };
    const panels = (lines: LayerChanges["lines"]) => <Panels answer={{ lines, note: "" } as LayerChanges} />;
    draw(panels([sure, few]));
    expect(lowest()).toBe(-0.5);
    draw(panels([few]));
    expect(lowest()).toBe(-1);
  });

  it("a cascade, but what it is compared with does", () => {
    const known = { model: "m", target: "", layer: 2, best_layer: 2, cross: -0.5, edge: null, training: null, seeds: 5 };
    const rest = { name: "head", accuracy: 0.5, accuracy_low: null, accuracy_high: null, images: 8 };
    const points = (point: { similarity: number; low: number | null; high: number | null }) =>
      [-1, 0].map((stage) => ({ ...rest, ...point, stage }));
    const sure = { ...known, method: "a", points: points({ similarity: 0.5, low: 0.4, high: 0.6 }) };
    const few = { ...known, method: "b", points: points({ similarity: -1, ...NONE }) };
    const panel = (lines: CascadeLine[]) => <CascadePanel title="m" lines={lines} measure="spearman" />;
    draw(panel([sure, few]));
    expect(lowest()).toBe(0);
    draw(panel([few]));
    expect(lowest()).toBe(-1);
    draw(panel([sure]));
    expect(lowest()).toBe(-0.5);
  });
});
