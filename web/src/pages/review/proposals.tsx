/** Proposals, one at a time, and the queue that they come from. */
import { useEffect, useState } from "react";

import type { ReviewInfo, ReviewItem } from "../../api/client";
import { Empty, ErrorNote, Panel, Select, Spinner } from "../../components";
import { count, score } from "../../format";
import { useKeys } from "../../keys";
import { setParams, useParam } from "../../url";
import { Actions } from "./bar";
import { useAhead, useHistory, useQueue, useReviewImage } from "./data";
import { toUndo, type Person } from "./decide";
import { useItems } from "./hooks";
import { OneItem, show, takeBack, type Found } from "./item";
import { StatusChip } from "./side";
import { nearEnd, nextOpen } from "./steps";

const PART = 100;
const MOST = 500;
const AHEAD = 4;

/** The proposal that the address names, or the first one. */
function useCurrent(person: Person, label: string): Found {
  const { who, log, waiting } = person;
  const [limit, setLimit] = useState(PART);
  const queue = useQueue(who, label, limit);
  const [named] = useParam("item");
  const fresh = queue.isPlaceholderData ? [] : (queue.data?.items ?? []);
  const first = useHistory(named === "" ? null : named, who);
  const image = first.data?.item.image ?? fresh.find(({ id }) => id === named)?.image ?? null;
  const beside = useReviewImage(named === "" ? null : image, who);
  const others = [...(first.data ? [first.data.item] : []), ...(beside.data?.items ?? [])];
  const { order, itemOf, savedOf } = useItems(`${who}\n${label}`, fresh, others, log, waiting);
  const statusOf = (id: string) => itemOf(id)?.status ?? "open";
  const current = named === "" ? nextOpen(order, null, statusOf) : named;
  const total = queue.data?.total ?? 0;
  if (limit < Math.min(MOST, total) && !queue.isFetching && nearEnd(order, current, total)) setLimit(limit + PART);
  // The address names what is shown, so that a link shows the same.
  useEffect(() => {
    if (named === "" && current !== null) setParams({ item: current });
  }, [named, current]);
  return { queue, order, itemOf, savedOf, statusOf, current, history: first, total };
}

interface ProposalsProps {
  info: ReviewInfo;
  person: Person;
}

export function Proposals({ info, person }: ProposalsProps) {
  const [label, setLabel] = useParam("label");
  const found = useCurrent(person, label);
  const { queue, order, itemOf, current } = found;
  const more = found.total > (queue.data?.items.length ?? 0);
  const item = current === null ? null : itemOf(current);
  const at = current === null ? -1 : order.indexOf(current);
  const ahead = order.slice(at + 1, at + 1 + AHEAD).flatMap((id) => itemOf(id)?.image ?? []);
  useAhead([...new Set(ahead)], person.who);
  const labels = [{ value: "", label: "all labels" }, ...[...new Set([...info.labels, label])].filter(Boolean).map((one) => ({ value: one, label: one }))];
  const list = (
    <Panel title="Queue" className="review-queue" note={info.order} tools={<Select label="Only" value={label} options={labels} onChange={(next) => setParams({ label: next, item: null, view: null })} />}>
      <QueueList order={order} itemOf={itemOf} current={current} total={found.total} />
    </Panel>
  );
  if (queue.error && (!queue.data || more) && current === null) return <ErrorNote error={queue.error} retry={() => void queue.refetch()} />;
  if (current === null && (!queue.data || more)) return <Spinner label="Loading the queue" />;
  if (current === null) {
    return (
      <>
        <div role="status">
          <Empty title="Nothing is left to decide">
            {label === "" ? "All proposals that you may see are decided." : `No proposal of “${label}” is left.`}{" "}
            {label !== "" && (
              <button type="button" className="button" onClick={() => setLabel("")}>
                All labels
              </button>
            )}
          </Empty>
        </div>
        <Over person={person} />
        {list}
      </>
    );
  }
  if (item === null) {
    if (!found.history.error) return <Spinner label="Loading the proposal" />;
    return (
      <>
        <ErrorNote error={found.history.error} retry={() => show(null)} />
        {list}
      </>
    );
  }
  return <OneItem key={person.who} info={info} person={person} item={item} found={found} list={list} />;
}

/** Undo, where no item is shown. */
function Over({ person }: { person: Person }) {
  const undo = toUndo(person, () => null);
  const run = () => undo && takeBack(person, undo);
  useKeys("Review", [{ keys: ["u"], label: "undo", run, once: true }]);
  return <Actions label="Decisions" actions={[{ label: "Undo", keys: "u", run, disabled: undo === null }]} />;
}

interface QueueListProps {
  order: readonly string[];
  itemOf: (id: string) => ReviewItem | null;
  current: string | null;
  total: number;
}

function QueueList({ order, itemOf, current, total }: QueueListProps) {
  if (order.length === 0) return <p className="note">Nothing is open.</p>;
  return (
    <>
      <ol className="review-list" tabIndex={0} aria-label="Proposals in order">
        {order.map((id) => {
          const item = itemOf(id);
          if (item === null) return null;
          return (
            <li key={id}>
              <button type="button" aria-current={id === current ? "true" : undefined} onClick={() => show(id)}>
                <span className="name">{item.label || "(no label)"}</span>
                <span className="soft">{item.image}</span>
                <span className="number">{score(item.score, 2)}</span>
                <StatusChip item={item} />
              </button>
            </li>
          );
        })}
      </ol>
      <p className="note">{count(total)} not decided</p>
    </>
  );
}
