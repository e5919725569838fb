/** Tags and saved selections: to filter by, to keep in order, to carry to another browser. */
import { useRef, useState, type ChangeEvent } from "react";

import { Chip, Link, Panel } from "../../components";
import { fileName, saveText } from "../../export";
import { plural } from "../../format";
import { useMarks } from "../../marks";
import {
  deleteSelection,
  deleteTag,
  importMarks,
  renameTag,
  writeMarks,
  type Marks,
  type SavedSelection,
  type Tag,
} from "../../tags";
import { href } from "../../url";
import { filterBy } from "./filters";
import { CopyLink } from "./picked_bar";
import type { GalleryWords } from "./words";

type Change = (change: (marks: Marks) => Marks) => void;

interface TagChipProps {
  tag: Tag;
  asked: readonly string[];
}

function TagChip({ tag, asked }: TagChipProps) {
  const on = asked.some((name) => name.toLowerCase() === tag.name.toLowerCase());
  const next = on ? asked.filter((name) => name.toLowerCase() !== tag.name.toLowerCase()) : [...asked, tag.name];
  return (
    <Chip tone={on ? "accent" : "plain"} pressed={on} onClick={() => filterBy({ tag: next.join(",") })}>
      {tag.name} <small>{tag.images.length}</small>
    </Chip>
  );
}

function EditTag({ tag, change }: { tag: Tag; change: Change }) {
  const [name, setName] = useState(tag.name);
  return (
    <li>
      <input
        aria-label={`New name of tag ${tag.name}`}
        value={name}
        onChange={(event) => setName(event.target.value)}
        onKeyDown={(event) => event.key === "Enter" && change((now) => renameTag(now, tag.name, name))}
      />
      <button
        type="button"
        className="button quiet"
        disabled={name.trim() === "" || name === tag.name}
        onClick={() => change((now) => renameTag(now, tag.name, name))}
      >
        Rename
      </button>
      <button
        type="button"
        className="button quiet"
        aria-label={`Delete tag ${tag.name}`}
        onClick={() => change((now) => deleteTag(now, tag.name))}
      >
        Delete
      </button>
    </li>
  );
}

function Saved({ selection, change, current }: { selection: SavedSelection; change: Change; current: boolean }) {
  const params = { ...Object.fromEntries(new URLSearchParams(selection.view)), saved: selection.name };
  return (
    <li>
      <Link href={href("/", params)} aria-current={current ? "true" : undefined}>
        {selection.name}
      </Link>{" "}
      <small>
        {plural(selection.images.length, "image")}
        {selection.made !== "" && ` · ${selection.made.slice(0, 10)}`}
      </small>
      <span className="gallery-saved-tools">
        <CopyLink images={selection.images} view={selection.view} label={`Copy link to selection ${selection.name}`} />
        <button
          type="button"
          className="button quiet"
          aria-label={`Delete selection ${selection.name}`}
          onClick={() => change((now) => deleteSelection(now, selection.name))}
        >
          Delete
        </button>
      </span>
    </li>
  );
}

/** Reads a file of marks into those that are here; says what came of it. */
function useImport(study: string, change: Change): [string, (event: ChangeEvent<HTMLInputElement>) => Promise<void>] {
  const [said, setSaid] = useState("");
  const read = async (event: ChangeEvent<HTMLInputElement>) => {
    const field = event.target;
    const file = field.files?.[0];
    if (file === undefined) return;
    const text = await file.text();
    // The same file can then be chosen again.
    field.value = "";
    try {
      change((now) => {
        const got = importMarks(now, text, study);
        const from = got.otherStudy === null ? "" : `, made for the study “${got.otherStudy}”`;
        setSaid(`Read ${plural(got.tags, "tag")} and ${plural(got.selections, "selection")}${from}.`);
        return got.marks;
      });
    } catch (error) {
      setSaid(`Nothing was read: ${error instanceof Error ? error.message : String(error)}.`);
    }
  };
  return [said, read];
}

interface MarksPanelProps {
  study: string;
  words: GalleryWords;
}

/** The panel. */
export function MarksPanel({ study, words }: MarksPanelProps) {
  const { marks, problem, change } = useMarks(study);
  const [said, read] = useImport(study, change);
  const file = useRef<HTMLInputElement>(null);
  const empty = marks.tags.length === 0 && marks.selections.length === 0;
  return (
    <Panel
      title="Tags and selections"
      className="gallery-marks"
      note={empty ? "Pick images (Space, or the box on a card) to tag them or to save them as a selection." : "Kept in this browser."}
    >
      {marks.tags.length > 0 && (
        <div className="gallery-chip-row" role="group" aria-label="Filter by tags">
          {marks.tags.map((tag) => (
            <TagChip key={tag.name} tag={tag} asked={words.tags} />
          ))}
        </div>
      )}
      {marks.selections.length > 0 && (
        <ul className="gallery-saved" aria-label="Saved selections">
          {marks.selections.map((selection) => (
            <Saved key={selection.name} selection={selection} change={change} current={selection.name === words.saved} />
          ))}
        </ul>
      )}
      {marks.tags.length > 0 && (
        <details>
          <summary>Edit tags</summary>
          <ul className="gallery-saved">
            {marks.tags.map((tag) => (
              <EditTag key={tag.name} tag={tag} change={change} />
            ))}
          </ul>
        </details>
      )}
      <div className="gallery-chip-row">
        <button
          type="button"
          className="button quiet"
          disabled={empty}
          onClick={() => saveText(writeMarks(marks, study), fileName(`${study}-tags`, "json"), "application/json")}
        >
          Export
        </button>
        <button type="button" className="button quiet" onClick={() => file.current?.click()}>
          Import
        </button>
        <input
          ref={file}
          type="file"
          accept="application/json,.json"
          className="hidden"
          aria-label="File of tags and selections"
          tabIndex={-1}
          onChange={(event) => void read(event)}
        />
      </div>
      <p role="status" className="note">
        {said || problem}
      </p>
    </Panel>
  );
}
