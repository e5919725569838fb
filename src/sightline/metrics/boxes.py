"""Boxes of a map's components against true boxes: the weakly supervised localisation protocols.

Here thresholds are hard: a pixel is in or out. The figures are of a data set, not of an image.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sightline.core import InputError
from sightline.core.arrays import to_numpy
from sightline.core.checks import check_choice
from sightline.metrics._border import (
    apply_sign,
    check_finite,
    check_maps,
    check_masks,
    resolve_sign,
)
from sightline.metrics.overlap import compute_iou, threshold_attention
from sightline.metrics.ranking import compute_average_precision

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sightline.metrics.selection import Sign, Ties

__all__ = [
    "MaxBoxAccuracy",
    "best_box_iou",
    "box_iou_curves",
    "component_boxes",
    "compute_corloc",
    "compute_max_box_accuracy",
    "compute_pxap",
    "max_box_accuracy",
]


def compute_corloc(
    attention: Any,
    targets: Any,
    /,
    percentile: float = 90,
    *,
    selection: str = "percentile",
    protocol: str = "mask",
    iou: float = 0.5,
    sign: Sign | None = None,
    ties: Ties = "share",
    ignore: Any = None,
) -> float:
    """Share of the images that are correctly localised: IoU of at least 0.5.

    Parameters
    ----------
    attention
        Maps ``(images, H, W)``.
    targets
        Annotation masks ``(images, H, W)`` or, under the protocol "box", for each image its true
        boxes ``(n, 4)`` as shares of the image.
    protocol : {"mask", "box"}
        "mask" compares the selected pixels with the mask; "box" the box of any component of the
        literally thresholded map with any of the true boxes.
    percentile, selection, sign, ties
        As in `compute_iou`; the box protocol always uses the literal threshold of a percentile.
    iou
        From which IoU on an image counts.
    ignore
        Pixels to leave out: ``(H, W)`` or one mask for each map. They are never selected and have
        no part in a threshold or an area; boxes stay whole.

    Returns
    -------
    float
        In [0, 1], higher is better. Images with an empty annotation are left out, and by mass maps
        that sum to zero; NaN if all are.

    Examples
    --------
    >>> import numpy as np
    >>> maps = np.stack([np.eye(4), 1 - np.eye(4)])
    >>> compute_corloc(maps, np.eye(4) > 0, 75)
    0.5

    References
    ----------
    Deselaers et al. (2012), Weakly supervised localization; Choe et al. (2020), arXiv:2001.07437.
    """
    check_choice("protocol", protocol, ("mask", "box"))
    overlap = partial(compute_iou, selection=selection, sign=sign, ties=ties)
    if protocol == "mask" and ignore is None:
        values = to_numpy(overlap(attention, targets, percentile).iou)
    elif protocol == "mask":
        maps, keep = _prepare(attention, "signed", ignore)
        sign = resolve_sign(maps, sign)
        inside = to_numpy(check_masks(targets, check_maps(attention)))
        values = np.array(
            [
                overlap(map_[kept][None], mask[kept][None], percentile).iou
                for map_, mask, kept in zip(maps, inside, keep, strict=True)
                if kept.any()
            ]
        )
    else:
        if selection != "percentile":
            raise InputError(f"the box protocol selects by percentile; got {selection!r}")
        maps, keep = _prepare(attention, sign, ignore)
        found = zip(maps, keep, _true_boxes(targets, maps), strict=True)
        values = np.array(
            [
                best_box_iou(component_boxes(_above_quantile(map_, kept, percentile)), true)
                for map_, kept, true in found
            ]
        )
    values = np.atleast_1d(values)
    values = values[np.isfinite(values)]
    return float(np.mean(values >= iou)) if values.size else math.nan


def _prepare(
    attention: Any, sign: Sign | None, ignore: Any
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return maps `(images, H, W)` after their sign rule, and the pixels that count."""
    maps = check_maps(attention)
    if len(maps.shape) != 3:
        raise InputError(f"a data set of maps has shape (images, H, W); got {len(maps.shape)} axes")
    keep = np.ones(tuple(maps.shape), np.bool_)
    if ignore is not None:
        keep = ~np.broadcast_to(to_numpy(check_masks(ignore, maps, "ignore")), keep.shape)
    values = np.where(keep, to_numpy(maps), 0)
    check_finite(values)
    return np.asarray(apply_sign(values, sign), np.float64), keep


def _above_quantile(
    values: NDArray[np.float64], keep: NDArray[np.bool_], percentile: float
) -> NDArray[np.bool_]:
    """Threshold the pixels of a map that count, literally."""
    selected = np.zeros_like(keep)
    if keep.any():
        selected[keep] = threshold_attention(values[keep][None], percentile)[0]
    return selected


