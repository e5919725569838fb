"""Intervals of detection figures: images drawn again, without matching again.

A draw takes as many images as there are, with replacement; an image drawn twice counts twice, with
its ground truths and its detections. The classes are those of the whole set: one that a draw has no
ground truth of is left out of that draw's means, as an evaluation of the draw would leave it out.

AP is biased: the highest precision at a recall or beyond is too high by chance, the more so the
fewer objects a class has. Draws repeat about half of that bias, so that twice what they show is
taken off means over classes, class by class. Where classes have few images their draws spread too
little; they are stretched by the usual factor, and Student's t has the degrees of freedom that
these classes leave (Satterthwaite). The AP of a single class is put on a logit scale, its bias
taken off once. Simulations chose this: ``python -m benchmarks.calibration detection``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sightline.core import InputError
from sightline.core.checks import check_confidence
from sightline.core.threads import threads_for
from sightline.detection._options import at_threshold
from sightline.detection._weighted_ap import (
    LANES,
    Cell,
    Weighted,
    cells,
    check_same_evaluation,
    truth_counts,
    weigh_all,
)
from sightline.detection.coco import (
    MAX_DETS,
    RECALL_POINTS,
    ROWS_PER_THREAD,
    SIZE_LETTERS,
    check_limits,
    check_recall_points,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from sightline.detection.coco import CocoArrays, CocoMatches
    from sightline.detection.columns import GroundTruth

__all__ = ["FigureDraws", "FigureInterval", "figure_intervals", "resample_figures"]

_CHUNK = 256
"""Draws that are in memory at once."""
_BIAS = 2.0
"""How much larger the bias of a mean over classes is than its draws show."""
_EDGE = 0.5 / 101
"""Keeps an AP of 0 or 1 on the logit scale."""
_FEWEST_DRAWS = 100
EQUAL = 1e-9
"""Figures closer than this are equal: the rest is rounding."""


@dataclass(frozen=True, slots=True, eq=False)
class FigureDraws:
    """The figures of B draws of images.

    Attributes
    ----------
    tables : dict
        Each of the 12 COCO figures for each class, (B, K); NaN where a draw has no ground truth
        for it, or where it was not asked for.
    classes : array of shape (K,)
        The ids.
    """

    tables: dict[str, NDArray[np.float64]]
    classes: NDArray[Any]

    @property
    def figures(self) -> dict[str, NDArray[np.float64]]:
        """The draws (B,) of each figure, over the classes that a draw has."""
        return {name: over_classes(table) for name, table in self.tables.items()}


@dataclass(frozen=True, slots=True)
class FigureInterval:
    """A figure and between which ends it lies.

    Attributes
    ----------
    value, low, high : float
        The figure of the whole set, and the ends; NaN where it is undefined.
    n : int
        Images with ground truths that count.
    std : float
        The standard error of the figure, as the draws tell it.
    method : str
        "t", or "logit" for the AP of a class; "" where the ends are NaN.
    confidence : float
        How often such an interval holds the value of the population that images come from.
    reason : str
        Why the ends are NaN or equal; else "".

    Examples
    --------
    >>> from sightline import evaluate_detections
    >>> truth = {i: [[(0, 0, 40, 40), "cat"]] for i in range(20)}
    >>> found = {i: [[(0, 0, 40, 40 - i), 0.9, "cat"]] for i in range(20)}
    >>> ap = evaluate_detections(truth, found).with_intervals().intervals["AP"]
    >>> ap.low < ap.value < ap.high, ap.n, ap.method
    (True, 20, 't')
    """

    value: float
    low: float
    high: float
    n: int
    std: float
    method: str
    confidence: float
    reason: str = ""


class Support(NamedTuple):
    """The images with ground truths that count: of each class (K,), and altogether."""

    each: NDArray[np.int64]
    total: int


def resample_figures(
    matches: CocoMatches,
    truth: GroundTruth,
    /,
    *,
    recall_points: Sequence[float] | NDArray[np.float64] = RECALL_POINTS,
    max_dets: Sequence[int] = MAX_DETS,
    resamples: int = 1000,
    seed: int = 0,
    threads: int | None = None,
) -> FigureDraws:
    """Draw images again and again, and find the figures of each draw.

    The figures of a draw are those of a data set that holds each image as often as it was drawn,
    up to the order of copies whose scores are equal.

    Parameters
    ----------
    matches : CocoMatches
        Of all images.
    truth : GroundTruth
        What was matched.
    recall_points, max_dets
        As in `coco_arrays`.
    resamples, seed : int
        How many draws, and where their random numbers start. The same seed gives the same bits.
    threads : int, optional
        As many as there are cores unless given; they do not change the result.

    Returns
    -------
    FigureDraws

    Examples
    --------
    >>> from sightline.detection.coco import match_detections
    >>> from sightline.detection.columns import Detections, GroundTruth
    >>> truth = GroundTruth.from_arrays([1, 2], [3, 3], [[0, 0, 40, 40], [0, 0, 40, 40]])
    >>> found = Detections.from_arrays([1], [3], [[0, 0, 40, 40]], [0.9])
    >>> draws = resample_figures(match_detections(truth, found), truth, resamples=8)
    >>> sorted(set(draws.figures["AR100"].tolist()))
    [0.0, 0.5, 1.0]
    """
    _check_whole("resamples", resamples, 1)
    _check_whole("seed", seed, 0)
    points, limits = check_recall_points(recall_points), check_limits(max_dets)
    table = cells(matches, truth, limits, range(len(matches.size_ranges)))
    weights = _image_weights(len(matches.images), resamples, seed)
    return weighted_figures(table, weights, matches, (points, limits), resamples, threads)


def weighted_figures(
    table: list[Cell],
    weights: Iterator[NDArray[np.float64]],
    matches: CocoMatches,
    asked: tuple[NDArray[np.float64], tuple[int, ...]],
    count: int,
    threads: int | None,
) -> FigureDraws:
    """Find the figures of `count` draws, whose weights (draws, images) come in parts.

    `asked` is recall points and limits to the detections.
    """
    workers = threads_for(threads, len(matches.row), ROWS_PER_THREAD)
    shape = (len(asked[1]), len(matches.thresholds))
    parts = [
        _class_figures(
            weigh_all(table, in_lanes(part), asked[0], shape, workers), matches, asked[1]
        )
        for part in weights
    ]
    tables = {name: np.concatenate([part[name] for part in parts])[:count] for name in parts[0]}
    return FigureDraws(tables, matches.classes)


def _image_weights(count: int, resamples: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """Yield how often each image is drawn, (draws, images)."""
    rng = np.random.default_rng(seed)
    for start in range(0, resamples, _CHUNK):
        rows = min(_CHUNK, resamples - start)
        drawn = rng.integers(0, max(count, 1), (rows, count)) + count * np.arange(rows)[:, None]
        weights = np.bincount(drawn.ravel(), minlength=rows * count).reshape(rows, count)
        yield weights.astype(np.float64)


def in_lanes(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return weights (draws, images) as (blocks, images, LANES), with empty lanes at the end."""
    draws, images = weights.shape
    blocks = -(-draws // LANES)
    spare = np.zeros((blocks * LANES - draws, images))
    table = np.concatenate([weights, spare]).reshape(blocks, LANES, images)
    return np.ascontiguousarray(table.transpose(0, 2, 1))


def _class_figures(
    weighted: Weighted, matches: CocoMatches, max_dets: tuple[int, ...]
) -> dict[str, NDArray[np.float64]]:
    """Return the 12 figures of each class, (draws, K); NaN where one was not asked for."""
    shape = matches.totals.shape
    # Class, size, threshold, block, lane; recall with the limit after the size.
    ap = weighted.precision.reshape(*shape, *weighted.precision.shape[1:]).transpose(0, 1, 3, 2, 4)
    ar = weighted.recall.reshape(*shape, *weighted.recall.shape[1:]).transpose(0, 1, 3, 4, 2, 5)
    size = {name: place for place, name in enumerate(matches.size_ranges)}
    every = np.ones(len(matches.thresholds), np.bool_)

    def mean(table: NDArray[np.float64], rows: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Over thresholds, (K, T, blocks, LANES) to (draws, K)."""
        draws = table.shape[2] * LANES
        if not rows.any():
            return np.full((draws, len(table)), np.nan)
        return np.asarray(table[:, rows].mean(axis=1).reshape(len(table), draws).T)

    def precision(name: str, rows: NDArray[np.bool_]) -> NDArray[np.float64]:
        return mean(ap[:, size.get(name, 0)], rows & (name in size))

    def recall(name: str, most: int) -> NDArray[np.float64]:
        there = name in size and most in max_dets
        return mean(ar[:, size.get(name, 0), max_dets.index(most) if there else 0], every & there)

    result = {"AP": precision("all", every)}
    for level in (0.5, 0.75):
        result[f"AP{100 * level:.0f}"] = precision("all", at_threshold(matches.thresholds, level))
    result |= {f"AP{s}": precision(name, every) for s, name in SIZE_LETTERS.items()}
    result |= {f"AR{most}": recall("all", most) for most in MAX_DETS}
    return result | {f"AR{s}": recall(name, max_dets[-1]) for s, name in SIZE_LETTERS.items()}


def over_classes(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of each row over what is defined, NaN without any."""
    defined = np.isfinite(table)
    count = defined.sum(axis=1)
    sums = np.where(defined, table, 0.0).sum(axis=1)
    return np.where(count > 0, sums / np.maximum(count, 1), np.nan)


def figure_intervals(
    matches: CocoMatches,
    arrays: CocoArrays,
    truth: GroundTruth,
    /,
    *,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    threads: int | None = None,
) -> dict[Any, FigureInterval]:
    """Intervals of the 12 COCO figures and of the AP of each class, clustered by image.

    Parameters
    ----------
    matches, arrays : CocoMatches, CocoArrays
        Of one evaluation.
    truth : GroundTruth
        What was matched.
    confidence : float
        How often an interval holds the value of the population that the images come from. Held
        where classes are in tens of images each. Where many are in a few, the bias of AP is larger
        than any draw shows: the interval of a mean then lies too high.
    resamples, seed : int
        Draws of images, at least 100, and where their random numbers start.
    threads : int, optional
        As many as there are cores unless given; they do not change the result.

    Returns
    -------
    dict
        By the name of each figure, and by ``("AP", class)``. The value is always inside. Ends are
        NaN, and a reason says so, where fewer than two images have ground truths that count.

    Examples
    --------
    >>> from sightline.detection.coco import accumulate_matches, match_detections
    >>> from sightline.detection.columns import Detections, GroundTruth
    >>> images, box = list(range(20)), [[0, 0, 40, 40]] * 20
    >>> truth = GroundTruth.from_arrays(images, [3] * 20, box)
    >>> found = Detections.from_arrays(images[:10], [3] * 10, box[:10], [0.9] * 10)
    >>> matches = match_detections(truth, found)
    >>> ends = figure_intervals(matches, accumulate_matches(matches), truth)["AR100"]
    >>> ends.value, round(ends.low, 1), round(ends.high, 1), ends.n
    (0.5, 0.3, 0.7, 20)
    """
    check_draws(confidence, resamples, seed)
    check_same_evaluation(matches, arrays)
    draws = resample_figures(
        matches, truth, recall_points=arrays.recall_points, max_dets=arrays.max_dets,
        resamples=resamples, seed=seed, threads=threads,
    )  # fmt: skip
    counts = supports(matches, truth)
    result: dict[Any, FigureInterval] = {}
    for name, value in arrays.figures().items():
        ends = mean_ends(value, draws.tables[name], counts[name], confidence)
        result[name] = _interval(value, ends, "t", (0.0, 1.0), counts[name].total, confidence)
    each = arrays.class_precision().tolist()
    for k, (label, value) in enumerate(zip(matches.classes.tolist(), each, strict=True)):
        n = int(counts["AP"].each[k])
        ends = _logit_ends(value, draws.tables["AP"][:, k], n, confidence)
        result["AP", label] = _interval(value, ends, "logit", (0.0, 1.0), n, confidence)
    return result


class Ends(NamedTuple):
    """The ends of an interval, and the standard error."""

    low: float
    high: float
    error: float


def check_draws(confidence: float, resamples: int, seed: int) -> None:
    """Refuse a confidence that is no share, too few draws, and a seed that is none."""
    check_confidence(confidence)
    _check_whole("resamples", resamples, _FEWEST_DRAWS)
    _check_whole("seed", seed, 0)


def _check_whole(name: str, value: Any, least: int) -> None:
    if not isinstance(value, int | np.integer):
        raise InputError(f"{name} must be a whole number; got {value!r}")
    if value < least:
        raise InputError(f"{name} must be at least {least}; got {value}")


def supports(matches: CocoMatches, truth: GroundTruth) -> dict[str, Support]:
    """Count the images behind each figure."""
    names = list(matches.size_ranges)
    table = truth_counts(matches, truth)
    found = {}
    for a, name in enumerate(names):
        column = [counts[a][0] for counts in table]
        each = np.array([len(images) for images in column], np.int64)
        total = len(np.unique(np.concatenate(column))) if column else 0
        found[name] = Support(each, total)
    nothing = Support(np.zeros(len(matches.classes), np.int64), 0)
    sizes = dict.fromkeys(("AP", "AP50", "AP75", *(f"AR{most}" for most in MAX_DETS)), "all")
    sizes |= {f"{kind}{s}": name for kind in ("AP", "AR") for s, name in SIZE_LETTERS.items()}
    return {figure: found.get(name, nothing) for figure, name in sizes.items()}


def mean_ends(
    value: float, table: NDArray[np.float64], support: Support, confidence: float
) -> Ends:
    """Return the ends of a mean over classes from its draws (B, K), on its own scale."""
    there = support.each > 0
    table, images = table[:, there], np.maximum(support.each[there], 2)
    defined = np.isfinite(table)
    rows = defined.any(axis=1)
    if np.isnan(value) or support.total < 2 or not rows.any():
        return Ends(np.nan, np.nan, np.nan)
    table, defined = table[rows], defined[rows]
    centre = over_classes(table.T)
    bias = float(np.nanmean(centre)) - value
    # The draws of a class in few images spread too little, by this factor.
    stretched = np.where(defined, table - centre, 0.0) * np.sqrt(images / (images - 1))
    error = float((stretched.sum(axis=1) / defined.sum(axis=1)).std(ddof=1))
    parts = stretched.var(axis=0)
    freedom = parts.sum() ** 2 / np.fmax((parts**2 / (images - 1)).sum(), 1e-300)
    half = _quantile(max(freedom, 1.0), confidence) * error
    return Ends(value - _BIAS * bias - half, value - _BIAS * bias + half, error)


def _logit_ends(value: float, draws: NDArray[np.float64], images: int, confidence: float) -> Ends:
    """Return the ends of the AP of one class from its draws (B,)."""
    draws = draws[np.isfinite(draws)]
    if np.isnan(value) or images < 2 or len(draws) < 2:
        return Ends(np.nan, np.nan, np.nan)
    centre = _logit(np.clip(2 * value - draws.mean(), 0.0, 1.0))
    half = _quantile(images - 1, confidence) * _logit(draws).std(ddof=1)
    low, high = (_from_logit(centre + sign * half) for sign in (-1, 1))
    return Ends(float(low), float(high), float(draws.std(ddof=1)))


def _logit(value: Any) -> Any:
    return np.log((value + _EDGE) / (1 - value + _EDGE))


def _from_logit(value: Any) -> Any:
    from scipy.special import expit

    return expit(value) * (1 + 2 * _EDGE) - _EDGE


def _interval(
    value: float,
    ends: Ends,
    method: str,
    limits: tuple[float, float],
    n: int,
    confidence: float,
) -> FigureInterval:
    """Draw the ends in, keep the value between them, and say why they may be missing."""
    low, high, error, reason = close_ends(value, ends, limits, n)
    method = "" if np.isnan(low) else method
    return FigureInterval(float(value), low, high, n, error, method, confidence, reason)


def _quantile(freedom: float, confidence: float) -> float:
    """Return how many standard errors an interval of Student's t reaches to each side."""
    from scipy.special import stdtrit  # loaded where it is needed: it takes its time

    return float(stdtrit(freedom, 0.5 + confidence / 2))


def close_ends(
    value: float, ends: Ends, limits: tuple[float, float], n: int
) -> tuple[float, float, float, str]:
    """Return ends within limits and around the value, the error, and a reason."""
    if np.isnan(value):
        return np.nan, np.nan, np.nan, "no ground truth that counts, or not asked for"
    if np.isnan(ends.low):
        return np.nan, np.nan, np.nan, f"too few images: {n}, an interval needs 2"
    if ends.error < EQUAL:
        return float(value), float(value), 0.0, "all draws are equal"
    low = min(max(ends.low, limits[0]), value)
    return float(low), float(max(min(ends.high, limits[1]), value)), ends.error, ""
