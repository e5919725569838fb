"""Differences between two groups of images, such as right and wrong predictions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sightline.core import InputError
from sightline.core.checks import MIN_IMAGES, check_choice, check_confidence
from sightline.stats._given import floats
from sightline.stats._regress import slope
from sightline.stats.confidence import interval

if TYPE_CHECKING:
    from sightline.stats.confidence import Interval, Kind

__all__ = ["GroupDifference", "compare_groups", "subtract_intervals"]

_ROUNDING = 1e-12


class GroupDifference(NamedTuple):
    """The mean of a group of images minus that of the others.

    Attributes
    ----------
    value, low, high
        The difference and the ends of its interval; all three are NaN where there is no interval.
    inside, outside
        Images in the group and not in it, with a defined value.
    reason
        Why the difference is NaN, or its ends are equal; else "".

    Examples
    --------
    >>> found = compare_groups([0.5, 0.6, 0.1], [True, True, False])
    >>> found.value, found.reason
    (nan, 'too few images: 2 inside and 1 outside, a difference needs 5 of each')
    """

    value: float
    low: float
    high: float
    inside: int
    outside: int
    reason: str = ""


def compare_groups(
    values: Any,
    group: Any,
    /,
    *,
    others: Any = None,
    kind: Kind = "mean",
    confidence: float = 0.95,
    limits: tuple[float, float] = (-math.inf, math.inf),
    names: tuple[str, str] = ("inside", "outside"),
) -> GroupDifference:
    """Compare the images in a group with those outside: difference of means, with its interval.

    Images are the units, and the two groups may scatter differently: least squares with HC2
    variances and the degrees of freedom of Bell and McCaffrey; without `others` that is close to
    Welch's interval. Of shares without `others`, the ends follow from Wilson's intervals of the two
    shares.

    Parameters
    ----------
    values
        One per image; NaN where undefined.
    group
        One per image: whether it is in the group.
    others
        (images, variables) held fixed, e.g. the annotated area: the difference is then that of
        images equal in them. An image with NaN does not enter; a variable that does not vary is
        skipped.
    kind
        "mean", or "share" for values that are hits and misses.
    confidence
        Of the interval.
    limits
        The range of the values, e.g. (0, 1): the interval is then within −1 to 1.
    names
        What the two groups are called in the reason.

    Returns
    -------
    GroupDifference
        NaN with a reason below 5 images in either group, where the group follows from `others`,
        where the difference depends on a single image, or where it is outside the range.

    References
    ----------
    MacKinnon & White (1985); Bell & McCaffrey (2002); Zou & Donner (2008), Construction of
    confidence limits about effect measures; Newcombe (1998).

    Examples
    --------
    >>> scores = [0.5, 0.6, 0.4, 0.5, 0.6, 0.2, 0.1, 0.3, 0.2, 0.1]
    >>> found = compare_groups(scores, [True] * 5 + [False] * 5, limits=(0, 1))
    >>> [round(end, 2) for end in (found.value, found.low, found.high)]
    [0.34, 0.22, 0.46]
    """
    check_choice("kind", kind, ("mean", "share"))
    check_confidence(confidence)
    scores, inside = floats(values, "values"), np.asarray(group, np.bool_)
    fixed = np.empty((len(scores), 0)) if others is None else floats(others, "others", 2)
    if inside.shape != scores.shape or len(fixed) != len(scores):
        raise InputError(
            "values, group and others must have one entry per image; got "
            f"{len(scores)}, {len(inside)} and {len(fixed)}"
        )
    used = np.isfinite(scores) & np.isfinite(fixed).all(axis=1)
    scores, inside, fixed = scores[used], inside[used], fixed[used]
    counts = int(inside.sum()), int((~inside).sum())
    if min(counts) < MIN_IMAGES:
        sides = " and ".join(f"{n} {name}" for n, name in zip(counts, names, strict=True))
        reason = f"too few images: {sides}, a difference needs {MIN_IMAGES} of each"
        return _make_undefined(counts, reason)
    if kind == "share" and others is None:
        sides_ = (interval(scores[side], kind=kind, confidence=confidence)
                  for side in (inside, ~inside))  # fmt: skip
        return GroupDifference(*subtract_intervals(*sides_), *counts)
    fixed = fixed[:, np.ptp(fixed, axis=0) > 0]
    cause = inside.astype(np.float64)
    found = slope(scores, cause, fixed, confidence=confidence)
    least, most = limits[0] - limits[1], limits[1] - limits[0]
    reason = _explain(found.value, found.low, (least, most))
    if reason:
        return _make_undefined(counts, reason)
    low, high = np.clip((found.low, found.high), least, most).tolist()
    equal = "all values of a group are equal" if high - low <= _ROUNDING else ""
    return GroupDifference(found.value, low, high, *counts, equal)


def subtract_intervals(one: Interval, other: Interval) -> tuple[float, float, float]:
    """Return the difference of two independent means, and its ends from those of the two.

    Examples
    --------
    >>> one, other = (interval(hits, kind="share") for hits in ([1] * 8 + [0] * 2, [0] * 10))
    >>> [round(end, 2) for end in subtract_intervals(one, other)]
    [0.8, 0.38, 0.94]
    """
    value = one.value - other.value
    low = value - float(np.hypot(one.value - one.low, other.high - other.value))
    high = value + float(np.hypot(one.high - one.value, other.value - other.low))
    return value, low, high


def _make_undefined(counts: tuple[int, int], reason: str) -> GroupDifference:
    return GroupDifference(math.nan, math.nan, math.nan, *counts, reason)


def _explain(value: float, low: float, limits: tuple[float, float]) -> str:
    """Return why a difference has no value or no interval, or "" where it has both."""
    if math.isnan(value):
        return "the groups follow from the variables held fixed"
    if math.isnan(low):
        return "the difference depends on a single image"
    if not limits[0] <= value <= limits[1]:
        return "images equal in the variables held fixed are too few: the estimate leaves the range"
    return ""
