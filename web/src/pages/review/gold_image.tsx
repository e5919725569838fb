/** One gold image: what is drawn on it, and nothing else. */
import { useState, type ReactNode } from "react";

import type { GoldImage, GoldList, ReviewItem } from "../../api/client";
import { Chip, Panel } from "../../components";
import { plural } from "../../format";
import { useKeys } from "../../keys";
import { setParams, useParam } from "../../url";
import { Actions, type Action } from "./bar";
import { useGoldImage } from "./data";
import { decide, toRedo, toUndo, type Person, type Told, type Undoable } from "./decide";
import { EditForm, type Editing } from "./editing";
import { useImageSize, useStopwatch } from "./hooks";
import { Waiting } from "./item";
import { foreseen } from "./outbox";
import type { Shape } from "./shapes";
import { Comment } from "./side";
import { Stage } from "./stage";
import { stepped } from "./steps";
import { COMMENT_FIELD, DrawHint, focusIn, useBoxWork, useView, type Change } from "./work";

export const showImage = (image: string | null): void => setParams({ image, region: null, view: null });

/** Whether a decision that waits makes an image done, or open again. */
export function foreseenDone(image: string, done: boolean, person: Person): boolean {
  const own = person.waiting.filter((entry) => entry.mode === "gold" && entry.image === image && entry.item === null && entry.kind !== "comment");
  const last = own.at(-1);
  return last === undefined ? done : last.kind === "done";
}

/** What is drawn on an image once what waits is saved. */
function regionsOf(detail: GoldImage | undefined, { waiting }: Person): ReviewItem[] {
  const known = (detail?.regions ?? []).map((item) => foreseen(item, waiting));
  const ids = new Set(known.map(({ id }) => id));
  const fresh = waiting.filter((entry) => entry.mode === "gold" && entry.kind === "draw" && entry.image === detail?.image && !ids.has(entry.item ?? ""));
  const blank = { kind: "box", outline: [], label: "", box: [0, 0, 0, 0], status: "accepted", version: 0, source: "drawn" };
  const drawn = fresh.map(({ item, image }) => foreseen({ ...blank, id: item, image } as unknown as ReviewItem, waiting));
  return [...known, ...drawn].filter(({ status }) => status === "accepted");
}

interface OneImageProps {
  image: string;
  data: GoldList;
  order: readonly string[];
  person: Person;
  list: ReactNode;
}

/** All that can be done with an image. */
function useDesk({ image, data, order, person }: OneImageProps) {
  const detail = useGoldImage(image, person.who);
  const size = useImageSize(image, detail.data?.width, detail.data?.height);
  const [chosen] = useParam("region");
  const [last, setLast] = useState("");
  const seconds = useStopwatch(image);
  const regions = regionsOf(detail.data, person);
  const region = regions.find(({ id }) => id === chosen) ?? null;
  const done = foreseenDone(image, detail.data?.done ?? false, person);
  const fixed = done || data.locked;
  const choose = (id: string | null) => setParams({ region: id });
  const tell = (item: string | null, version: number, told: Told) => decide(person, { image, item, version }, told);
  const onSave = (editing: Editing, after: Change) => {
    setLast(editing.label);
    const kept = tell(editing.id, regions.find(({ id }) => id === editing.id)?.version ?? 0, { kind: editing.what, after, then: { status: "accepted", ...after } });
    if (kept) choose(editing.id);
    return kept;
  };
  const seen = useView(size);
  const work = useBoxWork(image, size, seen.close, onSave);
  return {
    ...{ detail, size, regions, region, done, fixed, choose, seen, work, order },
    label: last || data.labels[0] || "",
    undo: toUndo(person, (id) => detail.data?.regions.find((one) => one.id === id)),
    redo: toRedo(person),
    back: (what: Undoable | null) => () => {
      if (what === null || data.locked) return;
      work.rest();
      if (decide(person, what.about, what.told)) setParams({ image: what.about.image, region: what.about.item, view: null });
    },
    remove: () => {
      if (!region || fixed) return;
      if (!tell(region.id, region.version, { kind: "reject", then: { status: "rejected" } })) return;
      work.rest();
      choose(null);
    },
    finish: () => {
      if (fixed || !detail.data) return;
      if (work.editing) return work.save(); // what is drawn is kept first
      if (!tell(null, detail.data.version, { kind: "done", seconds: seconds() })) return;
      const next = data.images.find((line) => line.allowed && line.image !== image && !foreseenDone(line.image, line.done, person));
      if (next) showImage(next.image);
    },
    comment: (text: string) => tell(region?.id ?? null, region?.version ?? detail.data?.version ?? 0, { kind: "comment", comment: text }),
    step: (by: 1 | -1) => showImage(stepped(order, image, by)),
    through: (by: 1 | -1) => choose(stepped(regions.map(({ id }) => id), region?.id ?? null, by)),
  };
}

