"""Fixations: points as counts per pixel, as a density, and how they differ from regions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.core import InputError
from sightline.core.arrays import Array, namespace, shape_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["ADVICE", "compute_point_density", "count_points", "is_made_of_points"]

_ROUNDING = 1e-9  # pixels
LEAST_PIXELS = 1000
"""In smaller images a single pixel may be a region."""
ADVICE = (
    "CC, SIM, KL and the like compare densities: give targets=compute_point_density(points, "
    "height, width, sigma=...), a Gaussian of that many pixels around each point"
)


def count_points(
    points: Sequence[Sequence[float]] | NDArray[Any], height: int, width: int, /
) -> NDArray[np.int64]:
    """Count points per pixel, such as the fixations of all viewers of an image.

    Parameters
    ----------
    points
        ``(x, y)`` as shares of the image, each in [0, 1]. Repeated points add up.
    height, width
        Size of the result in pixels.

    Examples
    --------
    >>> count_points([(0.1, 0.5), (0.1, 0.5), (0.9, 0.5)], 1, 3).tolist()
    [[2, 0, 1]]
    """
    places = np.asarray(points, np.float64)
    if places.size == 0:
        places = places.reshape(0, 2)
    if places.ndim != 2 or places.shape[1] != 2:
        raise InputError(f"points must be (x, y) each; got shape {shape_of(places.shape)}")
    outside = ~((places >= 0) & (places <= 1)).all(axis=1)  # NaN too
    if outside.any():
        index = int(np.argmax(outside))
        raise InputError(
            "points must be (x, y) as shares of the image, each in [0, 1]; "
            f"point {index} is {tuple(places[index].tolist())}"
        )
    # A share such as 29 / 400 can be the last bit below the edge of its pixel.
    pixels = (places * (width, height) + _ROUNDING).astype(np.int64)
    columns, rows = np.minimum(pixels, (width - 1, height - 1)).T
    counts = np.zeros((height, width), np.int64)
    np.add.at(counts, (rows, columns), 1)
    return counts


def compute_point_density(
    points: Sequence[Sequence[float]] | NDArray[Any], height: int, width: int, /, *, sigma: float
) -> NDArray[np.float64]:
    """Density of points: a Gaussian around each, added up and scaled to sum 1.

    Parameters
    ----------
    points, height, width
        As in `count_points`.
    sigma
        Standard deviation in pixels of the result, such as those of one degree of visual angle.
        Mass beyond an edge is reflected at it, as in pysaliency, so that none is lost.

    Returns
    -------
    numpy.ndarray
        ``(height, width)``; all zero without points.

    Examples
    --------
    >>> compute_point_density([(0.5, 0.5)], 1, 5, sigma=1).round(2).tolist()
    [[0.06, 0.24, 0.4, 0.24, 0.06]]

    References
    ----------
    Bylinskii et al. (2018), What do different evaluation metrics tell us about saliency models?,
    arXiv:1604.03605.
    """
    from scipy.ndimage import gaussian_filter

    if not (sigma > 0 and math.isfinite(sigma)):
        raise InputError(f"sigma must be a finite number of pixels > 0; got {sigma!r}")
    counts = count_points(points, height, width).astype(np.float64)
    if not counts.any():
        return counts
    density: NDArray[np.float64] = gaussian_filter(counts, sigma, mode="reflect")
    density /= density.sum()
    return density


def is_made_of_points(target: Array, /) -> bool:
    """Return whether some of the arrays ``(..., H, W)`` marks points rather than areas.

    Less than half of its positive pixels lie in positive squares of 2×2, and a quarter or more have
    at most one positive pixel among their eight neighbours, which those of thin lines have not; in
    an image of at least 1000 pixels that has rows and columns.

    Examples
    --------
    >>> import numpy as np
    >>> marked = np.zeros((40, 40))
    >>> marked[::10, ::10] = 1
    >>> is_made_of_points(marked), is_made_of_points(np.kron(marked, np.ones((3, 3))))
    (True, False)
    """
    xp, (height, width) = namespace(target), target.shape[-2:]
    if height * width < LEAST_PIXELS or min(height, width) == 1:
        return False
    positive = xp.astype(target > 0, xp.int8)
    row, column = xp.zeros_like(positive[..., :1, :]), xp.zeros_like(positive[..., :1])
    near = xp.concat([row, positive[..., :-1, :]], axis=-2) + positive
    near = near + xp.concat([positive[..., 1:, :], row], axis=-2)
    near = (
        xp.concat([column, near[..., :-1]], axis=-1)
        + near
        + xp.concat([near[..., 1:], column], axis=-1)
    )
    marked = positive == 1
    square = marked[..., :-1, :-1] & marked[..., 1:, :-1]
    square = square & marked[..., :-1, 1:] & marked[..., 1:, 1:]
    total, lonely = _count(xp, marked), _count(xp, marked & (near <= 2))
    return bool(xp.any((2 * _count_squares(xp, square) < total) & (4 * lonely >= total)))


def _count(xp: Any, marked: Array) -> Array:
    return xp.sum(xp.astype(marked, xp.int64), axis=(-2, -1))


def _count_squares(xp: Any, square: Array) -> Array:
    """Count the pixels that lie in squares, given where these begin."""
    column = xp.zeros_like(square[..., :1])
    wide = xp.concat([square, column], axis=-1) | xp.concat([column, square], axis=-1)
    row = xp.zeros_like(wide[..., :1, :])
    return _count(xp, xp.concat([wide, row], axis=-2) | xp.concat([row, wide], axis=-2))
