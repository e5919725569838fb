import { describe, expect, it } from "vitest";

import {
  addTag,
  cleanName,
  deleteSelection,
  deleteTag,
  findSelection,
  findTag,
  imagesWith,
  importMarks,
  LONGEST_NAME,
  NO_MARKS,
  readMarks,
  removeTag,
  renameTag,
  saveSelection,
  tagsByImage,
  tagsOf,
  writeMarks,
  type Marks,
} from "./tags";

const TWO = addTag(addTag(NO_MARKS, "odd", ["a.png", "b.png"]), "good", ["b.png", "c.png"]);

function selection(name: string, images: string[], view = "style=Gothic") {
  return { name, images, view, made: "2026-01-02T03:04:05Z" };
}

describe("names", () => {
  it("are one line without commas or outer blanks", () => {
    expect(cleanName("  look,\n again\t ")).toBe("look again");
    expect(cleanName(" , ")).toBe("");
    expect(cleanName("x".repeat(90))).toHaveLength(LONGEST_NAME);
  });

  it("that JavaScript has its own use for are names like others", () => {
    const marks = addTag(NO_MARKS, "__proto__", ["a.png"]);
    expect(tagsOf(marks, "a.png")).toEqual(["__proto__"]);
    expect(findTag(marks, "constructor")).toBeUndefined();
  });
});

describe("tags", () => {
  it("are put on images once, sorted by name", () => {
    expect(TWO.tags.map((tag) => tag.name)).toEqual(["good", "odd"]);
    expect(addTag(TWO, "odd", ["a.png", "d.png"]).tags[1]?.images).toEqual([
      "a.png",
      "b.png",
      "d.png",
    ]);
  });

  it("keep their first spelling", () => {
    const marks = addTag(TWO, "ODD", ["z.png"]);
    expect(marks.tags).toHaveLength(2);
    expect(findTag(marks, "Odd")).toEqual({ name: "odd", images: ["a.png", "b.png", "z.png"] });
  });

  it("without a name or without images are none", () => {
    expect(addTag(NO_MARKS, "  ", ["a.png"])).toBe(NO_MARKS);
    expect(addTag(NO_MARKS, "x", []).tags).toEqual([]);
  });

  it("leave when their last image does", () => {
    const marks = removeTag(TWO, "odd", ["a.png"]);
    expect(findTag(marks, "odd")?.images).toEqual(["b.png"]);
    expect(findTag(removeTag(marks, "odd", ["b.png"]), "odd")).toBeUndefined();
    expect(removeTag(TWO, "unknown", ["a.png"])).toBe(TWO);
  });

  it("can be renamed, and joined by it", () => {
    expect(findTag(renameTag(TWO, "odd", "Odd"), "odd")?.name).toBe("Odd");
    const joined = renameTag(TWO, "odd", "good");
    expect(joined.tags).toEqual([{ name: "good", images: ["b.png", "c.png", "a.png"] }]);
    expect(renameTag(TWO, "odd", " ")).toBe(TWO);
  });

  it("can be deleted", () => {
    expect(deleteTag(TWO, "ODD").tags.map((tag) => tag.name)).toEqual(["good"]);
  });

  it("are found by image", () => {
    expect(tagsOf(TWO, "b.png")).toEqual(["good", "odd"]);
    expect(tagsByImage(TWO).get("b.png")).toEqual(["good", "odd"]);
    expect(tagsByImage(TWO).get("d.png")).toBeUndefined();
  });

  it("together filter by all of them", () => {
    expect(imagesWith(TWO, ["odd"])).toEqual(["a.png", "b.png"]);
    expect(imagesWith(TWO, ["odd", "GOOD"])).toEqual(["b.png"]);
    expect(imagesWith(TWO, ["odd", "unknown"])).toEqual([]);
    expect(imagesWith(TWO, [])).toEqual([]);
  });

  it("never change the value they were put on", () => {
    const before = JSON.stringify(TWO);
    addTag(TWO, "odd", ["q.png"]);
    deleteTag(TWO, "odd");
    renameTag(TWO, "odd", "good");
    expect(JSON.stringify(TWO)).toBe(before);
  });
});

describe("saved selections", () => {
  it("keep their images in order, each once, with the view", () => {
    const marks = saveSelection(NO_MARKS, selection(" worst ", ["b.png", "a.png", "b.png"]));
    expect(findSelection(marks, "Worst")).toEqual(selection("worst", ["b.png", "a.png"]));
  });

  it("replace what has their name", () => {
    const first = saveSelection(NO_MARKS, selection("worst", ["a.png"]));
    const second = saveSelection(first, selection("WORST", ["b.png"]));
    expect(second.selections.map((one) => one.images)).toEqual([["b.png"]]);
  });

  it("without name or images are not kept", () => {
    expect(saveSelection(NO_MARKS, selection(" ", ["a.png"]))).toBe(NO_MARKS);
    expect(saveSelection(NO_MARKS, selection("x", []))).toBe(NO_MARKS);
  });

  it("can be deleted", () => {
    const marks = saveSelection(TWO, selection("worst", ["a.png"]));
    expect(deleteSelection(marks, "Worst")).toEqual(TWO);
  });
});

describe("files", () => {
  const marks: Marks = saveSelection(TWO, selection("worst", ["b.png", "a.png"]));

  it("give back what was written", () => {
    expect(readMarks(writeMarks(marks, "demo"))).toEqual({ study: "demo", marks });
  });

  it("join what is there", () => {
    const here = saveSelection(addTag(NO_MARKS, "Odd", ["z.png"]), selection("worst", ["z.png"]));
    const got = importMarks(here, writeMarks(marks, "demo"), "demo");
    expect(findTag(got.marks, "odd")).toEqual({ name: "Odd", images: ["z.png", "a.png", "b.png"] });
    expect(findSelection(got.marks, "worst")?.images).toEqual(["z.png"]);
    expect(findSelection(got.marks, "worst (2)")?.images).toEqual(["b.png", "a.png"]);
    expect([got.tags, got.selections, got.otherStudy]).toEqual([2, 1, null]);
  });

  it("read twice bring nothing new", () => {
    const once = importMarks(NO_MARKS, writeMarks(marks, "demo"), "demo");
    const twice = importMarks(once.marks, writeMarks(marks, "demo"), "demo");
    expect(twice.marks).toEqual(marks);
  });

  it("of another study say so", () => {
    expect(importMarks(NO_MARKS, writeMarks(marks, "demo"), "mine").otherStudy).toBe("demo");
  });

  it.each([
    ["{", /not JSON/],
    ["[]", /expected an object/],
    ['{"kind": "x"}', /not of tags/],
    ['{"kind": "sightline marks", "version": 2}', /version 2: expected 1/],
    ['{"kind": "sightline marks", "version": 1}', /tags: expected a list/],
    [
      '{"kind": "sightline marks", "version": 1, "tags": [{"name": "a", "images": ["../x"]}]}',
      /tag 1, images: "\.\.\/x" is no name of an image/,
    ],
    [
      '{"kind": "sightline marks", "version": 1, "tags": [{"name": 3, "images": []}]}',
      /tag 1, name: expected text/,
    ],
    [
      '{"kind": "sightline marks", "version": 1, "tags": [], "selections": [{"name": " "}]}',
      /selection 1, name: expected a name/,
    ],
  ])("that are wrong are refused by name: %s", (file, message) => {
    expect(() => readMarks(file)).toThrow(message);
  });
});
