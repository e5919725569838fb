"""Maps and annotations drawn at random: smooth fields, a pull to the centre, boxes, façades."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["boxes", "centre", "facade_masks", "smooth_fields"]


def smooth_fields(
    rng: np.random.Generator, count: int, size: int, scale: float, *, periodic: bool = False
) -> NDArray[np.float64]:
    """Return Gaussian fields `(count, size, size)` of unit variance.

    `scale` is the standard deviation, in pixels, of the kernel that smooths them. Unless they are
    `periodic` they are cut out of larger fields, so that opposite edges know nothing of each other.
    """
    if scale == 0:
        return rng.standard_normal((count, size, size))
    whole = size if periodic else size + int(np.ceil(6 * scale)) + 2
    at = np.arange(whole)
    gain = np.exp(-2 * (np.pi * scale * np.fft.fftfreq(whole)) ** 2)
    # The kernel around the ring as a matrix: on such small fields faster than their transforms.
    rows = np.fft.ifft(gain).real[(at[:size, None] - at) % whole]
    # The variance is known: that of white noise behind the filter.
    rows /= np.sqrt((gain**2).mean())
    fields: NDArray[np.float64] = rows @ rng.standard_normal((count, whole, whole)) @ rows.T
    return fields


def centre(size: int, width: float = 0.22) -> NDArray[np.float64]:
    """Return a Gaussian around the centre, of mean 0 and variance 1."""
    at = (np.arange(size) + 0.5) / size - 0.5
    bump = np.exp(-(at[:, None] ** 2 + at**2) / (2 * width**2))
    standard: NDArray[np.float64] = (bump - bump.mean()) / bump.std()
    return standard


def boxes(
    rng: np.random.Generator, count: int, size: int, *, central: bool = False
) -> NDArray[np.bool_]:
    """Return unions of 1 to 25 boxes, `(count, size, size)`; central ones gather in the middle."""
    masks = np.zeros((count, size, size), np.bool_)
    for mask in masks:
        for _ in range(1 + min(int(rng.geometric(0.25)), 24)):
            height, width = np.maximum(1, np.rint(size * rng.uniform(0.04, 0.22, 2)).astype(int))
            place = np.clip(rng.normal(0.5, 0.17, 2), 0, 1) if central else rng.uniform(0, 1, 2)
            top = int(np.clip(place[0] * size - height / 2, 0, size - height))
            left = int(np.clip(place[1] * size - width / 2, 0, size - width))
            mask[top : top + height, left : left + width] = True
    return masks


@lru_cache(8)
def facade_masks(count: int, size: int, seed: int = 0) -> NDArray[np.bool_]:
    """Return the annotated pixels of façades, `(count, size, size)`."""
    from sightline.data import load_dataset

    dataset = load_dataset("facades", count=count, seed=seed)
    return np.stack([dataset[i].annotation.union_mask(size, size) for i in range(count)])
