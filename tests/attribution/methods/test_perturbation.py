"""Occlusion and RISE against slow loops, Captum, and cases whose answer is known."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from captum.attr import Occlusion  # type: ignore[import-untyped]
from torch.nn.functional import interpolate

from sightline import load_dataset
from sightline.attribution.methods import explain
from sightline.attribution.methods.methods import METHODS, Request
from sightline.attribution.methods.perturbation import _draw_masks, cover_of
from sightline.core import InputError
from sightline.data.facades.styles import PART_TYPES
from sightline.models import load_model
from tests.attribution.methods.networks import (
    CLASSES,
    ONE,
    linear,
    make_images,
    one_patch,
    smooth,
    tiny,
)
from tests.attribution.methods.seen import close

if TYPE_CHECKING:
    from torch import Tensor

    from sightline.models import Inputs, Model, Output

IMAGES = make_images()
# The one patch that the network of that name reads, on the input of 32 x 24 pixels.
PATCH = (slice(8 * ONE[0], 8 * ONE[0] + 8), slice(8 * ONE[1], 8 * ONE[1] + 8))


def logit(model: Model, pixels: Tensor, target: int) -> float:
    with torch.no_grad():
        logits: Any = model(pixels).logits
    return float(logits[0, target])


def recorded(model: Model) -> tuple[Model, list[int]]:
    """The model, and how many images it is given at a time from now on."""
    sizes: list[int] = []

    def forward(network: Any, pixels: Tensor) -> Output:
        sizes.append(len(pixels))
        return model.forward(network, pixels)

    return replace(model, forward=forward), sizes


# --- what hidden pixels become --------------------------------------------------------------------


@pytest.mark.parametrize(("name", "colour"), [("black", 0), ("white", 255)])
def test_a_colour_is_what_an_image_of_it_becomes(name: str, colour: int) -> None:
    model = linear()
    plain = model.prepare(np.full((24, 32, 3), colour, np.uint8)).pixels
    close(cover_of(model, plain + 1, name).numpy(), plain.numpy(), 1e-6)
    assert not cover_of(model, plain, "mean").any()


def test_blur_is_a_gaussian_over_what_is_there() -> None:
    model = linear()
    pixels = model.prepare(IMAGES[0]).pixels
    sigma, found = 0.05 * 24, cover_of(model, pixels, "blur").numpy()
    image = pixels[0].numpy().astype(float)
    for y, x in ((0, 0), (23, 5), (12, 16)):
        rows = np.exp(-0.5 * ((np.arange(24) - y) / sigma) ** 2)
        columns = np.exp(-0.5 * ((np.arange(32) - x) / sigma) ** 2)
        weights = np.outer(rows, columns)
        assert np.allclose(found[0, :, y, x], (image * weights).sum((1, 2)) / weights.sum())
    even = torch.full_like(pixels, 0.7)
    assert torch.allclose(cover_of(model, even, "blur"), even)


def test_an_unknown_cover_is_told() -> None:
    with pytest.raises(InputError, match="baseline must be one of mean, black, white, blur; got 3"):
        explain(linear(), IMAGES, "rise", params={"baseline": 3, "masks": 2})


# --- occlusion ------------------------------------------------------------------------------------


@pytest.mark.parametrize("cover", ["mean", "black", "white"])
@pytest.mark.parametrize("kind", ["linear", "smooth", "vit"])
def test_occlusion_is_captums_where_windows_divide_the_input(kind: str, cover: str) -> None:
    made: dict[str, Any] = {"linear": linear, "smooth": smooth, "vit": lambda: tiny("vit", size=32)}
    model: Model = made[kind]()
    maps = explain(
        model,
        IMAGES,
        "occlusion",
        target=[0, 2, 1],
        params={"window": 8, "stride": 4, "baseline": cover},
    )
    captum = Occlusion(lambda pixels: model(pixels).logits)
    for i, target in enumerate([0, 2, 1]):
        pixels = model.prepare(IMAGES[i]).pixels
        with torch.no_grad():
            wanted = captum.attribute(
                pixels, (3, 8, 8), (3, 4, 4), cover_of(model, pixels, cover), target=target
            )
        close(maps.of(i), wanted[0, 0].numpy())


def test_occlusion_covers_the_borders_where_windows_do_not_divide_the_input() -> None:
    model, image = smooth(), IMAGES[0]  # an input of 32 x 24 pixels
    maps = explain(model, image, "occlusion", target=1, params={"window": 7, "stride": 5})
    pixels = model.prepare(image).pixels
    falls: dict[tuple[int, int], list[float]] = {}
    for top in (0, 5, 10, 15, 17):
        for left in (0, 5, 10, 15, 20, 25):
            copy = pixels.clone()
            copy[:, :, top : top + 7, left : left + 7] = 0
            fall = logit(model, pixels, 1) - logit(model, copy, 1)
            for place in np.ndindex(7, 7):
                falls.setdefault((top + place[0], left + place[1]), []).append(fall)
    wanted = np.zeros((24, 32))
    for at, values in falls.items():
        wanted[at] = np.mean(values)
    assert len(falls) == 24 * 32
    close(maps.of(), wanted)


def test_occlusion_of_a_linear_model_is_what_the_windows_hold() -> None:
    model = linear()
    maps = explain(model, IMAGES, "occlusion", target="gable", params={"window": 8, "stride": 8})
    for i, image in enumerate(IMAGES):
        pixels = model.prepare(image).pixels.requires_grad_()
        logits: Any = model(pixels).logits
        logits[0, 1].backward()
        assert pixels.grad is not None
        held = (pixels * pixels.grad)[0].detach().sum(0).unfold(0, 8, 8).unfold(1, 8, 8)
        close(maps.of(i)[::8, ::8], held.sum((2, 3)).numpy(), 1e-4)


def test_lengths_are_pixels_or_shares() -> None:
    model = smooth()
    shares = explain(model, IMAGES, "occlusion", params={"window": 0.5, "stride": 0.25})
    by_hand = explain(model, IMAGES, "occlusion", params={"window": 0.5, "stride": 0.5})
    assert len(np.unique(shares.of())) == 16
    assert len(np.unique(by_hand.of())) == 4
    whole = explain(model, IMAGES, "occlusion", params={"window": 100, "stride": 100})
    assert len(np.unique(whole.of())) == 1


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"window": 0}, "window must be pixels .* or a share .* got 0"),
        ({"window": 1.5}, "window must be pixels .* got 1.5"),
        ({"stride": True}, "stride must be pixels .* got True"),
        ({"stride": "a"}, "stride must be pixels .* got 'a'"),
        ({"window": 4, "stride": 5}, "stride must be at most the window.* got 5 and 4 pixels"),
        ({"baseline": "red"}, "baseline must be one of mean, black, white, blur; got 'red'"),
    ],
)
def test_bad_parameters_of_occlusion_are_told(params: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        explain(smooth(), IMAGES, "occlusion", params=params)


def test_windows_of_all_images_run_in_full_batches() -> None:
    model, sizes = recorded(smooth())
    explain(model, IMAGES, "occlusion", params={"window": 8, "stride": 8}, batch=5)
    assert sizes == [3, 5, 5, 5, 5, 5, 5, 5, 1]  # the images, then 3 x 12 windows


# --- RISE -----------------------------------------------------------------------------------------


def asked(method: str, **params: Any) -> Request:
    return Request((), None, None, METHODS[method].with_defaults(params), 4)


def prepared(model: Model) -> Inputs:
    return next(iter(model.batches(IMAGES, 3)))


@pytest.mark.parametrize("cells", [1, 3, 7])
def test_masks_are_cells_enlarged_shifted_and_cut(cells: int) -> None:
    inputs = prepared(smooth())  # 32 x 24 pixels
    masks = _draw_masks(inputs, asked("rise", masks=5, cells=cells), 0.5)
    step = -(-24 // cells)
    rows, columns = -(-24 // step), -(-32 // step)
    assert masks.cells.shape == (3, 5, rows, columns)
    for i, k in np.ndindex(3, 5):
        large = interpolate(
            masks.cells[i, k][None, None].float(),
            size=((rows + 1) * step, (columns + 1) * step),
            mode="bilinear",
        )[0, 0]
        top, left = masks.shifts[i, k].tolist()
        assert 0 <= min(top, left) <= max(top, left) < step
        found = masks.at(torch.tensor([i]), torch.tensor([k]))[0]
        assert torch.allclose(found, large[top : top + 24, left : left + 32], atol=1e-5)


def test_masks_are_drawn_for_each_image_and_seed() -> None:
    inputs = prepared(smooth())
    one = _draw_masks(inputs, asked("rise", masks=400), 0.25)
    other = _draw_masks(inputs, asked("rise", masks=400, seed=1), 0.25)
    assert abs(float(one.cells.float().mean()) - 0.25) < 0.01
    assert not torch.equal(one.cells[0], one.cells[1])
    assert not torch.equal(one.cells, other.cells)
    assert set(one.shifts.flatten().tolist()) == set(range(one.step))


@pytest.mark.parametrize("form", ["centred", "paper"])
@pytest.mark.parametrize("of", ["probability", "logit"])
def test_rise_is_the_mean_of_masks_by_their_scores(of: str, form: str) -> None:
    model = smooth()
    params = {"masks": 6, "cells": 3, "share": 0.4, "of": of, "form": form}
    maps = explain(model, IMAGES, "rise", target=2, params=params)
    inputs = prepared(model)
    masks = _draw_masks(inputs, asked("rise", **params), 0.4)
    for i in range(3):
        scores, drawn = [], []
        for k in range(6):
            mask = masks.at(torch.tensor([i]), torch.tensor([k]))
            with torch.no_grad():
                logits: Any = model(inputs.pixels[i : i + 1] * mask[:, None]).logits
            scores.append(float((logits.softmax(1) if of == "probability" else logits)[0, 2]))
            drawn.append(mask[0].double().numpy())
        taken = np.mean(scores) if form == "centred" else 0.0
        wanted = sum((f - taken) * m for f, m in zip(scores, drawn, strict=True)) / (6 * 0.4)
        close(maps.of(i), wanted)


def test_the_two_forms_of_rise_differ_by_how_often_a_pixel_was_shown() -> None:
    """A model that says the same of every image has nothing to show: centred, the map is 0."""
    model = smooth()
    with torch.no_grad():
        model.network[-1].weight.zero_()
    maps = {
        form: explain(model, IMAGES, "rise", params={"masks": 50, "form": form}).of()
        for form in ("centred", "paper")
    }
    assert not maps["centred"].any()
    assert maps["paper"].std() > 0.01


def test_rise_explains_embeddings_too() -> None:
    maps = explain(
        tiny("dinov2", size=(40, 24)), IMAGES, "rise", target="embedding", params={"masks": 4}
    )
    assert maps.targets == ("embedding",) * 3
    assert np.ptp(maps.of(0)) > 0


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"masks": 0}, "masks must be a whole number, from 1 to [\\d,]+, got 0"),
        ({"cells": 0}, "cells must be a whole number, from 1 to [\\d,]+, got 0"),
        ({"share": 0}, "share must be above 0 and below 1, got 0"),
        ({"share": 1}, "share must be above 0 and below 1, got 1"),
        ({"share": 2}, "share must be a number, from 0 to 1, got 2"),
        ({"of": "logits"}, "of must be probability or logit, got 'logits'"),
        ({"form": "own"}, "form must be centred or paper, got 'own'"),
    ],
)
def test_bad_parameters_of_rise_are_told(params: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        explain(smooth(), IMAGES, "rise", params=params)


def test_masks_of_all_images_run_in_full_batches() -> None:
    model, sizes = recorded(smooth())
    explain(model, IMAGES, "rise", params={"masks": 7}, batch=4)
    assert sizes == [3, 4, 4, 4, 4, 4, 1]


# --- answers that are known -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("occlusion", {"window": 8, "stride": 4}),
        ("rise", {"masks": 300, "cells": 4, "of": "logit"}),
    ],
)
def test_a_model_that_reads_one_patch_gives_a_map_there(
    method: str, params: dict[str, Any]
) -> None:
    maps = explain(one_patch(), IMAGES, method, params=params)
    assert set(maps.targets) <= set(CLASSES)
    for i in range(3):
        values = np.abs(maps.of(i))
        inside = values[PATCH].mean()
        around = values.copy()
        around[PATCH] = 0
        assert inside > 2 * around.sum() / (values.size - 64)
        assert np.unravel_index(values.argmax(), values.shape)[0] in range(6, 18)
        assert np.unravel_index(values.argmax(), values.shape)[1] in range(14, 26)


def test_hiding_what_a_model_does_not_read_changes_nothing() -> None:
    maps = explain(one_patch(), IMAGES, "occlusion", params={"window": 8, "stride": 8})
    values = np.abs(maps.stack()[:, 0, 0])
    least = values[(slice(None), *PATCH)].min()
    values[(slice(None), *PATCH)] = 0
    assert values.max() < 1e-6 * least  # two passes of the same image differ by rounding


def test_a_trained_model_loses_most_where_its_deciding_parts_are() -> None:
    """In two churches; others have so many parts that hiding one window costs nothing."""
    churches = load_dataset("facades", count=3, seed=3)
    samples = [churches[0], churches[2]]
    maps = explain(
        load_model("demo/cnn"),
        samples,
        "occlusion",
        target="label",
        params={"window": 0.25, "stride": 0.125},
    ).to_image()
    for i, sample in enumerate(samples):
        parts = [r for r in sample.annotation.regions if PART_TYPES[r.label][1] in sample.labels]
        values = maps.of(i)
        mask = np.any([part.to_mask(*values.shape) for part in parts], axis=0)
        assert values.max() > 0.1
        assert values[mask].mean() > values[~mask].mean() + 0.05