type Desk = ReturnType<typeof useDesk>;

function actionsOf(desk: Desk): (Action & { about: string })[] {
  const { work, region, fixed } = desk;
  const none = region === null || fixed;
  return [
    { label: "Draw", about: "draw a region", keys: "d", run: () => !fixed && work.draw(), pressed: work.drawing, disabled: fixed },
    { label: "Edit", about: "edit the chosen region", keys: "e", run: () => !fixed && work.edit(region), disabled: none },
    { label: "Label", about: "change its label", keys: "l", run: () => !fixed && work.edit(region, true), disabled: none },
    { label: "Delete", about: "delete it", keys: "r", tone: "bad", run: desk.remove, disabled: none },
    { label: "Undo", about: "undo my last step", keys: "u", run: desk.back(desk.undo), disabled: desk.undo === null },
    { label: "All drawn: done", about: "this image is done", keys: "f", tone: "good", run: desk.finish, disabled: fixed },
  ];
}

export function OneImage(props: OneImageProps) {
  const { image, data, list } = props;
  const desk = useDesk(props);
  const { work, size, regions, region, fixed } = desk;
  const { view, onView, keys } = desk.seen;
  const actions = actionsOf(desk);
  useKeys("Gold set", [
    ...actions.map(({ keys: key, about, run }) => ({ keys: [key], label: about, run, once: true })),
    { keys: ["U"], label: "redo", run: desk.back(desk.redo), once: true },
    { keys: ["n"], label: "next region", run: () => desk.through(1) },
    { keys: ["b"], label: "region before", run: () => desk.through(-1) },
    { keys: ["j"], label: "next image", run: () => desk.step(1) },
    { keys: ["k"], label: "previous image", run: () => desk.step(-1) },
    { keys: ["c"], label: "comment", run: () => focusIn(COMMENT_FIELD, "textarea") },
    ...keys,
    ...work.keys,
  ]);
  const shapes = regions.map(({ id, label, box, outline }): Shape => ({ id, label, box, outline, tone: id === region?.id ? "item" : "drawn" }));
  const onDrawn = (box: readonly [number, number, number, number]) => work.drawn(box, desk.label);
  return (
    <div className="review-page">
      <div className="review-main">
        {desk.detail.data && size ? (
          <Stage
            image={image}
            size={size}
            label={`${image}, gold image with ${plural(regions.length, "region")}`}
            shapes={shapes}
            onPick={(id) => !work.editing && desk.choose(id)}
            view={view}
            onView={onView}
            map={false}
            editing={work.editing}
            onEditing={work.change}
            drawing={work.drawing && !fixed}
            onDrawn={fixed ? undefined : onDrawn}
            onSave={work.save}
          />
        ) : (
          <Waiting of={desk.detail} />
        )}
        {work.drawing && size && <DrawHint size={size} what="an instance" onDrawn={onDrawn} />}
      </div>
      <div className="review-side">
        <div className="review-sticky">
          {work.editing && size ? (
            <EditForm editing={work.editing} size={size} labels={data.labels} onEditing={work.change} onSave={work.save} onCancel={work.rest} />
          ) : (
            <Actions label="Annotation" actions={actions} />
          )}
        </div>
        <Drawn image={image} desk={desk} locked={data.locked} />
        {list}
      </div>
    </div>
  );
}

function Drawn({ image, desk, locked }: { image: string; desk: Desk; locked: boolean }) {
  const { regions, region, done, fixed } = desk;
  return (
    <Panel title={image} className="review-item">
      <div className="review-title">
        <strong>{plural(regions.length, "region")}</strong>
        <Chip tone={done ? "good" : "plain"}>{done ? "done" : "open"}</Chip>
      </div>
      {fixed && <p className="note">{locked ? "The gold set is locked." : "To change it, undo “done” first."}</p>}
      <ul className="review-regions" aria-label="Regions">
        {regions.map((one) => (
          <li key={one.id}>
            <Chip tone="region" pressed={one.id === region?.id} onClick={() => desk.choose(one.id === region?.id ? null : one.id)}>
              {one.label || "(no label)"}
            </Chip>
          </li>
        ))}
      </ul>
      <Comment about={image} onComment={desk.comment} />
    </Panel>
  );
}
