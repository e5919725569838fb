"""Small networks with prototypes, and models of them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from sightline.models import Description, Model, Preprocess, PrototypeNetwork, load_model

MEAN, STD = (0.4, 0.5, 0.6), (0.2, 0.25, 0.3)


def model_of(
    network: nn.Module, side: int = 4, size: tuple[int, int] | None = (24, 16), fit: str = "squash"
) -> Model:
    """A network as a model; inputs of (width, height), cells of `side` pixels."""
    weights: Any = network.class_weights
    preprocess = Preprocess(size, fit, mean=MEAN, std=STD)
    layer = next(name for name, module in network.named_modules() if isinstance(module, nn.Conv2d))
    return load_model(network, Description([layer], preprocess, side, len(weights), name="toy"))


def prototype_network(seed: int = 0, prototypes: int = 5, side: int = 4) -> PrototypeNetwork:
    """One layer, and the similarity of `PrototypeNetwork`."""
    draw = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng(devices=[]):
        trunk = nn.Sequential(nn.Conv2d(3, 4, side, side))
    for parameter in trunk.parameters():
        parameter.data = torch.randn(parameter.shape, generator=draw) / 4
    numbers = torch.randn(prototypes, 4, generator=draw)
    return PrototypeNetwork(
        trunk, nn.Identity(), numbers, torch.randn(3, prototypes, generator=draw)
    )


class Linear(nn.Module):  # type: ignore[misc]
    """A network of somebody else: similarities are sums of pixels, weights are a parameter."""

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        count, _, side, _ = weight.shape
        with torch.random.fork_rng(devices=[]):
            self.compare = nn.Conv2d(3, count, side, side, bias=False)
        self.compare.weight = nn.Parameter(weight.clone())
        self.class_weights = nn.Parameter(torch.ones(2, count))
        self.dropout = nn.Dropout(0.5)
        self.asked = 0

    def similarities(self, pixels: Tensor) -> Tensor:
        """Dropout shows whether the network is in evaluation."""
        self.asked += 1
        return self.compare(self.dropout(pixels))

    def forward(self, pixels: Tensor) -> Tensor:
        return self.similarities(pixels).amax((2, 3)) @ self.class_weights.T
