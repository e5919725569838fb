"""Taking pixels away: in which order, how many at once, and what stands in their place.

All of it happens on the input of the network, whose raster has a pixel for each number that the
network takes (a channel apart) and a cell for each of its patches. What padding adds to an image is
never taken away: it shows nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.nn import functional

from sightline.attribution.methods.copies import score_copies
from sightline.attribution.sanity._imputation import filled_in
from sightline.core import InputError
from sightline.core.choices import SIGNS
from sightline.core.threads import in_threads, threads_for

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.random import Generator
    from numpy.typing import ArrayLike, NDArray
    from torch import Tensor

    from sightline.attribution.methods.targets import Goal
    from sightline.models import Inputs, Model

__all__ = [
    "Covered",
    "Imputed",
    "Order",
    "Question",
    "cell_means",
    "over_input",
    "random_colours",
    "rank_pixels",
    "read_as",
    "shares_of",
    "source_of",
]


def shares_of(steps: int) -> NDArray[np.float64]:
    """Return the shares of the pixels that are changed at the points of a curve.

    Examples
    --------
    >>> shares_of(4).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    whole = isinstance(steps, int | np.integer) and not isinstance(steps, bool)
    if not whole or not 1 <= steps <= 100:
        raise InputError(f"steps must be a whole number from 1 to 100, got {steps!r}")
    return np.linspace(0, 1, int(steps) + 1)


def source_of(key: int, seed: int, what: str) -> Generator:
    """Return the source of random numbers of one image for one purpose.

    It follows from the image, the seed and the purpose: not from method, batch or other images.
    """
    return np.random.default_rng([key, seed, *what.encode()])


def read_as(values: ArrayLike, sign: str) -> NDArray[np.float64]:
    """Return maps as they are meant to be read: above zero, without signs, or as they are.

    Examples
    --------
    >>> read_as([-2.0, 1.0], "positive").tolist(), read_as([-2.0, 1.0], "absolute").tolist()
    ([0.0, 1.0], [2.0, 1.0])
    """
    if sign not in SIGNS:
        raise InputError(f"sign must be one of {', '.join(SIGNS)}, got {sign!r}")
    found = np.asarray(values, np.float64)
    if sign == "positive":
        return np.maximum(found, 0)
    return np.abs(found) if sign == "absolute" else found


def over_input(maps: Tensor, size: Sequence[int]) -> NDArray[np.float64]:
    """Return maps `(images, rows, columns)` over the pixels of an input `(height, width)`.

    Coarser maps are made larger bilinearly between the middles of their cells.
    """
    values = maps.detach().to("cpu", torch.float64)
    if tuple(values.shape[1:]) != tuple(size):
        larger = functional.interpolate(values[:, None], size=tuple(size), mode="bilinear")
        values = larger[:, 0]
    found: NDArray[np.float64] = values.numpy()
    return found


