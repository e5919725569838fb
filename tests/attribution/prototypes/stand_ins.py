"""Stand-ins for networks of CaBRNet: the attributes, outputs and shapes of the recorded ones."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from tests.attribution.prototypes.record_cabrnet import RECORD

NETWORKS = json.loads(RECORD.read_text("utf-8"))["networks"]


class Head(nn.Module):  # type: ignore[misc]
    """A classifier with the attributes of the real one, and its outputs in their order."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name, told = name, NETWORKS[name]
        self.num_classes, self.count = told["num_classes"], told["similarities"][1]
        draw = torch.Generator().manual_seed(2)
        self.prototypes = nn.Parameter(torch.rand(self.count, 8, 1, 1, generator=draw))
        if told["last_layer"]:
            self.last_layer = nn.Linear(*told["last_layer"][::-1], bias=False)
            self.last_layer.weight.data = torch.randn(told["last_layer"], generator=draw)
        if told["slots"]:
            self.proto_slot_map = nn.Parameter(torch.randn(told["slots"], generator=draw))
            self._compatibility_mode = False
        if told["multiplier"]:
            self.normalization_multiplier = nn.Parameter(torch.ones(1))

    @property
    def prototype_class_mapping(self) -> np.ndarray:
        return np.eye(self.count, self.num_classes)

    def similarities(self, features: Tensor) -> Tensor:
        return torch.conv2d(features, self.prototypes)

    def forward(self, features: Tensor) -> tuple[Any, ...]:
        maps = self.similarities(features)
        best = maps.amax((2, 3))
        if self.name == "prototree":
            return best[:, :3], {}
        if self.name == "protopool":
            slots = torch.einsum("bp,cps->bcs", best, self.proto_slot_map)
            return self.last_layer(slots.flatten(1)), best, self.proto_slot_map
        if self.name == "pipnet":
            return maps, best, best @ self.last_layer.weight.relu().T
        return self.last_layer(best), best


class Network(nn.Module):  # type: ignore[misc]
    """A stand-in for a `CaBRNet`: cells of 4 pixels."""

    def __init__(self, name: str) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            self.extractor = nn.Sequential(nn.Conv2d(3, 8, 4, 4), nn.Sigmoid())
            self.classifier = Head(name)

    def similarities(self, pixels: Tensor) -> Tensor:
        return self.classifier.similarities(self.extractor(pixels))

    def forward(self, pixels: Tensor) -> Any:
        return self.classifier(self.extractor(pixels))
