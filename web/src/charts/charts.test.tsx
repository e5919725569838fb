import { act } from "react";
import { describe, expect, it, vi } from "vitest";

import { HeatTable, IntervalPlot, LineChart, heatData, lineData, type LineSeries } from ".";
import { drawnBox } from "../drawn";

const { box, draw } = drawnBox();
const key = (target: Element | null, name: string) =>
  act(() => void target?.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true })));

const SERIES: LineSeries[] = [
  { key: "a", name: "A", points: [{ x: 0, y: 0.1, low: 0, high: 0.2, n: 9 }, { x: 1, y: null }, { x: 2, y: 0.3 }] },
  { key: "b", name: "B", points: [{ x: 0, y: 0.4 }, { x: 1, y: 0.5 }, { x: 2, y: 0.6 }] },
];

describe("LineChart", () => {
  it("breaks the line where a value is undefined", () => {
    draw(<LineChart label="t" series={SERIES} xLabel="layer" yLabel="IoU" />);
    const paths = [...box.querySelectorAll(".line .stroke")].map((path) => path.getAttribute("d") ?? "");
    expect(paths.map((path) => path.split("M").length - 1)).toEqual([2, 1]);
  });

  it("reads values with the keys, undefined in words, and picks", () => {
    const picked = vi.fn();
    draw(<LineChart label="t" series={SERIES} xLabel="layer" yLabel="IoU" onPick={picked} />);
    const chart = box.querySelector("svg.chart");
    key(chart, "ArrowRight");
    expect(box.querySelector(".readout")?.textContent).toContain("A: 0.100 [0.000, 0.200] n 9");
    key(chart, "ArrowRight");
    expect(box.querySelector(".readout")?.textContent).toContain("A: undefined");
    key(chart, "End");
    key(chart, "Enter");
    expect(picked.mock.calls[0]?.[0]).toBe(2);
  });

  it("cuts lines that go beyond its axis, and says so", () => {
    draw(<LineChart label="t" series={SERIES} xLabel="layer" yLabel="IoU" yDomain={[0, 0.5]} />);
    const clip = box.querySelector("clipPath");
    expect(box.querySelector(".line")?.parentElement?.getAttribute("clip-path")).toBe(`url(#${clip?.id})`);
    expect(box.textContent).toContain("1 without an interval beyond the axis");
    draw(<LineChart label="t" series={SERIES} xLabel="layer" yLabel="IoU" />);
    expect(box.textContent).not.toContain("beyond the axis");
  });

  it("takes a line out by the legend", () => {
    draw(<LineChart label="t" series={SERIES} xLabel="layer" yLabel="IoU" />);
    act(() => box.querySelector<HTMLButtonElement>(".legend button")?.click());
    expect(box.querySelectorAll(".line")).toHaveLength(1);
  });

  it("gives all its numbers", () => {
    expect(lineData(SERIES, "layer").rows).toHaveLength(6);
    expect(lineData(SERIES, "layer").rows[1]?.[2]).toBeNull();
  });
});

describe("IntervalPlot", () => {
  it("has an axis that values without an interval do not stretch", () => {
    const lines = [{ key: "a", name: "A", value: 0.3, low: 0.2, high: 0.4 }, { key: "b", name: "B", value: 9 }];
    draw(<IntervalPlot label="t" xLabel="IoU" lines={lines} />);
    expect([...box.querySelectorAll(".tick")].at(-1)?.textContent).toBe("0.4");
    draw(<IntervalPlot label="t" xLabel="IoU" lines={lines.map(({ key, name, value }) => ({ key, name, value }))} />);
    expect(Number([...box.querySelectorAll(".tick")].at(-1)?.textContent)).toBeGreaterThanOrEqual(9);
  });

  it("says undefined and does not draw a mark for it", () => {
    draw(<IntervalPlot label="t" xLabel="IoU" lines={[{ key: "a", name: "A", value: null }, { key: "b", name: "B", value: 0.2 }]} />);
    expect([...box.querySelectorAll(".row-value")].map((text) => text.textContent)).toEqual(["undefined", "0.200"]);
    expect(box.querySelectorAll(".row circle")).toHaveLength(1);
  });

  it("has a button for each line that can be picked, with chance and ceiling in its name", () => {
    const picked = vi.fn();
    const lines = [{ key: "a", name: "A", value: 0.3, low: 0.2, high: 0.4, chance: 0.05, ceiling: 0.9 }];
    draw(<IntervalPlot label="t" xLabel="IoU" lines={lines} onPick={picked} />);
    const button = box.querySelector("[role=button]");
    expect(button?.getAttribute("aria-label")).toBe("A, 0.300, [0.200, 0.400], chance 0.050, ceiling 0.900");
    key(button, "Enter");
    expect(picked).toHaveBeenCalledTimes(1);
  });
});

describe("HeatTable", () => {
  const values = [[0.1, null], [0.2, 0.3]];
  const table = {
    rows: [{ key: "r0", name: "R0" }, { key: "r1", name: "R1" }],
    columns: [{ key: "c0", name: "C0" }, { key: "c1", name: "C1" }],
    cell: (row: number, column: number) => ({ value: values[row]?.[column] ?? null }),
  };

  it("hatches undefined cells and reads them out", () => {
    draw(<HeatTable label="t" {...table} />);
    expect(box.querySelectorAll('.cell rect[style*="heat-missing"]')).toHaveLength(1);
    const chart = box.querySelector("svg.chart");
    key(chart, "ArrowRight");
    key(chart, "ArrowRight");
    expect(box.querySelector(".heat-reading")?.textContent).toBe("R0, C1: undefined");
  });

  it("is picked with Enter", () => {
    const picked = vi.fn();
    draw(<HeatTable label="t" {...table} onPick={picked} />);
    const chart = box.querySelector("svg.chart");
    key(chart, "ArrowDown");
    key(chart, "ArrowDown");
    key(chart, "Enter");
    expect(picked).toHaveBeenCalledWith(1, 0);
  });

  it("has buttons for rows that can be picked", () => {
    const [picked, row] = [vi.fn(), vi.fn()];
    draw(<HeatTable label="t" {...table} onPick={picked} onPickRow={row} />);
    const button = box.querySelectorAll(".row-name")[1] ?? null;
    expect([button?.getAttribute("role"), button?.getAttribute("tabindex"), button?.getAttribute("aria-label")]).toEqual(["button", "0", "R1"]);
    key(button, "Enter");
    expect(row).toHaveBeenCalledWith(1);
    expect(picked).not.toHaveBeenCalled();
  });

  it("gives all its numbers", () => {
    expect(heatData(table).rows).toEqual([["R0", "C0", 0.1], ["R0", "C1", null], ["R1", "C0", 0.2], ["R1", "C1", 0.3]]);
  });
});
