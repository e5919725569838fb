import { describe, expect, it } from "vitest";
import { mostConfused, showMatrix, tellCell } from "./matrix";

// As the service answers: without "Others" where every class has its row.
const confusion = {
  labels: ["door", "window", "tower", "Background"],
  counts: [
    [6, 2, 0, 2],
    [1, 3, 0, 0],
    [0, 0, 0, 0],
    [4, 0, 0, 0],
  ],
};

describe("the confusion matrix", () => {
  it("leaves out labels of which there is nothing", () => {
    const shown = showMatrix(confusion, "true");
    expect(shown.labels).toEqual(["door", "window", "Background"]);
    expect(shown.empty).toBe(1);
  });

  it("says counts as shares of the row, the column or the largest", () => {
    const at = (over: "true" | "predicted" | "counts") => showMatrix(confusion, over).cells;
    expect(at("true")[0]![1]!.share).toBeCloseTo(0.2, 12);
    expect(at("predicted")[0]![1]!.share).toBeCloseTo(0.4, 12);
    expect(at("counts")[0]![1]!.share).toBeCloseTo(2 / 6, 12);
    expect(at("counts")[0]![1]!.count).toBe(2);
  });

  it("has no share of nothing", () => {
    const found = showMatrix({ labels: ["a", "b"], counts: [[0, 1], [0, 0]] }, "true");
    expect(found.cells[1]![0]!.share).toBeNull();
  });

  it("knows the commonest confusions, without misses and inventions", () => {
    expect(mostConfused(confusion, 5)).toEqual([
      { true: "door", predicted: "window", count: 2 },
      { true: "window", predicted: "door", count: 1 },
    ]);
    expect(mostConfused(confusion, 1)).toHaveLength(1);
  });

  it("counts the last class too, and no others that share a row", () => {
    const two = { labels: ["door", "window", "Background"], counts: [[5, 2, 0], [0, 5, 0], [0, 0, 0]] };
    expect(mostConfused(two, 5)).toEqual([{ true: "door", predicted: "window", count: 2 }]);
    const others = { labels: ["door", "Others", "Background"], counts: [[5, 2, 1], [1, 0, 0], [3, 0, 0]] };
    expect(mostConfused(others, 5)).toEqual([]);
  });

  it("says each cell in words", () => {
    const tell = (a: string, b: string) => tellCell({ true: a, predicted: b, count: 2 });
    expect(tell("door", "door")).toBe("2 × door found");
    expect(tell("door", "window")).toBe("2 × door taken for window");
    expect(tell("door", "Background")).toBe("2 × door missed");
    expect(tell("Background", "door")).toBe("2 × door predicted where there is none");
  });
});
