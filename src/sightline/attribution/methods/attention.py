"""Attention as maps: rows of softmax(Q K') seen in passing, never a whole layer's matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from sightline.attribution.methods.methods import Found, Request, asked_goal, register
from sightline.attribution.methods.weights import fused_weights, weighted_rows
from sightline.core import InputError
from sightline.core.errors import shown
from sightline.models.attention import Heads, seen_attention, seen_pooling

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from torch import Tensor

    from sightline.attribution.methods.targets import Goal
    from sightline.models import Inputs, Model

__all__: list[str] = []


@register(
    "cls",
    what="Attention of the class token to each patch.",
    group="attention",
    sign="positive",
    needs=("attention", "class token"),
    layered=True,
    headed=True,
    paper="Caron et al. 2021, arXiv:2104.14294",
)
def cls(model: Model, inputs: Inputs, request: Request) -> Found:
    """Return the class token's row of the attention of each layer."""

    def row(heads: Heads) -> Tensor:
        return weighted_rows(*_first(model, heads))[:, :, 0]

    if (shared := _together(model, inputs, request)) is not None:
        return _laid_out(model, inputs, request, shared["cls"])
    return _layer_maps(model, inputs, request, row)


@register(
    "mean",
    what="Attention that each patch receives, averaged over all tokens that give it.",
    group="attention",
    sign="positive",
    needs=("attention",),
    cost="1, and the attention weights once more",
    layered=True,
    headed=True,
)
def mean(model: Model, inputs: Inputs, request: Request) -> Found:
    """Return the mean over the rows of the attention of each layer."""

    def received(heads: Heads) -> Tensor:
        return weighted_rows(heads, _even(heads))[:, :, 0]

    if (shared := _together(model, inputs, request)) is not None:
        return _laid_out(model, inputs, request, shared["mean"])
    return _layer_maps(model, inputs, request, received)


@register(
    "pool",
    what="Attention of the pooling head to each patch, at the end of the network.",
    group="attention",
    sign="positive",
    needs=("pooling",),
    headed=True,
    paper="Zhai et al. 2023, arXiv:2303.15343",
)
def pool(model: Model, inputs: Inputs, request: Request) -> Found:
    """Return the weights with which the pooling head sums up the patches."""
    seen: list[Tensor] = []
    with seen_pooling(model, seen.append):
        model(inputs.pixels)
    return Found([_on_grid(model, inputs, request, seen[-1])])


@register(
    "rollout",
    what="Attention followed down through all layers, half of it passing each one by.",
    group="attention",
    sign="positive",
    needs=("attention",),
    cost="1, and the attention weights once more",
    layered=True,
    params={"fusion": "mean", "discard": 0.0},
    about={
        "fusion": "how the heads of a layer become one: mean, max or min",
        "discard": "share of a layer's smallest weights that are set to 0, from 0 to below 1",
    },
    paper="Abnar & Zuidema 2020, arXiv:2005.00928",
)
def rollout(model: Model, inputs: Inputs, request: Request) -> Found:
    """Return, for each layer, the start row times the mixed attention of it and all below."""
    fusion, discard = _checked_rollout(request)
    if fusion == "mean" and not discard:
        shared = _together(model, inputs, request)
        if shared is not None:
            return _laid_out(model, inputs, request, shared["rollout"])
    kept = _kept_heads(model, inputs, request)

    def step(layer: int, rows: Tensor) -> Tensor:
        heads = kept.pop(layer)
        if fusion == "mean" and not discard:
            return (rows + weighted_rows(heads, rows).mean(1)) / 2
        return torch.stack([_mixed(heads, i, rows[i], fusion, discard) for i in range(len(rows))])

    start = _start(model, kept[0])
    return Found(_followed(model, inputs, request, start, step))


@register(
    "grad_attention",
    what="Attention of the class token where more of it would raise the class: gradient times "
    "attention, positive part; received attention where there is no class token.",
    group="attention",
    sign="positive",
    needs=("attention", "classes"),
    gradients=True,
    cost="1, and 1 backward",
    layered=True,
    headed=True,
    paper="Chefer et al. 2021, arXiv:2012.09838",
)
def grad_attention(model: Model, inputs: Inputs, request: Request) -> Found:
    """Return the start row of the positive part of gradient times attention, by layer."""
    graded, goal = _graded_heads(model, inputs, request, request.layers)
    with torch.no_grad():
        maps = []
        for layer in request.layers:
            heads, gradient = graded[layer]
            row = weighted_rows(heads, _start(model, heads), gradient)[:, :, 0]
            maps.append(_on_grid(model, inputs, request, row))
    return Found(maps, goal)


