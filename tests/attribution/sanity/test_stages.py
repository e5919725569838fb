"""Stages: every tensor in exactly one, from output to input."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from sightline.attribution.sanity.stages import all_tensors, stages_of
from sightline.models import Description, Model, Preprocess, load_model
from tests.attribution.sanity.walk import NAMES, loaded, staged


@pytest.mark.parametrize("name", NAMES)
def test_every_tensor_is_in_one_stage_and_stages_go_from_output_to_input(name: str) -> None:
    model, stages = loaded(name), staged(name)
    known = {*dict(model.network.named_parameters()), *dict(model.network.named_buffers())}
    listed = [tensor for stage in stages for tensor in stage.tensors]
    assert len(listed) == len(set(listed))
    assert set(listed) == known
    layers = [f"layer{number}" for number in reversed(range(len(model.layers)))]
    names = [stage.name for stage in stages]
    assert [one for one in names if one.startswith("layer")] == layers
    assert names == [
        *["head"] * ("head" in names),
        *layers,
        *["embedding"] * ("embedding" in names),
    ]
    places = {id(tensor): key for key, tensor in all_tensors(model.network).items()}
    for number, layer in enumerate(model.layers):
        (stage,) = (one for one in stages if one.name == f"layer{number}")
        assert {places[id(one)] for one in all_tensors(layer).values()} <= set(stage.tensors)
    tokens = [one for one in known if "token" in one or "position_embedding" in one]
    assert not tokens or set(tokens) <= set(stages[-1].tensors)


def test_prototypes_belong_to_the_head_though_the_network_lists_them_first() -> None:
    assert staged("demo/protopnet")[0].tensors == ("prototypes", "classifier.weight")


class _Odd(nn.Module):  # type: ignore[misc]
    """Lists its parts from output to input, with one between two layers, and others unused."""

    def __init__(self, gradients: bool = True) -> None:
        super().__init__()
        self.gradients = gradients
        self.head = nn.Linear(4, 3)
        self.shift = nn.Parameter(torch.zeros(4, 1, 1))
        self.second = nn.Conv2d(4, 4, 1)
        self.between = nn.BatchNorm2d(4)
        self.first = nn.Conv2d(4, 4, 1)
        self.stem = nn.Conv2d(3, 4, 8, 8)
        self.stem.register_parameter("spare", nn.Parameter(torch.zeros(2)))
        self.tied = self.first
        self.unused = nn.Linear(2, 2)

    def forward(self, pixels: Tensor) -> Tensor:
        with torch.set_grad_enabled(self.gradients and torch.is_grad_enabled()):
            found = self.first(self.stem(pixels) + self.shift)
            return self.head(self.second(self.between(found)).mean((2, 3)))


def _odd(gradients: bool = True) -> Model:
    told = Description(["first", "second"], Preprocess(size=(16, 16)), 8, 3)
    return load_model(_Odd(gradients), told)


def test_stages_follow_the_pass_not_the_order_of_the_parts() -> None:
    model = _odd()
    found = {stage.name: set(stage.tensors) for stage in stages_of(model)}
    bn = {f"between.{one}" for one in ("weight", "bias")}
    bn |= {f"between.{one}" for one in ("running_mean", "running_var", "num_batches_tracked")}
    assert found == {
        "head": {"head.weight", "head.bias", "unused.weight", "unused.bias"},
        "layer1": {"second.weight", "second.bias", *bn},
        "layer0": {"first.weight", "first.bias"},
        "embedding": {"shift", "stem.weight", "stem.bias", "stem.spare"},
    }
    assert all(parameter.requires_grad for parameter in model.network.parameters())


def test_without_a_graph_the_order_of_the_parts_tells() -> None:
    found = {stage.name: set(stage.tensors) for stage in stages_of(_odd(gradients=False))}
    assert {"stem.weight", "unused.weight", "between.weight"} <= found["head"]
    assert {"head.weight", "shift"} <= found["embedding"]
    assert found["layer0"] == {"first.weight", "first.bias"}
    assert found["layer1"] == {"second.weight", "second.bias"}


def test_a_model_without_layers_is_one_stage() -> None:
    model = replace(_odd(), layers=(), cam_layers=())
    (stage,) = stages_of(model)
    assert stage.name == "network"
    assert set(stage.tensors) == set(all_tensors(model.network))
