"""Two models, methods, layers or variants on the same images."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sightline.core import InputError
from sightline.core.arrays import shape_of, to_numpy
from sightline.stats._flips import FEWEST, StepDown, flip_pvalues, max_t_flips
from sightline.stats._given import floats
from sightline.stats._images import sums_by_image
from sightline.stats._resample import in_units
from sightline.stats.confidence import interval
from sightline.stats.corrections import benjamini_hochberg, holm

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

__all__ = [
    "Comparison",
    "Effect",
    "Family",
    "compare_family",
    "compare_paired",
    "effect_size",
    "max_t_pvalues",
    "sign_flip",
    "wilcoxon",
]

# Scores closer than this are equal.
_EQUAL = 1e-9
# Up to so many images that differ, the exact law of their signed ranks is built up.
_EXACT = 50


class Effect(NamedTuple):
    """How large a difference is, in units that do not depend on the metric.

    `dz` is the mean difference in standard deviations of the differences. `rank_biserial` is the
    share of rank sums in favour minus the share against, from −1 to 1.

    Examples
    --------
    >>> from sightline.stats import effect_size
    >>> effect = effect_size([0.5, 1.0, 1.5])
    >>> round(effect.dz, 3), effect.rank_biserial
    (2.0, 1.0)
    """

    dz: float
    rank_biserial: float


@dataclass(frozen=True)
class Comparison:
    """Two sides on the same images.

    Attributes
    ----------
    n
        Images with a value on both sides.
    undefined
        Values that one or both sides lack.
    value_a, value_b, difference
        Means over the values that both sides have, and a − b.
    low, high
        Ends of the difference's interval, clustered by image.
    p, p_wilcoxon
        Two-sided, of the sign-flip test and of Wilcoxon's signed-rank test.
    dz, rank_biserial
        Effect sizes; see `Effect`.
    better, equal, worse
        Shares of images on which a is above b, within 1e-9 of it, below it.
    reason
        Why a figure is NaN; else "".

    Examples
    --------
    >>> from sightline.stats import compare_paired
    >>> found = compare_paired([0.5, 0.4, 0.6], [0.4, 0.4, float("nan")])
    >>> found.n, found.undefined, round(found.difference, 3), found.better, found.equal
    (2, 1, 0.05, 0.5, 0.5)
    """

    n: int
    undefined: int
    value_a: float
    value_b: float
    difference: float
    low: float
    high: float
    p: float
    p_wilcoxon: float
    dz: float
    rank_biserial: float
    better: float
    equal: float
    worse: float
    reason: str = ""


@dataclass(frozen=True)
class Family:
    """Many comparisons on the same images: arrays with one entry for each.

    Attributes
    ----------
    difference, n, undefined
        Mean difference, images that have it, images that lack it.
    p
        Two-sided sign-flip p-value, with the same flips for all comparisons.
    holm, bh, max_t
        The same, corrected over the family: by Holm, by Benjamini and Hochberg, and by the
        step-down maximum of the studentised differences.

    Examples
    --------
    >>> from sightline.stats import compare_family
    >>> found = compare_family([[0.1, 0.1], [0.2, -0.1]] * 3)
    >>> found.difference.round(3).tolist(), found.n.tolist(), found.p.tolist()
    ([0.15, 0.0], [6, 6], [0.03125, 1.0])
    """

    difference: NDArray[np.float64]
    n: NDArray[np.int64]
    undefined: NDArray[np.int64]
    p: NDArray[np.float64]
    holm: NDArray[np.float64]
    bh: NDArray[np.float64]
    max_t: NDArray[np.float64]


def sign_flip(
    differences: Any,
    /,
    *,
    images: Iterable[Any] | None = None,
    flips: int = 9999,
    seed: int = 0,
) -> float:
    """Two-sided p-value of the sign-flip permutation test of a mean difference.

    The null: within an image the two sides are exchangeable, so that its difference is as likely
    to have the other sign. The p-value is the share of sign patterns, the observed one among them,
    whose sum is at least as far from zero. It is exact for any law of the differences.

    Parameters
    ----------
    differences
        One an image, NaN where it is undefined; or several an image, with `images`.
    images
        For each difference its image, by any label. An image's differences flip together.
    flips, seed
        Drawn patterns. Where there are no more patterns than that, all are counted instead.

    Returns
    -------
    float
        NaN below 6 images. Sums within 1e-9 of the largest difference count as equal.

    Examples
    --------
    >>> sign_flip([0.1, 0.2, 0.1, 0.3, 0.2, 0.1])
    0.03125
    >>> sign_flip([0.1, -0.2, 0.1, -0.3, 0.2, 0.1])
    1.0
    """
    sums, _ = _by_image(differences, images)
    return float(flip_pvalues(sums[:, None], flips, seed)[0])


def wilcoxon(differences: Any, /, *, images: Iterable[Any] | None = None) -> float:
    """Two-sided p-value of Wilcoxon's signed-rank test, with Pratt's handling of zeros.

    The null: the differences are symmetric around zero. Images without a difference enter the
    ranking and then leave it. Differences within 1e-9 of the largest one are tied.

    Parameters
    ----------
    differences
        One an image, NaN where it is undefined; or several an image, with `images`.
    images
        For each difference its image, by any label. An image's mean difference is ranked.

    Returns
    -------
    float
        NaN below 6 images; 1 if there is no difference at all. Exact, ties and all, where up to 50
        images differ; the usual normal approximation, corrected for ties, otherwise.

    References
    ----------
    Wilcoxon (1945); Pratt (1959), Remarks on zeros and ties in the Wilcoxon signed rank procedures.

    Examples
    --------
    >>> wilcoxon([0.1, 0.2, 0.15, 0.3, 0.25, -0.05])
    0.0625
    """
    sums, counts = _by_image(differences, images)
    return _wilcoxon((sums / counts)[counts > 0])


def _wilcoxon(means: NDArray[np.float64]) -> float:
    if len(means) < FEWEST:
        return math.nan
    means = _tied(means)
    if not means.any():
        return 1.0
    from scipy import stats

    if np.count_nonzero(means) > _EXACT:
        # One column: only there do the type stubs of SciPy know the method.
        found = stats.wilcoxon(
            means[:, None], zero_method="pratt", method="asymptotic", axis=0, keepdims=True
        )
        return float(found.pvalue.item())
    return _signed_rank_share(np.sign(means) * stats.rankdata(np.abs(means)))


def _signed_rank_share(ranks: NDArray[np.float64]) -> float:
    """Return the share of all sign patterns whose rank sum is at least as far from zero.

    Ranks are multiples of a half, ties and all, so that sums of doubled ones are whole numbers;
    their law is built up rank by rank.
    """
    steps = np.rint(2 * np.abs(ranks[ranks != 0])).astype(np.intp)
    law = np.ones(1)
    for step in steps:
        longer = np.zeros(len(law) + step)
        longer[: len(law)] += law / 2
        longer[step:] += law / 2
        law = longer
    far = np.abs(2 * np.arange(len(law)) - steps.sum())
    return min(float(law[far >= abs(round(2 * float(ranks.sum())))].sum()), 1.0)


def _tied(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values in whole units, 1e-9 of the largest: those that differ by noise are equal."""
    peak = float(np.abs(values).max(initial=0.0))
    return values if peak == 0 else np.rint(values / peak / _EQUAL)


