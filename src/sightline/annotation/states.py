"""What events come to: pure functions, the same from scratch as event by event."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from sightline.annotation.events import DRAWN, SHAPES, same_person

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sightline.annotation.events import Event, Json, Stored

__all__ = [
    "Key",
    "State",
    "count_decisions",
    "counting_undos",
    "fold",
    "fold_key",
    "fold_one",
    "key_of",
    "standing",
]

_STATUS = {
    "accept": "accepted",
    "reject": "rejected",
    "skip": "skipped",
    "edit": "accepted",
    "draw": "accepted",
    "done": "done",
    "lock": "locked",
    "reopen": "open",
    "rate": "answered",
    "choose": "answered",
}


class Key(NamedTuple):
    """What an event is about: an item of a mode, an image ("" as item), or all of them.

    In mode "rating" each person has answers of their own; elsewhere `person` is "".
    """

    mode: str
    image_id: str = ""
    item: str = ""
    person: str = ""


@dataclass(frozen=True, slots=True)
class State:
    """Where an item, an image or a task stands.

    Attributes
    ----------
    status : str
        Of a region: "open", "accepted", "rejected", "skipped", or "withdrawn" where its drawing
        was undone. Of a gold image: "open", "done". Of the gold set: "open", "locked". Of a task:
        "open", "answered".
    region : mapping or None
        The region as it stands, as plain JSON has it; None where there is none.
    edited : bool
        Whether a person changed it.
    by, at : str
        Who decided last, and when; "" while nobody has.
    version : int
        Number of the last event about it, whatever it was; 0 before the first.
    decision : int
        Number of the event that made it so; 0 while there is none.
    answer : int, str or None
        Of a task.
    comments : tuple of mappings
        With ``number``, ``who``, ``at``, ``text``.
    """

    status: str = "open"
    region: Mapping[str, Any] | None = None
    edited: bool = False
    by: str = ""
    at: str = ""
    version: int = 0
    decision: int = 0
    answer: int | str | None = None
    comments: tuple[Mapping[str, Any], ...] = ()

    def facts(self) -> Json:
        """Return what an event changes, for its before and after."""
        facts: Json = {"status": self.status, "region": self.region, "edited": self.edited}
        return facts if self.answer is None else facts | {"answer": self.answer}

    def to_dict(self) -> Json:
        """Return it as JSON has it."""
        found = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return found | {"comments": list(map(dict, self.comments))}


def key_of(event: Event) -> Key:
    """Return what an event is about."""
    person = same_person(event.who) if event.mode == "rating" else ""
    return Key(event.mode, event.image_id, event.item, person)


def counting_undos(events: Sequence[Stored]) -> dict[int, Stored]:
    """Return the undoings among the events about one thing that count, by what each undoes.

    The undoing of an undoing brings the event back.
    """
    found: dict[int, Stored] = {}
    for stored in reversed(events):
        if stored.event.kind == "undo" and stored.number not in found:
            found[stored.event.data["event"]] = stored
    return found


def standing(events: Sequence[Stored]) -> list[Stored]:
    """Return the events about one thing that count: those not undone, without the undoing."""
    undone = counting_undos(events)
    return [one for one in events if one.number not in undone and one.event.kind != "undo"]


def count_decisions(states: Iterable[tuple[str, State]]) -> dict[str, int]:
    """Return how many proposals stand how, and how many regions were drawn, by names of items.

    Of proposals "open", "accepted", "rejected", "skipped", and "edited" of those accepted.
    """
    known = list(states)
    proposed = [state for name, state in known if not name.startswith(DRAWN)]
    counts = Counter(state.status for state in proposed)
    drawn = [state.status for name, state in known if name.startswith(DRAWN)]
    return {
        **{name: counts[name] for name in ("open", "accepted", "rejected", "skipped")},
        "edited": sum(state.edited and state.status == "accepted" for state in proposed),
        "drawn": drawn.count("accepted"),
    }


def fold_one(events: Sequence[Stored], region: Mapping[str, Any] | None, *, drawn: bool) -> State:
    """Return where one thing stands after its events.

    Parameters
    ----------
    events : sequence of Stored
        All events about it, in order.
    region : mapping or None
        The region that was proposed, if one was.
    drawn : bool
        Whether it is a region that a person draws: withdrawn until it is drawn.
    """
    state = State(status="withdrawn" if drawn else "open", region=region)
    for stored in standing(events):
        state = _after(state, stored, drawn=drawn)
    return replace(state, version=events[-1].number) if events else state


def _after(state: State, stored: Stored, *, drawn: bool) -> State:
    event = stored.event
    if event.comment:
        said = {"number": stored.number, "who": event.who, "at": stored.at, "text": event.comment}
        state = replace(state, comments=(*state.comments, said))
    if event.kind == "comment" or (drawn and event.kind != "draw" and state.region is None):
        return state  # what was done to a region whose drawing is undone
    region, edited = state.region, state.edited
    if event.kind == "draw":
        region = dict(event.data)
    elif event.kind == "edit" and region is not None:
        region, edited = _edited(region, event.data), True
    return replace(
        state,
        status=_STATUS[event.kind],
        region=region,
        edited=edited,
        by=event.who,
        at=stored.at,
        decision=stored.number,
        answer=event.data.get("answer"),
    )


def _edited(region: Mapping[str, Any], change: Mapping[str, Any]) -> Json:
    """Return a region with another label, another shape, or both."""
    if any(name in change for name in SHAPES):
        flags = [flag for flag in region.get("flags", ()) if flag not in ("clipped", "empty")]
        left_out = (*SHAPES, "disc", "flags")
        region = {name: value for name, value in region.items() if name not in left_out}
        region |= {"flags": flags} if flags else {}
    return {**region, **change}


def fold(
    events: Iterable[Stored], regions: Mapping[str, Mapping[str, Any]] | None = None
) -> dict[Key, State]:
    """Return where everything stands after all events, from scratch.

    Parameters
    ----------
    events : iterable of Stored
        In order.
    regions : mapping of str to mapping, optional
        The proposed region of each item.
    """
    found: dict[Key, list[Stored]] = {}
    for stored in events:
        found.setdefault(key_of(stored.event), []).append(stored)
    return {key: fold_key(key, group, regions or {}) for key, group in found.items()}


def fold_key(key: Key, events: Sequence[Stored], regions: Mapping[str, Mapping[str, Any]]) -> State:
    """Return where the thing of a key stands after its events."""
    region = regions.get(key.item) if key.mode == "review" and key.item else None
    drawn = bool(key.item) and region is None and key.mode != "rating"
    return fold_one(events, region, drawn=drawn)
