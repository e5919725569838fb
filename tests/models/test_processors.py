"""Pixels against transformers' own processors of images, read back from what they save."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from transformers.models.bit.image_processing_pil_bit import BitImageProcessorPil
from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil
from transformers.models.convnext.image_processing_pil_convnext import ConvNextImageProcessorPil
from transformers.models.deit.image_processing_pil_deit import DeiTImageProcessorPil
from transformers.models.siglip.image_processing_pil_siglip import SiglipImageProcessorPil
from transformers.models.vit.image_processing_pil_vit import ViTImageProcessorPil

from sightline.core import InputError
from sightline.models import Model, load_model
from tests.models.families import tiny

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

SOURCES = {"landscape": (150, 97), "portrait": (83, 211), "square": (120, 120), "small": (20, 31)}
CROP = {"size": {"shortest_edge": 80}, "crop_size": {"height": 64, "width": 64}}
SQUASH = {"size": {"height": 64, "width": 64}}
# The network, its processor, what it is set to, and the fit that is the same.
PROCESSORS: dict[str, tuple[str, Any, dict[str, Any], str]] = {
    "clip": ("CLIPVisionModel", CLIPImageProcessorPil, CROP, "crop"),
    "clip, no larger": (
        "CLIPVisionModel",
        CLIPImageProcessorPil,
        {**CROP, "size": {"shortest_edge": 64}},
        "crop",
    ),
    "dinov2": ("Dinov2Model", BitImageProcessorPil, CROP, "crop"),
    "dinov2 with registers": ("Dinov2WithRegistersModel", BitImageProcessorPil, CROP, "crop"),
    "resnet": (
        "ResNetModel",
        ConvNextImageProcessorPil,
        {"size": {"shortest_edge": 64}, "crop_pct": 0.875},
        "crop",
    ),
    "convnext, uneven": (
        "ConvNextModel",
        ConvNextImageProcessorPil,
        {"size": {"shortest_edge": 64}, "crop_pct": 0.93},  # 68.8
        "crop",
    ),
    "convnext, large": (
        "ConvNextModel",
        ConvNextImageProcessorPil,
        {"size": {"shortest_edge": 384}, "crop_pct": 0.95},
        "squash",
    ),
    "mae": ("ViTMAEModel", ViTImageProcessorPil, {**SQUASH, "resample": 3}, "squash"),
    "vit": ("ViTModel", ViTImageProcessorPil, SQUASH, "squash"),
    "siglip": ("SiglipVisionModel", SiglipImageProcessorPil, SQUASH, "squash"),
    "deit": (
        "DeiTModel",
        DeiTImageProcessorPil,
        {"do_center_crop": False, "size": {"height": 64, "width": 64}},
        "squash",
    ),
}


def image_of(width: int, height: int) -> NDArray[np.uint8]:
    return np.random.default_rng(3).integers(0, 256, (height, width, 3)).astype(np.uint8)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network of which only the preprocessing will change."""
    path = tmp_path_factory.mktemp("dinov2")
    tiny("Dinov2Model").save_pretrained(path)
    return path


def model_saying(folder: Path, said: dict[str, Any] | None) -> Model:
    path = folder / "preprocessor_config.json"
    path.unlink(missing_ok=True)
    if said is not None:
        path.write_text(json.dumps(said))
    return load_model(f"hf:{folder}")


@pytest.mark.parametrize("kind", PROCESSORS)
def test_pixels_equal_those_of_the_processor(tmp_path: Path, kind: str) -> None:
    name, processor_class, settings, fit = PROCESSORS[kind]
    tiny(name).save_pretrained(tmp_path)
    processor = processor_class(**settings)
    processor.save_pretrained(tmp_path)
    model = load_model(f"hf:{tmp_path}", fit=fit)
    for size in SOURCES.values():
        image = image_of(*size)
        expected = processor(image, return_tensors="np")["pixel_values"]
        found = model.prepare(image).pixels.numpy()
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, atol=2e-6)


def test_the_default_shows_the_whole_image(tmp_path: Path) -> None:
    tiny("CLIPVisionModel").save_pretrained(tmp_path)
    CLIPImageProcessorPil(**CROP).save_pretrained(tmp_path)
    model = load_model(f"hf:{tmp_path}")
    assert model.preprocess.fit == "squash"
    assert model.prepare(image_of(150, 97)).geometries[0].visible_box == (0, 0, 1, 1)


USUAL = ((64, 64), 73)  # of the tiny DINOv2: 64 of its configuration, and 256 for each 224
VARIANTS: dict[str, tuple[dict[str, Any] | None, tuple[tuple[int, int], int | None]]] = {
    "no file": (None, USUAL),
    "empty": ({}, USUAL),
    "no size": ({"max_num_patches": 256, "patch_size": 16}, USUAL),
    "longest edge alone": ({"size": {"longest_edge": 96}}, USUAL),
    "number": ({"size": 96}, ((96, 96), None)),
    "shortest edge": ({"size": {"shortest_edge": 96}}, ((96, 96), None)),
    "both edges": ({"size": {"shortest_edge": 96, "longest_edge": 999}}, ((96, 96), None)),
    "height and width": ({"size": {"height": 96, "width": 64}}, ((64, 96), None)),
    "number, crop": ({"size": 96, "crop_size": 64}, ((64, 64), 96)),
    "crop of another shape": (
        {"size": {"shortest_edge": 96}, "crop_size": {"height": 32, "width": 64}},
        ((64, 32), 96),
    ),
    "crop of a squashed": (
        {"size": {"height": 96, "width": 96}, "crop_size": {"height": 64, "width": 64}},
        ((64, 64), 96),
    ),
    "crop alone": ({"crop_size": 80}, ((80, 80), None)),
    "crop switched off": ({"size": 96, "crop_size": 64, "do_center_crop": False}, ((96, 96), None)),
    "share of a large one": (
        {"size": {"shortest_edge": 384}, "crop_pct": 0.95},
        ((384, 384), None),
    ),
    "share": ({"size": {"shortest_edge": 64}, "crop_pct": 0.875}, ((64, 64), 73)),
}


