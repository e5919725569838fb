"""Checks of sizes, with errors that name what was seen."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, TypeAlias

import numpy as np

from sightline.core import InputError
from sightline.core.errors import shown

__all__ = [
    "Size",
    "check_numbers",
    "check_pair",
    "check_size",
    "one_side",
    "show_size",
    "size_or",
]

_MOST = 1e12  # products of such numbers are finite
Size: TypeAlias = tuple[int, int]  # width, height


def check_numbers(values: Any, count: int, name: str) -> tuple[float, ...]:
    fits = isinstance(values, Sequence | np.ndarray) and len(values) == count
    if not fits or not all(_is_number(value) for value in values):
        raise InputError(f"{name} must be {count} finite numbers, got {shown(values)}")
    return tuple(map(float, values))


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and bool(-_MOST <= value <= _MOST)  # type: ignore[operator]


def check_size(values: Any, name: str) -> Size:
    width, height = map(int, check_numbers(values, 2, name))
    if min(width, height) < 1 or (width, height) != tuple(values):
        raise InputError(f"{name} must be width and height, whole and >= 1, got {shown(values)}")
    return width, height


def check_pair(value: int | Size | None, name: str) -> Size:
    return check_size(value if isinstance(value, tuple | list) else (value, value), name)


def size_or(default: Size, width: int | None, height: int | None) -> Size:
    """Return a size whose sides are `default` where they are None."""
    size = (default[0] if width is None else width, default[1] if height is None else height)
    return check_size(size, "size")


def one_side(size: Size, name: str) -> int:
    if size[0] != size[1]:
        raise InputError(f"{name} must be one number, got {show_size(size)}")
    return size[0]


def show_size(size: Size) -> str:
    return f"{size[0]}x{size[1]}"