def cell_means(values: ArrayLike, patch: tuple[int, int]) -> NDArray[np.float64]:
    """Return the mean of maps `(..., height, width)` in each cell of `(width, height)` pixels.

    Examples
    --------
    >>> cell_means([[1.0, 3.0, 0.0, 4.0]], (2, 1)).tolist()
    [[2.0, 2.0]]
    """
    found = np.asarray(values, np.float64)
    *rest, height, width = found.shape
    if height % patch[1] or width % patch[0]:
        raise InputError(f"cells of {patch[0]}x{patch[1]} pixels do not fill {width}x{height}")
    cells = (height // patch[1], patch[1], width // patch[0], patch[0])
    mean: NDArray[np.float64] = found.reshape(*rest, *cells).mean(axis=(-3, -1))
    return mean


def rank_pixels(
    values: NDArray[Any], seen: NDArray[np.bool_], source: Generator, *, largest: bool = True
) -> NDArray[np.int64]:
    """Return the place of each pixel of a map in the order of their values, from 0.

    Parameters
    ----------
    values : array (rows, columns)
        The map.
    seen : array (rows, columns) of bool
        What is image; the rest comes after all that is, so that it is never taken away.
    source : Generator
        Decides among pixels that are equal: they come in any order with the same chance.
    largest : bool
        Whether the largest comes first; else the smallest.

    Examples
    --------
    >>> values = np.array([[0.5, 2.0], [1.0, 9.0]])
    >>> seen = np.array([[True, True], [True, False]])
    >>> rank_pixels(values, seen, np.random.default_rng(0)).tolist()
    [[2, 0], [1, 4]]
    """
    if not np.isfinite(values).all():
        raise InputError("a map must hold finite numbers alone, got one with NaN or inf")
    flat = values.ravel()
    there = source.permutation(np.flatnonzero(seen.ravel()))
    key = -flat[there] if largest else flat[there]
    ranks = np.full(flat.size, flat.size, np.int64)
    ranks[there[np.argsort(key, kind="stable")]] = np.arange(len(there))
    return ranks.reshape(values.shape)


@dataclass(frozen=True, eq=False)
class Order:
    """In which order the pixels of a batch go.

    Attributes
    ----------
    ranks : Tensor (images, height, width)
        Place of each pixel, from 0; pixels of one cell may share theirs.
    totals : Tensor (images,)
        How many places there are to go: pixels, or cells.
    """

    ranks: Tensor
    totals: Tensor

    @classmethod
    def of(
        cls,
        values: NDArray[np.float64],
        inputs: Inputs,
        seed: int,
        *,
        largest: bool = True,
        cells: bool = False,
    ) -> Order:
        """Return the order of maps `(images, height, width)` over the pixels of their inputs.

        With `cells`, whole patches go, by the mean of the map in each.
        """
        found, totals = [], []
        for one, geometry, key in zip(values, inputs.geometries, inputs.keys, strict=True):
            patch = geometry.patch if cells else (1, 1)
            rows = cell_means(one, patch)
            seen = geometry.content_mask(*rows.shape)
            ranks = rank_pixels(rows, seen, source_of(key, seed, "order"), largest=largest)
            found.append(ranks.repeat(patch[1], 0).repeat(patch[0], 1))
            totals.append(np.count_nonzero(seen))
        device = inputs.pixels.device
        ranks, total = torch.from_numpy(np.stack(found)), torch.tensor(totals)
        return cls(ranks.to(device), total.to(device))

    def gone(self, images: Tensor, shares: Tensor) -> Tensor:
        """Return which pixels are gone `(n, height, width)` of images, at a share each."""
        counts = (self.totals[images] * shares).round().long()
        return self.ranks[images] < counts[:, None, None]


@dataclass(frozen=True, eq=False)
class Covered:
    """What is gone shows another image; with `back`, what is gone comes back on that image.

    Attributes
    ----------
    cover : Tensor (images, 3, height, width)
        The other image of each.
    back : bool
        Begin with the cover alone.
    """

    cover: Tensor
    back: bool = False

    def __call__(self, copies: Tensor, gone: Tensor, images: Tensor, numbers: Tensor) -> Tensor:
        """Return the copies changed where pixels are gone `(n, height, width)`."""
        cover = self.cover[images]
        if self.back:
            return torch.where(gone[:, None], copies, cover)
        return torch.where(gone[:, None], cover, copies)


@dataclass(frozen=True, eq=False)
class Imputed:
    """What is gone is guessed from what is around it: noisy linear imputation.

    A missing pixel is the weighted mean of its eight neighbours (1/6 beside, 1/12 across a corner),
    all at once, plus normal noise: what is left then does not give away which pixels were taken.
    Padding is nobody's neighbour. Where nothing is left, the mean colour. [1]_

    Attributes
    ----------
    keys : tuple of int
        Of the images.
    noise : float
        Standard deviation, in the units of the network's input.
    seed : int
        With the image and the number of the point, it decides the noise.
    seen : tuple of pairs of slices
        Rows and columns of each that are image; the rest is padding.

    References
    ----------
    .. [1] Rong et al. 2022, A consistent and efficient evaluation strategy for attribution methods,
       arXiv:2202.00449.
    """

    keys: tuple[int, ...]
    noise: float
    seed: int
    seen: tuple[tuple[slice, slice], ...]

    @classmethod
    def of(cls, inputs: Inputs, noise: float, seed: int) -> Imputed:
        """Return how pixels of these inputs are guessed."""
        size = inputs.pixels.shape[2:]
        masks = (geometry.content_mask(*size) for geometry in inputs.geometries)
        return cls(inputs.keys, noise, seed, tuple(_rectangle(mask) for mask in masks))

    def __call__(self, copies: Tensor, gone: Tensor, images: Tensor, numbers: Tensor) -> Tensor:
        """Return the copies changed where pixels are gone `(n, height, width)`."""
        pixels, missing = copies.float().cpu().numpy().copy(), gone.cpu().numpy()
        which, points = images.tolist(), numbers.tolist()

        def fill(at: int) -> None:
            source = source_of(self.keys[which[at]], self.seed, f"noise {points[at]}")
            drawn = self.noise * source.standard_normal(pixels[at].shape)
            seen = self.seen[which[at]]
            image, hole = pixels[at][:, *seen], missing[at][seen]
            image[...] = np.where(hole, filled_in(image, hole) + drawn[:, *seen], image)

        # While a GPU waits, all cores; where the network runs on them, its own alone.
        workers = 1 if copies.is_cpu else threads_for(None, len(pixels), 1)
        in_threads(fill, range(len(pixels)), workers)
        return torch.from_numpy(pixels).to(copies)


def _rectangle(mask: NDArray[np.bool_]) -> tuple[slice, slice]:
    """Return the rows and the columns that a mask has cells in."""
    rows, columns = (np.flatnonzero(mask.any(axis=axis)) for axis in (1, 0))
    if not len(rows):
        return slice(0), slice(0)
    return slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1)


