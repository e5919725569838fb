"""Whether confidences mean what they say: the reliability curve and its errors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sightline.core import InputError
from sightline.core.arrays import divide, shape_of, to_numpy
from sightline.core.checks import check_choice
from sightline.detection._options import read_numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Reliability", "reliability_curve"]


@dataclass(frozen=True, slots=True, eq=False)
class Reliability:
    """How often predictions of like confidence are right.

    Attributes
    ----------
    edges
        Ends of the bins, one more than there are bins.
    count
        Predictions of each bin.
    confidence, precision
        Of each bin the mean score and the share that is right; NaN in an empty bin.
    ece
        Expected calibration error: mean distance of the two, weighted by count. In [0, 1], lower is
        better; NaN without predictions.
    mce
        The largest of the distances.

    Examples
    --------
    >>> from sightline.detection import reliability_curve
    >>> found = reliability_curve([0.9, 0.7, 0.2], [True, False, False], bins=2)
    >>> found.count.tolist(), found.precision.tolist(), round(found.ece, 3)
    ([1, 2], [0.0, 0.5], 0.267)
    """

    edges: NDArray[np.float64]
    count: NDArray[np.int64]
    confidence: NDArray[np.float64]
    precision: NDArray[np.float64]
    ece: float
    mce: float


def reliability_curve(
    scores: Any,
    correct: Any,
    /,
    *,
    bins: int = 10,
    binning: Literal["width", "mass"] = "width",
) -> Reliability:
    """Compare the confidence of predictions with how often they are right.

    Parameters
    ----------
    scores
        Confidences in [0, 1].
    correct
        For each whether it is a true positive.
    bins
        How many.
    binning
        "width": bins of equal width; "mass": of about equally many predictions, equal scores kept
        together, so that there may be fewer bins. A score on an edge belongs to the bin above it, 1
        to the last.

    Examples
    --------
    >>> found = reliability_curve([0.95, 0.85, 0.15, 0.15], [True, True, False, True], bins=2)
    >>> found.precision.tolist(), round(found.ece, 3)
    ([0.5, 1.0], 0.225)

    References
    ----------
    Guo et al. (2017), On calibration of modern neural networks, arXiv:1706.04599.
    """
    check_choice("binning", binning, ("width", "mass"))
    score = read_numbers("scores", scores)
    truth = np.asarray(to_numpy(correct))
    _check(score, truth, bins)
    right = truth.astype(np.bool_)
    edges = np.arange(bins + 1) / bins
    if binning == "mass" and len(score):
        edges = _even_edges(score, bins)
    last = len(edges) - 2
    place = np.clip(np.searchsorted(edges, score, side="right") - 1, 0, last)
    count = np.bincount(place, minlength=last + 1)
    sums = [np.bincount(place, weight, minlength=last + 1) for weight in (score, right * 1.0)]
    confidence, precision = (divide(part, count.astype(np.float64)) for part in sums)
    gap = np.abs(confidence - precision)[count > 0]
    ece = float(gap @ count[count > 0] / len(score)) if len(score) else math.nan
    mce = float(gap.max()) if len(score) else math.nan
    return Reliability(edges, count, confidence, precision, ece, mce)


def _even_edges(score: NDArray[np.float64], bins: int) -> NDArray[np.float64]:
    """Return edges halfway between scores, with about equally many scores between them."""
    values = np.unique(score)
    first = np.sort(score)[np.arange(1, bins) * len(score) // bins]  # the lowest of each bin
    place = np.searchsorted(values, first)
    place = place[place > 0]
    below, above = values[place - 1], values[place]
    middle = (below + above) / 2
    inner = np.where(middle > below, middle, above)
    return np.unique(np.concatenate([[0.0], inner, [1.0]]))


def _check(score: NDArray[np.float64], right: NDArray[Any], bins: int) -> None:
    if score.ndim != 1 or score.shape != right.shape:
        raise InputError(
            "scores and correct must be two lists of one length; "
            f"got {shape_of(score.shape)} and {shape_of(right.shape)}"
        )
    outside = ~((score >= 0) & (score <= 1))
    if outside.any():
        raise InputError(f"scores must lie in 0 to 1; got {float(score[outside][0])}")
    odd = (right != 0) & (right != 1)
    if odd.any():
        raise InputError(f"correct must be true or false; got {right[odd][0].item()!r}")
    if isinstance(bins, bool) or not isinstance(bins, int | np.integer) or bins < 1:
        raise InputError(f"bins must be a whole number from 1 on; got {bins!r}")
