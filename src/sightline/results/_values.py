"""Lines as tables of single images, and how far their means may be trusted."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from sightline.metrics import METRICS
from sightline.stats.confidence import interval, intervals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sightline.results._lines import Line
    from sightline.results._views import Name
    from sightline.stats.confidence import Intervals, Kind

__all__ = ["Spread", "image_table", "mean_intervals", "spread_of", "spreads"]

# Lines whose scores are laid side by side at once; intervals do not depend on it.
_LINES = 500
# Weights are counted in units of 2⁻⁴⁰: intervals of means take whole numbers.
_UNIT = 2.0**40


class Spread(NamedTuple):
    """The 95% interval of a mean over images, and how its scores spread."""

    low: float
    high: float
    median: float
    std: float


def _kind(name: Name) -> Kind:
    """Return what the mean of a metric is: a share of hits, or a mean."""
    return "share" if METRICS[name.metric].share else "mean"


def mean_intervals(
    table: Any, weights: Any, limits: tuple[float, float], kind: Kind = "mean"
) -> Intervals:
    """Return the intervals of means (images, columns) in which each score has a weight.

    Such a mean is a ratio of sums; images are resampled with what they add to both. `limits` is
    the range of the scores.
    """
    weights = np.where(np.isfinite(table), weights, 0.0)
    if ((weights == 0) | (weights == 1)).all():
        return intervals(table, kind=kind, limits=limits)
    counts = np.rint(weights * _UNIT)
    found = intervals(table * counts, counts=counts, kind=kind, limits=limits)
    single = intervals(table, method="t")
    return replace(found, std=single.std, median=single.median)


def spread_of(name: Name, scores: Any, images: Any, weights: Any) -> Spread:
    """Return how scores spread, the interval of their mean clustered by image."""
    if scores is None or np.isinf(scores).any():
        return Spread(*[np.nan] * 4)
    limits = METRICS[name.metric].range
    found = interval(scores, images=images, kind=_kind(name), limits=limits)
    ends = found
    if (np.asarray(weights) != 1).any():
        _, places = np.unique(np.asarray(images, str), return_inverse=True)
        sums, sizes = (
            np.bincount(places, weights=part)[:, None] for part in (scores * weights, weights)
        )
        ends = mean_intervals(sums / sizes, sizes, limits).at(0)
    return Spread(ends.low, ends.high, found.median, found.std)


def spreads(name: Name, lines: Sequence[Line]) -> list[Spread]:
    """Return how the scores of each line spread over images; all are of one metric."""
    found: list[Spread] = []
    limits = METRICS[name.metric].range
    for start in range(0, len(lines), _LINES):
        some = lines[start : start + _LINES]
        table = image_table(some)
        table[:, np.isinf(table).any(axis=0)] = np.nan  # such a mean has no interval
        of = mean_intervals(table, image_table(some, "weights"), limits, _kind(name))
        columns = (one.tolist() for one in (of.low, of.high, of.median, of.std))
        found += [Spread(*figures) for figures in zip(*columns, strict=True)]
    return found


def image_table(lines: Sequence[Line], what: Literal["values", "weights"] = "values") -> Any:
    """Return the scores of lines side by side, or what each of them counts in a mean.

    Returns
    -------
    ndarray
        (images, lines), images in the order of their names; NaN where a score is undefined or not
        there yet. Images without any score are left out.
    """
    if not lines:
        return np.empty((0, 0))
    numbers = [line.scores.numbers for line in lines]
    images, places = np.unique(np.concatenate(numbers), return_inverse=True)
    columns = np.repeat(np.arange(len(lines)), [len(one) for one in numbers])
    table = np.full((len(images), len(lines)), np.nan)
    table[places, columns] = np.concatenate([getattr(line.scores, what) for line in lines])
    return table
