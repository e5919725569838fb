"""Which pixels make a cell similar to a prototype."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import Tensor

from sightline.attribution.prototypes import (
    ATTRIBUTIONS,
    attribute,
    best_matches,
    scaled_values,
    similarity_maps,
)
from sightline.core import InputError, UnknownNameError
from tests.attribution.prototypes.networks import Linear, model_of, prototype_network
from tests.reference import matching as reference

if TYPE_CHECKING:
    from sightline.models import Model

PIXELS = torch.rand(3, 3, 16, 24, generator=torch.Generator().manual_seed(3))
NUMBERS, CELLS = torch.tensor([0, 4, 2]), torch.tensor([[0, 0], [3, 5], [1, 2]])


@pytest.fixture(scope="module")
def toy() -> Model:
    return model_of(prototype_network())


def _by_hand(model: Model) -> np.ndarray:
    """The gradient of each pair, by the chain rule."""
    network: Any = model.network
    weight, bias = (p.detach().double().numpy() for p in network.trunk[0].parameters())
    prototypes = network.prototypes.detach().double().numpy()
    return np.stack(
        [
            reference.gradient(image, weight, bias, prototypes[number], tuple(cell))
            for image, number, cell in zip(
                PIXELS.double().numpy(), NUMBERS.tolist(), CELLS.tolist(), strict=True
            )
        ]
    )


@pytest.mark.parametrize("mode", ["bilinear", "cubic"])
@pytest.mark.parametrize("size", [(12, 12), (11, 7), (5, 16)])
def test_upsampling_is_that_of_a_loop(mode: str, size: tuple[int, int]) -> None:
    raw = torch.randn(2, 4, 5, generator=torch.Generator().manual_seed(7))
    found = scaled_values(raw, *size, mode).numpy()
    wanted = [reference.scaled(grid.numpy(), *size, mode) for grid in raw]
    np.testing.assert_allclose(found, wanted, atol=2e-7)
    assert found.dtype == np.float32


def test_raw_maps_of_upsampling_are_the_similarities(toy: Model) -> None:
    found = attribute(toy, PIXELS, NUMBERS, CELLS, params={"mode": "cubic"})
    network: Any = toy.network
    with torch.no_grad():
        maps = network.similarities(PIXELS)[torch.arange(3), NUMBERS]
    assert torch.equal(found.raw, maps)
    assert torch.equal(found.values, scaled_values(maps, 16, 24, "cubic"))


def test_upsampling_of_the_cell_alone(toy: Model) -> None:
    found = attribute(toy, PIXELS, NUMBERS, CELLS, params={"location": "cell"})
    wanted = torch.zeros(3, 4, 6)
    for i, (row, column) in enumerate(CELLS.tolist()):
        wanted[i, row, column] = 1
    assert torch.equal(found.raw, wanted)
    assert found.values[1, -1, -1] == 1
    assert not found.values[1, :, :12].any()


def test_no_pedestal_is_laid_under_a_peak() -> None:
    """Scaled after cubic upsampling, the dips around a peak would be the zero."""
    peak = torch.zeros(1, 7, 7)
    peak[0, 3, 3] = 1
    inside = np.zeros((224, 224), bool)
    inside[64:160, 64:160] = True
    ours = scaled_values(peak, 224, 224, "cubic")[0].double().numpy()
    first = torch.nn.functional.interpolate(peak[None].double(), (224, 224), mode="bicubic")
    other = reference.min_max(first[0, 0].numpy())
    assert ours[inside].sum() / ours.sum() > 0.99
    assert other[inside].sum() / other.sum() < 0.33
    assert np.median(ours) == 0
    assert np.median(other) > 0.09


@pytest.mark.parametrize(("level", "value"), [(3.7, 1.0), (0.0, 0.0), (-2.0, 0.0)])
@pytest.mark.parametrize("mode", ["bilinear", "cubic"])
def test_a_constant_map_stays_constant(level: float, value: float, mode: str) -> None:
    found = scaled_values(torch.full((2, 3, 3), level), 10, 11, mode)
    assert torch.equal(found, torch.full((2, 10, 11), value))


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.integers(-3, 3), min_size=12, max_size=12),
    st.integers(4, 13),
    st.sampled_from(["bilinear", "cubic"]),
)
@example([-3, -1, -2, 3, 1, 2, -3, -1, 0, 3, -1, -1], 10, "bilinear")
@example([1, 3, 1, -2, -1, -1, 0, 2, 1, -1, -1, 1], 10, "cubic")
def test_plateaus_and_the_range_survive_upsampling(
    numbers: list[int], height: int, mode: str
) -> None:
    """Equal columns of cells give equal pixels, bit by bit: else ties would break at random."""
    grid = torch.tensor(numbers, dtype=torch.float32).reshape(1, 12, 1).expand(1, 12, 5) / 3
    found = scaled_values(grid, height, 13, mode)
    assert torch.equal(found, found[..., :1].expand_as(found))
    assert 0 <= found.min() <= found.max() <= 1


def test_upsampling_does_not_depend_on_scale_and_offset() -> None:
    raw = torch.randint(0, 9, (2, 3, 4), generator=torch.Generator().manual_seed(1)).float()
    assert torch.equal(scaled_values(raw * 4 - 8, 9, 9), scaled_values(raw, 9, 9))


def test_saliency_is_the_gradient_by_hand(toy: Model) -> None:
    wanted = np.abs(_by_hand(toy))
    for how, joined in (("max", wanted.max(1)), ("mean", wanted.mean(1))):
        found = attribute(toy, PIXELS, NUMBERS, CELLS, method="saliency", params={"channels": how})
        np.testing.assert_allclose(found.raw.numpy(), joined, rtol=2e-4, atol=1e-7)
    np.testing.assert_allclose(
        found.values.numpy(), [reference.min_max(one) for one in joined], rtol=2e-4, atol=1e-7
    )
    assert not found.raw[0, 4:].any()  # beyond the cell nothing counts


def test_input_x_gradient_is_the_product_by_hand(toy: Model) -> None:
    wanted = np.abs(_by_hand(toy) * PIXELS.numpy()).max(1)
    found = attribute(toy, PIXELS, NUMBERS, CELLS, method="input_x_gradient")
    np.testing.assert_allclose(found.raw.numpy(), wanted, rtol=2e-4, atol=1e-7)
    earlier = attribute(toy, PIXELS, NUMBERS, CELLS, method="gradient_x_input")
    assert torch.equal(earlier.raw, found.raw)
    assert "gradient_x_input" not in list(ATTRIBUTIONS)


def test_smoothgrad_is_saliency_without_noise_and_where_the_gradient_does_not_change(
    toy: Model,
) -> None:
    plain = attribute(toy, PIXELS, NUMBERS, CELLS, method="saliency")
    still = attribute(
        toy, PIXELS, NUMBERS, CELLS, method="smoothgrad", params={"noise": 0, "samples": 2}
    )
    assert torch.allclose(still.raw, plain.raw)
    linear = model_of(Linear(torch.randn(2, 3, 4, 4, generator=torch.Generator().manual_seed(2))))
    pair = PIXELS[:1], NUMBERS[:1], CELLS[:1]
    noisy = attribute(linear, *pair, method="smoothgrad", params={"noise": 3})
    assert torch.allclose(noisy.raw, attribute(linear, *pair, method="saliency").raw)


class _Squares(Linear):
    """Gradients are twice the pixels."""

    def similarities(self, pixels: Tensor) -> Tensor:
        return self.compare(pixels.square())


def test_noise_of_smoothgrad_is_a_share_of_the_range_of_the_image() -> None:
    """Gradients 2 (x + noise): their mean over 100 copies is off by 2 sd / 10."""
    model = model_of(_Squares(torch.ones(1, 3, 4, 4)))
    pixels = torch.zeros(1, 3, 16, 24)
    pixels[0, 0, 12, 20] = 10  # the range; elsewhere the mean gradient is noise alone
    found = attribute(
        model,
        *(pixels, torch.tensor([0]), torch.tensor([[0, 0]])),
        method="smoothgrad",
        params={"noise": 0.1, "samples": 100, "channels": "mean"},
    )
    spread = found.raw[0, :4, :4].mean().item()  # the mean of |normal| is sd * 0.798
    assert spread == pytest.approx(2 * (0.1 * 10) / 10 * 0.798, rel=0.3)


@pytest.mark.parametrize("method", ["smoothgrad", "random_gradient"])
def test_noise_follows_from_the_image_and_the_seed_alone(toy: Model, method: str) -> None:
    def raw(part: slice, keys: tuple[int, ...], **more: Any) -> Tensor:
        triple = PIXELS[part], NUMBERS[part], CELLS[part]
        return attribute(toy, *triple, method=method, keys=keys, **more).raw

    state = torch.get_rng_state()
    together = raw(slice(None), (5, 6, 7))
    assert torch.equal(state, torch.get_rng_state())
    assert torch.equal(together, raw(slice(None), (5, 6, 7), batch=3))
    assert torch.allclose(together, raw(slice(None), (5, 6, 7), batch=2))
    assert torch.allclose(together[1:2], raw(slice(1, 2), (6,)))
    assert not torch.allclose(together[1:2], raw(slice(1, 2), (8,)))
    assert not torch.allclose(together, raw(slice(None), (5, 6, 7), params={"seed": 1}))
    assert torch.equal(raw(slice(None), ()), raw(slice(None), ()))


def test_random_gradients_know_nothing_of_the_model() -> None:
    """Neither weights nor similarities: the network is not even asked."""
    networks = [Linear(torch.full((5, 3, 4, 4), float(value))) for value in (0, 9)]
    found = [
        attribute(model_of(network), PIXELS, NUMBERS, CELLS, method="random_gradient")
        for network in networks
    ]
    assert torch.equal(found[0].raw, found[1].raw)
    assert [network.asked for network in networks] == [0, 0]
    other = attribute(
        model_of(networks[0]), PIXELS, NUMBERS.flip(0), CELLS.flip(0), method="random_gradient"
    )
    assert torch.equal(found[0].raw, other.raw)
    assert ATTRIBUTIONS["random_gradient"].control


def test_random_gradients_are_the_largest_of_three_normal_numbers(toy: Model) -> None:
    """The mean of the largest of three |normal| numbers is 1.326; of one, 0.798."""
    pixels = torch.zeros(1, 3, 128, 128)
    args = toy, pixels, torch.tensor([0]), torch.tensor([[0, 0]])
    for how, mean in (("max", 1.326), ("mean", 0.798)):
        found = attribute(*args, method="random_gradient", params={"channels": how})
        assert found.raw.mean().item() == pytest.approx(mean, abs=0.02)


@pytest.mark.parametrize("method", ["upsampling", "saliency"])
def test_max_is_the_most_similar_cell(toy: Model, method: str) -> None:
    matches = best_matches(toy, PIXELS)
    numbers = matches.prototypes[:, 0]
    params = {"location": "cell"} if method == "upsampling" else {}
    asked = attribute(toy, PIXELS, numbers, "max", method=method, params=params, batch=2)
    given_ = attribute(toy, PIXELS, numbers, matches.cells[:, 0], method=method, params=params)
    assert torch.allclose(asked.raw, given_.raw)
    assert not torch.allclose(
        asked.raw, attribute(toy, PIXELS, numbers, CELLS, method=method, params=params).raw
    )


@pytest.mark.parametrize("name", ATTRIBUTIONS)
def test_every_attribution_keeps_its_promises(name: str) -> None:
    spec = ATTRIBUTIONS[name]
    network = prototype_network().train()
    found = attribute(model_of(network), PIXELS, NUMBERS, CELLS, method=name)
    assert found.values.shape == (3, 16, 24)
    assert found.values.dtype == torch.float32
    assert 0 <= found.values.min() <= found.values.max() <= 1
    assert found.raw.shape == ((3, 4, 6) if name == "upsampling" else (3, 16, 24))
    assert not found.raw.requires_grad
    assert network.training
    assert all(p.grad is None and p.requires_grad for p in network.parameters())
    assert set(spec.about) == set(spec.defaults)
    assert spec.what.endswith(".")
    assert "arXiv:" in spec.citation
    assert spec.name == name


def test_letterboxed_and_cropped_inputs_work(toy: Model) -> None:
    image = np.random.default_rng(0).integers(0, 256, (30, 20, 3), np.uint8)
    for fit in ("letterbox", "crop"):
        inputs = toy.fitted(fit=fit, size=(16, 16)).prepare(image)
        found = attribute(toy, inputs.pixels, torch.tensor([1]), keys=inputs.keys)
        assert found.values.shape == (1, 16, 16)
    inputs = toy.fitted(fit="letterbox", size=(16, 16)).prepare(image)
    product = attribute(toy, inputs.pixels, torch.tensor([1]), method="input_x_gradient")
    assert not product.raw[..., :2].any()  # padding is 0


class _Cut(Linear):
    def similarities(self, pixels: Tensor) -> Tensor:
        return super().similarities(pixels.detach())


def test_similarities_that_do_not_depend_on_the_pixels_are_an_error() -> None:
    model = model_of(_Cut(torch.ones(1, 3, 4, 4)))
    with pytest.raises(InputError, match="toy: similarities do not depend on the pixels"):
        attribute(model, PIXELS[:1], NUMBERS[:1], CELLS[:1], method="saliency")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"cells": "best"}, "cells must be 'max' or .* got 'best'"),
        ({"cells": torch.zeros(2, 2)}, r"cells must be 'max' or \(3, 2\) whole numbers"),
        ({"cells": CELLS.float()}, r"cells must be 'max' or \(3, 2\) whole numbers"),
        ({"cells": CELLS + 1}, r"cell must be a row and a column of 4x6, got \(4, 6\)"),
        ({"cells": CELLS - 1}, r"cell must be a row and a column of 4x6, got \(-1, -1\)"),
        ({"prototypes": torch.tensor([0, 5, 1])}, "prototype must be from 0 to 4 for toy, got 5"),
        ({"prototypes": torch.tensor([0, -1, 1])}, "prototype must be from 0 to 4 for toy, got -1"),
        ({"prototypes": torch.tensor([0, 1])}, r"prototypes must be whole numbers \(3,\), got"),
        ({"prototypes": NUMBERS.float()}, r"prototypes must be whole numbers \(3,\), got"),
        ({"pixels": PIXELS[0]}, r"pixels must be \(n, 3, height, width\), got"),
        ({"keys": (1, 2)}, "keys must be one for each of 3 images, got 2"),
        ({"batch": 0}, "batch must be 1 or more, got 0"),
        ({"params": {"mode": "nearest"}}, "mode must be one of bilinear, cubic; got 'nearest'"),
        ({"params": {"location": "max"}}, "location must be one of all, cell; got 'max'"),
        ({"params": {"samples": 0}}, "samples must be a whole number, from 1 to [\\d,]+, got 0"),
        ({"params": {"seed": -1}}, "seed must be a whole number, 0 or more, got -1"),
        ({"params": {"noise": -0.1}}, "noise must be a number, from 0 to 100, got -0.1"),
        ({"params": {"noise": float("nan")}}, "noise must be a number, from 0 to 100, got nan"),
        ({"params": {"channels": "sum"}}, "channels must be one of max, mean; got 'sum'"),
    ],
)
@pytest.mark.parametrize("method", ["upsampling", "smoothgrad"])
def test_wrong_arguments_are_named(
    toy: Model, change: dict[str, Any], words: str, method: str
) -> None:
    known = {"pixels": PIXELS, "prototypes": NUMBERS, "cells": CELLS, "method": method} | change
    if set(known.get("params", {})) - set(ATTRIBUTIONS[method].defaults):
        words = f"unknown parameter of attribution '{method}'"
    triple = (known.pop(name) for name in ("pixels", "prototypes", "cells"))
    with pytest.raises((InputError, UnknownNameError), match=words):
        attribute(toy, *triple, **known)


def test_the_nearest_known_name_is_offered(toy: Model) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'upsampling'"):
        attribute(toy, PIXELS, NUMBERS, method="upsamling")
    with pytest.raises(UnknownNameError, match="did you mean 'samples'"):
        attribute(toy, PIXELS, NUMBERS, method="smoothgrad", params={"sample": 3})


def test_similarities_that_are_known_save_passes() -> None:
    network = Linear(torch.randn(5, 3, 4, 4, generator=torch.Generator().manual_seed(3)))
    model = model_of(network)
    wanted = attribute(model, PIXELS, NUMBERS)
    known = similarity_maps(model, PIXELS)[torch.arange(len(PIXELS)), NUMBERS]
    before = network.asked
    found = attribute(model, PIXELS, NUMBERS, similarities=known)
    assert network.asked == before
    assert torch.equal(found.raw, wanted.raw)
    assert torch.equal(found.values, wanted.values)
    with pytest.raises(InputError, match=r"similarities must be \(\d, rows, columns\), got"):
        attribute(model, PIXELS, NUMBERS, similarities=known[:1])
