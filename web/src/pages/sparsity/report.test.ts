import { describe, expect, it } from "vitest";
import { linesOf, numberOf, wordOf } from "./records";
import {
  byHeading,
  cardsOf,
  doubtOf,
  joinBaselines,
  keyOf,
  labelledCard,
  mainLine,
  nameOf,
  pairMethod,
  shortener,
} from "./report";
import { setsDomain } from "./scores";

const table = (columns: string[], ...rows: unknown[][]) => linesOf({ columns, rows });
const KEYS = ["model", "method", "target", "layer", "group"];

const scores = table(
  [...KEYS, "iou", "n"],
  ["demo/a", "edge", "", null, "baseline", 0.3, 24],
  ["demo/b", "edge", "", null, "baseline", 0.3, 24],
  ["demo/a", "cls", "", 5, "attention", 0.25, 24],
  ["demo/b", "cls", "predicted", 0, "attention", 0.2, 24],
);

describe("tables", () => {
  it("become lines whose undefined values are null, never 0", () => {
    const [line] = table(["a", "b", "c"], [null, 0, "x"]);
    expect(numberOf(line!, "a")).toBeNull();
    expect(numberOf(line!, "b")).toBe(0);
    expect(numberOf(line!, "c")).toBeNull();
    expect(wordOf(line!, "a")).toBe("");
    expect(linesOf(undefined)).toEqual([]);
  });
});

describe("the report on missing labels", () => {
  it("is about the best line that is no baseline", () => {
    expect(nameOf(mainLine(scores)!)).toBe("demo/a · cls · layer 5");
    expect(nameOf(scores[3]!)).toBe("demo/b · cls · layer 0 · predicted");
    expect(nameOf(mainLine(scores.slice(0, 1))!)).toBe("demo/a · edge");
  });

  it("joins baselines that score the same for several models, and nothing else", () => {
    const joined = joinBaselines(scores);
    expect(joined.map(({ models }) => models)).toEqual([2, 1, 1]);
    expect(nameOf(joined[0]!.line)).toBe("demo/a · edge");
  });

  it("knows the labelled share from the data, from a gold set, or not at all", () => {
    const columns = ["label", "regions", "unlabelled", "on_gold_images", "gold"];
    const known = table(columns, ["door", 3, 1, null, null], ["window", 3, 5, null, null]);
    expect(labelledCard(known)).toMatchObject({ value: "50%", small: "6 of 12, known from the data" });
    const gold = table(columns, ["door", 9, null, 2, 8]);
    expect(labelledCard(gold)).toMatchObject({ value: "25%", small: "2 of 8 on the gold images" });
    expect(labelledCard(table(columns, ["door", 9, null, null, null]))).toBeNull();
  });

  it("shows the corrected IoU as a range unless counts are known, and not beside a gold set", () => {
    const head = [...KEYS, "set", "value", "low", "high", "n", "reason"];
    const line = ["demo/a", "cls", "", 5, "attention"];
    const pu = table(
      [...KEYS, "by", "corrected", "low", "high"],
      [...line, "labelling frequency 0.20 to 1.00", null, 0.1, 0.3],
    );
    const sparse = [...line, "sparse", 0.25, 0.2, 0.3, 24, ""];
    const joined = [...line, "joined", 0.31, null, null, 24, "too few gold images"];
    const key = keyOf(scores[2]!);
    const alone = cardsOf({ counts: [], sets: table(head, sparse), pu }, key);
    expect(alone.map(({ value }) => value)).toEqual(["0.250", "0.10 – 0.30"]);
    expect(alone[1]!.small).toContain("not an interval");
    expect(alone[0]!.small).toBe("95% interval 0.200 to 0.300, 24 images");
    const both = cardsOf({ counts: [], sets: table(head, sparse, joined), pu }, key);
    expect(both.map(({ small }) => small)[1]).toBe("too few gold images");
    expect(both).toHaveLength(2);
  });

  it("keeps findings in order below their headings", () => {
    const found = byHeading([
      ["bias", "one"],
      ["open", "two"],
      ["bias", "three"],
    ]);
    expect(found).toEqual([
      { heading: "bias", texts: ["one", "three"] },
      { heading: "open", texts: ["two"] },
    ]);
  });

  it("tells verdicts apart, and makes no promise of one it does not know", () => {
    expect(doubtOf("survives random dropout")).toBe("good");
    expect(doubtOf("cannot be told apart")).toBe("doubt");
    expect(doubtOf("reversed by the gold set")).toBe("bad");
    expect(doubtOf("no difference shown")).toBe("none");
    expect(doubtOf("anything else")).toBe("none");
  });

  it("leaves out the folder that all models share, and no other", () => {
    expect(shortener(["demo/a", "demo/b@x"])("demo/b@x")).toBe("b@x");
    expect(shortener(["demo/a", "other/b"])("demo/a")).toBe("demo/a");
    expect(shortener(["a", "b"])("a")).toBe("a");
  });

  it("names pairs by method and target", () => {
    const pairs = table(["method", "target"], ["cls", "label"]);
    expect(pairMethod(pairs[0]!)).toBe("cls (label)");
  });

  it("draws sets of labels on one axis, which a value without an interval does not stretch", () => {
    const rows = table(["set", "value", "low", "high"], ["a", 0.2, 0.1, 0.4], ["b", 0.9, null, null]);
    expect(setsDomain(rows)).toEqual([0.1, 0.4]);
    expect(setsDomain(rows.slice(1))).toEqual([0, 1]);
  });
});
