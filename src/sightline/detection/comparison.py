"""Two detectors on the same images: differences, their intervals, and whether chance explains them.

Neither intervals nor p-values match again: images are drawn, or exchanged, by their weights.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.core import InputError
from sightline.detection._weighted_ap import Cell, cells
from sightline.detection.coco import (
    IOU_THRESHOLDS,
    MAX_DETS,
    SIZE_RANGES,
    CocoArrays,
    CocoMatches,
    accumulate_matches,
    check_limits,
    match_detections,
)
from sightline.detection.columns import same_kind
from sightline.detection.intervals import (
    EQUAL,
    Support,
    check_draws,
    close_ends,
    mean_ends,
    over_classes,
    resample_figures,
    supports,
    weighted_figures,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from sightline.detection.columns import Detections, GroundTruth

__all__ = ["DetectorComparison", "FigureDifference", "compare_detectors"]

_FEWEST = 6
"""Images below which no pattern of exchanges is rare enough."""
_EXCHANGES = 128
"""Exchanges that are in memory at once, each with its opposite."""


@dataclass(frozen=True, slots=True)
class FigureDifference:
    """A figure of two detectors on the same images.

    Attributes
    ----------
    first, second, difference : float
        The figure of each, and first − second; NaN where it has no ground truth.
    low, high : float
        The ends of the difference's interval.
    p : float
        Two-sided, of exchanging the detectors' results image by image.
    n : int
        Images with ground truths that count.
    confidence : float
        How often such an interval holds the true difference.
    reason : str
        Why ends or p are NaN; else "".

    Examples
    --------
    >>> from sightline import evaluate_detections
    >>> truth = {i: [[(0, 0, 40, 40), "cat"]] for i in range(4)}
    >>> good = evaluate_detections(truth, {i: [[(0, 0, 40, 40), 0.9, "cat"]] for i in range(4)})
    >>> same = good.compare(good, resamples=100).differences["AP"]
    >>> same.first, same.difference, same.p, same.reason
    (1.0, 0.0, nan, 'all draws are equal; no p: too few images: 4, an exchange needs 6')
    """

    first: float
    second: float
    difference: float
    low: float
    high: float
    p: float
    n: int
    confidence: float
    reason: str = ""


@dataclass(frozen=True, slots=True)
class DetectorComparison:
    """Two detectors on the same images.

    Attributes
    ----------
    differences : dict
        By name of each of the 12 COCO figures, and ``("AP", class)`` for each class.
    images : int
        How many there are.
    resamples, seed : int
        Of the draws and of the exchanges.

    Examples
    --------
    >>> from sightline import evaluate_detections
    >>> truth = {i: [[(0, 0, 40, 40), "cat"]] for i in range(4)}
    >>> good = evaluate_detections(truth, {i: [[(0, 0, 40, 40), 0.9, "cat"]] for i in range(4)})
    >>> poor = evaluate_detections(truth, {i: [[(0, 0, 40, 25), 0.9, "cat"]] for i in range(4)})
    >>> found = good.compare(poor, resamples=100)
    >>> found.images, round(found.differences["AP"].difference, 3)
    (4, 0.7)
    """

    differences: dict[Any, FigureDifference]
    images: int
    resamples: int
    seed: int

    def to_frame(self) -> pd.DataFrame:
        """Return a table with a line for each figure; `class` is None for the 12."""
        import pandas as pd

        lines = []
        for key, found in self.differences.items():
            name, label = key if isinstance(key, tuple) else (key, None)
            values = {field: getattr(found, field) for field in FigureDifference.__slots__}
            lines.append({"figure": name, "class": label, **values})
        return pd.DataFrame(lines)


def compare_detectors(
    truth: GroundTruth,
    first: Detections,
    second: Detections,
    /,
    *,
    iou_thresholds: Sequence[float] | NDArray[np.float64] = IOU_THRESHOLDS,
    size_ranges: Mapping[str, tuple[float, float]] = SIZE_RANGES,
    max_dets: Sequence[int] = MAX_DETS,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    threads: int | None = None,
) -> DetectorComparison:
    """Compare two detectors by the COCO protocol.

    Both are evaluated on the same draws of images, so that what makes an image hard for both does
    not blur the difference. The p-value asks how often a difference as large would come up if the
    detectors' results were exchanged in each image by the toss of a coin: the null is that they are
    exchangeable within an image, not only that their figures are equal.

    Parameters
    ----------
    truth : GroundTruth
        Should list its images. Otherwise they are those that it or any detection names, and one
        that only one detector names is an error: whether the other saw it is not known.
    first, second : Detections
        Boxes, or masks where truth and detections have them. Widths are taken as distances of
        edges.
    iou_thresholds, size_ranges, max_dets
        As in `coco_arrays`.
    confidence : float
        How often an interval holds the true difference.
    resamples, seed : int
        Of the draws of images and of the exchanges, at least 100.
    threads : int, optional
        As many as there are cores unless given; they do not change the result.

    Returns
    -------
    DetectorComparison

    Examples
    --------
    >>> from sightline.detection.columns import Detections, GroundTruth
    >>> images, box = list(range(8)), [[0, 0, 40, 40]] * 8
    >>> truth = GroundTruth.from_arrays(images, [3] * 8, box)
    >>> good = Detections.from_arrays(images, [3] * 8, box, [0.9] * 8)
    >>> half = Detections.from_arrays(images[::2], [3] * 4, box[:4], [0.9] * 4)
    >>> found = compare_detectors(truth, good, half, resamples=200).differences["AP"]
    >>> found.first, round(found.difference, 2), found.p < 0.2
    (1.0, 0.5, True)
    """
    check_draws(confidence, resamples, seed)
    limits = check_limits(max_dets)
    truth = _whole(truth, first, second)
    sides = [
        match_detections(
            truth, found, iou_thresholds=iou_thresholds, size_ranges=size_ranges,
            most=limits[-1], threads=threads,
        )
        for found in (first, second)
    ]  # fmt: skip
    arrays = [accumulate_matches(side, max_dets=limits, threads=threads) for side in sides]
    drawn = [
        resample_figures(
            side, truth, max_dets=limits, resamples=resamples, seed=seed, threads=threads,
        )
        for side in sides
    ]  # fmt: skip
    swapped = _exchanged(sides, truth, arrays[0], resamples, seed, threads)
    gaps = {name: drawn[0].tables[name] - drawn[1].tables[name] for name in drawn[0].tables}
    found = _differences(arrays, gaps, swapped, supports(sides[0], truth), confidence)
    images = len(sides[0].images)
    if images < _FEWEST:
        found = {key: _without_p(each, images) for key, each in found.items()}
    return DetectorComparison(found, images, resamples, seed)


def _without_p(found: FigureDifference, images: int) -> FigureDifference:
    """Take p away, and add why to what else there is to say."""
    why = f"no p: too few images: {images}, an exchange needs {_FEWEST}"
    told = [found.reason, why] if np.isfinite(found.difference) else [found.reason]
    return replace(found, p=np.nan, reason="; ".join(filter(None, told)))


def _whole(truth: GroundTruth, first: Detections, second: Detections) -> GroundTruth:
    """Return ground truth that lists all images and classes; refuse images of one side only."""
    known = truth.image if truth.images is None else truth.images
    for name, side, other in (("first", first, second), ("second", second, first)):
        same_kind(known, side.image, "image")
        same_kind(truth.label if truth.classes is None else truth.classes, side.label, "label")
        shared = _union(known, other.image) if truth.images is None else known
        alone = np.flatnonzero(~np.isin(side.image, shared))
        if len(alone):
            row = int(alone[0])
            raise InputError(
                f"{name}: image must be one of those of the ground truth, or, where it lists none, "
                f"of the other detector too; row {row} is {side.image[row].item()!r}"
            )
    images, classes = truth.images, truth.classes
    if images is None:
        images = _union(truth.image, first.image, second.image)
    if classes is None:
        classes = _union(truth.label, first.label, second.label)
    return replace(truth, images=images, classes=classes)


def _union(*parts: NDArray[Any]) -> NDArray[Any]:
    """Return the sorted ids of all parts; empty ones may be of another kind."""
    return np.unique(np.concatenate([part for part in parts if len(part)] or [parts[0]]))


def _exchanged(
    sides: list[CocoMatches],
    truth: GroundTruth,
    arrays: CocoArrays,
    exchanges: int,
    seed: int,
    threads: int | None,
) -> dict[str, NDArray[np.float64]]:
    """Return the differences of each class, (exchanges, K), with results exchanged by chance.

    Images of the second detector follow those of the first, and an image counts in one of both.
    """
    sizes, images = range(len(arrays.size_ranges)), len(sides[0].images)
    pairs = zip(
        *(cells(side, truth, arrays.max_dets, sizes, whole=True) for side in sides), strict=True
    )
    table = [_joined(one, other, images) for one, other in pairs]
    asked = (arrays.recall_points, arrays.max_dets)
    weights = _coins(images, exchanges, seed)
    found = weighted_figures(table, weights, sides[0], asked, 2 * exchanges, threads)
    return {name: rows[::2] - rows[1::2] for name, rows in found.tables.items()}


def _joined(one: Cell, other: Cell, images: int) -> Cell:
    """Return the events of both, from the highest score down, equal ones by image."""
    columns: Any = zip(one[:5], other[:5], strict=True)
    image, score, limit, true, false = (np.concatenate(parts) for parts in columns)
    order = np.lexsort((image, -score))
    image[len(one.image) :] += images
    places = np.concatenate([one.truth_image, other.truth_image + images])
    counts = np.concatenate([one.truth_count, other.truth_count])
    return Cell(image[order], score[order], limit[order], true[order], false[order], places, counts)


def _coins(images: int, exchanges: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """Yield weights (rows, 2 × images): for each exchange what is first, then what is second."""
    rng = np.random.default_rng([seed, 1])
    for start in range(0, exchanges, _EXCHANGES):
        rows = min(_EXCHANGES, exchanges - start)
        mine = rng.integers(0, 2, (rows, images)).astype(np.float64)
        yield np.stack([np.hstack([mine, 1 - mine]), np.hstack([1 - mine, mine])], axis=1).reshape(
            2 * rows, 2 * images
        )


def _differences(
    arrays: list[CocoArrays],
    gaps: dict[str, NDArray[np.float64]],
    swapped: dict[str, NDArray[np.float64]],
    counts: dict[str, Support],
    confidence: float,
) -> dict[Any, FigureDifference]:
    """Return the difference of each figure, then of the AP of each class."""
    result: dict[Any, FigureDifference] = {}
    one, other = (each.figures() for each in arrays)
    for name in one:
        result[name] = _difference(
            (one[name], other[name]), gaps[name], swapped[name], counts[name], confidence
        )
    pairs = zip(*(each.class_precision().tolist() for each in arrays), strict=True)
    for k, (label, pair) in enumerate(zip(arrays[0].classes.tolist(), pairs, strict=True)):
        each = counts["AP"].each[k : k + 1]
        result["AP", label] = _difference(
            pair,
            gaps["AP"][:, k : k + 1],
            swapped["AP"][:, k : k + 1],
            Support(each, int(each[0])),
            confidence,
        )
    return result


def _difference(
    values: tuple[float, float],
    gaps: NDArray[np.float64],
    swapped: NDArray[np.float64],
    support: Support,
    confidence: float,
) -> FigureDifference:
    """Return one difference, from those of its classes in draws and in exchanges."""
    gap = values[0] - values[1]
    ends = mean_ends(gap, gaps, support, confidence)
    low, high, _, reason = close_ends(gap, ends, (-1.0, 1.0), support.total)
    chance = np.abs(over_classes(swapped))
    as_large = (chance >= abs(gap) - EQUAL).sum()
    p = (1 + as_large) / (1 + len(chance)) if np.isfinite(gap) else np.nan
    return FigureDifference(*values, gap, low, high, float(p), support.total, confidence, reason)
