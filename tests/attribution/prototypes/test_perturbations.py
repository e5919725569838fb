"""Perturbations do what they say, in float, for many images at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image, ImageEnhance
from scipy import ndimage
from skimage import color

from sightline.attribution.prototypes import (
    PERTURBATIONS,
    Perturbation,
    Step,
    blend,
    default_perturbations,
    perturb,
    relevant_boxes,
)
from sightline.attribution.prototypes._changes import CHANGES
from sightline.core import InputError, UnknownNameError
from tests.reference import perturbations as slow


def _map(image: Any, box: Any) -> torch.Tensor:
    """Return a map of the size of an image that is 1 in a box and 0 elsewhere."""
    values = torch.zeros(1, *image.shape[-2:])
    x0, y0, x1, y1 = (int(end) for end in box)
    values[0, y0:y1, x0:x1] = 1
    return values


BOXES = torch.tensor([[0, 0, 4, 2], [2, 1, 9, 7], [0, 0, 13, 9], [5, 5, 6, 6]])
MAPS = torch.cat([_map(torch.empty(9, 13), box) for box in BOXES])
CHECKED = [
    ("brightness", {"factor": 0.3}),
    ("brightness", {"factor": 1.7}),
    ("brightness", {"factor": 0.0}),
    ("contrast", {"factor": 0.2}),
    ("contrast", {"factor": 2.5}),
    ("saturation", {"factor": 0.3}),
    ("saturation", {"factor": 3.0}),
    ("hue", {"factor": 0.2}),
    ("hue", {"factor": -0.5}),
    ("hue", {"factor": 0.5}),
    ("hue", {"factor": -0.11}),
    ("blur", {"ksize": 3, "sigma": 0.7}),
    ("blur", {"ksize": 9, "sigma": 2.0}),
    ("blur", {"ksize": 1, "sigma": 2.0}),
    ("distortion", {"direction": "both"}),
    ("distortion", {"direction": "horizontal", "periods": 2, "amplitude": 3.3}),
    ("distortion", {"direction": "vertical", "periods": 1.5, "amplitude": 20}),
    ("distortion", {"periods": 0}),
    ("distortion", {"side": "longest"}),
]


def _one(kind: str, params: dict[str, Any] | None = None) -> Perturbation:
    return Perturbation(kind, (Step(kind, params or {}),))


@pytest.fixture(scope="module")
def images() -> torch.Tensor:
    """Noise, plain colours with greys, black beside white, and a constant grey: 9 × 13 pixels."""
    rng = np.random.default_rng(7)
    found = rng.random((4, 3, 9, 13))
    plain = np.array([[0, 0, 0], [1, 1, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [0, 1, 1]])
    found[1] = rng.choice(plain, (9, 13)).transpose(2, 0, 1)
    found[2] = np.arange(13) >= 6
    found[3] = 0.4
    return torch.from_numpy(found.astype(np.float32))


@pytest.mark.parametrize(("kind", "params"), CHECKED)
def test_a_change_is_that_of_slow_loops(
    images: torch.Tensor, kind: str, params: dict[str, Any]
) -> None:
    perturbation = _one(kind, params)
    found = perturb(images, perturbation, MAPS)
    full = dict(perturbation.steps[0].params)
    for image, box, one in zip(images.double().numpy(), BOXES, found.numpy(), strict=True):
        np.testing.assert_allclose(one, slow.perturbed(image, kind, full, box), atol=3e-6)
    assert found.dtype == torch.float32
    assert found.min() >= 0
    assert found.max() <= 1


def test_steps_are_done_one_after_the_other(images: torch.Tensor) -> None:
    steps = (Step("hue", {"factor": 0.3}), Step("contrast"), Step("distortion"), Step("blur"))
    found = perturb(images, Perturbation("all", steps), MAPS)
    expected = images
    for step in steps:
        expected = perturb(expected, Perturbation(step.type, (step,)), MAPS)
    assert torch.equal(found, expected)
    back = perturb(images, Perturbation("all", steps[::-1]), MAPS)
    assert not torch.allclose(found, back, atol=1e-3)


@pytest.mark.parametrize(
    ("kind", "enhance"),
    [
        ("brightness", ImageEnhance.Brightness),
        ("contrast", ImageEnhance.Contrast),
        ("saturation", ImageEnhance.Color),
    ],
)
@pytest.mark.parametrize("factor", [0.3, 1.0, 1.6])
def test_colours_are_those_of_pillow_but_for_its_rounding(
    images: torch.Tensor, kind: str, enhance: Any, factor: float
) -> None:
    bytes_ = (images * 255).round()
    found = perturb(bytes_ / 255, _one(kind, {"factor": factor}), MAPS) * 255
    for one, ours in zip(bytes_.byte(), found, strict=True):
        picture = Image.fromarray(one.permute(1, 2, 0).contiguous().numpy())
        theirs = np.asarray(enhance(picture).enhance(factor), float)
        assert np.abs(theirs - ours.permute(1, 2, 0).numpy()).max() <= 1.5


@pytest.mark.parametrize("factor", [-0.4, 0.2])
def test_hue_turns_as_in_skimage_and_value_stays(images: torch.Tensor, factor: float) -> None:
    found = perturb(images, _one("hue", {"factor": factor}), MAPS)
    for before, after in zip(images.numpy(), found.numpy(), strict=True):
        hsv = color.rgb2hsv(before.astype(float), channel_axis=0)
        hsv[0] = (hsv[0] + factor) % 1
        np.testing.assert_allclose(after, color.hsv2rgb(hsv, channel_axis=0), atol=3e-6)
        np.testing.assert_array_equal(after.max(axis=0), before.max(axis=0))


def test_a_hue_shift_moves_brightness_as_seen() -> None:
    yellow = torch.tensor([1.0, 1.0, 0.0]).view(1, 3, 1, 1)
    blue = perturb(yellow, _one("hue", {"factor": 0.5}), _map(yellow, [0, 0, 1, 1]))
    lightness = [
        color.rgb2lab(each[0].permute(1, 2, 0).numpy())[0, 0, 0] for each in (yellow, blue)
    ]
    assert lightness[0] - lightness[1] > 60


@pytest.mark.parametrize("shape", [(31, 40), (5, 7), (1, 9), (1, 1)])
def test_blur_mirrors_the_image_also_where_the_kernel_is_larger(shape: tuple[int, int]) -> None:
    image = np.random.default_rng(1).random((1, 3, *shape))
    found = perturb(
        torch.from_numpy(image), _one("blur", {"ksize": 51, "sigma": 6}), _map(image, [0, 0, 1, 1])
    )
    line = np.exp(-0.5 * (np.arange(-25, 26) / 6) ** 2)
    expected = image
    for axis in (2, 3):
        expected = ndimage.correlate1d(expected, line / line.sum(), axis, mode="mirror")
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-6)


def test_distortion_samples_between_pixels_as_scipy_does() -> None:
    rng = np.random.default_rng(3)
    image, boxes = rng.random((2, 3, 20, 30)), [[3, 2, 14, 9], [0, 0, 30, 20]]
    maps = torch.cat([_map(image, box) for box in boxes])
    found = perturb(torch.from_numpy(image), _one("distortion", {"direction": "vertical"}), maps)
    rows, columns = np.mgrid[:20, :30].astype(float)
    for one, box, ours in zip(image, boxes, found.numpy(), strict=True):
        moved = rows - 7 * np.sin(2 * np.pi * 5 * columns / (box[2] - box[0]))
        for channel, seen in zip(one, ours, strict=True):
            theirs = ndimage.map_coordinates(channel, [moved, columns], order=1, mode="nearest")
            np.testing.assert_allclose(seen, theirs, atol=1e-6)


def test_distortion_moves_whole_pixels_exactly_and_holds_the_edge() -> None:
    line = torch.tensor([0.9, 0.1, 0.2, 0.3, 0.4])
    image = line.expand(1, 3, 4, 5).contiguous()
    wave = _one("distortion", {"periods": 1, "amplitude": 2, "direction": "horizontal"})
    found = perturb(image, wave, _map(image, [1, 0, 5, 1]))[0, 0]  # a box of four pixels
    assert torch.equal(found[0], line)
    assert torch.equal(found[1], line[[0, 0, 0, 1, 2]])
    assert torch.equal(found[3], line[[2, 3, 4, 4, 4]])
    down = _one("distortion", {"periods": 1, "amplitude": 2, "direction": "vertical"})
    turned = perturb(image.mT.contiguous(), down, _map(image.mT, [0, 0, 4, 1]))[0, 0]
    assert torch.equal(turned, found.mT)


def test_the_width_of_the_box_gives_the_frequency_not_its_height() -> None:
    image = torch.rand(1, 3, 12, 12, generator=torch.Generator().manual_seed(0))
    wave = _one("distortion")
    wide, tall, far = (
        perturb(image, wave, _map(image, box))
        for box in ([0, 0, 8, 3], [0, 0, 8, 12], [4, 1, 12, 5])
    )
    assert torch.equal(wide, tall)
    assert torch.equal(wide, far)
    assert not torch.equal(wide, perturb(image, wave, _map(image, [0, 0, 7, 3])))


def test_neutral_parameters_give_the_images_themselves(images: torch.Tensor) -> None:
    seen = set()
    for kind, spec in PERTURBATIONS.items():
        for param in spec.params:
            if param.neutral is not None:
                seen.add(kind)
                same = perturb(images, _one(kind, {param.name: param.neutral}), MAPS)
                assert torch.equal(same, images), kind
    assert seen == set(PERTURBATIONS)


def test_images_do_not_depend_on_each_other(images: torch.Tensor) -> None:
    for perturbation in default_perturbations():
        found = perturb(images, perturbation, MAPS)
        parts = zip(images.split(1), MAPS.split(1), strict=True)
        alone = [perturb(image, perturbation, box) for image, box in parts]
        near = 1e-6 if perturbation.name == "blur" else 0.0  # a product of matrices may be blocked
        assert torch.allclose(found, torch.cat(alone), atol=near, rtol=0)
        assert not torch.equal(found, images)  # none of them does nothing


def test_bright_images_do_not_wrap_around() -> None:
    white = torch.ones(1, 3, 30, 30)
    maps = torch.ones(1, 30, 30)
    for kind in ("brightness", "contrast", "saturation"):
        assert torch.equal(perturb(white, _one(kind, {"factor": 1.9}), maps), white)
    for perturbation in default_perturbations()[1:]:
        np.testing.assert_allclose(perturb(white, perturbation, maps).numpy(), 1, atol=1e-6)


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (torch.ones(1, 3, 4, 4, dtype=torch.uint8), "as floats, got torch.uint8"),
        (torch.full((1, 3, 4, 4), 1.01), "from 0 to 1, got 1.01 to 1.01"),
        (torch.full((1, 3, 4, 4), torch.nan), "from 0 to 1, got nan"),
        (torch.ones(1, 4, 4, 4), r"\(n, 3, height, width\), got \(1, 4, 4, 4\)"),
    ],
)
def test_what_is_no_image_is_refused(bad: torch.Tensor, said: str) -> None:
    with pytest.raises(InputError, match=said):
        perturb(bad, _one("hue"), MAPS[:1])


def test_maps_that_do_not_fit_are_refused(images: torch.Tensor) -> None:
    with pytest.raises(InputError, match=r"values must be \(4, 9, 13\), .* got \(1, 9, 13\)"):
        perturb(images, _one("hue"), MAPS[:1])
    with pytest.raises(InputError, match="values must lie from 0 to 1, got 0 to 2"):
        perturb(images, _one("distortion"), 2 * MAPS)


@pytest.mark.parametrize("area", [0.1, 0.25, 1 / 117, 1.0])
def test_boxes_hold_the_highest_pixels_with_all_that_tie(area: float) -> None:
    rng = np.random.default_rng(5)
    maps = np.stack([rng.random((9, 13)), rng.integers(0, 3, (9, 13)), np.ones((9, 13))])
    found = relevant_boxes(torch.from_numpy(maps), area)
    assert found.tolist() == [slow.box_of(one, area) for one in maps]
    assert found[2].tolist() == [0, 0, 13, 9]


def test_a_lowest_value_that_fills_up_the_area_is_not_in_the_box() -> None:
    """Of a map that is 0 but for one cell the box was the whole image."""
    maps = torch.zeros(3, 20, 20)
    maps[:, 4:6, 7:12] = 0.5  # 2.5% of the pixels, where 10% are to be highest
    maps[1] -= 1
    maps[2] = 0.2
    cell, signed, constant = relevant_boxes(maps).tolist()
    assert cell == signed == [7, 4, 12, 6]
    assert constant == [0, 0, 20, 20]
    assert cell == slow.box_of(maps[0].numpy(), 0.1)


def test_a_box_can_hold_what_is_above_a_value() -> None:
    maps = torch.linspace(0, 1, 11).expand(1, 5, 11)
    assert relevant_boxes(maps, threshold=0.55).tolist() == [[6, 0, 11, 5]]
    assert relevant_boxes(maps, threshold=2).tolist() == [[0, 0, 11, 5]]  # the whole image


def test_the_period_follows_the_box_and_the_side_that_are_asked_for() -> None:
    image = torch.rand(1, 3, 40, 40, generator=torch.Generator().manual_seed(1))
    values = torch.zeros(1, 40, 40)
    values[0, 5:9, 3:13] = 1  # a tenth of the pixels above, and more above 0.3
    values[0, 9:30, 3:15] = 0.5
    values[0, 20:22, 20:40] = 0.25

    def waves(box: str, side: str) -> torch.Tensor:
        return perturb(image, _one("distortion", {"box": box, "side": side}), values)

    for box, side, same in [
        ("threshold", "width", [3, 0, 15, 1]),
        ("threshold", "longest", [3, 0, 28, 1]),
    ]:
        expected = perturb(image, _one("distortion"), _map(image, same))
        assert torch.equal(waves(box, side), expected)
    top = relevant_boxes(values)[0].tolist()
    assert torch.equal(waves("top_area", "width"), perturb(image, _one("distortion"), values))
    assert top == [3, 5, 15, 30]
    lone = _map(image, [2, 3, 4, 9])
    tall = perturb(image, _one("distortion", {"side": "longest"}), lone)
    assert torch.equal(tall, perturb(image, _one("distortion"), _map(image, [2, 3, 8, 9])))


def test_the_box_of_a_map_that_says_nothing_is_the_whole_image() -> None:
    maps = torch.zeros(2, 4, 6)
    maps[:, 1, 2:4] = 1
    maps[1, 3, 3] = torch.nan
    assert relevant_boxes(maps, 2 / 24).tolist() == [[2, 1, 4, 2], [0, 0, 6, 4]]
    with pytest.raises(InputError, match="area must be a share above 0, up to 1, got 0"):
        relevant_boxes(maps, 0)
    with pytest.raises(InputError, match=r"\(n, height, width\), got \(4, 6\)"):
        relevant_boxes(maps[0])


def test_blends_follow_the_map(images: torch.Tensor) -> None:
    values = torch.rand(4, 9, 13, generator=torch.Generator().manual_seed(2))
    values[0], values[1] = 0, 1
    changed = perturb(images, _one("hue"), MAPS)
    found = {mode: blend(images, changed, values, mode) for mode in ("focused", "dual", "global")}
    for mode, blends in found.items():
        for image, other, one, ours in zip(
            *(part.double().numpy() for part in (images, changed, values)), blends, strict=True
        ):
            np.testing.assert_allclose(ours, slow.blended(image, other, one, mode), atol=2e-7)
    assert torch.equal(found["focused"][0], images[0])
    assert torch.equal(found["dual"][0], changed[0])
    assert torch.equal(found["focused"][1], changed[1])
    assert torch.equal(found["dual"][1], images[1])
    assert found["global"] is changed
    gap = (found["focused"].double() + found["dual"]) - (images.double() + changed)
    assert gap.abs().max() <= 2**-23


def test_blends_of_an_image_with_itself_are_the_image(images: torch.Tensor) -> None:
    values = torch.rand(4, 9, 13, generator=torch.Generator().manual_seed(2))
    for mode in ("focused", "dual"):
        assert torch.equal(blend(images, images.clone(), values, mode), images)


def test_a_soft_blend_greys_out() -> None:
    red = torch.tensor([1.0, 0.0, 0.0]).view(1, 3, 1, 1)
    cyan = perturb(red, _one("hue", {"factor": 0.5}), torch.ones(1, 1, 1))
    assert cyan.flatten().tolist() == [0.0, 1.0, 1.0]
    assert blend(red, cyan, torch.full((1, 1, 1), 0.5), "focused").flatten().tolist() == [0.5] * 3


@pytest.mark.parametrize(
    ("values", "mode", "said"),
    [
        (torch.ones(4, 9, 13), "local", "one of focused, dual, global, got 'local'"),
        (torch.ones(4, 9, 12), "focused", r"must be \(4, 9, 13\), .* got \(4, 9, 12\)"),
        (torch.full((4, 9, 13), 1.5), "dual", "from 0 to 1, got 1.5 to 1.5"),
    ],
)
def test_blends_that_cannot_be_are_refused(
    images: torch.Tensor, values: torch.Tensor, mode: Any, said: str
) -> None:
    with pytest.raises(InputError, match=said):
        blend(images, images, values, mode)


def test_blends_of_different_images_are_refused(images: torch.Tensor) -> None:
    with pytest.raises(InputError, match="same shape"):
        blend(images, images[:2], torch.ones(4, 9, 13), "focused")


def test_the_table_is_whole_and_has_the_usual_defaults() -> None:
    assert list(CHANGES) == list(PERTURBATIONS)
    usual = {each.name: dict(each.steps[0].params) for each in default_perturbations()}
    assert usual == {
        "brightness": {"factor": 0.3},
        "contrast": {"factor": 0.2},
        "saturation": {"factor": 0.3},
        "hue": {"factor": 0.2},
        "blur": {"ksize": 21, "sigma": 2.0},
        "distortion": {
            "periods": 5.0,
            "side": "width",
            "box": "top_area",
            "amplitude": 7.0,
            "direction": "both",
        },
    }
    for kind, spec in PERTURBATIONS.items():
        assert spec.type == kind
        assert spec.about
        assert spec.citation
        for param in spec.params:
            ends = param.choices or param.range
            assert [param.read(end) for end in ends] == list(ends)
            assert param.read(param.default) == param.default


def test_descriptions_say_the_values() -> None:
    said = [each.description for each in default_perturbations()]
    assert said == [
        "brightness times 0.3",
        "contrast times 0.2",
        "saturation times 0.3",
        "hue shifted by 0.2 of the circle",
        "Gaussian blur of 21 pixels, sigma 2",
        (
            "sinus distortion, 5 periods over the width of the box (top_area), amplitude 7 "
            "pixels, both"
        ),
    ]


@pytest.mark.parametrize(
    ("kind", "params", "said"),
    [
        ("blur", {"ksize": 4}, "gaussian_blur_ksize must be an odd whole number from 1 up, got 4"),
        ("blur", {"ksize": 3.5}, "odd whole number"),
        ("blur", {"sigma": 0}, "gaussian_blur_sigma must be a number from 0.01 up, got 0"),
        ("hue", {"factor": 0.6}, "hue_factor must be a number from -0.5 to 0.5, got 0.6"),
        ("brightness", {"factor": -1}, "brightness_factor must be a number from 0 up, got -1"),
        ("contrast", {"factor": float("nan")}, "contrast_factor must be a number"),
        ("contrast", {"factor": True}, "contrast_factor must be a number"),
        ("saturation", {"factor": "a"}, "saturation_factor must be a number"),
        ("distortion", {"direction": "up"}, "one of horizontal, vertical, both, got 'up'"),
    ],
)
def test_parameters_that_do_not_fit_are_named(kind: str, params: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Step(kind, params)


def test_unknown_names_are_told() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'blur'"):
        Step("blurr")
    with pytest.raises(UnknownNameError, match="no parameter 'size'; it has: ksize, sigma"):
        Step("blur", {"size": 3})
    with pytest.raises(InputError, match="must have a name"):
        Perturbation(" ", (Step("hue"),))
    with pytest.raises(InputError, match="'none' must have steps"):
        Perturbation("none", ())


def test_steps_are_equal_however_they_are_written() -> None:
    written = Step("blur", {"sigma": 2})
    assert written == Step("blur") == Step("blur", (("ksize", 21.0), ("sigma", 2.0)))
    assert len({written, Step("blur")}) == 1
