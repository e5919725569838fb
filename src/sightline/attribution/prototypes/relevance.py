"""Relevance: how much of an attribution lies on the object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sightline.core import InputError
from sightline.core.arrays import to_numpy
from sightline.metrics import score_maps

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from sightline.attribution.prototypes.attribution import Attributed
    from sightline.core import Annotation, Sample
    from sightline.core.geometry import Geometry

__all__ = [
    "NO_ENERGY",
    "NO_OBJECT",
    "TOO_FEW_POSITIVE",
    "Relevance",
    "counted_of",
    "masks_of",
    "relevance",
    "segmentation_of",
]

_ROUNDING = 1e-9  # of a number of pixels


NO_OBJECT = "nothing is annotated on the image"
NO_ENERGY = "the map is 0 everywhere"
TOO_FEW_POSITIVE = "fewer pixels of the map are above 0 than area_percentage selects"


class Relevance(NamedTuple):
    """How much of each map lies on the object; `(n,)` of float64, NaN where there is no object.

    Attributes
    ----------
    mask : array
        Share of the most relevant pixels (a tenth of the image by default) on it; NaN where fewer
        pixels of the map are above 0 than that: zeros would fill up the selection.
    energy : array
        Share of the sum of the map, scaled to [0, 1], on it; NaN for a map of zeros.
    energy_raw : array
        The same of the map before scaling, without what is below 0.
    chance : array
        The object's share of the image: what a map without information scores.

    Examples
    --------
    >>> import torch
    >>> from sightline.attribution.prototypes import Attributed
    >>> constant = torch.ones(1, 2, 2)
    >>> found = relevance(Attributed(constant, constant), [[[True, False], [False, False]]])
    >>> found.energy.tolist() == found.mask.tolist() == found.chance.tolist() == [0.25]
    True
    """

    mask: NDArray[np.float64]
    energy: NDArray[np.float64]
    energy_raw: NDArray[np.float64]
    chance: NDArray[np.float64]

    @property
    def reasons(self) -> list[str]:
        """Why a measure of each map is NaN; "" where mask and energy are defined."""
        missing = (np.isnan(values) for values in (self.chance, self.energy, self.mask))
        reasons = (NO_OBJECT, NO_ENERGY, TOO_FEW_POSITIVE)
        found: list[str] = np.select(list(missing), reasons, "").tolist()
        return found


def relevance(
    attributed: Attributed,
    segmentations: ArrayLike,
    area: float = 0.1,
    counted: ArrayLike | None = None,
) -> Relevance:
    """Return how much of attributions lies on the object.

    Energy relevance is the share of the map's sum on it, mask relevance the share of the top
    `area` of the pixels: `compute_coverage` and `compute_precision` with ties shared. A constant
    map above 0 scores `chance`. Where fewer than `area` of the pixels are above 0, as where a map
    is one cell, mask relevance is NaN: see `Relevance.reasons`.

    Parameters
    ----------
    attributed : Attributed
        Maps of n pairs, on any device.
    segmentations : array of bool (n, height, width)
        Where the object is on the input; see `segmentation_of`.
    area : float
        Share of the pixels that counts as most relevant, above 0 and up to 1.
    counted : array of bool (n, height, width), optional
        Pixels that count: not padding; see `counted_of`. All unless given.

    References
    ----------
    Xu-Darme et al. 2023, Sanity checks for patch visualisation in prototype-based image
    classification, arXiv:2311.16120. Wang et al. 2020, Score-CAM, arXiv:1910.01279.

    Examples
    --------
    >>> import torch
    >>> from sightline.attribution.prototypes import Attributed
    >>> values = torch.tensor([[[0.0, 0.5, 0.5, 1.0]]])
    >>> object_ = [[[False, False, True, True]]]
    >>> found = relevance(Attributed(values, values), object_, area=0.5)
    >>> float(found.energy[0]), float(found.mask[0]), float(found.chance[0])
    (0.75, 0.75, 0.5)
    >>> relevance(Attributed(values, values), object_, area=0.8).reasons
    ['fewer pixels of the map are above 0 than area_percentage selects']
    """
    if not isinstance(area, int | float) or not 0 < area <= 1:
        raise InputError(f"area must be above 0 and at most 1, got {area!r}")
    values = np.asarray(to_numpy(attributed.values))
    inside = _masks("segmentations", segmentations, values)
    count = np.ones_like(inside) if counted is None else _masks("counted", counted, values)
    total, positive = count.sum((1, 2)), ((values > 0) & count).sum((1, 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        share = (inside & count).sum((1, 2)) / total
    percentile = 100 - 100 * float(area)
    put = _putting(attributed.values)
    masks = put(inside), None if count.all() else put(~count)
    mask, energy = _scored(put(values), *masks, percentile)
    mask = np.where(positive < area * total - _ROUNDING, np.nan, mask)
    raw = spread_evenly(np.maximum(to_numpy(attributed.raw), 0), *values.shape[1:])
    energy_raw = _scored(put(raw), *masks, percentile)[1]
    return Relevance(mask, energy, energy_raw, np.where(share > 0, share, np.nan))


def _putting(values: Any) -> Callable[[NDArray[Any]], Any]:
    """Return what brings arrays to where maps are: to their device, unless that is the CPU."""
    device = getattr(values, "device", "cpu")
    if getattr(device, "type", "cpu") == "cpu":
        return lambda array: array
    import torch

    return lambda array: torch.as_tensor(array, device=device)


def _masks(name: str, given: ArrayLike, values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return masks of the shape of the maps."""
    masks = np.asarray(to_numpy(given))
    if masks.shape != values.shape or masks.dtype != np.bool_:
        seen = f"{masks.shape} of {masks.dtype}"
        raise InputError(f"{name} must be {values.shape} of bool, as the maps are, got {seen}")
    return masks


