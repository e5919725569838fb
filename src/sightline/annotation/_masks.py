"""From the masks of a segmenting network to those of an image: numbers alone, no network."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sightline.core import InputError
from sightline.core import raster as _raster
from sightline.core.arrays import shape_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from sightline.core.geometry import Geometry
    from sightline.core.raster import Mask

__all__ = ["grid_points", "image_shares", "mask_boxes", "on_image", "stability_scores"]


def grid_points(count: int) -> NDArray[np.float64]:
    """Return the centres of `count` x `count` equal cells as shares of an image, row by row.

    Examples
    --------
    >>> grid_points(2).tolist()
    [[0.25, 0.25], [0.75, 0.25], [0.25, 0.75], [0.75, 0.75]]
    """
    side = (np.arange(count) + 0.5) / count
    return np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)


def stability_scores(logits: NDArray[np.float32], offset: float = 1.0) -> NDArray[np.float64]:
    """Return how little each mask `(..., rows, columns)` depends on where it is cut.

    The IoU of the mask above `offset` with that above `-offset`, which contains it: a share of
    areas. NaN where both are empty.

    Examples
    --------
    >>> import numpy as np
    >>> stability_scores(np.array([[[3.0, 0.5], [-0.5, -3.0]], [[2.0, 2.0], [-2.0, -2.0]]]))
    array([0.33333333, 1.        ])
    """
    inner = np.count_nonzero(logits > offset, axis=(-2, -1))
    outer = np.count_nonzero(logits > -offset, axis=(-2, -1))
    return _shares(inner, outer)


def image_shares(logits: NDArray[np.float32], geometry: Geometry) -> NDArray[np.float64]:
    """Return the share of each mask `(n, rows, columns)` on the input that is image, not padding.

    NaN where a mask is empty.
    """
    masks = logits > 0
    inside = masks & _on_cells(geometry, logits.shape[-2:]).content_mask()
    return _shares(inside.sum((1, 2)), masks.sum((1, 2)))


def on_image(
    logits: NDArray[np.float32], geometry: Geometry, height: int, width: int
) -> NDArray[np.float32]:
    """Return logits on the input `(..., rows, columns)` over the whole image, at a size.

    Each pixel interpolates between the centres of cells, and padding is cut off.

    Parameters
    ----------
    logits : array (..., rows, columns)
        On cells that cover the whole input.
    geometry : Geometry
        The way from the image to the input.
    height, width : int
        Size of the result, which covers the whole image.
    """
    way = _on_cells(geometry, logits.shape[-2:])
    return way.to_image(logits, height, width, how="bilinear")


def mask_boxes(masks: Mask) -> NDArray[np.float64]:
    """Return the tight box of each mask `(n, rows, columns)`, normalised; NaN where it is empty.

    Examples
    --------
    >>> import numpy as np
    >>> mask_boxes(np.array([[[False, True], [False, False]]])).tolist()
    [[0.5, 0.0, 1.0, 0.5]]
    """
    found = [_raster.mask_box(mask) or (np.nan,) * 4 for mask in masks]
    return np.array(found, np.float64).reshape(-1, 4)


def _shares(part: ArrayLike, whole: ArrayLike) -> NDArray[np.float64]:
    """Return parts of wholes, NaN where there is nothing."""
    empty: NDArray[np.float64] = np.full(np.shape(part), np.nan)
    np.divide(part, whole, out=empty, where=np.greater(whole, 0))
    return empty


def _on_cells(geometry: Geometry, cells: tuple[int, ...]) -> Geometry:
    """Return the way from an image to the cells `(rows, columns)` of a mask."""
    (width, height), (rows, columns) = geometry.size, cells
    if width % columns or height % rows:
        seen = f"{shape_of((rows, columns))} for {height} x {width}"
        raise InputError(f"rows and columns of a mask must divide the input, got {seen}")
    return geometry.patches(width // columns, height // rows)
