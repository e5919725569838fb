"""How far people agree who judge the same things."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from sightline.core import InputError
from sightline.core.checks import check_choice, check_confidence, explain_few
from sightline.stats._given import floats
from sightline.stats._resample import Weights, on_grid

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["Alpha", "Level", "krippendorff_alpha"]

Level = Literal["nominal", "ordinal", "interval"]
# Of the resamples at least so many must have an alpha: else its interval is one of the lucky.
_MOST = 0.95


@dataclass(frozen=True, slots=True)
class Alpha:
    """Krippendorff's α with its interval.

    Attributes
    ----------
    value : float
        1: all agree. 0: as if answers were dealt at random. Below: they disagree on purpose.
    low, high : float
        Ends of the interval, from resampling units.
    units : int
        Units that at least two people judged; others do not count.
    ratings : int
        Judgements on these.
    raters : int
        People who gave them.
    undefined : float
        Share of resamples without an alpha.
    level : str
        How values compare.
    confidence : float
        Of the interval.
    reason : str
        Why a figure is NaN, or "".

    Examples
    --------
    >>> from sightline.stats import krippendorff_alpha
    >>> two = krippendorff_alpha([[1, 2, 1, 2], [1, 2, 1, 1]])
    >>> round(two.value, 3), two.units, two.raters, two.level
    (0.533, 4, 2, 'nominal')
    """

    value: float
    low: float
    high: float
    units: int
    ratings: int
    raters: int
    undefined: float
    level: Level
    confidence: float
    reason: str = ""


def krippendorff_alpha(
    ratings: Any,
    /,
    *,
    level: Level = "nominal",
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Alpha:
    """Krippendorff's α: 1 − observed over expected disagreement, for any number of people.

    Parameters
    ----------
    ratings : array (raters, units)
        What each person said of each unit; NaN where they said nothing.
    level : {"nominal", "ordinal", "interval"}
        How values compare: equal or not; by rank; by their squared difference.
    confidence : float
        Of the interval.
    resamples, seed : int
        Units are drawn with replacement so many times, with all that was said of them; the
        interval lies between quantiles. The same seed gives the same bits.

    Returns
    -------
    Alpha
        NaN with a reason where no unit was judged twice, or all judgements are equal: nothing
        shows then whether people can tell units apart. NaN ends where fewer than 95% of the
        resamples have an alpha, or there are fewer than five units.

    Raises
    ------
    InputError
        If ratings are no table of numbers, or an option does not fit.

    References
    ----------
    Krippendorff (2011), Computing Krippendorff's alpha-reliability; Hayes and Krippendorff
    (2007), Answering the call for a standard reliability measure for coding data.

    Examples
    --------
    >>> nan = float("nan")
    >>> said = [[1, 2, 3, 3, nan], [1, 2, 3, 4, 2], [nan, 2, 3, 3, 2]]
    >>> found = krippendorff_alpha(said, level="ordinal")
    >>> round(found.value, 3), found.units, found.ratings
    (0.949, 5, 13)
    """
    table = _read(ratings, level, confidence, resamples)
    said = np.isfinite(table)
    kept = said.sum(axis=0) >= 2
    table, said = table[:, kept], said[:, kept]
    units, total = table.shape[1], int(said.sum())
    figures = units, total, int(said.any(axis=1).sum())
    if not units:
        return _nothing(figures, level, confidence, "no unit was judged by two people")
    values, counts = _counts(table, said)
    value = float(_alphas(counts, values, np.ones((1, units)), level)[0])
    if math.isnan(value):
        return _nothing(figures, level, confidence, "all judgements are equal")
    if reason := explain_few(units, what="units"):
        return Alpha(value, math.nan, math.nan, *figures, 0.0, level, confidence, reason)
    drawn = np.concatenate(
        [_alphas(counts, values, block, level) for _, block in Weights(units, resamples, seed)]
    )
    undefined = float(np.isnan(drawn).mean())
    if undefined > 1 - _MOST:
        reason = f"{undefined:.0%} of the resamples have no alpha: too few units differ"
        return Alpha(value, math.nan, math.nan, *figures, undefined, level, confidence, reason)
    low, high = np.nanquantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2]).tolist()
    return Alpha(value, low, high, *figures, undefined, level, confidence)


def _read(ratings: Any, level: str, confidence: float, resamples: int) -> Floats:
    table = floats(ratings, "ratings", 2, "a table (raters, units)")
    check_choice("level", level, get_args(Level))
    check_confidence(confidence)
    if resamples < 1:
        raise InputError(f"resamples must be 1 or more; got {resamples}")
    return table


def _nothing(figures: tuple[int, int, int], level: Level, confidence: float, reason: str) -> Alpha:
    return Alpha(math.nan, math.nan, math.nan, *figures, math.nan, level, confidence, reason)


def _counts(table: Floats, said: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return the values that occur, and how often each unit got each (units, values)."""
    values, codes = np.unique(table[said], return_inverse=True)
    counts = np.zeros((table.shape[1], len(values)))
    np.add.at(counts, (np.nonzero(said)[1], codes), 1.0)
    return values, counts


def _alphas(counts: Floats, values: Floats, weights: Floats, level: Level) -> Floats:
    """Return alpha for each row of weights: how often each unit counts.

    By rank is by squared difference, too: of mid-ranks, which depend on what occurs how often.
    """
    totals = weights @ counts
    n = totals.sum(axis=1)
    if level == "nominal":
        sizes = counts.sum(axis=1)
        observed = weights @ on_grid((sizes**2 - (counts**2).sum(axis=1)) / (sizes - 1))
        expected = n**2 - (totals**2).sum(axis=1)
    elif level == "interval":
        places = values - values.mean()
        observed = weights @ on_grid(_within(counts, places[None])[0])
        sums = weights @ on_grid(counts @ places)
        squares = weights @ on_grid(counts @ places**2)
        expected = 2 * (n * squares - sums**2)
    else:
        ranks = totals.cumsum(axis=1) - totals / 2
        observed = (weights * _within(counts, ranks)).sum(axis=1)
        expected = 2 * (n * (totals * ranks**2).sum(axis=1) - (totals * ranks).sum(axis=1) ** 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Floats = 1 - (n - 1) * observed / expected
    # Where one value alone is drawn, what is left of the sums is rounding.
    return np.where((totals > 0).sum(axis=1) < 2, np.nan, found)


def _within(counts: Floats, points: Floats) -> Floats:
    """Return the squared differences in each unit, summed over its pairs, for rows of points."""
    sizes = counts.sum(axis=1)
    sums, squares = points @ counts.T, points**2 @ counts.T
    found: Floats = 2 * (sizes * squares - sums**2) / (sizes - 1)
    return found
