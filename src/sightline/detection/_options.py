"""Options and numbers as they are given: checked, and brought to one form."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.core import InputError
from sightline.core.arrays import to_numpy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["at_threshold", "check_number", "check_share", "find_threshold", "read_numbers"]

_EQUAL = 1e-9
"""IoU thresholds this near are one: of COCO's, that of 0.9 is 0.8999999999999999."""


def check_number(name: str, value: Any) -> float:
    """Return a number that is not NaN."""
    try:
        number = math.nan if isinstance(value, str | bytes) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if math.isnan(number):
        raise InputError(f"{name} must be a number; got {value!r}")
    return number


def check_share(name: str, value: Any) -> float:
    """Return a number above 0, up to 1."""
    number = check_number(name, value)
    if not 0 < number <= 1:
        raise InputError(f"{name} must be above 0 and at most 1; got {value!r}")
    return number


def read_numbers(name: str, values: Any) -> NDArray[np.float64]:
    """Return numbers of a list, an iterator, an array or a tensor.

    >>> read_numbers("scores", iter([1, 0.5])).tolist()
    [1.0, 0.5]
    """
    given = list(values) if isinstance(values, Iterator) else values
    try:
        return np.asarray(to_numpy(given), np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be numbers; got {values!r}") from None


def at_threshold(known: Sequence[float] | NDArray[np.float64], iou: float) -> NDArray[np.bool_]:
    """Say of each IoU threshold whether it is this one, but for rounding.

    >>> at_threshold([0.5, 0.8999999999999999], 0.9).tolist()
    [False, True]
    """
    return np.abs(np.asarray(known, np.float64) - iou) <= _EQUAL


def find_threshold(
    known: Sequence[float] | NDArray[np.float64], iou: float | None = None, name: str = "iou"
) -> int:
    """Return the place of an IoU threshold; of 0.5, or of the lowest, unless given.

    >>> find_threshold([0.9, 0.7]), find_threshold([0.3, 0.5]), find_threshold([0.3, 0.5], 0.3)
    (1, 1, 0)
    """
    values = np.asarray(known, np.float64)
    wanted = 0.5 if iou is None else check_number(name, iou)
    place = int(np.argmin(np.abs(values - wanted)))
    if at_threshold(values, wanted)[place]:
        return place
    if iou is None:
        return int(np.argmin(values))
    raise InputError(f"{name} must be one of {', '.join(map(str, values))}; got {iou!r}")
