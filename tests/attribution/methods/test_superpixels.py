"""LIME and kernel SHAP where the right answer is known: additive models, and few superpixels."""

from __future__ import annotations

import sys
from itertools import combinations
from math import factorial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge
from torch import nn

from sightline.attribution.methods import explain
from sightline.attribution.methods.perturbation import cover_of
from sightline.attribution.methods.superpixels import (
    draw_coalitions,
    find_segments,
    fit_ridge,
    fit_shapley,
)
from sightline.core import InputError, MissingPackageError
from sightline.models import Description, load_model
from tests.attribution.methods.networks import (
    CLASSES,
    COLOURED,
    ONE,
    linear,
    make_images,
    one_patch,
    smooth,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from sightline.models import Model

IMAGES = make_images()


def segments_of(model: Model, image: Any, count: int) -> NDArray[np.int64]:
    """The superpixels of an image as the model sees it."""
    pixels = model.prepare(image).pixels[0].numpy().transpose(1, 2, 0)
    return find_segments(pixels * model.preprocess.std + np.array(model.preprocess.mean), count)


def score(model: Model, pixels: Tensor, target: int) -> float:
    with torch.no_grad():
        logits: Any = model(pixels).logits
    return float(logits[0, target])


def shown(model: Model, image: Any, labels: NDArray[Any], parts: Any) -> Tensor:
    """The input with all superpixels hidden but some."""
    pixels = model.prepare(image).pixels
    mask = torch.from_numpy(np.isin(labels, list(parts)))
    return torch.where(mask, pixels, cover_of(model, pixels, "mean"))


# --- superpixels ----------------------------------------------------------------------------------


def test_superpixels_part_the_image() -> None:
    for image in IMAGES:
        labels = find_segments(image / 255, 20)
        assert labels.shape == image.shape[:2]
        assert set(labels.flatten().tolist()) == set(range(labels.max() + 1))
        assert 10 <= labels.max() + 1 <= 40


def test_superpixels_follow_colours() -> None:
    image = np.zeros((32, 32, 3))
    image[:, 11:] = (0.9, 0.2, 0.1)
    labels = find_segments(image, 8)
    assert not set(labels[:, :10].flatten()) & set(labels[:, 12:].flatten())


def test_a_plain_image_has_superpixels_too() -> None:
    labels = find_segments(np.full((40, 40, 3), 0.3), 16)
    assert 9 <= labels.max() + 1 <= 25
    plain = np.full((40, 56, 3), 90, np.uint8)
    for method in ("lime", "kernel_shap"):
        maps = explain(smooth(), plain, method, params={"samples": 20})
        assert np.isfinite(maps.of()).all()


@pytest.mark.parametrize("method", ["lime", "kernel_shap"])
def test_one_superpixel_is_worth_all(method: str) -> None:
    model, image = smooth(), IMAGES[0]
    params = {"segments": 1, "samples": 4} | ({"ridge": 0} if method == "lime" else {})
    maps = explain(model, image, method, target=0, params=params)
    pixels = model.prepare(image).pixels
    gain = score(model, pixels, 0) - score(model, torch.zeros_like(pixels), 0)
    assert np.allclose(maps.of(), gain, rtol=1e-4)


# --- an additive model ----------------------------------------------------------------------------


@pytest.mark.parametrize("cover", ["mean", "black"])
@pytest.mark.parametrize(
    ("method", "params"),
    [("lime", {"samples": 60, "ridge": 0}), ("kernel_shap", {"samples": 60})],
)
def test_what_superpixels_of_a_linear_model_are_worth_is_exact(
    method: str, params: dict[str, Any], cover: str
) -> None:
    model = linear()
    maps = explain(
        model,
        IMAGES,
        method,
        target=[0, 1, 2],
        params={**params, "segments": 12, "baseline": cover},
    )
    for i, image in enumerate(IMAGES):
        pixels = model.prepare(image).pixels.requires_grad_()
        logits: Any = model(pixels).logits
        logits[0, i].backward()
        assert pixels.grad is not None
        with torch.no_grad():
            part = ((pixels - cover_of(model, pixels, cover)) * pixels.grad)[0].sum(0).numpy()
        labels = segments_of(model, image, 12)
        wanted = np.bincount(labels.flatten(), part.flatten())[labels]
        assert labels.max() >= 7
        assert np.abs(maps.of(i) - wanted).max() < 1e-4 * np.abs(wanted).max()


# --- LIME -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("ridge", [0.0, 0.3, 10.0])
def test_ridge_is_scikit_learns(ridge: float) -> None:
    rng = np.random.default_rng(4)
    sets, scores, weights = rng.random((50, 9)) < 0.5, rng.normal(size=50), rng.random(50)
    wanted = Ridge(alpha=ridge).fit(sets, scores, sample_weight=weights).coef_
    assert np.allclose(fit_ridge(sets, scores, weights, ridge), wanted)


def test_lime_is_a_ridge_on_what_the_model_says() -> None:
    model, image = smooth(), IMAGES[1]
    params = {"samples": 30, "segments": 9, "width": 0.3, "ridge": 0.5}
    maps = explain(model, image, "lime", target=1, params=params)
    labels = segments_of(model, image, 9)
    count = labels.max() + 1
    drawn = np.random.default_rng([model.prepare(image).keys[0], 0]).random((30, count)) < 0.5
    sets = [np.ones(count, bool), np.zeros(count, bool), *drawn]
    scores = [score(model, shown(model, image, labels, np.flatnonzero(z)), 1) for z in sets]
    # sqrt(exp(-d²/w²)), with the cosine distance d to the whole image: 1 - sqrt(share shown)
    near = [np.sqrt(np.exp(-((1 - np.sqrt(z.mean())) ** 2) / 0.3**2)) for z in sets]
    wanted = Ridge(alpha=0.5).fit(np.array(sets), scores, sample_weight=near).coef_
    assert np.abs(maps.of() - wanted[labels]).max() < 1e-4 * np.abs(wanted).max()


def test_more_samples_than_superpixels_are_not_needed() -> None:
    maps = explain(smooth(), IMAGES, "lime", params={"samples": 3, "ridge": 0})
    assert np.isfinite(maps.stack()).all()


# --- kernel SHAP ----------------------------------------------------------------------------------


def brute_force(values: dict[frozenset[int], float], parts: int) -> NDArray[np.float64]:
    """Shapley values by their definition: the mean gain of a part over all orders."""
    found = np.zeros(parts)
    for part in range(parts):
        others = [other for other in range(parts) if other != part]
        for size in range(parts):
            chance = factorial(size) * factorial(parts - size - 1) / factorial(parts)
            for before in map(frozenset, combinations(others, size)):
                found[part] += chance * (values[before | {part}] - values[before])
    return found


def test_few_superpixels_have_their_exact_shapley_values() -> None:
    model, image = smooth(), IMAGES[2]
    labels = segments_of(model, image, 6)
    parts = int(labels.max()) + 1
    assert 4 <= parts <= 8
    maps = explain(model, image, "kernel_shap", target=2, params={"segments": 6, "samples": 300})
    values = {
        frozenset(some): score(model, shown(model, image, labels, some), 2)
        for size in range(parts + 1)
        for some in combinations(range(parts), size)
    }
    wanted = brute_force(values, parts)
    assert np.abs(maps.of() - wanted[labels]).max() < 1e-4 * np.abs(wanted).max()


@pytest.mark.parametrize("parts", [2, 3, 5, 7])
def test_shapley_values_of_any_game(parts: int) -> None:
    rng = np.random.default_rng(parts)
    inner = draw_coalitions(rng, parts, 2**parts)
    sets = np.concatenate([[[True] * parts], [[False] * parts], inner])
    assert len({tuple(row) for row in sets.tolist()}) == len(sets) == 2**parts
    scores = rng.normal(size=len(sets))
    values = {
        frozenset(np.flatnonzero(row).tolist()): float(value)
        for row, value in zip(sets, scores, strict=True)
    }
    assert np.allclose(fit_shapley(sets, scores), brute_force(values, parts))


def test_values_add_up_to_the_gain_however_few_the_samples() -> None:
    model = smooth()
    for samples in (2, 15, 200):
        maps = explain(model, IMAGES, "kernel_shap", target=0, params={"samples": samples})
        for i, image in enumerate(IMAGES):
            labels, pixels = segments_of(model, image, 50), model.prepare(image).pixels
            _, first = np.unique(labels, return_index=True)
            gain = score(model, pixels, 0) - score(model, torch.zeros_like(pixels), 0)
            assert np.isclose(maps.of(i).flatten()[first].sum(), gain, rtol=1e-3, atol=1e-5)


def test_sizes_are_drawn_as_the_kernel_has_it() -> None:
    drawn = draw_coalitions(np.random.default_rng(0), 8, 200)
    assert drawn.shape == (200, 8)
    assert (drawn[::2] ^ drawn[1::2]).all()
    many = np.concatenate([draw_coalitions(np.random.default_rng(s), 8, 200) for s in range(50)])
    sizes = many.sum(1)
    kernel = np.array([1 / (s * (8 - s)) for s in range(1, 8)])
    seen = np.bincount(sizes, minlength=9)
    assert seen[0] == seen[8] == 0
    assert np.allclose(seen[1:8] / len(many), kernel / kernel.sum(), atol=0.015)
    assert np.allclose(many.mean(0), 0.5, atol=0.02)


def test_an_odd_number_of_samples_is_kept_to() -> None:
    assert draw_coalitions(np.random.default_rng(0), 30, 7).shape == (7, 30)


# --- both -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["lime", "kernel_shap"])
def test_a_model_that_reads_one_patch_gives_a_map_there(method: str) -> None:
    """The superpixels are the patches, of a colour each; one of them is read."""
    rng = np.random.default_rng(1)
    image = rng.integers(0, 256, (3, 4, 3), np.uint8).repeat(8, 0).repeat(8, 1)
    model = one_patch()
    maps = explain(model, image, method, params={"segments": 12, "samples": 100})
    labels = segments_of(model, image, 12)
    inside = np.zeros((24, 32), bool)
    inside[8 * ONE[0] : 8 * ONE[0] + 8, 8 * ONE[1] : 8 * ONE[1] + 8] = True
    touching = np.isin(labels, np.unique(labels[inside]))
    values = np.abs(maps.of())
    assert values[inside].mean() > 10 * values[~touching].max()


@pytest.mark.parametrize(
    ("method", "params", "said"),
    [
        ("lime", {"samples": 0}, "samples must be a whole number, from 1 to [\\d,]+, got 0"),
        ("lime", {"ridge": -1}, "ridge must be a number, 0 or more, got -1"),
        ("lime", {"width": 0}, "width must be a number, 1e-06 or more, got 0"),
        ("lime", {"segments": 0}, "segments must be a whole number, from 1 to [\\d,]+, got 0"),
        ("kernel_shap", {"samples": 1}, "samples must be a whole number, from 2 to [\\d,]+, got 1"),
        ("kernel_shap", {"compactness": 0}, "compactness must be a number, 1e-06 or more, got 0"),
        ("kernel_shap", {"baseline": "sky"}, "baseline must be one of .* got 'sky'"),
    ],
)
def test_bad_parameters_are_told(method: str, params: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        explain(smooth(), IMAGES, method, params=params)


def test_images_with_fewer_sets_than_others_are_right_together() -> None:
    """One image has few superpixels and all their sets, the other more and some of their sets."""
    images, model, params = IMAGES[:2], smooth(), {"segments": 5, "samples": 40}
    assert [int(segments_of(model, image, 5).max()) + 1 for image in images] == [6, 4]
    together = explain(model, images, "kernel_shap", target=0, params=params)
    for i, image in enumerate(images):
        alone = explain(model, image, "kernel_shap", target=0, params=params)
        assert np.allclose(together.of(i), alone.of(), atol=1e-5 * np.abs(alone.of()).max() + 1e-7)


def test_scikit_image_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "skimage.segmentation", None)
    with pytest.raises(
        MissingPackageError, match=r"scikit-image: pip install 'sightline\[models\]'"
    ):
        explain(smooth(), IMAGES, "lime")


class _Counts(nn.Module):  # type: ignore[misc]
    """Says how many images it was given at once."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Conv2d(3, 3, 8, 8)
        self.sizes: list[int] = []

    def forward(self, pixels: Tensor) -> Tensor:
        self.sizes.append(len(pixels))
        return self.embed(pixels).mean((2, 3))


@pytest.mark.parametrize("method", ["lime", "kernel_shap"])
def test_samples_of_all_images_run_in_full_batches(method: str) -> None:
    network = _Counts()
    model = load_model(network, Description(["embed"], COLOURED, 8, CLASSES))
    explain(model, IMAGES, method, params={"samples": 20}, batch=8)
    # The images, then for each the samples and the image of which all is hidden.
    assert network.sizes == [3, 8, 8, 8, 8, 8, 8, 8, 7]


@pytest.mark.parametrize("name", ["lime", "kernel_shap"])
def test_more_segments_than_a_fit_can_hold(name: str) -> None:
    with pytest.raises(InputError, match=r"segments must be .* from 1 to 2,000, got 1000000"):
        explain(linear(), IMAGES[0], name, params={"segments": 1_000_000})
