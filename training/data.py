"""Facades as tensors on a device, and random views of them."""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from sightline.data.facades import STYLES, Facade

SIZE = 224
# Training, and choices made while training, never see these.
HELD_OUT = 7


class Images(NamedTuple):
    """Pictures `(n, 3, size, size)` in 8 bits with the number of their style."""

    pixels: Tensor
    styles: Tensor


def _draw(seed: int, start: int, stop: int) -> tuple[np.ndarray, list[int]]:
    facades = [Facade.generate(seed, index, SIZE) for index in range(start, stop)]
    pixels = np.stack([facade.image() for facade in facades])
    return pixels, [STYLES.index(facade.style) for facade in facades]


def draw(count: int, seed: int, device: str) -> Images:
    """Draw facades on all cores."""
    step = 100
    starts = range(0, count, step)
    stops = (min(start + step, count) for start in starts)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        parts = list(pool.map(partial(_draw, seed), starts, stops))
    pixels = torch.from_numpy(np.concatenate([part[0] for part in parts]))
    styles = torch.tensor([style for part in parts for style in part[1]])
    return Images(pixels.to(device).permute(0, 3, 1, 2).contiguous(), styles.to(device))


def normalise(pixels: Tensor) -> Tensor:
    """Return 8-bit pixels as the models take them: from -1 to 1."""
    return pixels.float() / 127.5 - 1


def random_views(
    pixels: Tensor, size: int, area: tuple[float, float], colour: float, rng: torch.Generator
) -> Tensor:
    """Return for each picture a random cut of some share of its area, mirrored or not, recoloured.

    `colour` is how far brightness, contrast, saturation and tint move.
    """
    count, device = len(pixels), pixels.device

    def uniform(low: float, high: float, *shape: int) -> Tensor:
        return low + (high - low) * torch.rand((count, *shape), device=device, generator=rng)

    side = uniform(*area).sqrt()
    stretch = uniform(-0.15, 0.15).exp()
    width, height = (side * stretch).clamp(max=1), (side / stretch).clamp(max=1)
    x, y = uniform(-1, 1) * (1 - width), uniform(-1, 1) * (1 - height)
    mirror = torch.where(uniform(0, 1) < 0.5, 1.0, -1.0)
    zero = torch.zeros_like(x)
    rows = [torch.stack([width * mirror, zero, x], 1), torch.stack([zero, height, y], 1)]
    grid = F.affine_grid(torch.stack(rows, 1), [count, 3, size, size], align_corners=False)
    views = F.grid_sample(pixels.float() / 127.5 - 1, grid, align_corners=False)
    if not colour:
        return views
    grey = views.mean(1, keepdim=True)
    views = grey + (views - grey) * uniform(1 - colour, 1 + colour, 1, 1, 1)
    middle = views.mean((1, 2, 3), keepdim=True)
    views = middle + (views - middle) * uniform(1 - colour, 1 + colour, 1, 1, 1)
    views = views + uniform(-colour, colour, 1, 1, 1) + uniform(-colour, colour, 3, 1, 1) / 2
    return views.clamp(-1, 1)
