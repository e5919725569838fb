"""Rows times attention weights on a GPU, without the weights ever being written.

One kernel finds what each query's weights add up to before they are divided by it, the other makes
the weights of a block of keys and adds up the rows times them.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

Tensor = Any

__all__ = ["weigh"]

# Queries and keys at a time and warps of each kernel, the quickest of those tried on an H200: for
# types of 32 bits, and of 16. Rows are made up to 16.
_ROWS = 16
_SUMS = {True: (64, 32, 2), False: (64, 32, 4)}
_PRODUCTS = {True: (16, 64, 2), False: (16, 128, 2)}


def weigh(query: Tensor, key: Tensor, scale: float, rows: Tensor) -> Tensor:
    """Return ``rows @ softmax(query @ key.T * scale)`` for each head.

    Parameters
    ----------
    query, key : Tensor (batch, heads, tokens, channels)
        Of one type; sums are kept in float32.
    scale : float
    rows : Tensor (batch, m, tokens)

    Returns
    -------
    Tensor (batch, heads, m, tokens) in float32
    """
    if query.stride(3) != 1 or key.stride(3) != 1:
        query, key = query.contiguous(), key.contiguous()
    rows = rows.to(torch.float32).contiguous()
    batch, heads, asks, channels = query.shape
    tokens, number = key.shape[2], rows.shape[1]
    out = torch.empty((batch, heads, number, tokens), dtype=torch.float32, device=query.device)
    scale = scale * 1.4426950408889634  # powers of two are quicker
    total = torch.empty((batch * heads, asks), dtype=torch.float32, device=query.device)
    whole = query.dtype == torch.float32
    places = heads, *query.stride()[:3], *key.stride()[:3]
    sizes = {"CHANNELS": max(16, triton.next_power_of_2(channels)), "WHOLE": whole}
    q, k, w = _SUMS[whole]
    _add_up[(triton.cdiv(asks, q), batch * heads)](
        query, key, total, scale, *places, asks, tokens, channels,
        QUERIES=q, KEYS=k, num_warps=w, **sizes,
    )  # fmt: skip
    q, k, w = _PRODUCTS[whole]
    _weigh[(triton.cdiv(tokens, k), batch * heads, triton.cdiv(number, _ROWS))](
        query, key, rows, total, out, scale, *places, number, asks, tokens, channels,
        QUERIES=q, KEYS=k, ROWS=_ROWS, num_warps=w, **sizes,
    )  # fmt: skip
    return out


@triton.jit
def _tile(start, base, step, limit, channels, SIZE: tl.constexpr, CHANNELS: tl.constexpr):
    """Load some tokens of a head, which lie a step apart."""
    token, channel = start + tl.arange(0, SIZE), tl.arange(0, CHANNELS)
    there = (token[:, None] < limit) & (channel[None, :] < channels)
    return tl.load(base + token[:, None] * step + channel[None, :], mask=there, other=0.0)


@triton.jit
def _scores(a, b, WHOLE: tl.constexpr):
    """Return products of channels, of numbers of 32 bits to (nearly) their last digit."""
    if WHOLE:
        return tl.dot(a, tl.trans(b), input_precision="tf32x3")
    return tl.dot(a, tl.trans(b))


@triton.jit
def _add_up(
    query, key, total, scale, heads, q_image, q_head, q_token, k_image, k_head, k_token,
    asks, tokens, channels,
    CHANNELS: tl.constexpr, QUERIES: tl.constexpr, KEYS: tl.constexpr, WHOLE: tl.constexpr,
):  # fmt: skip
    """Write the logarithm to base 2 of what a block of queries' weights add up to."""
    head, block = tl.program_id(1).to(tl.int64), tl.program_id(0)
    query += (head // heads) * q_image + (head % heads) * q_head
    key += (head // heads) * k_image + (head % heads) * k_head
    q = _tile(block * QUERIES, query, q_token, asks, channels, QUERIES, CHANNELS)
    most = tl.full([QUERIES], float("-inf"), tl.float32)
    summed = tl.zeros([QUERIES], tl.float32)
    for start in range(0, tokens, KEYS):
        k = _tile(start, key, k_token, tokens, channels, KEYS, CHANNELS)
        score = _scores(q, k, WHOLE) * scale
        there = start + tl.arange(0, KEYS) < tokens
        score = tl.where(there[None, :], score, float("-inf"))
        higher = tl.maximum(most, tl.max(score, 1))
        summed = summed * tl.exp2(most - higher) + tl.sum(tl.exp2(score - higher[:, None]), 1)
        most = higher
    place = block * QUERIES + tl.arange(0, QUERIES)
    tl.store(total + head * asks + place, most + tl.log2(summed), mask=place < asks)


@triton.jit
def _weigh(
    query, key, rows, total, out, scale, heads, q_image, q_head, q_token, k_image, k_head, k_token,
    number, asks, tokens, channels,
    ROWS: tl.constexpr, CHANNELS: tl.constexpr, QUERIES: tl.constexpr, KEYS: tl.constexpr,
    WHOLE: tl.constexpr,
):  # fmt: skip
    """Write some rows times the weights of a block of keys."""
    head, block, part = tl.program_id(1).to(tl.int64), tl.program_id(0), tl.program_id(2)
    query += (head // heads) * q_image + (head % heads) * q_head
    key += (head // heads) * k_image + (head % heads) * k_head
    k = _tile(block * KEYS, key, k_token, tokens, channels, KEYS, CHANNELS)
    column = block * KEYS + tl.arange(0, KEYS)
    row = part * ROWS + tl.arange(0, ROWS)
    first = rows + (head // heads) * number * asks
    added = tl.zeros([KEYS, ROWS], tl.float32)
    for start in range(0, asks, QUERIES):
        q = _tile(start, query, q_token, asks, channels, QUERIES, CHANNELS)
        place = start + tl.arange(0, QUERIES)
        # Where there is no query, its weights are 0.
        log = tl.load(total + head * asks + place, mask=place < asks, other=float("inf"))
        weight = tl.exp2(_scores(k, q, WHOLE) * scale - log[None, :])
        known = (row[None, :] < number) & (place[:, None] < asks)
        given = tl.load(first + row[None, :] * asks + place[:, None], mask=known, other=0.0)
        if WHOLE:
            added = tl.dot(weight, given, added, input_precision="tf32x3")
        else:  # in two parts of 16 bits each, which tensor cores multiply more quickly
            some, most = weight.to(tl.bfloat16), given.to(tl.bfloat16)
            less = (given - most.to(tl.float32)).to(tl.bfloat16)
            added = tl.dot(some, most, added)
            added = tl.dot(some, less, added)
            added = tl.dot((weight - some.to(tl.float32)).to(tl.bfloat16), most, added)
    there = (row[None, :] < number) & (column[:, None] < tokens)
    spot = (head * number + row[None, :]) * tokens + column[:, None]
    tl.store(out + spot, added, mask=there)
