"""Rows times attention weights, block by block: a layer's matrices are never whole in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from sightline.core.arrays import has_triton

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

    from sightline.models.attention import Heads

__all__ = ["fused_weights", "weighted_rows"]

# Bytes of attention weights in memory at once: what the caches of a CPU hold, more on a GPU.
_BLOCK = {"cpu": 1 << 21, "cuda": 1 << 28}


def weighted_rows(heads: Heads, rows: Tensor, gradient: Tensor | None = None) -> Tensor:
    """Return `rows @ weights` for the attention weights of each head.

    Parameters
    ----------
    heads : Heads
        Of one layer.
    rows : Tensor (batch, m, tokens)
        What the rows of the weights are multiplied by and summed.
    gradient : Tensor (batch, heads, tokens, channels), optional
        Of `heads.output`; the weights are then multiplied by their own gradient, and what is
        negative becomes 0.

    Returns
    -------
    Tensor (batch, heads, m, tokens)
    """
    if gradient is None and heads.mask is None and _has_kernels(heads.query):
        from sightline.attribution.methods._triton_attention import weigh

        with torch.cuda.device(heads.query.device):
            return weigh(heads.query, heads.key, heads.scale, rows)
    count = heads.query.shape[1]
    total = rows.new_zeros(len(rows) * count, rows.shape[1], heads.key.shape[2])
    for pairs, queries, weights in _weights(heads, _used(rows), gradient):
        images = torch.arange(pairs.start, pairs.stop, device=rows.device) // count
        total[pairs] += rows[images][:, :, queries] @ weights
    return total.unflatten(0, (len(rows), count))


def _has_kernels(tensor: Tensor) -> bool:
    """Say whether the kernels for a GPU take a tensor."""
    known = tensor.dtype in (torch.float32, torch.float16, torch.bfloat16)
    return known and has_triton(tensor)


def _used(rows: Tensor) -> slice:
    """Return the tokens between the first and the last that any row gives weight to.

    On a device, all of them: to look would be to wait for it.
    """
    if rows.device.type != "cpu":
        return slice(0, rows.shape[-1])
    used = rows.flatten(0, 1).any(0).nonzero().flatten().tolist()
    return slice(used[0], used[-1] + 1) if used else slice(0, 0)


def _weights(
    heads: Heads, used: slice, gradient: Tensor | None = None
) -> Iterator[tuple[slice, slice, Tensor]]:
    """Yield attention weights in blocks: which heads (of all images), which queries, weights."""
    query, key, value = (part.flatten(0, 1).float() for part in heads[:3])
    slope = None if gradient is None else gradient.flatten(0, 1).float()
    budget = _BLOCK.get(query.device.type, _BLOCK["cpu"]) // (4 * key.shape[1])
    # A block is scored, soft-maxed and graded while the last one is still held: four of them are
    # never more than the weights of one layer; with a mask it is eight.
    held = 4 if heads.mask is None else 8
    together = max(1, min(budget // max(1, used.stop - used.start), len(query) // held))
    size = max(1, budget)
    for first in range(0, len(query), together):
        pairs = slice(first, min(first + together, len(query)))
        for start in range(used.start, used.stop, size):
            queries = slice(start, min(start + size, used.stop))
            scores = query[pairs, queries] @ key[pairs].transpose(1, 2)
            scores.mul_(heads.scale)
            if heads.mask is not None:
                scores += _part_of_mask(heads, heads.mask, pairs, queries)
            weights = scores.softmax(-1)
            if slope is not None:
                weights.mul_(slope[pairs, queries] @ value[pairs].transpose(1, 2)).clamp_(min=0)
            yield pairs, queries, weights


def _part_of_mask(heads: Heads, mask: Tensor, pairs: slice, queries: slice) -> Tensor:
    """Return what is added to the scores of one block: heads of images, queries, keys."""
    count = heads.query.shape[1]
    whole = mask.expand(*heads.query.shape[:3], heads.key.shape[2])  # a view
    places = (divmod(pair, count) for pair in range(pairs.start, pairs.stop))
    part = torch.stack([whole[image, head, queries] for image, head in places])
    if part.dtype == torch.bool:
        return torch.zeros_like(part, dtype=torch.float32).masked_fill_(~part, -torch.inf)
    return part.float()


def fused_weights(heads: Heads, fusion: str) -> Tensor:
    """Return the weights `(tokens, tokens)` of one image, joined over its heads."""
    count, tokens = heads.query.shape[1:3]
    join = {"mean": torch.add, "max": torch.maximum, "min": torch.minimum}[fusion]
    fused = torch.empty(tokens, heads.key.shape[2], device=heads.query.device)
    for pairs, queries, weights in _weights(heads, slice(0, tokens)):
        for head, part in zip(range(pairs.start, pairs.stop), weights, strict=True):
            fused[queries] = join(fused[queries], part) if head else part
    return fused / count if fusion == "mean" else fused
