/** Which image: by name, or the one before and the one after. */
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useId, useState, type FormEvent } from "react";

import { useImages } from "../../api/queries";
import { useKeys } from "../../keys";
import { setParams } from "../../url";
import { everyImage } from "../gallery/items";
import { useSettled } from "../image/settled";

const SUGGESTED = 20;

/** Shows another image; regions and place belong to the one before. */
export function showImage(image: string): void {
  setParams({ image, region: null, view: null }, { push: true });
}

/** Goes some images on, by name; from the last to the first. */
function useStep(image: string): (by: number) => Promise<void> {
  const client = useQueryClient();
  return async (by) => {
    const { items } = await everyImage(client, { sort: "image", ascending: true });
    const now = items.findIndex((item) => item.image === image);
    const next = items[(now + by + items.length) % items.length];
    if (next !== undefined) showImage(next.image);
  };
}

export function ImagePicker({ image }: { image: string }) {
  const id = useId();
  const [typed, setTyped] = useState(image);
  useEffect(() => setTyped(image), [image]);
  const text = useSettled(typed === image ? "" : typed);
  const found = useImages({ text, sort: "image", ascending: true, limit: SUGGESTED }, { keep: true }).data;
  const names = found?.items.map((item) => item.image) ?? [];
  const step = useStep(image);
  useKeys("Compare", [
    { keys: ["j"], label: "next image", run: () => void step(1) },
    { keys: ["k"], label: "image before", run: () => void step(-1) },
  ]);
  const choose = (name: string) => {
    setTyped(name);
    if (names.includes(name)) showImage(name);
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const [first] = names;
    if (names.includes(typed)) showImage(typed);
    else if (first !== undefined) showImage(first);
  };
  return (
    <form className="compare-picker" onSubmit={submit}>
      <button type="button" className="button" aria-label="Image before" onClick={() => void step(-1)}>
        ‹
      </button>
      <div className="field">
        <label htmlFor={id}>Image</label>
        <input
          id={id}
          type="search"
          list={`${id}-names`}
          value={typed}
          spellCheck={false}
          autoComplete="off"
          onChange={(event) => choose(event.target.value)}
          onBlur={() => setTyped(image)}
        />
        <datalist id={`${id}-names`}>
          {names.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      </div>
      <button type="button" className="button" aria-label="Next image" onClick={() => void step(1)}>
        ›
      </button>
    </form>
  );
}
