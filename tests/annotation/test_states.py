"""What events come to, against a slow and obvious reading of the rules."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightline.annotation.completion import completed
from sightline.annotation.events import Stored
from sightline.annotation.review import Review
from sightline.annotation.states import Key, State, fold, fold_one
from sightline.core import InputError
from tests.annotation.reviews import BOX, event, new_review

ITEMS = ("p2", "p3", "drawn-a", "drawn-b")
KINDS = ("accept", "reject", "skip", "edit", "draw", "comment", "undo")
BOXES = tuple([n / 10, 0.1, 0.5 + n / 10, 0.9] for n in range(3))
STEPS = st.lists(
    st.tuples(
        st.sampled_from(ITEMS),
        st.sampled_from(KINDS),
        st.sampled_from(("anna", "bo")),
        st.integers(0, 20),
    ),
    max_size=14,
)


def slow(events: list[Stored], region: Any, *, drawn: bool) -> tuple[str, Any]:
    """Return status and region by the rules, word for word."""

    def counts(one: Stored) -> bool:
        """An event counts unless an undoing of it counts."""
        undoings = [e for e in events if e.event.kind == "undo" and e.number > one.number]
        return not any(e.event.data["event"] == one.number and counts(e) for e in undoings)

    left = [e for e in events if e.event.kind not in ("undo", "comment") and counts(e)]
    if drawn:
        draws = [e for e in left if e.event.kind == "draw"]
        if not draws:
            return "withdrawn", None
        region = draws[-1].event.data
    words = {"reject": "rejected", "skip": "skipped"}
    status = words.get(left[-1].event.kind, "accepted") if left else "open"
    for one in left:
        if one.event.kind == "edit":
            shape = {} if "box" not in one.event.data else {"box": one.event.data["box"]}
            region = {**region, **shape, "label": one.event.data.get("label", region["label"])}
    return status, region


def data_of(kind: str, number: int) -> dict[str, Any]:
    if kind == "draw":
        return BOX
    if kind == "edit":
        return {"box": BOXES[number % 3]} if number % 2 else {"label": f"l{number}"}
    return {}


@settings(max_examples=25, deadline=None)
@given(steps=STEPS)
def test_incremental_state_is_that_from_scratch(steps: list[tuple[str, str, str, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder, new_review(Path(folder)) as journal:
        review = Review(journal)
        regions = {item.id: item.region for item in journal.items()}
        for item, kind, who, number in steps:
            image = "church-3.jpg" if item == "p3" else "church-2.jpg"
            before = review.states.get(Key("review", image, item))
            data = data_of(kind, number)
            if kind == "undo" and before is not None:  # one of its own
                own = [s.number for s in journal.events() if s.event.item == item]
                data = {"event": own[number % len(own)]}
            sent = event(kind, item, who, image_id=image, data=data, comment="c" * number)
            try:
                stored = journal.append(sent, expected=before.version if before else 0)
            except InputError:
                assert review.states.get(Key("review", image, item)) == before
                continue
            state = review.states[Key("review", image, item)]
            assert stored.after == state.facts()
            assert stored.before == (before or State(region=regions.get(item))).facts() or (
                before is None and kind == "draw"
            )
        events = journal.events()
        assert review.states == fold(events, regions) == Review(journal).states
        for key, state in review.states.items():
            about = [e for e in events if e.event.item == key.item]
            drawn = key.item.startswith("drawn-")
            expected = slow(about, regions.get(key.item), drawn=drawn)
            assert (state.status, state.region) == expected
        accepted = sum(state.status == "accepted" for state in review.states.values())
        assert sum(o.how != "given" for o in completed(journal).origins) == accepted


@settings(max_examples=150, deadline=None)
@given(steps=st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 20)), max_size=10))
@pytest.mark.parametrize("drawn", [True, False])
def test_any_order_of_events_is_read_by_the_rules(
    drawn: bool, steps: list[tuple[str, int]]
) -> None:
    events: list[Stored] = []
    for kind, number in steps:
        data = data_of(kind, number)
        if kind == "undo" and not events:
            continue
        if kind == "undo":
            data = {"event": 1 + number % len(events)}
        if drawn and (kind == "skip" or (kind != "draw" and not events)):
            continue  # no region is there before it is drawn
        if kind == "draw" and (events or not drawn):
            continue  # once
        sent = event(kind, "drawn-1" if drawn else "p2", data=data)
        events.append(Stored(len(events) + 1, "", sent, {}, {}))
    region = None if drawn else dict(BOX)
    state = fold_one(events, region, drawn=drawn)
    assert (state.status, state.region) == slow(events, region, drawn=drawn)
    assert state.version == len(events)


@settings(max_examples=15, deadline=None)
@given(
    kinds=st.lists(st.sampled_from(("accept", "reject", "skip", "edit")), min_size=1, max_size=5)
)
def test_undo_restores_the_state_before_and_redo_the_one_after(kinds: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder, new_review(Path(folder)) as journal:
        review = Review(journal)
        seen = [review.item("p2").state]
        for number, kind in enumerate(kinds):
            sent = event(kind, data=data_of(kind, number))
            stored = journal.append(sent, expected=seen[-1].version)
            after = review.item("p2").state
            undone = journal.append(
                event("undo", who="bo", data={"event": stored.number}), expected=stored.number
            )
            assert plain(review.item("p2").state) == plain(seen[-1])
            journal.append(event("undo", data={"event": undone.number}), expected=undone.number)
            seen.append(review.item("p2").state)
            assert plain(seen[-1]) == plain(after)
        # All of it backwards, down to where it began.
        for place in range(len(kinds), 0, -1):
            version = review.item("p2").state.version
            data = {"event": seen[place].decision}
            journal.append(event("undo", data=data), expected=version)
            assert plain(review.item("p2").state) == plain(seen[place - 1])


def plain(state: State) -> dict[str, Any]:
    """Return a state without what counts events."""
    return {k: v for k, v in state.to_dict().items() if k != "version"}
