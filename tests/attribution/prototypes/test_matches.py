"""Which prototype, which cell, how similar."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from sightline.attribution.prototypes import (
    best_matches,
    nearest_images,
    normalised,
    prototypes_in_use,
    similarity_maps,
    unit_images,
)
from sightline.core import InputError
from sightline.models import (
    Description,
    HasPrototypes,
    Model,
    Preprocess,
    load_model,
    prototypes_of,
)
from tests.attribution.prototypes.networks import MEAN, STD, Linear, model_of, prototype_network
from tests.reference import matching as reference


@pytest.fixture(scope="module")
def toy() -> Model:
    return model_of(prototype_network())


@pytest.fixture(scope="module")
def sums() -> Model:
    """Similarities are sums over cells of 1 pixel: whole numbers, of which many are equal."""
    weight = torch.tensor([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, -1]])[..., None, None]
    return model_of(Linear(weight), 1, (4, 3))


def _matched(found: Any) -> list[list[tuple[int, tuple[int, int], float]]]:
    return [
        [(p, (r, c), s) for p, (r, c), s in zip(*image, strict=True)]
        for image in zip(*(part.tolist() for part in found), strict=True)
    ]


def test_similarities_are_those_of_a_loop(toy: Model) -> None:
    pixels = torch.rand(2, 3, 16, 24, generator=torch.Generator().manual_seed(1))
    network: Any = toy.network
    weight, bias = (p.detach().double().numpy() for p in network.trunk[0].parameters())
    wanted = reference.similarities(
        pixels.double().numpy(), weight, bias, network.prototypes.detach().double().numpy()
    )
    np.testing.assert_allclose(similarity_maps(toy, pixels).numpy(), wanted, rtol=2e-5, atol=1e-6)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 2), min_size=72, max_size=72), st.integers(1, 5))
def test_best_matches_are_those_of_a_loop_under_ties(
    sums: Model, numbers: list[int], count: int
) -> None:
    pixels = torch.tensor(numbers, dtype=torch.float32).reshape(2, 3, 3, 4)
    maps = similarity_maps(sums, pixels).numpy()
    found = best_matches(sums, pixels, count)
    assert _matched(found) == reference.best_matches(maps, count)
    assert found.prototypes.shape == (2, min(count, 4))


@settings(max_examples=12, deadline=None)
@given(st.lists(st.integers(0, 2), min_size=36 * 5, max_size=36 * 5), st.integers(1, 6))
def test_the_nearest_cells_are_those_of_a_loop_under_ties(
    sums: Model, numbers: list[int], batch: int
) -> None:
    images = np.array(numbers, np.uint8).reshape(5, 3, 4, 3)
    seen: list[int] = []
    found = nearest_images(sums, list(images), batch, seen.append)
    maps = [similarity_maps(sums, sums.prepare(image).pixels)[0].numpy() for image in images]
    assert [tuple(one[1:]) for one in found] == reference.nearest(maps)
    assert [one.prototype for one in found] == [0, 1, 2, 3]
    assert seen == [min(done + batch, 5) for done in range(0, 5, batch)]


def test_the_nearest_cells_of_images_of_several_sizes() -> None:
    """With fit "native" each has a grid of its own."""
    model = model_of(prototype_network(), fit="native", size=None)
    draw = np.random.default_rng(2)
    sizes = [(8, 16), (8, 16), (24, 8), (8, 16)]
    images = [draw.integers(0, 256, (*size, 3), np.uint8) for size in sizes]
    maps = [similarity_maps(model, model.prepare(image).pixels)[0].numpy() for image in images]
    found = nearest_images(model, images, 8)
    assert [one[1:3] for one in found] == [one[:2] for one in reference.nearest(maps)]


def test_no_images_are_an_error(toy: Model) -> None:
    with pytest.raises(InputError, match="samples must hold at least one image, got none"):
        nearest_images(toy, [])


@pytest.mark.parametrize("count", [0, -1, 1.5, True, "all"])
def test_a_count_must_be_a_number_of_prototypes(toy: Model, count: Any) -> None:
    with pytest.raises(InputError, match=r"count must be 1 or more .* got"):
        best_matches(toy, torch.zeros(1, 3, 16, 24), count)


def test_the_way_to_unit_images_and_back(toy: Model) -> None:
    image = np.random.default_rng(0).integers(0, 256, (16, 24, 3), np.uint8)
    inputs = toy.prepare(image)
    unit = unit_images(toy, inputs)
    np.testing.assert_allclose(unit[0].permute(1, 2, 0).numpy(), image / 255, atol=1e-6)
    assert torch.allclose(normalised(toy, unit), inputs.pixels, atol=1e-5, rtol=0)
    assert torch.equal(unit_images(toy, inputs.pixels), unit)
    wild = unit_images(toy, torch.full((1, 3, 2, 2), 100.0))
    assert wild.min() == wild.max() == 1


def test_padding_of_a_letterbox_has_the_mean_colour(toy: Model) -> None:
    inputs = toy.fitted(fit="letterbox").prepare(np.zeros((16, 16, 3), np.uint8))
    unit = unit_images(toy, inputs)[0]
    assert torch.allclose(unit[:, :, :4], torch.tensor(MEAN).view(3, 1, 1).expand(3, 16, 4))
    assert not unit[:, :, 4:20].any()


@pytest.mark.parametrize("shape", [(3, 8, 8), (1, 1, 8, 8)])
def test_images_must_have_three_channels(toy: Model, shape: tuple[int, ...]) -> None:
    for way in (unit_images, normalised):
        with pytest.raises(InputError, match=r"images must be \(n, 3, height, width\), got"):
            way(toy, torch.zeros(shape))


def test_a_network_of_ones_own_needs_two_names() -> None:
    network = Linear(torch.ones(2, 3, 4, 4))
    model = model_of(network)
    assert prototypes_of(model) is network
    assert isinstance(prototype_network(), HasPrototypes)
    assert not isinstance(nn.Linear(1, 1), HasPrototypes)
    assert best_matches(model, torch.ones(1, 3, 16, 24)).scores.item() == 48


def test_pruned_prototypes_are_never_the_best() -> None:
    network = prototype_network()
    model = model_of(network)
    pixels = torch.rand(4, 3, 16, 24, generator=torch.Generator().manual_seed(5))
    whole = best_matches(model, pixels, 5)
    lost = int(whole.prototypes[0, 0])
    network.classifier.weight.data = -network.classifier.weight.data.abs()  # against is in use
    network.classifier.weight.data[:, lost] = 0
    assert prototypes_in_use(model) == tuple(n for n in range(5) if n != lost)
    kept = best_matches(model, pixels, 5)
    assert kept.prototypes.shape == (4, 4)
    for i in range(4):
        rest = whole.prototypes[i] != lost
        for before, after in zip(whole, kept, strict=True):
            assert torch.equal(before[i][rest], after[i])
    network.classifier.weight.data.zero_()
    with pytest.raises(InputError, match="toy uses no prototype: all its class weights are 0"):
        best_matches(model, pixels)


def test_the_network_is_asked_in_evaluation_and_left_as_it_was() -> None:
    network = Linear(torch.ones(2, 3, 4, 4)).train()
    model = model_of(network)
    assert torch.equal(
        similarity_maps(model, torch.ones(1, 3, 8, 8)), torch.full((1, 2, 2, 2), 48.0)
    )
    assert network.training
    assert network.compare.weight.requires_grad


class _Bad(nn.Module):  # type: ignore[misc]
    """A network whose similarities or weights are given."""

    def __init__(self, answer: torch.Tensor | None, weights: torch.Tensor | None) -> None:
        super().__init__()
        self.layer = nn.Identity()
        if weights is not None:
            self.class_weights = weights
        if answer is not None:
            self.similarities = lambda pixels: answer


@pytest.mark.parametrize(
    ("answer", "weights", "words"),
    [
        (None, None, r"lacks similarities\(pixels\) and class_weights; one .* is demo/protopnet"),
        (None, torch.ones(2, 3), r"lacks similarities\(pixels\); "),
        (torch.zeros(1, 3, 2, 2), None, "lacks class_weights; "),
        (torch.zeros(1, 3, 2, 2), torch.ones(3), r"must be \(2, prototypes\), got \(3,\)"),
        (torch.zeros(1, 3, 2, 2), torch.ones(5, 3), r"must be \(2, prototypes\), got \(5, 3\)"),
        (torch.zeros(1, 3, 2, 2), torch.ones(2, 0), r"must be \(2, prototypes\), got \(2, 0\)"),
        (torch.zeros(1, 4, 2, 2), torch.ones(2, 3), r"must be \(1, 3, rows, columns\), got"),
        (torch.zeros(1, 3, 4), torch.ones(2, 3), r"must be \(1, 3, rows, columns\), got"),
        (torch.zeros(1, 3, 0, 2), torch.ones(2, 3), r"must be \(1, 3, rows, columns\), got"),
        (torch.full((1, 3, 2, 2), torch.nan), torch.ones(2, 3), "must be finite"),
    ],
)
def test_what_is_wrong_with_a_network_is_named(answer: Any, weights: Any, words: str) -> None:
    told = Description(["layer"], Preprocess(size=(8, 8)), 1, 2, name="mine")
    model = load_model(_Bad(answer, weights), told)
    with pytest.raises(InputError, match=f"mine.*{words}"):
        similarity_maps(model, torch.zeros(1, 3, 8, 8))


def test_the_colours_of_the_toy_are_those_of_its_preprocessing(toy: Model) -> None:
    black = normalised(toy, torch.zeros(1, 3, 1, 1)).flatten().tolist()
    assert black == pytest.approx([-m / s for m, s in zip(MEAN, STD, strict=True)])
