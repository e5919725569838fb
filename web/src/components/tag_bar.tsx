/** Tags of images, to see, add and take away. */
import { useId, useState, type FormEvent } from "react";

import { useMarks } from "../marks";
import { addTag, cleanName, findTag, LONGEST_NAME, removeTag, tagsOf } from "../tags";
import { Chip } from "./pieces";
import "../styles/tags.css";

interface TagInputProps {
  /** Names that exist, to choose from. */
  known: readonly string[];
  onAdd: (name: string) => void;
  label?: string;
  button?: string;
  /** For a command that goes there. */
  id?: string;
}

/** A field for the name of a tag, with the known ones to choose from. */
export function TagInput({ known, onAdd, label = "Add a tag", button = "Add", id }: TagInputProps) {
  const made = useId();
  const [typed, setTyped] = useState("");
  const field = id ?? made;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const name = cleanName(typed);
    if (name === "") return;
    onAdd(name);
    setTyped("");
  };
  return (
    <form className="tag-input" onSubmit={submit}>
      <label htmlFor={field} className="hidden">
        {label}
      </label>
      <input
        id={field}
        list={`${field}-known`}
        value={typed}
        maxLength={LONGEST_NAME}
        placeholder={label}
        autoComplete="off"
        spellCheck={false}
        onChange={(event) => setTyped(event.target.value)}
      />
      <datalist id={`${field}-known`}>
        {known.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <button type="submit" className="button" disabled={cleanName(typed) === ""}>
        {button}
      </button>
    </form>
  );
}

interface TagBarProps {
  /** Name of the study: tags belong to one. */
  study: string;
  image: string;
  /** Of the field, for a command that goes there. */
  id?: string;
}

/** The tags of one image. */
export function TagBar({ study, image, id }: TagBarProps) {
  const { marks, problem, change } = useMarks(study);
  const names = tagsOf(marks, image);
  const others = marks.tags.map((tag) => tag.name).filter((name) => !names.includes(name));
  const add = (name: string) =>
    change((now) => (findTag(now, name)?.images.includes(image) ? now : addTag(now, name, [image])));
  return (
    <div className="tag-bar" role="group" aria-label={`Tags of ${image}`}>
      {names.map((name) => (
        <Chip
          key={name}
          tone="accent"
          onRemove={() => change((now) => removeTag(now, name, [image]))}
          removeLabel={`Remove tag ${name}`}
        >
          {name}
        </Chip>
      ))}
      <TagInput known={others} onAdd={add} id={id} />
      {problem !== "" && (
        <p role="alert" className="note">
          {problem}
        </p>
      )}
    </div>
  );
}
