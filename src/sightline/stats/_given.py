"""Numbers as they are given: a list or a table of finite ones, NaN where nothing is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.core import InputError
from sightline.core.arrays import shape_of, to_numpy

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["floats", "refuse_infinite"]


def floats(
    values: Any, name: str, ndim: int | None = 1, form: str = "a list of numbers"
) -> NDArray[np.float64]:
    """Return numbers as an array of `ndim` axes, or any; `form` is what an error says of them.

    >>> floats([1, float("nan")], "values").tolist()
    [1.0, nan]
    >>> floats([[1.0]], "values")
    Traceback (most recent call last):
    sightline.core.errors.InputError: values must be a list of numbers; got 1×1
    """
    given = np.asarray(to_numpy(values), np.float64)
    if ndim is not None and given.ndim != ndim:
        raise InputError(f"{name} must be {form}; got {shape_of(given.shape)}")
    refuse_infinite(given, name)
    return given


def refuse_infinite(given: NDArray[np.float64], name: str) -> None:
    """Raise where a number is infinite."""
    if np.isinf(given).any():
        raise InputError(f"{name} must hold finite numbers or NaN; got an infinite one")
