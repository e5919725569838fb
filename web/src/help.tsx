/** The dialog under `?`: keys that work here, and words used everywhere. */
import { useEffect, useRef } from "react";

import { Checkbox, Key } from "./components";
import { keyLabel, keyParts, useCommandGroups, useKeysEnabled } from "./keys";

function Keys({ keys }: { keys: string }) {
  return (
    <>
      {keys.split(" ").map((key, index) => (
        <span key={index}>
          {index > 0 && " then "}
          {keyParts(key).map((part, at) => (
            <Key key={at}>{keyLabel(part)}</Key>
          ))}
        </span>
      ))}
    </>
  );
}

function Commands() {
  const groups = useCommandGroups();
  return (
    <>
      {groups.map((group, index) => (
        <section key={index}>
          <h3>{group.title}</h3>
          <dl className="keys">
            {group.commands.map((command) => (
              <div key={command.label}>
                <dt>
                  {command.keys.map((keys, at) => (
                    <span key={keys}>
                      {at > 0 && " or "}
                      <Keys keys={keys} />
                    </span>
                  ))}
                </dt>
                <dd>{command.label}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </>
  );
}

const WORDS: readonly (readonly [string, string])[] = [
  ["Map", "Scores over an image: attention, attribution or similarity, on the model's own grid."],
  ["Region", "What a person annotated: a box, an outline or a point. The union is all regions of an image."],
  ["Chance", "What a map without information scores. It depends on how much is annotated and selected."],
  ["Ceiling", "The best score that is possible when so many pixels are selected."],
  ["Interval", "Where the mean over images lies with 95% confidence. Images, not pixels, are the sample."],
  ["Undefined", "The metric has no value there, for instance without regions. It is counted, never shown as 0."],
  ["Prototype", "A patch of a training image that a model compares images with, and decides by."],
  ["Focused, dual", "Copies of an image that are changed where an attribution is high, or where it is low."],
  ["Proposal", "A region that a model found where annotations may be missing: people accept or reject it."],
  ["Gold set", "Images that people annotate completely, by eye alone: estimates are corrected by them."],
  ["Plausible", "Agreement with people. It does not show that the model decides by what the map shows."],
];

/** The dialog. */
export function Help({ open, onClose }: { open: boolean; onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [enabled, setEnabled] = useKeysEnabled();
  useEffect(() => {
    const element = dialog.current;
    if (open && element && !element.open) element.showModal();
    if (!open && element?.open) element.close();
  }, [open]);
  return (
    <dialog
      ref={dialog}
      className="help"
      aria-labelledby="help-title"
      onClose={onClose}
      onClick={(event) => event.target === event.currentTarget && onClose()}
    >
      {open && (
        <div>
          <header>
            <h2 id="help-title">Keys and words</h2>
            <button type="button" className="button" onClick={onClose}>
              Close
            </button>
          </header>
          <Checkbox label="Keys without Ctrl or Alt work" checked={enabled} onChange={setEnabled} />
          <div className="help-columns">
            <div>
              <Commands />
            </div>
            <section>
              <h3>Words</h3>
              <dl className="words">
                {WORDS.map(([word, meaning]) => (
                  <div key={word}>
                    <dt>{word}</dt>
                    <dd>{meaning}</dd>
                  </div>
                ))}
              </dl>
              <p className="soft">The address holds all that you chose: a copied link shows the same view.</p>
            </section>
          </div>
        </div>
      )}
    </dialog>
  );
}
