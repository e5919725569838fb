"""Sort the keys of maps by the quicker of two ways on this machine.

numpy's sort is vectorised, but by instructions that some processors are slow at (AMD's Zen 4) or
do not have; there a radix sort takes a sixth of the time. Sorted keys are the same bits either way.
"""

from __future__ import annotations

from functools import cache
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.core.compilation import compiled

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["RadixSort", "key_sort", "numpy_sort"]

Array = Any

DIGIT = 11
"""Bits by which a pass of the radix sort orders: 8 KB of counts, which stay at hand."""
FEW = 2048
"""Below this many keys numpy's sort is quicker everywhere."""
MANY = 1 << 24
"""Above this many keys the copy that a radix sort needs costs too much memory."""
TRIAL = 1 << 14


def key_sort(pixels: int, dtype: np.dtype[Any]) -> Callable[[NDArray[Any]], None]:
    """Return what sorts each row of unsigned keys (maps, pixels) in place; for one thread."""
    if FEW <= pixels <= MANY and _radix_is_quicker(dtype):
        return RadixSort(pixels, dtype)
    return numpy_sort


def numpy_sort(keys: NDArray[Any]) -> None:
    """Sort each row of keys (maps, pixels) in place."""
    keys.sort(axis=1)


class RadixSort:
    """Sorts each row of unsigned keys (maps, pixels) in place, from the last digits to the first.

    Three digits are a key of 32 bits, six one of 64.
    """

    def __init__(self, pixels: int, dtype: np.dtype[Any]) -> None:
        self.spare = np.empty(pixels, dtype)
        self.counts = np.empty((3, 1 << DIGIT), np.uint32)

    def __call__(self, keys: NDArray[Any]) -> None:
        """Sort each row."""
        for shift in range(0, 8 * keys.dtype.itemsize, 3 * DIGIT):
            _sort_by_three_digits(keys, keys.dtype.type(shift), self.spare, *self.counts)


@compiled
def _sort_by_three_digits(
    keys: Array, shift: Any, spare: Array, low: Array, middle: Array, high: Array
) -> None:
    """Count all three digits in one look at a row, then move its keys by each in turn."""
    unsigned = keys.dtype.type
    last, second, third = unsigned(low.size - 1), unsigned(DIGIT), unsigned(2 * DIGIT)
    one = np.uint32(1)
    for b in range(keys.shape[0]):
        row = keys[b]
        low[:], middle[:], high[:] = 0, 0, 0
        for i in range(row.size):
            key = row[i] >> shift
            low[key & last] += one
            middle[(key >> second) & last] += one
            high[(key >> third) & last] += one
        _move(row, shift, low, spare)
        _move(spare, shift + second, middle, row)
        _move(row, shift + third, high, spare)
        row[:] = spare


@compiled
def _move(source: Array, shift: Any, counts: Array, target: Array) -> None:
    """Order keys by one digit, and among equal digits as they are; of `counts` nothing is left."""
    start = np.uint32(0)
    for digit in range(counts.size):
        counts[digit], start = start, start + counts[digit]
    last = source.dtype.type(counts.size - 1)
    for i in range(source.size):
        digit = (source[i] >> shift) & last
        place = counts[digit]
        target[place] = source[i]
        counts[digit] = place + np.uint32(1)


@cache
def _radix_is_quicker(dtype: np.dtype[Any]) -> bool:
    """Try both on keys at random, once in a process."""
    keys = np.random.default_rng(0).integers(0, np.iinfo(dtype).max, (1, TRIAL), dtype)
    radix_sort = RadixSort(TRIAL, dtype)
    radix_sort(keys.copy())  # compiled, if it was not
    return _seconds(radix_sort, keys) < _seconds(numpy_sort, keys)


def _seconds(sort: Callable[[NDArray[Any]], None], keys: NDArray[Any]) -> float:
    """Return the least time of a few."""
    times = []
    for _ in range(5):
        rows = keys.copy()
        start = perf_counter()
        sort(rows)
        times.append(perf_counter() - start)
    return min(times)
