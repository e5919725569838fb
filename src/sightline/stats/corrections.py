"""Many p-values at once: what is left of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.core import InputError
from sightline.core.arrays import to_numpy

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["benjamini_hochberg", "holm"]


def holm(p: Any, /) -> NDArray[np.float64]:
    """Holm's step-down correction: keeps the chance of any false finding at the level.

    The i-th smallest of m p-values is multiplied by m − i + 1; a later one is never smaller than
    an earlier one. It holds however the comparisons depend on each other.

    Parameters
    ----------
    p
        p-values, in any shape. NaN stays NaN and does not count as a comparison.

    Returns
    -------
    array
        Corrected p-values, in the same shape and order.

    References
    ----------
    Holm (1979), A simple sequentially rejective multiple test procedure.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03, float("nan")])
    array([0.03, 0.06, 0.06,  nan])
    """
    given, order, m = _sorted(p)
    steps = given.ravel()[order] * np.arange(m, 0, -1)
    return _back(given, order, np.maximum.accumulate(steps))


def benjamini_hochberg(p: Any, /) -> NDArray[np.float64]:
    """Benjamini and Hochberg's correction: bounds the expected share of false findings.

    The i-th smallest of m p-values is multiplied by m / i; an earlier one is never larger than a
    later one. It holds for comparisons that are independent or depend on each other positively.

    Parameters
    ----------
    p
        p-values, in any shape. NaN stays NaN and does not count as a comparison.

    Returns
    -------
    array
        Corrected p-values, in the same shape and order.

    References
    ----------
    Benjamini & Hochberg (1995), Controlling the false discovery rate.

    Examples
    --------
    >>> benjamini_hochberg([0.01, 0.04, 0.03, float("nan")])
    array([0.03, 0.04, 0.04,  nan])
    """
    given, order, m = _sorted(p)
    steps = given.ravel()[order] * m / np.arange(1, m + 1)
    return _back(given, order, np.minimum.accumulate(steps[::-1])[::-1])


def _sorted(p: Any) -> tuple[NDArray[np.float64], NDArray[np.intp], int]:
    """Return p-values, the order of those that are defined, and their number."""
    given = np.asarray(to_numpy(p), np.float64)
    if ((given < 0) | (given > 1)).any():
        seen = given[(given < 0) | (given > 1)][0]
        raise InputError(f"p must hold numbers from 0 to 1 or NaN; got {seen:g}")
    m = int(np.isfinite(given).sum())
    return given, np.argsort(given, axis=None, kind="stable")[:m], m


def _back(
    given: NDArray[np.float64], order: NDArray[np.intp], steps: NDArray[np.float64]
) -> NDArray[np.float64]:
    found = np.full(given.size, np.nan)
    found[order] = np.minimum(steps, 1.0)
    return found.reshape(given.shape)
