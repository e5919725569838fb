"""What was made and may be asked for again, up to a number of things or bytes."""

from __future__ import annotations

from collections import OrderedDict
from concurrent.futures import Future
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

__all__ = ["Kept"]

T = TypeVar("T")


class Kept(Generic[T]):
    """Keeps what was asked for last; threads that ask for one thing at once wait for one of them.

    Parameters
    ----------
    most
        To keep, in things or in what `size_of` counts; what is larger is made and not kept.
    size_of
        How much a thing takes, say its bytes; each counts for 1 unless given.

    Examples
    --------
    >>> kept = Kept(10, len)
    >>> kept.get("a", lambda: "12345678"), kept.get("a", lambda: "not made")
    ('12345678', '12345678')
    >>> kept.get("b", lambda: "123"), len(kept), kept.size
    ('123', 1, 3)
    >>> last = Kept[int](1)
    >>> last.get("a", lambda: 1), last.get("b", lambda: 2), last.get("a", lambda: 3)
    (1, 2, 3)
    """

    def __init__(self, most: int, size_of: Callable[[T], int] = lambda _: 1) -> None:
        self.most, self.size = most, 0
        self._size_of = size_of
        self._there: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()
        self._coming: dict[Hashable, Future[T]] = {}
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._there)

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the thing of a key, which is made where it is not there."""
        with self._lock:
            if key in self._there:
                self._there.move_to_end(key)
                return self._there[key][0]
            coming = self._coming.get(key)
            if coming is None:
                mine = self._coming[key] = Future[Any]()
        if coming is not None:
            return coming.result()
        try:
            made = make()
            size = self._size_of(made)
        except BaseException as error:
            with self._lock:
                del self._coming[key]
            mine.set_exception(error)
            raise
        with self._lock:
            del self._coming[key]
            self._keep(key, made, size)
        mine.set_result(made)
        return made

    def put(self, key: Hashable, made: T) -> None:
        """Keep a thing under a key, in place of what was there."""
        size = self._size_of(made)
        with self._lock:
            self._keep(key, made, size)

    def peek(self, key: Hashable) -> T | None:
        """Return the thing of a key, if it is there."""
        with self._lock:
            if key not in self._there:
                return None
            self._there.move_to_end(key)
            return self._there[key][0]

    def _keep(self, key: Hashable, made: T, size: int) -> None:
        """Keep a thing, and forget those that were not asked for the longest; locked."""
        if key in self._there:
            self.size -= self._there.pop(key)[1]
        if size > self.most:
            return
        self._there[key] = made, size
        self.size += size
        while self.size > self.most:
            _, (_, gone) = self._there.popitem(last=False)
            self.size -= gone
