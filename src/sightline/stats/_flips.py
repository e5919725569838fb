"""Sign-flip tests of many columns of differences, all with the same flips of the images."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sightline.core import InputError
from sightline.stats._resample import in_units, on_grid, sign_blocks, sign_patterns

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["EQUAL", "FEWEST", "StepDown", "flip_pvalues", "max_t_flips"]

FEWEST = 6
"""Images below which no two-sided sign-flip test can reach 0.05."""
EQUAL = 1e-9
"""Sums of flipped differences this close are equal, in units of the largest difference."""


def flip_pvalues(given: Floats, flips: int, seed: int, /) -> Floats:
    """Return the two-sided p-value of each column (images, columns); NaN where undefined.

    A difference that a column lacks is 0 there, which no flip changes: the sums are those of the
    others. NaN for a column with fewer than six.
    """
    columns, rows = _tested(given, flips)
    p = np.full(given.shape[1], np.nan)
    p[columns] = _shares(rows, flips, seed)
    return p


def max_t_flips(given: Floats, flips: int, seed: int, /) -> tuple[Floats, Floats]:
    """Return the p-values of `flip_pvalues`, and their step-down maximum correction."""
    columns, rows = _tested(given, flips)
    p, max_t = np.full((2, given.shape[1]), np.nan)
    # Flips leave the sum of squares alone: divided by its root, sums grow as |t| does.
    root = np.sqrt((rows**2).sum(axis=1))
    root[root == 0] = 1.0
    highest = StepDown(np.abs(rows.sum(axis=1)) / root)
    p[columns] = _shares(rows, flips, seed, lambda drawn: highest.add(drawn / root[:, None]))
    every = sign_patterns(rows.shape[1], flips)
    max_t[columns] = highest.pvalues(every or flips, identity=not every)
    return p, max_t


def _tested(given: Floats, flips: int) -> tuple[NDArray[np.intp], Floats]:
    """Return the columns with enough images, and their differences as rows on a grid."""
    if flips < 1:
        raise InputError(f"flips must be at least 1; got {flips}")
    defined = np.isfinite(given)
    columns = np.flatnonzero(defined.sum(axis=0) >= FEWEST)
    images = defined[:, columns].any(axis=1)
    used = given[np.ix_(images, columns)].T
    return columns, on_grid(in_units(np.where(np.isfinite(used), used, 0.0))[0])


def _shares(
    rows: Floats, flips: int, seed: int, see: Callable[[Floats], None] | None = None
) -> Floats:
    """Return the share of flips whose sum is as far from zero; `see` is shown all the sums."""
    least = np.abs(rows.sum(axis=1)) - EQUAL * np.abs(rows).max(axis=1, initial=0.0)
    counts = np.zeros(len(rows))
    if not len(rows):
        return counts
    for signs in sign_blocks(rows.shape[1], flips, seed):
        drawn = np.abs(rows @ signs.T)
        counts += (drawn >= least[:, None]).sum(axis=1)
        if see is not None:
            see(drawn)
    every = sign_patterns(rows.shape[1], flips)
    return counts / every if every else (counts + 1) / (flips + 1)


class StepDown:
    """Counts of draws whose largest statistic, over a line and all below it, reaches the line's."""

    def __init__(self, observed: Floats) -> None:
        self.order = np.argsort(observed, kind="stable")  # from the smallest up
        self.observed = observed[self.order]
        self.counts = np.zeros(len(observed))

    def add(self, draws: Floats) -> None:
        """Count draws (lines, draws)."""
        highest = draws[self.order]
        for i in range(1, len(highest)):  # many times faster than maximum.accumulate
            np.maximum(highest[i - 1], highest[i], out=highest[i])
        self.counts += (highest >= self.observed[:, None] - EQUAL).sum(axis=1)

    def pvalues(self, draws: int, *, identity: bool) -> Floats:
        """Return p-values of that many draws; with the identity added if it is not among them."""
        p = (self.counts + identity) / (draws + identity)
        found = np.empty(len(p))
        found[self.order] = np.maximum.accumulate(p[::-1])[::-1]
        return found