def effect_size(differences: Any, /) -> Effect:
    """Effect sizes of paired differences, one an image; NaN ones are left out.

    `dz` is NaN below two differences, and where all are equal but not zero; without any difference
    both are 0.

    References
    ----------
    Cohen (1988), Statistical power analysis; Kerby (2014), The simple difference formula.

    Examples
    --------
    >>> effect = effect_size([0.1, 0.2, 0.3, -0.1])
    >>> round(effect.dz, 3), round(effect.rank_biserial, 3)
    (0.732, 0.7)
    """
    given = floats(differences, "differences")
    given = _tied(given[np.isfinite(given)])
    if not len(given):
        return Effect(math.nan, math.nan)
    if not given.any():
        return Effect(0.0 if len(given) > 1 else math.nan, 0.0)
    from scipy.stats import rankdata

    spread = float(given.std(ddof=1)) if len(given) > 1 else 0.0
    some = given[given != 0]
    ranks = rankdata(np.abs(some))
    biserial = float((np.sign(some) * ranks).sum() / ranks.sum())
    noise = spread <= 1e-12 * float(np.abs(given).max())
    return Effect(math.nan if noise else float(given.mean()) / spread, biserial)


def compare_paired(
    a: Any,
    b: Any,
    /,
    *,
    images: Iterable[Any] | None = None,
    confidence: float = 0.95,
    flips: int = 9999,
    resamples: int = 2000,
    seed: int = 0,
    limits: tuple[float, float] | None = None,
) -> Comparison:
    """Compare two sides on the same images: difference, interval, p-values, effect sizes.

    Parameters
    ----------
    a, b
        Scores of the two sides, in the same order; NaN where undefined. A pair enters if both of
        its values are defined.
    images
        For each pair its image, by any label, where images have several.
    confidence, resamples
        Of the interval; see `interval`.
    flips, seed
        Of the sign-flip test; see `sign_flip`. Scores within 1e-9 of each other are equal.
    limits
        The range of the scores: the interval for scores in (0, 1) is within -1 to 1.

    Returns
    -------
    Comparison
        p-values are NaN below 6 images and ends below 5; `reason` states it.

    Examples
    --------
    >>> found = compare_paired([0.5, 0.4, 0.6, 0.3, 0.5, 0.7], [0.4, 0.2, 0.5, 0.3, 0.1, 0.4])
    >>> found.n, round(found.difference, 3), found.p, round(found.better, 3)
    (6, 0.183, 0.0625, 0.833)
    """
    x, y = (floats(side, name) for side, name in ((a, "a"), (b, "b")))
    if len(x) != len(y):
        raise InputError(f"a and b must have the same length; got {len(x)} and {len(y)}")
    labels = None if images is None else list(images)
    gaps = x - y
    gaps[np.abs(gaps) <= _EQUAL] = 0.0
    both = np.isfinite(gaps)
    sums, counts = _by_image(gaps, labels)
    means = (sums / counts)[counts > 0]
    span = interval(
        gaps,
        images=labels,
        confidence=confidence,
        resamples=resamples,
        seed=seed,
        limits=None if limits is None else (limits[0] - limits[1], limits[1] - limits[0]),
    )
    effect = effect_size(means)
    n = len(means)
    return Comparison(
        n=n,
        undefined=int((~both).sum()),
        value_a=_mean(x[both]),
        value_b=_mean(y[both]),
        difference=span.value,
        low=span.low,
        high=span.high,
        p=sign_flip(sums, flips=flips, seed=seed),
        p_wilcoxon=_wilcoxon(means),
        dz=effect.dz,
        rank_biserial=effect.rank_biserial,
        better=_mean(means > _EQUAL),
        equal=_mean(np.abs(means) <= _EQUAL),
        worse=_mean(means < -_EQUAL),
        reason="" if n >= FEWEST else f"too few images: {n}, p-values need {FEWEST}",
    )


