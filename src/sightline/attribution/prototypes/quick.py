"""A copy of a network that gives the same similarities in less time on a CPU."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from sightline.attribution.prototypes.matches import cell_similarities
from sightline.models.hooks import calls, outputs, undisturbed

if TYPE_CHECKING:
    from torch import Tensor

    from sightline.models import Model

__all__ = ["TOLERANCE", "quickened"]

TOLERANCE = 1e-4
"""How far similarities may lie apart, as a share of the largest: rounding, and nothing else."""


def quickened(model: Model, pixels: Tensor) -> Model:
    """Return a model for many passes without gradients: its network is a copy that is quicker.

    On a CPU batch normalisations are folded into the convolutions before them, weights have their
    channels last, and ReLUs overwrite what they are given. None of it changes what is computed, but
    for rounding; the copy is compared with the network on an image, and where similarities differ
    by more than `TOLERANCE` of the largest, as where the output of a convolution is used twice, the
    model itself is returned. So it is on other devices, and where a network cannot be copied.

    The copy knows nothing of what is done to the network later: make one where it is used.

    Parameters
    ----------
    model : Model
        With prototypes.
    pixels : Tensor (1 or more, 3, height, width)
        What the network takes; the first image is used.

    Examples
    --------
    >>> import torch
    >>> from sightline.models import load_model
    >>> model = load_model("demo/protopnet")
    >>> quick = quickened(model, torch.zeros(1, 3, 224, 224))
    >>> norms = [each for each in quick.network.modules() if isinstance(each, torch.nn.BatchNorm2d)]
    >>> len(norms), quick.name
    (0, 'demo/protopnet')
    """
    if not pixels.is_cpu or any(not each.is_cpu for each in model.network.parameters()):
        return model
    with undisturbed(model.network), torch.no_grad():
        quick = _copied(model)
        if quick is None:
            return model
        wanted = cell_similarities(model, pixels[:1])
        _fold(quick, pixels[:1])
        for module in quick.network.modules():
            if isinstance(module, nn.ReLU):
                module.inplace = True
        found = cell_similarities(quick, pixels[:1])
    same = found.shape == wanted.shape
    near = same and (found - wanted).abs().max() <= TOLERANCE * wanted.abs().max()
    return quick if near else model


def _copied(model: Model) -> Model | None:
    """Return a model with a network of its own, channels last; None where it cannot be copied."""
    try:
        network: Any = deepcopy(model.network)
    except (TypeError, RuntimeError):  # a network of somebody's own may hold anything
        return None
    return replace(model, network=network.to(memory_format=torch.channels_last))


def _fold(model: Model, pixels: Tensor) -> None:
    """Fold each normalisation into the convolution that it alone follows, in a network of our own.

    Which follows which is seen on an image: the very tensor that a convolution gave.
    """
    network = model.network
    convolutions = [each for each in network.modules() if type(each) is nn.Conv2d]
    norms = [each for each in network.modules() if type(each) is nn.BatchNorm2d]
    before: dict[nn.Module, nn.Module] = {}
    asked: list[nn.Module] = []

    def see(module: nn.Module, arguments: tuple[Any, ...]) -> None:
        asked.append(module)
        for conv in convolutions if module in norms else ():
            if given.get(conv) is arguments[0]:
                before[module] = conv

    with outputs(convolutions) as given, calls([*convolutions, *norms], see):
        cell_similarities(model, pixels)
    for norm, conv in before.items():
        if asked.count(norm) == asked.count(conv) == 1 and norm.track_running_stats:
            _replace(network, conv, fuse_conv_bn_eval(conv, norm))
            _replace(network, norm, nn.Identity())


def _replace(network: nn.Module, old: nn.Module, new: nn.Module) -> None:
    """Put a module where another one was, under all its names."""
    for parent in list(network.modules()):
        for name, child in list(parent._modules.items()):  # children are listed once, names all
            if child is old:
                setattr(parent, name, new)
