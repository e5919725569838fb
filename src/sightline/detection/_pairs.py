"""Pairs of boxes that overlap, and the choice among them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sightline.core import InputError
from sightline.core.arrays import shape_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from sightline.detection._tables import Scene

__all__ = ["Pairs", "close_pairs", "first_of_each", "skipped", "take"]

# Pairs compared at once: some 100 MB of numbers.
_AT_ONCE = 1_000_000


class Pairs(NamedTuple):
    """Rows of found and true boxes that overlap, with their IoU and the share of the found box."""

    found: NDArray[np.intp]
    true: NDArray[np.intp]
    iou: NDArray[np.float64]
    inside: NDArray[np.float64]

    def at(self, rows: NDArray[np.intp] | NDArray[np.bool_]) -> Pairs:
        """Return the given pairs."""
        return Pairs(self.found[rows], self.true[rows], self.iou[rows], self.inside[rows])


def close_pairs(scene: Scene, *, same_label: bool = False) -> Pairs:
    """Return all pairs of one image whose boxes overlap, or masks where both sides have them."""
    found, true = scene.found, scene.true
    keys = [
        side.image * (1 + max(found.label.max(initial=0), true.label.max(initial=0))) + side.label
        if same_label
        else side.image
        for side in (found, true)
    ]
    if found.mask is not None and true.mask is not None:
        parts = list(_compare_masks(found.mask, true.mask, *keys))
    else:
        parts = [_compare(scene, rows, others) for rows, others in _blocks(*keys)]
    if not parts:
        none = np.zeros(0, np.intp)
        return Pairs(none, none, np.zeros(0), np.zeros(0))
    return Pairs(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _blocks(
    found: NDArray[np.intp], true: NDArray[np.intp]
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Yield the rows of both sides with equal keys, all pairs of them, some at a time."""
    order = np.argsort(true, kind="stable")
    start = np.searchsorted(true[order], found, side="left")
    count = np.searchsorted(true[order], found, side="right") - start
    ends = np.cumsum(count)
    at = 0
    while at < len(found):
        before = ends[at - 1] if at else 0
        stop = max(at + 1, int(np.searchsorted(ends, before + _AT_ONCE, side="right")))
        rows = np.repeat(np.arange(at, stop), count[at:stop])
        within = np.arange(len(rows)) - np.repeat(
            ends[at:stop] - count[at:stop] - before, count[at:stop]
        )
        yield rows, order[start[rows] + within]
        at = stop


def _compare(scene: Scene, rows: NDArray[np.intp], others: NDArray[np.intp]) -> Pairs:
    """Keep the pairs that overlap; one axis after the other, since most fail at the first."""
    sides: list[NDArray[np.float64]] = []
    for axis in (0, 1):
        side = _overlap(scene, rows, others, axis)
        near = np.flatnonzero(side > 0)
        rows, others = rows[near], others[near]
        sides = [kept[near] for kept in (*sides, side)]
    common = sides[0] * sides[1]
    if not common.all():  # a product too small for a number
        kept = np.flatnonzero(common)
        rows, others, common = rows[kept], others[kept], common[kept]
    whole = scene.found.extent[rows]
    iou = common / (whole + scene.true.extent[others] - common)
    return Pairs(rows, others, iou, common / whole)


def _overlap(
    scene: Scene, rows: NDArray[np.intp], others: NDArray[np.intp], axis: int
) -> NDArray[np.float64]:
    found, true = scene.found, scene.true
    low = np.maximum(found.low[:, axis][rows], true.low[:, axis][others])
    high = np.minimum(found.high[:, axis][rows], true.high[:, axis][others])
    return np.asarray(high - low + scene.more, np.float64)


def skipped(scene: Scene, pairs: Pairs, limit: float) -> NDArray[np.bool_]:
    """Say of each pair whether its found box lies in a crowd, or finds a difficult object."""
    share = np.where(scene.true.crowd[pairs.true], pairs.inside, pairs.iou)
    return np.asarray(scene.true.skip[pairs.true] & (share >= limit), np.bool_)


def _compare_masks(
    found: NDArray[np.object_],
    true: NDArray[np.object_],
    found_keys: NDArray[np.intp],
    true_keys: NDArray[np.intp],
) -> Iterator[Pairs]:
    """Yield the pairs of masks with equal keys that overlap."""
    from pycocotools import mask

    sides = [np.argsort(keys, kind="stable") for keys in (found_keys, true_keys)]
    common = np.intersect1d(found_keys, true_keys)
    ends = [
        [np.searchsorted(keys[order], common, side=side) for side in ("left", "right")]
        for keys, order in zip((found_keys, true_keys), sides, strict=True)
    ]
    for a, b, c, d in zip(*ends[0], *ends[1], strict=True):
        rows, others = sides[0][a:b], sides[1][c:d]
        lists = found[rows].tolist(), true[others].tolist()
        iou = mask.iou(*lists, [0] * len(others))
        if (iou < 0).any():
            first = (int(places[0]) for places in np.nonzero(iou < 0))
            sizes = (shape_of(side[row]["size"]) for side, row in zip(lists, first, strict=True))
            raise InputError(f"masks of one image must have one size; got {' and '.join(sizes)}")
        inside = mask.iou(*lists, [1] * len(others))
        i, j = np.nonzero(iou > 0)
        yield Pairs(rows[i], others[j], iou[i, j], inside[i, j])


def take(pairs: Pairs, found: int, true: int) -> NDArray[np.intp]:
    """Go through the pairs in their order, keep those whose two sides are both free.

    Returns the true row of each found row, -1 where it has none.
    """
    partner = np.full(found, -1, np.intp)
    free = [True] * true
    open_ = [True] * found
    for row, other in zip(pairs.found.tolist(), pairs.true.tolist(), strict=True):
        if open_[row] and free[other]:
            open_[row] = free[other] = False
            partner[row] = other
    return partner


def first_of_each(rows: NDArray[np.intp], size: int) -> NDArray[np.intp]:
    """Return where each row comes first among `rows`; -1 where it never does."""
    place = np.full(size, -1, np.intp)
    place[rows[::-1]] = np.arange(len(rows))[::-1]
    return place
