"""Overlap: how much of the selected part of a map coincides with the annotation.

Letters: ``a`` selected share, ``g`` annotated share of the image, ``N`` pixels, ``P`` of them
annotated, ``k`` selected, ``hits`` selected and annotated.
"""

from __future__ import annotations

import inspect
import math
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, get_args

from sightline.core import InputError
from sightline.core.arrays import Array, divide, namespace, nan_where
from sightline.core.checks import check_choice
from sightline.metrics._border import (
    against,
    check_maps,
    check_masks,
    each_map,
    refuse_signed_selection,
)
from sightline.metrics.chance import chance_corrected_iou, iou_ceiling
from sightline.metrics.selection import Sign, Threshold, Ties, budget, parse_selection, select

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "BestIoU",
    "IoU",
    "compute_best_iou",
    "compute_corrected_iou",
    "compute_dice",
    "compute_iou",
    "compute_iou_at_threshold",
    "compute_iou_curve",
    "compute_lift",
    "compute_precision",
    "compute_recall",
    "compute_share_of_ceiling",
    "threshold_attention",
]


class IoU(NamedTuple):
    """An IoU with the two areas without which it cannot be read.

    Examples
    --------
    >>> import numpy as np
    >>> from sightline.metrics import compute_iou
    >>> found = compute_iou(np.array([[0.1, 0.2], [0.3, 0.9]]), np.array([[0, 0], [1, 1]]), 75)
    >>> float(found.iou), float(found.attention_area), float(found.annotation_area)
    (0.5, 0.25, 0.5)
    """

    iou: Array
    attention_area: Array
    annotation_area: Array


class BestIoU(NamedTuple):
    """The largest IoU over all thresholds, and the percentile that gives it.

    Examples
    --------
    >>> import numpy as np
    >>> from sightline.metrics import compute_best_iou
    >>> best = compute_best_iou(np.array([[0.1, 0.2], [0.3, 0.9]]), np.array([[0, 0], [1, 1]]))
    >>> float(best.iou), float(best.percentile)
    (1.0, 50.0)
    """

    iou: Array
    percentile: Array


class Overlap(NamedTuple):
    """Selected pixels, annotated pixels and those that are both; all pixels. One value per map."""

    hits: Array
    selected: Array
    annotated: Array
    pixels: Array


class OverlapMetric(Protocol):
    """How every overlap metric is called."""

    __name__: str

    def __call__(
        self,
        attention: Any,
        mask: Any,
        /,
        percentile: float = 90,
        *,
        selection: str = "percentile",
        sign: Sign | None = None,
        ties: Ties = "share",
    ) -> Any:
        """Select the map's pixels and compare them with the annotation."""


def _overlap_metric(formula: Callable[[Overlap], Any]) -> OverlapMetric:
    """Turn a formula over counts into a metric of maps and masks."""

    @wraps(formula)
    def metric(
        attention: Any,
        mask: Any,
        /,
        percentile: float = 90,
        *,
        selection: str = "percentile",
        sign: Sign | None = None,
        ties: Ties = "share",
    ) -> Any:
        (threshold,) = parse_selection(selection, [percentile])
        return formula(_overlap(attention, mask, threshold, sign, ties))

    # Without this, help() and the documentation would show the formula's signature.
    metric.__signature__ = inspect.signature(metric, follow_wrapped=False)  # type: ignore[attr-defined]
    return metric


def _overlap(maps: Any, masks: Any, threshold: Threshold, sign: Sign | None, ties: Ties) -> Overlap:
    maps = check_maps(maps)
    masks = check_masks(masks, maps)
    check_choice("ties", ties, get_args(Ties))
    refuse_signed_selection(sign, threshold)
    xp = namespace(maps)

    def definition(values: Array, inside: Array) -> Overlap:
        flat = xp.reshape(values, (-1,))
        weight = xp.astype(xp.reshape(inside, (-1,)), xp.float64)
        annotated = xp.sum(weight)
        count = budget(flat, int(annotated), threshold, ties)
        return Overlap(xp.sum(select(flat, count) * weight), count, annotated, flat.shape[0])

    found: Overlap = each_map(definition, maps, masks, sign=sign)
    return found


def _defined(value: Array, annotated: Array) -> Array:
    """Return NaN for every empty annotation."""
    return nan_where(annotated == 0, value)


def threshold_attention(attention: Any, /, percentile: float = 90) -> Array:
    """Mask of the pixels at or above a percentile, by the literal rule ``map >= quantile``.

    The quantile interpolates linearly in float64. Equal pixels are all taken, so the area may be
    far more than ``(100 - percentile)``%: a constant map is selected whole. For shares of tied
    pixels see `compute_iou`.

    Examples
    --------
    >>> import numpy as np
    >>> threshold_attention(np.array([[1.0, 2.0], [3.0, 4.0]]), 50).tolist()
    [[False, False], [True, True]]
    """
    maps = check_maps(attention)
    rule = Threshold.percentile(percentile)
    xp = namespace(maps)

    def definition(values: Array) -> Array:
        flat = xp.reshape(values, (-1,))
        weights = select(flat, budget(flat, 0, rule, "include"))
        return xp.reshape(weights, values.shape)

    return each_map(definition, maps, sign="signed") > 0


