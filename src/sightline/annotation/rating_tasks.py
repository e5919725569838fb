"""Questions to people about maps, drawn from a seed, and asked without the names of methods.

A rating answers "how well does the map show what matters?". Who answers sees the image and one
map, or two side by side, and never the name of a method: what the task shows does not hold it.
"""

from __future__ import annotations

from hashlib import sha256
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

from sightline.annotation.events import Event, same_person
from sightline.annotation.journal import TaskRecord
from sightline.annotation.states import Key, fold
from sightline.core import InputError, UnknownNameError
from sightline.data.formats.checks import show

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sightline.annotation.events import Json
    from sightline.annotation.journal import Journal

__all__ = [
    "draw_images",
    "draw_tasks",
    "method_of",
    "next_tasks",
    "rating_event",
    "shown_task",
]


def draw_tasks(
    images: Iterable[str],
    methods: Sequence[str],
    seed: int,
    *,
    pairs: bool = True,
    ratings: bool = True,
    count: int | None = None,
) -> tuple[TaskRecord, ...]:
    """Draw questions about the maps of images, in random order.

    Parameters
    ----------
    images : iterable of str
        Ids of the images.
    methods : sequence of str
        Names of the maps: "cls", "gradcam@layer4", ….
    seed : int
        The same seed draws the same tasks, whatever the order of images and methods.
    pairs, ratings : bool
        Ask for choices between two maps of an image, each pair once; for ratings of each map.
        Which map is on the left is drawn.
    count : int, optional
        Only so many tasks, drawn at random; all unless given.

    Raises
    ------
    InputError
        If there is nothing to ask, or a name is given twice.

    Examples
    --------
    >>> tasks = draw_tasks(["a.jpg", "b.jpg"], ["cls", "rollout"], seed=0)
    >>> sorted(task.kind for task in tasks)
    ['choose', 'choose', 'rate', 'rate', 'rate', 'rate']
    """
    chosen, names = sorted(images), sorted(methods)
    for what, given in (("image", chosen), ("method", names)):
        if twice := [a for a, b in pairwise(given) if a == b]:
            raise InputError(f"{what} {twice[0]!r} is given twice")
    found = [
        _task(seed, image, shown)
        for image in chosen
        for shown in [
            *((name,) for name in names if ratings),
            *(pair for pair in combinations(names, 2) if pairs),
        ]
    ]
    if not found:
        raise InputError(
            f"nothing to ask: {len(chosen)} images, {len(names)} methods, ratings {ratings}, "
            f"pairs {pairs}"
        )
    if count is not None and not 1 <= count <= len(found):
        raise InputError(f"count must be from 1 to the {len(found)} tasks, got {show(count)}")
    found.sort(key=lambda task: _rank(seed, "order", task.id))
    return tuple(found[:count])


def draw_images(images: Iterable[str], count: int, seed: int) -> tuple[str, ...]:
    """Draw images at random; a larger draw of the same seed holds the smaller.

    Raises
    ------
    InputError
        If there are fewer images.

    Examples
    --------
    >>> draw_images(["a", "b", "c"], 2, seed=0)
    ('a', 'c')
    """
    ranked = sorted(images, key=lambda one: _rank(seed, "image", one))
    if type(count) is not int or not 1 <= count <= len(ranked):
        raise InputError(f"count must be from 1 to the {len(ranked)} images, got {show(count)}")
    return tuple(sorted(ranked[:count]))


def _task(seed: int, image: str, shown: tuple[str, ...]) -> TaskRecord:
    kind = "rate" if len(shown) == 1 else "choose"
    name = _rank(seed, kind, image, *shown)
    if name[-1] in "13579bdf":
        shown = shown[::-1]
    return TaskRecord(f"task-{name[:24]}", image, kind, shown)


def _rank(seed: int, *words: str) -> str:
    return sha256("\0".join((f"rating/{seed}", *words)).encode()).hexdigest()


def shown_task(task: TaskRecord) -> Json:
    """Return what a person is shown of a task; no method is named.

    ``sides`` are the names by which the maps are asked for: "left" and "right", or "left" alone.
    """
    sides = ["left", "right"][: len(task.methods)]
    return {"id": task.id, "image_id": task.image_id, "kind": task.kind, "sides": sides}


def method_of(task: TaskRecord, side: str) -> str:
    """Return the method whose map is on a side; for the service, which draws it."""
    sides = ["left", "right"][: len(task.methods)]
    if side not in sides:
        raise UnknownNameError(
            f"task {task.id} has no side {show(side)}; sides: {', '.join(sides)}"
        )
    return task.methods[sides.index(side)]


def next_tasks(journal: Journal, who: str) -> tuple[TaskRecord, ...]:
    """Return the tasks that a person has not answered, in an order of their own."""
    person = same_person(who)
    states = fold(journal.events(mode="rating"))
    left = [
        task
        for task in journal.tasks()
        if (state := states.get(Key("rating", task.image_id, task.id, person))) is None
        or state.status != "answered"
    ]
    return tuple(sorted(left, key=lambda task: _rank(0, "person", person, task.id)))


def rating_event(
    task: TaskRecord,
    answer: int | str,
    *,
    who: str,
    id: str,  # noqa: A002  # that of the event
    seconds: float | None = None,
    comment: str = "",
) -> Event:
    """Return the event of an answer, for `Journal.append`: 1 to 5, or left, right, equal."""
    data = {"answer": answer}
    return Event(id, who, "rating", task.kind, task.image_id, task.id, data, seconds, comment)
