"""What was made and may be asked for again, up to a number of bytes."""

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
    most_bytes
        To keep; what is larger is made and not kept.
    size_of
        How many bytes a thing takes.

    Examples
    --------
    >>> kept = Kept(10, len)
    >>> kept.get("a", lambda: "12345678"), kept.get("a", lambda: "not made")
    ('12345678', '12345678')
    >>> kept.get("b", lambda: "123"), len(kept), kept.bytes
    ('123', 1, 3)
    """

    def __init__(self, most_bytes: int, size_of: Callable[[T], int]) -> None:
        self.most_bytes, self.bytes = most_bytes, 0
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
        self._keep(key, made, size)
        mine.set_result(made)
        return made

    def peek(self, key: Hashable) -> T | None:
        """Return the thing of a key, if it is there."""
        with self._lock:
            if key not in self._there:
                return None
            self._there.move_to_end(key)
            return self._there[key][0]

    def _keep(self, key: Hashable, made: T, size: int) -> None:
        with self._lock:
            del self._coming[key]
            if size > self.most_bytes:
                return
            self._there[key] = made, size
            self.bytes += size
            while self.bytes > self.most_bytes:
                _, (_, gone) = self._there.popitem(last=False)
                self.bytes -= gone
