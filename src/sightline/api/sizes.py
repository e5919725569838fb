"""About how many bytes a thing takes that is kept at hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

__all__ = ["bytes_of"]

# Of what stands around numbers, and of a thing inside another of which nothing is known.
_AROUND, _INSIDE = 4096, 128
_DEPTH = 6
_PLAIN = frozenset((float, int, bool, str, type(None)))


def bytes_of(thing: Any) -> int:
    """Return about how many bytes tables, arrays, and what holds them, take.

    >>> bytes_of({"a": np.zeros(1000), "b": [np.zeros(500)]}) - bytes_of({})
    12000
    """
    return _AROUND + _inner(thing, _DEPTH)


def _inner(thing: Any, depth: int) -> int:
    if type(thing) in _PLAIN:  # most things are, and the rest takes ten times as long to find out
        return _INSIDE
    if isinstance(thing, np.ndarray):
        return thing.nbytes
    if isinstance(thing, pd.DataFrame):
        return int(thing.memory_usage(deep=True).sum())
    if depth == 0:
        return _INSIDE
    if isinstance(thing, Mapping):
        return sum(_inner(one, depth - 1) for one in thing.values())
    if isinstance(thing, list | tuple | set | frozenset):
        return sum(_inner(one, depth - 1) for one in thing)
    if is_dataclass(thing):
        kind: Any = type(thing)
        return sum(_inner(getattr(thing, name), depth - 1) for name in _names(kind))
    return _INSIDE


@lru_cache(1024)
def _names(kind: type[Any]) -> tuple[str, ...]:
    return tuple(one.name for one in fields(kind))
