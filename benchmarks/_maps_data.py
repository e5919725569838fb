"""Synthetic maps, masks and boxes: the same numbers for every tool, made from a seed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    Array = npt.NDArray[Any]

BLOBS = 3
NOISE = 0.05
MASK_AREA = 0.1


def make(
    count: int, size: int, *, seed: int = 0, put: Callable[[Array], Any] = np.asarray
) -> tuple[Any, Any]:
    """Smooth maps in [0, 1] with a little noise, and elliptic masks of about a tenth of the area.

    `put` moves the small factors and the noise to another array library or device, where the maps
    are then built: ``put=lambda a: torch.as_tensor(a, device="cuda")``.
    """
    rng = np.random.default_rng(seed)
    axis = (np.arange(size) + 0.5) / size

    centre = rng.random((2, count, BLOBS, 1))
    width = rng.uniform(0.06, 0.25, (count, BLOBS, 1))
    height = rng.uniform(0.3, 1.0, (count, BLOBS, 1))
    height *= (1 - NOISE) / height.sum(axis=1, keepdims=True)
    down, across = np.exp(-0.5 * ((axis - centre) / width) ** 2).astype(np.float32)
    down *= height.astype(np.float32)
    noise = NOISE * rng.random((count, size, size), dtype=np.float32)
    maps = put(down.swapaxes(1, 2)) @ put(across) + put(noise)

    middle = rng.uniform(0.2, 0.8, (2, count, 1))
    stretch = rng.uniform(0.7, 1.4, (count, 1))
    radius = np.sqrt(MASK_AREA / np.pi) * np.stack([stretch, 1 / stretch])
    dy, dx = ((axis - middle) / radius) ** 2
    masks = put(dy)[:, :, None] + put(dx)[:, None, :] <= 1
    return maps, masks


def make_boxes(count: int, boxes: int = 25, *, seed: int = 0) -> list[Array]:
    """For each of `count` maps, an array (boxes, 4) of x0, y0, x1, y1 with sides 1/16 to 1/2."""
    rng = np.random.default_rng(seed)
    side = rng.uniform(1 / 16, 1 / 2, (count, boxes, 2))
    corner = rng.random((count, boxes, 2)) * (1 - side)
    return list(np.concatenate([corner, corner + side], axis=2))