def _scored(
    maps: Any, inside: Any, ignore: Any | None, percentile: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mask and energy relevance of maps."""
    names = ("precision", "coverage")
    scores = score_maps(
        maps, inside, percentiles=[percentile], sign="positive", ignore=ignore, metrics=names
    )
    (precision,) = (name for name in scores if name.startswith("precision@"))
    return np.asarray(to_numpy(scores[precision])), np.asarray(to_numpy(scores["coverage"]))


def spread_evenly(maps: NDArray[Any], height: int, width: int) -> NDArray[np.float64]:
    """Return maps `(n, rows, columns)` on pixels: each takes the mean of the cells it lies on.

    Nothing is smoothed: with whole pixels in each cell, all have the value of their cell.

    Examples
    --------
    >>> spread_evenly(np.array([[[1.0, 4.0]]]), 1, 3).tolist()
    [[[1.0, 2.5, 4.0]]]
    """
    rows, columns = _overlaps(maps.shape[1], height), _overlaps(maps.shape[2], width)
    return np.asarray(rows @ maps.astype(np.float64) @ columns.T)


def _overlaps(cells: int, pixels: int) -> NDArray[np.float64]:
    """Return which share of each pixel lies on each cell: `(pixels, cells)`; whole numbers."""
    pixel, cell = np.arange(pixels)[:, None] * cells, np.arange(cells)[None] * pixels
    common = np.minimum(pixel + cells, cell + pixels) - np.maximum(pixel, cell)
    return np.asarray(np.maximum(common, 0) / cells)


def segmentation_of(sample: Sample, geometry: Geometry) -> NDArray[np.bool_]:
    """Return where the object is on the input of a model: `(height, width)`.

    The union of the sample's regions, carried the way the image went: parts of Facades by their
    masks, birds of CUB by their segmentation where ``regions="mask"`` was read. What was cropped
    away is not there; padding is never the object.

    Examples
    --------
    >>> from sightline.data import load_dataset
    >>> from sightline.models import load_model
    >>> sample = load_dataset("facades", count=1)[0]
    >>> geometry = load_model("demo/protopnet").prepare(sample).geometries[0]
    >>> segmentation_of(sample, geometry).shape
    (224, 224)
    """
    width, height = geometry.size
    return np.asarray(_carried(sample, geometry).union_mask(height, width))


def _carried(sample: Sample, geometry: Geometry) -> Annotation:
    """Return what is annotated on the input; on one that is the image itself, as it is."""
    given, size = sample.annotation, geometry.size
    plain = (geometry.scale, geometry.offset, geometry.content) == ((1, 1), (0, 0), (0, 0, *size))
    same = plain and geometry.source == size == (given.width, given.height)
    return given if same else geometry.carry(given)


def counted_of(sample: Sample, geometry: Geometry) -> NDArray[np.bool_]:
    """Return the pixels of the input that count: image, and not in a region to ignore."""
    return masks_of(sample, geometry)[1]


def masks_of(sample: Sample, geometry: Geometry) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return `segmentation_of` and `counted_of`; what is annotated is carried once."""
    width, height = geometry.size
    carried = _carried(sample, geometry)
    counted = geometry.content_mask(height, width) & ~carried.ignore_mask(height, width)
    return np.asarray(carried.union_mask(height, width)), np.asarray(counted)
