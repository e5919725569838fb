"""Least squares with intervals that do not take images to scatter alike."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import stdtrit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["Slope", "slope"]

# Images whose value is fitted exactly, whatever it is, tell nothing of the spread.
_EXACT = 1e-9


class Slope(NamedTuple):
    """The weight of one cause, between which ends it lies, and the degrees of freedom."""

    value: float
    low: float
    high: float
    freedom: float


def slope(
    values: Floats, cause: Floats, others: Floats | None = None, /, *, confidence: float = 0.95
) -> Slope:
    """By how much values rise with a cause, others held fixed: least squares.

    One value an image: images are the units, and each may scatter by its own measure. The variance
    is HC2, which is not biased where all scatter alike; ends follow from Student's t with the
    degrees of freedom of Bell and McCaffrey. With a cause that is 0 or 1 and no others, it is the
    difference of two means.

    Parameters
    ----------
    values, cause
        One an image, all of them finite.
    others
        (images, causes); a cause that does not vary, or follows from the rest, must not be there.

    Returns
    -------
    Slope
        NaN where the cause cannot be told from the others, or too few images are left; NaN ends
        where the slope hangs on a single image.

    References
    ----------
    MacKinnon & White (1985); Bell & McCaffrey (2002); Imbens & Kolesár (2016).

    Examples
    --------
    >>> found = slope(np.array([1.0, 2, 3, 5, 6, 7]), np.array([0.0, 0, 0, 1, 1, 1]))
    >>> [round(one, 2) for one in found]
    [4.0, 1.73, 6.27, 4.0]
    """
    columns = [np.ones(len(values)), *([] if others is None else others.T), cause]
    design = np.column_stack(columns)
    nothing = Slope(math.nan, math.nan, math.nan, math.nan)
    if len(values) <= design.shape[1] or np.linalg.matrix_rank(_in_units(design)) < len(columns):
        return nothing
    q, r = np.linalg.qr(design)
    # What each image's value adds to the slope: the last row of R⁻¹Qᵀ.
    adds = q[:, -1] / r[-1, -1]
    value = float(adds @ values)
    hold = (q**2).sum(axis=1)
    exact = hold > 1 - _EXACT
    if (np.abs(adds[exact]) > _EXACT * np.abs(adds).max()).any():
        return Slope(value, math.nan, math.nan, math.nan)
    weights = np.divide(adds**2, 1 - hold, out=np.zeros(len(hold)), where=~exact)
    gaps = values - q @ (q.T @ values)
    variance = float(weights @ gaps**2)
    freedom = _freedom(q, hold, weights)
    reach = float(stdtrit(freedom, (1 + confidence) / 2)) * math.sqrt(variance)
    return Slope(value, value - reach, value + reach, freedom)


def _in_units(design: Floats) -> Floats:
    found: Floats = design / np.maximum(np.abs(design).max(axis=0), np.finfo(np.float64).tiny)
    return found


def _freedom(q: Floats, hold: Floats, weights: Floats) -> float:
    """Return the degrees of freedom of the variance, were all images to scatter alike."""
    mean = float((weights * (1 - hold)).sum())
    inner = q.T @ (weights[:, None] * q)
    spread = float((weights**2 * (1 - 2 * hold)).sum() + (inner**2).sum())
    return mean**2 / spread
