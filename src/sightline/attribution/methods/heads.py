"""Whether a network classifies by one linear layer on the mean of its last features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import nn

from sightline.models.hooks import calls, undisturbed

if TYPE_CHECKING:
    from torch import Tensor

    from sightline.models import Model

__all__ = ["LinearHead", "linear_head"]


class LinearHead(NamedTuple):
    """How a network goes from the mean of its last features to its logits.

    Attributes
    ----------
    linear : nn.Linear
        Gives the logits.
    norm : nn.LayerNorm or None
        Stands between the mean and the linear layer (ConvNeXt), if anything does.
    """

    linear: nn.Linear
    norm: nn.LayerNorm | None

    def __call__(self, pooled: Tensor) -> Tensor:
        """Return the logits of means `(batch, channels)`.

        Gradients take the spread that the norm divides by as given: the logits are then linear
        in the mean, and their value is what it is.
        """
        if self.norm is None:
            return cast("Tensor", self.linear(pooled))
        centred = pooled - pooled.mean(1, keepdim=True)
        spread = (centred.square().mean(1, keepdim=True) + self.norm.eps).sqrt().detach()
        scaled = centred / spread * self.norm.weight
        return cast("Tensor", self.linear(scaled + self.norm.bias))


# Names of the two modules; None where there is no such head. A network is asked only once for what
# it is loaded as: other layers may give its last features, and its classes be named later.
_Names = tuple[str, str | None] | None
_KNOWN: WeakKeyDictionary[nn.Module, dict[Any, _Names]] = WeakKeyDictionary()


def linear_head(model: Model) -> LinearHead | None:
    """Return the linear layer on the mean of the last features; None where there is none.

    The network is run once, on noise: what goes in and comes out tells, not how it is written.
    """
    known = _KNOWN.setdefault(model.network, {})
    loaded_as = [n for n, module in model.network.named_modules() if module in model.layers[-1:]]
    key = (*loaded_as, model.classes, model.prefix)
    if key not in known:
        known[key] = _found(model) if model.classes else None
    names = known[key]
    if names is None:
        return None
    modules: dict[str, Any] = dict(model.network.named_modules())
    return LinearHead(modules[names[0]], None if names[1] is None else modules[names[1]])


def _found(model: Model) -> _Names:
    """Return the names of the linear layer and of the norm before it."""
    named = {
        name: module
        for name, module in model.network.named_modules()
        if _may_be_head(module, len(model.classes))
    }
    taken: dict[nn.Module, Tensor] = {}

    def see(module: nn.Module, arguments: tuple[Any, ...]) -> None:
        if arguments and isinstance(arguments[0], torch.Tensor):
            taken[module] = arguments[0]

    with undisturbed(model.network), torch.no_grad():
        with calls(named.values(), see):
            output = model(_noise(model))
        pooled = output.features.mean((2, 3))
        for name, module in named.items():
            if isinstance(module, nn.Linear) and module in taken:
                if not _same(module(taken[module]), output.logits):
                    continue
                if _same(taken[module], pooled):
                    return name, None
                for other, norm in named.items():
                    before = isinstance(norm, nn.LayerNorm) and _same(taken.get(norm), pooled)
                    if before and _same(norm(pooled), taken[module]):
                        return name, other
    return None


def _may_be_head(module: nn.Module, classes: int) -> bool:
    if isinstance(module, nn.LayerNorm):
        return len(module.normalized_shape) == 1 and module.bias is not None
    return isinstance(module, nn.Linear) and module.out_features == classes


def _noise(model: Model) -> Tensor:
    """Return an input of the model's own size: nothing in it is equal by chance."""
    own = model.own or model.preprocess
    usual = (8 * model.patch[0], 8 * model.patch[1])
    width, height = model.preprocess.size or own.size or usual
    image = np.random.default_rng(0).integers(0, 256, (height, width, 3), np.uint8)
    return model.prepare(image).pixels


def _same(one: Tensor | None, other: Tensor | None) -> bool:
    """Return whether two tensors are equal, up to rounding."""
    if one is None or other is None or one.shape != other.shape:
        return False
    share = max(1e-4, 2 * torch.finfo(other.dtype).eps)
    return bool((one - other).abs().max() <= share * other.abs().max())