@register(
    "grad_rollout",
    what="Gradient-weighted attention followed down through all layers, added to what passes by.",
    group="attention",
    sign="positive",
    needs=("attention", "classes"),
    gradients=True,
    cost="1, and 1 backward",
    layered=True,
    paper="Chefer et al. 2021, arXiv:2103.15679",
)
def grad_rollout(model: Model, inputs: Inputs, request: Request) -> Found:
    """Return, for each layer, the relevance of the patches to the start row at that layer."""
    below = tuple(range(max(request.layers) + 1))
    graded, goal = _graded_heads(model, inputs, request, below)

    def step(layer: int, rows: Tensor) -> Tensor:
        heads, gradient = graded.pop(layer)
        return rows + weighted_rows(heads, rows, gradient).mean(1)

    with torch.no_grad():
        start = _start(model, graded[0][0])
        return Found(_followed(model, inputs, request, start, step), goal)


def _start(model: Model, heads: Heads) -> Tensor:
    """Return the rows to begin with: the class token's; the mean of all where there is none."""
    if not model.has_class_token:
        return _even(heads)
    rows = torch.zeros_like(_even(heads))
    rows[:, :, model.prefix.index("class")] = 1
    return rows


def _even(heads: Heads) -> Tensor:
    batch, _, count, _ = heads.query.shape
    return heads.query.new_full((batch, 1, count), 1 / count, dtype=torch.float32)


def _first(model: Model, heads: Heads) -> tuple[Heads, Tensor]:
    """Return the class token's query alone on a device, which need not look where rows are 0."""
    rows = _start(model, heads)
    if rows.device.type == "cpu" or heads.mask is not None:  # zeros are skipped, no one waits
        return heads, rows
    token = model.prefix.index("class")
    alone = heads._replace(query=heads.query[:, :, token : token + 1])
    return alone, rows[:, :, token : token + 1]


def _layer_maps(
    model: Model, inputs: Inputs, request: Request, reduce: Callable[[Heads], Tensor]
) -> Found:
    """Return what becomes of each layer's heads while the network runs."""
    found: dict[int, Tensor] = {}

    def see(layer: int, heads: Heads) -> None:
        if layer in request.layers:
            found[layer] = reduce(heads)

    _show(model, inputs, request, request.layers, see)
    _check_seen(model, found, request.layers)
    return _laid_out(model, inputs, request, found)


def _laid_out(model: Model, inputs: Inputs, request: Request, rows: dict[int, Tensor]) -> Found:
    """Return the rows of layers as maps."""
    return Found([_on_grid(model, inputs, request, rows[layer]) for layer in request.layers])


def _together(
    model: Model, inputs: Inputs, request: Request
) -> dict[str, dict[int, Tensor]] | None:
    """Return the rows of all methods that share a pass, by method and layer; None without any.

    The weights of a layer are then made once for all of them. A row is what it would be alone.
    """
    passed, layers = request.passed, range(len(model.layers))
    if passed is None or not passed.methods or request.layers != tuple(layers):
        return None
    if passed.rows is None:
        kept = _kept_heads(model, inputs, request)
        if any(heads.mask is not None for heads in kept.values()):
            return None  # matrix products: a row's last bits depend on how many there are
        start, even = _start(model, kept[0]), _even(kept[0])
        others = {"cls": start, "mean": even}
        beside = {name: others[name] for name in passed.methods if name in others}
        found: dict[str, dict[int, Tensor]] = {name: {} for name in beside}
        rows = start[:, :0]
        for layer in reversed(layers):
            rows = torch.cat([rows, start], 1)
            products = weighted_rows(kept.pop(layer), torch.cat([rows, *beside.values()], 1))
            for place, name in enumerate(beside, start=rows.shape[1]):
                found[name][layer] = products[:, :, place].clone()
            rows = (rows + products[:, :, : rows.shape[1]].mean(1)) / 2
        last = len(layers) - 1
        found["rollout"] = {layer: rows[:, None, last - layer] for layer in layers}
        passed.settle(found)
    return passed.rows


def _show(
    model: Model,
    inputs: Inputs,
    request: Request,
    layers: Iterable[int],
    see: Callable[[int, Heads], None],
) -> None:
    """Show some layers' heads: those of a pass that another method has made, or of a new one."""
    passed = request.passed
    known = None if passed is None else passed.of(layers)
    if known is not None:
        for layer, heads in known.items():
            see(layer, heads)
        return

    def both(layer: int, heads: Heads) -> None:
        if passed is not None:
            passed.add(layer, heads)
        see(layer, heads)

    with seen_attention(model, both):
        model(inputs.pixels)


