"""Baselines: maps that know nothing of the model, to be set beside those that should."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch

from sightline.attribution.methods.methods import Found, Request, number, random_of, register
from sightline.core import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from sightline.attribution.methods.maps import Maps
    from sightline.core.geometry import Geometry
    from sightline.models import Inputs, Model

__all__: list[str] = []

_GREY = (0.299, 0.587, 0.114)
_SEED = "whole number; with the image it decides the random numbers"


@register(
    "random",
    what="A number from 0 to 1 for each cell, drawn on its own.",
    group="baseline",
    sign="positive",
    cost="0",
    params={"seed": 0},
    about={"seed": _SEED},
)
def random(model: Model, inputs: Inputs, request: Request) -> Found:
    """Return uniform noise on the grid of patches."""
    rows, columns = _shape(inputs)
    return _stacked([random_of(key, request).random((rows, columns)) for key in inputs.keys])


@register(
    "smooth_random",
    what="Random numbers from 0 to 1 that change slowly from cell to cell: a few blobs.",
    group="baseline",
    sign="positive",
    cost="0",
    params={"sigma": 0.125, "seed": 0},
    about={"sigma": "width of the blobs, as a share of the grid's shorter side", "seed": _SEED},
)
def smooth_random(model: Model, inputs: Inputs, request: Request) -> Found:
    """Return noise smoothed by a Gaussian whose sigma is a share of the grid's shorter side."""
    rows, columns = _shape(inputs)
    kernel = _bell(number(request, "sigma", 0, 1) * min(rows, columns))
    more = len(kernel) - 1  # drawn beyond the borders, so that cells there are like all others
    drawn = [
        random_of(key, request).standard_normal((rows + more, columns + more))
        for key in inputs.keys
    ]
    return _stacked([_smoothed(noise, kernel) for noise in drawn])


@register(
    "centre",
    what="A bell in the middle of the image.",
    group="baseline",
    sign="positive",
    cost="0",
)
def centre(model: Model, inputs: Inputs, request: Request) -> Found:
    """Return a Gaussian whose sigma is a quarter of the image, along each axis."""
    return _stacked([_central(geometry) for geometry in inputs.geometries])


@register(
    "edge",
    what="Strength of the edges in the grey image, pixel by pixel.",
    group="baseline",
    sign="positive",
    cost="0",
)
def edge(model: Model, inputs: Inputs, request: Request) -> Found:
    """Return the magnitude of the Sobel gradient of the input, in grey levels a pixel."""
    pixels = inputs.pixels.float()
    weights = pixels.new_tensor(np.multiply(_GREY, model.preprocess.std))
    grey = torch.einsum("bchw,c->bhw", pixels, weights)[:, None]
    found = torch.zeros_like(grey)
    for one, geometry, whole in zip(found, inputs.geometries, grey, strict=True):
        left, top, right, bottom = (round(edge) for edge in geometry.content)
        if left < right and top < bottom:  # padding has no edges, nor does its border
            one[:, top:bottom, left:right] = _sobel(whole[:, top:bottom, left:right])
    return Found([found])


def _sobel(grey: Tensor) -> Tensor:
    """Return the magnitude of the gradient of `(1, height, width)`; the border goes on outside."""
    around = torch.nn.functional.pad(grey[None], (1, 1, 1, 1), mode="replicate")
    slope = grey.new_tensor([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]) / 8
    both = torch.nn.functional.conv2d(around, torch.stack([slope, slope.T])[:, None])
    return both[0].square().sum(0, keepdim=True).sqrt()


def _mean_of_others(maps: Maps) -> Maps:
    """Return for each image the mean of the other images' maps."""
    if len(maps) < 2:
        raise InputError("mean_map is the mean over other images: give 2 or more, got 1")
    layers = []
    for layer in zip(*maps.values, strict=True):
        shapes = {values.shape[1:] for values in layer}
        if len(shapes) > 1:
            seen = ", ".join("{1}x{0}".format(*shape) for shape in sorted(shapes))
            raise InputError(f"mean_map needs maps of one grid, got {seen}: use another fit")
        total = np.sum(layer, axis=0, dtype=np.float64)
        layers.append([((total - one) / (len(maps) - 1)).astype(np.float32) for one in layer])
    # Each map was for a class of its own image: only one that all share can be told.
    targets = maps.targets if len(set(maps.targets)) == 1 else ()
    return replace(maps, values=tuple(zip(*layers, strict=True)), targets=targets)


@register(
    "mean_map",
    what="Mean of the maps of the other images, by the method `of`: what all have in common. Its "
    "values are read as that method's are.",
    group="baseline",
    sign="signed",
    cost="that of the method, for all images",
    layered=True,
    headed=True,
    params={"of": None},
    about={"of": "the method; the first in this table that fits the model unless given"},
    of_maps=_mean_of_others,
)
def mean_map(model: Model, inputs: Inputs, request: Request) -> Found:
    """Raise: one batch does not know the maps of all images, which `explain` has."""
    raise InputError("mean_map is made from the maps of several images: call explain")


def _shape(inputs: Inputs) -> tuple[int, int]:
    columns, rows = inputs.geometries[0].grid
    return rows, columns


def _stacked(maps: list[NDArray[np.float64]]) -> Found:
    return Found([torch.from_numpy(np.stack(maps))[:, None]])


def _bell(sigma: float) -> NDArray[np.float64]:
    """Return a Gaussian that keeps the variance of the noise it smooths."""
    reach = int(np.ceil(4 * sigma))
    steps = np.arange(-reach, reach + 1)
    kernel = np.exp(-0.5 * (steps / max(sigma, 1e-9)) ** 2)
    scaled: NDArray[np.float64] = kernel / np.sqrt(np.square(kernel).sum())
    return scaled


def _smoothed(noise: NDArray[np.float64], kernel: NDArray[np.float64]) -> NDArray[np.float64]:
    """Smooth normal noise; each cell then becomes the share of the normal curve below it."""
    for axis in (0, 1):
        noise = np.apply_along_axis(np.convolve, axis, noise, kernel, "valid")
    below: NDArray[np.float64] = torch.special.ndtr(torch.from_numpy(noise)).numpy()
    return below


def _central(geometry: Geometry) -> NDArray[np.float64]:
    """Return the bell on the grid; its middle is that of the image on the input."""
    corners = np.reshape(geometry.content, (2, 2)) / geometry.patch
    middle, sigma = corners.mean(0), (corners[1] - corners[0]) / 4
    x, y = (
        np.exp(-0.5 * ((np.arange(count) + 0.5 - middle[axis]) / sigma[axis]) ** 2)
        for axis, count in enumerate(geometry.grid)
    )
    return np.outer(y, x)
