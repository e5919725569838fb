"""Layer-wise relevance propagation for convolutional networks.

Relevance is written as value times gradient, of a network whose modules have the gradients that
their rules ask for. Then sums of branches, modules used twice and overlapping windows need no
rules, and what is conserved can be checked: the relevance of the pixels and of all biases adds up
to the score. Captum's rules need a module for each sum, and know neither `Identity` nor `Flatten`:
no ResNet of transformers goes through them. Where they are right, the two agree.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from sightline.attribution.methods.fullgrad import bias_like, bias_of
from sightline.attribution.methods.gradient import plain_image
from sightline.attribution.methods.methods import Found, Request, asked_goal, number, register
from sightline.attribution.methods.relu import CURVES, LINEAR, POOLS, leaves
from sightline.core import InputError
from sightline.core.errors import shown
from sightline.models.hooks import running

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from sightline.models import Inputs, Model

__all__: list[str] = []

_RULES = (*LINEAR, *CURVES, *POOLS)
_Call = tuple[nn.Module, int]


@register(
    "lrp",
    what="The score of the class handed back layer by layer to what it was made of, down to the "
    "pixels.",
    group="gradient",
    sign="absolute",
    needs=("classes", "ReLU"),
    gradients=True,
    cost="about 3, and 3 backward; 1 of one image for each batch",
    params={"gamma": 0.25, "first": "box", "tolerance": 0.01},
    about={
        "gamma": "how much more what speaks for an output of a convolution counts; 0 for none",
        "first": "rule of a convolution that takes the pixels: box (by the range of colours), or "
        "gamma as the others",
        "tolerance": "how far the relevance of pixels and biases may be from the score, as a "
        "share of it; an error beyond",
    },
    paper="Montavon et al. 2017, arXiv:1512.02479",
)
def lrp(model: Model, inputs: Inputs, request: Request) -> Found:
    """Return the relevance of the pixels, summed over the channels.

    Convolutions follow the rule of gamma, together with a batch norm that follows them; the one
    that takes the pixels that of the box; linear layers hand back in proportion.
    """
    gamma, tolerance = number(request, "gamma", 0, 1e6), number(request, "tolerance", 0)
    first, pixels = request.params["first"], inputs.pixels
    if first not in ("box", "gamma"):
        raise InputError(f"first must be box or gamma, got {shown(first)}")
    normed = _followed_by_norm(model, pixels[:1])
    ends = [plain_image(model, pixels, name) for name in ("black", "white")]
    leaf, low, high = (part.detach().clone().requires_grad_() for part in (pixels, *ends))
    rules = _Rules(gamma, normed, leaf, (low, high) if first == "box" else None)
    with torch.enable_grad(), running(leaves(model.network), rules.run):
        output = model(leaf)
        goal = asked_goal(request).settled(output)
        scores = goal.scores(output)
    values = (leaf, low, high)
    slopes = torch.autograd.grad(scores.sum(), values, allow_unused=True)
    pairs = [(v.detach(), s) for v, s in zip(values, slopes, strict=True) if s is not None]
    found = torch.stack([value * slope for value, slope in pairs]).sum(0)
    _check_conserved(model, found, rules.biases, scores.detach(), tolerance)
    return Found([found.sum(1, keepdim=True)], goal)


def _followed_by_norm(model: Model, pixels: Tensor) -> dict[_Call, nn.Module]:
    """Return the calls of convolutions whose output goes into a batch norm alone, with the norm.

    Raises
    ------
    InputError
        If a module runs for which there is no rule.
    """
    calls: Counter[nn.Module] = Counter()
    odd: set[str] = set()
    made: dict[int, tuple[_Call, Tensor]] = {}
    found: dict[_Call, nn.Module] = {}

    def look(module: nn.Module, forward: Callable[[Any], Any], value: Any) -> Any:
        if not isinstance(module, _RULES) and not _is_in_proportion(forward, value):
            odd.add(type(module).__name__)
        if isinstance(module, nn.BatchNorm2d) and id(value) in made and _is_fixed(module):
            found[made[id(value)][0]] = module
        output = forward(value)
        if isinstance(module, nn.Conv2d):
            made[id(output)] = (module, calls[module]), output  # kept, so that its id is its own
        calls[module] += 1
        return output

    leaf = pixels.detach().clone().requires_grad_()
    with torch.enable_grad(), running(leaves(model.network), look):
        output = model(leaf)
    if odd:
        raise InputError(
            f"lrp has no rule for {', '.join(sorted(odd))} of {model.name}; gradient methods that "
            "know no rules: 'input_x_gradient', 'integrated_gradients', 'fullgrad'"
        )
    uses = _uses([part for part in output if isinstance(part, torch.Tensor)])
    alone = {call for call, value in made.values() if uses[value.grad_fn] == 1}
    return {call: norm for call, norm in found.items() if call in alone}


def _uses(outputs: list[Tensor]) -> Counter[Any]:
    """Return how often the outcome of each node is used on the way to some outputs."""
    waiting = [value.grad_fn for value in outputs if value.grad_fn is not None]
    known, uses = set(waiting), Counter[Any]()
    while waiting:
        for node, _ in waiting.pop().next_functions:
            uses[node] += node is not None
            if node is not None and node not in known:
                known.add(node)
                waiting.append(node)
    return uses


def _is_in_proportion(forward: Callable[[Any], Any], value: Any) -> bool:
    """Return whether a module gives half of its output for half of a value: it needs no rule."""
    if not isinstance(value, torch.Tensor) or not value.is_floating_point():
        return False
    with torch.no_grad():
        whole, half = forward(value.clone()), forward(value / 2)  # it may work in place
    if not isinstance(whole, torch.Tensor) or not whole.is_floating_point():
        return False
    return bool(torch.allclose(half * 2, whole, rtol=1e-3, atol=1e-5 * float(whole.abs().max())))


def _is_fixed(norm: nn.BatchNorm2d) -> bool:
    """Return whether a norm has a mean of its own, not that of the batch."""
    return norm.running_mean is not None


@dataclass
class _Rules:
    """Runs modules with the gradients that their rules ask for, call by call.

    Attributes
    ----------
    gamma : float
        Of the rule of convolutions.
    normed : dict
        The norm after a call of a convolution.
    leaf : Tensor
        The pixels.
    ends : pair of Tensor or None
        Black and white images, for the rule of the box.
    biases : Tensor (batch,)
        What biases have of the score, filled in when gradients are taken.
    """

    gamma: float
    normed: dict[_Call, nn.Module]
    leaf: Tensor
    ends: tuple[Tensor, Tensor] | None
    calls: Counter[nn.Module] = field(default_factory=Counter)
    waiting: dict[int, tuple[nn.Conv2d, Any, Tensor, Tensor]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.biases = torch.zeros_like(self.leaf[:, 0, 0, 0]).detach()

    def run(self, module: nn.Module, forward: Callable[[Any], Any], value: Any) -> Any:
        """Run a module by its rule."""
        number, self.calls[module] = self.calls[module], self.calls[module] + 1
        if isinstance(module, nn.BatchNorm2d) and id(value) in self.waiting:
            return self._normed(module, value)
        if isinstance(module, nn.Conv2d):
            if (module, number) not in self.normed:
                return self._convolved(module, forward, value, module.weight, module.bias)
            output = forward(value).detach()
            self.waiting[id(output)] = module, forward, value, output
            return output
        if isinstance(module, CURVES) and not isinstance(module, nn.ReLU):
            return _curved(forward, value)
        output = forward(value)
        if isinstance(module, LINEAR):
            self._count(module, output)
        return output

    def _normed(self, norm: Any, value: Tensor) -> Tensor:
        """Run a batch norm together with the convolution before it, as one convolution."""
        convolution, convolved, taken, _ = self.waiting.pop(id(value))
        scale = torch.rsqrt(norm.running_var + norm.eps)
        scale = scale if norm.weight is None else scale * norm.weight
        shift = torch.zeros_like(scale) if norm.bias is None else norm.bias
        mean = norm.running_mean
        before = mean if convolution.bias is None else mean - convolution.bias
        weight, bias = convolution.weight * scale[:, None, None, None], shift - before * scale
        return self._convolved(convolution, convolved, taken, weight, bias)

    def _convolved(
        self,
        module: nn.Conv2d,
        forward: Callable[[Any], Any],
        value: Tensor,
        weight: Tensor,
        bias: Tensor | None,
    ) -> Tensor:
        """Run a convolution with the gradient that the rule of the box or of gamma asks for."""

        def of(values: Tensor, weights: Tensor) -> Tensor:
            return _with_weight(module, forward, values, weights)

        if value is self.leaf and self.ends is not None:
            low, high = self.ends
            up, down = weight.clamp(min=0), weight.clamp(max=0)
            ruled = of(value, weight) - of(low, up) - of(high, down)
            with torch.no_grad():
                output = of(value, weight) + _shaped(bias, ruled)
            return _as(output, ruled)
        plain = of(value, weight)
        whole = plain + _shaped(bias, plain)
        ruled = whole
        if self.gamma:
            agrees = of(value.clamp(min=0), weight.clamp(min=0))
            if (value < 0).any():
                agrees = agrees + of(value.clamp(max=0), weight.clamp(max=0))
            ruled = whole + self.gamma * torch.where(whole > 0, agrees, plain - agrees)
        self._count_slope(ruled, _shaped(bias, ruled))
        return _as(whole.detach(), ruled)

    def _count(self, module: nn.Module, output: Tensor) -> None:
        """Count what the bias of a module has of the score."""
        found = bias_of(module)
        if found is not None:
            self._count_slope(output, bias_like(output, *found))

    def _count_slope(self, output: Tensor, bias: Tensor) -> None:
        if output.requires_grad:
            output.register_hook(lambda slope: self._add(slope * bias))

    def _add(self, parts: Tensor) -> None:
        self.biases += parts.reshape(len(self.biases), -1).sum(1)


def _with_weight(
    module: nn.Conv2d, forward: Callable[[Any], Any], value: Tensor, weight: Tensor
) -> Tensor:
    """Return what a convolution would give with another weight, and without its bias."""
    own = dict(module._parameters)
    try:
        module._parameters.update(weight=weight, bias=None)
        found: Tensor = forward(value)
        return found
    finally:
        module._parameters.update(own)


def _shaped(bias: Tensor | None, values: Tensor) -> Tensor:
    return values.new_zeros(()) if bias is None else bias.reshape(-1, 1, 1)


def _as(output: Tensor, ruled: Tensor) -> Tensor:
    """Return the output, with the gradient of a value that a rule divides relevance by."""
    with torch.no_grad():
        share = torch.where(ruled == 0, 0, output / ruled.masked_fill(ruled == 0, 1))
    return output + share * (ruled - ruled.detach())  # adds 0, but has the gradient


def _curved(forward: Callable[[Any], Any], value: Tensor) -> Tensor:
    """Return what a curve gives, with the slope of the line to it from 0."""
    with torch.no_grad():
        output = forward(value.clone())  # it may work in place
        slope = torch.where(value == 0, 0, output / value.masked_fill(value == 0, 1))
    return output + slope * (value - value.detach())


def _check_conserved(
    model: Model, found: Tensor, biases: Tensor, scores: Tensor, tolerance: float
) -> None:
    """Raise where relevance was lost or made on the way."""
    sums, sizes = found.flatten(1).sum(1) + biases, found.flatten(1).abs().sum(1) + biases.abs()
    rounding = 1e3 * torch.finfo(found.dtype).eps * sizes
    wrong = ~((sums - scores).abs() <= tolerance * scores.abs() + rounding)
    if not wrong.any():
        return
    image = int(wrong.int().argmax())
    raise InputError(
        f"lrp does not hold for {model.name}: for image {image + 1} of {len(found)} the relevance "
        f"of pixels and biases adds up to {sums[image]:.4g}, but the score is {scores[image]:.4g}, "
        f"more than the tolerance of {tolerance:g} apart: a part of the network outside its "
        "modules is no sum; integrated_gradients adds up for any network"
    )
