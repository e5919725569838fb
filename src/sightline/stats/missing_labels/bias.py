"""How far missing labels bias a score: gold minus sparse, image by image, on the gold images."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.core import InputError
from sightline.stats._flips import EQUAL, FEWEST
from sightline.stats._given import floats
from sightline.stats._images import numbered, plain_labels
from sightline.stats.confidence import interval
from sightline.stats.missing_labels.ppi import ppi_mean
from sightline.stats.paired_tests import sign_flip
from sightline.stats.power import compute_detectable_difference, compute_detectable_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["LabelBias", "compute_label_bias"]


@dataclass(frozen=True, slots=True)
class LabelBias:
    """How far the scores against gold labels are from those against other labels.

    Attributes
    ----------
    difference, low, high : float
        Mean of gold minus sparse score over the gold images, and its confidence interval by
        Student's t, as are the interval over strata and `detectable`.
    p : float
        Of the two-sided sign-flip test.
    detectable : float
        The smallest bias that a test on these images would have detected with the given power.
    n, undefined : int
        Gold images with both scores, and those that lack one.
    reason : str
        Why something is NaN, or "".

    Examples
    --------
    >>> from sightline.stats.missing_labels import compute_label_bias
    >>> nan = float("nan")
    >>> bias = compute_label_bias([0.1, 0.2, 0.3], [0.3, 0.3, nan])
    >>> round(bias.difference, 3), bias.n, bias.reason
    (0.15, 2, 'too few gold images: 2, p-values need 6')
    """

    difference: float
    low: float
    high: float
    p: float
    detectable: float
    n: int
    undefined: int
    reason: str = ""


def compute_label_bias(
    sparse: Any,
    gold: Any,
    /,
    *,
    strata: Sequence[Any] | NDArray[Any] | None = None,
    power: float = 0.8,
    alpha: float = 0.05,
    seed: int = 0,
    limits: tuple[float, float] = (-math.inf, math.inf),
) -> LabelBias:
    """Return the paired difference of gold and sparse scores on the gold images.

    The mean over gold images that were drawn at random estimates the bias of the sparse score
    over all images of the kind. Whether the sparse mean is within the interval of the gold mean
    is another question, and a test with little power: images differ more from each other than
    the two scores of an image do.

    The sign-flip test is exact where a difference is as likely to have the other sign. Strongly
    skewed differences of mean zero are rejected more often than `alpha` says: 30 of those that
    missing labels make on photographs, centred, in 0.07 to 0.11 of studies at 0.05.

    Parameters
    ----------
    sparse, gold : arrays (images,)
        Score of each image against its sparse and its gold annotation, by the same map. Gold
        images are those with a gold score; the others are NaN.
    strata : sequence (images,), optional
        Strata from which the gold images were drawn: each counts by its share of all images.
    power, alpha : float
        Of `detectable`. With several configurations to be corrected for, `alpha` over their number
        holds under Holm's correction, too.
    seed : int
        Of the test.
    limits : pair of float
        The range of the scores, e.g. (0, 1): the interval is then within -1 to 1.

    Returns
    -------
    LabelBias
        p and `detectable` are NaN below 6 gold images, all of it but counts where a stratum has
        fewer than 4 (5 where it is the only one); `detectable` also where it would be outside the
        range of differences.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> sparse = rng.beta(2, 6, 120)
    >>> gold = np.where(np.arange(120) < 30, sparse + rng.normal(0.02, 0.03, 120), np.nan)
    >>> bias = compute_label_bias(sparse, gold)
    >>> round(bias.difference, 3), bias.p < 0.05, round(bias.detectable, 3), bias.n
    (0.021, True, 0.016, 30)
    """
    few, many = floats(sparse, "sparse"), floats(gold, "gold")
    if few.shape != many.shape:
        raise InputError(
            f"sparse and gold must have one score per image; got {len(few)} and {len(many)}"
        )
    chosen = np.isfinite(many)
    gaps = (many - few)[chosen]
    gaps[np.abs(gaps) <= EQUAL] = 0.0
    undefined = int((~np.isfinite(gaps)).sum())
    if strata is None:
        found = _compare_plain(gaps, power, alpha, seed)
    else:
        labels = _number_strata(strata, len(few))
        found = _compare_stratified(gaps, labels[chosen], labels[~chosen], power, alpha, seed)
    ends = limits[0] - limits[1], limits[1] - limits[0]
    low, high = np.clip((found.low, found.high), *ends).tolist()
    found = replace(found, low=low, high=high, undefined=undefined)
    if found.detectable > ends[1]:
        reason = f"too few gold images: {found.n}, no possible bias is found with {power:.0%} power"
        found = replace(found, detectable=math.nan, reason=reason)
    return found if found.reason else replace(found, reason=_explain_missing(found, alpha))


def _compare_plain(gaps: NDArray[np.float64], power: float, alpha: float, seed: int) -> LabelBias:
    span = interval(gaps, method="t")
    least = compute_detectable_difference(gaps, power=power, alpha=alpha)
    least = least if _can_reject(span.n, alpha) else math.nan
    return LabelBias(span.value, span.low, span.high, sign_flip(gaps, seed=seed), least, span.n, 0)


def _compare_stratified(
    gaps: NDArray[np.float64],
    own: NDArray[np.intp],
    others: NDArray[np.intp],
    power: float,
    alpha: float,
    seed: int,
) -> LabelBias:
    """Combine strata by their share of all images, as `ppi_mean` does without other scores."""
    mean = ppi_mean(gaps, gaps, np.zeros(len(others)), strata=own, rest_strata=others, tuning=0.0)
    if mean.reason:
        nan = math.nan
        return LabelBias(nan, nan, nan, nan, nan, mean.n_gold, 0, mean.reason)
    defined = np.isfinite(gaps)
    drawn, rest = (np.bincount(part, minlength=1 + max(own)) for part in (own[defined], others))
    weights = ((drawn + rest[: len(drawn)]) / np.maximum(drawn, 1))[own]
    p = sign_flip(gaps * weights, seed=seed)
    least = math.nan
    if mean.se and _can_reject(mean.n_gold, alpha):
        least = mean.se * compute_detectable_mean(mean.df, power, alpha)
    return LabelBias(mean.value, mean.low, mean.high, p, least, mean.n_gold, 0)


def _can_reject(n: int, alpha: float) -> bool:
    """Return whether so many images can give a two-sided sign-flip p-value of alpha."""
    return n >= FEWEST and 2.0 ** (1 - n) <= alpha


def _explain_missing(bias: LabelBias, alpha: float) -> str:
    """Return why p-value or detectable bias are NaN, if they are."""
    if bias.n < FEWEST:
        return f"too few gold images: {bias.n}, p-values need {FEWEST}"
    if not _can_reject(bias.n, alpha):
        return f"too few gold images: {bias.n} cannot give p ≤ {alpha:.2g}"
    return "all differences are equal" if math.isnan(bias.detectable) else ""


def _number_strata(strata: Sequence[Any] | NDArray[Any], images: int) -> NDArray[np.intp]:
    labels = plain_labels(strata)
    if len(labels) != images:
        raise InputError(
            f"there must be one stratum per image; got {len(labels)} for {images} images"
        )
    return np.asarray(numbered(labels)[1], np.intp)