def _iou(found: Overlap) -> IoU:
    iou = _defined(
        divide(found.hits, found.selected + found.annotated - found.hits), found.annotated
    )
    return IoU(iou, found.selected / found.pixels, found.annotated / found.pixels)


@_overlap_metric
def compute_iou(found: Overlap) -> IoU:
    """Intersection over union of the selected pixels and the annotation: hits / (k + P − hits).

    Range [0, 1], higher is better. Chance ``a g / (a + g − a g)``; ceiling ``min(a, g) /
    max(a, g)``: read no IoU without the two. Undefined (NaN) for an empty annotation.

    Parameters
    ----------
    attention, mask
        Maps ``(..., H, W)`` and the annotation: one mask ``(H, W)``, or one for each map.
    percentile
        The top ``100 − percentile`` percent of the pixels are selected.
    selection
        ``"percentile"``, ``"mass60"`` (the highest pixels that hold 60% of the sum), ``"mean"``
        (above the mean) or ``"matched"`` (as many pixels as are annotated).
    sign
        ``"positive"`` sets negative values to 0, ``"absolute"`` takes magnitudes, ``"signed"``
        leaves them. Needed only if there are negative values.
    ties
        ``"share"``: equal pixels at the threshold are selected in equal parts, so that the area is
        exact. ``"include"``: the literal ``map >= quantile``.

    Returns
    -------
    IoU
        ``iou``, ``attention_area`` (a) and ``annotation_area`` (g).

    Examples
    --------
    >>> import numpy as np
    >>> attention = np.arange(16.0).reshape(4, 4)
    >>> mask = attention >= 12
    >>> compute_iou(attention, mask, 75)
    IoU(iou=np.float64(1.0), attention_area=np.float64(0.25), annotation_area=np.float64(0.25))
    >>> round(float(compute_iou(np.ones((4, 4)), mask, 75).iou), 4)  # chance
    0.1429

    References
    ----------
    Jaccard (1912), The distribution of the flora in the alpine zone.
    """
    return _iou(found)


@_overlap_metric
def compute_dice(found: Overlap) -> Array:
    """Dice coefficient, the F1 score of the selected pixels: 2 hits / (k + P).

    Range [0, 1], higher is better, chance ``2 a g / (a + g)``. NaN for an empty annotation.
    Parameters as in `compute_iou`.

    Examples
    --------
    >>> import numpy as np
    >>> float(compute_dice(np.eye(4), np.eye(4) > 0, 75))
    1.0

    References
    ----------
    Dice (1945), Measures of the amount of ecologic association between species.
    """
    return _defined(divide(2 * found.hits, found.selected + found.annotated), found.annotated)


@_overlap_metric
def compute_precision(found: Overlap) -> Array:
    """Share of the selected pixels that are annotated: hits / k.

    Range [0, 1], higher is better, chance ``g``. NaN for an empty annotation, or if nothing is
    selected. Parameters as in `compute_iou`.

    Examples
    --------
    >>> import numpy as np
    >>> float(compute_precision(np.eye(4), np.ones((4, 4)), 50))
    1.0
    """
    return _defined(divide(found.hits, found.selected), found.annotated)


@_overlap_metric
def compute_recall(found: Overlap) -> Array:
    """Share of the annotated pixels that are selected: hits / P.

    Range [0, 1], higher is better, chance ``a``. NaN for an empty annotation. It says nothing of
    what else is selected: show it beside IoU or coverage. Parameters as in `compute_iou`.

    Examples
    --------
    >>> import numpy as np
    >>> float(compute_recall(np.eye(4), np.ones((4, 4)), 50))
    0.5
    """
    return divide(found.hits, found.annotated)


@_overlap_metric
def compute_lift(found: Overlap) -> Array:
    """How many times more of the annotation is selected than by chance: recall / a.

    Range [0, 1/a], higher is better, chance 1. NaN for an empty annotation, or if nothing is
    selected. Parameters as in `compute_iou`.

    Examples
    --------
    >>> import numpy as np
    >>> float(compute_lift(np.eye(4), np.eye(4) > 0, 75))
    4.0
    """
    return divide(divide(found.hits, found.annotated), found.selected / found.pixels)


