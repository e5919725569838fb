"""The IoU that images would have with all their instances annotated, from the labelled ones.

The labelled instances are seen as positive, everything else as unlabelled. It holds as far as three
things do: the labelled instances were chosen at random from theirs, instances of one kind on one
image are of similar size, and they do not overlap.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from sightline.core import InputError
from sightline.core.arrays import shape_of, to_numpy
from sightline.core.checks import check_confidence, explain_few
from sightline.stats._images import numbered, plain_labels
from sightline.stats._resample import Weights

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import NDArray

Labels: TypeAlias = "Sequence[Any] | NDArray[Any]"

__all__ = ["ASSUMPTIONS", "PU", "PUBand", "pu_band", "pu_iou"]

ASSUMPTIONS = (
    "the labelled instances were chosen at random, instances of one kind on one image are of "
    "similar size and do not overlap"
)
STRATA = (3, 5, 8)
"""Where a new stratum of instance counts begins: 1–2, 3–4, 5–7, 8 and more."""
_ENOUGH = 10  # images of a kind whose recall is pooled apart from other kinds


@dataclass(frozen=True, slots=True, eq=False)
class PU:
    """IoU corrected for unlabelled instances.

    Attributes
    ----------
    value, low, high : float
        Mean over images, and its interval (images resampled, pooled recall pooled again each time).
    own, pooled : float
        The mean with each image's own recall, and with recall pooled over images: one of them is
        `value`.
    iou : array (n,)
        Of each image, by the same recall as `value`.
    images : tuple (n,)
        Which image each is.
    n, undefined : int
        Images with a value; regions without one.
    reason : str
        Why there is no value or interval, or "".

    Examples
    --------
    >>> from sightline.stats.missing_labels import pu_iou
    >>> result = pu_iou([0.9, 0.7], [0.02, 0.02], 0.1, [4, 4], images=["a", "b"])
    >>> result.images, round(result.value, 3), round(result.pooled, 3), result.n
    (('a', 'b'), 0.559, 0.552, 2)
    """

    value: float
    low: float
    high: float
    own: float
    pooled: float
    iou: NDArray[np.float64]
    images: tuple[Any, ...]
    n: int
    undefined: int
    reason: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class PUBand:
    """Corrected IoU over a range of labelling frequencies.

    Attributes
    ----------
    low, high : float
        The smallest and the largest corrected IoU in the range. Not an interval: it says nothing
        of chance, only what the unknown frequency can do.
    frequencies, values : arrays
        The frequencies tried, and the corrected IoU at each.
    iou : array (frequencies, n)
        Of each image at each frequency.
    images : tuple (n,)
        Which image each is.
    n : int
        Images.

    Examples
    --------
    >>> from sightline.stats.missing_labels import pu_band
    >>> band = pu_band([0.9, 0.7], [0.02, 0.02], 0.1, images=["a", "b"], frequency=(0.5, 1))
    >>> band.n, round(band.low, 3), round(band.high, 3), band.frequencies[[0, -1]].tolist()
    (2, 0.154, 0.296, [0.5, 1.0])
    """

    low: float
    high: float
    frequencies: NDArray[np.float64]
    values: NDArray[np.float64]
    iou: NDArray[np.float64]
    images: tuple[Any, ...]
    n: int


@dataclass(frozen=True, slots=True, eq=False)
class _Cells:
    """The instances of one kind on one image, for all kinds and images."""

    image: NDArray[np.intp]  # (cells,)
    group: NDArray[np.intp]
    labelled: NDArray[np.float64]
    recall: NDArray[np.float64]
    area: NDArray[np.float64]  # of all instances together
    instances: NDArray[np.float64]
    attended: NDArray[np.float64]  # (images,)
    names: tuple[Hashable, ...]
    undefined: int


def pu_iou(
    recall: Any,
    area: Any,
    attended: Any,
    instances: Any,
    /,
    *,
    images: Labels,
    groups: Labels | None = None,
    strata: Sequence[float] = STRATA,
    pooled: bool = False,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> PU:
    """Return the IoU that images would have with every instance annotated, if counts are known.

    Each labelled region stands for the instances of its kind on its image: together they have
    `instances` times its area, of which the share `recall` is selected. Two estimates of that
    recall are returned; neither is right in general, as IoU is convex in recall:

    - each image's own, from its labelled instance or two. IoU comes out too high, as far as the
      instances of one image differ from each other. On photographs they are similar.
    - pooled over images with similar counts. IoU comes out too low, as far as images differ from
      each other, and too high, as far as recall falls with the area of the instances, which a
      selection of fixed size makes it do. On photographs both are large.

    Parameters
    ----------
    recall, area : arrays (regions,)
        Selected share of each labelled region, and its share of the image.
    attended : array (regions,) or float
        Selected share of the region's image.
    instances : array (regions,)
        How many instances of the region's kind its image has, labelled and not.
    images : sequence (regions,)
        The image of each region.
    groups : sequence (regions,), optional
        The kind (label) of each region; without them all regions of an image are of one kind.
    strata : sequence of float
        Counts at which a new stratum begins. Recall is pooled within them, apart for each kind
        that has at least 10 images there.
    pooled : bool
        Whether `value` and its interval are those of the pooled recall.
    confidence, resamples, seed
        Of the interval.

    Examples
    --------
    >>> result = pu_iou([0.9, 0.7], [0.02, 0.02], 0.1, [4, 4], images=["a", "b"])
    >>> result.iou.round(3)
    array([0.667, 0.452])

    References
    ----------
    Elkan and Noto (2008), Learning classifiers from only positive and unlabeled data.
    """
    check_confidence(confidence)
    if resamples < 1:
        raise InputError(f"resamples must be at least 1; got {resamples!r}")
    cells = _cells(recall, area, attended, instances, images, groups)
    n = len(cells.names)
    if not n:
        nan = math.nan
        return PU(
            *(nan, nan, nan, nan, nan), np.empty(0), (), 0, cells.undefined, "no labelled region"
        )
    own = _own(cells)
    pools = _pools(cells, strata)
    together = _pooled(cells, pools, np.ones((1, n)))[0]
    ious = together if pooled else own
    value, low, high, reason = float(ious.mean()), math.nan, math.nan, explain_few(n)
    if not reason:
        draws = np.empty(resamples)
        for part, weights in Weights(n, resamples, seed):
            seen = _pooled(cells, pools, weights) if pooled else own
            draws[part] = (seen * weights).sum(1) / n
        low, high = map(float, np.quantile(draws, [(1 - confidence) / 2, (1 + confidence) / 2]))
    means = (float(own.mean()), float(together.mean()))
    return PU(value, low, high, *means, ious, cells.names, n, cells.undefined, reason)


def pu_band(
    recall: Any,
    area: Any,
    attended: Any,
    /,
    *,
    images: Labels,
    groups: Labels | None = None,
    frequency: tuple[float, float] = (0.2, 1.0),
    steps: int = 17,
    strata: Sequence[float] = STRATA,
    pooled: bool = True,
) -> PUBand:
    """Return corrected IoU where only a range for the labelling frequency is known.

    A kind with m labelled instances on an image is taken to have m / c of them, for each
    frequency c in the range, also on images on which nothing is missing: their IoU comes out too
    high, most of all with each image's own recall where that is higher on them than elsewhere.
    Hence recall is pooled by default; parameters are otherwise those of `pu_iou`. On photographs
    either is rough, at the true frequency too.

    Examples
    --------
    >>> band = pu_band([0.9, 0.7], [0.02, 0.02], 0.1, images=["a", "b"], frequency=(0.25, 1))
    >>> round(band.low, 3), round(band.high, 3)
    (0.154, 0.552)
    """
    least, most = frequency
    if not 0 < least <= most <= 1:
        raise InputError(
            f"frequency must be (low, high) with 0 < low <= high <= 1; got {frequency}"
        )
    if steps < 1:
        raise InputError(f"steps must be at least 1; got {steps!r}")
    cells = _cells(recall, area, attended, None, images, groups)
    n = len(cells.names)
    rates = np.linspace(least, most, steps if least < most else 1)
    if not n:
        nothing = np.full(len(rates), np.nan)
        return PUBand(np.nan, np.nan, rates, nothing, np.empty((len(rates), 0)), (), 0)
    scaled = [_scaled(cells, rate) for rate in rates]
    once = np.ones((1, n))
    ious = np.stack([_pooled(c, _pools(c, strata), once)[0] if pooled else _own(c) for c in scaled])
    values = ious.mean(1)
    ends = (float(values.min()), float(values.max()))
    return PUBand(*ends, rates, values, ious, cells.names, n)


def _scaled(cells: _Cells, frequency: float) -> _Cells:
    factor = 1 / frequency
    return replace(cells, instances=cells.labelled * factor, area=cells.area * factor)


def _cells(
    recall: Any, area: Any, attended: Any, instances: Any, images: Any, groups: Any
) -> _Cells:
    recall, area = _shares(recall, "recall"), _shares(area, "area")
    images, kinds = plain_labels(images), None if groups is None else plain_labels(groups)
    if recall.ndim != 1 or recall.shape != area.shape or len(images) != len(recall):
        raise InputError(
            "recall, area and images must hold one entry for each region; got "
            f"{recall.size}, {area.size} and {len(images)}"
        )
    kinds = kinds if kinds is not None else [0] * len(recall)
    if len(kinds) != len(recall):
        raise InputError(
            f"groups must hold one entry for each of {len(recall)} regions; got {len(kinds)}"
        )
    attended = _for_each(_shares(attended, "attended"), len(recall), "attended")
    known = instances is not None
    counts = np.asarray(to_numpy(instances) if known else 1, np.float64)
    counts = _for_each(counts, len(recall), "instances")
    good = np.isfinite(recall) & np.isfinite(attended) & (area > 0) & (counts > 0)
    rows = np.flatnonzero(good)
    names, image = numbered([images[i] for i in rows])
    labels, kind = numbered([kinds[i] for i in rows])
    keys, cell = np.unique(image * max(len(labels), 1) + kind, return_inverse=True)
    width = len(keys)
    labelled = np.bincount(cell, minlength=width).astype(np.float64)
    labelled_area = np.bincount(cell, area[rows], width)
    hits = np.bincount(cell, recall[rows] * area[rows], width)
    total = np.bincount(cell, counts[rows], width) / np.maximum(labelled, 1)
    total = np.maximum(total, labelled) if known else labelled
    per_image = np.zeros(len(names))
    per_image[image] = attended[rows]
    return _Cells(
        image=keys // max(len(labels), 1),
        group=keys % max(len(labels), 1),
        labelled=labelled,
        recall=np.asarray(hits / labelled_area, np.float64),
        area=labelled_area * total / np.maximum(labelled, 1),
        instances=total,
        attended=per_image,
        names=names,
        undefined=int((~good).sum()),
    )


def _shares(values: Any, name: str) -> NDArray[np.float64]:
    given = np.asarray(to_numpy(values), np.float64)
    odd = (given < -1e-9) | (given > 1 + 1e-9)
    if odd.any():
        raise InputError(f"{name} must hold shares from 0 to 1 or NaN; got {given[odd][0]:g}")
    return given


def _for_each(values: NDArray[np.float64], regions: int, name: str) -> NDArray[np.float64]:
    if values.shape not in ((), (regions,)):
        raise InputError(
            f"{name} must be one number, or one for each of {regions} regions; "
            f"got {shape_of(values.shape)}"
        )
    return np.broadcast_to(values, (regions,))


def _pools(cells: _Cells, strata: Sequence[float]) -> NDArray[np.intp]:
    """Return the pool of each cell: its kind and stratum if that is large, else the stratum."""
    edges = np.asarray(strata, np.float64)
    if edges.size and (np.diff(edges) <= 0).any():
        raise InputError(f"strata must rise; got {tuple(strata)}")
    stratum = np.digitize(cells.instances, edges - 1e-9)
    apart = (cells.group + 1) * (len(edges) + 1) + stratum
    _, where, counts = np.unique(apart, return_inverse=True, return_counts=True)
    codes = np.where(counts[where] >= _ENOUGH, apart, stratum)
    return np.asarray(np.unique(codes, return_inverse=True)[1], np.intp)


def _own(cells: _Cells) -> NDArray[np.float64]:
    """Return the corrected IoU of each image from its own recall."""
    n = len(cells.names)
    whole = np.bincount(cells.image, cells.area, n)
    return _iou(cells, whole, np.bincount(cells.image, cells.recall * cells.area, n))


def _pooled(cells: _Cells, pools: NDArray[np.intp], weights: NDArray[Any]) -> NDArray[np.float64]:
    """Return the corrected IoU of each image, for each row of image weights, (rows, images)."""
    n, m = len(cells.names), int(pools.max()) + 1
    at = cells.image * m + pools
    sums, seen, areas = (
        np.bincount(at, values, n * m).reshape(n, m)
        for values in (cells.recall, np.ones(len(at)), cells.area)
    )
    sums, seen = weights @ sums, weights @ seen
    # A pool of which a resample has no image does not matter there: its images count 0 times.
    recall = np.where(seen > 0, sums / np.where(seen > 0, seen, 1), 0.0)
    return _iou(cells, areas.sum(1), recall @ areas.T)


def _iou(cells: _Cells, whole: NDArray[Any], hits: NDArray[Any]) -> NDArray[np.float64]:
    """Return IoU from areas; no more can be annotated, or hit, than there is."""
    whole = np.minimum(whole, 1.0)
    hits = np.minimum(hits, np.minimum(cells.attended, whole))
    return np.asarray(hits / (cells.attended + whole - hits), np.float64)
