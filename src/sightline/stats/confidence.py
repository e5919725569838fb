"""Intervals of means and shares over images.

The unit is the image: values of one image are not independent of each other, so that intervals are
clustered by image.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from sightline.core import InputError
from sightline.core.arrays import shape_of, to_numpy
from sightline.core.checks import (
    ALL_EQUAL,
    MIN_IMAGES,
    check_choice,
    check_confidence,
    explain_few,
)
from sightline.stats._ends import Clusters, bca, student, studentised, wilson
from sightline.stats._given import floats, refuse_infinite
from sightline.stats._images import sums_by_image
from sightline.stats._resample import Weights, in_units

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

__all__ = ["Interval", "Intervals", "Kind", "Method", "interval", "intervals"]

Kind = Literal["mean", "share"]
Method = Literal["wilson", "studentised", "bca", "t"]
# Below so many images the studentised bootstrap holds what it promises and BCa not always: later
# where images have several values, since a few large images then weigh most.
_FEW, _FEW_CLUSTERED = 50, 500
# Above so many no mean is skewed.
_MANY = 10_000
# Wilson's interval keeps its range and its confidence from so many images on.
_MIN_SHARES = 2


@dataclass(frozen=True)
class Interval:
    """A mean or share over images, and between which ends it lies.

    Attributes
    ----------
    value, low, high
        The mean over all values and the ends of its interval.
    n
        Images with a defined value.
    undefined
        Values that are undefined (NaN).
    values
        Defined values; equal to `n` where each image has one.
    std, median
        Over the values.
    method
        How the ends were found: "wilson", "studentised", "bca", "t", or "" where they are NaN.
    confidence
        How often such an interval holds the true value.
    reason
        Why the ends are NaN, or a mean's ends are equal; else "".

    Examples
    --------
    >>> from sightline.stats import interval
    >>> one = interval([0.3])
    >>> one.value, one.low, one.reason
    (0.3, nan, 'too few images: 1, an interval needs 5')
    """

    value: float
    low: float
    high: float
    n: int
    undefined: int
    values: int
    std: float
    median: float
    method: str
    confidence: float
    reason: str = ""


@dataclass(frozen=True)
class Intervals:
    """What `Interval` says, for each column of a table: arrays with one entry a column.

    `std` and `median` are NaN where the table holds sums: they do not tell them.

    Examples
    --------
    >>> from sightline.stats import intervals
    >>> found = intervals([[1, 0], [1, 1], [0, 0], [1, 0]], kind="share")
    >>> len(found), found.value.tolist(), found.at(1).method
    (2, [0.75, 0.25], 'wilson')
    """

    value: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    n: NDArray[np.int64]
    undefined: NDArray[np.int64]
    values: NDArray[np.int64]
    std: NDArray[np.float64]
    median: NDArray[np.float64]
    method: NDArray[np.str_]
    reason: NDArray[np.str_]
    confidence: float

    def __len__(self) -> int:
        return len(self.value)

    def at(self, column: int, /) -> Interval:
        """Return the interval of one column."""
        return Interval(
            value=float(self.value[column]),
            low=float(self.low[column]),
            high=float(self.high[column]),
            n=int(self.n[column]),
            undefined=int(self.undefined[column]),
            values=int(self.values[column]),
            std=float(self.std[column]),
            median=float(self.median[column]),
            method=str(self.method[column]),
            confidence=self.confidence,
            reason=str(self.reason[column]),
        )


def interval(
    values: Any,
    /,
    *,
    images: Iterable[Any] | None = None,
    kind: Kind = "mean",
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    method: Method | None = None,
    limits: tuple[float, float] | None = None,
) -> Interval:
    """Mean or share over images, with an interval that is clustered by image.

    Parameters
    ----------
    values
        One value an image, NaN where it is undefined; or several values an image, with `images`.
    images
        For each value its image, by any label. The figure is the mean over all values; the interval
        takes the images as drawn at random, with all their values.
    kind
        "mean", or "share" for values from 0 to 1 that say how much of a hit each is.
    confidence
        How often such an interval holds the true value.
    resamples, seed
        Of the bootstrap. The same seed gives the same bits.
    method
        None chooses: Wilson's for shares; for means the studentised bootstrap below 50 images (500
        where images have several values), BCa up to 10,000, and Student's t above. Where images
        have several values, Wilson's takes the number of independent hits and misses that the
        share's clustered variance is worth.
    limits
        The range of the values, e.g. (0, 1): ends beyond are drawn in. Always so for shares.

    Returns
    -------
    Interval
        With NaN ends and a reason where images are too few: 5 for means, 2 for shares with Wilson's
        interval. With fewer than 5 the ends come from how the bootstrap is bounded rather than from
        the data, and mostly cover the whole range. Where all values are equal, a mean's ends are
        equal to it, and the reason says so: nothing is known of the spread.

    References
    ----------
    Efron (1987), Better bootstrap confidence intervals; Hall (1988), Theoretical comparison of
    bootstrap confidence intervals; Wilson (1927), Probable inference.

    Examples
    --------
    >>> found = interval([0.1, 0.2, 0.4, 0.3, float("nan"), 0.2])
    >>> found.n, found.undefined, found.method, round(found.value, 3)
    (5, 1, 'studentised', 0.24)
    >>> hits = interval([1] * 9 + [0], kind="share")
    >>> round(hits.low, 3), round(hits.high, 3)
    (0.596, 0.982)
    """
    given = floats(values, "values")
    _check_values(given[:, None], kind, "values")
    sums, counts = sums_by_image(given, images, "values")
    found = intervals(
        sums[:, None],
        counts=counts[:, None],
        kind=kind,
        confidence=confidence,
        resamples=resamples,
        seed=seed,
        method=method,
        limits=limits,
    ).at(0)
    valid = given[np.isfinite(given)]
    std, median = _spread(valid[None])
    return replace(
        found, undefined=len(given) - len(valid), std=float(std[0]), median=float(median[0])
    )


def intervals(
    table: Any,
    /,
    *,
    counts: Any = None,
    kind: Kind = "mean",
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    method: Method | None = None,
    limits: tuple[Any, Any] | None = None,
) -> Intervals:
    """`interval` of each column of a table (images, columns), thousands at once.

    Parameters
    ----------
    table
        A value for each image and column; NaN where it is undefined.
    counts
        If given, the table holds sums of that many values, for each image and column. An image
        with none is undefined.
    kind, confidence, resamples, seed, method
        As in `interval`. Each column comes out as it would alone.
    limits
        As in `interval`; each end may be an array with one entry per column.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> found = intervals(rng.beta(2, 5, (139, 3)))
    >>> found.method.tolist(), bool((found.low < found.value).all())
    (['bca', 'bca', 'bca'], True)
    """
    _check_options(kind, confidence, resamples, method)
    _check_limits(limits)
    rows, sizes = _checked(table, counts, kind)
    defined = sizes > 0
    n = defined.sum(axis=1)
    found = _empty(rows.shape[1] - n, n, sizes.sum(axis=1), confidence)
    # Undefined images move to the end: a column is then as if they had never been there.
    order = np.argsort(~defined, axis=1, kind="stable")
    several = np.asarray((sizes > 1).any(axis=1))
    for size, many in sorted({*zip(n.tolist(), several.tolist(), strict=True)}):
        at = np.flatnonzero((n == size) & (several == many))
        inside = order[at, :size]
        parts = (np.take_along_axis(part[at], inside, axis=1) for part in (rows, sizes))
        clusters = Clusters(*parts)
        if counts is None:
            found.std[at], found.median[at] = _spread(clusters.sums)
        chosen = method or _usual(kind, size, many)
        _fill(found, at, clusters, chosen, Weights(max(size, 1), resamples, seed))
    least, most = limits or (-np.inf, np.inf)
    if kind == "share":
        least, most = np.maximum(least, 0.0), np.minimum(most, 1.0)
    return replace(
        found, low=np.clip(found.low, least, most), high=np.clip(found.high, least, most)
    )


def _empty(
    undefined: NDArray[np.int64],
    n: NDArray[np.int64],
    values: NDArray[np.float64],
    confidence: float,
) -> Intervals:
    """Return intervals whose numbers of images are known, and nothing else."""
    nan = np.full((5, len(n)), np.nan)
    return Intervals(
        value=nan[0],
        low=nan[1],
        high=nan[2],
        n=n,
        undefined=undefined,
        values=np.rint(values).astype(np.int64),
        std=nan[3],
        median=nan[4],
        method=np.full(len(n), "", "U11"),
        reason=np.full(len(n), "", "U60"),
        confidence=confidence,
    )


def _usual(kind: Kind, n: int, several: bool) -> Method:
    if kind == "share":
        return "wilson"
    few = _FEW_CLUSTERED if several else _FEW
    return "studentised" if n < few else "bca" if n <= _MANY else "t"


def _spread(rows: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return standard deviation and median of each row; NaN for rows too short for them."""
    nothing = np.full(len(rows), np.nan)
    if not rows.shape[1]:
        return nothing, nothing
    scaled, exponent = in_units(rows)
    median = np.ldexp(np.median(scaled, axis=1), exponent)
    if rows.shape[1] == 1:
        return nothing, median
    return np.ldexp(scaled.std(axis=1, ddof=1), exponent), median


