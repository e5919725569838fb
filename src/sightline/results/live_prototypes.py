"""A stored benchmark of prototypes whose model is asked again: single images, while one waits."""

from __future__ import annotations

from functools import cached_property
from threading import RLock
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from sightline.core import InputError, UnknownNameError
from sightline.core.lru_cache import Kept

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor

    from sightline.attribution.prototypes import Matches, Perturbation
    from sightline.core import Sample
    from sightline.data.dataset import Dataset
    from sightline.models import Inputs, Model
    from sightline.results.prototypes import StoredBenchmark
    from sightline.study.prototypes.parts import Taken

__all__ = ["AskedBenchmark", "Changed", "Pair", "View", "eight_bits", "shown"]

View = Literal["image", "patch", "box", "crop", "heatmap"]
"""How an image and what is like a prototype are shown."""
# Of images with their maps that stay at hand.
_BYTES = 48 << 20
# Scores that were stored differ by rounding from those of another batch; by more, and the image is
# another.
_SAME = 1e-3


class Pair(NamedTuple):
    """An image as the network sees it, and what of it is like a prototype.

    Attributes
    ----------
    prototype : int
        Its number.
    cell : (row, column)
        That is compared with it.
    grid : (rows, columns)
        Of all cells.
    image : Tensor (1, 3, height, width)
        From 0 to 1.
    values : Tensor (1, height, width)
        The attribution, from 0 to 1.
    score : float
        The similarity of the cell.
    """

    prototype: int
    cell: tuple[int, int]
    grid: tuple[int, int]
    image: Tensor
    values: Tensor
    score: float

    @property
    def box(self) -> tuple[int, int, int, int]:
        """The pixels of the cell: x0, y0, x1, y1."""
        height, width = self.image.shape[2:]
        (row, column), (rows, columns) = self.cell, self.grid
        edges = (column * width / columns, row * height / rows,
                 (column + 1) * width / columns, (row + 1) * height / rows)  # fmt: skip
        x0, y0, x1, y1 = (round(edge) for edge in edges)
        return x0, y0, x1, y1


class Changed(NamedTuple):
    """What a perturbation does to an image and a prototype.

    Attributes
    ----------
    pair : Pair
        The image before.
    original, focused, dual : float
        Similarity of the cell before, and in the copies changed where the attribution is high, and
        where it is low.
    focused_drop, dual_drop : float
        Share of the similarity that is gone; NaN where it was 0 or less.
    focused_image, dual_image : Tensor (1, 3, height, width)
        The copies.
    relevant : (x0, y0, x1, y1)
        The box around the most relevant pixels, from which a distortion takes its frequency.
    """

    pair: Pair
    original: float
    focused: float
    dual: float
    focused_drop: float
    dual_drop: float
    focused_image: Tensor
    dual_image: Tensor
    relevant: tuple[int, int, int, int]


