"""Redrawing: no trained number of a stage survives, the rest stays, and all comes back."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from sightline.attribution.sanity import redraw
from sightline.attribution.sanity.redraw import redrawing, redrawn, structure
from sightline.attribution.sanity.stages import Stage, all_tensors
from sightline.core import InputError
from sightline.models import Description, Model, Preprocess, load_model
from sightline.models.prototypes import PrototypeNetwork
from tests.attribution.sanity.walk import NAMES, copies, loaded, staged

# Names of all tensors that may stay, whatever the family.
STRUCTURE = ("position_ids", "relative_position_index", "inv_freq")
# Single numbers may be met by chance: trained norms hold a 1 here and there.
CHANCE = 1 / 32


def _survivors(before: dict[str, Tensor], names: set[str], model: Model) -> set[str]:
    """Which of some tensors still hold their trained numbers; counters may have been 0."""
    now = all_tensors(model.network)
    found = {name for name in names if float((now[name] == before[name]).float().mean()) > CHANCE}
    return {
        name for name in found if not name.endswith("num_batches_tracked") or bool(before[name])
    }


@pytest.mark.parametrize("name", NAMES)
def test_nothing_trained_survives_the_rest_stays_and_all_is_restored(name: str) -> None:
    model, stages = loaded(name), staged(name)
    before, kept = copies(model), structure(model.network)
    assert all(one.endswith(STRUCTURE) for one in kept)
    one = stages[len(stages) // 2]
    for some in ([one], stages):
        drawn = {tensor for stage in some for tensor in stage.tensors} - set(kept)
        assert drawn
        with redrawn(model, some, seed=3):
            assert _survivors(before, drawn, model) == set()
            now = all_tensors(model.network)
            assert all(bool(value.isfinite().all()) for value in now.values())
            same = set(before) - drawn
            assert all(torch.equal(now[other], before[other]) for other in same)
        after = all_tensors(model.network)
        assert all(torch.equal(after[key], value) for key, value in before.items())


def test_all_is_restored_after_an_exception_modes_and_random_state_too() -> None:
    model = loaded("demo/cnn")
    digest, state = model.digest, torch.random.get_rng_state()
    seen = []

    def fail() -> None:
        with redrawn(model, staged("demo/cnn"), seed=0):
            seen.extend([model.digest == digest, model.network.training])
            torch.rand(3)
            raise RuntimeError("stop")

    model.network.train()
    try:
        with pytest.raises(RuntimeError, match="stop"):
            fail()
        assert model.network.training
    finally:
        model.network.eval()
    assert seen == [False, False]
    assert model.digest == digest
    assert torch.equal(torch.random.get_rng_state(), state)


def test_one_group_of_stages_after_another_is_each_drawn_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model, stages = loaded("ViTModel"), staged("ViTModel")
    before, real = copies(model), redraw._drawn
    drawn: list[str] = []

    def counted(module: nn.Module, name: str, *given: Any) -> Tensor:
        drawn.append(name)
        return real(module, name, *given)

    monkeypatch.setattr(redraw, "_drawn", counted)
    groups = [stages[:1], stages[:3], stages, stages[1:2], (), stages[2:]]
    counts = []
    with redrawing(model, 5) as draw:
        found = []
        for some in groups:
            drawn.clear()
            draw(some)
            counts.append(len(drawn))
            found.append(copies(model))
    after = copies(model)
    assert all(torch.equal(after[name], value) for name, value in before.items())
    for some, seen in zip(groups, found, strict=True):
        with redrawn(model, some, 5):
            alone = copies(model)
        assert all(torch.equal(seen[name], value) for name, value in alone.items())
    sizes = [len(set(stage.tensors) - set(structure(model.network))) for stage in stages]
    assert counts == [sizes[0], sum(sizes[1:3]), sum(sizes[3:]), 0, 0, sum(sizes[2:])]


def test_tensors_that_share_memory_come_back() -> None:
    network = nn.Module()
    network.whole = nn.Parameter(torch.arange(6.0).reshape(2, 3))
    network.part = nn.Parameter(network.whole.data[:1])
    model: Any = SimpleNamespace(network=network, name="shared")
    with redrawing(model, 0) as draw:
        draw([Stage("one", ("whole",))])
        draw([Stage("one", ("whole",)), Stage("two", ("part",))])
    assert torch.equal(network.whole.data, torch.arange(6.0).reshape(2, 3))


def test_streams_differ_by_tensor_and_seed_and_not_by_what_else_is_drawn() -> None:
    model, stages = loaded("ViTModel"), staged("ViTModel")
    found = {}
    for key, some, seed in (
        ("all", stages, 0),
        ("again", stages, 0),
        ("other", stages, 1),
        ("alone", stages[1:2], 0),
    ):
        with redrawn(model, some, seed):
            found[key] = copies(model)
    for name in stages[1].tensors:
        assert torch.equal(found["all"][name], found["again"][name])
        assert torch.equal(found["all"][name], found["alone"][name])
    weights = [name for name, value in found["all"].items() if value.unique().numel() > 2]
    assert len(weights) > 20
    for name in weights:
        assert not bool((found["all"][name] == found["other"][name]).any())
    flat = [found["all"][name].flatten()[:32].tolist() for name in weights]
    assert len({tuple(one) for one in flat}) == len(weights)


class _Kinds(nn.Module):  # type: ignore[misc]
    """One of each kind of tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 64, 8, 8)
        self.norm = nn.BatchNorm2d(64)
        self.attention = nn.MultiheadAttention(64, 4, add_bias_kv=True)
        self.table = nn.Embedding(50, 64)
        self.head = nn.Linear(64, 3)
        self.cls_token = nn.Parameter(torch.ones(1, 1, 64))
        self.gamma = nn.Parameter(torch.zeros(64))
        self.mixing = nn.Parameter(torch.zeros(100, 64))
        self.offset = nn.Parameter(torch.zeros(64))
        self.query_bias = nn.Parameter(torch.ones(64))
        self.single = nn.Parameter(torch.ones(()))
        self.register_buffer("centre", torch.arange(64.0))
        self.register_buffer("eps", torch.full((3,), 0.5))
        self.register_buffer("grid", torch.rand(4), persistent=False)
        self.register_buffer("mask", torch.ones(4, dtype=torch.bool))

    def forward(self, pixels: Tensor) -> Tensor:
        return self.head(self.norm(self.stem(pixels)).mean((2, 3)))


