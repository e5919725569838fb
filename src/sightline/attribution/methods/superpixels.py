"""Superpixels: what each part of an image is worth, by hiding many sets of parts."""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from sightline.attribution.methods.copies import score_copies
from sightline.attribution.methods.methods import (
    Found,
    Request,
    number,
    random_of,
    register,
    whole_number,
)
from sightline.attribution.methods.perturbation import COVER, clean_scores, cover_of
from sightline.core import MissingPackageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import Generator
    from numpy.typing import NDArray
    from torch import Tensor

    from sightline.attribution.methods.targets import Goal
    from sightline.models import Inputs, Model

    Sets = NDArray[np.bool_]
    Values = NDArray[np.float64]

__all__ = ["draw_coalitions", "find_segments", "fit_ridge", "fit_shapley"]

_SHARED = {"segments": 50, "compactness": 20.0, "baseline": "mean", "seed": 0}
_ABOUT = {
    "segments": "superpixels, about as many (SLIC), at most 2,000",
    "compactness": "of superpixels: higher is more square, lower follows colours more",
    "baseline": COVER,
    "seed": "whole number; with the image it decides which superpixels are hidden together",
}


@register(
    "lime",
    what="Weight of each superpixel in a linear model of the score, fitted around the image.",
    group="perturbation",
    sign="signed",
    needs=("classes",),
    cost="samples (500), and 2",
    params={"samples": 500, **_SHARED, "width": 0.25, "ridge": 1.0},
    about={
        "samples": "images of which each superpixel is hidden with probability one half",
        **_ABOUT,
        "width": "of the kernel that gives images more weight the less of them is hidden",
        "ridge": "penalty on the square of the weights, 0 or more",
    },
    paper="Ribeiro et al. 2016, arXiv:1602.04938",
)
def lime(model: Model, inputs: Inputs, request: Request) -> Found:
    """Return the weights of a ridge regression, one for each superpixel."""
    samples = whole_number(request, "samples", 1)
    width, ridge = number(request, "width", 1e-6), number(request, "ridge", 0)

    def draw(source: Generator, parts: int) -> Sets:
        return source.random((samples, parts)) < 0.5

    def fit(sets: Sets, scores: Values) -> Values:
        distance = 1 - np.sqrt(sets.mean(1))  # cosine, to the image with nothing hidden
        return fit_ridge(sets, scores, np.exp(-0.5 * (distance / width) ** 2), ridge)

    return _worth(model, inputs, request, draw, fit)


@register(
    "kernel_shap",
    what="Shapley value of each superpixel; they add up to what the score gains over the image "
    "with all hidden.",
    group="perturbation",
    sign="signed",
    needs=("classes",),
    cost="samples (500), and 2",
    params={"samples": 500, **_SHARED},
    about={
        "samples": "sets of superpixels, in pairs that complement each other; all sets, and the "
        "exact values, where there are no more than this",
        **_ABOUT,
    },
    paper="Lundberg & Lee 2017, arXiv:1705.07874",
)
def kernel_shap(model: Model, inputs: Inputs, request: Request) -> Found:
    """Return Shapley values by least squares that keep to the sum."""
    samples = whole_number(request, "samples", 2)

    def draw(source: Generator, parts: int) -> Sets:
        return draw_coalitions(source, parts, samples)

    return _worth(model, inputs, request, draw, fit_shapley)


def _worth(
    model: Model,
    inputs: Inputs,
    request: Request,
    draw: Callable[[Generator, int], Sets],
    fit: Callable[[Sets, Values], Values],
) -> Found:
    """Return maps on which each superpixel has the worth that a fit gives it.

    The first two sets of superpixels of each image are all and none; those drawn come after.
    """
    labels = [_labels(model, pixels, request) for pixels in inputs.pixels]
    sets = []
    for key, segments in zip(inputs.keys, labels, strict=True):
        parts = int(segments.max()) + 1
        drawn = draw(random_of(key, request), parts)
        sets.append(np.concatenate([[[True] * parts], [[False] * parts], drawn]))
    goal, scores = _scored(model, inputs, request, _Hidden.of(labels, sets, inputs))
    maps = [
        fit(shown, values[: len(shown)])[segments]
        for shown, values, segments in zip(sets, scores, labels, strict=True)
    ]
    return Found([torch.from_numpy(np.stack(maps))[:, None]], goal)


