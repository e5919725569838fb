import { describe, expect, it } from "vitest";

import { csvOf, fileName, standalone } from "./export";

describe("csvOf", () => {
  it("leaves undefined values empty, never 0", () => {
    expect(csvOf({ columns: ["a", "b"], rows: [[null, 0]] })).toBe("a,b\r\n,0\r\n");
  });

  it("quotes what would break the table", () => {
    expect(csvOf({ columns: ["a"], rows: [['say "x", y\nz']] })).toBe('a\r\n"say ""x"", y\nz"\r\n');
  });

  it("escapes text that a spreadsheet would run, in cells and in names of columns", () => {
    const texts = ["=1+1", "@x", "+cmd", "-cmd", "\t=1", "\r", "\n=1", "-1.5", "+2e3", "-.5", "a=b"];
    const lines = texts.map((text) => csvOf({ columns: [text], rows: [[text]] }));
    const escaped = lines.filter((line) => /^"?'/.test(line)).length;
    expect(escaped).toBe(7);
    expect(lines[1]).toBe("'@x\r\n'@x\r\n");
    expect(csvOf({ columns: ["a"], rows: [[-1.5]] })).toBe("a\r\n-1.5\r\n");
  });

  it("writes carriage returns as line feeds", () => {
    const lines = csvOf({ columns: ["a\rb"], rows: [["c\r\nd\re"], ["\r=1"]] });
    expect(lines).toBe(`"a\nb"\r\n"c\nd\ne"\r\n"'\n=1"\r\n`);
  });

  it("keeps every digit", () => {
    expect(csvOf({ columns: ["a"], rows: [[0.1234567890123456]] })).toContain("0.1234567890123456");
  });
});

it("fileName has no path in it", () => {
  expect(fileName("../demo/vit@lora: IoU", "csv")).toBe("demo-vit@lora-IoU.csv");
  expect(fileName("///", "svg")).toBe("sightline.svg");
});

describe("standalone", () => {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.innerHTML = '<g class="line"><path d="M0 0" style="stroke: red"/></g><g data-passing=""><circle/></g>';
  document.body.append(svg);

  it("leaves out what only follows the pointer, and stands on white", () => {
    const out = standalone(svg);
    expect(out.querySelector("circle")).toBeNull();
    expect(out.firstElementChild?.getAttribute("fill")).toBe("#ffffff");
  });

  it("writes styles into the drawing and leaves the page as it was", () => {
    const out = standalone(svg);
    expect(out.querySelector("path")?.getAttribute("stroke")).toBe("rgb(255, 0, 0)");
    expect(out.querySelector("[class], [style]")).toBeNull();
    expect(svg.querySelector("circle")).not.toBeNull();
    expect(document.querySelector(".export-room")).toBeNull();
  });
});
