"""Lines as tables of single images, and how far their means may be trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sightline.metrics import METRICS
from sightline.stats.confidence import interval, intervals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sightline.results._lines import Line
    from sightline.results._views import Name
    from sightline.stats.confidence import Kind

__all__ = ["Spread", "ends_of", "image_table", "spreads"]

# Lines whose scores are laid side by side at once; intervals do not depend on it.
_LINES = 500


class Spread(NamedTuple):
    """The 95% interval of a mean over images, and how its scores spread."""

    low: float
    high: float
    median: float
    std: float


def _kind(name: Name) -> Kind:
    """Return what the mean of a metric is: a share of hits, or a mean."""
    return "share" if METRICS[name.metric].share else "mean"


def ends_of(name: Name, scores: Any, images: Any) -> tuple[float, float]:
    """Return the 95% interval of a mean, clustered by image; NaN where there is none."""
    if scores is None or np.isinf(scores).any():
        return np.nan, np.nan
    found = interval(scores, images=images, kind=_kind(name))
    low, high = np.clip((found.low, found.high), *METRICS[name.metric].range).tolist()
    return low, high


def spreads(name: Name, lines: Sequence[Line]) -> list[Spread]:
    """Return how the scores of each line spread over images; all are of one metric."""
    found: list[Spread] = []
    for start in range(0, len(lines), _LINES):
        table = image_table(lines[start : start + _LINES])
        table[:, np.isinf(table).any(axis=0)] = np.nan  # such a mean has no interval
        of = intervals(table, kind=_kind(name))
        # With few images the ends may lie where no mean can.
        low, high = (np.clip(end, *METRICS[name.metric].range) for end in (of.low, of.high))
        columns = (one.tolist() for one in (low, high, of.median, of.std))
        found += [Spread(*figures) for figures in zip(*columns, strict=True)]
    return found


def image_table(lines: Sequence[Line]) -> Any:
    """Return the scores of lines side by side.

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
    table[places, columns] = np.concatenate([line.scores.values for line in lines])
    return table
