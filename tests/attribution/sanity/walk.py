"""Every shipped model and a tiny one of every family, for walks over their tensors."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec

import torch

from sightline.attribution.sanity.stages import Stage, all_tensors, stages_of
from sightline.models import MODELS, Model, load_model
from tests.models.families import CASES, tiny

__all__ = ["NAMES", "copies", "loaded", "staged"]

THERE = find_spec("efficientnet_lite_pytorch") is not None
SHIPPED = [name for name in MODELS if name.startswith("demo/") or THERE]
NAMES = [*SHIPPED, *CASES]


@cache
def loaded(name: str) -> Model:
    """A model with a small input; a tiny one looks trained: all its numbers are moved."""
    if name in MODELS:
        return load_model(name).fitted(size=64)
    model = load_model(tiny(name))
    source = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for key, tensor in all_tensors(model.network).items():
            if tensor.is_floating_point():
                tensor.add_(0.01 + 0.1 * torch.rand(tensor.shape, generator=source))
            elif key.endswith("num_batches_tracked"):
                tensor.add_(5)
    return model


@cache
def staged(name: str) -> tuple[Stage, ...]:
    return stages_of(loaded(name))


def copies(model: Model) -> dict[str, torch.Tensor]:
    """All tensors as they are now, those that are not saved included."""
    return {name: tensor.detach().clone() for name, tensor in all_tensors(model.network).items()}