def _scored(model: Model, inputs: Inputs, request: Request, hidden: _Hidden) -> tuple[Goal, Values]:
    """Return the goal, and the scores of each image under its sets: `(images, sets)`."""
    cover = cover_of(model, inputs.pixels, request.params["baseline"])
    goal, clean = clean_scores(model, inputs, request)

    def hide(copies: Tensor, images: Tensor, numbers: Tensor) -> Tensor:
        return torch.where(hidden.shown(images, numbers + 1), copies, cover[images])

    count = hidden.sets.shape[1] - 1  # the first has nothing hidden, and is known
    scores = score_copies(model, inputs.pixels, goal, count, hide, request.batch)
    return goal, torch.cat([clean[:, None], scores], 1).double().cpu().numpy()


class _Hidden(NamedTuple):
    """Which pixels are shown: superpixels `(images, height, width)`, sets of those shown."""

    labels: Tensor
    sets: Tensor

    @classmethod
    def of(cls, labels: list[NDArray[np.int64]], sets: list[Sets], inputs: Inputs) -> _Hidden:
        """Lay the sets of images side by side; images with fewer have idle ones at the end."""
        count, parts = (max(one.shape[axis] for one in sets) for axis in (0, 1))
        filled = np.ones((len(sets), count, parts), bool)
        for row, one in zip(filled, sets, strict=True):
            row[: len(one), : one.shape[1]] = one
        device = inputs.pixels.device
        stacked = torch.from_numpy(np.stack(labels)).to(device)
        return cls(stacked, torch.from_numpy(filled).to(device))

    def shown(self, images: Tensor, numbers: Tensor) -> Tensor:
        """Return `(n, 1, height, width)`: which pixels of images are shown, by numbers of sets."""
        labels = self.labels[images].flatten(1)
        pixels = self.sets[images, numbers].gather(1, labels)
        return pixels.unflatten(1, self.labels.shape[1:])[:, None]


def _labels(model: Model, pixels: Tensor, request: Request) -> NDArray[np.int64]:
    mean, std = (np.array(values) for values in (model.preprocess.mean, model.preprocess.std))
    image = pixels.float().cpu().numpy().transpose(1, 2, 0) * std + mean
    compact, count = number(request, "compactness", 1e-6), whole_number(request, "segments", 1)
    return find_segments(image, count, compact)


def find_segments(
    image: NDArray[np.floating[Any]], segments: int, compactness: float = 20.0
) -> NDArray[np.int64]:
    """Return the number of the superpixel of each pixel, from 0, by SLIC.

    Parameters
    ----------
    image : array (height, width, 3)
        Colours from 0 to 1.
    segments : int
        About how many.
    compactness : float
        Higher is more square; lower follows colours more.

    Examples
    --------
    >>> import numpy as np
    >>> halves = np.zeros((16, 16, 3))
    >>> halves[:, 8:] = 1
    >>> find_segments(halves, 4)[0].tolist()
    [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1]
    """
    try:
        from skimage.segmentation import slic
    except ImportError as error:
        line = "pip install 'sightline[models]'"
        raise MissingPackageError(f"superpixels need scikit-image: {line}") from error
    # Smoothed a little: of fine noise SLIC would make one superpixel.
    found = slic(image, segments, compactness, sigma=1, start_label=0, channel_axis=-1)
    # Numbers without gaps: some of SLIC's own may be of no pixel.
    numbers = np.unique(found, return_inverse=True)[1]
    return numbers.reshape(image.shape[:2]).astype(np.int64)


