"""Noise of images: normal numbers that follow from an image's key and a seed alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["draw_noise", "noise_source"]


def noise_source(key: int, seed: int) -> torch.Generator:
    """Return the source of noise of one image; torch draws it in a third of numpy's time.

    Parameters
    ----------
    key : int
        The number of the image, of `Inputs.keys`.
    seed : int
        What the noise starts at.
    """
    start = np.random.default_rng([key, seed]).integers(2**63)
    return torch.Generator().manual_seed(int(start))


def draw_noise(sources: list[torch.Generator], pixels: Tensor) -> Tensor:
    """Draw one more sample of noise for each image, from its own source.

    Examples
    --------
    >>> images = torch.zeros(2, 3, 4, 4)
    >>> first, second = draw_noise([noise_source(7, 0), noise_source(8, 0)], images)
    >>> again = draw_noise([noise_source(8, 0)], images[1:])[0]
    >>> torch.equal(first, second), torch.equal(second, again)
    (False, True)
    """
    drawn = [torch.randn(pixels.shape[1:], generator=source) for source in sources]
    return torch.stack(drawn).to(pixels)
