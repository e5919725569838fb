import { describe, expect, it } from "vitest";

import type { RegionInfo } from "../api/client";
import { paint, type Scene } from "./paint";
import { placed, svgFile, SvgSurface } from "./surface";

const region = { index: 3, label: "door & <arch>", outline: [], box: [0.5, 0.5, 1, 1], dropped: "", ignore: false };
const PLACE = { x0: 0, y0: 0, x1: 1, y1: 1 };
const canvas = () => document.createElement("canvas");

function drawn(more: Partial<Scene>): Element {
  const scene: Scene = {
    picture: null,
    texture: null,
    opacity: 0.6,
    smooth: false,
    border: null,
    regions: [],
    chosen: null,
    hovered: null,
    peak: null,
    cross: null,
    box: null,
    ...more,
  };
  const surface = new SvgSurface(() => "data:image/png;base64,AA", (text) => 10 * text.length);
  paint(surface, scene, { left: 0, top: 0, width: 200, height: 100 });
  const text = svgFile({ width: 200, height: 100, body: surface.body() });
  const read = new DOMParser().parseFromString(text, "image/svg+xml");
  expect(read.querySelector("parsererror")).toBeNull();
  return read.documentElement;
}

describe("a picture as SVG", () => {
  it("holds image and map as PNG, the map as clear as it is seen", () => {
    const images = [...drawn({ picture: canvas(), texture: { canvas: canvas(), place: { ...PLACE, x0: 0.5 } } }).querySelectorAll("image")];
    expect(images.map((image) => image.getAttribute("opacity"))).toEqual(["1", "0.6"]);
    expect(images.map((image) => image.getAttribute("x"))).toEqual(["0", "100"]);
    expect(images[1]?.getAttribute("width")).toBe("100");
    expect(images[1]?.getAttribute("style")).toBe("image-rendering:pixelated");
    expect(images[0]?.getAttribute("href")).toMatch(/^data:image\/png/);
  });

  it("holds regions as lines, and the chosen one's label as words", () => {
    const svg = drawn({ regions: [region as unknown as RegionInfo], chosen: 3 });
    const [halo, line] = [...svg.querySelectorAll("path")];
    expect(line?.getAttribute("d")).toBe("M100 50L200 50L200 100L100 100Z");
    expect(line?.getAttribute("stroke")).toBe("#00c08b");
    expect([halo?.getAttribute("stroke"), halo?.getAttribute("stroke-opacity")]).toEqual(["rgb(0,0,0)", "0.75"]);
    expect(svg.querySelector("text")?.textContent).toBe("door & <arch>");
  });

  it("holds the border of selected pixels, the peak and the box", () => {
    const border = { pieces: [[0, 0, 1, 0]] as const, rows: 2, columns: 2, place: PLACE };
    const lines = [...drawn({ border, peak: { x: 0.5, y: 0.5 }, box: [0, 0, 0.5, 0.5] }).querySelectorAll("path")];
    const data = lines.filter((_, i) => i % 2 === 1).map((line) => line.getAttribute("d"));
    expect(data[0]).toBe("M0 0L100 0");
    expect(data[1]).toContain("a6 6 0 1 1 -12 0a6 6 0 1 1 12 0");
    expect(data[2]).toBe("M0 0h100v50h-100Z");
    expect(lines.at(-1)?.getAttribute("stroke-dasharray")).toBe("6 4");
  });

  it("is a part of another, cut at its edge", () => {
    const picture = { width: 80, height: 40, body: "<g/>" };
    expect(placed(picture, 10, 20)).toBe('<svg x="10" y="20" width="80" height="40" viewBox="0 0 80 40" overflow="hidden"><g/></svg>');
    expect(placed(picture, 30, 0, 30)).toContain('x="30" y="0" width="50" height="40" viewBox="30 0 50 40"');
  });
});
