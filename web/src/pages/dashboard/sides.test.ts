import { describe, expect, it } from "vitest";
import type { ComparisonLine, MethodInfo, ModelInfo } from "../../api/client";
import { commonName, sideBehind, sideName, sidesOf, usualPair, wordsOfLine } from "./sides";

const model = (name: string, layers: number[], methods: string[]): ModelInfo => {
  const [base = name, variant = ""] = name.split("@");
  const none = { heads: 0, head_numbers: [], baseline: false, similarity: false };
  return { ...none, name, base, variant, methods, layers: 12, layer_numbers: layers };
};
const method = (name: string, group: string) => ({ name, group }) as MethodInfo;

const KNOWN = {
  models: [model("vit", [0, 2, 11], ["edge", "cls", "rollout"]), model("cnn", [0, 3], ["gradcam"]), model("cnn@lora", [3, 0], ["gradcam"])],
  methods: [method("edge", "baseline"), method("cls", "attention"), method("rollout", "attention"), method("gradcam", "cam")],
};

describe("sidesOf", () => {
  it("offers models, methods of a model, and its layers", () => {
    expect(sidesOf("model", KNOWN, "")).toEqual(["vit", "cnn", "cnn@lora"]);
    expect(sidesOf("method", KNOWN, "")).toEqual(["edge", "cls", "rollout", "gradcam"]);
    expect(sidesOf("method", KNOWN, "cnn")).toEqual(["gradcam"]);
    expect(sidesOf("layer", KNOWN, "cnn")).toEqual(["0", "3"]);
  });
});

describe("usualPair", () => {
  it("begins with a model and its variant", () => {
    expect(usualPair("model", KNOWN, "")).toEqual(["cnn", "cnn@lora"]);
    expect(usualPair("model", { ...KNOWN, models: KNOWN.models.slice(0, 2) }, "")).toEqual(["vit", "cnn"]);
  });

  it("begins with methods that are no baselines, and with the first and last layer", () => {
    expect(usualPair("method", KNOWN, "vit")).toEqual(["cls", "rollout"]);
    expect(usualPair("layer", KNOWN, "vit")).toEqual(["0", "11"]);
  });

  it("is nothing where there are no two", () => {
    expect(usualPair("method", KNOWN, "cnn")).toBeNull();
    expect(usualPair("model", { ...KNOWN, models: KNOWN.models.slice(0, 1) }, "")).toBeNull();
  });
});

describe("lines", () => {
  const line = {
    ...{ a: "vit", b: "vit@lora", model: "", method: "cls", target: "label" },
    ...{ layer_a: 6, layer_b: 5 },
  } as ComparisonLine;

  it("is asked for alone by what both sides share", () => {
    expect(wordsOfLine(line, "model")).toEqual({ method: "cls", target: "label" });
    expect(commonName(line)).toBe("cls, label");
    const layers = { ...line, a: "0", b: "3", model: "vit" };
    expect(wordsOfLine(layers, "layer")).toEqual({ model: "vit", method: "cls", target: "label" });
  });

  it("calls layers by name", () => {
    expect([sideName("layer", "3"), sideName("model", "vit")]).toEqual(["layer 3", "vit"]);
  });

  it("knows whose maps stand on each side", () => {
    expect(sideBehind(line, "model", "a")).toEqual({ model: "vit", method: "cls", layer: 6, target: "label" });
    expect(sideBehind(line, "model", "b").model).toBe("vit@lora");
    const methods = { ...line, a: "cls", b: "rollout", model: "vit", method: "" };
    expect(sideBehind(methods, "method", "b")).toMatchObject({ model: "vit", method: "rollout", layer: 5 });
  });
});
