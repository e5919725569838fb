/** What can be done with the images that are picked. */
import { useState, type FormEvent } from "react";

import { Chip, Link } from "../../components";
import { TagInput } from "../../components/tag_bar";
import { plural } from "../../format";
import { useMarks } from "../../marks";
import { addTag, cleanName, LONGEST_NAME, removeTag, saveSelection } from "../../tags";
import { here, href, to, type Words } from "../../url";
import { filterBy } from "./filters";
import { setPicked } from "./picked";
import { fitsInAddress } from "./words";

export const TAG_ID = "gallery-tag";
export const SAVE_ID = "gallery-save";

/** The query of the gallery without what names images: kept with a saved selection. */
export function viewOf(params: URLSearchParams): string {
  const kept = new URLSearchParams(params);
  for (const name of ["ids", "saved", "tag", "at"]) kept.delete(name);
  return kept.toString();
}

/** A link that shows these images to anybody; null where they are too many for one. */
export function linkTo(images: readonly string[], view: string): string | null {
  if (!fitsInAddress(images)) return null;
  const params = Object.fromEntries(new URLSearchParams(view));
  return new URL(href("/", { ...params, ids: images.join(",") }), window.location.origin).href;
}

interface CopyProps {
  images: readonly string[];
  view: string;
  label: string;
}

/** A button that copies a link to images; it says when it has. */
export function CopyLink({ images, view, label }: CopyProps) {
  const [said, setSaid] = useState("");
  const link = linkTo(images, view);
  const copy = async () => {
    if (link === null) return;
    try {
      await navigator.clipboard.writeText(link);
      setSaid("Copied");
    } catch {
      setSaid("The browser did not let the link be copied");
    }
  };
  return (
    <>
      <button
        type="button"
        className="button quiet"
        disabled={link === null}
        title={link === null ? "Too many images for a link: export the selection instead" : undefined}
        aria-label={label}
        onClick={() => void copy()}
      >
        Copy link
      </button>
      <span role="status" className="soft">
        {said}
      </span>
    </>
  );
}

function SaveAs({ onSave }: { onSave: (name: string) => void }) {
  const [typed, setTyped] = useState("");
  const name = cleanName(typed);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (name === "") return;
    onSave(name);
    setTyped("");
  };
  return (
    <form className="tag-input" onSubmit={submit}>
      <label htmlFor={SAVE_ID} className="hidden">
        Save as selection
      </label>
      <input
        id={SAVE_ID}
        value={typed}
        maxLength={LONGEST_NAME}
        placeholder="Save as selection"
        autoComplete="off"
        onChange={(event) => setTyped(event.target.value)}
      />
      <button type="submit" className="button" disabled={name === ""}>
        Save
      </button>
    </form>
  );
}

interface PickedBarProps {
  study: string;
  picked: ReadonlySet<string>;
  words: Words;
}

/** A bar at the bottom of the window while images are picked. */
export function PickedBar({ study, picked, words }: PickedBarProps) {
  const { marks, change } = useMarks(study);
  const [said, setSaid] = useState("");
  const images = [...picked];
  const [first] = images;
  if (first === undefined) return null;
  const shared = marks.tags.filter((tag) => images.every((image) => tag.images.includes(image)));
  const tag = (name: string) => {
    change((now) => addTag(now, name, images));
    setSaid(`Tagged ${plural(images.length, "image")} “${name}”`);
  };
  const save = (name: string) => {
    const view = viewOf(here().params);
    change((now) => saveSelection(now, { name, images, view, made: new Date().toISOString() }));
    setSaid(`Saved ${plural(images.length, "image")} as “${name}”`);
  };
  return (
    <section className="gallery-picked" aria-label="Picked images">
      <strong>{plural(images.length, "image")} picked</strong>
      <TagInput id={TAG_ID} label="Tag them" button="Tag" known={marks.tags.map((one) => one.name)} onAdd={tag} />
      {shared.map(({ name }) => (
        <Chip
          key={name}
          tone="accent"
          onRemove={() => change((now) => removeTag(now, name, images))}
          removeLabel={`Remove tag ${name} from the picked images`}
        >
          {name}
        </Chip>
      ))}
      <SaveAs onSave={save} />
      <button
        type="button"
        className="button quiet"
        disabled={!fitsInAddress(images)}
        onClick={() => filterBy({ ids: images.join(","), saved: null, tag: null })}
      >
        Show these alone
      </button>
      <CopyLink images={images} view={viewOf(here().params)} label="Copy link to the picked images" />
      <Link className="button quiet" href={to.compare({ image: first, ...compareWords(words) })}>
        Compare maps
      </Link>
      <button type="button" className="button quiet" onClick={() => setPicked([])}>
        Unpick all
      </button>
      <span role="status" className="soft">
        {said}
      </span>
    </section>
  );
}

/** The words that Compare shares with the gallery: the rule, not the map, which its panes name. */
export function compareWords({ percentile, selection, ties }: Words): Words {
  return { percentile, selection, ties };
}
