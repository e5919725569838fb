import { act } from "react";
import { afterEach, describe, expect, it, vi } from "vitest";

import { carriedToView, DataTable, Loaded, Score, Slider, Tip, compareCells, tableData, type Column } from ".";
import type { Result } from "../api/queries";
import { drawnBox } from "../drawn";

const { box, draw } = drawnBox();

interface Row {
  name: string;
  value: number | null;
}
const ROWS: Row[] = [
  { name: "b", value: 0.2 },
  { name: "c", value: null },
  { name: "a", value: 0.9 },
];
const COLUMNS: Column<Row>[] = [
  { key: "name", title: "Name", value: (row) => row.name },
  { key: "value", title: "Value", value: (row) => row.value, align: "right" },
];
const names = () => [...box.querySelectorAll("tbody tr")].map((row) => row.firstElementChild?.textContent);

describe("DataTable", () => {
  it("sorts, with undefined last in both directions", () => {
    draw(<DataTable columns={COLUMNS} rows={ROWS} rowKey={(row) => row.name} caption="t" />);
    const button = box.querySelectorAll<HTMLButtonElement>(".sort")[1];
    act(() => button?.click());
    expect(names()).toEqual(["a", "b", "c"]);
    act(() => button?.click());
    expect(names()).toEqual(["b", "a", "c"]);
    expect(box.querySelector("th[aria-sort]")?.getAttribute("aria-sort")).toBe("ascending");
  });

  it("shows undefined in words and leaves it empty in the file", () => {
    draw(<DataTable columns={COLUMNS} rows={ROWS} rowKey={(row) => row.name} caption="t" />);
    expect(box.textContent).toContain("undefined");
    expect(tableData(COLUMNS, ROWS).rows[1]).toEqual(["c", null]);
  });

  it("shows the rest on demand", () => {
    draw(<DataTable columns={COLUMNS} rows={ROWS} rowKey={(row) => row.name} caption="t" shown={2} />);
    expect(names()).toHaveLength(2);
    act(() => box.querySelector<HTMLButtonElement>(".table-box > .button")?.click());
    expect(names()).toHaveLength(3);
  });
});

describe("Loaded", () => {
  const of = (data: unknown) => ({ data }) as Result<unknown>;

  it("says what speaks against comparing the scores of a table, once and over it", () => {
    draw(<Loaded of={of({ note: "means", warnings: ["maps were scored on several grids"] })}>{() => <table />}</Loaded>);
    const [warning, ...more] = box.querySelectorAll("[role=note]");
    expect(more).toEqual([]);
    expect(warning?.textContent).toBe("Not comparable. Maps were scored on several grids.");
    expect(warning?.nextElementSibling?.tagName).toBe("TABLE");
  });

  it("says nothing where nothing does", () => {
    for (const data of [{ note: "means", warnings: [] }, { note: "means" }, null, [1]]) {
      draw(<Loaded of={of(data)}>{() => <table />}</Loaded>);
      expect(box.querySelector("[role=note]")).toBeNull();
      expect(box.querySelector("table")).not.toBeNull();
    }
  });
});

it("carriedToView leaves a choice of maps behind where a table of all follows, and filters between tables", () => {
  const [words, one, all] = [{ model: "m", metric: "iou" }, { single: true }, {}];
  expect(carriedToView(words, one, all)).toEqual({ metric: "iou" });
  expect(carriedToView(words, all, all)).toEqual(words);
  expect(carriedToView(words, all, one)).toEqual(words);
  expect(carriedToView(words, one, one)).toEqual(words);
});

it("compareCells reads numbers in names", () => {
  expect(compareCells("layer 2", "layer 10", true)).toBeLessThan(0);
});

it("Score has chance and ceiling beside the value", () => {
  draw(<Score value={0.25} chance={0.053} ceiling={0.971} low={0.2} high={0.3} />);
  expect(box.textContent).toBe("0.250 [0.200, 0.300] · chance 0.053 · ceiling 0.971");
});

it("Slider keeps typed numbers inside its range", () => {
  const changed = vi.fn();
  draw(<Slider label="Percentile" value={90} min={1} max={99} onChange={changed} typed />);
  const field = box.querySelector<HTMLInputElement>("input[type=number]");
  act(() => {
    if (field) field.value = "250";
    field?.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
  });
  expect(changed).toHaveBeenCalledWith(99);
});

describe("Tip", () => {
  const bubble = () => document.querySelector("[role=tooltip]");
  // React hears that the mouse enters and leaves by what it comes from and goes to.
  const move = (from: Element, to: Element) => {
    act(() => {
      from.dispatchEvent(new MouseEvent("mouseout", { bubbles: true, relatedTarget: to }));
      to.dispatchEvent(new MouseEvent("mouseover", { bubbles: true, relatedTarget: from }));
    });
  };
  const wait = () => act(() => vi.advanceTimersByTime(1000));
  const hovered = () => {
    vi.useFakeTimers();
    draw(<Tip text="what it means">IoU</Tip>);
    const term = box.querySelector("button")!;
    move(document.body, term);
    return term;
  };
  afterEach(() => void vi.useRealTimers());

  it("goes with Escape wherever the focus is", () => {
    hovered();
    expect(bubble()?.textContent).toBe("what it means");
    act(() => void document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true })));
    expect(bubble()).toBeNull();
  });

  it("stays while the mouse is on it, and goes when that has left", () => {
    const term = hovered();
    move(term, document.body); // the gap between the two
    move(document.body, bubble()!);
    wait();
    expect(bubble()).not.toBeNull();
    move(bubble()!, document.body);
    wait();
    expect(bubble()).toBeNull();
  });
});
