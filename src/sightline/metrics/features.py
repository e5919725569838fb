"""Regions and their labels: one map against each region of an annotation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from sightline.core import InputError, Taxonomy
from sightline.core.arrays import is_torch, namespace
from sightline.core.checks import ALL_EQUAL, check_confidence, explain_few
from sightline.metrics._border import check_maps
from sightline.metrics.chance import iou_ceiling, iou_chance
from sightline.metrics.overlap import IoU, compute_iou, compute_recall

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from sightline.core import Annotation
    from sightline.core.arrays import Array
    from sightline.metrics.selection import Sign, Ties

__all__ = [
    "FeatureScore",
    "RegionIoU",
    "aggregate_by_feature_type",
    "bbox_recall",
    "compute_image_iou",
    "compute_per_bbox_iou",
]


_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class RegionIoU:
    """The IoU of one region, with what chance gives and what is possible at these areas.

    Unpacks into its label and its IoU.

    Examples
    --------
    >>> import numpy as np
    >>> from sightline.metrics import compute_per_bbox_iou
    >>> from sightline.core import Annotation, Region
    >>> door = Annotation("a", regions=(Region("door", box=(0.5, 0.5, 1, 1)),))
    >>> compute_per_bbox_iou(np.eye(4), door, 75)
    [RegionIoU(label='door', iou=0.3333333333333333, chance=0.14285714285714285, ceiling=1.0)]
    >>> [(label, round(iou, 2)) for label, iou in compute_per_bbox_iou(np.eye(4), door, 75)]
    [('door', 0.33)]
    """

    label: str
    iou: float
    chance: float
    ceiling: float

    def __iter__(self) -> Iterator[Any]:
        yield self.label
        yield self.iou


def compute_image_iou(
    attention: Any,
    annotation: Annotation,
    /,
    percentile: float = 90,
    *,
    selection: str = "percentile",
    sign: Sign | None = None,
    ties: Ties = "share",
) -> IoU:
    """IoU with the union of an annotation's regions, laid over the map; ignored pixels left out.

    Parameters as in `compute_iou`.

    Examples
    --------
    >>> import numpy as np
    >>> from sightline.metrics import compute_image_iou
    >>> from sightline.core import Annotation, Region
    >>> left = Annotation("a", regions=(Region("door", box=(0, 0, 0.5, 1)),))
    >>> compute_image_iou(np.array([[4.0, 3.0, 2.0, 1.0]]), left, 75).iou
    np.float64(0.5)
    """
    maps, keep = _kept(attention, annotation)
    mask = _one_row(annotation.union_mask(*keep.shape), keep)
    found: IoU = compute_iou(maps, mask, percentile, selection=selection, sign=sign, ties=ties)
    return found


def compute_per_bbox_iou(
    attention: Any,
    annotation: Annotation,
    /,
    percentile: float = 90,
    *,
    selection: str = "percentile",
    sign: Sign | None = None,
    ties: Ties = "share",
) -> list[RegionIoU]:
    """IoU of one map with each region alone, with each region's own chance and ceiling.

    Attention on other instances of the same thing lowers it, annotated or not: read it beside
    `bbox_recall`. All three are NaN for a region whose pixels are all ignored. Parameters as in
    `compute_iou`.

    Examples
    --------
    >>> import numpy as np
    >>> from sightline.metrics import compute_per_bbox_iou
    >>> from sightline.core import Annotation, Region
    >>> sides = Region("left", box=(0, 0, 0.5, 1)), Region("right", box=(0.5, 0, 1, 1))
    >>> heat = np.array([[4.0, 3.0, 2.0, 1.0]])
    >>> found = compute_per_bbox_iou(heat, Annotation("a", regions=sides), 50)
    >>> [(one.label, one.iou) for one in found]
    [('left', 1.0), ('right', 0.0)]
    """
    if len(check_maps(attention).shape) != 2:
        raise InputError("compute_per_bbox_iou takes one map (H, W); for batches use score_maps")
    maps, keep = _kept(attention, annotation)
    found = []
    for region in annotation.scored:
        mask = _one_row(region.to_mask(*keep.shape), keep)
        one = compute_iou(maps, mask, percentile, selection=selection, sign=sign, ties=ties)
        found.append(_beside_chance(region.label, one))
    return found


def _beside_chance(label: str, found: IoU) -> RegionIoU:
    """Put an IoU beside its chance and ceiling; without annotated pixels there are none of them."""
    iou, a, g = (float(value) for value in found)
    if g == 0:
        return RegionIoU(label, math.nan, math.nan, math.nan)
    return RegionIoU(label, iou, iou_chance(a, g), iou_ceiling(a, g))


def _kept(attention: Any, annotation: Annotation) -> tuple[Array, NDArray[np.bool_]]:
    """Return maps without ignored pixels, as maps of one row, and which pixels those have."""
    maps = check_maps(attention)
    keep = ~annotation.ignore_mask(maps.shape[-2], maps.shape[-1])
    if not keep.any():
        raise InputError(f"image {annotation.image_id!r}: every pixel is ignored")
    if keep.all():
        return maps, keep
    xp = namespace(maps)
    flat = xp.reshape(maps, (*maps.shape[:-2], keep.size))
    device = {"device": maps.device} if is_torch(maps) else {}
    kept = xp.take(flat, xp.asarray(keep.ravel().nonzero()[0], **device), axis=-1)
    return kept[..., None, :], keep


def _one_row(mask: NDArray[np.bool_], keep: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return mask if keep.all() else mask[keep][None]


def bbox_recall(
    attention: Any,
    mask: Any,
    /,
    percentile: float = 90,
    *,
    selection: str = "percentile",
    sign: Sign | None = None,
    ties: Ties = "share",
) -> Array:
    """Share of one region's pixels that are selected: `compute_recall` for a region's mask.

    It does not fall directly when the map marks instances that nobody annotated, but it does fall
    as they use up the pixels to select; and a map that selects everything has recall 1.

    Examples
    --------
    >>> import numpy as np
    >>> from sightline.metrics import bbox_recall
    >>> bbox_recall(np.array([[0.1, 0.2, 0.3, 0.9]]), np.array([[0, 0, 1, 1]]), 75)
    np.float64(0.5)
    """
    return compute_recall(attention, mask, percentile, selection=selection, sign=sign, ties=ties)


class FeatureScore(NamedTuple):
    """A score over all regions with one label.

    The reason says why ends are NaN or no more than the mean; else it is "".

    Examples
    --------
    >>> from sightline.metrics import aggregate_by_feature_type
    >>> found = aggregate_by_feature_type([[("window", 0.2), ("door", 0.5)], [("window", 0.4)]])
    >>> found["window"].n, round(found["window"].mean, 3)
    (2, 0.3)
    """

    mean: float
    std: float
    n: int
    undefined: int
    low: float
    high: float
    reason: str = ""


def aggregate_by_feature_type(
    results: Sequence[Sequence[Iterable[Any]]],
    /,
    *,
    parents: Taxonomy | Mapping[str, Sequence[str]] | None = None,
    confidence: float = 0.95,
    limits: tuple[float, float] | None = (0.0, 1.0),
) -> dict[str, FeatureScore]:
    """Mean score of each label, and of each of its ancestors, over many images.

    Parameters
    ----------
    results
        For each image its regions as ``(label, value, ...)``, e.g. from `compute_per_bbox_iou`.
    parents
        For each label the labels above it; a region counts once for each ancestor.
    confidence
        Of the interval: Student's t with a standard error clustered by image, since regions of one
        image are not independent. NaN, with a reason, below five images.
    limits
        The range of the values, to which intervals are limited: that of IoU, recall and coverage by
        default. None for values without limits, such as those of `compute_lift`.

    Raises
    ------
    InputError
        If a value is outside the limits.

    Examples
    --------
    >>> images = [[("window", 0.2), ("door", 0.5)], [("window", 0.4)]]
    >>> scores = aggregate_by_feature_type(images, parents={"window": ["opening"]})
    >>> round(scores["window"].mean, 3), scores["opening"].n
    (0.3, 2)
    """
    check_confidence(confidence)
    least, most = (-math.inf, math.inf) if limits is None else limits
    above = parents.parents if isinstance(parents, Taxonomy) else parents or {}
    values: dict[str, list[list[float]]] = {}
    for image in results:
        here: dict[str, list[float]] = {}
        for label, value, *_ in image:
            if not least - _ROUNDING <= value <= most + _ROUNDING and not math.isnan(value):
                raise InputError(
                    f"values must be within limits, from {least:g} to {most:g}; label {label!r} "
                    f"has {value:g}: give the limits of its metric, or limits=None"
                )
            for name in _with_ancestors(label, above):
                here.setdefault(name, []).append(float(value))
        for name, found in here.items():
            values.setdefault(name, []).append(found)
    return {
        name: _feature_score(values[name], confidence, (least, most)) for name in sorted(values)
    }


def _with_ancestors(label: str, parents: Mapping[str, Sequence[str]]) -> list[str]:
    found, queue = [], [label]
    while queue:
        name = queue.pop()
        if name not in found:
            found.append(name)
            queue += parents.get(name, ())
    return found


def _feature_score(
    images: list[list[float]], confidence: float, limits: tuple[float, float]
) -> FeatureScore:
    import numpy as np
    from scipy.special import stdtrit

    everything = np.concatenate([np.asarray(image) for image in images])
    valid = everything[np.isfinite(everything)]
    undefined = everything.size - valid.size
    mean = float(valid.mean()) if valid.size else math.nan
    std = float(valid.std(ddof=1)) if valid.size > 1 else math.nan
    clusters = sum(bool(np.isfinite(image).any()) for image in images)
    reason = explain_few(clusters)
    if reason:
        return FeatureScore(mean, std, valid.size, undefined, math.nan, math.nan, reason)
    residuals = np.array([np.nansum(np.asarray(image) - mean) for image in images if len(image)])
    error = math.sqrt(clusters / (clusters - 1) * float((residuals**2).sum())) / valid.size
    half = float(stdtrit(clusters - 1, 0.5 + confidence / 2)) * error
    low, high = np.clip((mean - half, mean + half), *limits).tolist()
    reason = ALL_EQUAL if (valid == valid[0]).all() else ""
    return FeatureScore(mean, std, valid.size, undefined, low, high, reason)
