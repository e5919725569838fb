"""Views: an attribution as a picture: a heatmap, a crop, a box."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from sightline.attribution.methods.colours import Scale, overlay
from sightline.attribution.prototypes.perturbations import relevant_boxes
from sightline.core import InputError
from sightline.core.arrays import to_numpy

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["box_to_percentile", "crop_to_percentile", "heatmap", "percentile_box"]

# Okabe and Ito's yellow on black, so that it is seen on any image.
_LINE, _EDGE = (240, 228, 66), (0, 0, 0)
# How far floats may lie outside 0 to 1: scaling and its inverse round.
_ROUNDING = 1e-6


def percentile_box(values: ArrayLike, percentile: float = 95) -> tuple[int, int, int, int]:
    """Return the smallest box around the most relevant pixels: x0, y0, x1, y1.

    These are the top ``100 - percentile`` percent of the pixels, at least one, and all that are
    equal to the last of them: on a plateau all of it, on a constant map the whole image.

    Parameters
    ----------
    values : array (height, width)
        An attribution.
    percentile : float
        From 0 to below 100: 95 surrounds the top 5% of the pixels.

    Examples
    --------
    >>> percentile_box([[0.0, 0.0, 0.0], [0.0, 1.0, 1.0]], 90)
    (1, 1, 3, 2)
    """
    if isinstance(percentile, bool) or not 0 <= percentile < 100:
        raise InputError(f"percentile must be from 0 to below 100, got {percentile!r}")
    maps = torch.from_numpy(np.array(_map(values), np.float64))[None]
    x0, y0, x1, y1 = relevant_boxes(maps, 1 - percentile / 100)[0].tolist()
    return x0, y0, x1, y1


def crop_to_percentile(
    image: ArrayLike, values: ArrayLike, percentile: float = 95
) -> NDArray[np.uint8]:
    """Return the part of an image inside `percentile_box`.

    Parameters
    ----------
    image : array (height, width, 3)
        Of uint8, or from 0 to 1; as large as the map.
    values : array (height, width)
        An attribution.
    percentile : float
        From 0 to below 100.

    Examples
    --------
    >>> image = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
    >>> crop_to_percentile(image, [[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0]], 75).tolist()
    [[[6, 7, 8], [9, 10, 11]]]
    """
    picture = _picture(image, values)
    x0, y0, x1, y1 = percentile_box(values, percentile)
    return picture[y0:y1, x0:x1].copy()


def box_to_percentile(
    image: ArrayLike, values: ArrayLike, percentile: float = 95, *, width: int = 2
) -> NDArray[np.uint8]:
    """Return an image with the outline of `percentile_box` on it.

    The outline is yellow with a black edge towards the middle, and lies inside the box. Parameters
    as in `crop_to_percentile`; `width` is that of the yellow line in pixels.

    Examples
    --------
    >>> image, values = np.zeros((8, 8, 3), np.uint8), np.zeros((8, 8))
    >>> values[1:7, 1:7] = 1
    >>> box_to_percentile(image, values, 50, width=1)[1].tolist()[:3]
    [[0, 0, 0], [240, 228, 66], [240, 228, 66]]
    """
    if width < 1:
        raise InputError(f"width must be 1 pixel or more, got {width!r}")
    picture = _picture(image, values).copy()
    x0, y0, x1, y1 = percentile_box(values, percentile)
    part = picture[y0:y1, x0:x1]
    rows, columns = (np.minimum(np.arange(n), np.arange(n)[::-1]) for n in part.shape[:2])
    depth = np.minimum(rows[:, None], columns)  # from the nearest edge
    part[depth < width] = _LINE
    part[depth == width] = _EDGE
    return picture


def heatmap(image: ArrayLike, values: ArrayLike) -> NDArray[np.uint8]:
    """Return an image in dim grey under the colours of an attribution: dark at 0, bright at 1.

    Parameters
    ----------
    image : array (height, width, 3)
        Of uint8, or from 0 to 1; as large as the map.
    values : array (height, width)
        In [0, 1].

    Examples
    --------
    >>> image = np.full((4, 4, 3), 128, np.uint8)
    >>> found = heatmap(image, np.eye(4))
    >>> found.shape, bool(found[0, 0].mean() > found[0, 1].mean())
    ((4, 4, 3), True)
    """
    return overlay(_picture(image, values), _map(values), scale=Scale(0.0, 1.0, False))


def _map(values: ArrayLike) -> NDArray[Any]:
    found = np.asarray(to_numpy(values))
    if found.ndim != 2 or not found.size:
        raise InputError(f"values must be (height, width), got {found.shape}")
    if not np.isfinite(found).all():
        raise InputError("values must be finite, got NaN or infinity")
    return found


def _picture(image: ArrayLike, values: ArrayLike) -> NDArray[np.uint8]:
    """Return an image of the size of a map in 8 bits."""
    picture, size = np.asarray(to_numpy(image)), _map(values).shape
    if picture.shape != (*size, 3):
        raise InputError(f"image must be {(*size, 3)}, as the map is, got {picture.shape}")
    if picture.dtype == np.uint8:
        return picture
    within = picture.dtype.kind == "f" and bool(
        ((picture >= -_ROUNDING) & (picture <= 1 + _ROUNDING)).all()
    )
    if not within:
        seen = f"{picture.dtype} from {picture.min()} to {picture.max()}"
        raise InputError(f"image must be of uint8, or of floats from 0 to 1, got {seen}")
    return np.asarray(np.rint(np.clip(picture, 0, 1) * 255), np.uint8)
