"""What people decide in the golden review: every kind of event."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sightline.annotation.events import Event

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sightline.annotation.journal import Journal

DOOR = {"label": "door", "box": [0.4, 0.6, 0.6, 0.9]}
ANSWERS: dict[str, Any] = {"rate": 4, "choose": "left"}
REVIEW: tuple[tuple[str, int, dict[str, Any]], ...] = (
    ("accept", 0, {}),
    ("edit", 1, {"label": "rose window"}),
    ("edit", 2, {"box": [0.1, 0.1, 0.25, 0.5]}),
    ("reject", 3, {}),
    ("skip", 4, {}),
    ("accept", 5, {}),
    ("undo", 5, {"event": 6}),
)
"""What Anna does to proposals: kind, number of the proposal, data."""


def decide(journal: Journal) -> None:
    """Append the events of three people: on proposals, the gold set and attribution maps."""
    events = (*_review_proposals(journal), *_annotate_gold(journal), *_rate_maps(journal))
    for number, event in enumerate(events, 1):
        complete = replace(event, id=f"event-{number}", seconds=float(number))
        journal.append(complete, _find_last(journal, event))


def _review_proposals(journal: Journal) -> Iterator[Event]:
    """Yield decisions on proposals, a comment and a region that nobody proposed."""
    items = journal.items()
    for kind, number, data in REVIEW:
        item = items[number]
        yield Event("", "Anna", "review", kind, item.image_id, item.id, data)
    item = items[6]
    yield Event("", "Anna", "review", "comment", item.image_id, item.id, comment="a tree hides it")
    yield Event("", "Anna", "review", "draw", items[7].image_id, "drawn-1", DOOR)


def _annotate_gold(journal: Journal) -> Iterator[Event]:
    """Yield regions drawn on gold images, then the lock, which is taken away again."""
    images = [image.image_id for image in journal.images.values() if image.gold]
    yield Event("", "Ben", "gold", "draw", images[0], "drawn-2", DOOR)
    yield Event("", "Ben", "gold", "draw", images[1], "drawn-3", DOOR)
    yield Event("", "Ben", "gold", "reject", images[1], "drawn-3")
    for image in images:
        yield Event("", "Ben", "gold", "done", image)
    yield Event("", "Ben", "gold", "lock")
    yield Event("", "Ben", "gold", "reopen", comment="a door is missing")


def _rate_maps(journal: Journal) -> Iterator[Event]:
    """Yield an answer to the first rating task of each kind."""
    tasks = {task.kind: task for task in reversed(journal.tasks())}
    for kind, answer in ANSWERS.items():
        task = tasks[kind]
        yield Event("", "Clara", "rating", kind, task.image_id, task.id, {"answer": answer})


def _find_last(journal: Journal, event: Event) -> int:
    """Return the number of the last event about the same item, image or mode; 0 if none."""
    numbers = [
        stored.number
        for stored in journal.events(mode=event.mode)
        if event.image_id in ("", stored.event.image_id) and event.item in ("", stored.event.item)
    ]
    return max(numbers, default=0)
