"""The whole score of a class, taken apart: what pixels add, and what each bias adds at each place.

A network of ReLUs is straight around an image. There, pixels times gradient and all biases times
the gradients at their places add up to the score exactly. Other networks have more parts than
biases (a norm by tokens, a softmax), which are left out; so are biases that no module of its own
adds, such as those within torch's `MultiheadAttention`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn import functional

from sightline.attribution.methods.methods import Found, Request, asked_goal, register
from sightline.core import InputError
from sightline.models.hooks import running

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from sightline.attribution.methods.targets import Goal
    from sightline.models import Inputs, Model

__all__ = ["bias_like", "bias_of", "each_part"]

_CHANNELS_FIRST = (nn.modules.conv._ConvNd, nn.modules.batchnorm._NormBase, nn.GroupNorm)
_BIASED = (*_CHANNELS_FIRST, nn.Linear, nn.LayerNorm)


@register(
    "fullgrad",
    what="Size of what each pixel adds to the class, and of what each bias of the network adds at "
    "each place, summed over channels and layers.",
    group="gradient",
    sign="positive",
    needs=("classes",),
    gradients=True,
    cost="1, and 1 backward",
    paper="Srinivas & Fleuret 2019, arXiv:1905.00780",
)
def fullgrad(model: Model, inputs: Inputs, request: Request) -> Found:
    """Return the sum of the sizes of all parts, each spread over the pixels of its cell.

    Parts come as they are: the paper first brings those of each layer to a largest value of 1.
    The parts of a cell are spread over its pixels by bilinear interpolation, which keeps their
    sum, so that layers count by what they add. Parts without a place are left out: those of the
    classifier, and of tokens that are no patches.
    """
    pixels = inputs.pixels
    total = torch.zeros_like(pixels[:, :1])

    def add(part: Tensor, axis: int) -> None:
        cells = _cells(model, part.abs().sum(axis), pixels, loose=axis == 1)
        if cells is not None:
            total.add_(_spread(cells, pixels))

    goal = each_part(model, pixels, asked_goal(request), add)
    return Found([total], goal)


def each_part(
    model: Model, pixels: Tensor, goal: Goal, take: Callable[[Tensor, int], None]
) -> Goal:
    """Call `take(part, axis)` with each part of the scores, and return the goal, settled.

    The first axis of a part is that of the images (or of windows of them, for a layer that cuts
    them up), `axis` that of channels. A part lives only while it is taken.
    """

    def run(module: nn.Module, forward: Callable[[Tensor], Any], value: Tensor) -> Any:
        output = forward(value)
        found = bias_of(module)
        if found is not None and isinstance(output, torch.Tensor) and output.requires_grad:
            bias, axis = found
            output.register_hook(lambda slope: take(slope * bias_like(slope, bias, axis), axis))
        return output

    leaf = pixels.detach().clone().requires_grad_()
    modules = [module for module in model.network.modules() if isinstance(module, _BIASED)]
    with torch.enable_grad(), running(modules, run):
        output = model(leaf)
        goal = goal.settled(output)
        score = goal.scores(output).sum()
    take(torch.autograd.grad(score, leaf)[0] * pixels, 1)
    return goal


def bias_of(module: nn.Module) -> tuple[Tensor, int] | None:
    """Return what a module adds to its output, and the axis of channels there.

    A batch norm adds its bias less what it makes of the mean. None where nothing is added.
    """
    bias: Any = getattr(module, "bias", None)
    if isinstance(module, nn.modules.batchnorm._NormBase) and module.running_mean is not None:
        scale = torch.rsqrt(module.running_var + module.eps)
        scale = scale if module.weight is None else scale * module.weight
        bias = (0 if bias is None else bias) - module.running_mean * scale
    if not isinstance(bias, torch.Tensor):
        return None
    first = isinstance(module, _CHANNELS_FIRST) or _is_channels_first(module)
    return bias.detach(), 1 if first else -bias.ndim


def bias_like(values: Tensor, bias: Tensor, axis: int) -> Tensor:
    """Return a bias so that it can be multiplied with values at all places."""
    return bias.reshape(-1, *[1] * (values.ndim - 2)) if axis == 1 else bias


def _is_channels_first(module: nn.Module) -> bool:
    """Return whether a norm over the last axis turns its input for that, as ConvNeXt's does.

    Transformers says so in an attribute, timm and torchvision by the name: LayerNorm2d.
    """
    named = "Norm2d" in type(module).__name__
    return named or getattr(module, "data_format", "") == "channels_first"


def _cells(model: Model, places: Tensor, pixels: Tensor, *, loose: bool) -> Tensor | None:
    """Return the parts of each place on the grid of their layer; None where they have no place.

    A convolution may lose some places at the borders (`loose`). Elsewhere, cells that do not fill
    the input are something else: the tokens of each head, say.
    """
    if len(places) != len(pixels) or places.ndim not in (2, 3):
        return None
    if places.ndim == 2:
        try:
            places = model.to_grid(places[:, :, None], pixels)[:, 0]
        except InputError:  # tokens, but not those of the patches
            return None
    height, width = pixels.shape[-2:]
    rows, columns = places.shape[1:]
    fills = rows * width * model.patch[1] == columns * height * model.patch[0]
    return places[:, None] if rows * columns > 1 and (fills or loose) else None


def _spread(cells: Tensor, pixels: Tensor) -> Tensor:
    """Return what cells hold over the pixels: smooth, with the same sum."""
    size = pixels.shape[-2:]
    share = cells[0].numel() / (size[0] * size[1])
    return functional.interpolate(cells * share, size, mode="bilinear", align_corners=False)