@pytest.mark.parametrize("kind", VARIANTS)
def test_sizes_that_files_say(folder: Path, kind: str) -> None:
    said, expected = VARIANTS[kind]
    found = model_saying(folder, said).preprocess
    assert (found.size, found.resize_to) == expected


def test_colours_that_files_say(folder: Path) -> None:
    image = image_of(64, 64)
    said: dict[str, Any] = {"size": {"height": 64, "width": 64}, "image_mean": [0.1, 0.2, 0.3]}
    said |= {"image_std": [0.5, 0.6, 0.7]}
    plain = image.astype(float).transpose(2, 0, 1) / 255
    mean, std = np.array([[[0.1]], [[0.2]], [[0.3]]]), np.array([[[0.5]], [[0.6]], [[0.7]]])
    expected: dict[str, tuple[dict[str, Any], Any]] = {
        "as said": ({}, (plain - mean) / std),
        "not normalised": ({"do_normalize": False}, plain),
        "not rescaled": ({"do_rescale": False}, (plain * 255 - mean) / std),
        "another factor": ({"rescale_factor": 1 / 127.5}, (plain * 2 - mean) / std),
    }
    for more, goal in expected.values():
        found = model_saying(folder, {**said, **more}).prepare(image).pixels[0].numpy()
        np.testing.assert_allclose(found, goal, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("number", "name"),
    list(enumerate(["nearest", "lanczos", "bilinear", "bicubic", "box", "hamming"])),
)
def test_filters_that_files_say(folder: Path, number: int, name: str) -> None:
    from PIL import Image

    said = {"size": {"height": 64, "width": 64}, "do_normalize": False, "resample": number}
    model, image = model_saying(folder, said), image_of(150, 97)
    assert model.preprocess.resample == name
    resized = Image.fromarray(image).resize((64, 64), Image.Resampling(number))
    expected = np.asarray(resized).transpose(2, 0, 1) / 255
    np.testing.assert_allclose(model.prepare(image).pixels[0].numpy(), expected, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "processor"),
    [
        ("ViTModel", ViTImageProcessorPil),
        ("CLIPVisionModel", CLIPImageProcessorPil),
        ("SiglipVisionModel", SiglipImageProcessorPil),
        ("DeiTModel", DeiTImageProcessorPil),
        ("Dinov2Model", BitImageProcessorPil),
        ("ResNetModel", ConvNextImageProcessorPil),
    ],
)
def test_what_a_file_leaves_out_is_as_the_processor_has_it(
    tmp_path: Path, name: str, processor: Any
) -> None:
    tiny(name).save_pretrained(tmp_path)
    for said in (None, {"size": {"height": 64, "width": 64}}):
        found = model_saying(tmp_path, said).preprocess
        assert found.resample == processor.resample.name.lower()
        if name not in ("DeiTModel", "Dinov2Model", "ResNetModel"):  # all weights say ImageNet's
            assert found.mean == tuple(processor.image_mean)
            assert found.std == tuple(processor.image_std)


def test_a_processor_inside_that_of_images_and_text(folder: Path) -> None:
    said = {"image_processor": {"size": {"shortest_edge": 96}, "crop_size": 64}, "other": 1}
    path = folder / "processor_config.json"
    path.write_text(json.dumps(said))
    try:
        found = model_saying(folder, None).preprocess
        assert (found.size, found.resize_to) == ((64, 64), 96)
        assert model_saying(folder, {"size": 80}).preprocess.size == (80, 80)
    finally:
        path.unlink()


@pytest.mark.parametrize(
    "said",
    [
        {"size": {"height": 96}},
        {"size": {"height": "96", "width": 64}},
        {"size": {"height": -1, "width": 64}},
        {"size": [64, 64]},
        {"size": "large"},
        {"size": {"shortest_edge": 64}, "crop_size": {"height": 64}},
        {"size": 70},  # no multiple of the patch
        {"image_mean": None},
        {"image_mean": 0.5},
        {"image_mean": [0.5, 0.5]},
        {"image_std": [0.5, 0, 0.5]},
        {"resample": 9},
        {"resample": "bicubic"},
        {"rescale_factor": 0},
        {"rescale_factor": "x"},
        {"size": {"shortest_edge": 64}, "crop_pct": "x"},
    ],
)
def test_what_makes_no_sense_is_an_error_that_names_the_file(
    folder: Path, said: dict[str, Any]
) -> None:
    with pytest.raises(InputError):
        model_saying(folder, said)
    if said != {"size": 70}:
        with pytest.raises(InputError, match=r"preprocessor_config\.json"):
            model_saying(folder, said)


@pytest.mark.parametrize("text", ["{", "[]", "\x00"])
def test_a_broken_file_is_named(folder: Path, text: str) -> None:
    (folder / "preprocessor_config.json").write_text(text)
    with pytest.raises(InputError, match=r"preprocessor_config\.json"):
        load_model(f"hf:{folder}")
