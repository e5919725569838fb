"""Images that are brought to a device together are those that are prepared one by one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch

from sightline.core import InputError
from sightline.models import load_model
from sightline.models.inputs import load_inputs


@pytest.fixture(scope="module")
def model() -> Any:
    return load_model("demo/vit")


@pytest.fixture(scope="module")
def images() -> list[Any]:
    rng = np.random.default_rng(0)
    sizes = [(40, 30), (40, 30), (224, 224), (90, 300), (40, 30)]
    made: list[Any] = [
        rng.integers(0, 256, (height, width, 3), np.uint8) for width, height in sizes
    ]
    return [*made, made[0][..., 0]]  # grey


@pytest.mark.parametrize("fit", ["squash", "crop", "letterbox", "native"])
@pytest.mark.parametrize("threads", [False, True], ids=["one thread", "threads"])
def test_they_are_the_same_to_the_last_bit(
    model: Any, images: list[Any], fit: str, threads: bool
) -> None:
    fitted = model.fitted(fit=fit)
    with ThreadPoolExecutor(3) as pool:
        found = load_inputs(fitted, images, 4, each=pool.map if threads else map)
    wanted = list(fitted.batches(images, 4))
    assert [len(one.keys) for one in found] == [len(one.keys) for one in wanted]
    for ours, theirs in zip(found, wanted, strict=True):
        assert torch.equal(ours.pixels, theirs.pixels)
        assert ours.geometries == theirs.geometries
        assert ours.keys == theirs.keys


def test_half_precision_rounds_what_single_precision_gives(images: list[Any]) -> None:
    model = load_model("demo/vit", dtype="bfloat16")
    assert model.dtype == torch.bfloat16
    (found,) = load_inputs(model, images[:2], 4)
    (wanted,) = model.batches(images[:2], 4)
    assert found.pixels.dtype == torch.bfloat16
    assert torch.equal(found.pixels, wanted.pixels)


def test_an_unknown_precision_is_named() -> None:
    with pytest.raises(InputError, match=r"dtype must be one of float32, .* got 'int8'"):
        load_model("demo/vit", dtype="int8")
