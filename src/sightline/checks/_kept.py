"""Answers that were asked for last, so that other checks of the same network can use them."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Kept"]

T = TypeVar("T")


class Kept(Generic[T]):
    """The last answers by key; threads may ask at once.

    Parameters
    ----------
    most : int
        How many are kept.

    Examples
    --------
    >>> kept = Kept[int](1)
    >>> kept.get("a", lambda: 1), kept.get("a", lambda: 2)
    (1, 1)
    >>> kept.get("b", lambda: 3), kept.get("a", lambda: 4)
    (3, 4)
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._found: OrderedDict[str, T] = OrderedDict()
        self._lock = Lock()

    def get(self, key: str, make: Callable[[], T]) -> T:
        """Return the answer of a key, made unless it is there."""
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
                return self._found[key]
        made = make()
        with self._lock:
            self._found[key] = made
            while len(self._found) > self.most:
                self._found.popitem(last=False)
        return made
