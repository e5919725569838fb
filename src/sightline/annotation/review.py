"""Where a review stands: folded from its journal, and kept up with it event by event."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from math import isfinite, nan
from statistics import median
from typing import TYPE_CHECKING, Any, Literal, get_args

from sightline.annotation._rules import not_blind
from sightline.annotation.events import DRAWN, NotBlind, same_person
from sightline.annotation.states import Key, State, count_decisions, fold_key, key_of
from sightline.core import InputError, UnknownNameError
from sightline.data.formats.checks import show
from sightline.data.writers import region_record

if TYPE_CHECKING:
    from sightline.annotation.events import Json, Stored
    from sightline.annotation.journal import Image, Item, Journal

__all__ = [
    "GoldProgress",
    "GoldView",
    "ImageView",
    "ItemView",
    "Person",
    "Progress",
    "Review",
]

Order = Literal["value", "image"]


class _Told:
    """What can be told as JSON."""

    __slots__ = ()

    def to_dict(self) -> Json:
        """Return it as JSON has it; what is undefined is null."""
        return {one.name: _plain(getattr(self, one.name)) for one in fields(self)}  # type: ignore[arg-type]


def _plain(value: Any) -> Any:
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    return None if isinstance(value, float) and not isfinite(value) else value


@dataclass(frozen=True, slots=True)
class ItemView(_Told):
    """A proposal or a drawn region, and where it stands.

    Attributes
    ----------
    id, image_id : str
        Its own, and its image.
    state : State
        Status, region as it stands, version, by whom.
    proposed : mapping or None
        The region as it was proposed; None where a person drew it.
    score : float
        Of the proposal; NaN where a person drew it.
    source : str
        "similarity", "sam", "imported", …; "drawn".
    prompt : int or None
        Index of the annotated region from which it was made.
    model, digest : str
        What made it; "" where that is not known.
    value : float
        Its place in the queue: score × share of attention outside all regions.
    """

    id: str
    image_id: str
    state: State
    proposed: Mapping[str, Any] | None
    score: float = nan
    source: str = "drawn"
    prompt: int | None = None
    model: str = ""
    digest: str = ""
    value: float = nan


@dataclass(frozen=True, slots=True)
class ImageView(_Told):
    """An image for who reviews its proposals; nothing of its gold annotation is in it.

    `given` are the regions annotated from the start, each with its ``index``; `version` is the
    number of the last event of the image in this mode.
    """

    image_id: str
    width: int | None
    height: int | None
    split: str
    labels: tuple[str, ...]
    gold: bool
    given: tuple[Mapping[str, Any], ...]
    items: tuple[ItemView, ...]
    drawn: tuple[ItemView, ...]
    state: State
    version: int


@dataclass(frozen=True, slots=True)
class GoldView(_Told):
    """A gold image for who annotates it from scratch: no proposal and no given region is in it."""

    image_id: str
    width: int | None
    height: int | None
    split: str
    labels: tuple[str, ...]
    drawn: tuple[ItemView, ...]
    done: bool
    locked: bool
    state: State
    version: int


@dataclass(frozen=True, slots=True)
class Person(_Told):
    """What a person did: events, items decided, median seconds for one (NaN if not measured)."""

    who: str
    events: int
    items: int
    seconds: float


@dataclass(frozen=True, slots=True)
class GoldProgress(_Told):
    """How far the gold set is; `reopened` counts how often its lock was taken away."""

    images: int
    done: int
    locked: bool
    reopened: int
    version: int


@dataclass(frozen=True, slots=True)
class Progress(_Told):
    """How far a review is.

    Attributes
    ----------
    items : int
        Proposals.
    open, accepted, rejected, skipped : int
        How many stand so.
    edited : int
        Accepted with a change.
    drawn : int
        Regions that people added.
    seconds : float
        Median time for an item that is decided; NaN where none was measured.
    people : tuple of Person
        In the order in which they began.
    gold : GoldProgress or None
        None where there is no gold set.
    """

    items: int
    open: int
    accepted: int
    rejected: int
    skipped: int
    edited: int
    drawn: int
    seconds: float
    people: tuple[Person, ...]
    gold: GoldProgress | None

    @property
    def done(self) -> int:
        """Proposals that are decided."""
        return self.accepted + self.rejected


class Review:
    """Where a review stands. Every question first takes in what others wrote; threads may share it.

    Parameters
    ----------
    journal : Journal
        Its journal.
    attention : mapping of str to float, optional
        For images, the share of a model's attention that lies outside all regions: where it is
        high, regions may be missing. 1 where it is not known.
    """

    def __init__(self, journal: Journal, attention: Mapping[str, float] | None = None) -> None:
        self.journal = journal
        self.attention = dict(attention or {})
        self._lock = threading.RLock()
        self._number = 0
        self._items: dict[str, Item] = {}
        self._of_image: dict[str, list[Item]] = {}
        self._regions: dict[str, Mapping[str, Any]] = {}
        self._events: dict[Key, list[Stored]] = {}
        self._states: dict[Key, State] = {}
        self._given: dict[str, tuple[Mapping[str, Any], ...]] | None = None

    def refresh(self) -> int:
        """Take in what was written since; return the number of the last event."""
        with self._lock:
            new = self.journal.events(after=self._number)
            # After the events: whatever they are about has been added by now.
            last = next(reversed(self._items.values())).number if self._items else 0
            for item in self.journal.items(after=last):
                self._items[item.id], self._regions[item.id] = item, item.region
                self._of_image.setdefault(item.image_id, []).append(item)
            touched: dict[Key, None] = {}
            for stored in new:
                key = key_of(stored.event)
                self._events.setdefault(key, []).append(stored)
                touched[key] = None
                self._number = stored.number
            for key in touched:
                self._states[key] = fold_key(key, self._events[key], self._regions)
            return self._number

    @property
    def states(self) -> dict[Key, State]:
        """Where everything stands that an event was about; equal to `fold` of all events."""
        with self._lock:
            self.refresh()
            return dict(self._states)

    # --- one image --------------------------------------------------------------------------------

    def image(self, image_id: str, who: str = "") -> ImageView:
        """Return an image with its proposals, for who reviews them.

        Raises
        ------
        UnknownNameError
            If the review has no such image.
        InputError
            If `who` annotated its gold.
        """
        with self._lock:
            self.refresh()
            one = self._image(image_id)
            self._check_blind(image_id, who, "review")
            return ImageView(
                **_facts(one),
                gold=one.gold,
                given=self._given_of(image_id),
                items=tuple(self._view(item) for item in self._of_image.get(image_id, ())),
                drawn=self._drawn("review", image_id),
                state=self._state(Key("review", image_id)),
                version=self._version("review", image_id),
            )

    def gold_image(self, image_id: str, who: str = "") -> GoldView:
        """Return a gold image with what was drawn on it, for who annotates it.

        Raises
        ------
        UnknownNameError
            If the review has no such image.
        InputError
            If it is not in the gold set, or `who` reviewed its proposals.
        """
        with self._lock:
            self.refresh()
            one = self._image(image_id)
            if not one.gold:
                raise InputError(f"image {image_id!r} is not in the gold set")
            self._check_blind(image_id, who, "gold")
            state = self._state(Key("gold", image_id))
            return GoldView(
                **_facts(one),
                drawn=self._drawn("gold", image_id),
                done=state.status == "done",
                locked=self._state(Key("gold")).status == "locked",
                state=state,
                version=self._version("gold", image_id),
            )

    def labels(self) -> tuple[str, ...]:
        """Return the labels that regions may get: those of the data set and of the review.

        Labels that only the gold set has are not among them: who reviews is blind to it.
        """
        with self._lock:
            self.refresh()
            given = (region for image in self.journal.images for region in self._given_of(image))
            own = (state for key, state in self._states.items() if key.mode == "review")
            states = (state.region for state in own if state.region)
            seen = {str(one.get("label", "")) for one in (*given, *self._regions.values(), *states)}
            known = dict.fromkeys(self.journal.taxonomy.parents)
            return tuple(known | dict.fromkeys(sorted(seen - {""} - known.keys())))

    # --- what is left to do -----------------------------------------------------------------------

    def queue(self, who: str = "", order: Order = "value") -> tuple[ItemView, ...]:
        """Return the proposals that are not decided, the most valuable first, skipped ones last.

        Parameters
        ----------
        who : str
            Leaves out the images whose gold this person annotated.
        order : {"value", "image"}
            By value alone; or image by image, those with the most valuable item first.
        """
        if order not in get_args(Order):
            raise InputError(
                f"order must be one of {', '.join(get_args(Order))}, got {show(order)}"
            )
        with self._lock:
            self.refresh()
            hidden = self._seen_by(who, "gold")
            views = [self._view(one) for one in self._items.values() if one.image_id not in hidden]
        left = [view for view in views if view.state.status in ("open", "skipped")]
        best: dict[str, float] = {}
        if order == "image":
            for view in left:
                best[view.image_id] = max(view.value, best.get(view.image_id, view.value))
        places = {image: place for place, image in enumerate(self.journal.images)}
        left.sort(
            key=lambda view: (
                view.state.status == "skipped",
                *(() if order == "value" else (-best[view.image_id], places[view.image_id])),
                -view.value,
                places[view.image_id],
            )
        )
        return tuple(left)

    def gold_queue(self, who: str = "") -> tuple[str, ...]:
        """Return the gold images that are not done, without those that `who` has reviewed."""
        with self._lock:
            self.refresh()
            hidden = self._seen_by(who, "review")
            return tuple(
                one.image_id
                for one in self.journal.images.values()
                if one.gold
                and one.image_id not in hidden
                and self._state(Key("gold", one.image_id)).status != "done"
            )

    # --- looking back -----------------------------------------------------------------------------

    def item(self, item: str) -> ItemView:
        """Return a proposal, or a region that was drawn in the review, and where it stands."""
        with self._lock:
            self.refresh()
            return self._find(item)

    def history(self, item: str) -> tuple[Stored, ...]:
        """Return every event about a proposal or a region that was drawn in the review."""
        with self._lock:
            self.refresh()
            view = self._find(item)
            return tuple(self._events.get(Key("review", view.image_id, view.id), ()))

    def progress(self) -> Progress:
        """Return how far the review is."""
        with self._lock:
            self.refresh()
            items = [(item.id, self._view(item).state) for item in self._items.values()]
            drawn = [
                (key.item, state)
                for key, state in self._states.items()
                if key.mode == "review" and key.item.startswith(DRAWN)
            ]
            return Progress(
                items=len(items),
                **count_decisions([*items, *drawn]),
                seconds=self._seconds(None),
                people=self._people(),
                gold=self._gold_progress(),
            )

    # --- inside -----------------------------------------------------------------------------------

    def _image(self, image_id: str) -> Image:
        try:
            return self.journal.images[image_id]
        except KeyError:
            count = len(self.journal.images)
            raise UnknownNameError(f"no image {image_id!r:.210} among the {count}") from None

    def _given_of(self, image_id: str) -> tuple[Mapping[str, Any], ...]:
        if self._given is None:
            self._given = {
                name: tuple(region_record(r) | {"index": r.index} for r in annotation.regions)
                for name, annotation in self.journal.given().items()
            }
        return self._given[image_id]

    def _state(self, key: Key) -> State:
        return self._states.get(key, State())

    def _version(self, mode: str, image_id: str) -> int:
        """Return the number of the last event of an image in a mode."""
        found = (s.version for k, s in self._states.items() if k[:2] == (mode, image_id))
        return max(found, default=0)

    def _view(self, item: Item) -> ItemView:
        key = Key("review", item.image_id, item.id)
        state = self._states.get(key) or State(region=item.region)
        outside = self.attention.get(item.image_id, 1.0)
        value = item.score * (outside if isfinite(outside) else 1.0)
        about = item.region, item.score, item.source, item.prompt, item.model, item.digest
        return ItemView(item.id, item.image_id, state, *about, value)

    def _drawn(self, mode: str, image_id: str) -> tuple[ItemView, ...]:
        return tuple(
            ItemView(key.item, image_id, state, None)
            for key, state in self._states.items()
            if key[:2] == (mode, image_id) and key.item.startswith(DRAWN)
        )

    def _find(self, item: str) -> ItemView:
        if item in self._items:
            return self._view(self._items[item])
        for key, state in self._states.items():
            if key.mode == "review" and key.item == item and item:
                return ItemView(item, key.image_id, state, None)
        raise UnknownNameError(f"no item {item!r:.210} among the {len(self._items)} of the review")

    def _seen_by(self, who: str, mode: str) -> dict[str, Stored]:
        """Return the images on which a person did something in a mode, with the first event."""
        found: dict[str, Stored] = {}
        if person := same_person(who):
            for key, events in self._events.items():
                if key.mode == mode and key.image_id:
                    for stored in events:
                        if same_person(stored.event.who) == person:
                            found.setdefault(key.image_id, stored)
        return found

    def _check_blind(self, image_id: str, who: str, mode: str) -> None:
        other = "gold" if mode == "review" else "review"
        if stored := self._seen_by(who, other).get(image_id):
            row = stored.number, stored.event.who
            raise NotBlind(not_blind(who, image_id, mode, row))

    def _of_people(self) -> dict[str, list[Stored]]:
        """Return the events of the review and the gold set by person, as people are compared."""
        events = sorted(
            (s for key, found in self._events.items() if key.mode != "rating" for s in found),
            key=lambda stored: stored.number,
        )
        found: dict[str, list[Stored]] = {}
        for stored in events:
            found.setdefault(same_person(stored.event.who), []).append(stored)
        return found

    def _people(self) -> tuple[Person, ...]:
        return tuple(
            Person(events[0].event.who, len(events), len(_items_of(events)), self._seconds(person))
            for person, events in self._of_people().items()
        )

    def _seconds(self, person: str | None) -> float:
        """Return the median time for an item that a person, or anyone, decided."""
        times = []
        for key, events in self._events.items():
            if key.mode != "review" or not key.item:
                continue
            own = [s for s in events if person in (None, same_person(s.event.who))]
            known = [s.event.seconds for s in own if s.event.seconds is not None]
            if known and _items_of(own):
                times.append(sum(known))
        return median(times) if times else nan

    def _gold_progress(self) -> GoldProgress | None:
        images = [one.image_id for one in self.journal.images.values() if one.gold]
        if not images:
            return None
        events = self._events.get(Key("gold"), [])
        versions = (s.version for key, s in self._states.items() if key.mode == "gold")
        return GoldProgress(
            images=len(images),
            done=sum(self._state(Key("gold", image)).status == "done" for image in images),
            locked=self._state(Key("gold")).status == "locked",
            reopened=sum(stored.event.kind == "reopen" for stored in events),
            version=max(versions, default=0),
        )


def _facts(one: Image) -> dict[str, Any]:
    names = ("image_id", "width", "height", "split", "labels")
    return {name: getattr(one, name) for name in names}


def _items_of(events: Iterable[Stored]) -> set[str]:
    """Return the items that events decide."""
    kinds = ("accept", "reject", "edit", "draw")
    return {stored.event.item for stored in events if stored.event.kind in kinds}