def _true_boxes(boxes: Sequence[Any], maps: NDArray[Any]) -> list[NDArray[np.float64]]:
    """Return each image's true boxes in pixels of the map."""
    if len(boxes) != len(maps):
        raise InputError(f"boxes must have one entry per map ({len(maps)}); got {len(boxes)}")
    height, width = maps.shape[1:]
    found = []
    for i, entry in enumerate(boxes):
        array = np.asarray(entry, np.float64).reshape(-1, 4)
        if not np.isfinite(array).all() or array.min(initial=0) < -1 or array.max(initial=0) > 2:
            raise InputError(f"boxes of map {i} must be finite shares of the image; got {entry!r}")
        if (array[:, 2:] < array[:, :2]).any():
            raise InputError(
                f"boxes of map {i} must be (x0, y0, x1, y1) with x0 ≤ x1 and y0 ≤ y1; got {entry!r}"
            )
        found.append(np.clip(array, 0, 1) * [width, height, width, height])
    return found


def component_boxes(mask: NDArray[np.bool_], /) -> NDArray[np.float64]:
    """Return the tight box ``(x0, y0, x1, y1)`` in pixels of each 8-connected component.

    Examples
    --------
    >>> component_boxes(np.array([[1, 0, 0, 1], [0, 1, 0, 0]], bool)).tolist()
    [[0.0, 0.0, 2.0, 2.0], [3.0, 0.0, 4.0, 1.0]]
    """
    from scipy import ndimage

    labels, _ = ndimage.label(mask, structure=np.ones((3, 3)))
    found = [
        (columns.start, rows.start, columns.stop, rows.stop)
        for rows, columns in ndimage.find_objects(labels)
    ]
    return np.array(found, np.float64).reshape(-1, 4)


def best_box_iou(boxes: NDArray[np.float64], true: NDArray[np.float64], /) -> float:
    """Return the largest IoU between any box and any true box; NaN without true boxes."""
    if not len(true):
        return math.nan
    if not len(boxes):
        return 0.0
    low = np.maximum(boxes[:, None, :2], true[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], true[None, :, 2:])
    common = np.prod(np.clip(high - low, 0, None), axis=2)
    areas = [np.prod(side[:, 2:] - side[:, :2], axis=1) for side in (boxes, true)]
    return float((common / (areas[0][:, None] + areas[1][None] - common)).max())


def box_iou_curves(
    attention: Any,
    boxes: Sequence[Any],
    /,
    *,
    thresholds: Sequence[float] | None = None,
    sign: Sign | None = None,
    ignore: Any = None,
) -> NDArray[np.float64]:
    """Best box IoU of each image at each threshold of its min–max scaled map.

    A map that is constant scales to zero. Thresholds default to 0, 0.01, …, 0.99. Pixels to
    `ignore` are never selected and have no part in the scaling.

    Returns
    -------
    numpy.ndarray
        ``(images, thresholds)``; NaN rows for images without boxes. Everything about
        `max_box_accuracy`, resampling included, comes from this table.

    Examples
    --------
    >>> import numpy as np
    >>> from sightline.metrics import box_iou_curves
    >>> heat = np.zeros((1, 4, 4))
    >>> heat[0, :2, :2] = 1
    >>> box_iou_curves(heat, [[(0, 0, 0.5, 0.5)]], thresholds=(0, 0.5))
    array([[0.25, 1.  ]])
    """
    maps, keep = _prepare(attention, sign, ignore)
    levels = np.arange(100) / 100 if thresholds is None else np.asarray(thresholds, np.float64)
    curves = np.empty((len(maps), len(levels)))
    found = zip(_min_max(maps, keep), _true_boxes(boxes, maps), strict=True)
    for i, (scaled, true) in enumerate(found):
        curves[i] = [best_box_iou(component_boxes(scaled >= level), true) for level in levels]
    return curves


