"""Class activation maps whose weights come from runs of the network, one for each channel."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional

from sightline.attribution.methods.cam import read_layers
from sightline.attribution.methods.copies import score_copies
from sightline.attribution.methods.methods import Found, Request, asked_goal, register, whole_number
from sightline.models.hooks import edited

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch import Tensor, nn

    from sightline.attribution.methods.targets import Goal
    from sightline.models import Inputs, Model, Output

__all__: list[str] = []

_CHANNELS: dict[str, Any] = {
    "params": {"channels": None},
    "about": {
        "channels": "how many channels of each layer, those that vary most over the cells; all "
        "unless given"
    },
}


@register(
    "scorecam",
    what="Channels of a layer summed with weights that say what the class is where the image is "
    "seen through each of them.",
    group="cam",
    sign="positive",
    needs=("classes", "layers"),
    cost="1, and 1 for each channel of each layer",
    layered=True,
    **_CHANNELS,
    paper="Wang et al. 2020, arXiv:1910.01279",
)
def scorecam(model: Model, inputs: Inputs, request: Request) -> Found:
    """Return the sum of channels, weighted by the softmax over channels of what the class then is.

    A channel is brought to the pixels of the input (bilinear) and from 0 to 1, and multiplied with
    them; 0 is the mean colour. A channel that is the same everywhere shows nothing and gets no
    weight.
    """
    layers, output = read_layers("scorecam", model, inputs, request)
    goal = asked_goal(request).settled(output)
    maps = []
    for values in layers:
        chosen = _strongest(values, request)
        scores = _seen_through(model, inputs, goal, chosen, request.batch)
        flat = chosen.amax((2, 3)) == chosen.amin((2, 3))
        scores = scores.masked_fill(flat & ~flat.all(1, keepdim=True), -torch.inf)
        maps.append(_weighted(chosen, scores.softmax(1)))
    return Found(maps, goal)


@register(
    "ablationcam",
    what="Channels of a layer summed with how much the class drops without each as its weight.",
    group="cam",
    sign="positive",
    needs=("classes", "layers"),
    cost="1, and 1 for each channel of each layer, from that layer on",
    layered=True,
    paper="Desai & Ramaswamy 2020, doi:10.1109/WACV45572.2020.9093360",
    **_CHANNELS,
)
def ablationcam(model: Model, inputs: Inputs, request: Request) -> Found:
    """Return the sum of channels, weighted by the drop of the class where the channel is 0.

    The paper divides the drop by the class itself. That is one factor for a whole map, but it
    turns the map round where the logit is below 0: it is left out. A channel is set to 0 in all
    patches; other tokens, which the map does not show, keep theirs. A drop is a small difference
    of large numbers: in single precision, rounding may reach some 1e-4 of the map.
    """
    layers, output = read_layers("ablationcam", model, inputs, request)
    goal = asked_goal(request).settled(output)
    scores, maps = goal.scores(output), []
    for layer, values in zip(request.layers, layers, strict=True):
        numbers = _numbers(values, request)
        module, pixels = model.cam_layers[layer], inputs.pixels
        if _can_start_at(model, pixels, module, output):
            # What follows a late layer is small beside a whole pass.
            room = request.batch * max(1, pixels[0].numel() // (4 * values[0].numel()))
            left = _from_layer(model, pixels, goal, module, numbers, room)
        else:
            left = _from_pixels(model, pixels, goal, module, numbers, request.batch)
        maps.append(_weighted(_take(values, numbers), scores[:, None] - left))
    return Found(maps, goal)


def _numbers(values: Tensor, request: Request) -> Tensor:
    """Return the channels to use of each image, in their order: `(images, count)`."""
    count = values.shape[1]
    if request.params["channels"] is not None:
        count = min(count, whole_number(request, "channels", 1))
    return values.float().var((2, 3)).topk(count).indices.sort(1).values


def _take(values: Tensor, numbers: Tensor) -> Tensor:
    """Return some channels of each image."""
    return values.gather(1, numbers[:, :, None, None].expand(-1, -1, *values.shape[2:]))


def _strongest(values: Tensor, request: Request) -> Tensor:
    return _take(values, _numbers(values, request))


def _weighted(channels: Tensor, weights: Tensor) -> Tensor:
    return (channels * weights.to(channels.dtype)[:, :, None, None]).sum(1, keepdim=True)


def _seen_through(model: Model, inputs: Inputs, goal: Goal, channels: Tensor, batch: int) -> Tensor:
    """Return the goal of each image seen through each of its channels: `(images, channels)`."""

    def through(copies: Tensor, images: Tensor, numbers: Tensor) -> Tensor:
        picked = channels[images, numbers][:, None]
        large = functional.interpolate(picked, size=copies.shape[2:], mode="bilinear")
        least, most = large.amin((2, 3), keepdim=True), large.amax((2, 3), keepdim=True)
        spread = torch.where(most > least, most - least, torch.ones_like(most))
        return copies * ((large - least) / spread)

    return score_copies(model, inputs.pixels, goal, channels.shape[1], through, batch)


def _from_pixels(
    model: Model, pixels: Tensor, goal: Goal, module: nn.Module, numbers: Tensor, batch: int
) -> Tensor:
    """Return the goal without each channel, by whole passes of repeated images."""
    here = numbers[:0, 0]

    def note(copies: Tensor, images: Tensor, which: Tensor) -> Tensor:
        nonlocal here
        here = numbers[images, which]
        return copies

    with edited(module, lambda value: _without(model, here, value)):
        return score_copies(model, pixels, goal, numbers.shape[1], note, batch)


def _from_layer(
    model: Model, pixels: Tensor, goal: Goal, module: nn.Module, numbers: Tensor, batch: int
) -> Tensor:
    """Return the goal without each channel; only what follows the layer runs for each.

    One image enters the network, and the layer gives its copies. What else the network has of
    this image, such as the stream beside a block, is one row that serves them all.
    """
    scores = torch.empty(numbers.shape, dtype=pixels.dtype, device=pixels.device)
    for row in range(len(pixels)):
        for part in torch.arange(numbers.shape[1], device=pixels.device).split(batch):
            here = numbers[row, part]
            with edited(module, partial(_without, model, here)):
                output = model(pixels[row : row + 1])
            rows = torch.full_like(part, row)
            scores[row, part] = goal.take(rows).scores(output)
    return scores


def _can_start_at(model: Model, pixels: Tensor, module: nn.Module, output: Output) -> bool:
    """Return whether copies may begin at a module: two of one image give twice its output."""

    def twice(value: Tensor) -> Tensor:
        return value.expand(2, *value.shape[1:]).clone()

    try:
        with edited(module, twice):
            found = model(pixels[:1])
    except (RuntimeError, ValueError, IndexError):  # it wants as many rows as images
        return False
    pairs = zip(_tensors(found), _tensors(output), strict=True)
    return all(_is_twice(one, other[0]) for one, other in pairs)


def _tensors(parts: Iterable[Any]) -> list[Tensor]:
    """Return all tensors of an output, also those of its detections."""
    found = []
    for part in parts:
        if isinstance(part, torch.Tensor):
            found.append(part)
        elif part is not None:
            found += _tensors(part)
    return found


def _is_twice(pair: Tensor, one: Tensor) -> bool:
    if pair.shape != (2, *one.shape):
        return False
    return bool((pair - one).abs().max() <= 1e-4 * one.abs().max())


def _without(model: Model, channels: Tensor, value: Tensor) -> Tensor:
    """Return copies of what a layer gives, each with one channel of the patches at 0."""
    copies = value.expand(len(channels), *value.shape[1:]).clone()
    rows = torch.arange(len(channels), device=value.device)
    if copies.ndim == 4:
        copies[rows, channels] = 0
    else:
        copies[rows, len(model.prefix) : value.shape[1] - model.suffix, channels] = 0
    return copies
