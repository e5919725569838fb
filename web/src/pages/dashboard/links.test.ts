import { describe, expect, it } from "vitest";
import { compareBehind, imageBehind, imagesBehind, layerWord, percentileWord } from "./links";

const CLS = { model: "demo/vit@lora", method: "cls", layer: 5, target: "" };

const words = (address: string) => Object.fromEntries(new URL(address, "http://x").searchParams);

describe("imagesBehind", () => {
  it("asks the gallery for the same maps by the same score", () => {
    expect(words(imagesBehind(CLS, "iou@85", { label: "rose window" }))).toEqual({
      model: "demo/vit@lora",
      method: "cls",
      layer: "5",
      percentile: "85",
      sort: "iou@85",
      label: "rose window",
    });
  });

  it("keeps layer 0, head 0 and the way in which layers were chosen", () => {
    expect(words(imagesBehind({ ...CLS, layer: 0, head: 0 }, "coverage"))).toMatchObject({
      layer: "0",
      head: "0",
    });
    expect(layerWord("5|6", "split")).toBe("split");
    expect(layerWord(null, "split")).toBeNull();
    expect(layerWord("5|6", "")).toBeNull();
  });
});

it("opens an image at a region", () => {
  const address = imageBehind("a b.png", CLS, "iou@90", 0);
  expect(address.startsWith("/image/a%20b.png?")).toBe(true);
  expect(words(address)).toMatchObject({ region: "0", layer: "5", percentile: "90" });
});

it("leaves the layer of an image to the service where halves have different ones", () => {
  const address = imageBehind("a.png", { ...CLS, layer: "5|6" }, "iou@90");
  expect(words(address)).not.toHaveProperty("layer");
});

it("puts both sides into panes of their own", () => {
  const other = { ...CLS, model: "demo/vit", layer: 6 };
  expect(words(compareBehind("a.png", other, CLS, "coverage"))).toEqual({
    image: "a.png",
    a: "demo/vit~cls~6",
    b: "demo/vit@lora~cls~5",
  });
});

it("knows thresholds that are no percentiles", () => {
  expect([percentileWord("iou@90"), percentileWord("iou@mean"), percentileWord("ap")]).toEqual([
    90,
    null,
    null,
  ]);
});
