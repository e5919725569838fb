"""Tables that took long to make, kept up to a number of bytes for each moment of a store."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar, cast

from sightline.api.sizes import bytes_of
from sightline.api.state import Served
from sightline.core.lru_cache import Kept

__all__ = ["keep"]

T = TypeVar("T")

_MOST = 96 << 20


def keep(served: Served, key: Hashable, make: Callable[[], T]) -> T:
    """Return what is kept under a key; make it first where it is not there.

    Threads that ask for one thing at once wait for the one that makes it. What was not used for
    the longest time is forgotten where there is no room.
    """
    kept: Kept[Any] = served.kept("tables", lambda: Kept(_MOST, bytes_of))
    return cast("T", kept.get(key, make))
