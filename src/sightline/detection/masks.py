"""Masks: polygons and run lengths become pycocotools' run lengths.

Whatever does not fit is refused here. pycocotools itself would run on for ever over run lengths
that do not cover their image, and write beyond its memory at points far outside of it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.core import InputError
from sightline.core.errors import shown
from sightline.detection import _kernels as kernels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sightline.detection.columns import Rle

__all__ = ["Size", "mask_areas", "mask_boxes", "read_mask"]

Size = tuple[int, int]
"""Height and width."""

_FARTHEST = 1_000_000
"""Points of polygons are within so many pixels."""
_LONGEST = 20_000_000
"""Outlines of polygons are so many pixels long; drawing them takes 40 bytes for each."""
_MOST_PIXELS = 1 << 32
"""Run lengths have fewer."""


def read_mask(found: Any, size: Size | None = None) -> Rle:
    """Return the run lengths of a `segmentation`.

    Polygons need the height and width of the image. The result is that of pycocotools, bit for bit.

    Examples
    --------
    >>> read_mask({"size": [2, 3], "counts": [1, 5]})
    {'size': [2, 3], 'counts': b'15'}
    >>> read_mask({"size": [2, 3], "counts": "16"})
    Traceback (most recent call last):
    sightline.core.errors.InputError: must have counts that add up to 2 × 3 pixels; got 7
    """
    if isinstance(found, dict) and isinstance(found.get("counts"), (str, bytes)):
        return _compressed(found)
    if isinstance(found, dict):
        return _counted(found)
    if not isinstance(found, (list, tuple)):
        raise InputError(f"must be polygons or run lengths; got {type(found).__name__}")
    if size is None:
        raise InputError("must be run lengths: an object with size and counts; got polygons")
    return _polygons(found, _size(size))


def mask_areas(masks: Sequence[Rle]) -> NDArray[np.float64]:
    """Return the number of pixels that are set in each mask.

    The areas are those of `pycocotools.mask.area`, which takes at most 255 masks at once.

    >>> mask_areas([read_mask({"size": [2, 3], "counts": [1, 5]})]).tolist()
    [5.0]
    """
    return np.array([_sum_runs(mask["counts"])[1] for mask in masks], np.float64)


def mask_boxes(masks: Sequence[Rle]) -> NDArray[np.float64]:
    """Return the boxes (N, 4) around masks."""
    from pycocotools import mask

    return np.asarray(mask.toBbox(list(masks)) if masks else [], np.float64).reshape(-1, 4)


def _size(found: Any) -> list[int]:
    """Check the height and width of an image."""
    good = isinstance(found, (list, tuple)) and len(found) == 2
    if not good or not all(_is_count(side) and side > 0 for side in found):
        raise InputError(f"must have a size of height and width; got {shown(found)}")
    height, width = map(int, found)
    if height * width >= _MOST_PIXELS:
        raise InputError(f"must have fewer than 2^32 pixels; got {height} × {width}")
    return [height, width]


def _is_count(value: Any) -> bool:
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    return bool(whole and 0 <= value < _MOST_PIXELS)


def _compressed(found: dict[str, Any]) -> Rle:
    size, counts = _size(found.get("size")), found["counts"]
    runs = counts.encode("utf-8", "replace") if isinstance(counts, str) else counts
    total, _ = _sum_runs(runs)
    if total < 0:
        raise InputError(f"must have counts as pycocotools writes them; got {counts[:30]!r}")
    _check_total(total, size)
    return {"size": size, "counts": runs}


def _sum_runs(counts: bytes) -> tuple[int, int]:
    """Return how many pixels a mask has and how many of them are set; see the kernel."""
    return kernels.sum_runs(np.frombuffer(counts, np.uint8))


def _check_total(total: int, size: list[int]) -> None:
    if total != size[0] * size[1]:
        raise InputError(
            f"must have counts that add up to {size[0]} × {size[1]} pixels; got {total}"
        )


def _counted(found: dict[str, Any]) -> Rle:
    from pycocotools import mask

    size, counts = _size(found.get("size")), found.get("counts")
    if not isinstance(counts, (list, tuple)) or not all(_is_count(count) for count in counts):
        raise InputError("must have counts: run lengths of at least 0, or their text")
    _check_total(sum(counts), size)
    return mask.frPyObjects({"size": size, "counts": list(counts)}, *size)  # type: ignore[no-any-return]


def _polygons(found: Sequence[Any], size: list[int]) -> Rle:
    from pycocotools import mask

    parts = [list(part) if isinstance(part, (list, tuple)) else part for part in found]
    if not parts or not all(_is_polygon(part) for part in parts):
        raise InputError("must be polygons of at least 3 points: lists x, y, x, y, …")
    farthest = max(abs(value) for part in parts for value in part)
    if farthest > _FARTHEST:
        raise InputError(f"must be polygons within {_FARTHEST} pixels; got {shown(farthest)}")
    longest = max(map(_length, parts))
    if longest > _LONGEST:
        raise InputError(f"must be polygons of at most {_LONGEST} pixels; got {longest:.0f}")
    return mask.merge(mask.frPyObjects(parts, *size))  # type: ignore[no-any-return]


def _length(part: Sequence[float]) -> float:
    """Return how far it is around a polygon, each side by the longer of its extents."""
    points = np.asarray(part, np.float64).reshape(-1, 2)
    return float(np.abs(np.diff(points, axis=0, append=points[:1])).max(axis=1).sum())


def _is_polygon(part: Any) -> bool:
    return (
        isinstance(part, list)
        and len(part) >= 6
        and len(part) % 2 == 0
        and all(
            isinstance(value, (int, float, np.integer, np.floating))
            and not isinstance(value, bool)
            and -math.inf < value < math.inf  # also of a whole number beyond every float
            for value in part
        )
    )
