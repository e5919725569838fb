"""Proposals by the SAM family: masks of the whole image, ranked by likeness to a marked region."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from math import inf, prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from sightline.annotation._likeness import Like, Prompt, find_prompts, rank
from sightline.annotation._masks import (
    grid_points,
    image_shares,
    mask_boxes,
    on_image,
    stability_scores,
)
from sightline.annotation._nms import nms
from sightline.annotation._options import check_known, check_number, check_whole, check_word
from sightline.annotation.proposals import Proposal
from sightline.annotation.segmenters import Masks, Segmenter, last_level, load_segmenter
from sightline.core import InputError, Region
from sightline.core import raster as _raster
from sightline.data.formats.shapes import encode_rle
from sightline.models import Model, load_model
from sightline.models.hooks import undisturbed
from sightline.models.preprocess import as_image

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray
    from torch import nn

    from sightline.core import Sample
    from sightline.core.geometry import Geometry
    from sightline.core.raster import Mask

__all__ = ["SamOptions", "SamProposer", "make"]

_REFERENCES = ("region", "mask")
# A mask that is more padding than image says nothing about the image.
_PADDING = 0.5
# Pixels of masks that are judged at once: 16 MB of logits.
_BLOCK = 2**22


@dataclass(frozen=True, slots=True)
class SamOptions:
    """How masks are made, which are kept, and which are alike.

    Attributes
    ----------
    points : int
        Points a side of the grid that is laid over the image; each gives three masks.
    batch : int
        Points that the network sees at once. Another number changes masks by rounding alone.
    iou : float
        The least IoU that the network predicts for a mask.
    stability : float
        The least stability of a mask: see `stability_scores`.
    overlap : float
        Of two masks whose boxes have a higher IoU, the one with the lower prediction is dropped.
    largest : float
        The largest share of the image that a mask may cover.
    ratio : float or None
        How many times longer or shorter than the marked region's the sides of a mask's box may be;
        None for any.
    least : float
        The least score.
    reference : {"region", "mask"}
        Whose feature masks are compared with: the marked region's as it is, or that of the object
        which the network finds in its box. A region where it finds none prompts nothing then.
    """

    points: int = 16
    batch: int = 16
    iou: float = 0.88
    stability: float = 0.95
    overlap: float = 0.7
    largest: float = 0.9
    ratio: float | None = 2.0
    least: float = 0.5
    reference: str = "region"

    def __post_init__(self) -> None:
        check_whole("points", self.points, 1, 64)
        check_whole("batch", self.batch, 1, 4096)
        for name, low, high, wanted in (
            ("iou", -inf, inf, "a number"),  # some networks predict beyond 0 and 1
            ("stability", 0, 1, "a number from 0 to 1"),
            ("overlap", 0, 0.95, "a number from 0 to 0.95"),  # above it, copies pass for others
            ("largest", 0, 1, "a number from 0 to 1"),
            ("least", 0, 1, "a number from 0 to 1"),
        ):
            check_number(name, getattr(self, name), low, high, wanted)
        if self.ratio is not None:
            check_number("ratio", self.ratio, 1, inf, "a number of 1 or more, or none")
        check_word("reference", self.reference, _REFERENCES)


def make(
    model: str | nn.Module,
    *,
    features: str | Model | None = None,
    device: str | torch.device | None = None,
    **options: Any,
) -> SamProposer:
    """Return a proposer of the SAM family.

    Parameters
    ----------
    model : str or nn.Module
        "hf:" with a folder or an id of the Hugging Face hub, or a network in hand: see
        `load_segmenter`.
    features : str or Model
        Whose features tell what is alike, as `load_model` takes it; the network's own embedding of
        the image unless given.
    device : str or torch.device
        Where both run; the CPU unless given.
    **options
        Those of `SamOptions`.

    Raises
    ------
    InputError
        If an option is not as it must be, or a model cannot be loaded.
    """
    check_known("sam", options, SamOptions, "features", "device")
    chosen = SamOptions(**options)
    if isinstance(features, str):
        features = load_model(features, device=device)
    if features is not None and not isinstance(features, Model):
        raise InputError(f"features must be a model or its name, got {type(features).__name__}")
    return SamProposer(load_segmenter(model, device=device), chosen, features)


class SamProposer:
    """Other instances of a label, among the masks of the whole image.

    A network of the SAM family prompted with a region's box answers with the object in that box
    alone. So points all over the image are asked for masks; of those that are sure, stable and no
    copies of each other, the ones like a marked region are proposed with its label. The score is
    the cosine between the mean features of mask and region; below 0 it is 0.

    Attributes
    ----------
    name : str
        "sam".
    model, digest : str
        Name and digest of weights of the network, as a study's store keeps them.
    settings : mapping
        All options; "features" holds the name and the digest of the model that compares, or None.
    """

    name = "sam"

    def __init__(
        self, segmenter: Segmenter, options: SamOptions | None = None, features: Model | None = None
    ) -> None:
        self.segmenter, self.options = segmenter, options or SamOptions()
        self.features = features
        self.model, self.digest = segmenter.model.name, segmenter.model.digest
        other = None if features is None else {"model": features.name, "digest": features.digest}
        self.settings: Mapping[str, Any] = {**asdict(self.options), "features": other}

    def propose(self, sample: Sample) -> list[Proposal]:
        """Return what else on an image looks like its marked regions, the best first.

        Regions to ignore, crowds, and those without area prompt nothing. A mask is proposed once:
        with the label of the region that it is most like. What is marked already is not.
        """
        prompts = find_prompts(sample.annotation)
        if not prompts:
            return []
        picture = as_image(sample)
        with undisturbed(self.segmenter.model.network), torch.no_grad():
            view = _view(self.segmenter, picture)
            grid = view.own if self.features is None else _features(self.features, picture)
            found = self._found(view)
            prompts = [
                prompt._replace(vector=self._vector(view, grid, prompt)) for prompt in prompts
            ]
        vectors = [grid.mean(_as_region(mask)) for mask in found.masks]
        least, ratio = self.options.least, self.options.ratio
        likes = rank(found.boxes, vectors, prompts, sample.annotation, least=least, ratio=ratio)
        return [self._proposal(sample, found.masks[like.row], like, view) for like in likes]

    def _found(self, view: _View) -> _Found:
        """Return the masks of an image that are sure, stable, of a fair size and no copies."""
        points = _to_input(grid_points(self.options.points), view.geometry)
        batches = np.split(points, range(self.options.batch, len(points), self.options.batch))
        parts = [
            _sure(self.segmenter.at_points(view.embedding, batch), view, self.options)
            for batch in batches
        ]
        logits, boxes, ious = (np.concatenate(part) for part in zip(*parts, strict=True))
        kept = nms(boxes, ious, self.options.overlap)
        masks = [on_image(logits[row], view.geometry, *view.size) > 0 for row in kept]
        return _Found(masks, boxes[kept])

    def _vector(self, view: _View, grid: _Grid, prompt: Prompt) -> NDArray[np.float64] | None:
        """Return the feature that masks are compared with; None where there is none."""
        region = prompt.region
        if self.options.reference == "mask":
            box = _to_input(np.clip(region.box, 0, 1).reshape(2, 2), view.geometry)
            logits = self.segmenter.in_box(view.embedding, box.ravel()).logits[0, 0]
            mask = on_image(logits, view.geometry, *view.size) > 0
            if not mask.any():
                return None
            region = _as_region(mask)
        return grid.mean(region)

    def _proposal(self, sample: Sample, mask: Mask, like: Like, view: _View) -> Proposal:
        width, height = view.geometry.source
        drawn = _raster.resize_mask(mask, height, width)
        region = replace(
            _as_region(drawn),
            label=like.label,
            mask=encode_rle(drawn),
            source=self.name,
            score=like.score,
        )
        return Proposal.made(sample.image_id, region, like.prompt, self.model, self.digest)


# --- one image -----------------------------------------------------------------------------------


class _Grid(NamedTuple):
    """Features of the patches of an image `(channels, rows, columns)`, and the way to them."""

    values: NDArray[np.float64]
    way: Geometry

    def mean(self, region: Region) -> NDArray[np.float64] | None:
        """Return the mean feature of a region, as `region_feature` has it; None without area."""
        shares = self.way.covered_shares(region)
        if not shares.sum() > 0:
            return None
        mean: NDArray[np.float64] = np.tensordot(self.values, shares, 2) / shares.sum()
        return mean


class _View(NamedTuple):
    """An image as the network sees it; `size` is the height and width at which masks are judged."""

    geometry: Geometry
    embedding: Any
    own: _Grid
    size: tuple[int, int]


class _Found(NamedTuple):
    """Masks over the whole image `(height, width)`, and their boxes `(n, 4)`."""

    masks: list[Mask]
    boxes: NDArray[np.float64]


def _view(segmenter: Segmenter, picture: NDArray[np.uint8]) -> _View:
    inputs = segmenter.model.prepare(picture)
    geometry, embedding = inputs.geometries[0], segmenter.embed(inputs.pixels)
    own = _Grid(_values(last_level(embedding)), geometry)
    # Masks have a quarter of the input's cells: larger images than the input show no more of them.
    factor = min(1.0, max(geometry.size) / max(geometry.source))
    width, height = (max(1, round(side * factor)) for side in geometry.source)
    return _View(geometry, embedding, own, (height, width))


def _features(model: Model, picture: NDArray[np.uint8]) -> _Grid:
    """Return the features of another model, which must see the whole image."""
    inputs = model.prepare(picture)
    geometry = inputs.geometries[0]
    if not np.allclose(geometry.visible_box, (0, 0, 1, 1)):
        raise InputError(
            f"features: {model.name} must see the whole image, but fit {model.preprocess.fit!r} "
            "crops it; load it with fit 'squash' or 'letterbox'"
        )
    with undisturbed(model.network), torch.no_grad():
        return _Grid(_values(model(inputs.pixels).features), geometry)


def _values(features: Any) -> NDArray[np.float64]:
    values: NDArray[np.float64] = features[0].double().cpu().numpy()
    return values


def _sure(
    masks: Masks, view: _View, options: SamOptions
) -> tuple[NDArray[np.float32], NDArray[np.float64], NDArray[np.float64]]:
    """Return which masks of a batch are sure and stable: logits, boxes and predicted IoUs."""
    flat, predicted = masks.logits.reshape(-1, *masks.logits.shape[2:]), masks.ious.ravel()
    kept = (predicted >= options.iou) & (image_shares(flat, view.geometry) >= _PADDING)
    rows, step = np.flatnonzero(kept), max(1, _BLOCK // prod(view.size))
    parts = [
        _stable(flat, rows[start : start + step], view, options)
        for start in range(0, len(rows), step)
    ]
    rows = np.concatenate([rows[:0], *(part[0] for part in parts)])
    boxes = np.concatenate([np.empty((0, 4)), *(part[1] for part in parts)])
    return flat[rows], boxes, predicted[rows].astype(np.float64)


def _stable(
    logits: NDArray[np.float32], rows: NDArray[np.intp], view: _View, options: SamOptions
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return which of some rows are stable and neither empty nor nearly all, and their boxes."""
    shown = on_image(logits[rows], view.geometry, *view.size)
    masks, stable = shown > 0, stability_scores(shown) >= options.stability
    shares = masks.mean((1, 2))
    good = stable & (shares > 0) & (shares <= options.largest)
    return rows[good], mask_boxes(masks[good])


def _to_input(points: NDArray[np.float64], geometry: Geometry) -> NDArray[np.float64]:
    """Return where points `(n, 2)` of an image, in shares of it, lie on the input, in pixels."""
    x, y = (points * geometry.source).T
    return np.stack(geometry.to_input(x, y), axis=1)


def _as_region(mask: Mask) -> Region:
    x0, y0, x1, y1 = map(float, mask_boxes(mask[None])[0])
    return Region("", "mask", (x0, y0, x1, y1), mask)
