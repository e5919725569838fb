"""The review that is served: its journal, and what the API tells of it."""

from __future__ import annotations

import json
import math
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from duckdb import Error as DuckDBError

from sightline.annotation.completion import features_of
from sightline.annotation.events import NotBlind
from sightline.annotation.journal import Journal
from sightline.annotation.review import Review
from sightline.annotation.review_results import other_images, shared_models
from sightline.annotation.states import Key
from sightline.api.choice import AskedTable, choose_line
from sightline.api.outlines import outline_of
from sightline.api.problems import Refusal
from sightline.api.schemas import ReviewGold, ReviewHealth
from sightline.api.schemas_review import (
    Box,
    ReviewEvent,
    ReviewFacts,
    ReviewItem,
    ReviewProposer,
    Rings,
    Shapes,
)
from sightline.core import InputError, SightlineError, UnknownNameError
from sightline.data.formats.plain import read_region
from sightline.results._catalogue import BASELINE
from sightline.results._views import full_name

if TYPE_CHECKING:
    import os

    from sightline.annotation.events import Stored
    from sightline.annotation.review import ItemView, Progress
    from sightline.api.state import Served

__all__ = [
    "Attention",
    "Desk",
    "Shape",
    "attention_of",
    "event_of",
    "finite",
    "shape_of",
    "shared_weights",
    "warnings_of",
]

_METRIC = "coverage"
_KEPT_SHAPES = 4096
# How messages of the library begin, and the part of a request that they are about.
_FIELDS = {
    "id": "id",
    "who": "who",
    "mode": "mode",
    "kind": "kind",
    "image_id": "image",
    "image": "image",
    "item": "item",
    "comment": "comment",
    "seconds": "seconds",
    "data": "after",
    "region": "after",
    "label": "after",
    "box": "after",
    "polygon": "after",
    "mask": "after",
    "event": "undoes",
    "answer": "answer",
}


class Attention(NamedTuple):
    """For images, the share of a map outside all regions; and where that is from, in words."""

    shares: Mapping[str, float]
    told: str


class Shape(NamedTuple):
    """A region as answers tell it."""

    label: str
    kind: Shapes
    box: Box
    outline: Rings


