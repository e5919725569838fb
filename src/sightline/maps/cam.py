"""Class activation maps: which cells of a layer hold what raises the class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from sightline.maps.methods import Found, Request, class_score, register
from sightline.models.hooks import first_tensor, outputs
from sightline.records import InputError

if TYPE_CHECKING:
    from torch import Tensor, nn

    from sightline.models import Inputs, Model

__all__: list[str] = []


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
    modules = {layer: model.cam_layers[layer] for layer in request.layers}
    with torch.enable_grad(), outputs(modules.values()) as seen:
        logits = model(inputs.pixels.clone().requires_grad_()).logits
    score, targets = class_score(logits, request.targets)
    values = [_output(model, seen, *item) for item in modules.items()]
    slopes = torch.autograd.grad(score, values, allow_unused=True)
    maps = {}
    for layer, value, slope in zip(modules, values, slopes, strict=True):
        if slope is None:
            raise InputError(f"gradcam: no class of {model.name} depends on layer {layer}")
        maps[layer] = _weighted(model, inputs, value.detach(), slope)
    return Found([maps[layer] for layer in request.layers], targets)


def _output(model: Model, seen: dict[nn.Module, Any], layer: int, module: nn.Module) -> Tensor:
    if module not in seen:
        raise InputError(f"gradcam: layer {layer} of {model.name} was not used in its forward pass")
    return first_tensor(seen[module])


def _weighted(model: Model, inputs: Inputs, value: Tensor, slope: Tensor) -> Tensor:
    """Return the channels of a layer summed by their mean gradient over the patches."""
    channels, gradient = (model.to_grid(part, inputs.pixels) for part in (value, slope))
    return (channels * gradient.mean((2, 3), keepdim=True)).sum(1, keepdim=True)