def _described(network: nn.Module, layer: str) -> Model:
    told = Description([layer], Preprocess(size=(16, 16)), 8, 3, name="kinds")
    return load_model(network, told)


def _values(network: nn.Module, layer: str) -> dict[str, Tensor]:
    model = _described(network.eval(), layer)
    with redrawn(model, [Stage("all", tuple(all_tensors(network)))], seed=1):
        return copies(model)


def test_each_kind_begins_as_it_should() -> None:
    network = _Kinds()
    with torch.no_grad():
        network.norm.running_var.fill_(4)
        network.norm.num_batches_tracked.fill_(9)
        network.attention.in_proj_bias.fill_(2)
    found = _values(network, "stem")
    reach = {
        "stem.weight": 192**-0.5,
        "stem.bias": 192**-0.5,
        "head.weight": 1 / 8,
        "attention.in_proj_weight": (6 / (192 + 64)) ** 0.5,
        "attention.bias_k": (6 / 65) ** 0.5,
        "mixing": 1 / 8,
    }
    for name, most in reach.items():
        assert 0.85 * most < float(found[name].abs().max()) <= most, name
        assert abs(float(found[name].std()) - most / 3**0.5) < 0.15 * most, name
    for name in ("table.weight", "cls_token", "offset"):
        assert 0.014 < float(found[name].std()) < 0.026, name
    constants = {"norm.weight": 1, "norm.bias": 0, "norm.running_mean": 0, "norm.running_var": 1}
    constants |= {"norm.num_batches_tracked": 0, "attention.in_proj_bias": 0}
    constants |= {"gamma": 1, "query_bias": 0}
    for name, value in constants.items():
        assert bool((found[name] == value).all()), name
    assert 0 < abs(float(found["single"])) < 0.2
    assert found["centre"].sort().values.tolist() == list(range(64))
    assert not torch.equal(found["centre"], torch.arange(64.0))


def test_what_is_structure_is_named_with_the_reason() -> None:
    assert structure(_Kinds()) == {
        "eps": "constant",
        "grid": "computed, not saved",
        "mask": "whole numbers",
    }


@pytest.mark.parametrize(
    ("name", "ending", "value"),
    [
        ("ConvNextModel", "layer_scale_parameter", 1e-6),
        ("Dinov2Model", "lambda1", 1.0),
        ("ConvNextV2Model", "grn.weight", 0.0),
    ],
)
def test_scales_begin_as_the_configuration_says(name: str, ending: str, value: float) -> None:
    with redrawn(loaded(name), staged(name), seed=0):
        found = [one for key, one in copies(loaded(name)).items() if key.endswith(ending)]
    assert found
    assert all(bool((one == value).all()) for one in found)


def test_prototypes_begin_within_the_range_of_features() -> None:
    trunk = nn.Sequential(nn.Conv2d(3, 8, 8, 8), nn.Sigmoid())
    network = PrototypeNetwork(trunk, nn.Identity(), -torch.ones(40, 8), torch.ones(3, 40))
    found = _values(network, "add_on")["prototypes"]
    assert 0 <= float(found.min()) < 0.05
    assert 0.95 < float(found.max()) <= 1


def test_half_precision_stays_half_precision() -> None:
    network = _Kinds().to(torch.bfloat16).eval()
    model = _described(network, "stem")
    with redrawn(model, [Stage("head", ("head.weight",))], seed=0):
        assert network.head.weight.dtype == torch.bfloat16
        assert float(network.head.weight.float().std()) > 0.05


def test_what_cannot_be_drawn_raises_and_changes_nothing() -> None:
    network: Any = _Kinds().eval()
    network.packed = nn.Parameter(torch.arange(3), requires_grad=False)
    model = _described(network, "stem")
    digest = model.digest
    for names, message in (
        (("head.weight", "packed"), "real numbers to be drawn, packed is int64"),
        (("head.weight", "tail.weight"), "kinds has no tensor 'tail.weight'"),
    ):
        with pytest.raises(InputError, match=message), redrawn(model, [Stage("a", names)], seed=0):
            raise AssertionError("must not get here")
        assert model.digest == digest
