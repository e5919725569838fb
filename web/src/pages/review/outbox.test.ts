import { describe, expect, it, vi } from "vitest";

import { Box, drain, foreseen, lastToUndo, lastWaiting, memory, newId, resolved, type Draft, type Entry, type Keep, type Outcome, type Ready, type Saved } from "./outbox";
import { byLease, byLocks, Courier } from "./sending";

const DRAFT: Draft = {
  to: "event", who: "Anna", mode: "review", kind: "accept", image: "i.png", item: "x", after: null, comment: "",
  seconds: 2, expected: 0, follows: null, undoes: null, then: { status: "accepted" },
};

/** A service that keeps an event once, and refuses what does not expect the last number of its item. */
class Service {
  events: Ready[] = [];
  posts = 0;
  away = false;
  /** Answers get lost after the event was kept. */
  deaf = false;

  post = async (entry: Ready): Promise<Outcome<Saved>> => {
    await Promise.resolve();
    if (this.away) return { unreachable: "nobody answers" };
    this.posts += 1;
    const known = this.events.findIndex(({ id }) => id === entry.id);
    const last = this.events.map(({ item }) => item).lastIndexOf(entry.item) + 1;
    if (known < 0 && entry.expected !== last) {
      return { refused: { status: 409, message: "changed by Berta", present: { status: "rejected", version: last } } };
    }
    if (known < 0) this.events.push(entry);
    if (this.deaf) return { unreachable: "the answer was lost" };
    return { saved: { number: known < 0 ? this.events.length : known + 1 } };
  };
}

const quiet = (service: Service) => ({ post: service.post, onSaved: vi.fn(), onChange: vi.fn() });

describe("what is kept", () => {
  it("survives a reload, in the order in which it was made", () => {
    const keep = memory();
    const box = new Box(keep, "r");
    for (const item of ["b", "a", "c"]) box.add({ ...DRAFT, item }, newId(), 5);
    box.add({ ...DRAFT, item: "clock went back" }, newId(), 4);
    expect(new Box(keep, "r").waiting().map(({ item }) => item)).toEqual(["b", "a", "c", "clock went back"]);
    expect(new Box(keep, "other").waiting()).toEqual([]);
  });

  it("passes over what it cannot read, and leaves it there", () => {
    const keep = memory();
    keep.setItem("sightline.review.r.out.0.x", "{");
    expect(new Box(keep, "r").waiting()).toEqual([]);
    expect(keep.length).toBe(1);
  });

  it("has ids as UUIDs are written", () => {
    const ids = Array.from({ length: 50 }, newId);
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(new Set(ids).size).toBe(50);
  });
});

/** A storage with room for so many characters. */
function small(room: number): Keep {
  const keep = memory();
  const used = (but: string) => Array.from({ length: keep.length }, (_, i) => keep.key(i) ?? "").reduce((sum, key) => sum + (key === but ? 0 : key.length + (keep.getItem(key) ?? "").length), 0);
  const setItem = (key: string, value: string) => {
    if (used(key) + key.length + value.length > room) throw new Error("full");
    keep.setItem(key, value);
  };
  return { getItem: keep.getItem, removeItem: keep.removeItem, key: keep.key, setItem, get length() { return keep.length; } };
}

describe("a full storage", () => {
  it("gets free as decisions are saved", async () => {
    const [service, box] = [new Service(), new Box(small(430), "r")];
    const { id } = box.add(DRAFT, newId(), 1);
    expect(() => box.add({ ...DRAFT, item: "y" }, newId(), 2)).toThrow("full");
    expect(await drain(box, quiet(service))).toBe("");
    expect([box.waiting(), box.numberOf(id)]).toEqual([[], 1]);
  });

  it("keeps what was refused, and the page goes on trying", async () => {
    const [service, box] = [new Service(), new Box(small(430), "r")];
    service.events.push({ ...DRAFT, id: "of-berta", order: "", follows: null, undoes: null });
    box.add(DRAFT, newId(), 1);
    const courier = new Courier(box, service.post, byLease(memory(), "a"));
    await courier.send();
    expect([courier.see().waiting.length, courier.see().problem]).toEqual([1, "full"]);
  });
});