class AskedBenchmark:
    """The model and the images of a stored benchmark, opened when they are first asked for.

    It may be asked in several threads, which take turns.

    Parameters
    ----------
    found
        The benchmark.
    """

    def __init__(self, found: StoredBenchmark) -> None:
        self.found = found
        self._lock = RLock()
        self._pairs: Kept[Pair] = Kept(_BYTES, _bytes)

    # --- what is opened --------------------------------------------------------------------------

    @property
    def model(self) -> Model:
        """The model.

        Raises
        ------
        InputError
            If it cannot be loaded, or is not the one that was analysed.
        """
        with self._lock:
            return self._model

    @cached_property
    def _model(self) -> Model:
        from sightline.models import load_model

        told: Mapping[str, Any] = self.found.about["settings"]["model"]
        try:
            loaded = load_model(told["name"])
        except (UnknownNameError, InputError, OSError) as error:
            raise InputError(f"the model {told['name']} cannot be loaded: {error}") from error
        model = loaded.fitted(fit=told["fit"], size=told["size"])
        if model.digest != told["digest"]:
            raise InputError(f"{told['name']}: its weights changed since the benchmark was run")
        return model

    @property
    def images(self) -> Dataset:
        """The images.

        Raises
        ------
        InputError
            If they cannot be opened.
        """
        with self._lock:
            return self._images

    @cached_property
    def _images(self) -> Dataset:
        from sightline.study.config.benchmark import DataChoice

        return DataChoice.from_dict(self.found.about["settings"]["data"]).open()

    @property
    def weights(self) -> list[list[float]]:
        """What the similarity to each prototype says for each class: `[prototype][class]`."""
        from sightline.models import prototypes_of

        weights: list[list[float]] = prototypes_of(self.model).class_weights.T.tolist()
        return weights

    @cached_property
    def stored_scores(self) -> dict[tuple[str, int, int, int], float]:
        """The similarities that are stored, by image, prototype, row and column."""
        if self.found.drops is None or self.found.by_class:
            return {}
        names = ("image", "proto_idx", "row", "column", "original_score")
        columns = (self.found.drops[name].to_pylist() for name in names)
        return {(a, b, c, d): score for a, b, c, d, score in zip(*columns, strict=True)}

    @cached_property
    def _sources(self) -> dict[int, Taken]:
        """Where each prototype was taken from."""
        from sightline.study.config.benchmark import DataChoice
        from sightline.study.prototypes.parts import own_sources

        told = self.found.about["settings"]["projection"]
        if told is None or told["kind"] == "sources":
            return {one.prototype: one for one in own_sources(self._model)}
        return _looked_for(self.found, DataChoice.from_dict(told).open())

    # --- what is asked ---------------------------------------------------------------------------

    def sample(self, image: str) -> Sample:
        """Return an image by its id.

        Raises
        ------
        UnknownNameError
            If the benchmark's data have no such image.
        """
        return self.images.by_id(image)

    def matches(self, image: str, count: int) -> tuple[Matches, tuple[int, int]]:
        """Return the prototypes that an image is most similar to, and the grid of the cells."""
        from sightline.attribution.prototypes import best_matches, similarity_maps

        sample = self.sample(image)
        with self._lock:
            pixels = self._model.prepare(sample).pixels
            rows, columns = similarity_maps(self._model, pixels).shape[2:]
            return best_matches(self._model, pixels, count), (int(rows), int(columns))

    def pair(
        self,
        image: str,
        prototype: int | None = None,
        cell: tuple[int, int] | None = None,
        attribution: str | None = None,
    ) -> Pair:
        """Return what of an image is like a prototype.

        Parameters
        ----------
        image
            Its id.
        prototype
            Its number; the most similar one unless given.
        cell
            Row and column; the most similar one unless given.
        attribution
            Which pixels make them similar; that of the benchmark unless given.

        Raises
        ------
        InputError, UnknownNameError
            If there is no such image, prototype, cell or attribution, or the image has changed.
        """
        sample = self.sample(image)
        asked = (image, prototype, cell, attribution)
        return self._pairs.get(asked, lambda: self._checked(image, self._pair(sample, *asked[1:])))

    def source(self, prototype: int, attribution: str | None = None) -> Pair:
        """Return the image that a prototype was taken from, with the cell.

        Raises
        ------
        InputError
            If that is not known.
        """
        with self._lock:
            if (taken := self._sources.get(prototype)) is None:
                raise InputError(
                    f"it is not known where prototype {prototype} of {self.found.model} is from: "
                    "the benchmark has no relevance_analysis"
                )
        key = ("source", prototype, attribution)
        cell = (int(taken.cell[0]), int(taken.cell[1]))
        return self._pairs.get(key, lambda: self._pair(taken.sample, prototype, cell, attribution))

    def changed(self, pair: Pair, perturbation: Perturbation) -> Changed:
        """Return the scores and the copies of an image that is changed.

        Raises
        ------
        InputError
            If the perturbation does not fit the image.
        """
        import torch

        from sightline.attribution.prototypes import (
            blend,
            drops,
            perturb,
            perturbed_scores,
            prototype_score,
            relevant_boxes,
        )

        numbers, cells = torch.tensor([pair.prototype]), torch.tensor([pair.cell])
        with self._lock, torch.no_grad():
            score = prototype_score(self._model, numbers, cells)
            found = perturbed_scores(score, pair.image, pair.values, [perturbation])
            boxes = relevant_boxes(pair.values)
            altered = perturb(pair.image, perturbation, pair.values)
            focused, dual = (
                blend(pair.image, altered, pair.values, mode) for mode in ("focused", "dual")
            )
        before, after, other = found.original[0], found.focused[0, 0], found.dual[0, 0]  # type: ignore[index]
        lost = drops([before, before], [after, other])
        x0, y0, x1, y1 = boxes[0].tolist()
        return Changed(
            pair, float(before), float(after), float(other), float(lost[0]), float(lost[1]),
            focused, dual, (x0, y0, x1, y1),
        )  # fmt: skip

    def _pair(
        self,
        sample: Sample,
        prototype: int | None,
        cell: tuple[int, int] | None,
        attribution: str | None,
    ) -> Pair:
        import torch

        from sightline.attribution.prototypes import (
            attribute,
            best_matches,
            similarity_maps,
            unit_images,
        )

        name, params = self._attribution(attribution)
        with self._lock:
            model = self._model
            inputs: Inputs = model.prepare(sample)
            if prototype is None:
                prototype = int(best_matches(model, inputs.pixels, 1).prototypes[0, 0])
            maps = similarity_maps(model, inputs.pixels)
            _check(prototype, cell, maps)
            row, column = cell or _first(maps[0, prototype])
            made = attribute(
                model, inputs.pixels, torch.tensor([prototype]), torch.tensor([[row, column]]),
                method=name, params=params, keys=inputs.keys, similarities=maps[:, prototype],
            )  # fmt: skip
            score = float(maps[0, prototype, row, column])
            unit = unit_images(model, inputs)
        grid = (int(maps.shape[2]), int(maps.shape[3]))
        return Pair(prototype, (row, column), grid, unit, made.values, score)

    def _attribution(self, asked: str | None) -> tuple[str, Mapping[str, Any]]:
        """Return the name and the parameters of an attribution."""
        from sightline.attribution.prototypes import ATTRIBUTIONS

        told = self.found.about["settings"]["attribution"] or {"name": "upsampling", "params": {}}
        if asked is None or ATTRIBUTIONS[asked] is ATTRIBUTIONS[told["name"]]:
            return told["name"], told["params"]
        return asked, {}

    def _checked(self, image: str, pair: Pair) -> Pair:
        """Return a pair whose similarity is the one that was stored, where it was."""
        stored = self.stored_scores.get((image, pair.prototype, *pair.cell))
        if stored is not None and abs(stored - pair.score) > _SAME * max(1.0, abs(stored)):
            raise InputError(
                f"the picture of {image} changed since the benchmark was run: its similarity to "
                f"prototype {pair.prototype} was {stored:.4g} and is {pair.score:.4g}"
            )
        return pair


