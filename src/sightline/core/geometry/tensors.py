"""Maps brought to the pixels of an image where they are: `Geometry.to_image` for tensors."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from sightline.core.geometry._areas import neighbours

if TYPE_CHECKING:
    from sightline.core.geometry.transform import Geometry

__all__ = ["tensors_to_image"]


class _Axis(NamedTuple):
    """For each pixel along an axis: the cells on both sides, and how far it is to the second."""

    low: torch.Tensor
    high: torch.Tensor
    part: torch.Tensor


def tensors_to_image(maps: torch.Tensor, way: Geometry, height: int, width: int) -> torch.Tensor:
    """Return maps `(..., rows, columns)` on the grid as bilinear maps over the whole image.

    As `way.to_image(maps, height, width, fill=0, how="bilinear")`, to the last bit.
    """
    rows, columns, seen = _places(way, (height, width), maps.device)
    found = _mixed(_mixed(maps, rows, -2), columns, -1)
    return found if seen is None else torch.where(seen, found, 0)


def _mixed(maps: torch.Tensor, axis: _Axis, dim: int) -> torch.Tensor:
    part = axis.part[:, None] if dim == -2 else axis.part
    found = maps.index_select(dim, axis.low).mul_(1 - part)
    return found.add_(maps.index_select(dim, axis.high).mul_(part))


@lru_cache(32)  # images of a data set share few geometries, and each takes memory there
def _places(
    way: Geometry, size: tuple[int, int], device: torch.device
) -> tuple[_Axis, _Axis, torch.Tensor | None]:
    """Return where the pixels of an image lie on the grid, and which of them the model sees."""
    height, width = size
    x = (np.arange(width) + 0.5) * way.source[0] / width
    y = (np.arange(height) + 0.5) * way.source[1] / height
    columns, rows = way.points_to_grid(x, y)
    axes = []
    for places, cells in ((rows, way.grid[1]), (columns, way.grid[0])):
        low, high, part = neighbours(places, cells, np.dtype(np.float32))
        axes.append(_Axis(*(torch.as_tensor(one, device=device) for one in (low, high, part))))
    seen = way.seen_mask(height, width)
    shown = None if seen.all() else torch.as_tensor(seen, device=device)
    return axes[0], axes[1], shown
