/** One proposal: the picture, the decisions, what is known of it. */
import type { ReactNode } from "react";

import type { ReviewHistory, ReviewImage, ReviewInfo, ReviewItem, ReviewQueue } from "../../api/client";
import { useHealth, type Result } from "../../api/queries";
import { Checkbox, ErrorNote, Panel, Spinner } from "../../components";
import { useKeys } from "../../keys";
import { setParams, useFlag } from "../../url";
import { Actions, type Action } from "./bar";
import { useReviewImage } from "./data";
import { decide, toRedo, toUndo, undoing, type Person, type Told, type Undoable } from "./decide";
import { EditForm, type Editing } from "./editing";
import { useImageSize, useStopwatch } from "./hooks";
import type { Entry } from "./outbox";
import type { Shape, Tone } from "./shapes";
import { About, Comment, History } from "./side";
import { Stage } from "./stage";
import { nextOpen, stepped } from "./steps";
import { COMMENT_FIELD, DrawHint, focusIn, useBoxWork, useView, type Change } from "./work";

export const show = (item: string | null): void => setParams({ item, view: null });

/** What the queue has come to. */
export interface Found {
  queue: Result<ReviewQueue>;
  order: readonly string[];
  /** As it will stand once what waits is saved. */
  itemOf: (id: string) => ReviewItem | null;
  /** As the service has it. */
  savedOf: (id: string) => ReviewItem | null;
  statusOf: (id: string) => string;
  current: string | null;
  history: Result<ReviewHistory>;
  total: number;
}

export interface OneItemProps {
  info: ReviewInfo;
  person: Person;
  item: ReviewItem;
  found: Found;
  list: ReactNode;
}

/** Takes a decision back and shows what it was about; what was drawn is gone, and the page stays. */
export function takeBack(person: Person, undo: Undoable): void {
  if (!decide(person, undo.about, undo.told)) return;
  if (undo.about.item !== null && undo.kind !== "draw") show(undo.about.item);
}

/** The regions of an image, drawn by what they are. */
function shapesOf(detail: ReviewImage, items: readonly ReviewItem[], current: string, waiting: readonly Entry[]): Shape[] {
  const shape = (tone: Tone, id: string, { label, box, outline }: Pick<ReviewItem, "label" | "box" | "outline">): Shape => ({ id, label, tone, box, outline });
  const given = detail.given.map((one) => shape("given", `given-${one.index}`, one));
  const others = items
    .filter(({ id, status }) => id !== current && status !== "rejected" && status !== "withdrawn")
    .map((one) => shape(one.status === "accepted" ? "accepted" : "open", one.id, one));
  const own = items.filter(({ id }) => id === current).map((one) => shape("item", one.id, one));
  const known = new Set(items.map(({ id }) => id));
  const drawn = waiting
    .filter((entry) => entry.mode === "review" && entry.kind === "draw" && entry.image === detail.image && !known.has(entry.item ?? ""))
    .map(({ item, then }): Shape => ({ id: item ?? "", label: then.label ?? "", tone: "accepted", box: then.box ?? [], outline: [] }));
  return [...given, ...others, ...drawn, ...own];
}

/** All that can be done with an item. */
function useDesk({ person, item, found }: OneItemProps) {
  const detail = useReviewImage(item.image, person.who);
  const size = useImageSize(item.image, detail.data?.width, detail.data?.height);
  const seconds = useStopwatch(item.id);
  const about = { image: item.image, item: item.id, version: item.version };
  const tell = (told: Told) => decide(person, about, told);
  const onward = () => show(nextOpen(found.order, item.id, found.statusOf));
  const onSave = (editing: Editing, after: Change) => {
    const then = { status: "accepted", ...after, ...(after.box && { outline: [] }) };
    if (editing.what === "draw") return decide(person, { ...about, item: editing.id, version: 0 }, { kind: "draw", after, then });
    const kept = tell({ kind: "edit", after, seconds: seconds(), then });
    if (kept) onward();
    return kept;
  };
  const seen = useView(size);
  const work = useBoxWork(item.id, size, seen.close, onSave);
  const mark = (kind: string, status: string) => () => {
    if (!tell({ kind, seconds: seconds(), then: { status } })) return;
    work.rest();
    onward();
  };
  const back = (what: Undoable | null) => () => {
    if (what === null) return;
    work.rest();
    takeBack(person, what);
  };
  return {
    detail,
    size,
    seen,
    work,
    items: (detail.data?.items ?? []).flatMap(({ id }) => found.itemOf(id) ?? []),
    accept: mark("accept", "accepted"),
    reject: mark("reject", "rejected"),
    /** Null: what a person drew is not skipped. */
    skip: item.source === "drawn" ? null : mark("skip", "skipped"),
    undo: toUndo(person, found.savedOf),
    redo: toRedo(person),
    back,
    comment: (text: string) => tell({ kind: "comment", comment: text }),
    step: (by: 1 | -1) => show(stepped(found.order, item.id, by)),
  };
}

type Desk = ReturnType<typeof useDesk>;

function actionsOf(desk: Desk): Action[] {
  return [
    { label: "Accept", keys: "a", tone: "good", run: desk.accept },
    { label: "Reject", keys: "r", tone: "bad", run: desk.reject },
    { label: "Skip", keys: "s", run: () => desk.skip?.(), disabled: desk.skip === null },
    { label: "Undo", keys: "u", run: desk.back(desk.undo), disabled: desk.undo === null },
  ];
}

