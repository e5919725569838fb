"""Means over images and random draws at once: both vary, and each draw meets every image."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import stdtrit

from sightline.core.checks import explain_few

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["Crossed", "Pairs", "crossed_difference", "crossed_mean"]


class Crossed(NamedTuple):
    """A mean over images and draws with its interval, how many there are of both, and a reason.

    The reason says why the ends are NaN; else it is "".
    """

    value: float
    low: float
    high: float
    images: int
    draws: int
    reason: str = ""


class Pairs(NamedTuple):
    """Values of pairs of images.

    Attributes
    ----------
    first, second
        Places of the two images in the table of images and draws; `second` is -1 where it is not
        known.
    values
        One a pair; NaN where it is undefined.
    """

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    values: Floats


def crossed_mean(
    table: Floats,
    /,
    *,
    confidence: float = 0.95,
    limits: tuple[float, float] = (-math.inf, math.inf),
) -> Crossed:
    """Mean of a table (images, draws), with an interval for other images and other draws.

    The variance is that of the means of images, plus that of the means of draws, less that of
    what neither explains, which both hold; ends follow from Student's t, whose degrees of freedom
    are Satterthwaite's.

    Parameters
    ----------
    table
        Values; NaN where they are undefined. An image's mean is over the draws that it has.
    confidence
        How often such an interval holds the true mean.
    limits
        Between which values lie: ends beyond are drawn in.

    Returns
    -------
    Crossed
        With NaN ends below five images or two draws: one draw does not tell how draws differ.

    Examples
    --------
    >>> table = np.array([[0.1, 0.3], [0.2, 0.4], [0.3, 0.5], [0.2, 0.5], [0.1, 0.4]])
    >>> found = crossed_mean(table, limits=(0, 1))
    >>> found.images, found.draws, round(found.value, 3), found.low
    (5, 2, 0.3, 0.0)
    """
    nothing = np.empty(0, np.intp)
    return crossed_difference(
        table, Pairs(nothing, nothing, np.empty(0)), confidence=confidence, limits=limits
    )


def crossed_difference(
    table: Floats,
    pairs: Pairs,
    /,
    *,
    confidence: float = 0.95,
    limits: tuple[float, float] = (-math.inf, math.inf),
) -> Crossed:
    """Mean of a table (images, draws) minus that of values of pairs, image by image.

    From an image's mean goes that of its own pairs, those in which it is the first. An image
    stands in a row of the table and in pairs, in its own and in those of others, whose
    partner it is. The variance over images is the jackknife's, which leaves an image out with all
    that it has a part in. What pairs have of their own goes with each of its two images, and so
    once too often: it is taken off. Where partners are not known, a pair counts for its image
    twice, as if the image were in as many pairs of others: the interval is too wide then.

    Parameters
    ----------
    table, confidence, limits
        See `crossed_mean`.
    pairs
        What the images' values are compared with. Without pairs the mean alone is found.
    """
    known = np.isfinite(table)
    table = table[:, known.any(axis=0)]
    draws = table.shape[1]
    rows = _means(table)
    pairs = _used(pairs, rows)
    if len(pairs.values):
        with_pairs = np.zeros(len(rows), np.bool_)
        with_pairs[pairs.first] = True
        rows = np.where(with_pairs, rows, np.nan)
    images = int(np.isfinite(rows).sum())
    if not images:
        return Crossed(math.nan, math.nan, math.nan, 0, draws, explain_few(0))
    value = float(np.nanmean(rows)) - _mean_of_images(pairs)
    reason = explain_few(images) or explain_few(draws, 2, "draws")
    if reason:
        return Crossed(value, math.nan, math.nan, images, draws, reason)
    of_images = _over_images(rows, pairs)
    of_draws, of_rest = _over_draws(table[np.isfinite(rows)], rows[np.isfinite(rows)])
    reach = _reach((of_images, of_draws, of_rest), images, draws, confidence)
    low, high = np.clip((value - reach, value + reach), *limits).tolist()
    return Crossed(value, low, high, images, draws)


def _means(table: Floats) -> Floats:
    """Return the mean of each row over what is defined; NaN where nothing is."""
    known = np.isfinite(table)
    count = known.sum(axis=1)
    total = np.where(known, table, 0.0).sum(axis=1)
    found: Floats = np.divide(total, count, out=np.full(len(table), np.nan), where=count > 0)
    return found


def _used(pairs: Pairs, rows: Floats) -> Pairs:
    """Return the pairs that are defined and whose image has values to compare."""
    kept = np.isfinite(pairs.values) & np.isfinite(rows[pairs.first])
    return Pairs(pairs.first[kept], pairs.second[kept], pairs.values[kept])


def _mean_of_images(pairs: Pairs) -> float:
    """Return the mean over images of what each one's own pairs have; 0 without pairs."""
    if not len(pairs.values):
        return 0.0
    counts, sums = np.bincount(pairs.first), np.bincount(pairs.first, pairs.values)
    return float((sums[counts > 0] / counts[counts > 0]).mean())


def _over_images(rows: Floats, pairs: Pairs) -> float:
    """Return the variance that other images would bring."""
    units = np.isfinite(rows)
    count = int(units.sum())
    without = (np.nansum(rows) - np.where(units, rows, 0.0)) / np.maximum(count - units, 1)
    if not len(pairs.values):
        return _jackknife(without[units])
    seconds = np.where(pairs.second < 0, pairs.first, pairs.second)  # not known: its own once more
    sums, counts = np.zeros((2, len(rows)))
    for ends in (pairs.first, seconds):
        np.add.at(sums, ends, pairs.values)
        np.add.at(counts, ends, 1.0)
        units[ends] = True
    left = len(pairs.values) - counts
    if (left[units] <= 0).any():  # a pair or two: nothing is left of them without an image
        return math.nan
    others = (pairs.values.sum() - sums) / np.where(units, left, 1.0)
    centre = pairs.values.mean()
    own = np.divide(sums, counts, out=np.full(len(rows), centre), where=counts > 0) - centre
    noise = pairs.values - centre - own[pairs.first] - own[seconds]
    found = _jackknife((without - others)[units]) - float((noise**2).sum()) / len(noise) ** 2
    return max(found, 0.0)


def _jackknife(without: Floats) -> float:
    """Return the variance of a figure, given those without each of the images."""
    count = len(without)
    return float((count - 1) / count * ((without - without.mean()) ** 2).sum())


def _over_draws(table: Floats, rows: Floats) -> tuple[float, float]:
    """Return the variance that other draws would bring, and that of what is neither's."""
    gaps = table - rows[:, None]
    columns = _means(gaps.T)
    draws, images = len(columns), len(rows)
    rest = gaps - columns + columns.mean()
    spread = float(columns.var(ddof=1)) / draws
    left = float(np.nansum(rest**2)) / ((images - 1) * (draws - 1)) / np.isfinite(rest).sum()
    return spread, float(left)


def _reach(parts: tuple[float, float, float], images: int, draws: int, confidence: float) -> float:
    """Return how far the ends lie from the mean."""
    of_images, of_draws, of_rest = parts
    # The whole is larger than each of its parts, which estimates need not respect.
    whole = max(of_images + of_draws - of_rest, of_images, of_draws)
    if not whole > 0:
        return whole  # 0, or NaN
    squares = (
        of_images**2 / (images - 1)
        + of_draws**2 / (draws - 1)
        + of_rest**2 / ((images - 1) * (draws - 1))
    )
    freedom = min(max(whole**2 / squares, 1.0), images * draws)
    return float(stdtrit(freedom, (1 + confidence) / 2)) * math.sqrt(whole)
