"""Ranks of many rows at once, in which equal values share theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["centred_ranks"]

# Rows are ranked about this many values at a time, so that what is needed stays in the cache.
CHUNK = 1 << 17


def centred_ranks(values: Floats) -> Floats:
    """Return the ranks of each row around 0, equal values sharing theirs; multiples of a half.

    >>> centred_ranks(np.array([[0.2, 0.1, 0.2, 0.9]])).tolist()
    [[0.0, -1.5, 0.0, 1.5]]
    """
    ranks = np.empty(values.shape)
    step = max(1, CHUNK // values.shape[1])
    for start in range(0, len(values), step):
        rows = slice(start, start + step)
        order = np.argsort(values[rows], axis=1)
        shared = _shared_places(np.take_along_axis(values[rows], order, axis=1))
        np.put_along_axis(ranks[rows], order, (shared - values.shape[1]) / 2, axis=1)
    return ranks


def _shared_places(ordered: Floats) -> NDArray[np.int64]:
    """Return for each entry of sorted rows where its group of equals begins plus where it ends."""
    size = ordered.shape[1]
    first = np.ones((len(ordered), size + 1), np.bool_)
    first[:, 1:-1] = ordered[:, 1:] != ordered[:, :-1]
    places = np.arange(size)
    begins = np.maximum.accumulate(np.where(first[:, :-1], places, 0), axis=1)
    ends = np.where(first[:, 1:], places + 1, size)[:, ::-1]
    shared: NDArray[np.int64] = begins + np.minimum.accumulate(ends, axis=1)[:, ::-1]
    return shared
