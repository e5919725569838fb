"""What a study will cost: counts from the plan, seconds from a short probe."""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

from sightline.data.mapfiles import match_images, open_maps
from sightline.store.shards import read_value_count
from sightline.study.plan.plan import Chunk, Plan, Task
from sightline.study.worker.scores import rows_per_map
from sightline.study.worker.threads import planned_threads
from sightline.study.worker.worker import Checked, Worker

if TYPE_CHECKING:
    from collections.abc import Callable

    from sightline.store import Store
    from sightline.study.plan.sources import Source
    from sightline.study.worker.model_cache import Shelf

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

    Each source makes and scores the maps of two images. A mean costs what scoring costs. A check
    is made once on two images, whatever the number of draws.

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
    tried: dict[tuple[str, ...], tuple[float, float]] = {}
    timed: dict[str, float] = {}
    by_source: dict[int, list[Task]] = {}
    for task in plan.tasks:
        by_source.setdefault(task.source, []).append(task)
    for number, source in enumerate(plan.sources):
        progress(number, len(plan.sources), f"Trying {source.name} {source.method}".strip())
        tasks = by_source.get(number, [])
        stored = sum(task.name in done for task in tasks)
        if source.kind == "check":
            stored = sum(store.is_whole(task.name) for task in tasks)
            if stored == len(tasks):
                rows = sum(read_value_count(store.check_file(task.name)) for task in tasks)
                found.append(Expected(source, 0, rows, stored, stored, 0.0))
                continue
            both = _seconds_and_rows(plan, store, shelf, number, tried)
            found.append(_expected_check(plan, source, len(tasks), stored, both))
            continue
        used = _images(plan, source)
        rows = sum(whole + regional * regions[image] for image in used) * source.maps_per_image
        seconds = 0.0
        if stored < len(tasks):
            kind = _without_seed(source)  # other seeds take as long
            if kind not in timed:
                with planned_threads(plan):
                    timed[kind] = _seconds_per_image(plan, store, shelf, number, used[:IMAGES])
            seconds = timed[kind] * len(used) * (1 - stored / len(tasks))
        maps = source.maps_per_image * len(used)
        found.append(Expected(source, maps, rows, len(tasks), stored, seconds))
    return found


def _without_seed(source: Source) -> str:
    """Return what sources that differ in their seed alone have in common."""
    params = {name: value for name, value in source.params.items() if name != "seed"}
    return repr(replace(source, seed=None, params=params, rules="", key=""))


def _seconds_and_rows(
    plan: Plan,
    store: Store,
    shelf: Shelf,
    number: int,
    tried: dict[tuple[str, ...], tuple[float, float]],
) -> tuple[float, float]:
    """Return how long a check takes for an image and how many rows it has, tried once a kind.

    Another draw of a network takes as long as the first.
    """
    source = plan.sources[number]
    check = source.check.rpartition("/")[0] or source.check
    kind = source.name, source.method, source.target, check
    if kind not in tried:
        every = [image for chunk in plan.chunks_of(source) for image in chunk.images]
        images = tuple(every[:IMAGES])
        small = replace(plan, checked={source.part: (Chunk(images, "probe"),)})
        worker, task = Worker(small, store, shelf), Task("probe", number, 0)
        try:
            with planned_threads(plan):
                begun = perf_counter()
                made, _ = worker.make(task, worker.read(task))
                seconds = perf_counter() - begun
        finally:
            worker.close()
        assert isinstance(made, Checked)  # noqa: S101 (it is a check)
        tried[kind] = seconds / len(images), len(made.rows) / len(images)
    return tried[kind]


def _expected_check(
    plan: Plan, source: Source, tasks: int, stored: int, each: tuple[float, float]
) -> Expected:
    """Return what a check will take, from the seconds and rows of an image."""
    images = sum(len(chunk.images) for chunk in plan.chunks_of(source))
    seconds, rows = each
    left = images * (1 - stored / tasks) if tasks else 0.0
    return Expected(source, 0, round(rows * images), tasks, stored, seconds * left)


def _images(plan: Plan, source: Source) -> list[str]:
    """Return the images that a source has maps of: maps made elsewhere may be of some only."""
    used = [image for chunk in plan.chunks for image in chunk.images]
    if source.kind != "given":
        return used
    with open_maps(source.maps, source.params.get("channels")) as maps:
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