function changesOf({ work }: Desk, item: ReviewItem): Action[] {
  return [
    { label: "Edit", keys: "e", run: () => work.edit(item) },
    { label: "Label", keys: "l", run: () => work.edit(item, true) },
    { label: "Draw", keys: "d", run: work.draw, pressed: work.drawing },
    { label: "Comment", keys: "c", run: () => focusIn(COMMENT_FIELD, "textarea") },
  ];
}

export function OneItem(props: OneItemProps) {
  const { info, person, item, found, list } = props;
  const desk = useDesk(props);
  const { work, size } = desk;
  const { view, onView, near, keys } = desk.seen;
  const maps = useHealth().data?.maps ?? false;
  const [map, setMap] = useFlag("map");
  useKeys("Review", [
    { keys: ["a"], label: "accept", run: work.editing ? work.save : desk.accept, once: true },
    { keys: ["r"], label: "reject", run: desk.reject, once: true },
    { keys: ["s"], label: "skip: it comes again at the end", run: () => desk.skip?.(), once: true },
    { keys: ["u"], label: "undo my last decision", run: desk.back(desk.undo), once: true },
    { keys: ["U"], label: "redo", run: desk.back(desk.redo), once: true },
    { keys: ["e"], label: "edit the box", run: () => work.edit(item) },
    { keys: ["l"], label: "change the label", run: () => work.edit(item, true) },
    { keys: ["d"], label: "draw a missed region", run: work.draw },
    { keys: ["c"], label: "comment", run: () => focusIn(COMMENT_FIELD, "textarea") },
    { keys: ["m"], label: "map on or off", run: () => maps && setMap(!map) },
    { keys: ["j"], label: "next proposal", run: () => desk.step(1) },
    { keys: ["k"], label: "previous proposal", run: () => desk.step(-1) },
    { keys: ["z"], label: "close to the region, or the whole image", run: () => near(item.box) },
    ...keys,
    ...work.keys,
  ]);
  return (
    <div className="review-page">
      <div className="review-main">
        {desk.detail.data && size ? (
          <Stage
            image={item.image}
            size={size}
            label={`${item.image} with a proposed ${item.label || "region"}`}
            shapes={shapesOf(desk.detail.data, desk.items, item.id, person.waiting)}
            onPick={(id) => !work.editing && show(id)}
            view={view}
            onView={onView}
            map={map && maps}
            editing={work.editing}
            onEditing={work.change}
            drawing={work.drawing}
            onDrawn={(box) => work.drawn(box, item.label)}
            onSave={work.save}
          />
        ) : (
          <Waiting of={desk.detail} />
        )}
        <div className="review-look">
          <Checkbox label="Attention map (m)" checked={map && maps} disabled={!maps} onChange={setMap} />
          <Legend />
        </div>
        {work.drawing && size && <DrawHint size={size} what="a region that is missing" onDrawn={(box) => work.drawn(box, item.label)} />}
      </div>
      <Side desk={desk} info={info} person={person} item={item} found={found} list={list} />
    </div>
  );
}

/** In place of the picture: it is coming, or why it is not. */
export function Waiting({ of }: { of: Result<unknown> }) {
  if (of.error && of.data === undefined) return <ErrorNote error={of.error} retry={() => void of.refetch()} />;
  return <Spinner label="Loading the image" />;
}

function Side({ desk, info, person, item, found, list }: OneItemProps & { desk: Desk }) {
  const { work, size, detail } = desk;
  const at = found.order.indexOf(item.id);
  const place = at < 0 ? "not in the queue" : `${at + 1} of ${Math.max(found.order.length, found.total)}`;
  const undo = (number: number) => {
    const event = found.history.data?.events.find((one) => one.number === number);
    if (event) desk.back(undoing(event, item.version))();
  };
  return (
    <div className="review-side">
      <div className="review-sticky">
        {work.editing && size ? (
          <EditForm editing={work.editing} size={size} labels={info.labels} onEditing={work.change} onSave={work.save} onCancel={work.rest} />
        ) : (
          <>
            <Actions label="Decisions" actions={actionsOf(desk)} />
            <Actions label="Changes" actions={changesOf(desk, item)} />
          </>
        )}
      </div>
      <p className="hidden" role="status">
        Proposal {place}: {item.label} in {item.image}, {item.status}
      </p>
      <Panel title="Proposal" className="review-item">
        {detail.data && <About item={item} detail={detail.data} place={place} />}
        <Comment key={item.id} about={item.id} onComment={desk.comment} />
        <History of={found.history} who={person.who} onUndo={undo} />
      </Panel>
      {list}
    </div>
  );
}

const MEANINGS = [
  ["item", "this proposal"],
  ["given", "annotated"],
  ["accepted", "accepted"],
  ["open", "other proposals"],
] as const;

function Legend() {
  return (
    <ul className="review-legend" aria-label="Lines">
      {MEANINGS.map(([tone, text]) => (
        <li key={tone}>
          <svg width="22" height="10" aria-hidden="true" className={`review-shape ${tone}`}>
            <path d="M1 5H21" />
          </svg>
          {text}
        </li>
      ))}
    </ul>
  );
}
