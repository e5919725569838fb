"""How much boxes overlap, and the best of those that do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sightline.core import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["box_ious", "box_parts", "nms"]


def nms(boxes: ArrayLike, scores: ArrayLike, threshold: float) -> NDArray[np.intp]:
    """Return which boxes stay: non-maximum suppression, greedy.

    From the highest score down (the first of equal ones), a box stays unless its IoU with one that
    stays is above the threshold.

    Parameters
    ----------
    boxes : array (n, 4)
        Corners x0, y0, x1, y1 in any unit.
    scores : array (n,)
        Higher is better.
    threshold : float
        From 0 to 1; at 1 all stay.

    Returns
    -------
    array of int
        Rows of `boxes`, the highest score first.

    Raises
    ------
    InputError
        If a number is not finite, corners are in the wrong order, or the counts differ.

    Examples
    --------
    >>> nms([(0, 0, 10, 10), (0, 0, 10, 9), (20, 0, 30, 10)], [0.5, 0.9, 0.7], 0.6).tolist()
    [1, 2]
    """
    corners, values = _corners(boxes), np.asarray(scores, np.float64)
    if values.shape != (len(corners),) or not np.isfinite(values).all():
        raise InputError(f"scores must be {len(corners)} finite numbers, one a box, got {scores!r}")
    if not 0 <= threshold <= 1:
        raise InputError(f"threshold must be from 0 to 1, got {threshold!r}")
    waiting = np.argsort(-values, kind="stable")
    kept = []
    while len(waiting):
        best, rest = waiting[0], waiting[1:]
        kept.append(best)
        waiting = rest[_ious(corners[best], corners[rest]) <= threshold]
    return np.array(kept, np.intp)


def box_ious(a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
    """Return the IoU of each box of `a` (n, 4) with each of `b` (m, 4): `(n, m)`.

    Boxes that have no area together, two mere points say, have 0.

    Examples
    --------
    >>> box_ious([(0, 0, 2, 2)], [(0, 0, 2, 1), (1, 1, 3, 3)]).round(3).tolist()
    [[0.5, 0.143]]
    """
    return _ious(_corners(a)[:, None], _corners(b)[None])


def box_parts(a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
    """Return the part of each box of `a` (n, 4) that lies in each of `b` (m, 4): `(n, m)`.

    A box without area has 0.

    Examples
    --------
    >>> box_parts([(0, 0, 2, 2)], [(0, 0, 2, 1), (-9, -9, 9, 9)]).tolist()
    [[0.5, 1.0]]
    """
    first, second = _corners(a)[:, None], _corners(b)[None]
    return _divided(_shared(first, second), _areas(first))


def _ious(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    shared = _shared(a, b)
    return _divided(shared, _areas(a) + _areas(b) - shared)


def _shared(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    sides = np.minimum(a[..., 2:], b[..., 2:]) - np.maximum(a[..., :2], b[..., :2])
    area: NDArray[np.float64] = np.maximum(sides, 0).prod(-1)
    return area


def _areas(boxes: NDArray[np.float64]) -> NDArray[np.float64]:
    areas: NDArray[np.float64] = (boxes[..., 2:] - boxes[..., :2]).prod(-1)
    return areas


def _divided(part: NDArray[np.float64], whole: NDArray[np.float64]) -> NDArray[np.float64]:
    part, whole = np.broadcast_arrays(part, whole)
    return np.divide(part, whole, out=np.zeros(part.shape), where=whole > 0)


def _corners(boxes: ArrayLike) -> NDArray[np.float64]:
    corners = np.asarray(boxes, np.float64)
    corners = corners.reshape(0, 4) if corners.size == 0 else corners
    if corners.ndim != 2 or corners.shape[1] != 4:
        raise InputError(f"boxes must be (n, 4), got {corners.shape}")
    good = np.isfinite(corners).all(1) & (corners[:, :2] <= corners[:, 2:]).all(1)
    if not good.all():
        seen = corners[np.argmin(good)].tolist()
        raise InputError(f"box must be finite with x0 <= x1, y0 <= y1, got {seen}")
    return corners