def _fill(
    found: Intervals, at: NDArray[np.intp], clusters: Clusters, method: Method, weights: Weights
) -> None:
    """Write values, ends, method and reason of the columns that have this many images."""
    if clusters.n:
        found.value[at] = clusters.value
    few = explain_few(clusters.n, _MIN_SHARES if method == "wilson" else MIN_IMAGES)
    if few:
        found.reason[at] = few
        return
    found.method[at] = method
    if method == "wilson":
        found.low[at], found.high[at] = wilson(clusters, found.confidence)
        return
    found.low[at] = found.high[at] = clusters.value
    found.reason[at[clusters.constant]] = ALL_EQUAL
    varies = np.flatnonzero(~clusters.constant)
    if not len(varies):
        return
    sums, exponent = in_units(clusters.sums[varies])
    part, here = Clusters(sums, clusters.sizes[varies]), at[varies]
    if method == "t":
        ends = student(part, found.confidence)
    else:
        ends = (bca if method == "bca" else studentised)(part, found.confidence, weights)
    with np.errstate(over="ignore"):  # an end beyond the largest number is infinite
        found.low[here], found.high[here] = (np.ldexp(end, exponent) for end in ends)


def _checked(
    table: Any, counts: Any, kind: Kind
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return sums and counts as (columns, images), with 0 and 0 where undefined."""
    given = np.asarray(to_numpy(table), np.float64)
    if given.ndim != 2:
        raise InputError(f"table must be images × columns; got {shape_of(given.shape)}")
    sizes = np.ones_like(given) if counts is None else np.asarray(to_numpy(counts), np.float64)
    if sizes.shape != given.shape:
        seen, expected = shape_of(sizes.shape), shape_of(given.shape)
        raise InputError(f"counts must have the table's shape {expected}; got {seen}")
    if not ((sizes >= 0) & (sizes == np.floor(sizes))).all():
        raise InputError("counts must be whole numbers from 0 up")
    sizes = np.where(np.isnan(given), 0.0, sizes)
    _check_values(np.where(sizes > 0, given, np.nan), kind, "table", sizes)
    sums = np.where(sizes > 0, given, 0.0)
    return np.ascontiguousarray(sums.T), np.ascontiguousarray(sizes.T)


def _check_values(
    given: NDArray[np.float64], kind: Kind, name: str, sizes: NDArray[np.float64] | None = None
) -> None:
    refuse_infinite(given, name)
    if kind != "share":
        return
    most = 1.0 if sizes is None else sizes
    outside = (given < -1e-9) | (given > most + 1e-9)
    if outside.any():
        raise InputError(f"{name} must hold shares from 0 to 1; got {given[outside][0]:g}")


def _check_options(kind: Kind, confidence: float, resamples: int, method: Method | None) -> None:
    check_choice("kind", kind, get_args(Kind))
    if method is not None:
        check_choice("method", method, get_args(Method))
    if method == "wilson" and kind != "share":
        raise InputError("method wilson is for kind='share'; got kind='mean'")
    check_confidence(confidence)
    if resamples < 100:
        raise InputError(f"resamples must be at least 100; got {resamples}")


def _check_limits(limits: tuple[Any, Any] | None) -> None:
    if limits is not None and not np.all(np.less(*limits)):
        raise InputError(f"limits must be (least, most) with least < most; got {limits}")