@_overlap_metric
def compute_share_of_ceiling(found: Overlap) -> Array:
    """IoU as a share of the largest possible at these areas: IoU / (min(a, g) / max(a, g)).

    Range [0, 1], higher is better, chance ``iou_chance / iou_ceiling``, which for diffuse maps is
    high by itself. NaN for an empty annotation, or if nothing is selected. Parameters as in
    `compute_iou`.

    Examples
    --------
    >>> import numpy as np
    >>> float(compute_share_of_ceiling(np.eye(4), np.eye(4) > 0, 50))
    1.0
    """
    iou, a, g = _iou(found)
    return divide(iou, iou_ceiling(a, g))


@_overlap_metric
def compute_corrected_iou(found: Overlap) -> Array:
    """IoU on a scale where chance is 0 and the ceiling is 1: (IoU − chance) / (ceiling − chance).

    Range at most 1, higher is better, chance 0. NaN where nothing or everything is selected or
    annotated. Parameters as in `compute_iou`.

    Examples
    --------
    >>> import numpy as np
    >>> float(compute_corrected_iou(np.eye(4), np.eye(4) > 0, 50))
    1.0
    """
    return chance_corrected_iou(*_iou(found))


def compute_iou_at_threshold(
    attention: Any,
    mask: Any,
    k: float = 10,
    /,
    *,
    sign: Sign | None = None,
    ties: Ties = "share",
) -> Array:
    """IoU of the top k percent of the pixels, the column ``iou@(100 − k)``.

    By its name it selects by percentile; `compute_iou` has the other rules.

    Examples
    --------
    >>> import numpy as np
    >>> float(compute_iou_at_threshold(np.eye(4), np.eye(4) > 0, 25))
    1.0
    """
    if not 0 <= k <= 100:
        raise InputError(f"k is a percentage of the pixels in [0, 100]; got {k!r}")
    return compute_iou(attention, mask, 100 - k, sign=sign, ties=ties).iou


def compute_iou_curve(
    attention: Any, mask: Any, /, points: int = 101, *, sign: Sign | None = None
) -> tuple[Array, Array]:
    """IoU at evenly spaced selected areas from 0 to 1, ties shared.

    Returns
    -------
    areas, ious
        ``(points,)`` and ``(..., points)``.

    Examples
    --------
    >>> import numpy as np
    >>> areas, ious = compute_iou_curve(np.eye(2), np.eye(2) > 0, 5)
    >>> ious.tolist()
    [0.0, 0.5, 1.0, 0.6666666666666666, 0.5]
    """
    if points < 2:
        raise InputError(f"a curve needs at least 2 points; got {points}")
    maps = check_maps(attention)
    masks = check_masks(mask, maps)
    xp = namespace(maps)

    def definition(values: Array, inside: Array) -> Array:
        flat, n = xp.reshape(values, (-1,)), math.prod(values.shape)
        weight = xp.astype(xp.reshape(inside, (-1,)), xp.float64)
        annotated = xp.sum(weight)
        counts = [n * i / (points - 1) for i in range(points)]
        hits = xp.stack([xp.sum(select(flat, count) * weight) for count in counts])
        selected = xp.asarray(counts, dtype=xp.float64, device=hits.device)
        return _defined(divide(hits, selected + annotated - hits), annotated)

    ious = each_map(definition, maps, masks, sign=sign)
    areas = xp.linspace(0, 1, points, dtype=xp.float64, device=ious.device)
    return areas, ious


@against("mask")
def compute_best_iou(values: Array, inside: Array) -> BestIoU:
    """Largest IoU over all thresholds ``map >= v``, and the percentile of that threshold.

    Range [0, 1], higher is better. It picks its threshold on the annotation it is scored against,
    so it declares no chance and compares only with itself. Its percentile, from 0 to below 100, is
    the share of the pixels below the threshold: it differs from image to image, with the area that
    is annotated above all. Of thresholds with the same IoU it is the highest. Both are NaN for an
    empty annotation.

    Examples
    --------
    >>> import numpy as np
    >>> best = compute_best_iou(np.eye(4), np.eye(4) > 0)
    >>> float(best.iou), float(best.percentile)
    (1.0, 75.0)
    """
    xp = namespace(values)
    flat, chosen = xp.reshape(values, (-1,)), xp.reshape(inside, (-1,))
    hit = xp.sort(flat[chosen])
    if hit.shape[0] == 0:
        return BestIoU(math.nan, math.nan)
    ordered = xp.sort(flat)
    below = xp.astype(xp.searchsorted(hit, hit, side="left"), xp.float64)
    under = xp.astype(xp.searchsorted(ordered, hit, side="left"), xp.float64)
    hits, union = hit.shape[0] - below, flat.shape[0] - under + below
    ious = hits / union
    best = xp.max(ious)
    lower = xp.max(xp.where(ious == best, under, xp.zeros_like(under)))
    return BestIoU(best, 100 * lower / flat.shape[0])
