"""What people said about maps: ratings from 1 to 5, and choices between two, summed up."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sightline.annotation.states import fold
from sightline.core.checks import explain_few

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from sightline.annotation.events import Stored
    from sightline.annotation.journal import TaskRecord
    from sightline.stats.agreement import Alpha

__all__ = ["Answer", "Judged", "RatingSummary", "answers", "summarise_ratings"]

_SCALE = (1.0, 5.0)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a person answered: `value` 1 to 5; of a choice 1 left, 0 right, 0.5 equal.

    Examples
    --------
    >>> from sightline.annotation.journal import TaskRecord
    >>> task = TaskRecord("task-1", "a.jpg", "choose", ("cls", "rollout"))
    >>> Answer(task, "anna", 1.0).value
    1.0
    """

    task: TaskRecord
    person: str
    value: float


@dataclass(frozen=True, slots=True)
class Judged:
    """A figure of a method, over images and people.

    Attributes
    ----------
    method : str
        The method; "a > b" for a pair.
    value, low, high : float
        The mean rating, or the share of choices won (a tie is half a win); the ends of an
        interval for other images and other people, NaN below five images or two people.
    answers, images, people : int
        How many there are.
    reason : str
        Why the ends are NaN; else "".
    """

    method: str
    value: float
    low: float
    high: float
    answers: int
    images: int
    people: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RatingSummary:
    """What people said about maps.

    Attributes
    ----------
    ratings : tuple of Judged
        Mean rating of each method, best first.
    wins : tuple of Judged
        Share of its choices that each method wins, best first.
    pairs : tuple of Judged
        Share of choices between two methods that the first wins.
    ratings_alpha, choices_alpha : Alpha
        How far people agree: on ratings as ranks, on choices as they are.
    left : Judged
        Share of choices for the left side, whatever was there: 0.5 unless the side mattered.

    Examples
    --------
    >>> from sightline.annotation.journal import TaskRecord
    >>> task = TaskRecord("task-1", "a.jpg", "choose", ("cls", "rollout"))
    >>> found = summarise_ratings([Answer(task, "anna", 1.0), Answer(task, "bo", 0.5)])
    >>> found.wins[0].method, found.left.value
    ('cls', 0.75)
    """

    ratings: tuple[Judged, ...]
    wins: tuple[Judged, ...]
    pairs: tuple[Judged, ...]
    ratings_alpha: Alpha
    choices_alpha: Alpha
    left: Judged


_CHOICES = {"left": 1.0, "right": 0.0, "equal": 0.5}


def answers(tasks: Iterable[TaskRecord], events: Iterable[Stored]) -> list[Answer]:
    """Return the answers that count, of tasks and events of mode "rating"."""
    known = {task.id: task for task in tasks}
    found = []
    for key, state in fold(events).items():
        if state.status == "answered" and key.item in known:
            said = state.answer
            value = _CHOICES[said] if isinstance(said, str) else float(said or math.nan)
            found.append(Answer(known[key.item], key.person, value))
    return found


def summarise_ratings(
    given: Iterable[Answer], *, confidence: float = 0.95, seed: int = 0
) -> RatingSummary:
    """Return mean ratings, win rates and agreement, with intervals.

    Images and people both vary, and each person's answers belong together as each image's do: the
    intervals are for other images and other people (see `sightline.stats`).

    Parameters
    ----------
    given : iterable of Answer
        See `answers`.
    confidence : float
        Of the intervals.
    seed : int
        Of the bootstrap for agreement.

    Examples
    --------
    >>> from sightline.annotation.journal import TaskRecord
    >>> tasks = [TaskRecord(f"task-{one}", one, "rate", ("cls",)) for one in ("a.jpg", "b.jpg")]
    >>> said = [Answer(task, who, 4) for task in tasks for who in ("anna", "bo")]
    >>> mean = summarise_ratings(said).ratings[0]
    >>> mean.method, mean.value, mean.images, mean.people
    ('cls', 4.0, 2, 2)
    """
    found = sorted(given, key=lambda one: (one.task.id, one.person))
    rated = [one for one in found if one.task.kind == "rate"]
    chosen = [one for one in found if one.task.kind == "choose"]
    by_method: dict[str, list[Answer]] = {}
    for one in rated:
        by_method.setdefault(one.task.methods[0], []).append(one)
    wins: dict[str, list[Answer]] = {}
    pairs: dict[str, list[Answer]] = {}
    for one in chosen:
        left, right = one.task.methods
        for method, value in ((left, one.value), (right, 1 - one.value)):
            won = Answer(one.task, one.person, value)
            wins.setdefault(method, []).append(won)
            if method == min(left, right):
                pairs.setdefault(f"{method} > {max(left, right)}", []).append(won)
    return RatingSummary(
        ratings=_ranked(by_method, confidence, _SCALE),
        wins=_ranked(wins, confidence, (0.0, 1.0)),
        pairs=tuple(_judged(name, pairs[name], confidence, (0.0, 1.0)) for name in sorted(pairs)),
        ratings_alpha=_alpha(rated, "ordinal", confidence, seed),
        choices_alpha=_alpha(chosen, "nominal", confidence, seed),
        left=_judged("left", chosen, confidence, (0.0, 1.0)),
    )


def _ranked(
    groups: Mapping[str, list[Answer]], confidence: float, limits: tuple[float, float]
) -> tuple[Judged, ...]:
    found = [_judged(name, group, confidence, limits) for name, group in groups.items()]
    return tuple(sorted(found, key=lambda one: (-one.value, one.method)))


def _judged(
    name: str, group: Sequence[Answer], confidence: float, limits: tuple[float, float]
) -> Judged:
    from sightline.stats._crossed_means import crossed_mean

    people = {one.person for one in group}
    if not group:
        return Judged(name, math.nan, math.nan, math.nan, 0, 0, 0, "no answers")
    table = _table(group, "image_id")
    found = crossed_mean(table, confidence=confidence, limits=limits)
    reason = explain_few(found.images) or explain_few(len(people), 2, "people")
    return Judged(name, *found[:3], len(group), found.images, len(people), reason)


def _table(group: Sequence[Answer], unit: str) -> NDArray[np.float64]:
    """Return the mean answer of each person on each unit (units, people); NaN where there is none.

    The unit is the image ("image_id") or the task ("id").
    """
    import numpy as np

    units = {name: place for place, name in enumerate(sorted({_of(one, unit) for one in group}))}
    people = {name: place for place, name in enumerate(sorted({one.person for one in group}))}
    sums, counts = np.zeros((2, len(units), len(people)))
    for one in group:
        place = units[_of(one, unit)], people[one.person]
        sums[place] += one.value
        counts[place] += 1
    sums[counts == 0] = np.nan
    found: NDArray[np.float64] = sums / np.maximum(counts, 1)
    return found


def _of(one: Answer, unit: str) -> Any:
    return getattr(one.task, unit)


def _alpha(group: Sequence[Answer], level: Any, confidence: float, seed: int) -> Alpha:
    from sightline.stats.agreement import krippendorff_alpha

    return krippendorff_alpha(_table(group, "id").T, level=level, confidence=confidence, seed=seed)
