"""Rectangles, polygons and covered areas: what geometry needs of shapes, in any unit."""

from __future__ import annotations

from math import nan
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from sightline.core.raster import Mask

__all__ = [
    "NEAR",
    "NOTHING",
    "Pair",
    "Rect",
    "as_rect",
    "box_share",
    "carry_rect",
    "clip_box",
    "clip_boxes",
    "half_covered",
    "meet",
    "neighbours",
    "sample_axis",
    "share_within",
    "snap",
    "snap_all",
    "sum_between",
]

Pair: TypeAlias = tuple[float, float]
Rect: TypeAlias = tuple[float, float, float, float]  # x0, y0, x1, y1

# Lengths (in pixels) and shares closer than this are the same: steps multiply and divide floats.
NEAR = 1e-9
NOTHING = (0.0, 0.0, 0.0, 0.0)


def as_rect(corners: ArrayLike) -> Rect:
    x0, y0, x1, y1 = map(snap, np.ravel(corners).tolist())
    return x0, y0, x1, y1


def carry_rect(rect: ArrayLike, scale: Pair, offset: Pair) -> Rect:
    return as_rect(np.sort(np.reshape(rect, (2, 2)) * scale + offset, axis=0))


def meet(a: Sequence[float], b: Sequence[float]) -> Rect:
    """Return what two rectangles share, all 0 when that has no area."""
    x0, y0, x1, y1 = as_rect((np.maximum(a[:2], b[:2]), np.minimum(a[2:], b[2:])))
    return (x0, y0, x1, y1) if x1 - x0 > NEAR and y1 - y0 > NEAR else NOTHING


def clip_box(box: Sequence[float], to: Sequence[float]) -> Rect | None:
    """Clip a box; None when it is outside or only leans on the edge, as `box_pixels` has it."""
    low, high = np.clip(np.reshape(box, (2, 2)), to[:2], to[2:])
    shared = np.minimum(box[2:], to[2:]) - np.maximum(box[:2], to[:2])
    flat = np.subtract(box[2:], box[:2]) <= 2 * NEAR
    outside = (shared < -NEAR) | ((shared <= NEAR) & ~flat)
    return None if outside.any() or to[0] == to[2] else as_rect((low, high))


def clip_boxes(
    boxes: NDArray[np.float64], to: Rect
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Clip boxes `(n, 2, 2)` as `clip_box` does; say of which nothing is left."""
    low, high = np.array(to[:2]), np.array(to[2:])
    shared = np.minimum(boxes[:, 1], high) - np.maximum(boxes[:, 0], low)
    flat = boxes[:, 1] - boxes[:, 0] <= 2 * NEAR
    outside = ((shared < -NEAR) | ((shared <= NEAR) & ~flat)).any(axis=1)
    return snap_all(np.clip(boxes, low, high)), outside | (to[0] == to[2])


def box_share(box: Rect, view: Rect) -> float:
    """Return the share of a box's part inside the image that lies in `view`, by area or length."""
    inside = clip_box(box, (0, 0, 1, 1))
    if inside is None:
        return nan
    kept = clip_box(inside, view)
    if kept is None:
        return 0.0
    (w, h), (width, height) = np.subtract(kept[2:], kept[:2]), np.subtract(inside[2:], inside[:2])
    return snap((w / width if width else 1.0) * (h / height if height else 1.0))


def sum_between(rows: NDArray[Any], edges: ArrayLike) -> NDArray[np.float64]:
    """Sum rows between successive edges; a row that an edge cuts is split."""
    edges = np.clip(edges, 0, len(rows))
    whole = np.minimum(edges.astype(np.int64), len(rows) - 1)
    above = np.zeros((len(rows) + 1, rows.shape[1]))
    np.cumsum(rows, axis=0, out=above[1:])
    summed: NDArray[np.float64] = above[whole] + (edges - whole)[:, None] * rows[whole]
    return np.abs(np.diff(summed, axis=0))


def half_covered(covered: NDArray[np.float64]) -> Mask:
    """Return the cells covered by half or more, those with the largest share if there are none."""
    most = float(covered.max())
    mask: Mask = (covered >= min(0.5, most) - NEAR) & (most > NEAR)
    return mask


def share_within(mask: Mask, view: Rect) -> float:
    """Return the share of a mask's area that lies in `view` (normalised); NaN without area."""
    if not mask.any():
        return nan
    rows, columns = mask.shape
    band = sum_between(mask, (view[1] * rows, view[3] * rows))
    inside = sum_between(band.T, (view[0] * columns, view[2] * columns))
    return snap(inside.item() / np.count_nonzero(mask))


def sample_axis(values: NDArray[Any], places: NDArray[np.float64], how: str) -> NDArray[Any]:
    """Return the values at places along the last axis, where cell 0 has its centre at 0.5."""
    last = values.shape[-1] - 1
    if how == "nearest":
        return values[..., np.clip(np.floor(places + NEAR), 0, last).astype(np.int64)]
    low, high, part = neighbours(places, last + 1, values.dtype)
    mixed: NDArray[Any] = values[..., low] * (1 - part) + values[..., high] * part
    return mixed


def neighbours(
    places: NDArray[np.float64], cells: int, kind: np.dtype[Any]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any]]:
    """Return the cells whose centres are on both sides of places, and the share of the second."""
    places = np.clip(places - 0.5, 0, cells - 1)
    low = places.astype(np.int64)
    return low, np.minimum(low + 1, cells - 1), (places - low).astype(kind)


def snap_all(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values, each as `snap` returns it."""
    whole = np.rint(values)
    found: NDArray[np.float64] = np.where(np.abs(values - whole) < NEAR, whole, values)
    return found


def snap(value: float) -> float:
    """Return the whole number that a value is within rounding error of, else the value."""
    near = float(round(value))
    return near if abs(value - near) < NEAR else float(value)
