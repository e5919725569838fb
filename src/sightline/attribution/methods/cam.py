"""Class activation maps: which cells of a layer hold what raises the class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from sightline.attribution.methods.heads import linear_head
from sightline.attribution.methods.methods import Found, Request, asked_goal, register
from sightline.core import InputError
from sightline.core.errors import shown
from sightline.models.hooks import first_tensor, outputs

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor, nn

    from sightline.models import Inputs, Model, Output

__all__ = ["read_layers"]


@register(
    "gradcam",
    what="Channels of a layer summed with the mean gradient of each as its weight.",
    group="cam",
    sign="positive",
    needs=("classes", "layers"),
    gradients=True,
    cost="1, and 1 backward",
    layered=True,
    paper="Selvaraju et al. 2017, arXiv:1610.02391",
)
def gradcam(model: Model, inputs: Inputs, request: Request) -> Found:
    """Return the weighted sum of channels of each layer; what is below 0 stays so."""

    def weigh(channels: Tensor, gradient: Tensor) -> Tensor:
        return channels * gradient.mean((2, 3), keepdim=True)

    return _graded("gradcam", model, inputs, request, weigh)


@register(
    "gradcam_pp",
    what="Channels of a layer summed with weights from the cells where more of them raises the "
    "class, so that several instances count alike (Grad-CAM++).",
    group="cam",
    sign="positive",
    needs=("classes", "layers"),
    gradients=True,
    cost="1, and 1 backward",
    layered=True,
    paper="Chattopadhyay et al. 2018, arXiv:1710.11063",
)
def gradcam_pp(model: Model, inputs: Inputs, request: Request) -> Found:
    """Return the sum of channels, each with the weight Σ relu(g) / (2 + S g) over its cells.

    That is the paper's Σ α relu(g) with α = g² / (2 g² + S g³), where g is the gradient of a cell
    and S the sum of the channel's activations. The paper is about activations of 0 or more. Where
    some are below 0, S is the sum of the others, so that the denominator is never 0. Nothing is
    added to it: the 1e-6 of pytorch-grad-cam is as large as g² often is.
    """

    def weigh(channels: Tensor, gradient: Tensor) -> Tensor:
        rising, total = gradient.relu(), channels.relu().sum((2, 3), keepdim=True)
        return channels * (rising / (2 + total * rising)).sum((2, 3), keepdim=True)

    return _graded("gradcam_pp", model, inputs, request, weigh)


@register(
    "hirescam",
    what="Activations of a layer times their gradients, cell by cell, summed over the channels; "
    "adds up to the class where all after the layer is linear, and is 0 right before a norm of "
    "each cell.",
    group="cam",
    sign="positive",
    needs=("classes", "layers"),
    gradients=True,
    cost="1, and 1 backward",
    layered=True,
    paper="Draelos & Carin 2020, arXiv:2011.08891",
)
def hirescam(model: Model, inputs: Inputs, request: Request) -> Found:
    """Return activations times gradients, summed over the channels.

    A norm of each cell (after the last stage of Swin, the stages of ConvNeXt) does not change when
    the cell is scaled, so that right before it the sum is 0 whatever the image. Such a map is 0
    everywhere: what rounding leaves of it is taken off.
    """

    def weigh(channels: Tensor, gradient: Tensor) -> Tensor:
        return channels * gradient

    return _graded("hirescam", model, inputs, request, weigh)


@register(
    "xgradcam",
    what="Channels of a layer summed with the mean gradient of each as its weight, in which cells "
    "count by how active the channel is there.",
    group="cam",
    sign="positive",
    needs=("classes", "layers"),
    gradients=True,
    cost="1, and 1 backward",
    layered=True,
    paper="Fu et al. 2020, arXiv:2008.02312",
)
def xgradcam(model: Model, inputs: Inputs, request: Request) -> Found:
    """Return the sum of channels with weights Σ |a| g / Σ |a| over the cells.

    With activations a of 0 or more, for which the paper is written, these are its weights. Where
    some are below 0, their plain sum may be 0, and the paper's weights without bound.
    """

    def weigh(channels: Tensor, gradient: Tensor) -> Tensor:
        active = channels.abs()
        total = active.sum((2, 3), keepdim=True)
        share = active / torch.where(total == 0, torch.ones_like(total), total)
        return channels * (share * gradient).sum((2, 3), keepdim=True)

    return _graded("xgradcam", model, inputs, request, weigh)


@register(
    "layercam",
    what="Activations of a layer summed over the channels, each times its own gradient where that "
    "is above 0: fine also in early layers.",
    group="cam",
    sign="positive",
    needs=("classes", "layers"),
    gradients=True,
    cost="1, and 1 backward",
    layered=True,
    paper="Jiang et al. 2021, doi:10.1109/TIP.2021.3089943",
)
def layercam(model: Model, inputs: Inputs, request: Request) -> Found:
    """Return activations times gradients above 0, summed over the channels."""

    def weigh(channels: Tensor, gradient: Tensor) -> Tensor:
        return channels * gradient.relu()

    return _graded("layercam", model, inputs, request, weigh)


@register(
    "eigencam",
    what="Activations of a layer along their first principal direction, whatever the class.",
    group="cam",
    sign="positive",
    needs=("layers",),
    cost="1",
    layered=True,
    params={"centred": True},
    about={
        "centred": "whether the mean of each channel over the cells is taken off first, without "
        "which maps of transformers show the mean, that is, mostly background; false as in the "
        "paper"
    },
    paper="Muhammad & Yeasin 2020, arXiv:2008.00299",
)
def eigencam(model: Model, inputs: Inputs, request: Request) -> Found:
    """Return the projection of each cell's activations onto their first singular vector.

    A singular vector has no sign of its own. With the mean taken off, up is the side on which cells
    lie farther from it, in all channels: what differs from most of the image, not what fills it.
    As in the paper, up is where the values add up to more than 0: where no activation is below 0,
    no cell is then below 0. For transformers, up is then what fills the image.
    """
    centred = request.params["centred"]
    if not isinstance(centred, bool):
        raise InputError(f"centred must be true or false, got {shown(centred)}")
    found, _ = read_layers("eigencam", model, inputs, request)
    return Found([_first_direction(channels, centred) for channels in found])


@register(
    "cam",
    what="Last features summed with the weights of the linear layer that makes the class of their "
    "mean; its mean, with the bias of the layer, is the class.",
    group="cam",
    sign="positive",
    needs=("classes", "linear head"),
    cost="1",
    paper="Zhou et al. 2016, arXiv:1512.04150",
)
def cam(model: Model, inputs: Inputs, request: Request) -> Found:
    """Return the features with the weights of the head.

    Where a norm stands before the linear layer, its spread for this image is part of the weights.
    """
    output = model(inputs.pixels)
    goal, head = asked_goal(request).settled(output), linear_head(model)
    pooled = output.features.mean((2, 3)).detach().requires_grad_()
    with torch.enable_grad():
        logits = None if head is None else head(pooled)
        scores = goal.scores(output._replace(logits=logits, embedding=pooled))
        (weights,) = torch.autograd.grad(scores.sum(), pooled)
    wanted = goal.scores(output)
    # A mean of patches is also what an embedding is, in networks without a class token.
    share = max(1e-3, 8 * torch.finfo(wanted.dtype).eps)
    if (scores - wanted).abs().max() > share * max(1.0, wanted.abs().max().item()):
        raise InputError(
            f"cam: the target of {model.name} does not follow from the mean of its last features "
            f"by a linear layer; hirescam is the same map where it does, and works here too"
        )
    return Found([(output.features * weights[:, :, None, None]).sum(1, keepdim=True)], goal)


def read_layers(
    name: str, model: Model, inputs: Inputs, request: Request
) -> tuple[list[Tensor], Output]:
    """Return what the layers asked for give on their grids, and the output, of one pass."""
    modules = {layer: model.cam_layers[layer] for layer in request.layers}
    with outputs(modules.values()) as seen:
        output = model(inputs.pixels)
    values = [_output(name, model, seen, *item) for item in modules.items()]
    return [model.to_grid(value, inputs.pixels) for value in values], output


def _graded(
    name: str,
    model: Model,
    inputs: Inputs,
    request: Request,
    weigh: Callable[[Tensor, Tensor], Tensor],
) -> Found:
    """Return the sum over the channels of `weigh(channels, gradient)`, for each layer."""
    modules = {layer: model.cam_layers[layer] for layer in request.layers}
    with torch.enable_grad(), outputs(modules.values()) as seen:
        output = model(inputs.pixels.clone().requires_grad_())
        goal = asked_goal(request).settled(output)
        score = goal.scores(output).sum()
    values = [_output(name, model, seen, *item) for item in modules.items()]
    slopes = torch.autograd.grad(score, values, allow_unused=True)
    maps = []
    for layer, value, slope in zip(modules, values, slopes, strict=True):
        if slope is None:
            raise InputError(f"{name}: no class of {model.name} depends on layer {layer}")
        grids = [model.to_grid(part, inputs.pixels) for part in (value.detach(), slope)]
        maps.append(_summed(weigh(*grids)))
    return Found(maps, goal)


def _summed(parts: Tensor) -> Tensor:
    """Return the sum over the channels: exactly 0 for an image where they cancel in every cell.

    That is: where no cell has 1e-4 of what its channels could add up to. Rounding leaves less, and
    so does the small number that a norm adds to the variance of a cell.
    """
    found, least = parts.sum(1, keepdim=True), max(1e-4, 2 * torch.finfo(parts.dtype).eps)
    could = parts.abs().sum(1, keepdim=True, dtype=torch.float32).amax((1, 2, 3), keepdim=True)
    return found.masked_fill(found.abs().amax((1, 2, 3), keepdim=True) <= least * could, 0)


def _output(
    name: str, model: Model, seen: dict[nn.Module, Any], layer: int, module: nn.Module
) -> Tensor:
    if module not in seen:
        raise InputError(f"{name}: layer {layer} of {model.name} was not used in its forward pass")
    return first_tensor(seen[module])


def _first_direction(channels: Tensor, centred: bool) -> Tensor:
    """Return how far the cells reach along the direction in which they reach farthest."""
    cells = channels.flatten(2).transpose(1, 2).double()
    if centred:
        cells = cells - cells.mean(1, keepdim=True)
    turned = cells.transpose(1, 2)
    # Of the two matrices with the same eigenvalues the smaller one.
    if cells.shape[1] < cells.shape[2]:
        values, vectors = torch.linalg.eigh(cells @ turned)
        found = vectors[:, :, -1] * values[:, -1:].clamp(min=0).sqrt()
    else:
        found = (cells @ torch.linalg.eigh(turned @ cells)[1][:, :, -1:])[:, :, 0]
    sizes = cells.norm(dim=2) if centred else torch.ones_like(found)
    sign = torch.where((found * sizes).sum(1, keepdim=True) < 0, -1.0, 1.0)
    return (found * sign).to(channels.dtype).view(len(channels), 1, *channels.shape[2:])