def shown(pair: Pair, view: View, percentile: float = 95) -> NDArray[np.uint8]:
    """Return a picture of an image and what of it is like a prototype: (height, width, 3).

    Parameters
    ----------
    pair
        The image and its attribution.
    view
        The image; the patch: its cell with as much around it; the box around the most relevant
        pixels, or the image cropped to it; the attribution in colours.
    percentile
        Of the box: 95 surrounds the top 5% of the pixels.
    """
    from sightline.attribution.prototypes import box_to_percentile, crop_to_percentile, heatmap

    picture, values = eight_bits(pair.image), pair.values[0].numpy()
    if view == "heatmap":
        return heatmap(picture, values)
    if view == "box":
        return box_to_percentile(picture, values, percentile)
    if view == "crop":
        return crop_to_percentile(picture, values, percentile)
    if view == "image":
        return picture
    x0, y0, x1, y1 = pair.box
    wide, high = x1 - x0, y1 - y0
    return picture[max(y0 - high, 0) : y1 + high, max(x0 - wide, 0) : x1 + wide]


def eight_bits(image: Tensor) -> NDArray[np.uint8]:
    """Return one image `(1, 3, height, width)` from 0 to 1 as a picture, rounded once."""
    pixels: NDArray[np.uint8] = (
        (image[0].permute(1, 2, 0).clamp(0, 1) * 255).round().byte().cpu().numpy()
    )
    return pixels


def _looked_for(found: StoredBenchmark, images: Dataset) -> dict[int, Taken]:
    """Return where prototypes were found to be nearest, as it is stored."""
    from sightline.study.prototypes.parts import Taken

    rows = [] if found.relevance is None else found.relevance.to_pylist()
    return {
        row["proto_idx"]: Taken(
            row["proto_idx"], row["img_id"], images[row["img_id"]], (row["row"], row["column"])
        )
        for row in rows
        if row["kind"] == "prototype"
    }


def _first(maps: Tensor) -> tuple[int, int]:
    """Return the most similar cell, the first of equal ones."""
    place = int(maps.flatten().argmax())
    return place // maps.shape[1], place % maps.shape[1]


def _check(prototype: int, cell: tuple[int, int] | None, maps: Tensor) -> None:
    """Raise where a prototype or a cell is not there."""
    count, rows, columns = maps.shape[1:]
    if not 0 <= prototype < count:
        raise UnknownNameError(f"prototype must be from 0 to {count - 1}, got {prototype}")
    if cell is not None and not (0 <= cell[0] < rows and 0 <= cell[1] < columns):
        raise UnknownNameError(f"cell must be a row and a column of {rows}x{columns}, got {cell}")


def _bytes(pair: Pair) -> int:
    return 4 * int(pair.image.numel() + pair.values.numel()) + 1024
