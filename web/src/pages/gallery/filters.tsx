/** What narrows the images down, and whose score they show. */
import { useEffect, useState } from "react";

import type { Choice, StudyInfo } from "../../api/client";
import { Chip, Panel, Search, Select } from "../../components";
import { ChoiceFields, type Asked } from "../../components/choice_fields";
import { plural } from "../../format";
import { setParams, type Params } from "../../url";
import { WARNING_MEANS, WARNINGS, type GalleryWords } from "./words";

const SETTLES_MS = 200;
export const SEARCH_ID = "gallery-search";

/** Sets a filter: a step for "back", and the grid starts anew. */
export function filterBy(changes: Params): void {
  setParams({ ...changes, at: null }, { push: true });
}

/** Text is looked for once typing pauses. */
function TextFilter({ text }: { text: string }) {
  const [typed, setTyped] = useState(text);
  useEffect(() => setTyped(text), [text]);
  useEffect(() => {
    if (typed === text) return undefined;
    const timer = setTimeout(() => setParams({ text: typed, at: null }), SETTLES_MS);
    return () => clearTimeout(timer);
  }, [typed, text]);
  return (
    <Search id={SEARCH_ID} label="Search" value={typed} placeholder="name or style" onChange={setTyped} />
  );
}

function StyleFilter({ study, style }: { study: StudyInfo; style: string }) {
  if (study.styles.length === 0) return null;
  return (
    <fieldset className="gallery-chip-field">
      <legend>Style</legend>
      <div>
        {study.styles.map(({ label, images }) => (
          <Chip
            key={label}
            tone={label === style ? "accent" : "plain"}
            pressed={label === style}
            title={plural(images, "image")}
            onClick={() => filterBy({ style: label === style ? null : label })}
          >
            {label} <small>{images}</small>
          </Chip>
        ))}
      </div>
    </fieldset>
  );
}

function WarningFilter({ warning }: { warning: string }) {
  return (
    <fieldset className="gallery-chip-field">
      <legend>Warnings</legend>
      <div>
        {WARNINGS.map((name) => (
          <Chip
            key={name}
            tone={name === warning ? "accent" : "plain"}
            pressed={name === warning}
            title={WARNING_MEANS[name]}
            onClick={() => filterBy({ warning: name === warning ? null : name })}
          >
            {name}
          </Chip>
        ))}
      </div>
    </fieldset>
  );
}

function LabelFilter({ study, label }: { study: StudyInfo; label: string }) {
  if (study.labels.length === 0) return null;
  const options = study.labels.map((one) => ({ value: one.label, label: `${one.label} (${one.images})` }));
  const known = label === "" || study.labels.some((one) => one.label === label);
  return (
    <Select
      label="Has a region labelled"
      value={label}
      options={[{ value: "", label: "any" }, ...options, ...(known ? [] : [{ value: label, label }])]}
      onChange={(value) => filterBy({ label: value })}
    />
  );
}

function SplitFilter({ study, split }: { study: StudyInfo; split: string }) {
  if (study.splits.length < 2) return null;
  const options = study.splits.map((name) => ({ value: name, label: name || "none" }));
  return (
    <Select
      label="Split"
      value={split}
      options={[{ value: "", label: "all" }, ...options]}
      onChange={(value) => filterBy({ split: value })}
    />
  );
}

interface FiltersProps {
  study: StudyInfo;
  words: GalleryWords;
}

/** The filters. */
export function Filters({ study, words }: FiltersProps) {
  return (
    <Panel title="Filters" className="gallery-filters">
      <TextFilter text={words.text} />
      <StyleFilter study={study} style={words.style} />
      <LabelFilter study={study} label={words.label} />
      <SplitFilter study={study} split={words.split} />
      <WarningFilter warning={words.warning} />
    </Panel>
  );
}

interface ScoredProps {
  study: StudyInfo;
  asked: Asked;
  choice: Choice | undefined;
}

/** Whose maps the scores on the cards are of. */
export function Scored({ study, asked, choice }: ScoredProps) {
  return (
    <Panel title="Scores of" className="gallery-scored" note={choice?.why}>
      <ChoiceFields study={study} asked={asked} choice={choice} onChange={(changes) => filterBy({ ...changes })} table />
    </Panel>
  );
}
