"""A small review, made by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

from sightline.annotation.events import Event
from sightline.annotation.gold import pick_gold
from sightline.annotation.journal import Journal
from sightline.annotation.proposals import Proposal, Proposals
from sightline.core import Annotation, Region
from sightline.data import from_annotations

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from sightline.annotation.events import Stored
    from sightline.data import Dataset

IMAGES = tuple(f"church-{n}.jpg" for n in range(4))
GOLD = IMAGES[:2]
BOX = {"label": "window", "box": [0.5, 0.5, 0.75, 1.0]}


def batch(items: Iterable[Proposal]) -> Proposals:
    return Proposals(tuple(items), "churches", {"threshold": 0.5})


def proposed(name: str, image_id: str, score: float = 0.5) -> Proposal:
    region = Region("window", box=(0.25, 0.25, 0.5, 0.5), score=score, source="similarity")
    about = ("similarity", 0, "demo/vit-dino", "0123abcd")
    return Proposal(name, image_id, region, score, *about)


def churches(images: tuple[str, ...] = IMAGES) -> Dataset:
    """Return a data set in memory: a window and a dropped door on each image."""
    regions = (Region("window", box=(0.0, 0.0, 0.25, 0.25), index=0, source="1"),)
    dropped = (Region("door", box=(0.0, 0.0, 0.5, 0.5), index=1, flags=("hidden",)),)
    found = {
        name: Annotation(name, 40, 20, regions, ("Gothic" if place % 2 else "Baroque",), dropped)
        for place, name in enumerate(images)
    }
    splits = {name: "test" if place == 0 else "train" for place, name in enumerate(images)}
    return from_annotations("churches", found, {}, splits=splits)


def new_review(folder: Path, count: int = 6) -> Journal:
    """Make a review: `count` proposals p0, p1, … over the images, the first two of them gold."""
    items = (proposed(f"p{n}", IMAGES[n % 4], score=0.9 - 0.1 * (n % 9)) for n in range(count))
    dataset = churches()
    return Journal.create(folder, dataset, batch(items), gold=pick_gold(dataset, GOLD))


def event(kind: str, item: str = "p2", who: str = "anna", **more: Any) -> Event:
    """Return an event of the review with an id of its own; p2 and p3 are not of gold images."""
    mode = more.pop("mode", "review")
    number = int(item[1:]) % 4 if item[:1] == "p" else 2
    image = more.pop("image_id", IMAGES[number])
    return Event(more.pop("id", uuid4().hex), who, mode, kind, image, item, **more)


def draw(
    journal: Journal, image_id: str, item: str, mode: str = "gold", who: str = "gil"
) -> Stored:
    """Draw a window."""
    return journal.append(event("draw", item, who, mode=mode, image_id=image_id, data=BOX))
