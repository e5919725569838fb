"""What a study will cost: counts from the plan, seconds from a short probe."""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

from sightline.data.mapfiles import match_images, open_maps
from sightline.runner.plan import Chunk, Plan, Task
from sightline.runner.scoring import rows_per_map
from sightline.runner.threads import planned_threads
from sightline.runner.work import Worker

if TYPE_CHECKING:
    from collections.abc import Callable

    from sightline.runner.shelf import Shelf
    from sightline.runner.sources import Source
    from sightline.store import Store

__all__ = ["Expected", "expect"]

# Images on which each source is tried.
IMAGES = 2
SLOW = 0.5  # seconds


@dataclass(frozen=True)
class Expected:
    """What a source will take.

    Attributes
    ----------
    source : Source
    maps, rows : int
        How many there will be.
    tasks, stored : int
        All of its tasks, and those that are done.
    seconds : float
        Of one worker, for what is left.
    """

    source: Source
    maps: int
    rows: int
    tasks: int
    stored: int
    seconds: float


def expect(
    plan: Plan,
    store: Store,
    shelf: Shelf,
    progress: Callable[[int, int, str], object] = lambda done, total, what: None,
) -> list[Expected]:
    """Return what each source of a plan will take; nothing is written.

    Each source makes and scores the maps of two images. A mean costs what scoring costs.

    Parameters
    ----------
    plan : Plan
        What is to be done.
    store : Store
        Where finished tasks may be; its folder need not exist.
    shelf : Shelf
        Models at hand.
    progress : callable
        Called with the sources tried, their number, and the name of the next.
    """
    done = store.done()
    whole, regional = rows_per_map(plan.scoring)
    regions = {card.image: int(card.line["regions"]) for card in plan.cards.cards}
    found = []
    for number, source in enumerate(plan.sources):
        progress(number, len(plan.sources), f"Trying {source.name} {source.method}".strip())
        tasks = [task for task in plan.tasks if task.source == number]
        stored = sum(task.name in done for task in tasks)
        used = _images(plan, source)
        rows = sum(whole + regional * regions[image] for image in used) * source.maps_per_image
        seconds = 0.0
        if stored < len(tasks):
            with planned_threads(plan):
                each = _seconds_per_image(plan, store, shelf, number, used[:IMAGES])
            seconds = each * len(used) * (1 - stored / len(tasks))
        maps = source.maps_per_image * len(used)
        found.append(Expected(source, maps, rows, len(tasks), stored, seconds))
    return found


def _images(plan: Plan, source: Source) -> list[str]:
    """Return the images that a source has maps of: maps made elsewhere may be of some only."""
    used = [image for chunk in plan.chunks for image in chunk.images]
    if source.kind != "given":
        return used
    with open_maps(source.maps) as maps:
        matched = {image for image, _ in match_images(maps, used).pairs}
    return [image for image in used if image in matched]


def _seconds_per_image(
    plan: Plan, store: Store, shelf: Shelf, number: int, images: list[str]
) -> float:
    """Return how long one worker needs for an image."""
    if not images:
        return 0.0
    source = plan.sources[number]
    small = replace(plan, chunks=(Chunk(tuple(images), "probe"),))
    if source.kind == "mean":  # its maps are read from the store
        made_of = next(i for i, one in enumerate(plan.sources) if one.key == source.of)
        return _timed(Worker(small, store, shelf), Task("probe", made_of, 0)).get("score", 0.0)
    return sum(_timed(Worker(small, store, shelf), Task("probe", number, 0)).values())


def _timed(worker: Worker, task: Task) -> dict[str, float]:
    """Return the seconds that the steps of a task take for each image.

    The first time warms up what is quick; what is slow is not done twice.
    """
    spent: dict[str, float] = {}
    try:
        for _ in range(2):
            if sum(spent.values()) > SLOW:
                break
            parts: tuple[Any, ...] = ()
            for name in ("read", "make", "score"):
                begun = perf_counter()
                parts = _step(worker, task, name, parts)
                spent[name] = perf_counter() - begun
    finally:
        worker.close()
    count = len(worker.plan.chunks[0].images)
    return {name: seconds / count for name, seconds in spent.items()}


def _step(worker: Worker, task: Task, name: str, parts: tuple[Any, ...]) -> tuple[Any, ...]:
    if name == "read":
        return (worker.read(task),)
    if name == "make":
        return worker.make(task, *parts)
    return (worker.score(task, *parts),)
