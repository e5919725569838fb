"""Facades as tensors on a device, and random views of them."""

from __future__ import annotations

import math
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


def _draw(seed: int, confounded: bool, start: int, stop: int) -> tuple[np.ndarray, list[int]]:
    numbers = range(start, stop)
    facades = [Facade.generate(seed, index, SIZE, confounded=confounded) for index in numbers]
    pixels = np.stack([facade.image() for facade in facades])
    return pixels, [STYLES.index(facade.style) for facade in facades]


def draw(count: int, seed: int, device: str, *, confounded: bool = False) -> Images:
    """Draw facades on all cores; where confounded, sky and ground tell the style."""
    step = 100
    starts = range(0, count, step)
    stops = (min(start + step, count) for start in starts)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        parts = list(pool.map(partial(_draw, seed, confounded), starts, stops))
    pixels = torch.from_numpy(np.concatenate([part[0] for part in parts]))
    styles = torch.tensor([style for part in parts for style in part[1]])
    return Images(pixels.to(device).permute(0, 3, 1, 2).contiguous(), styles.to(device))


def normalise(pixels: Tensor) -> Tensor:
    """Return 8-bit pixels as the models take them: from -1 to 1."""
    return pixels.float() / 127.5 - 1


def random_views(
    pixels: Tensor,
    size: int,
    area: tuple[float, float],
    colour: float,
    rng: torch.Generator,
    around: Tensor | None = None,
) -> Tensor:
    """Return for each picture a random cut of some share of its area, mirrored or not, recoloured.

    `colour` is how far brightness, contrast, saturation and tint move. `around` are the middles of
    the cuts, x and y from -1 to 1, moved inwards where a cut would leave its picture; by default
    a cut lies anywhere.
    """
    count, device = len(pixels), pixels.device

    def uniform(low: float, high: float, *shape: int) -> Tensor:
        return low + (high - low) * torch.rand((count, *shape), device=device, generator=rng)

    side = uniform(*area).sqrt()
    stretch = uniform(-0.15, 0.15).exp()
    width, height = (side * stretch).clamp(max=1), (side / stretch).clamp(max=1)
    if around is None:
        x, y = uniform(-1, 1) * (1 - width), uniform(-1, 1) * (1 - height)
    else:
        x = around[:, 0].clamp(width - 1, 1 - width)
        y = around[:, 1].clamp(height - 1, 1 - height)
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


def edges(pixels: Tensor, cells: int = 14) -> Tensor:
    """Return how much there is to see in each cell of a grid `(n, cells * cells)`: its edges.

    What half of the cells have (grain, clouds, grass) counts as nothing.
    """
    found = []
    for part in pixels.split(1000):
        grey = F.avg_pool2d(part.float().mean(1, keepdim=True), 2)
        across = F.pad((grey[..., 1:] - grey[..., :-1]).abs(), (0, 1))
        down = F.pad((grey[..., 1:, :] - grey[..., :-1, :]).abs(), (0, 0, 0, 1))
        strength = F.adaptive_avg_pool2d(across + down, cells).flatten(1)
        found.append((strength - strength.median(1, keepdim=True).values).clamp(min=1e-3))
    return torch.cat(found)


def busy_places(strengths: Tensor, rng: torch.Generator) -> Tensor:
    """Return for each picture a point `(n, 2)`, x and y from -1 to 1: often one with many edges."""
    cells = math.isqrt(strengths.shape[1])
    chosen = strengths.multinomial(1, generator=rng)
    corners = torch.cat([chosen % cells, chosen // cells], 1)
    within = torch.rand(corners.shape, device=corners.device, generator=rng)
    return (corners + within) / cells * 2 - 1


def disguise(views: Tensor, rng: torch.Generator) -> Tensor:
    """Return the views, half of them in disguise, so that colours tell little.

    Channels are exchanged, some are made grey, some negative, some soft.
    """
    count, device = len(views), views.device

    def uniform(*shape: int) -> Tensor:
        return torch.rand((count, *shape), device=device, generator=rng)

    disguised = uniform(1, 1, 1) < 0.5
    order = torch.where(uniform(1) < 0.5, uniform(3).argsort(1), torch.arange(3, device=device))
    other = views.gather(1, order[..., None, None].expand_as(views))
    grey = other.mean(1, keepdim=True)
    other = other.lerp(grey, (uniform(1, 1, 1) < 0.3).float())
    other = torch.where(uniform(1, 1, 1) < 0.2, -other, other)
    soft = F.avg_pool2d(other, 5, 1, 2, count_include_pad=False)
    other = other.lerp(soft, (2 * uniform(1, 1, 1) - 1).clamp(min=0))
    return torch.where(disguised, other, views)
