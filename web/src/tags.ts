/**
 * Tags and saved selections of images, as values: nothing here touches the browser.
 *
 * A tag is a word on any number of images; a saved selection is a list of images with the view in
 * which it was made. Both are lists of named things (no objects keyed by what people type), sorted
 * by name, and every function gives a new value.
 */

export interface Tag {
  readonly name: string;
  readonly images: readonly string[];
}

export interface SavedSelection {
  readonly name: string;
  readonly images: readonly string[];
  /** The query of the gallery in which it was made, without the images themselves. */
  readonly view: string;
  /** When it was made; ISO 8601. */
  readonly made: string;
}

export interface Marks {
  readonly tags: readonly Tag[];
  readonly selections: readonly SavedSelection[];
}

/** What an import brought. */
export interface Imported {
  readonly marks: Marks;
  readonly tags: number;
  readonly selections: number;
  /** The study for which the file was written, where it is another one. */
  readonly otherStudy: string | null;
}

export const NO_MARKS: Marks = { tags: [], selections: [] };
export const LONGEST_NAME = 40;

const IMAGE_ID = /^[A-Za-z0-9._-]{1,200}$/;
const KIND = "sightline marks";

/** What was typed, as a name: one line, no commas (they part names in links), no outer blanks. */
export function cleanName(typed: string): string {
  return typed.replace(/[\s,\p{Cc}]+/gu, " ").trim().slice(0, LONGEST_NAME).trim();
}

function sameName(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name.localeCompare(b.name, "en", { numeric: true, sensitivity: "base" });
}

function unique(images: Iterable<string>): string[] {
  return [...new Set(images)];
}

/** The tag of this name, whatever its capitals. */
export function findTag(marks: Marks, name: string): Tag | undefined {
  const wanted = cleanName(name);
  return marks.tags.find((tag) => sameName(tag.name, wanted));
}

/** The saved selection of this name, whatever its capitals. */
export function findSelection(marks: Marks, name: string): SavedSelection | undefined {
  const wanted = cleanName(name);
  return marks.selections.find((selection) => sameName(selection.name, wanted));
}

function withTag(marks: Marks, name: string, images: readonly string[]): Marks {
  const others = marks.tags.filter((tag) => !sameName(tag.name, name));
  const tags = images.length > 0 ? [...others, { name, images }] : others;
  return { ...marks, tags: tags.toSorted(byName) };
}

/** Put a tag on images. An empty name changes nothing. */
export function addTag(marks: Marks, typed: string, images: Iterable<string>): Marks {
  const before = findTag(marks, typed);
  const name = before?.name ?? cleanName(typed);
  if (name === "") return marks;
  return withTag(marks, name, unique([...(before?.images ?? []), ...images]));
}

/** Take a tag off images; a tag that is on no image any more is gone. */
export function removeTag(marks: Marks, typed: string, images: Iterable<string>): Marks {
  const before = findTag(marks, typed);
  if (before === undefined) return marks;
  const gone = new Set(images);
  return withTag(marks, before.name, before.images.filter((image) => !gone.has(image)));
}

/** Do away with a tag. */
export function deleteTag(marks: Marks, typed: string): Marks {
  const found = findTag(marks, typed);
  return found === undefined ? marks : withTag(marks, found.name, []);
}

/** Give a tag another name; where that is taken, the two become one. */
export function renameTag(marks: Marks, typed: string, to: string): Marks {
  const found = findTag(marks, typed);
  const name = cleanName(to);
  if (found === undefined || name === "") return marks;
  const without = deleteTag(marks, found.name);
  const target = findTag(without, name);
  return withTag(without, name, unique([...(target?.images ?? []), ...found.images]));
}

/** Names of the tags of an image. */
export function tagsOf(marks: Marks, image: string): string[] {
  return marks.tags.filter((tag) => tag.images.includes(image)).map((tag) => tag.name);
}

/** Names of the tags of every image that has one: quick where many images are shown. */
export function tagsByImage(marks: Marks): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const tag of marks.tags) {
    for (const image of tag.images) {
      const names = found.get(image);
      if (names === undefined) found.set(image, [tag.name]);
      else names.push(tag.name);
    }
  }
  return found;
}

/** Images that have every one of the tags, in the order of the first; none for an unknown tag. */
export function imagesWith(marks: Marks, names: readonly string[]): string[] {
  const [first, ...rest] = names.map((name) => findTag(marks, name)?.images ?? []);
  if (first === undefined) return [];
  const others = rest.map((images) => new Set(images));
  return first.filter((image) => others.every((images) => images.has(image)));
}

