import { describe, expect, it } from "vitest";

import type { StudyInfo } from "../api/client";
import { changed, hasHeads, type Asked } from "./choice_fields";

const ASKED: Asked = { model: "demo/vit", method: "cls", layer: "3", head: "1", target: "predicted" };
const STUDY = {
  models: [
    { name: "demo/vit", methods: ["cls", "rollout"] },
    { name: "demo/cnn", methods: ["gradcam"] },
    { name: "demo/mae", methods: ["cls"] },
  ],
  plan: {
    columns: ["method", "model", "heads"],
    rows: [
      ["cls", "demo/vit", 4],
      ["rollout", "demo/vit", 0],
    ],
    note: "",
  },
} as unknown as StudyInfo;

describe("changed", () => {
  it("keeps the method where the other model has it, and nothing that belongs to the model", () => {
    const open = { layer: "", head: "", target: "" };
    expect(changed("model", "demo/mae", STUDY, ASKED)).toEqual({ model: "demo/mae", method: "cls", ...open });
    expect(changed("model", "demo/cnn", STUDY, ASKED)).toEqual({ model: "demo/cnn", method: "", ...open });
    expect(changed("method", "rollout", STUDY, ASKED)).toEqual({ method: "rollout", ...open });
  });

  it("of the rest touches nothing else", () => {
    expect(changed("layer", "5", STUDY, ASKED)).toEqual({ layer: "5" });
    expect(changed("head", "", STUDY, ASKED)).toEqual({ head: "" });
  });
});

it("hasHeads asks the plan", () => {
  expect(hasHeads(STUDY, "demo/vit", "cls")).toBe(true);
  expect(hasHeads(STUDY, "demo/vit", "rollout")).toBe(false);
  expect(hasHeads(STUDY, "demo/cnn", "cls")).toBe(false);
});
