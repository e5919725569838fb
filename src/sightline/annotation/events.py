"""What a person did, as one event, checked before it is kept.

============ ============ ====================================================================
kind         in           what it says
============ ============ ====================================================================
``accept``   review gold  The region as it stands is right. In gold: one that was drawn.
``reject``   review gold  It is not; a drawn region is taken away.
``skip``     review       Not decided now: the proposal comes again, after all others.
``edit``     review gold  `data`: another ``label``, another shape, or both. Accepts it so.
``draw``     review gold  `data`: a region that nobody proposed; `item` is ``drawn-…``.
``comment``  all          The comment alone.
``undo``     all          `data`: ``{"event": number}``, which counts as if it had never been.
``done``     gold         Every instance in the image is drawn.
``lock``     gold         Every image is done: from now on nothing changes.
``reopen``   gold         Takes the lock away; the comment says why.
``rate``     rating       `data`: ``{"answer": 1 … 5}``.
``choose``   rating       `data`: ``{"answer": "left" | "right" | "equal"}``.
============ ============ ====================================================================
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any, TypeAlias

from sightline.core import InputError
from sightline.data.formats.checks import as_object, located, show
from sightline.data.formats.plain import read_region
from sightline.data.writers import region_record

__all__ = [
    "DRAWN",
    "KINDS",
    "MODES",
    "Conflict",
    "Event",
    "NotBlind",
    "Stored",
    "check_event",
    "check_id",
    "same_person",
]

Json: TypeAlias = dict[str, Any]

_ON_ITEMS = ("accept", "reject", "edit", "draw")
KINDS: dict[str, tuple[str, ...]] = {
    "review": (*_ON_ITEMS, "skip", "comment", "undo"),
    "gold": (*_ON_ITEMS, "comment", "undo", "done", "lock", "reopen"),
    "rating": ("rate", "choose", "comment", "undo"),
}
"""The kinds of events by mode."""
MODES = tuple(KINDS)
DRAWN = "drawn-"
"""How the ids of drawn regions begin."""
SHAPES = ("box", "polygon", "polygons", "rle")

_LONGEST_ID, _LONGEST_NAME, _LONGEST_TEXT = 200, 100, 4000
_LARGEST_DATA = 256 * 1024  # characters of JSON
_DAY = 86_400.0
_LARGEST_NUMBER = 2**63 - 1  # of SQLite
_CHOICES = ("left", "right", "equal")


@dataclass(frozen=True, slots=True)
class Event:
    """What a person did.

    Attributes
    ----------
    id : str
        Made by whoever sends it, say a UUID: the same event sent twice is kept once.
    who : str
        The person.
    mode : {"review", "gold", "rating"}
        What it belongs to.
    kind : str
        See `KINDS`.
    image_id : str
        The image; "" where it is about all gold images (lock, reopen).
    item : str
        The proposal, drawn region or task; "" where it is about the image.
    data : mapping
        What the kind needs; nothing for most.
    seconds : float or None
        How long it took.
    comment : str
        In the person's own words.
    """

    id: str
    who: str
    mode: str
    kind: str
    image_id: str = ""
    item: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    seconds: float | None = None
    comment: str = ""


@dataclass(frozen=True, slots=True)
class Stored:
    """An event as it is kept.

    Attributes
    ----------
    number : int
        Its place: events are numbered in the order in which they were kept.
    at : str
        When, in UTC, by the clock of the machine that kept it.
    event : Event
        What was done.
    before, after : mapping
        What it was about, before and after: ``status``, ``region``, ``edited``, ``answer``.
    repeated : bool
        Whether it was there already when it was sent; then nothing was written.

    Examples
    --------
    >>> done = Event("id-1", "Anna", "review", "accept", "a.jpg", "f56a92f858b1e383")
    >>> kept = Stored(1, "2026-11-16T08:00:00Z", done, {"status": "open"}, {"status": "accepted"})
    >>> kept.event.who, kept.after["status"]
    ('Anna', 'accepted')
    """

    number: int
    at: str
    event: Event
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    repeated: bool = False

    def to_dict(self) -> Json:
        """Return all it says in one flat JSON object."""
        event = {name: getattr(self.event, name) for name in Event.__dataclass_fields__}
        event["data"] = dict(self.event.data)
        told = {"before": dict(self.before), "after": dict(self.after)}
        return {"number": self.number, "at": self.at, **event, **told, "repeated": self.repeated}


class Conflict(InputError):  # noqa: N818  # it is no mistake
    """Somebody else came first: nothing was written.

    Attributes
    ----------
    state : mapping
        Where it stands now, with its ``version``.
    """

    def __init__(self, message: str, state: Mapping[str, Any]) -> None:
        super().__init__(message)
        self.state = dict(state)


class NotBlind(InputError):  # noqa: N818  # it is a rule
    """A person saw one annotation of a gold image and may not make the other."""


def same_person(who: str) -> str:
    """Return a name as names are compared: "Anna  B" and "anna b" are one person.

    Examples
    --------
    >>> same_person(" Anna  BERG ")
    'anna berg'
    """
    return " ".join(unicodedata.normalize("NFKC", who).casefold().split())


def check_event(event: Event) -> Event:
    """Return an event as it is kept: the person's name trimmed, its region written one way.

    Raises
    ------
    InputError
        If a part of it does not fit; the message names the part.
    """
    _check_name(event.id, "id of the event", _LONGEST_ID)
    who = " ".join(_check_name(event.who, "who", _LONGEST_NAME).split())
    if not same_person(who):
        raise InputError(f"who must name a person, got {show(event.who)}")
    if event.mode not in MODES:
        raise InputError(f"mode must be one of {', '.join(MODES)}, got {show(event.mode)}")
    if event.kind not in KINDS[event.mode]:
        known = ", ".join(KINDS[event.mode])
        raise InputError(
            f"kind in mode {event.mode} must be one of {known}, got {event.kind!r:.80}"
        )
    for value, what in ((event.image_id, "image_id"), (event.item, "item")):
        if value != "":
            _check_name(value, what, _LONGEST_ID)
    _check_text(event.comment)
    seconds = None if event.seconds is None else _check_seconds(event.seconds)
    return replace(event, who=who, data=_check_data(event), seconds=seconds)


def check_id(value: Any, what: str) -> str:
    """Return the id of an event, an item or a task when it can be one."""
    return _check_name(value, what, _LONGEST_ID)


def _check_name(value: Any, what: str, longest: int) -> str:
    if not isinstance(value, str):
        raise InputError(f"{what} must be text, got {show(value)}")
    if not 1 <= len(value) <= longest:
        raise InputError(f"{what} must have 1 to {longest} characters, got {len(value)}")
    if odd := next((c for c in value if unicodedata.category(c)[0] == "C"), None):
        raise InputError(f"{what} must be printable, got the character {odd!r} in {show(value)}")
    return value


def _check_text(value: Any) -> None:
    if not isinstance(value, str):
        raise InputError(f"comment must be text, got {show(value)}")
    if len(value) > _LONGEST_TEXT:
        raise InputError(f"comment must have at most {_LONGEST_TEXT} characters, got {len(value)}")
    odd = (c for c in value if unicodedata.category(c) in ("Cc", "Cs") and c not in "\n\t\r")
    if found := next(odd, None):
        raise InputError(f"comment must be text that can be shown, got the character {found!r}")


def _check_seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"seconds must be a number, got {show(value)}")
    if not (isfinite(value) and 0 <= value <= _DAY):
        raise InputError(f"seconds must be from 0 to {_DAY:g}, got {show(value)}")
    return float(value)


# --- data by kind ---------------------------------------------------------------------------------


def _check_data(event: Event) -> Json:
    if not isinstance(event.data, Mapping):
        raise InputError(f"data must be an object, got {show(event.data)}")
    data = dict(event.data)
    try:
        size = len(json.dumps(data, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"data must be plain JSON: {error}") from error
    if size > _LARGEST_DATA:
        raise InputError(f"data must have at most {_LARGEST_DATA} characters as JSON, got {size}")
    if event.kind in ("draw", "edit"):
        return _check_region(data, whole=event.kind == "draw")
    wanted = {"undo": "event", "rate": "answer", "choose": "answer"}.get(event.kind)
    if set(data) != ({wanted} if wanted else set()):
        expected = f"{wanted!r} alone" if wanted else "nothing"
        raise InputError(f"data of {event.kind} must hold {expected}, got {show(data)}")
    if wanted:
        _check_answer(event.kind, data[wanted])
    return data


def _check_answer(kind: str, value: Any) -> None:
    if kind == "choose":
        if value not in _CHOICES:
            raise InputError(f"answer must be one of {', '.join(_CHOICES)}, got {show(value)}")
        return
    low, high, what = (1, 5, "answer") if kind == "rate" else (1, _LARGEST_NUMBER, "event")
    if type(value) is not int or not low <= value <= high:
        raise InputError(f"{what} must be a whole number from {low} to {high}, got {show(value)}")


def _check_region(data: Json, *, whole: bool) -> Json:
    """Return the label and shape that a person gave, as they are kept."""
    shapes = [name for name in SHAPES if name in data]
    known = {"label", *SHAPES}
    if unknown := sorted(set(data) - known):
        raise InputError(f"region has no {unknown[0]!r:.80}; known: label, {', '.join(SHAPES)}")
    if len(shapes) > 1 or (whole and (not shapes or "label" not in data)) or not data:
        needed = "a label and one shape" if whole else "a label, one shape, or both"
        raise InputError(f"region must have {needed} ({', '.join(SHAPES)}), got {show(data)}")
    found: Json = {}
    if "label" in data:
        found["label"] = "" if data["label"] == "" else _check_name(data["label"], "label", 200)
    if shapes:
        found |= _check_shape({name: data[name] for name in shapes})
    return found


def _check_shape(shape: Json) -> Json:
    with located("region"):
        region = read_region(as_object(shape))
    x0, y0, x1, y1 = region.box
    if not (0 <= x0 < x1 <= 1 and 0 <= y0 < y1 <= 1) or "clipped" in region.flags:
        raise InputError(
            "region must lie in the image, from 0 to 1, and have an area; "
            f"its box is {show(list(region.box))}"
        )
    record = region_record(region)
    return {name: record[name] for name in SHAPES if name in record}