def compare_family(differences: Any, /, *, flips: int = 9999, seed: int = 0) -> Family:
    """Sign-flip tests of many comparisons on the same images, and what is left of them.

    All comparisons see the same flips, image by image, so that the largest studentised difference
    of a flip knows how they depend on each other. `max_t` is the step-down method of Westfall and
    Young: the chance of any false finding stays at the level, with more power than Holm's where
    comparisons are alike.

    Parameters
    ----------
    differences
        (images, comparisons); NaN where undefined.
    flips, seed
        As in `sign_flip`.

    Returns
    -------
    Family
        p-values are NaN for comparisons with fewer than 6 images; those do not count.

    References
    ----------
    Westfall & Young (1993), Resampling-based multiple testing.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> found = compare_family(rng.normal([0.0, 0.5, 0.0], 1, (60, 3)))
    >>> bool(found.p[1] <= found.max_t[1] <= found.holm[1] < 0.05)
    True
    """
    given = floats(differences, "differences", 2, "images × comparisons")
    defined = np.isfinite(given)
    n = defined.sum(axis=0)
    p, max_t = max_t_flips(given, flips, seed)
    totals = np.where(defined, given, 0.0).sum(axis=0)
    return Family(
        difference=np.divide(totals, n, out=np.full(len(n), np.nan), where=n > 0),
        n=n,
        undefined=len(given) - n,
        p=p,
        holm=holm(p),
        bh=benjamini_hochberg(p),
        max_t=max_t,
    )


def max_t_pvalues(observed: Any, draws: Any, /, *, two_sided: bool = False) -> NDArray[np.float64]:
    """p-values of many lines against their nulls, corrected for the whole family.

    Each line is put into units of its own null, observed value included; then the step-down
    maximum over lines is compared, draw by draw. Draws of one number must belong together, e.g.
    come from the same permutation.

    Parameters
    ----------
    observed
        A value for each line; larger ones speak against the null.
    draws
        Values under the null, (lines, draws). A line with a NaN gets NaN. It does not count, nor
        does one whose draws do not vary.
    two_sided
        Whether small values speak against the null too.

    Returns
    -------
    array
        One p-value a line, the observed value counted among the draws. 1 for a line whose draws do
        not vary.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> max_t_pvalues([4.0, 0.0], rng.normal(size=(2, 999))).round(3)
    array([0.001, 0.5  ])
    """
    seen = floats(observed, "observed")
    null = np.asarray(to_numpy(draws), np.float64)
    if null.ndim != 2 or len(null) != len(seen) or not null.shape[1]:
        shape = shape_of(null.shape)
        raise InputError(f"draws must be {len(seen)} lines × draws; got {shape}")
    found = np.full(len(seen), np.nan)
    lines = np.flatnonzero(np.isfinite(seen) & np.isfinite(null).all(axis=1))
    every = _standardised(np.column_stack([seen[lines], null[lines]]))
    varies = every.any(axis=1)
    every = np.abs(every[varies]) if two_sided else every[varies]
    highest = StepDown(every[:, 0])
    highest.add(every)
    found[lines] = 1.0
    found[lines[varies]] = highest.pvalues(every.shape[1], identity=False)
    return found


def _standardised(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return rows of mean 0 and spread 1; 0 where a row does not vary but for rounding noise."""
    rows = in_units(rows)[0]
    gaps = rows - rows.mean(axis=1, keepdims=True)
    spread = gaps.std(axis=1, keepdims=True)
    flat = spread <= 1e-12 * np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    return np.where(flat, 0.0, gaps / np.where(flat, 1.0, spread))


def _by_image(
    differences: Any, images: Iterable[Any] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return for each image the sum and the number of its differences, NaN without any."""
    given = floats(differences, "differences")
    sums, counts = sums_by_image(given, images, "differences")
    none = counts == 0
    return np.where(none, np.nan, sums), np.where(none, np.nan, counts)


def _mean(values: Any) -> float:
    return float(np.mean(values)) if len(values) else math.nan