class Desk:
    """A review that people work on.

    Parameters
    ----------
    folder
        Of the review, or its file.

    Raises
    ------
    InputError
        If there is none.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.journal = Journal.open(folder)
        self.review = Review(self.journal)
        self._lock = threading.Lock()
        self._made: Counter[tuple[str, str, str]] = Counter()
        self._seen = 0
        self._stands: tuple[tuple[int, int], Progress, tuple[str, ...]] | None = None

    @property
    def name(self) -> str:
        """The name of the folder."""
        return self.journal.path.absolute().parent.name

    def close(self) -> None:
        """Let go of the file."""
        self.journal.close()

    def look(self, served: Served) -> Attention:
        """Order the queue by a moment of the store; return by what."""
        found = served.kept("review attention", lambda: attention_of(served))
        if self.review.attention is not found.shares:
            self.review.attention = cast("dict[str, float]", found.shares)
        return found

    # --- what is told -----------------------------------------------------------------------------

    def stands(self) -> tuple[Progress, tuple[str, ...]]:
        """Return how far the review is, and its labels; counted anew when something came."""
        with self._lock:
            key = self.review.refresh(), len(self.review._items)
            if self._stands is None or self._stands[0] != key:
                self._stands = key, self.review.progress(), self.review.labels()
            return self._stands[1:]

    def health(self) -> ReviewHealth:
        """Return what is served, in short."""
        told, _ = self.stands()
        return ReviewHealth(
            proposals=told.items,
            open=told.open + told.skipped,
            gold=self.gold(),
            tasks=len(self.journal.tasks()),
        )

    def gold(self) -> ReviewGold | None:
        """Return how far the gold set is; None where there is none."""
        told, gold = self.stands()[0].gold, self.journal.gold
        if told is None or gold is None:
            return None
        return ReviewGold(**told.to_dict(), random=gold.random, seed=gold.seed, by=gold.by)

    def proposers(self, served: Served) -> tuple[ReviewProposer, ...]:
        """Return what made the proposals, and which models of the study share its weights."""
        with self._lock:
            for item in self.journal.items(after=self._seen):
                self._made[item.model, item.digest, item.source] += 1
                self._seen = item.number
            for model, digest in features_of(self.journal):
                self._made[model, digest, "features"] += 0
            made = sorted(self._made.items())
        return tuple(
            ReviewProposer(
                model=model,
                digest=digest,
                source=source,
                proposals=count,
                shared=shared_weights(served, model, digest),
            )
            for (model, digest, source), count in made
        )

    def item(self, view: ItemView, mode: str = "review") -> ReviewItem:
        """Return a region, and where it stands."""
        state, image = view.state, self.journal.images[view.image_id]
        size = image.width, image.height
        record = state.region or self._last_region(Key(mode, view.image_id, view.id))
        shape = shape_of(record, *size)
        proposed = None if view.proposed is None else shape_of(view.proposed, *size)
        said = state.comments[-1]["text"] if state.comments else None
        return ReviewItem(
            id=view.id,
            image=view.image_id,
            **shape._asdict(),
            proposed=None if proposed is None else proposed.box,
            proposed_label=None if proposed is None else proposed.label,
            score=finite(view.score),
            source=view.source,
            prompt=view.prompt,
            model=view.model,
            status=cast("Any", state.status),
            edited=state.edited,
            version=state.version,
            decision=state.decision,
            value=finite(view.value),
            by=state.by or None,
            at=state.at or None,
            comment=said,
        )

    def _last_region(self, key: Key) -> Mapping[str, Any]:
        """Return the last region that a withdrawn drawing had."""
        events = self.journal.events(mode=key.mode, image_id=key.image_id)
        for stored in reversed([one for one in events if one.event.item == key.item]):
            for facts in (stored.after, stored.before):
                if facts.get("region") is not None:
                    return cast("Mapping[str, Any]", facts["region"])
        raise UnknownNameError(f"no item {key.item!r:.210} was drawn")  # nobody asks for it then

    def gold_item(self, image_id: str, item: str) -> ItemView | None:
        """Return a region that was drawn on a gold image; None where there is none."""
        drawn = self.review.gold_image(image_id).drawn
        return next((view for view in drawn if view.id == item), None)

    def hidden(self, who: str, mode: str) -> frozenset[str]:
        """Return the images that a person may not see in a mode."""
        self.review.refresh()
        other = "gold" if mode == "review" else "review"
        with self.review._lock:
            return frozenset(self.review._seen_by(who, other))

    def gold_labels(self) -> tuple[str, ...]:
        """Return what a gold region may be called, by the data set alone: nothing of proposals."""
        given = (one for found in self.journal.given().values() for one in found.regions)
        seen = {region.label for region in given} - {""}
        known = dict.fromkeys(self.journal.taxonomy.parents)
        return tuple(known | dict.fromkeys(sorted(seen - known.keys())))

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Turn what a block finds wrong into a problem: 403, 404, 409 or 422."""
        try:
            yield
        except NotBlind as error:
            raise Refusal(403, str(error), "who") from error
        except UnknownNameError as error:
            raise Refusal(404, str(error)) from error
        except InputError as error:
            told = str(error)
            if told.startswith(f"{self.journal.path}: "):
                raise Refusal(409, told.removeprefix(f"{self.journal.path}: ")) from error
            raise Refusal(422, told, _FIELDS.get(told.partition(" ")[0].strip(":"))) from error


# --- regions and events ---------------------------------------------------------------------------


def finite(value: float) -> float | None:
    """Return a number as JSON has it: null where it is not defined."""
    return value if math.isfinite(value) else None


def shape_of(record: Mapping[str, Any], width: int | None, height: int | None) -> Shape:
    """Return a region as answers tell it, out of a journal's record."""
    return _shape(json.dumps(record, sort_keys=True, default=dict), width, height)


@lru_cache(maxsize=_KEPT_SHAPES)
def _shape(text: str, width: int | None, height: int | None) -> Shape:
    region = read_region(json.loads(text))
    x0, y0, x1, y1 = (float(edge) for edge in region.box)
    kind = cast("Shapes", region.kind)
    return Shape(region.label, kind, (x0, y0, x1, y1), outline_of(region, width, height))


