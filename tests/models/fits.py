"""The ways to the input once more, by plain formulas."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import torch
from PIL import Image

from sightline.models import Model, load_model
from tests.models.families import PATCH, tiny

if TYPE_CHECKING:
    from numpy.typing import NDArray

FITS = ("squash", "crop", "zoom", "letterbox", "native")  # zoom: a crop of what was made larger
ZOOM = 90
SIZES = {"square": (64, 64), "wide": (96, 64), "tall": (64, 96)}
SOURCES = {"square": (120, 120), "wide": (190, 110), "tall": (101, 173)}


@cache
def shared(name: str) -> Model:
    """One network for the tests that leave it as it is."""
    return load_model(tiny(name))


def noise(width: int, height: int, seed: int = 0) -> NDArray[np.uint8]:
    rng = np.random.default_rng(seed)
    return rng.integers(90, 166, (height, width, 3)).astype(np.uint8)


def placement(
    fit: str, source: tuple[int, int], size: tuple[int, int]
) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
    """How large the whole image becomes, where its corner then lies, and the size of the input."""
    (w, h), (width, height) = source, size
    if fit == "squash":
        return (width, height), (0, 0), (width, height)
    if fit == "native":
        whole = (int(w / PATCH + 0.5) * PATCH, int(h / PATCH + 0.5) * PATCH)
        return whole, (0, 0), whole
    if fit in ("crop", "zoom"):
        short = ZOOM if fit == "zoom" else min(width, height)
        whole = (short, short * h // w) if w <= h else (short * w // h, short)
    elif w * height > h * width:  # relatively wider than the input
        whole = (width, width * h // w)
    else:
        whole = (height * w // h, height)
    corner = tuple(int((a - b) / 2) for a, b in zip(size, whole, strict=True))
    return whole, (corner[0], corner[1]), (width, height)


def pixels_by_hand(
    image: NDArray[np.uint8], model: Model, fit: str, size: tuple[int, int]
) -> torch.Tensor:
    """Pillow resizes; the rest is copied line by line."""
    whole, corner, (width, height) = placement(fit, (image.shape[1], image.shape[0]), size)
    kind = {"bicubic": Image.Resampling.BICUBIC, "bilinear": Image.Resampling.BILINEAR}
    resized = np.array(Image.fromarray(image).resize(whole, kind[model.preprocess.resample]))
    colours = (resized / 255 - model.preprocess.mean) / model.preprocess.std
    pixels = np.zeros((1, 3, height, width))
    columns = [x for x in range(width) if 0 <= x - corner[0] < whole[0]]
    for y in range(height):
        if 0 <= y - corner[1] < whole[1]:
            line = colours[y - corner[1], [x - corner[0] for x in columns]]
            pixels[0, :, y, columns] = line
    return torch.from_numpy(pixels).float()


def fitted(name: str, fit: str, size: tuple[int, int]) -> Model:
    """The model as asked for; but for "zoom", a crop is resized no larger than the input."""
    model = shared(name)
    if fit == "native":
        return model.fitted(fit=fit)
    model = model.fitted(fit="crop" if fit == "zoom" else fit, size=size)
    resize_to = ZOOM if fit == "zoom" else None
    return replace(model, preprocess=replace(model.preprocess, resize_to=resize_to))
