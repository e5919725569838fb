"""Proposals by feature similarity: parts of an image that look, to a model, like a marked region.

A marked region is laid, patch by patch, over every part of the image of about its size, and its
features are compared with those there. No other weights are needed. Patches are coarse (16 pixels
of an input of 224), so the model sees the image enlarged, and several times, each time moved by a
part of a patch.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch.nn import functional

from sightline.annotation._options import (
    check_known,
    check_number,
    check_whole,
    check_word,
    is_number,
)
from sightline.annotation._placement import find_places, unit_vectors
from sightline.annotation.proposals import Proposal
from sightline.attribution.methods.similar import patch_features
from sightline.core import InputError, Region
from sightline.core import raster as _raster
from sightline.data.formats.shapes import encode_rle
from sightline.models import Model, load_model
from sightline.models.hooks import undisturbed
from sightline.models.preprocess import as_image

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from sightline.core import Sample
    from sightline.core.geometry import Geometry

__all__ = ["SimilarityOptions", "SimilarityProposer", "make"]

# Inputs with a shorter side below this are enlarged twofold.
_SMALL = 448
# The share of a region, or of a place, that must be on the image as the model sees it.
_SEEN = 0.5
_SHAPES = ("region", "box")


@dataclass(frozen=True, slots=True)
class SimilarityOptions:
    """How the model looks at an image, and what is alike.

    Attributes
    ----------
    least : float
        The least score, from 0 (as like the region as its own surroundings) to 1 (the same).
    most : int
        Places from one marked region, at most.
    layer : int or None
        Whose output is compared, counted from 0; -1 is the last. None: the end of the network.
    size : int or None
        Shorter side of the input in pixels. None: the model's own, doubled where it is below 448.
    shifts : int
        How many times along each side a patch is moved to see between patches; 1 is not at all.
        It must divide the patch.
    scales : tuple of float
        How many times larger than the marked region a place may be, along each side on its own.
    penalty : float
        What a place loses of its mean cosine for a side e times as long as the region's.
    shape : {"region", "box"}
        What is proposed: the shape of the marked region, moved and stretched, or its box.
    """

    least: float = 0.4
    most: int = 20
    layer: int | None = None
    size: int | None = None
    shifts: int = 2
    scales: tuple[float, ...] = (0.6, 0.77, 1.0, 1.3, 1.7)
    penalty: float = 0.1
    shape: str = "region"

    def __post_init__(self) -> None:
        check_whole("most", self.most, 1, 1000)
        check_whole("shifts", self.shifts, 1, 16)
        if self.size is not None:
            check_whole("size", self.size, 16, 4096)
        scales: Any = self.scales
        if not isinstance(scales, list | tuple):
            raise InputError(f"scales must be a sequence of numbers, got {scales!r}")
        if not scales:
            raise InputError("scales must hold at least one number, got none")
        for scale in scales:
            check_number("scales", scale, 0.1, 10)
        check_number("least", self.least, 0, 1)
        check_number("penalty", self.penalty, 0, 10)
        check_word("shape", self.shape, _SHAPES)


def _read_scales(given: Any) -> Any:
    """Return scales as they may be written: several, one number, or a text with commas."""
    if isinstance(given, str):
        try:
            return tuple(float(part) for part in given.split(","))
        except ValueError:
            return given
    return (given,) if is_number(given) else tuple(given) if isinstance(given, list) else given


def make(
    model: Any,
    *,
    device: str | torch.device | None = None,
    fit: str | None = None,
    **options: Any,
) -> SimilarityProposer:
    """Return a proposer by feature similarity.

    Parameters
    ----------
    model : Model, str or nn.Module
        A model, or what `load_model` takes.
    device : str or torch.device
        Where it runs; the CPU unless given.
    fit : {"squash", "crop", "letterbox", "native"}
        How images are brought to the input; as the model has it unless given.
    **options
        Those of `SimilarityOptions`.

    Raises
    ------
    InputError
        If an option is not as it must be, or the model cannot be loaded.
    """
    check_known("similarity", options, SimilarityOptions, "device", "fit")
    if "scales" in options:
        options["scales"] = _read_scales(options["scales"])
    chosen = SimilarityOptions(**options)
    if not isinstance(model, Model):
        model = load_model(model, device=device)
    return SimilarityProposer(model if fit is None else model.fitted(fit=fit), chosen)


class SimilarityProposer:
    """Other instances of a label, where patch features are like those of a marked one.

    Attributes
    ----------
    name : str
        "similarity".
    model, digest : str
        Name and digest of weights of the model, as a study's store keeps them.
    settings : mapping
        All options, with the fit and the size of the input.
    """

    name = "similarity"

    def __init__(self, model: Model, options: SimilarityOptions | None = None) -> None:
        self.options = options or SimilarityOptions()
        layer = self.options.layer
        self._layer = None if layer is None else model.layer_indices(layer)[0]
        self._network = _enlarged(model, self.options.size)
        self.model, self.digest = model.name, model.digest
        size, fit = self._network.preprocess.size, self._network.preprocess.fit
        told = asdict(self.options) | {"scales": list(self.options.scales)}
        self.settings: Mapping[str, Any] = told | {
            "layer": self._layer,
            "size": None if size is None else list(size),
            "fit": fit,
        }

    def propose(self, sample: Sample) -> list[Proposal]:
        """Return what else on an image looks like its marked regions, the best of each first.

        Regions to ignore, crowds, those without area and those out of the model's sight prompt
        nothing.
        """
        regions = [one for one in sample.annotation.scored if not one.crowd and _has_area(one)]
        if not regions:
            return []
        view = _view(self._network, as_image(sample), self._layer, self.options.shifts)
        return [
            self._proposal(sample.image_id, region, box, score, view.geometry)
            for region in regions
            for box, score in self._places(region, view)
        ]

    def _places(self, region: Region, view: _View) -> list[tuple[_Box, float]]:
        """Return where else a region would fit on its image, normalised, with scores."""
        if view.geometry.visible(region) < _SEEN:
            return []
        options = self.options
        found = find_places(
            view.features,
            view.to_cells(region.box),
            scales=options.scales,
            penalty=options.penalty,
            least=options.least,
            most=options.most,
        )
        places = (view.to_image(box) for box in found.boxes)
        scores = (min(1.0, round(float(score), 6)) for score in found.scores)
        pairs = zip(places, scores, strict=True)
        return [(box, score) for box, score in pairs if box is not None]

    def _proposal(
        self, image_id: str, region: Region, box: _Box, score: float, geometry: Geometry
    ) -> Proposal:
        kind = "box" if self.options.shape == "box" else region.kind
        shape = {"mask": _moved_mask, "polygon": _moved_polygon}.get(kind)
        mask, box = (None, box) if shape is None else shape(region, box, geometry)
        kind = "box" if mask is None else kind
        found = Region(region.label, kind, box, mask, source=self.name, score=score)
        return Proposal.made(image_id, found, region.index, self.model, self.digest)


_Box = tuple[float, float, float, float]


def _has_area(region: Region) -> bool:
    x0, y0, x1, y1 = region.box
    return x0 < x1 and y0 < y1


def _enlarged(model: Model, size: int | None) -> Model:
    """Return a model whose input is large enough for small things."""
    own = model.preprocess.size
    if own is None:  # each image at its own size
        return model if size is None else model.fitted(size=size)
    if size is None:
        return model if min(own) >= _SMALL else model.fitted(size=(2 * own[0], 2 * own[1]))
    ratio = size / min(own)
    pairs = zip(own, model.patch, strict=True)
    return model.fitted(size=[max(1, round(side * ratio / cell)) * cell for side, cell in pairs])


# --- one image -----------------------------------------------------------------------------------


class _View(NamedTuple):
    """An image as the model sees it.

    Attributes
    ----------
    features : array (channels, rows, columns)
        Of length 1, on a grid finer than the model's.
    geometry : Geometry
        The way from the image to the input.
    origin, pitch : pair of float
        Where the grid begins on the input, and how large its cells are, in pixels: x and y.
    """

    features: NDArray[np.float32]
    geometry: Geometry
    origin: tuple[float, float]
    pitch: tuple[float, float]

    def to_cells(self, box: _Box) -> _Box:
        """Return a normalised box of the image in cells of the grid."""
        width, height = self.geometry.source
        x, y = self.geometry.to_input(np.multiply(box[::2], width), np.multiply(box[1::2], height))
        x, y = (
            (np.sort(x) - self.origin[0]) / self.pitch[0],
            (np.sort(y) - self.origin[1]) / self.pitch[1],
        )
        return float(x[0]), float(y[0]), float(x[1]), float(y[1])

    def to_image(self, box: NDArray[np.float64]) -> _Box | None:
        """Return a box in cells as one of the image, cut at its edge; None where most is off it."""
        x = box[::2] * self.pitch[0] + self.origin[0]
        y = box[1::2] * self.pitch[1] + self.origin[1]
        x, y = self.geometry.to_source(x, y)
        shares = np.sort(x) / self.geometry.source[0], np.sort(y) / self.geometry.source[1]
        whole = np.prod([side[1] - side[0] for side in shares])
        (x0, x1), (y0, y1) = (np.clip(side, 0, 1).round(6).tolist() for side in shares)
        if not (x0 < x1 and y0 < y1 and (x1 - x0) * (y1 - y0) >= _SEEN * whole):
            return None
        return x0, y0, x1, y1


def _view(model: Model, picture: NDArray[np.uint8], layer: int | None, shifts: int) -> _View:
    inputs = model.prepare(picture)
    with undisturbed(model.network), torch.no_grad():
        first = patch_features(model, inputs.pixels, layer)
        height, width = inputs.pixels.shape[-2:]
        rows, columns = first.shape[-2:]
        cell = width // columns, height // rows
        steps = cell[0] // shifts, cell[1] // shifts
        if any(side % shifts for side in cell):
            raise InputError(
                f"shifts must divide the cells of {model.name}, {cell[0]} x {cell[1]} pixels, "
                f"got {shifts}"
            )
        # One image a pass: the same bits whatever the batch.
        grids = [
            first
            if down == across == 0
            else patch_features(
                model, _shifted(inputs.pixels, down * steps[1], across * steps[0]), layer
            )
            for down in range(shifts)
            for across in range(shifts)
        ]
    fine = _interleaved(torch.cat(grids).cpu().numpy(), shifts)
    pitch = float(steps[0]), float(steps[1])
    origin = (cell[0] - pitch[0]) / 2, (cell[1] - pitch[1]) / 2
    return _View(unit_vectors(fine), inputs.geometries[0], origin, pitch)


def _shifted(pixels: torch.Tensor, down: int, across: int) -> torch.Tensor:
    """Return pixels moved up and to the left; what comes in is the edge, again and again."""
    padded = functional.pad(pixels, (0, across, 0, down), mode="replicate")
    return padded[..., down:, across:].contiguous()


def _interleaved(grids: NDArray[np.float32], shifts: int) -> NDArray[np.float32]:
    """Return grids `(shifts * shifts, channels, rows, columns)` as one of all their cells."""
    _, channels, rows, columns = grids.shape
    split = grids.reshape(shifts, shifts, channels, rows, columns)
    return split.transpose(2, 3, 0, 4, 1).reshape(channels, rows * shifts, columns * shifts)


# --- shapes --------------------------------------------------------------------------------------


def _moved_mask(region: Region, box: _Box, geometry: Geometry) -> tuple[Any, _Box]:
    """Return the mask of a region moved into a box, as run lengths, and the box around it."""
    width, height = geometry.source
    mask = region.to_mask(height, width)
    tight = _raster.box_pixels(_raster.mask_box(mask) or region.box, height, width)
    place = _raster.box_pixels(box, height, width)
    if tight is None or place is None:
        return None, box
    x0, y0, x1, y1 = place
    cut = mask[tight[1] : tight[3], tight[0] : tight[2]]
    drawn = np.zeros((height, width), np.bool_)
    drawn[y0:y1, x0:x1] = _raster.resize_mask(cut, y1 - y0, x1 - x0)
    around = _raster.mask_box(drawn)
    return (None, box) if around is None else (encode_rle(drawn), around)


def _moved_polygon(region: Region, box: _Box, geometry: Geometry) -> tuple[Any, _Box]:
    """Return the polygons of a region moved into a box, and that box."""
    corner, sides = np.array(region.box[:2]), np.subtract(region.box[2:], region.box[:2])
    parts = []
    for part in region.mask or ():
        points = (np.reshape(part, (-1, 2)) - corner) / sides
        moved = np.array(box[:2]) + points * np.subtract(box[2:], box[:2])
        parts.append(tuple(np.clip(moved, 0, 1).round(6).ravel().tolist()))
    return tuple(parts), box