def event_of(stored: Stored) -> ReviewEvent:
    """Return an event as answers tell it."""
    event = stored.event
    return ReviewEvent(
        number=stored.number,
        id=event.id,
        at=stored.at,
        who=event.who,
        mode=cast("Any", event.mode),
        kind=cast("Any", event.kind),
        image=event.image_id,
        item=event.item or None,
        before=_facts(stored.before),
        after=_facts(stored.after),
        seconds=event.seconds,
        comment=event.comment,
        undoes=event.data["event"] if event.kind == "undo" else None,
    )


def _facts(found: Mapping[str, Any]) -> ReviewFacts:
    record = found.get("region")
    shape = None if record is None else shape_of(record, None, None)
    return ReviewFacts(
        status=found["status"],
        label=None if shape is None else shape.label,
        box=None if shape is None else shape.box,
        edited=found["edited"],
    )


# --- the store beside it --------------------------------------------------------------------------


def shared_weights(served: Served, model: str, digest: str) -> tuple[str, ...]:
    """Return the evaluated models with the weights of another: same digest, or same base name."""
    models = [(full_name(one), one["digest"]) for one in served.manifest.get("models", ())]
    named = (one for one in served.manifest.get("sources", ()) if one["model"])
    models += [(full_name(one), "") for one in named]  # maps made elsewhere may name their model
    facts = {"proposers": [{"model": model, "digest": digest}]}
    return tuple(dict.fromkeys(name for name, _ in shared_models(facts, models)))


def attention_of(served: Served) -> Attention:
    """Return what share of the best line's maps lies outside all regions, image by image."""
    try:
        line = choose_line(served, AskedTable()).line
        name = served.tables.name(_METRIC)
        if line.group == BASELINE:
            return _unknown("the study has baselines alone")
        scores = line.at(served.scores_of_all(name, line.head, line.seed))
    except (InputError, UnknownNameError):
        return _unknown(f"the study did not compute the {_METRIC}")
    except (SightlineError, DuckDBError, OSError) as error:  # which must not keep anyone waiting
        return _unknown(f"the store cannot be read: {error}")
    images = sorted(served.images)
    shares = {
        images[int(number)]: min(max(1.0 - float(value), 0.0), 1.0)
        for number, value in zip(scores.numbers, scores.values, strict=True)
    }
    told = f"score × share of attention outside all regions, 1 − {_METRIC} of {line.told()}"
    return Attention(shares, f"{told}; 1 for images without it")


def _unknown(why: str) -> Attention:
    return Attention({}, f"score alone: how much attention lies outside is not known, as {why}")


def warnings_of(desk: Desk, served: Served, proposers: Sequence[ReviewProposer]) -> tuple[str, ...]:
    """Return what speaks against results of a review, in sentences."""
    found = []
    for one in proposers:
        if one.shared:
            which = ", ".join(one.shared)
            found.append(
                f"Proposals by {one.model or one.digest} share weights with {which}, which the "
                "study evaluates: what the model attends to is what it proposes."
            )
        elif not one.digest:
            found.append(
                f"It is not known which weights made {one.proposals} proposals ({one.source}): "
                "they may be those of an evaluated model."
            )
    gold = desk.journal.gold
    found += [] if gold is None else [f"Gold set: {note}." for note in gold.notes]
    told = desk.stands()[0].gold
    if told is not None and told.reopened:
        often = "once" if told.reopened == 1 else f"{told.reopened} times"
        found.append(f"Gold set: it was reopened {often} after it had been locked.")
    made = None if desk.journal.choice is None else desk.journal.choice.to_dict()
    if why := other_images(made, served.manifest["study"]["data"]):
        found.append(f"{why[0].upper()}{why[1:]}: proposals are shown on the wrong pictures.")
    others = sum(image not in served.images for image in desk.journal.images)
    if others:
        count = len(desk.journal.images)
        found.append(f"{others} of {count} images of the review are not in the study.")
    return tuple(found)