describe("sending", () => {
  it("sends the oldest first and forgets what was acknowledged", async () => {
    const [service, box] = [new Service(), new Box(memory(), "r")];
    for (const item of ["a", "b"]) box.add({ ...DRAFT, item }, newId(), 1);
    const sender = quiet(service);
    expect(await drain(box, sender)).toBe("");
    expect(service.events.map(({ item }) => item)).toEqual(["a", "b"]);
    expect(box.waiting()).toEqual([]);
    expect(sender.onSaved).toHaveBeenCalledTimes(2);
  });

  it("sends the same id again until it is acknowledged: it counts once", async () => {
    const [service, box] = [new Service(), new Box(memory(), "r")];
    const { id } = box.add(DRAFT, newId(), 1);
    service.deaf = true;
    expect(await drain(box, quiet(service))).toBe("the answer was lost");
    expect(box.waiting()).toHaveLength(1);
    service.deaf = false;
    expect(await drain(box, quiet(service))).toBe("");
    expect([service.posts, service.events.map((event) => event.id)]).toEqual([2, [id]]);
    expect(box.numberOf(id)).toBe(1);
  });

  it("stops at the first that nobody answers, so that the order holds", async () => {
    const [service, box] = [new Service(), new Box(memory(), "r")];
    for (const item of ["a", "b"]) box.add({ ...DRAFT, item }, newId(), 1);
    service.away = true;
    expect(await drain(box, quiet(service))).toBe("nobody answers");
    expect(box.waiting()).toHaveLength(2);
  });

  it("knows the number of what is followed, however many were saved since", async () => {
    const [service, box] = [new Service(), new Box(memory(), "r")];
    const first = box.add(DRAFT, newId(), 1);
    for (let i = 0; i < 205; i += 1) box.add({ ...DRAFT, item: `y${i}` }, newId(), 1);
    box.add({ ...DRAFT, kind: "reject", follows: first.id }, newId(), 1);
    await drain(box, quiet(service));
    expect([box.aside(), service.events.at(-1)?.expected]).toEqual([[], 1]);
  });

  it("sets a conflict aside with the present state, and goes on", async () => {
    const [service, box] = [new Service(), new Box(memory(), "r")];
    service.events.push({ ...DRAFT, id: "of-berta", order: "", follows: null, undoes: null });
    box.add(DRAFT, newId(), 1);
    box.add({ ...DRAFT, item: "y" }, newId(), 2);
    const sender = quiet(service);
    await drain(box, sender);
    expect(sender.onSaved.mock.calls[0]?.[1]).toBeNull(); // so that all is asked anew
    expect(box.waiting()).toEqual([]);
    const [aside] = new Box(box.keep, "r").aside();
    expect([aside?.status, aside?.entry.item, aside?.present]).toEqual([409, "x", { status: "rejected", version: 1 }]);
    expect(service.events.at(-1)?.item).toBe("y");
    if (aside) box.dismiss(aside);
    expect(box.aside()).toEqual([]);
  });
});

describe("decisions that follow others", () => {
  it("expect the number under which the one before was saved", async () => {
    const [service, box] = [new Service(), new Box(memory(), "r")];
    const first = box.add(DRAFT, newId(), 1);
    box.add({ ...DRAFT, kind: "undo", follows: first.id, undoes: first.id }, newId(), 2);
    await drain(box, quiet(service));
    expect(service.events.map(({ kind, expected, undoes }) => [kind, expected, undoes])).toEqual([
      ["accept", 0, null], ["undo", 1, 1],
    ]);
  });

  it("find that number even when another tab saved the one before", () => {
    const keep = memory();
    const first = new Box(keep, "r").add(DRAFT, newId(), 1);
    new Box(keep, "r").settle(first, 7);
    const ready = resolved({ ...first, follows: first.id }, (id) => new Box(keep, "r").numberOf(id));
    expect(ready).toMatchObject({ expected: 7, follows: null });
  });

  it("are set aside with it when it is refused", async () => {
    const [service, box] = [new Service(), new Box(memory(), "r")];
    service.events.push({ ...DRAFT, id: "of-berta", order: "", follows: null, undoes: null });
    const first = box.add(DRAFT, newId(), 1);
    box.add({ ...DRAFT, kind: "reject", follows: first.id }, newId(), 2);
    await drain(box, quiet(service));
    expect(box.aside().map(({ status, entry }) => [status, entry.kind])).toEqual([[409, "accept"], [0, "reject"]]);
    expect(service.events).toHaveLength(1);
  });
});

describe("what is foreseen", () => {
  const entries = (...kinds: Partial<Entry>[]): Entry[] =>
    kinds.map((one, i) => ({ ...DRAFT, id: `e${i}`, order: String(i), ...one }));

  it("is the item after all that waits for it", () => {
    const item = { id: "x", status: "open", box: [0, 0, 1, 1], label: "window" };
    const waiting = entries({ then: { status: "accepted", label: "door" } }, { item: "y", then: { status: "rejected" } });
    expect(foreseen(item, waiting)).toEqual({ ...item, status: "accepted", label: "door" });
    expect(foreseen(item, [])).toBe(item);
  });

  it("knows the last about an item, and about an image", () => {
    const waiting = entries({}, { item: "y" }, { image: "other.png" });
    expect(lastWaiting(waiting, "review", "i.png", "x")?.id).toBe("e0");
    expect(lastWaiting(waiting, "review", "i.png", null)?.id).toBe("e1");
    expect(lastWaiting(waiting, "gold", "i.png", "x")).toBeNull();
  });

  it("undo takes the last that is not taken back yet", () => {
    const waiting = entries({}, { item: "y" }, { kind: "undo", undoes: "e1" });
    expect(lastToUndo(waiting, "Anna", "review")?.id).toBe("e0");
    expect(lastToUndo(waiting, "Berta", "review")).toBeNull();
    expect(lastToUndo(entries({}, { kind: "lock" }), "Anna", "review")?.id).toBe("e0"); // that is reopened
  });
});