/** Keep a selection under a name, in place of one that has it. */
export function saveSelection(marks: Marks, selection: SavedSelection): Marks {
  const name = cleanName(selection.name);
  const images = unique(selection.images);
  if (name === "" || images.length === 0) return marks;
  const others = marks.selections.filter((other) => !sameName(other.name, name));
  return { ...marks, selections: [...others, { ...selection, name, images }].toSorted(byName) };
}

/** Do away with a saved selection. */
export function deleteSelection(marks: Marks, typed: string): Marks {
  const wanted = cleanName(typed);
  const selections = marks.selections.filter((selection) => !sameName(selection.name, wanted));
  return { ...marks, selections };
}

/** All of it as a file that `readMarks` reads. */
export function writeMarks(marks: Marks, study: string): string {
  const file = { kind: KIND, version: 1, study, tags: marks.tags, selections: marks.selections };
  return `${JSON.stringify(file, null, 2)}\n`;
}

type Fields = Readonly<Record<string, unknown>>;

function fields(value: unknown, what: string): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Error(`${what}: expected an object`);
  }
  return value as Fields;
}

function list(value: unknown, what: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new Error(`${what}: expected a list`);
  return value;
}

function text(value: unknown, what: string): string {
  if (typeof value !== "string") throw new Error(`${what}: expected text`);
  return value;
}

function readName(value: unknown, what: string): string {
  const name = cleanName(text(value, what));
  if (name === "") throw new Error(`${what}: expected a name, got nothing`);
  return name;
}

function readImages(value: unknown, what: string): string[] {
  const images = list(value, what).map((image) => {
    const id = text(image, what);
    if (!IMAGE_ID.test(id)) throw new Error(`${what}: "${id.slice(0, 60)}" is no name of an image`);
    return id;
  });
  return unique(images);
}

function readSelection(value: unknown, where: string): SavedSelection {
  const raw = fields(value, where);
  return {
    name: readName(raw["name"], `${where}, name`),
    images: readImages(raw["images"], `${where}, images`),
    view: text(raw["view"] ?? "", `${where}, view`),
    made: text(raw["made"] ?? "", `${where}, made`),
  };
}

/** Read a file of `writeMarks`; an `Error` names the part of it that is wrong. */
export function readMarks(file: string): { readonly study: string; readonly marks: Marks } {
  let parsed: unknown;
  try {
    parsed = JSON.parse(file);
  } catch {
    throw new Error("the file is not JSON");
  }
  const raw = fields(parsed, "the file");
  if (raw["kind"] !== KIND) throw new Error(`the file is not of tags: expected kind "${KIND}"`);
  if (raw["version"] !== 1) throw new Error(`version ${String(raw["version"])}: expected 1`);
  let marks = NO_MARKS;
  list(raw["tags"], "tags").forEach((tag, index) => {
    const where = `tag ${index + 1}`;
    const entry = fields(tag, where);
    const images = readImages(entry["images"], `${where}, images`);
    marks = addTag(marks, readName(entry["name"], `${where}, name`), images);
  });
  list(raw["selections"], "selections").forEach((selection, index) => {
    marks = saveSelection(marks, readSelection(selection, `selection ${index + 1}`));
  });
  return { study: text(raw["study"], "study"), marks };
}

function sameImages(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((image, index) => image === b[index]);
}

function freeName(marks: Marks, name: string): string {
  for (let count = 2; ; count += 1) {
    const tail = ` (${count})`;
    const candidate = cleanName(name.slice(0, LONGEST_NAME - tail.length)) + tail;
    if (findSelection(marks, candidate) === undefined) return candidate;
  }
}

function addSelection(marks: Marks, selection: SavedSelection): Marks {
  const before = findSelection(marks, selection.name);
  if (before === undefined) return saveSelection(marks, selection);
  if (sameImages(before.images, selection.images)) return marks;
  return saveSelection(marks, { ...selection, name: freeName(marks, selection.name) });
}

/**
 * What is there and what a file brings: tags of one name are joined; a selection whose name is
 * taken by other images comes under a new name, so that nothing is lost.
 */
export function importMarks(marks: Marks, file: string, study: string): Imported {
  const read = readMarks(file);
  let joined = marks;
  for (const tag of read.marks.tags) joined = addTag(joined, tag.name, tag.images);
  for (const selection of read.marks.selections) joined = addSelection(joined, selection);
  return {
    marks: joined,
    tags: read.marks.tags.length,
    selections: read.marks.selections.length,
    otherStudy: read.study === study ? null : read.study,
  };
}
