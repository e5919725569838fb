"""Resampling by matrix product: how often each image is drawn, times a table of values.

Sums are exact, so that a column comes out with the same bits alone or among thousands, whatever
the number of threads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = ["Weights", "in_units", "on_grid", "sign_blocks", "sign_patterns"]

# Numbers in a block of weights: 16 MB.
_BLOCK = 2**21
# Patterns of signs in a block.
_FLIPS = 512


def in_units(rows: NDArray[np.float64], /) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Return each row over the power of two above its largest value, and that power's exponent.

    Squares then neither overflow nor vanish, and the bits of the numbers stay as they are.

    >>> in_units(np.array([[48.0, -16.0]]))
    (array([[ 0.75, -0.25]]), array([6], dtype=int32))
    """
    exponent = np.frexp(np.abs(rows).max(axis=-1, initial=0.0))[1]
    return np.ldexp(rows, -exponent[..., None]), exponent


def on_grid(rows: NDArray[np.float64], /) -> NDArray[np.float64]:
    """Round each row onto a binary grid of its own, so fine that nothing is lost but noise.

    A sum of whole multiples of a row's values is then exact in any order, as long as the
    multiples add up to at most the row's length: every part of it is a whole number of grid steps
    below 2⁵³.

    >>> float(on_grid(np.array([[0.1, 0.2, 0.7]])).sum())
    1.0
    """
    count = max(rows.shape[-1], 1)
    peak = np.abs(rows).max(axis=-1, initial=0.0)
    exponent = np.frexp(peak)[1] + int(count).bit_length() - 52
    exponent = np.maximum(exponent, -1074)[..., None]
    found: NDArray[np.float64] = np.ldexp(np.rint(np.ldexp(rows, -exponent)), exponent)
    return found


class Weights:
    """How often each of `n` images is drawn, in `resamples` draws of n images with replacement.

    Iterating gives blocks ``(slice of resamples, weights (rows, n))``. They depend on n and the
    seed alone; a set of weights that fills one block is made once.
    """

    def __init__(self, n: int, resamples: int, seed: int) -> None:
        self.n, self.resamples, self.seed = n, resamples, seed
        self._rows = max(1, _BLOCK // n)
        self._only: NDArray[np.float64] | None = None

    def __iter__(self) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        if self._only is not None:
            yield slice(0, self.resamples), self._only
            return
        rng = np.random.default_rng(self.seed)
        for start in range(0, self.resamples, self._rows):
            rows = min(self._rows, self.resamples - start)
            block = self._drawn(rng, rows)
            if rows == self.resamples:
                self._only = block
            yield slice(start, start + rows), block

    def _drawn(self, rng: np.random.Generator, rows: int) -> NDArray[np.float64]:
        drawn = rng.integers(0, self.n, (rows, self.n))
        drawn += self.n * np.arange(rows)[:, None]
        counts = np.bincount(drawn.ravel(), minlength=rows * self.n)
        return counts.reshape(rows, self.n).astype(np.float64)

    def sums(self, rows: NDArray[np.float64], /) -> NDArray[np.float64]:
        """Return the sum of each row (R, n), which lies on a grid, in each resample: (R, B)."""
        found = np.empty((len(rows), self.resamples))
        for part, block in self:
            found[:, part] = rows @ block.T
        return found


def sign_patterns(n: int, flips: int, /) -> int:
    """Return how many patterns of n signs there are if `flips` and the identity can hold them all.

    Otherwise 0: patterns have to be drawn.
    """
    return 2**n if n < 63 and 2**n <= flips + 1 else 0


def sign_blocks(n: int, flips: int, seed: int, /) -> Iterator[NDArray[np.float64]]:
    """Yield blocks (rows, n) of signs −1 and 1: all patterns where they are few, else drawn ones.

    The identity is among all patterns; it is not added to drawn ones.
    """
    every = sign_patterns(n, flips)
    rng = np.random.default_rng(seed)
    for start in range(0, every or flips, _FLIPS):
        rows = min(_FLIPS, (every or flips) - start)
        if every:
            codes = np.arange(start, start + rows)[:, None] >> np.arange(n)
            signs = 1.0 - 2.0 * (codes & 1)
        else:
            noise = np.frombuffer(rng.bytes(_FLIPS * (-(-n // 8))), np.uint8)
            bits = np.unpackbits(noise.reshape(_FLIPS, -1), axis=1, count=n)
            signs = 1.0 - 2.0 * bits[:rows]
        yield signs.astype(np.float64, copy=False)
