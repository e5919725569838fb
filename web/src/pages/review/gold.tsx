/** The gold set: images annotated from scratch, without any proposal in sight. */
import { useEffect, useState } from "react";

import type { GoldLine, GoldList } from "../../api/client";
import { Chip, Empty, Loaded, Panel } from "../../components";
import { plural } from "../../format";
import { setParams, useParam } from "../../url";
import { useGoldList } from "./data";
import { decide, type Person } from "./decide";
import { foreseenDone, OneImage, showImage } from "./gold_image";

export function Gold({ person }: { person: Person }) {
  const list = useGoldList(person.who);
  return (
    <Loaded of={list} label="Loading the gold set">
      {(data) => <GoldSet data={data} person={person} />}
    </Loaded>
  );
}

function GoldSet({ data, person }: { data: GoldList; person: Person }) {
  const [named] = useParam("image");
  const lines = data.images.map((line) => ({ ...line, done: foreseenDone(line.image, line.done, person) }));
  const allowed = lines.filter((line) => line.allowed);
  const current = named || (allowed.find((line) => !line.done) ?? allowed[0])?.image || null;
  const order = allowed.map(({ image }) => image);
  useEffect(() => {
    if (named === "" && current !== null) setParams({ image: current });
  }, [named, current]);
  const list = <Images lines={lines} current={current} />;
  return (
    <>
      <p className="review-blind">
        Proposals, given annotations and maps are hidden here: draw every instance in each image from scratch.{" "}
        {data.done} of {plural(data.count, "image")} done{data.locked ? ", locked" : ""}.
      </p>
      <Lock data={data} all={lines.every((line) => line.done)} person={person} />
      {current === null ? (
        <Empty title="No gold image is yours to annotate">You reviewed proposals of all of them: somebody else must do it.</Empty>
      ) : (
        <OneImage key={`${current}\n${person.who}`} image={current} data={data} order={order} person={person} list={list} />
      )}
      {current === null && list}
    </>
  );
}

function Images({ lines, current }: { lines: readonly GoldLine[]; current: string | null }) {
  return (
    <Panel title="Images" className="review-queue">
      <ol className="review-list" tabIndex={0} aria-label="Gold images">
        {lines.map((line) => (
          <li key={line.image}>
            <button type="button" disabled={!line.allowed} aria-current={line.image === current ? "true" : undefined} onClick={() => showImage(line.image)}>
              <span className="name">{line.image}</span>
              <span className="number">{line.regions}</span>
              {line.allowed ? <Chip tone={line.done ? "good" : "plain"}>{line.done ? "done" : "open"}</Chip> : <Chip tone="doubt">you reviewed it</Chip>}
            </button>
          </li>
        ))}
      </ol>
    </Panel>
  );
}

/** Locking when all is done; reopening says why. */
function Lock({ data, all, person }: { data: GoldList; all: boolean; person: Person }) {
  const [why, setWhy] = useState("");
  const about = { image: "", item: null, version: data.version };
  if (data.locked) {
    return (
      <form
        className="review-lock"
        onSubmit={(event) => {
          event.preventDefault();
          if (decide(person, about, { kind: "reopen", comment: why.trim() })) setWhy("");
        }}
      >
        <p>The gold set is locked: nothing in it changes.</p>
        <div className="field">
          <label htmlFor="review-why">Reason to reopen it</label>
          <input id="review-why" type="text" value={why} maxLength={4000} onChange={(event) => setWhy(event.target.value)} />
        </div>
        <button type="submit" className="button" disabled={why.trim() === ""}>
          Reopen
        </button>
      </form>
    );
  }
  if (!all || data.count === 0) return null;
  return (
    <div className="review-lock">
      <p>All images are done. Once the set is locked it can be exported; it is reopened only with a reason.</p>
      <button type="button" className="button primary" onClick={() => decide(person, about, { kind: "lock" })}>
        Lock the gold set
      </button>
    </div>
  );
}