def _min_max(maps: NDArray[np.float64], keep: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Scale the pixels that count to [0, 1]; the others are below."""
    low = maps.min(axis=(1, 2), keepdims=True, where=keep, initial=np.inf)
    high = maps.max(axis=(1, 2), keepdims=True, where=keep, initial=-np.inf)
    span = np.where(high > low, high - low, 1)
    return np.where(keep, (maps - np.where(keep, low, 0)) / span, -1)


class MaxBoxAccuracy(NamedTuple):
    """Accuracy averaged over the IoU levels; for each level its accuracy and chosen threshold.

    Examples
    --------
    >>> import numpy as np
    >>> from sightline.metrics import box_iou_curves, max_box_accuracy
    >>> curves = box_iou_curves(np.eye(4)[None], [[(0, 0, 1, 1)]])
    >>> max_box_accuracy(curves)
    MaxBoxAccuracy(value=1.0, accuracy=(1.0, 1.0, 1.0), threshold=(0, 0, 0))
    """

    value: float
    accuracy: tuple[float, ...]
    threshold: tuple[int, ...]


def max_box_accuracy(
    curves: NDArray[np.float64],
    /,
    *,
    iou: Sequence[float] = (0.3, 0.5, 0.7),
    choose_on: NDArray[Any] | None = None,
    weights: NDArray[Any] | None = None,
) -> MaxBoxAccuracy:
    """Accuracy at the threshold that suits the data set best, averaged over IoU levels.

    Parameters
    ----------
    curves
        From `box_iou_curves`.
    iou
        Levels from which on an image counts as localised.
    choose_on
        Indices or booleans of the images on which thresholds are chosen; accuracy is then reported
        on the others. Without it both are the same images, as in the published protocol, and the
        figure is optimistic.
    weights
        How often each image counts, e.g. in a bootstrap resample: thresholds are chosen anew.

    Examples
    --------
    >>> found = max_box_accuracy(np.array([[0.2, 0.6], [0.8, 0.4]]))
    >>> found.value, found.accuracy
    (0.6666666666666666, (1.0, 0.5, 0.5))
    """
    curves = np.asarray(curves, np.float64)
    counts = np.ones(len(curves)) if weights is None else np.asarray(weights, np.float64)
    chooser = np.ones(len(curves), bool)
    if choose_on is not None:
        chooser = np.zeros(len(curves), bool)
        chooser[choose_on] = True
    reported = chooser if choose_on is None else ~chooser
    valid = np.isfinite(curves).all(axis=1)
    found = [_chosen(curves >= level, counts, chooser & valid, reported & valid) for level in iou]
    accuracy, threshold = zip(*found, strict=True)
    return MaxBoxAccuracy(float(np.mean(accuracy)), accuracy, threshold)


def _chosen(
    hits: NDArray[np.bool_],
    counts: NDArray[np.float64],
    chooser: NDArray[np.bool_],
    reported: NDArray[np.bool_],
) -> tuple[float, int]:
    best = int(np.argmax(counts[chooser] @ hits[chooser]))
    total = counts[reported].sum()
    return (float(counts[reported] @ hits[reported, best] / total) if total else math.nan), best


def compute_max_box_accuracy(
    attention: Any,
    boxes: Sequence[Any],
    /,
    *,
    iou: Sequence[float] = (0.3, 0.5, 0.7),
    sign: Sign | None = None,
    ignore: Any = None,
) -> float:
    """MaxBoxAccV2: share of images with a component box that matches a true box.

    Maps are min–max scaled per image and thresholded hard; all components count, each against any
    true box; one threshold per IoU level is chosen for the whole data set; the accuracies at IoU
    0.3, 0.5 and 0.7 are averaged. Range [0, 1], higher is better. No chance value. `ignore` as in
    `box_iou_curves`.

    Examples
    --------
    >>> compute_max_box_accuracy(np.eye(4)[None], [[(0, 0, 1, 1)]])
    1.0

    References
    ----------
    Choe et al. (2020), Evaluating weakly supervised object localization methods right,
    arXiv:2001.07437; its revision of 2020, arXiv:2007.04178.
    """
    curves = box_iou_curves(attention, boxes, sign=sign, ignore=ignore)
    return max_box_accuracy(curves, iou=iou).value


def compute_pxap(
    attention: Any, masks: Any, /, *, sign: Sign | None = None, ignore: Any = None
) -> float:
    """PxAP: average precision over all pixels of a data set, maps min–max scaled per image.

    Range [0, 1], higher is better, chance the annotated share of the pixels. Images with an empty
    annotation are left out; NaN if all are. Pixels to `ignore` are left out too.

    Examples
    --------
    >>> compute_pxap(np.eye(4)[None], np.eye(4) > 0)
    1.0

    References
    ----------
    Choe et al. (2020), arXiv:2001.07437.
    """
    maps, keep = _prepare(attention, sign, ignore)
    inside = to_numpy(check_masks(masks, check_maps(attention)))
    counted = keep & np.any(inside & keep, axis=(1, 2), keepdims=True)
    if not counted.any():
        return math.nan
    pooled = _min_max(maps, keep)[counted][None]
    return float(compute_average_precision(pooled, inside[counted][None]))
