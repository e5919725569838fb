"""What a review comes to: annotations completed by people, and the gold annotations."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from sightline.annotation.events import same_person
from sightline.annotation.states import (
    Key,
    State,
    count_decisions,
    fold_key,
    key_of,
    standing,
)
from sightline.core import Annotation, InputError
from sightline.data.dataset import from_annotations
from sightline.data.formats.checks import show
from sightline.data.formats.plain import read_region
from sightline.data.writers import region_record, write_annotations

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping

    from sightline.annotation.events import Json, Stored
    from sightline.annotation.journal import Item, Journal
    from sightline.core import Region

__all__ = [
    "Completed",
    "Origin",
    "Which",
    "completed",
    "export",
    "features_of",
    "review_facts",
]

Which = Literal["completed", "gold"]


class Origin(NamedTuple):
    """Where a region comes from.

    Attributes
    ----------
    image, region
        The image, and the index of the region in it.
    how
        "given", "accepted", "edited" or "drawn".
    source
        What proposed it, "drawn", or what the file said of a given one.
    item, events
        The proposal or drawn region; the numbers of the events that count, the last decided.
    by, at
        Who decided, and when.
    model, digest, prompt, score
        Of the proposal.

    Examples
    --------
    >>> Origin("a.jpg", 3, "drawn", "drawn", events=(1,), by="Anna").to_dict()
    {'image': 'a.jpg', 'region': 3, 'how': 'drawn', 'source': 'drawn', 'events': [1], 'by': 'Anna'}
    """

    image: str
    region: int
    how: str
    source: str
    item: str = ""
    events: tuple[int, ...] = ()
    by: str = ""
    at: str = ""
    model: str = ""
    digest: str = ""
    prompt: int | None = None
    score: float | None = None

    def to_dict(self) -> Json:
        """Return what it says, without what is empty."""
        told = self._asdict() | {"events": list(self.events)}
        return {name: value for name, value in told.items() if value not in ("", None, [])}


class Completed(NamedTuple):
    """Annotations with the origin of each region; `unfinished` counts open and skipped items.

    Examples
    --------
    >>> from sightline.core import Annotation
    >>> found = Completed({"a.jpg": Annotation("a.jpg")}, (), unfinished=2)
    >>> list(found.annotations), found.unfinished
    (['a.jpg'], 2)
    """

    annotations: dict[str, Annotation]
    origins: tuple[Origin, ...]
    unfinished: int = 0

    @property
    def digest(self) -> str:
        """Of all regions: equal whenever they are, whoever decided, and when."""
        told = {
            name: [region_record(region) | {"index": region.index} for region in one.regions]
            for name, one in self.annotations.items()
        }
        return sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def completed(journal: Journal, which: Which = "completed") -> Completed:
    """Return the annotations that a review has come to, with the origin of each region.

    Parameters
    ----------
    journal : Journal
        Of the review.
    which : {"completed", "gold"}
        "completed": what was given, and what people accepted, edited or drew beside the
        proposals, of all images. "gold": what people drew from scratch, of the gold images.
        Neither ever holds a region of the other.

    Raises
    ------
    InputError
        If the gold set is asked for and is not locked, or there is none.
    """
    if which not in get_args(Which):
        raise InputError(f"which must be one of {', '.join(get_args(Which))}, got {show(which)}")
    events = journal.events(mode="gold" if which == "gold" else "review")
    items = {} if which == "gold" else {item.id: item for item in journal.items()}
    if which == "gold":
        _check_locked(journal, events)
    groups = _groups(events, items)
    found: dict[str, Annotation] = {}
    origins: list[Origin] = []
    for image_id, given in journal.given().items():
        if which == "gold":
            if not journal.images[image_id].gold:
                continue
            given = replace(given, regions=(), dropped=())
        found[image_id] = _complete(given, groups.get(image_id, []), items, origins)
    statuses = Counter(state.status for group in groups.values() for _, _, state in group)
    return Completed(found, tuple(origins), statuses["open"] + statuses["skipped"])


_Group = list[tuple[Key, "list[Stored]", State]]


def _groups(events: list[Stored], items: Mapping[str, Item]) -> dict[str, _Group]:
    """Return for each image its proposals, then its drawn regions, with where they stand."""
    about: dict[Key, list[Stored]] = {
        Key("review", item.image_id, item.id): [] for item in items.values()
    }
    for stored in events:
        if stored.event.item:
            about.setdefault(key_of(stored.event), []).append(stored)
    regions = {item.id: item.region for item in items.values()}
    found: dict[str, _Group] = {}
    for key, group in about.items():
        state = fold_key(key, group, regions)
        found.setdefault(key.image_id, []).append((key, group, state))
    return found


def _complete(
    given: Annotation, group: _Group, items: Mapping[str, Item], origins: list[Origin]
) -> Annotation:
    """Return an annotation with the regions that people accepted; their origins are added."""
    image = given.image_id
    origins += (Origin(image, r.index, "given", r.source) for r in given.regions)
    regions = [replace(region, source="given") for region in given.regions]
    place = 1 + max((r.index for r in (*given.regions, *given.dropped)), default=-1)
    for key, events, state in group:
        if state.status == "accepted" and state.region is not None:
            region, origin = _added(key, events, state, items.get(key.item), place)
            regions.append(region)
            origins.append(origin)
            place += 1
    return replace(given, regions=tuple(regions))


def _added(
    key: Key, events: list[Stored], state: State, item: Item | None, place: int
) -> tuple[Region, Origin]:
    source = "drawn" if item is None else item.source
    how = "drawn" if item is None else ("edited" if state.edited else "accepted")
    region = replace(read_region(state.region, place), index=place, source=source)
    numbers = tuple(s.number for s in standing(events) if s.event.kind != "comment")
    origin = Origin(key.image_id, place, how, source, key.item, numbers, state.by, state.at)
    if item is not None:
        about = {name: getattr(item, name) for name in ("model", "digest", "prompt", "score")}
        origin = origin._replace(**about)
    return region, origin


def _check_locked(journal: Journal, events: list[Stored]) -> None:
    if journal.gold is None:
        raise InputError(f"{journal.path}: the review has no gold set")
    if _gold_status(events)["locked"]:
        return
    raise InputError(f"{journal.path}: the gold set is not locked yet: its annotations may change")


def _gold_status(events: list[Stored]) -> Json:
    about = [s for s in events if s.event.kind in ("lock", "reopen")]
    reopened = [s for s in about if s.event.kind == "reopen"]
    return {
        "locked": bool(about) and about[-1].event.kind == "lock",
        "reopened": [
            {"at": s.at, "by": s.event.who, "why": s.event.comment, "event": s.number}
            for s in reopened
        ],
    }


# --- facts and files ------------------------------------------------------------------------------


def review_facts(journal: Journal) -> Json:
    """Return what a study or a paper must say about a review, as JSON has it.

    ``images``; ``proposers``: each model with its digest, source and number of proposals, also
    one whose features alone were compared (source "features", 0 proposals);
    ``imports``; ``people`` by mode; ``decisions``; ``gold``: how the set was drawn, whether it is
    locked, each reopening with its reason; None where there is none.
    """
    items, events = journal.items(), journal.events()
    made = Counter((item.model, item.digest, item.source) for item in items)
    for model, digest in features_of(journal):
        made[model, digest, "features"] += 0
    proposers = [
        {"model": model, "digest": digest, "source": source, "proposals": count}
        for (model, digest, source), count in sorted(made.items())
    ]
    gold = None if journal.gold is None else _gold_facts(journal, events)
    return {
        "data": None if journal.choice is None else journal.choice.to_dict(),
        "images": len(journal.images),
        "proposers": proposers,
        "imports": journal.imports(),
        "people": {mode: _people(events, mode) for mode in ("review", "gold")},
        "decisions": _decisions(events, items),
        "gold": gold,
    }


def features_of(journal: Journal) -> Iterator[tuple[str, str]]:
    """Yield name and digest of each second model, by whose features proposals were ranked."""
    for one in journal.imports():
        other = one["settings"].get("features")
        if isinstance(other, dict):
            yield str(other.get("model", "")), str(other.get("digest", ""))


def _gold_facts(journal: Journal, events: list[Stored]) -> Json:
    if journal.gold is None:  # the caller has looked
        return {}
    told = journal.gold.to_dict()
    told.pop("format")
    status = _gold_status([stored for stored in events if stored.event.mode == "gold"])
    return told | status | {"notes": list(journal.gold.notes)}


def _people(events: list[Stored], mode: str) -> list[str]:
    found: dict[str, str] = {}
    for stored in events:
        if stored.event.mode == mode:
            found.setdefault(same_person(stored.event.who), stored.event.who)
    return list(found.values())


def _decisions(events: list[Stored], items: list[Item]) -> Json:
    """Return how many proposals stand how, and how many regions were drawn."""
    reviewed = [stored for stored in events if stored.event.mode == "review"]
    groups = _groups(reviewed, {item.id: item for item in items})
    states = ((key.item, state) for group in groups.values() for key, _, state in group)
    return count_decisions(states)


def export(
    journal: Journal,
    path: str | os.PathLike[str],
    *,
    format: Literal["plain", "coco"] = "plain",  # noqa: A002  # the word for it
    which: Which = "completed",
) -> Completed:
    """Write the annotations of a review, with the origin of every region; return them.

    Parameters
    ----------
    journal : Journal
        Of the review.
    path : path
        The .json file; one of that name is replaced in one step. Every reader of annotations takes
        it; the key ``provenance``, which they pass over, says for every region where it is from,
        and how the review was made.
    format : {"plain", "coco"}
        See `write_annotations`.
    which : {"completed", "gold"}
        See `completed`.

    Raises
    ------
    InputError
        If the file cannot be written there, or the gold set is asked for and is not locked.
    """
    found = completed(journal, which)
    root = Path(journal.meta("root") or ".").absolute()
    images = [journal.images[image_id] for image_id in found.annotations]
    dataset = from_annotations(
        "review",
        found.annotations,
        {one.image_id: root / one.file for one in images if one.file},
        splits={one.image_id: one.split for one in images},
        root=root,
        taxonomy=journal.taxonomy,
    )
    provenance = {"which": which, "digest": found.digest, "unfinished": found.unfinished}
    provenance |= review_facts(journal) | {"regions": list(_told(found))}
    write_annotations(dataset, path, format=format, extra={"provenance": provenance})
    return found


def _told(found: Completed) -> Iterator[dict[str, Any]]:
    for origin in found.origins:
        yield origin.to_dict()
