"""Methods for networks of ReLUs: gradients that pass through them by a rule of their own.

The rules stand in for what the modules compute, call by call. So a module may work in place, and be
used more than once, which Captum's hooks refuse; where they run, the two agree.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import nn
from torch.nn import functional

from sightline.attribution.methods.gradient import farthest, gradient_of, plain_image
from sightline.attribution.methods.methods import (
    RELUS,
    Found,
    Request,
    asked_goal,
    number,
    register,
)
from sightline.core import InputError
from sightline.models.hooks import functions, running

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from sightline.models import Inputs, Model
    from sightline.models.model import Output

__all__ = ["CURVES", "LINEAR", "POOLS", "leaves", "without_rule"]

# Straight but for a kink or two: differences tell their slope exactly, however small.
_KINKED = (*RELUS, nn.LeakyReLU, nn.PReLU, nn.Hardtanh)
# Of one value each, 0 at 0.
CURVES = (
    *_KINKED,
    nn.CELU,
    nn.ELU,
    nn.GELU,
    nn.Hardswish,
    nn.Mish,
    nn.SELU,
    nn.SiLU,
    nn.Softsign,
    nn.Tanh,
)
_ALL_CURVES = (*CURVES, nn.Hardsigmoid, nn.LogSigmoid, nn.Sigmoid, nn.Softplus)
POOLS = (nn.MaxPool2d, nn.AdaptiveMaxPool2d)
# Straight in what they take in, once the network is in evaluation.
LINEAR = (
    nn.modules.conv._ConvNd,
    nn.modules.batchnorm._BatchNorm,
    nn.modules.dropout._DropoutNd,
    nn.AdaptiveAvgPool1d,
    nn.AdaptiveAvgPool2d,
    nn.AvgPool1d,
    nn.AvgPool2d,
    nn.Flatten,
    nn.Identity,
    nn.Linear,
    nn.Unflatten,
    nn.Upsample,
    nn.ZeroPad2d,
)


@register(
    "guided_backprop",
    what="Gradient that passes each ReLU only where it is positive, then taken as in saliency.",
    group="gradient",
    sign="absolute",
    needs=("classes", "ReLU"),
    gradients=True,
    cost="1, and 1 backward",
    paper="Springenberg et al. 2015, arXiv:1412.6806",
)
def guided_backprop(model: Model, inputs: Inputs, request: Request) -> Found:
    """Return the gradient with respect to the pixels, cut at 0 on its way into each ReLU.

    A network that also calls ReLU as a function is refused: there, nothing would be cut.
    """
    used = called = 0

    def guided(_: nn.Module, forward: Callable[[Tensor], Tensor], value: Tensor) -> Tensor:
        nonlocal used, called
        before, used = called, used + 1
        output = forward(value)
        called = before  # what a module calls is its own affair
        if output.requires_grad:
            output.register_hook(lambda slope: slope.clamp(min=0))
        return output

    def count(name: str) -> None:
        nonlocal called
        called += name.rstrip("_") in ("relu", "relu6")

    relus = [module for module in model.network.modules() if isinstance(module, RELUS)]
    with running(relus, guided), functions(count):
        gradient, goal = gradient_of(model, inputs.pixels, asked_goal(request))
    if not used:
        raise InputError(f"guided_backprop: {model.name} holds ReLU modules, but uses none of them")
    if called:
        raise InputError(
            f"guided_backprop: {called} of {called + used} ReLUs of {model.name} are functions, "
            "not modules, which its rule cannot reach; saliency works with it"
        )
    return Found([farthest(gradient)], goal)


@register(
    "deeplift",
    what="What each pixel adds to the class when a plain image becomes this one, passed on in "
    "proportion at each ReLU; adds up to what the class gains.",
    group="gradient",
    sign="absolute",
    needs=("classes", "ReLU"),
    gradients=True,
    cost="1, and 1 backward; 1 of a plain image for each batch",
    params={"baseline": "mean", "tolerance": 0.01},
    about={
        "baseline": "colour of the plain image: mean (of preprocessing), black or white",
        "tolerance": "how far the sum may be from what the class gains, as a share of it; an "
        "error beyond",
    },
    paper="Shrikumar et al. 2017, arXiv:1704.02685",
)
def deeplift(model: Model, inputs: Inputs, request: Request) -> Found:
    """Return contributions by the rescale rule, summed over the channels."""
    tolerance, pixels = number(request, "tolerance", 0), inputs.pixels
    plain = plain_image(model, pixels[:1], request.params["baseline"])
    rules = _Rescaled()
    modules = [m for m in model.network.modules() if isinstance(m, (*_ALL_CURVES, *POOLS))]
    with torch.no_grad(), running(modules, rules.keep):
        before = model(plain)
    leaf = pixels.detach().clone().requires_grad_()
    with torch.enable_grad(), running(modules, rules.run):
        output = model(leaf)
        goal = asked_goal(request).settled(output)
        scores = goal.scores(output)
    slope = torch.autograd.grad(scores.sum(), leaf)[0]
    parts = (pixels - plain) * slope
    gains = scores.detach() - goal.scores(_repeated(before, len(pixels)))
    _check_sum(model, parts, gains, tolerance)
    return Found([parts.sum(1, keepdim=True)], goal)


class _Start(NamedTuple):
    """What a module took in and gave for the plain image."""

    value: Tensor
    output: Tensor


class _Rescaled:
    """Runs modules with the slope between a plain image and others, call by call."""

    def __init__(self) -> None:
        self.starts: dict[tuple[nn.Module, int], _Start] = {}
        self.kept_calls: Counter[nn.Module] = Counter()
        self.run_calls: Counter[nn.Module] = Counter()

    def keep(self, module: nn.Module, forward: Callable[[Tensor], Any], value: Tensor) -> Any:
        """Run a module on the plain image."""
        output = forward(value.clone())  # it may work in place
        if isinstance(output, torch.Tensor):
            self.starts[module, self.kept_calls[module]] = _Start(value.clone(), output.clone())
        self.kept_calls[module] += 1
        return output

    def run(self, module: nn.Module, forward: Callable[[Tensor], Any], value: Tensor) -> Any:
        """Run a module on images, with the slope from the plain one."""
        start = self.starts.get((module, self.run_calls[module]))
        self.run_calls[module] += 1
        if start is None or not value.requires_grad:
            return forward(value)
        if isinstance(module, POOLS):
            return _pooled(module, value, _like(start.value, value))
        with torch.no_grad():
            output = forward(value.clone())
            slope = _slope(module, forward, value, output, start)
        return output + slope * (value - value.detach())  # adds 0, but has the slope


def _like(start: Tensor, value: Tensor) -> Tensor:
    """Return the rows of the plain image once for each image."""
    count = len(value) // len(start)
    return (
        start.expand_as(value) if len(start) == 1 else start.repeat(count, *[1] * (value.ndim - 1))
    )


def _slope(
    module: nn.Module,
    forward: Callable[[Tensor], Tensor],
    value: Tensor,
    output: Tensor,
    start: _Start,
) -> Tensor:
    """Return the difference of outputs over the difference of inputs.

    Where the inputs are too near to tell, the gradient halfway.
    """
    first = _like(start.value, value)
    step, gain = value - first, output - _like(start.output, output)
    near = step.abs() <= (0 if isinstance(module, _KINKED) else 1e-3)
    ratio = gain / step.masked_fill(near, 1)
    if not near.any():
        return ratio
    with torch.enable_grad():
        middle = ((value + first) / 2).detach().requires_grad_()
        slope = torch.autograd.grad(forward(middle.clone()).sum(), middle)[0]
    return torch.where(near, slope, ratio)


def _pooled(module: nn.Module, value: Tensor, start: Tensor) -> Tensor:
    """Return the largest of each window, with the slope from the plain image.

    All that a window gains counts for one place: the largest of the image where it gains, that of
    the plain image where it loses. Windows may overlap.
    """
    with torch.no_grad():
        (after, there), (before, here) = _largest(module, value), _largest(module, start)
        place = torch.where(after >= before, there, here)
    picked = value.flatten(-2).gather(-1, place.flatten(-2)).unflatten(-1, place.shape[-2:])
    with torch.no_grad():
        old = start.flatten(-2).gather(-1, place.flatten(-2)).unflatten(-1, place.shape[-2:])
        step = picked - old
        ratio = torch.where(step == 0, 1, (after - before) / step.masked_fill(step == 0, 1))
    return after + ratio * (picked - picked.detach())


def _largest(module: nn.Module, value: Tensor) -> tuple[Tensor, Tensor]:
    """Return the largest value of each window, and its place."""
    if isinstance(module, nn.AdaptiveMaxPool2d):
        found = functional.adaptive_max_pool2d(value, module.output_size, return_indices=True)
    else:
        window: Any = module
        found = functional.max_pool2d(
            value,
            window.kernel_size,
            window.stride,
            window.padding,
            window.dilation,
            window.ceil_mode,
            return_indices=True,
        )
    return found[0], found[1]


def _repeated(output: Output, count: int) -> Output:
    """Return the output of one image as that of many."""
    parts = (output.logits, output.features, output.embedding)
    same = [part if part is None else part.expand(count, *part.shape[1:]) for part in parts]
    return output._replace(logits=same[0], features=same[1], embedding=same[2])


def _check_sum(model: Model, parts: Tensor, gains: Tensor, tolerance: float) -> None:
    """Raise where contributions do not add up to what the goal gains."""
    sums, sizes = parts.flatten(1).sum(1), parts.flatten(1).abs().sum(1)
    # What large contributions of both signs lose in rounding is no fault of the rules.
    rounding = 16 * torch.finfo(parts.dtype).eps * sizes
    wrong = ~((sums - gains).abs() <= tolerance * gains.abs() + rounding)  # also what is no number
    if not wrong.any():
        return
    image = int(wrong.int().argmax())
    odd = without_rule(model, (*_ALL_CURVES, *POOLS, *LINEAR))
    why = f" Its rules do not know {', '.join(odd)}." if odd else ""
    raise InputError(
        f"deeplift does not hold for {model.name}: for image {image + 1} of {len(parts)} its parts "
        f"add up to {sums[image]:.4g}, but the target gains {gains[image]:.4g} over the plain "
        f"image, more than the tolerance of {tolerance:g} apart.{why} integrated_gradients adds up "
        "for any network"
    )


def leaves(network: nn.Module) -> list[nn.Module]:
    """Return the modules that hold no others."""
    return [module for module in network.modules() if not any(module.children())]


def without_rule(model: Model, known: tuple[type[nn.Module], ...]) -> list[str]:
    """Return the kinds of modules that are none of the known ones."""
    return sorted({type(m).__name__ for m in leaves(model.network) if not isinstance(m, known)})
