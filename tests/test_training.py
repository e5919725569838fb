"""The trained weights: small, half precision, finite, and with their log; views of images."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from sightline.data.facades import STYLES

DEMO = Path(__file__).parents[1] / "training" / "weights"
NAMES = sorted(path.name for path in DEMO.iterdir())


def test_there_are_models() -> None:
    assert NAMES == ["cnn", "vit", "vit-seed2"]


@pytest.mark.parametrize("name", NAMES)
def test_weights_are_small_half_precision_and_finite(name: str) -> None:
    file = DEMO / name / "model.safetensors"
    assert file.stat().st_size <= 6_000_000
    floats = [array for array in load_file(file).values() if array.dtype.kind == "f"]
    assert {array.dtype for array in floats} == {np.dtype(np.float16)}
    assert all(np.isfinite(array).all() for array in floats)
    log = json.loads((DEMO / name / "log.json").read_text())
    assert log["accuracy_held_out"] >= 0.95
    assert sum(array.size for array in floats) >= log["parameters"]


@pytest.mark.parametrize("name", NAMES)
def test_classes_are_the_styles(name: str) -> None:
    config = json.loads((DEMO / name / "config.json").read_text())
    assert tuple(config["id2label"].values()) == STYLES


def test_seeds_differ() -> None:
    one, two = (load_file(DEMO / name / "model.safetensors") for name in ("vit", "vit-seed2"))
    assert one.keys() == two.keys()
    assert all((one[key] != two[key]).any() for key in one if one[key].size > 1000)


def test_views_are_cuts_of_their_picture() -> None:
    import torch

    from training.data import normalise, random_views

    pixels = torch.randint(0, 256, (4, 3, 32, 32), generator=torch.Generator().manual_seed(0))
    pixels = pixels.to(torch.uint8)
    one, two = (
        random_views(pixels, 16, (0.3, 1.0), 0.3, torch.Generator().manual_seed(1))
        for _ in range(2)
    )
    assert one.shape == (4, 3, 16, 16)
    assert one.min() >= -1
    assert one.max() <= 1
    assert torch.equal(one, two)
    whole = random_views(pixels, 32, (1.0, 1.0), 0.0, torch.Generator().manual_seed(0))
    plain = normalise(pixels)
    gap = [
        min(float((view - p).abs().mean()), float((view - p.flip(-1)).abs().mean()))
        for view, p in zip(whole, plain, strict=True)
    ]
    assert max(gap) < 0.5  # stretched a little, mirrored or not; another picture is 0.67 away
