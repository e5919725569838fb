"""Changed copies of images through a network, in full batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from sightline.attribution.methods.targets import Goal
    from sightline.models import Model

__all__ = ["score_copies"]

# Of a CPU's caches, few images of a middling network fill all.
_CACHED = 8


def score_copies(
    model: Model,
    pixels: Tensor,
    goal: Goal,
    count: int,
    change: Callable[[Tensor, Tensor, Tensor], Tensor],
    batch: int,
) -> Tensor:
    """Return what the network says about `count` changed copies of each image.

    Parameters
    ----------
    model : Model
        The model.
    pixels : Tensor (images, 3, height, width)
        The images as they are.
    goal : Goal
        What is asked of each image; settled.
    count : int
        Copies of each image.
    change : callable
        ``change(copies, images, numbers)`` returns the copies changed. They are `pixels[images]`,
        memory of their own; `numbers` says the how manieth copy of its image each is.
    batch : int
        Copies in memory at once. A batch holds copies of several images where one image has fewer.

    Returns
    -------
    Tensor (images, count)
        The goal's number of each copy, in single precision.
    """
    on_cpu = pixels.device.type == "cpu"
    scores = torch.empty(len(pixels) * count, device=pixels.device)
    order = torch.arange(len(scores), device=pixels.device)
    with torch.no_grad():
        for part in order.split(min(batch, _CACHED) if on_cpu else batch):
            images, numbers = part // count, part % count
            copies = change(pixels[images], images, numbers)
            if on_cpu:  # where convolutions are a third quicker when channels come last
                copies = copies.contiguous(memory_format=torch.channels_last)
            output = model(copies)
            scores[part] = goal.take(images).scores(output).float()
    return scores.unflatten(0, (len(pixels), count))
