import { describe, expect, it } from "vitest";
import { drawingOrder, inCell, shares, tellBox, tellImage, type Box } from "./boxes";
import { LOOKS, readStates, STATES, writeStates } from "./states";

const square = (side: number): Box["box"] => [0, 0, side, side];
const box = (some: Partial<Box>): Box => ({
  box: square(0.2),
  label: "door",
  score: 0.8,
  state: "TP",
  iou: null,
  partner: null,
  across: null,
  taken_for: null,
  ...some,
});

describe("boxes", () => {
  it("draws the largest first and leaves out states that are switched off", () => {
    const boxes = [
      box({ box: square(0.1) }),
      box({ box: square(0.5), state: "FP" }),
      box({ box: square(0.3), state: "FN", score: null }),
    ];
    expect(drawingOrder(boxes, new Set(STATES))).toEqual([1, 2, 0]);
    expect(drawingOrder(boxes, new Set(["TP", "FN"]))).toEqual([2, 0]);
  });

  it("finds the boxes behind a cell of the confusion matrix", () => {
    const boxes = [
      box({ state: "found", score: null, partner: 1, across: 1 }),
      box({ state: "TP", partner: 0, across: 0 }),
      box({ state: "FN", score: null, across: 3 }),
      box({ state: "FP", label: "window", across: 2, taken_for: "door" }),
      box({ state: "FP", label: "window" }),
      box({ state: "FN", score: null }),
      box({ state: "ignored", label: "window" }),
    ];
    const behind = (truth: string, predicted: string) =>
      boxes.flatMap((one, place) => (inCell(one, boxes, { true: truth, predicted }) ? [place] : []));
    expect(behind("door", "door")).toEqual([0, 1]);
    expect(behind("door", "window")).toEqual([2, 3]);
    expect(behind("Background", "window")).toEqual([4]);
    expect(behind("door", "Background")).toEqual([5]);
    expect(behind("window", "window")).toEqual([]);
  });

  it("says what each box is", () => {
    expect(tellBox(box({ iou: 0.724 }))).toBe(
      "true positive: door, confidence 0.80, on a true box at IoU 0.72",
    );
    expect(tellBox(box({ state: "FP", taken_for: "gate" }))).toContain("on a true gate");
    expect(tellBox(box({ state: "FN", score: null }))).toBe(
      "false negative: door, found by no prediction",
    );
    expect(tellImage("a.png", 0.25, { tp: 1, fp: 2, fn: 0 })).toBe(
      "a.png at confidence 0.25: 1 true positive, 2 false positives, 0 false negatives",
    );
  });

  it("leaves precision and recall undefined over nothing", () => {
    expect(shares({ tp: 0, fp: 0, fn: 2 })).toEqual({ precision: null, recall: 0 });
    expect(shares({ tp: 3, fp: 1, fn: 0 })).toEqual({ precision: 0.75, recall: 1 });
  });
});

describe("states", () => {
  it("differ by more than their colour", () => {
    const shapes = STATES.map((state) => `${LOOKS[state].dash}/${LOOKS[state].mark}`);
    expect(new Set(shapes).size).toBe(STATES.length);
    expect(new Set(STATES.map((state) => LOOKS[state].mark)).size).toBe(STATES.length);
    expect(new Set(STATES.map((state) => LOOKS[state].colour)).size).toBe(STATES.length);
  });

  it("stand in the address unless all are shown", () => {
    expect(writeStates(STATES)).toBe("");
    expect(writeStates(["FP", "FN"])).toBe("FP,FN");
    expect(readStates("FN,FP")).toEqual(["FP", "FN"]);
    expect(readStates("")).toEqual(STATES);
    expect(readStates(writeStates([]))).toEqual([]);
    expect(readStates("nonsense")).toEqual(STATES);
  });
});
