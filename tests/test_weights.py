"""The weights that ship: small, half precision, finite, and with their log."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

import sightline
from sightline.data.facades import STYLES

DEMO = Path(sightline.__file__).parent / "models" / "demo"
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