def _check_seen(model: Model, found: dict[int, Any], layers: tuple[int, ...]) -> None:
    missing = [layer for layer in layers if layer not in found]
    if missing:
        raise InputError(
            f"layer {missing[0]} of {model.name} calls neither transformers' attention interface "
            "nor torch's scaled_dot_product_attention: its attention cannot be seen"
        )


def _on_grid(model: Model, inputs: Inputs, request: Request, rows: Tensor) -> Tensor:
    """Return rows `(batch, heads, tokens)` as `(batch, heads, rows, columns)` of patches."""
    columns, lines = inputs.geometries[0].grid
    patches = rows[..., len(model.prefix) :]
    if patches.shape[-1] != columns * lines:
        raise InputError(
            f"{model.name}: attention over {rows.shape[-1]} tokens does not fit a grid of "
            f"{columns}x{lines} patches after {len(model.prefix)} others"
        )
    fused = patches.mean(1, keepdim=True)
    every = request.heads == tuple(range(patches.shape[1]))  # a list would wait for the device
    chosen = patches if every else fused
    if request.heads is not None and not every:
        chosen = patches[:, list(request.heads)]
    return chosen.unflatten(-1, (lines, columns))


def _followed(
    model: Model,
    inputs: Inputs,
    request: Request,
    start: Tensor,
    step: Callable[[int, Tensor], Tensor],
) -> list[Tensor]:
    """Follow the start row of every layer asked for down to the input, all of them together."""
    rows, begun = start[:, :0], []
    for layer in range(max(request.layers), -1, -1):
        if layer in request.layers:
            rows = torch.cat([rows, start], 1)
            begun.append(layer)
        rows = step(layer, rows)
    return [
        _on_grid(model, inputs, request, rows[:, None, begun.index(layer)])
        for layer in request.layers
    ]


def _kept_heads(model: Model, inputs: Inputs, request: Request) -> dict[int, Heads]:
    """Return queries and keys of all layers to the last; what else they hold is let go."""
    wanted, kept = tuple(range(max(request.layers) + 1)), dict[int, Heads]()

    def see(layer: int, heads: Heads) -> None:
        if layer in wanted:
            kept[layer] = heads.without_values()

    _show(model, inputs, request, wanted, see)
    _check_seen(model, kept, wanted)
    return kept


def _graded_heads(
    model: Model, inputs: Inputs, request: Request, layers: tuple[int, ...]
) -> tuple[dict[int, tuple[Heads, Tensor]], Goal]:
    """Return the heads of layers with the gradient of their output, and what was explained.

    The gradient of the weights is never kept: it is the output's gradient times the values.
    """
    kept: dict[int, Heads] = {}

    def see(layer: int, heads: Heads) -> None:
        if layer in layers:
            kept[layer] = heads

    with torch.enable_grad(), seen_attention(model, see):
        output = model(inputs.pixels.clone().requires_grad_())
        goal = asked_goal(request).settled(output)
        score = goal.scores(output).sum()
    _check_seen(model, kept, layers)
    slopes = torch.autograd.grad(score, [kept[layer].output for layer in layers])
    graded = {}
    for layer, slope in zip(layers, slopes, strict=True):
        graded[layer] = kept[layer].detached(), slope.transpose(1, 2)
    return graded, goal


def _checked_rollout(request: Request) -> tuple[str, float]:
    fusion, discard = request.params["fusion"], request.params["discard"]
    if fusion not in ("mean", "max", "min"):
        raise InputError(f"fusion must be mean, max or min, got {shown(fusion)}")
    numeric = isinstance(discard, int | float | np.number) and not isinstance(discard, bool)
    if not numeric or not 0 <= discard < 1:
        raise InputError(f"discard must be a share from 0 to below 1, got {shown(discard)}")
    return fusion, float(discard)


def _mixed(heads: Heads, image: int, rows: Tensor, fusion: str, discard: float) -> Tensor:
    """Return rows `(m, tokens)` times the fused attention of one image, half of it passing by."""
    fused = fused_weights(heads.of(image), fusion)
    _drop_least(fused, discard)
    scaled = rows / (1 + fused.sum(-1))  # the rows of weights and identity then sum to 1
    return scaled + scaled @ fused


def _drop_least(weights: Tensor, share: float) -> None:
    """Take the smallest weights away, a share of their number, in place.

    Where only some of several equal weights would go, each of them loses the same part: an order
    among them would say something that they do not.
    """
    dropped = int(share * weights.numel())
    if not dropped:
        return
    least = weights.flatten().kthvalue(dropped).values
    below, tied = weights < least, weights == least
    kept = (below.sum() + tied.sum() - dropped) / tied.sum()
    weights.masked_fill_(below, 0).masked_fill_(tied, least * kept)