def random_colours(model: Model, inputs: Inputs, seed: int) -> Tensor:
    """Return images of colours drawn evenly, pixel by pixel, as the network takes them."""
    size = tuple(inputs.pixels.shape[1:])
    drawn = np.stack([source_of(key, seed, "colours").random(size) for key in inputs.keys])
    look = model.preprocess
    mean, std = (np.reshape(part, (3, 1, 1)) for part in (look.mean, look.std))
    return torch.from_numpy((drawn - mean) / std).to(inputs.pixels)


@dataclass(frozen=True, eq=False)
class Question:
    """What is asked of a network about changed copies of some images.

    Attributes
    ----------
    model : Model
        The model.
    inputs : Inputs
        The images as they are.
    goal : Goal
        What is scored; settled.
    batch : int
        Copies in memory at once.
    """

    model: Model
    inputs: Inputs
    goal: Goal
    batch: int

    def scores(
        self, count: int, change: Callable[[Tensor, Tensor, Tensor], Tensor]
    ) -> NDArray[np.float64]:
        """Return the scores of `count` changed copies of each image: `(images, count)`."""
        pixels = self.inputs.pixels
        scores = score_copies(self.model, pixels, self.goal, count, change, self.batch)
        found: NDArray[np.float64] = scores.double().cpu().numpy()
        return found

    def curve(self, order: Order, change: Covered | Imputed, steps: int) -> NDArray[np.float64]:
        """Return the score of each image as more and more pixels go: `(images, steps + 1)`."""
        shares = torch.from_numpy(shares_of(steps)).to(self.inputs.pixels.device)

        def changed(copies: Tensor, images: Tensor, numbers: Tensor) -> Tensor:
            return change(copies, order.gone(images, shares[numbers]), images, numbers)

        return self.scores(steps + 1, changed)
