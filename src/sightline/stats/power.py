"""Power of a test of a mean over images: how large an effect must be in order to be detected."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import ncfdtr, stdtrit

from sightline.core import InputError
from sightline.stats._flips import FEWEST
from sightline.stats._given import floats
from sightline.stats._resample import in_units

__all__ = [
    "compute_detectable_difference",
    "compute_detectable_mean",
    "compute_mean_power",
    "compute_power",
]


def compute_power(difference: float, differences: Any, /, *, alpha: float = 0.05) -> float:
    """Return how often a two-sided paired test would reject, if `difference` were the true mean.

    By the noncentral t distribution, with the standard deviation and the number of the
    differences at hand.

    Parameters
    ----------
    difference
        True mean difference.
    differences
        Paired differences, one per image; NaN ones are skipped.
    alpha
        Level of the test.

    Returns
    -------
    float
        NaN below 6 images, and where all differences are equal.

    Examples
    --------
    >>> round(compute_power(0.1, [0.1, 0.2, -0.1, 0.3, 0.0, 0.1, 0.2, 0.1]), 3)
    0.499
    """
    if not math.isfinite(difference):
        raise InputError(f"difference must be a finite number; got {difference!r}")
    se, df = _read(differences, alpha)
    return compute_mean_power(difference / se, df, alpha) if se > 0 else math.nan


def compute_detectable_difference(
    differences: Any, /, *, power: float = 0.8, alpha: float = 0.05
) -> float:
    """Return the smallest mean difference that a two-sided paired test detects with this power.

    By the noncentral t distribution, with the standard deviation and the number of the
    differences at hand. It belongs to every statement that no difference could be shown.

    Parameters
    ----------
    differences, alpha
        See `compute_power`.
    power
        Probability of a rejection, if the true mean has this size.

    Returns
    -------
    float
        NaN where that of `compute_power` is.

    References
    ----------
    Cohen (1988), Statistical power analysis.

    Examples
    --------
    >>> gaps = [0.1, 0.2, -0.1, 0.3, 0.0, 0.1, 0.2, 0.1]
    >>> least = compute_detectable_difference(gaps)
    >>> round(least, 3), round(compute_power(least, gaps), 3)
    (0.144, 0.8)
    """
    se, df = _read(differences, alpha)
    return se * compute_detectable_mean(df, power, alpha) if se > 0 else math.nan


def compute_mean_power(shift: float, df: float, alpha: float, /) -> float:
    """Return the power of Student's test of a mean that is `shift` standard errors from zero.

    The square of a noncentral t is a noncentral F, which counts both tails at once.
    """
    return float(1 - ncfdtr(1, df, shift**2, float(stdtrit(df, 1 - alpha / 2)) ** 2))


def compute_detectable_mean(df: float, power: float, alpha: float, /) -> float:
    """Return how many standard errors from zero a mean is that is detected with this power."""
    from scipy.optimize import brentq

    _check_level(alpha)
    if not alpha < power < 1:
        raise InputError(f"power must be above alpha = {alpha:g} and below 1; got {power!r}")
    far = float(stdtrit(df, 1 - alpha / 2))
    while compute_mean_power(far, df, alpha) < power:
        far *= 2
    return float(brentq(lambda shift: compute_mean_power(shift, df, alpha) - power, 0.0, far))


def _check_level(alpha: float) -> None:
    if not 0 < alpha < 1:
        raise InputError(f"alpha must be between 0 and 1; got {alpha!r}")


def _read(differences: Any, alpha: float) -> tuple[float, float]:
    """Return standard error and degrees of freedom; NaN below 6 images or without a spread."""
    _check_level(alpha)
    given = floats(differences, "differences")
    given = given[np.isfinite(given)]
    if len(given) < FEWEST:
        return math.nan, math.nan
    given, unit = in_units(given)
    spread = float(given.std(ddof=1))
    if spread <= 1e-12 * float(np.abs(given).max()):
        return math.nan, math.nan
    return float(np.ldexp(spread, unit)) / math.sqrt(len(given)), len(given) - 1