describe("tabs", () => {
  const later = () => new Promise<void>((done) => setTimeout(done, 5));

  it("send by turns: a lock that another holds is not waited for", async () => {
    let held = false;
    const request = (async (_name: string, _options: LockOptions, run: (lock: Lock | null) => Promise<void>) => {
      if (held) return run(null);
      held = true;
      await run({} as Lock);
      held = false;
    }) as LockManager["request"];
    const one = byLocks({ request });
    const first = one("n", later);
    expect(await one("n", later)).toBe(false);
    expect(await first).toBe(true);
  });

  it("send by turns where there are no locks, and take over from a tab that is gone", async () => {
    const keep = memory();
    let now = 0;
    const [a, b] = [byLease(keep, "a", () => now), byLease(keep, "b", () => now)];
    const first = a("n", () => new Promise((done) => setTimeout(done, 100)));
    expect(await b("n", later)).toBe(false);
    expect(await first).toBe(true);
    expect(await b("n", later)).toBe(true);
    keep.setItem("n", JSON.stringify({ tab: "gone", until: 10 }));
    expect(await b("n", later)).toBe(false);
    now = 11;
    expect(await b("n", later)).toBe(true);
    keep.setItem("n", JSON.stringify({ tab: "gone", until: 1e9 })); // the clock went back since
    expect(await b("n", later)).toBe(true);
  });

  it("never send a decision twice over, though both hold it", async () => {
    const [service, keep] = [new Service(), memory()];
    let held = false;
    const exclusive = async (_name: string, run: () => Promise<void>) => {
      if (held) return false;
      held = true;
      await run();
      held = false;
      return true;
    };
    const tabs = [1, 2].map(() => new Courier(new Box(keep, "r"), service.post, exclusive));
    for (const [i, tab] of tabs.entries()) tab.box.add({ ...DRAFT, item: `x${i}` }, newId(), i);
    await Promise.all(tabs.map((tab) => tab.send()));
    expect([service.posts, service.events.length]).toEqual([2, 2]);
  });

  it("send what a tab kept that is gone", async () => {
    vi.useFakeTimers();
    const [service, keep] = [new Service(), memory()];
    const courier = new Courier(new Box(keep, "r"), service.post, async (_name, run) => (await run(), true));
    const leave = courier.subscribe(() => undefined);
    await vi.advanceTimersByTimeAsync(0);
    new Box(keep, "r").add(DRAFT, newId(), 1);
    window.dispatchEvent(new StorageEvent("storage", { key: "another" }));
    expect(courier.see().waiting).toEqual([]);
    window.dispatchEvent(new StorageEvent("storage", { key: "sightline.review.r.out.x" }));
    expect(courier.see().waiting).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(2_000);
    expect([service.events.length, courier.see().waiting.length]).toEqual([1, 0]);
    leave();
    vi.useRealTimers();
  });

  it("say so when the browser has no room, and go on when it has", () => {
    const keep = memory();
    const full = { ...keep, setItem: () => { throw new Error("no room"); }, length: 0 };
    const courier = new Courier(new Box(full, "r"), new Service().post, async () => false);
    expect(courier.add(DRAFT)).toBeNull();
    expect(courier.see()).toMatchObject({ waiting: [], refused: "The browser could not keep the decision: no room" });
    const other = new Courier(new Box(keep, "r"), new Service().post, async () => false);
    expect(other.add(DRAFT)?.kind).toBe("accept");
    expect([other.see().waiting.length, other.see().refused]).toEqual([1, ""]);
  });

  it("say what waits and why, and send it when the service is back", async () => {
    const [service, box] = [new Service(), new Box(memory(), "r")];
    service.away = true;
    const courier = new Courier(box, service.post, async (_name, run) => (await run(), true));
    const saved = vi.fn();
    courier.onSaved(saved);
    const leave = courier.subscribe(() => undefined);
    box.add(DRAFT, newId(), 1);
    await courier.send();
    await vi.waitFor(() => expect(courier.see().problem).toBe("nobody answers"));
    expect(courier.see().waiting).toHaveLength(1);
    service.away = false;
    window.dispatchEvent(new Event("online"));
    await vi.waitFor(() => expect(courier.see().waiting).toEqual([]));
    expect(courier.see().problem).toBe("");
    expect(saved).toHaveBeenCalledTimes(1);
    leave();
  });
});
