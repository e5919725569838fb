"""Linear heads are found by what they do, and CAM adds up to the class."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from transformers import (
    CLIPConfig,
    CLIPForImageClassification,
    ConvNextConfig,
    ConvNextForImageClassification,
)

from sightline.attribution.methods import explain
from sightline.attribution.methods.heads import linear_head
from sightline.core import InputError
from sightline.models import Model, load_model
from sightline.models.load import Description
from sightline.models.preprocess import Preprocess
from tests.attribution.methods.networks import (
    CLASSES,
    ONE,
    PLAIN,
    linear,
    make_images,
    one_patch,
    smooth,
    tiny,
)

IMAGES = make_images()
LABELS: dict[str, Any] = {"num_labels": 3, "id2label": dict(enumerate(CLASSES))}


def convnext() -> Model:
    """A norm stands between the mean of the cells and the linear layer."""
    torch.manual_seed(3)
    config = ConvNextConfig(hidden_sizes=[8, 12, 16, 20], depths=[1, 1, 1, 1], **LABELS)
    network: Any = ConvNextForImageClassification(config).eval()
    with torch.no_grad():
        for value in network.parameters():
            value.normal_(std=0.4)
    return load_model(network, size=(96, 64))


def clip() -> Model:
    """The class token is there, but the mean of the patches is classified."""
    torch.manual_seed(4)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    vision = {**sizes, "intermediate_size": 24, "image_size": 32, "patch_size": 8}
    config = CLIPConfig(vision_config=vision, text_config={**sizes, "vocab_size": 9}, **LABELS)
    return load_model(CLIPForImageClassification(config).eval(), size=(40, 24))


class _Pooled(nn.Module):  # type: ignore[misc]
    """Reads one patch of the image, and classifies the mean; a second head leads astray."""

    def __init__(self, after: nn.Module | None = None) -> None:
        super().__init__()
        self.body = nn.Conv2d(3, 6, 8, 8, bias=False)
        self.act = nn.ReLU()
        self.other = nn.Linear(6, 3)
        self.head = nn.Linear(6, 3)
        self.after = after or nn.Identity()
        keep = torch.zeros(3, 4)
        keep[ONE] = 1
        self.register_buffer("keep", keep)

    def forward(self, pixels: Any) -> Any:
        pooled = self.act(self.body(pixels) * self.keep).mean((2, 3))
        self.other(pooled)
        return self.after(self.head(pooled))


def pooled(after: nn.Module | None = None) -> Model:
    torch.manual_seed(6)
    plain = Preprocess(size=(32, 24), **PLAIN)
    return load_model(_Pooled(after), Description(["act"], plain, 8, CLASSES, name="pooled"))


MODELS = {
    "resnet": lambda: tiny("resnet", size=(96, 64)),
    "swin": lambda: tiny("swin", size=(96, 64)),
    "siglip": lambda: tiny("siglip", size=(40, 24)),
    "convnext": convnext,
    "clip": clip,
    "pooled": pooled,
}


@pytest.mark.parametrize("name", MODELS)
def test_the_mean_of_cam_and_the_bias_are_the_class(name: str) -> None:
    model = MODELS[name]()
    head = linear_head(model)
    assert head is not None
    logits = model.logits(IMAGES).numpy()
    shift = np.zeros(3) if head.norm is None else (head.linear.weight @ head.norm.bias).detach()
    for target in range(3):
        maps = explain(model, IMAGES, "cam", target=target)
        bias = head.linear.bias[target].item() + float(shift[target])
        found = maps.stack().mean((1, 2, 3, 4)) + bias
        np.testing.assert_allclose(found, logits[:, target], rtol=1e-4, atol=1e-5)
        assert maps.layers == (None,)
        assert np.ptp(maps.stack()) > 0


@pytest.mark.parametrize("precision", [torch.float64, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", ["resnet", "convnext"])
def test_a_head_is_found_in_any_precision(name: str, precision: torch.dtype) -> None:
    wanted = explain(MODELS[name](), IMAGES, "cam", target=1).stack()
    model = MODELS[name]()
    model.network.to(precision)
    found = explain(model, IMAGES, "cam", target=1).stack()
    share = max(1e-4, 8 * torch.finfo(precision).eps)
    np.testing.assert_allclose(found, wanted, atol=share * np.abs(wanted).max())


def test_cam_by_hand_and_all_on_the_one_patch_that_is_read() -> None:
    model = pooled()
    network: Any = model.network
    head = linear_head(model)
    assert head is not None
    assert head.linear is network.head
    maps = explain(model, IMAGES, "cam", target=1).stack()[:, 0, 0]
    for i, image in enumerate(IMAGES):
        values = network.body(model.prepare(image).pixels)[0, :, ONE[0], ONE[1]].relu().detach()
        wanted = float(values @ network.head.weight[1].detach())
        assert maps[i][ONE] == pytest.approx(wanted, rel=1e-5)
    maps[(slice(None), *ONE)] = 0
    assert not maps.any()


def test_cam_is_hirescam_of_the_last_layer_but_for_the_number_of_cells() -> None:
    model = MODELS["resnet"]()
    for target in (0, 1, 2):
        found = explain(model, IMAGES, "cam", target=target).stack()
        wanted = explain(model, IMAGES, "hirescam", layers=-1, target=target).stack()
        cells = wanted[0, 0, 0].size
        np.testing.assert_allclose(found, wanted * cells, atol=1e-5 * np.abs(found).max())


@pytest.mark.parametrize("make", [lambda: tiny("vit"), linear, smooth, one_patch])
def test_other_heads_are_refused(make: Any) -> None:
    model = make()
    assert linear_head(model) is None
    name = model.name
    message = f"method 'cam' needs linear head, which {name} does not have; .*'hirescam'"
    with pytest.raises(InputError, match=message):
        explain(model, IMAGES, "cam")


def test_what_is_known_of_a_network_is_known_of_how_it_was_loaded() -> None:
    """The same network: without classes, with other features, and as it should be."""
    network, plain = _Pooled(), Preprocess(size=(32, 24), **PLAIN)
    for layer, classes, found in (
        ("act", (), False),
        ("body", CLASSES, False),
        ("act", CLASSES, True),
        ("act", (), False),
    ):
        model = load_model(network, Description([layer], plain, 8, classes, name="pooled"))
        assert (linear_head(model) is not None) == found


def test_a_layer_whose_output_is_changed_is_not_the_head() -> None:
    assert linear_head(pooled(nn.Softmax(1))) is None


def test_a_network_without_classes_has_no_head() -> None:
    assert linear_head(tiny("dinov2")) is None


def test_an_embedding_that_is_the_mean_has_a_map_that_adds_up() -> None:
    model = MODELS["resnet"]()
    maps = explain(model, IMAGES, "cam", target="embedding")
    assert maps.targets == ("embedding",) * 3
    wanted = torch.linalg.vector_norm(model.embeddings(IMAGES), dim=1)
    np.testing.assert_allclose(maps.stack().mean((1, 2, 3, 4)), wanted, rtol=1e-4)


def test_an_embedding_that_is_the_class_token_is_refused() -> None:
    with pytest.raises(InputError, match=r"cam: the target of .* does not follow from the mean"):
        explain(clip(), IMAGES, "cam", target="embedding")


def test_models_of_any_input_size_are_asked_too() -> None:
    network: Any = MODELS["resnet"]().network
    assert linear_head(load_model(network, fit="native")) is not None
