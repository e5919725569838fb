"""Boxes that are given by hand: corners in the pixels of an image."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.core import InputError
from sightline.core.errors import shown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

__all__ = ["checked_box", "show_box"]


def checked_box(box: Any, width: int, height: int) -> NDArray[np.float64]:
    """Return corners x0, y0, x1, y1 in pixels, where they are those of a box on the image.

    Parameters
    ----------
    box : four numbers
        The corners.
    width, height : int
        Of the image.

    Raises
    ------
    InputError
        If they are not four numbers, are no box, or lie outside the image.

    Examples
    --------
    >>> checked_box((10, 20, 30, 40), 100, 80).tolist()
    [10.0, 20.0, 30.0, 40.0]
    >>> checked_box((10, 20, 130, 40), 100, 80)
    Traceback (most recent call last):
    sightline.core.errors.InputError: box must be x0, y0, x1, y1 in pixels of the image
    (100 x 80) and lie inside it, got 10, 20, 130, 40
    """
    wanted = f"box must be x0, y0, x1, y1 in pixels of the image ({width} x {height})"
    try:
        corners = np.array([] if isinstance(box, str) else [float(edge) for edge in box])
    except (TypeError, ValueError):
        corners = np.zeros(0)
    if corners.shape != (4,):
        raise InputError(f"{wanted}, got {shown(box)}")
    x0, y0, x1, y1 = corners
    if not np.isfinite(corners).all() or not (x0 < x1 and y0 < y1):
        raise InputError(f"{wanted} with x0 < x1 and y0 < y1, got {show_box(corners)}")
    if x0 < 0 or y0 < 0 or x1 > width or y1 > height:
        raise InputError(f"{wanted} and lie inside it, got {show_box(corners)}")
    return corners


def show_box(corners: Iterable[float]) -> str:
    """Return corners as messages have them.

    >>> show_box((1.0, 2.5, 3.0, 4.0))
    '1, 2.5, 3, 4'
    """
    return ", ".join(f"{float(edge):g}" for edge in corners)