def fit_ridge(sets: Sets, scores: Values, weights: Values, ridge: float) -> Values:
    """Return the weights of parts in a linear model of scores, under a penalty on their squares.

    Minimises the sum over sets k of w_k (f_k - b - z_k b')² + ridge |b'|²; the constant b bears no
    penalty. Without one, of several solutions the smallest is taken.

    Examples
    --------
    >>> import numpy as np
    >>> sets = np.array([[1, 1], [1, 0], [0, 1], [0, 0]], bool)
    >>> fit_ridge(sets, np.array([6.0, 3.0, 4.0, 1.0]), np.ones(4), 0.0).round(6).tolist()
    [2.0, 3.0]
    """
    share = weights / weights.sum()
    centred = sets - share @ sets
    rows = centred * np.sqrt(weights)[:, None]
    wanted = (scores - share @ scores) * np.sqrt(weights)
    more = np.sqrt(ridge) * np.eye(sets.shape[1])
    both = np.concatenate([rows, more]), np.concatenate([wanted, np.zeros(len(more))])
    found: Values = np.linalg.lstsq(*both, rcond=None)[0]
    return found


def draw_coalitions(source: Generator, parts: int, samples: int) -> Sets:
    """Return sets of parts, neither all nor none of them, to fit Shapley values to.

    All of them where there are no more than `samples`. Otherwise they are drawn, as likely as the
    Shapley kernel has it, each followed by what it leaves out.

    Examples
    --------
    >>> import numpy as np
    >>> draw_coalitions(np.random.default_rng(0), 2, 10).astype(int).tolist()
    [[1, 0], [0, 1]]
    >>> draw_coalitions(np.random.default_rng(0), 40, 10).sum(1).reshape(5, 2).sum(1).tolist()
    [40, 40, 40, 40, 40]
    """
    if parts <= samples.bit_length() and 2**parts - 2 <= samples:
        numbers = np.arange(1, 2**parts - 1)
        every: Sets = (numbers[:, None] >> np.arange(parts)) % 2 == 1
        return every
    sizes = np.arange(1, parts)
    chances = 1 / (sizes * (parts - sizes))
    drawn = source.choice(sizes, (samples + 1) // 2, p=chances / chances.sum())
    ranks = source.random((len(drawn), parts)).argsort(1)
    half = ranks < drawn[:, None]
    return np.stack([half, ~half], 1).reshape(-1, parts)[:samples]


def fit_shapley(sets: Sets, scores: Values) -> Values:
    """Return Shapley values from scores of sets of parts, of which the first are all and none.

    Least squares under the constraint that the values add up to what all parts gain over none.
    Where the sets are all there are, each has the weight of the Shapley kernel and the values are
    exact; sets that were drawn by the kernel weigh the same. Of several solutions, the one with the
    most even values is taken.

    Examples
    --------
    >>> import numpy as np
    >>> sets = np.array([[1, 1], [0, 0], [1, 0], [0, 1]], bool)
    >>> fit_shapley(sets, np.array([10.0, 1.0, 3.0, 4.0])).round(6).tolist()
    [4.0, 5.0]
    """
    parts, gain = sets.shape[1], scores[0] - scores[1]
    if parts == 1:
        return np.array([gain])
    inner, values = sets[2:], scores[2:] - scores[1]
    weights = np.ones(len(inner))
    if len(inner) == 2**parts - 2:
        sizes = inner.sum(1)
        ways = np.array([comb(parts, int(size)) for size in sizes], float)
        weights = (parts - 1) / (ways * sizes * (parts - sizes))
    root = np.sqrt(weights)
    even = np.full(parts, gain / parts)
    # What is fitted is how the values differ from even ones, which adds up to 0.
    rows = (inner - inner.mean(1, keepdims=True)) * root[:, None]
    found = np.linalg.lstsq(rows, (values - inner @ even) * root, rcond=None)[0]
    differing: Values = even + found - found.mean()
    return differing
