"""Maps as they are read, on coarser rasters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["RASTER", "coarser", "read", "spread_over", "to_cells"]

RASTER = 224
"""Longer side of the raster over an image to which maps of any grid are brought first."""


def read(values: NDArray[Any], sign: str) -> NDArray[Any]:
    """Return a map as it counts: below zero as zero, by its size, or as it is.

    >>> read(np.array([-2.0, 1.0]), "positive").tolist()
    [0.0, 1.0]
    """
    if sign == "signed":
        return values
    found: NDArray[Any] = np.maximum(values, 0) if sign == "positive" else np.abs(values)
    return found


def spread_over(images: Sequence[str], most: int) -> tuple[str, ...]:
    """Return at most so many images, evenly spread over all.

    >>> spread_over(("a", "b", "c", "d", "e"), 3)
    ('a', 'c', 'e')
    """
    if len(images) <= most:
        return tuple(images)
    places = np.linspace(0, len(images) - 1, most).round().astype(int)
    return tuple(images[place] for place in places)


def coarser(shape: Sequence[int], longest: int) -> tuple[int, ...]:
    """Return rows and columns of a raster of the same shape, with so many on its longer side.

    >>> coarser((224, 112), 56), coarser((3, 5), 56)
    ((56, 28), (3, 5))
    """
    scale = min(1.0, longest / max(shape))
    return tuple(max(1, round(side * scale)) for side in shape)


def to_cells(
    values: NDArray[Any], unseen: NDArray[np.bool_] | None, size: tuple[int, ...]
) -> NDArray[np.float64]:
    """Return the means of a map over the cells of another raster; NaN where most is unseen.

    >>> to_cells(np.array([[1.0, 3.0, 8.0, 8.0]]), None, (1, 2)).tolist()
    [[2.0, 8.0]]
    """
    far = float(np.abs(values).max()) or 1.0  # Pillow has 32 bits only
    if unseen is None:
        return _means(values / far, size) * far
    weight = _means(~unseen * 1.0, size)
    known = _means(np.where(unseen, 0.0, values / far), size)
    return np.where(weight >= 0.5, known / np.maximum(weight, 0.5) * far, np.nan)


def _means(values: NDArray[Any], size: tuple[int, ...]) -> NDArray[np.float64]:
    from PIL import Image

    if values.shape == size:
        return np.asarray(values, np.float64)
    picture = Image.fromarray(np.asarray(values, np.float32))
    return np.asarray(picture.resize((size[1], size[0]), Image.Resampling.BOX), np.float64)
