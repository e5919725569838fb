"""A few completely annotated images joined with many that a machine completed.

Prediction-powered inference: the mean over the gold images corrects what the completion gets
wrong, the completed images tell how the gold images differ from the rest. It is right whatever the
completion is worth, provided that the gold images were drawn at random, went through the same
completion as all others, and nothing was tuned on them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
from scipy.special import stdtrit

from sightline.core import InputError
from sightline.core.checks import MIN_IMAGES, check_confidence, explain_few
from sightline.stats._given import floats
from sightline.stats._images import numbered, plain_labels
from sightline.stats._resample import in_units

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["PPI", "Estimate", "Joined", "Target", "joined", "ppi_mean"]

Target = Literal["population", "set"]
_FEWEST = 4  # gold images of each of several strata


class Estimate(NamedTuple):
    """A mean with its interval, over n images, and a reason where the ends are NaN.

    Examples
    --------
    >>> from sightline.stats.missing_labels import ppi_mean
    >>> found = ppi_mean([0.2, 0.4, 0.3], [0.1, 0.3, 0.2], [0.2, 0.3, 0.1])
    >>> round(found.gold_only.value, 3), found.gold_only.n
    (0.3, 3)
    """

    value: float
    low: float
    high: float
    n: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class PPI:
    """A mean score estimated from gold and completed images together.

    Attributes
    ----------
    value, low, high, se, df : float
        The estimate, its interval, standard error and degrees of freedom.
    weight : float
        How far the completed images are trusted: 0 leaves them out. A mean over the strata.
    n_gold, n_rest, undefined : int
        Gold images, the others, and those of either kind that have no value.
    correlation : float
        Of the two scores of the gold images.
    gold_only : Estimate
        What the gold images say alone, with Student's t.
    target : str
        "population" or "set".
    confidence : float
        Of the intervals.
    reason : str
        Why there is no estimate, or "".

    Examples
    --------
    >>> from sightline.stats.missing_labels import ppi_mean
    >>> found = ppi_mean([0.2, 0.4, 0.3], [0.1, 0.3, 0.2], [0.2, 0.3, 0.1, 0.2])
    >>> found.n_gold, found.n_rest, found.target, found.confidence
    (3, 4, 'population', 0.95)
    """

    value: float
    low: float
    high: float
    se: float
    df: float
    weight: float
    n_gold: int
    n_rest: int
    undefined: int
    correlation: float
    gold_only: Estimate
    target: Target
    confidence: float = 0.95
    reason: str = ""


class _Part(NamedTuple):
    """One stratum: its estimate, the variance and degrees of freedom of that, its weight."""

    value: float
    variance: float
    df: float
    weight: float


def ppi_mean(
    gold_y: Any,
    gold_f: Any,
    rest_f: Any,
    /,
    *,
    target: Target = "population",
    strata: Sequence[Any] | NDArray[Any] | None = None,
    rest_strata: Sequence[Any] | NDArray[Any] | None = None,
    confidence: float = 0.95,
    tuning: float | None = None,
    limits: tuple[float, float] = (-math.inf, math.inf),
) -> PPI:
    """Estimate a mean score from gold annotations of some images and completed ones of all.

    The estimate is mean(Y) + λ (mean(f of the rest) − mean(f of the gold images)). The weight
    λ = slope / (1 + n/N), at least 0, where the slope is that of Y on f over the gold images.

    Parameters
    ----------
    gold_y : array (n,)
        Score of each gold image against its gold annotation.
    gold_f : array (n,)
        Score of the same map against the image's completed annotation.
    rest_f : array (N,)
        Score of each other image against its completed annotation.
    target : {"population", "set"}
        The mean over all images of the kind, or the mean over just these n + N.
    strata, rest_strata : sequences (n,), (N,), optional
        Strata from which gold images were drawn, one label for each image. They are combined by
        their share of all images.
    confidence : float
        Of the interval: Student's t with n − 2 degrees of freedom, Satterthwaite's over strata;
        fewer for the set, as far as single images make up its variance.
    tuning : float, optional
        A λ fixed beforehand; 1 is prediction-powered inference without tuning, 0 the gold alone.
    limits : pair of float
        The range of the scores, e.g. (0, 1): the estimate and intervals are within it.

    Returns
    -------
    PPI
        NaN with a reason below 5 gold images, or 4 in one of several strata.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.beta(2, 6, 139)
    >>> completed = 0.8 * truth + rng.normal(0, 0.03, 139)
    >>> found = ppi_mean(truth[:25], completed[:25], completed[25:])
    >>> found.high - found.low < 0.7 * (found.gold_only.high - found.gold_only.low)
    True

    References
    ----------
    Angelopoulos, Duchi and Zrnic (2023), PPI++: efficient prediction-powered inference,
    arXiv:2311.01453.
    """
    _check(target, confidence, tuning)
    gold, rest, undefined = _read(gold_y, gold_f, rest_f, strata, rest_strata)
    blank = _blank(gold, rest, undefined, target, confidence, limits)
    names = np.unique(np.concatenate([gold.strata, rest.strata])) if len(gold.y) else [0]
    least = _FEWEST if len(names) > 1 else MIN_IMAGES
    for name in names:
        seen = int((gold.strata == name).sum())
        if seen < least:
            where = "" if strata is None else f" in a stratum of {seen + rest.count(name)} images"
            return replace(blank, reason=f"too few gold images: {seen}{where}, needs {least}")
    # In units of the scores their squares neither overflow nor vanish.
    y, unit = in_units(gold.y)
    f, unit_f = in_units(np.concatenate([gold.f, rest.f]))
    tuning = None if tuning is None else math.ldexp(tuning, int(unit_f) - int(unit))
    gold, rest = replace(gold, y=y, f=f[: len(y)]), replace(rest, f=f[len(y) :])
    parts = [_part(*gold.of(name), rest.of(name), target, tuning) for name in names]
    images = len(gold.y) + len(rest.f)
    shares = [((gold.strata == name).sum() + rest.count(name)) / images for name in names]
    value, variance, df, weight = _combine(parts, shares, target, images)
    se = math.sqrt(variance)
    half = float(stdtrit(df, 0.5 + confidence / 2)) * se if se else 0.0
    value, low, high, se = (
        float(np.ldexp(figure, unit)) for figure in (value, value - half, value + half, se)
    )
    value, low, high = np.clip((value, low, high), *limits).tolist()
    weight = math.ldexp(weight, int(unit) - int(unit_f))
    return replace(blank, value=value, low=low, high=high, se=se, df=df, weight=weight)


@dataclass(frozen=True, slots=True, eq=False)
class _Gold:
    y: NDArray[np.float64]
    f: NDArray[np.float64]
    strata: NDArray[np.intp]

    def of(self, name: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return self.y[self.strata == name], self.f[self.strata == name]


@dataclass(frozen=True, slots=True, eq=False)
class _Rest:
    f: NDArray[np.float64]
    strata: NDArray[np.intp]

    def of(self, name: int) -> NDArray[np.float64]:
        return np.asarray(self.f[self.strata == name], np.float64)

    def count(self, name: int) -> int:
        return int((self.strata == name).sum())


def _blank(
    gold: _Gold,
    rest: _Rest,
    undefined: int,
    target: Target,
    confidence: float,
    limits: tuple[float, float],
) -> PPI:
    """Return what is known before there is an estimate."""
    nan = math.nan
    return PPI(
        *(nan, nan, nan, nan, nan, nan),
        n_gold=len(gold.y),
        n_rest=len(rest.f),
        undefined=undefined,
        correlation=_correlation(gold.y, gold.f),
        gold_only=_mean(gold.y, confidence, limits),
        target=target,
        confidence=confidence,
    )


def _part(
    y: NDArray[np.float64],
    f: NDArray[np.float64],
    rest: NDArray[np.float64],
    target: Target,
    tuning: float | None,
) -> _Part:
    n, others = len(y), len(rest)
    square = float(((f - f.mean()) ** 2).sum())
    tuned = tuning is None and others > 0 and not _constant(f)
    if tuned:
        slope = float((f - f.mean()) @ y) / square
        weight = max(slope, 0.0) / (1 + n / others)
    else:
        weight = float(tuning or 0.0) if others else 0.0
    df = n - 2 if tuned else n - 1
    apart = float(rest.mean() - f.mean()) if others else 0.0
    value = float(y.mean()) + weight * apart
    if target == "population":
        rectified = _centred(y - weight * f)
        # One image alone has no spread: the gold images tell what it is.
        spread = float((rest if others > 1 else f).var(ddof=1))
        variance = float(rectified @ rectified) / (df * n)
        return _Part(value, variance + weight**2 * spread / max(others, 1), df, weight)
    residuals = _centred(y - weight * (1 + n / others) * f) if others else np.zeros(n)
    missing = others / (n + others)
    if not tuned:
        return _Part(value, missing * float(residuals @ residuals) / (df * n), df, weight)
    # Each residual is scaled up by what its image had to say about the slope (a jackknife), and by
    # its weight in the estimate: residuals of images with f far from the mean are not like others.
    leverage = 1 / n + _centred(f) ** 2 / square
    pull = 1 + n * missing * apart * _centred(f) / square
    scaled = pull * residuals / np.maximum(1 - leverage, 1e-9)
    squares = scaled**2
    total = float(squares.sum())
    return _Part(value, missing * total / n**2, min(df, _degrees(squares, total)), weight)


def _degrees(squares: NDArray[np.float64], total: float) -> float:
    """Return how many degrees of freedom a variance from these squares has, at least 3.

    A completion that is right on most images and far off on a few leaves its spread uncertain:
    the larger the kurtosis, the fewer.
    """
    excess = len(squares) * float((squares**2).sum()) / total**2 - 1 if total else 0.0
    return max(2 * len(squares) / excess, 3.0) if excess > 0 else math.inf


def _combine(
    parts: list[_Part], shares: Sequence[float], target: Target, images: int
) -> tuple[float, float, float, float]:
    """Return value, variance, degrees of freedom and weight over strata."""
    value = sum(share * part.value for share, part in zip(shares, parts, strict=True))
    weight = sum(share * part.weight for share, part in zip(shares, parts, strict=True))
    own = [share**2 * part.variance for share, part in zip(shares, parts, strict=True)]
    rough = sum(v**2 / part.df for v, part in zip(own, parts, strict=True))
    variance = sum(own)
    df = variance**2 / rough if rough else parts[0].df
    if len(parts) > 1 and target == "population":
        # In the population the strata's shares are those of a sample, too.
        gaps = [s * (part.value - value) ** 2 for s, part in zip(shares, parts, strict=True)]
        between = sum(gaps) / images
        df = (variance + between) ** 2 / (rough + between**2 / (images - 1)) if rough else df
        variance += between
    return float(value), float(variance), float(df), float(weight)


def _centred(values: NDArray[np.float64]) -> NDArray[np.float64]:
    centred: NDArray[np.float64] = values - values.mean()
    return centred


def _mean(values: NDArray[np.float64], confidence: float, limits: tuple[float, float]) -> Estimate:
    n = len(values)
    reason = explain_few(n)
    if reason:
        return Estimate(float(values.mean()) if n else math.nan, math.nan, math.nan, n, reason)
    values, unit = in_units(values)
    mean, error = float(values.mean()), float(values.std(ddof=1)) / math.sqrt(n)
    half = float(stdtrit(n - 1, 0.5 + confidence / 2)) * error
    mean, low, high = (float(np.ldexp(end, unit)) for end in (mean, mean - half, mean + half))
    low, high = np.clip((low, high), *limits).tolist()
    return Estimate(mean, low, high, n)


def _correlation(y: NDArray[np.float64], f: NDArray[np.float64]) -> float:
    if len(y) < 2 or _constant(y) or _constant(f):
        return math.nan
    a, b = (in_units(_centred(values))[0] for values in (y, f))
    return float(a @ b) / math.sqrt(float(a @ a) * float(b @ b))


def _constant(values: NDArray[np.float64]) -> bool:
    """Say whether values are equal but for rounding noise."""
    return float(np.ptp(values)) <= 1e-12 * float(np.abs(values).max())


def _check(target: str, confidence: float, tuning: float | None) -> None:
    if target not in get_args(Target):
        raise InputError(f"target must be 'population' or 'set'; got {target!r}")
    check_confidence(confidence)
    if tuning is not None and not math.isfinite(tuning):
        raise InputError(f"tuning must be a finite number; got {tuning!r}")


def _read(
    gold_y: Any, gold_f: Any, rest_f: Any, strata: Any, rest_strata: Any
) -> tuple[_Gold, _Rest, int]:
    """Return scores with the number of their stratum, without undefined ones, and their count."""
    y, f, rest = (
        floats(values, name, None)
        for values, name in ((gold_y, "gold_y"), (gold_f, "gold_f"), (rest_f, "rest_f"))
    )
    if y.ndim != 1 or y.shape != f.shape or rest.ndim != 1:
        raise InputError(
            f"gold_y and gold_f must hold one score for each gold image, rest_f one for each other "
            f"image; got shapes {y.shape}, {f.shape} and {rest.shape}"
        )
    if (strata is None) != (rest_strata is None):
        raise InputError("strata and rest_strata must be given together; got one of them")
    first, second = np.zeros(len(y), np.intp), np.zeros(len(rest), np.intp)
    if strata is not None:
        own, other = plain_labels(strata), plain_labels(rest_strata)
        if len(own) != len(y) or len(other) != len(rest):
            raise InputError(
                f"there must be one stratum for each image; got {len(own)} for {len(y)} gold "
                f"images and {len(other)} for {len(rest)} others"
            )
        first, second = np.split(numbered([*own, *other])[1], [len(own)])
    both, left = np.isfinite(y) & np.isfinite(f), np.isfinite(rest)
    undefined = int((~both).sum() + (~left).sum())
    return _Gold(y[both], f[both], first[both]), _Rest(rest[left], second[left]), undefined


@dataclass(frozen=True, slots=True)
class Joined:
    """The four results that belong side by side.

    Attributes
    ----------
    sparse : Estimate
        Against the annotation as it came.
    completed : Estimate
        Against the completed annotation.
    gold : Estimate
        Against the gold annotation, over the gold images.
    joined : PPI
        Gold and completed together.

    Examples
    --------
    >>> from sightline.stats.missing_labels import joined
    >>> nan = float("nan")
    >>> four = joined([0.1, 0.2, 0.1, 0.2], [0.3, 0.4, 0.2, 0.4], [0.4, 0.5, 0.3, nan])
    >>> round(four.sparse.value, 3), round(four.completed.value, 3), four.gold.n, four.joined.n_rest
    (0.15, 0.325, 3, 1)
    """

    sparse: Estimate
    completed: Estimate
    gold: Estimate
    joined: PPI


def joined(
    sparse: Any,
    completed: Any,
    gold: Any,
    /,
    *,
    target: Target = "population",
    strata: Sequence[Any] | NDArray[Any] | None = None,
    confidence: float = 0.95,
    limits: tuple[float, float] = (-math.inf, math.inf),
) -> Joined:
    """Put what the sparse, the completed and the gold annotation say side by side, and join them.

    Parameters
    ----------
    sparse, completed, gold : arrays (images,)
        Score of each image against each kind of annotation; NaN where there is none. Gold images
        are those with a gold score.
    target, confidence, limits
        As in `ppi_mean`.
    strata : sequence (images,), optional
        Strata from which the gold images were drawn.

    Examples
    --------
    >>> nan = float("nan")
    >>> gold = [0.4, 0.5, 0.7, 0.5, 0.4, nan, nan]
    >>> four = joined([0.1] * 7, [0.3, 0.4, 0.5, 0.4, 0.3, 0.3, 0.4], gold)
    >>> round(four.sparse.value, 2), round(four.gold.value, 3), round(four.joined.value, 3)
    (0.1, 0.5, 0.488)
    """
    named = ((sparse, "sparse"), (completed, "completed"), (gold, "gold"))
    scores = [floats(values, name, None) for values, name in named]
    if len({values.shape for values in scores}) > 1 or scores[0].ndim != 1:
        shapes = ", ".join(str(values.shape) for values in scores)
        raise InputError(f"sparse, completed and gold must have one score an image; got {shapes}")
    many, known = scores[1:]
    chosen = np.isfinite(known)
    own, other = _split(strata, chosen)
    found = ppi_mean(
        known[chosen],
        many[chosen],
        many[~chosen],
        target=target,
        strata=own,
        rest_strata=other,
        confidence=confidence,
        limits=limits,
    )
    a, b, c = (_mean(values[np.isfinite(values)], confidence, limits) for values in scores)
    return Joined(a, b, c, found)


def _split(
    strata: Sequence[Any] | NDArray[Any] | None, chosen: NDArray[np.bool_]
) -> tuple[list[Any] | None, list[Any] | None]:
    """Return the strata of the gold images and of the others."""
    if strata is None:
        return None, None
    strata = plain_labels(strata)
    if len(strata) != len(chosen):
        raise InputError(
            f"there must be one stratum for each image; got {len(strata)} for {len(chosen)} images"
        )
    pairs = list(zip(strata, chosen, strict=True))
    return [name for name, gold in pairs if gold], [name for name, gold in pairs if not gold]
