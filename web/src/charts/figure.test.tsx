import { act } from "react";
import { expect, it } from "vitest";

import { drawnBox } from "../drawn";
import { figureOf } from "./figure";
import { LineChart } from "./line_chart";

const { box, draw } = drawnBox();

const texts = (svg: SVGSVGElement | null) => [...(svg?.querySelectorAll("text") ?? [])].map((one) => one.textContent);

it("takes title and key into the drawing, without the lines that were taken out", () => {
  const series = ["one", "two", "three"].map((name, at) => ({ key: name, name, points: [{ x: 0, y: at }, { x: 1, y: at }] }));
  const chance = [{ x: 0, y: 0.1 }, { x: 1, y: 0.1 }];
  draw(<LineChart label="Lines" series={series} xLabel="layer" yLabel="IoU" chance={chance} />);
  act(() => box.querySelectorAll<HTMLButtonElement>(".legend button")[1]?.click());
  const chart = box.querySelector("svg.chart")!;
  const figure = figureOf(box, "cls");
  expect(texts(figure)[0]).toBe("cls");
  expect(texts(figure)).toEqual(expect.arrayContaining(["layer", "IoU", "one", "three", "chance"]));
  expect(texts(figure)).not.toContain("two");
  expect(Number(figure?.getAttribute("height"))).toBeGreaterThan(Number(chart.getAttribute("height")) + 20);
  expect(figure?.getAttribute("width")).toBe(chart.getAttribute("width"));
});

it("draws nothing where there is no chart", () => {
  expect(figureOf(document.createElement("div"), "cls")).toBeNull();
});
