"""Tiny networks of ReLUs for the tests of maps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional

from sightline.models import Model, load_model
from sightline.models.load import Description
from tests.attribution.methods.networks import CLASSES, COLOURED

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Residual", "described", "one_cell", "plain", "residual"]


def described(network: nn.Module, layer: str, name: str, patch: int = 8) -> Model:
    """A network of 32x24 pixels, with biases and running means far from 0."""
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.weight, -1.5, 1.5)
            nn.init.normal_(module.bias, std=0.4)
            nn.init.normal_(module.running_mean, std=0.4)
            nn.init.uniform_(module.running_var, 0.5, 2)
    network.eval()
    return load_model(network, Description([layer], COLOURED, patch, CLASSES, name=name))


def plain(last: nn.Module | None = None, *, bias: bool = True) -> Model:
    """One module after the other, as Captum can run it."""
    torch.manual_seed(7)
    layers = [nn.Conv2d(3, 6, 4, 4, bias=bias), nn.ReLU(), nn.Conv2d(6, 5, 2, 2, bias=bias)]
    layers += [last or nn.ReLU(), nn.Flatten(), nn.Linear(5 * 12, 3, bias=bias)]
    return described(nn.Sequential(*layers), "2", "plain")


class Residual(nn.Module):  # type: ignore[misc]
    """All that hooks stumble over: a ReLU used thrice and in place, sums, overlapping windows."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 6, 3, 2, 1, bias=False)
        self.stem_norm = nn.BatchNorm2d(6)
        self.relu = nn.ReLU(inplace=True)
        self.pool = nn.MaxPool2d(3, 2, 1)
        self.first = nn.Conv2d(6, 6, 3, 1, 1, bias=False)
        self.norm = nn.BatchNorm2d(6)
        self.second = nn.Conv2d(6, 6, 3, 1, 1)
        self.down = nn.AvgPool2d(2)
        self.head = nn.Linear(6, 3)

    def forward(self, pixels: Tensor) -> Tensor:
        value = self.pool(self.relu(self.stem_norm(self.stem(pixels))))
        branch = self.second(self.relu(self.norm(self.first(value))))
        branch += value
        value = self.down(self.relu(branch))
        return self.head(value.mean((2, 3)))


def residual() -> Model:
    torch.manual_seed(8)
    return described(Residual(), "down", "residual")


class _OneCell(nn.Module):  # type: ignore[misc]
    """Reads the cell in row 1 and column 2, of 3 rows and 4 columns, and nothing else."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Conv2d(3, 6, 8, 8)
        self.relu = nn.ReLU()
        self.head = nn.Linear(6, 3)

    def forward(self, pixels: Tensor) -> Tensor:
        cells = self.relu(self.embed(pixels))
        keep = functional.pad(torch.ones(1, 1), (2, 1, 1, 1))
        return self.head((cells * keep).sum((2, 3)))


def one_cell() -> Model:
    torch.manual_seed(9)
    return described(_OneCell(), "embed", "one cell")
