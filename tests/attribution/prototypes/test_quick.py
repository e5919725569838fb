"""Copies of networks for many passes: the same similarities, and the network as it was."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from sightline.attribution.prototypes import quickened, similarity_maps
from tests.attribution.prototypes.networks import model_of

PIXELS = torch.rand(3, 3, 16, 24, generator=torch.Generator().manual_seed(4))


class _Normed(nn.Module):  # type: ignore[misc]
    """A convolution, a normalisation with statistics of its own, and what is made of them."""

    def __init__(self, way: str = "plain") -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(5)
            self.conv = nn.Conv2d(3, 6, 4, 4, bias=False)
            self.norm = nn.BatchNorm2d(6, track_running_stats=way != "statistics of the batch")
            self.relu = nn.ReLU()
            self.compare = nn.Conv2d(6, 5, 1)
            if way != "statistics of the batch":
                self.norm.running_mean.normal_()
                self.norm.running_var.uniform_(0.5, 2)
        self.class_weights = nn.Parameter(torch.ones(2, 5))
        self.way = way

    def similarities(self, pixels: Tensor) -> Tensor:
        first = self.conv(pixels)
        normed = self.norm(first)
        if self.way == "used twice":
            return self.compare(self.relu(normed) + first)
        if self.way == "called twice":
            return self.compare(self.norm(self.conv(pixels.flip(3))) + normed)
        if self.way == "overwritten":
            rectified = self.relu(normed)
            return self.compare(rectified + normed)
        return self.compare(self.relu(normed))

    def forward(self, pixels: Tensor) -> Tensor:
        return self.similarities(pixels).amax((2, 3)) @ self.class_weights.T


def _norms(model: Any) -> int:
    return sum(isinstance(each, nn.BatchNorm2d) for each in model.network.modules())


def test_a_copy_gives_the_same_and_the_network_stays_as_it_was() -> None:
    network = _Normed().train()
    model = model_of(network)
    before = {name: value.clone() for name, value in network.state_dict().items()}
    quick = quickened(model, PIXELS)
    assert _norms(quick) == 0
    assert torch.allclose(similarity_maps(quick, PIXELS), similarity_maps(model, PIXELS), atol=1e-5)
    assert _norms(model) == 1
    assert network.norm.training
    assert not network.relu.inplace
    after = network.state_dict()
    assert before.keys() == after.keys()
    assert all(torch.equal(value, after[name]) for name, value in before.items())


def test_a_module_under_two_names_is_replaced_under_both() -> None:
    network = _Normed()
    network.again = network.norm
    quick = quickened(model_of(network), PIXELS)
    assert _norms(quick) == 0
    assert quick.network.again is quick.network.norm


@pytest.mark.parametrize("way", ["used twice", "overwritten"])
def test_what_a_copy_would_change_is_left_to_the_network(way: str) -> None:
    model = model_of(_Normed(way))
    assert quickened(model, PIXELS) is model


@pytest.mark.parametrize("way", ["called twice", "statistics of the batch"])
def test_what_cannot_be_folded_is_kept(way: str) -> None:
    model = model_of(_Normed(way))
    quick = quickened(model, PIXELS)
    assert _norms(quick) == 1
    assert torch.allclose(similarity_maps(quick, PIXELS), similarity_maps(model, PIXELS), atol=1e-5)


def test_a_network_that_cannot_be_copied_is_used_itself() -> None:
    network = _Normed()
    network.lock = threading.Lock()
    model = model_of(network)
    assert quickened(model, PIXELS) is model
