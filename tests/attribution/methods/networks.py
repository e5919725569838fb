"""Tiny networks and images for the tests of maps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from transformers import (
    Dinov2Config,
    Dinov2Model,
    ResNetConfig,
    ResNetForImageClassification,
    SiglipConfig,
    SiglipForImageClassification,
    SwinConfig,
    SwinForImageClassification,
    ViTConfig,
    ViTForImageClassification,
    YolosConfig,
    YolosForObjectDetection,
)

from sightline.models import Model, load_model
from sightline.models.load import Description
from sightline.models.preprocess import Preprocess

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

__all__ = ["CLASSES", "ONE", "OnePatch", "linear", "make_images", "one_patch", "smooth", "tiny"]

CLASSES = ("dome", "gable", "tower")
# Row and column of the one patch that `OnePatch` reads, of 3 rows and 4 columns.
ONE = (1, 2)
COLOURED = Preprocess(size=(32, 24), mean=(0.4, 0.5, 0.6), std=(0.2, 0.3, 0.25))
PLAIN: dict[str, Any] = {"mean": (0, 0, 0), "std": (1, 1, 1)}


def make_images(count: int = 3, height: int = 40, width: int = 56) -> list[NDArray[np.uint8]]:
    rng = np.random.default_rng(11)
    return list(rng.integers(0, 256, (count, height, width, 3), np.uint8))


def tiny(kind: str, **options: Any) -> Model:
    """A small network of transformers, with weights far from 0."""
    torch.manual_seed(1)
    sizes: dict[str, Any] = {
        "hidden_size": 16,
        "num_hidden_layers": 3,
        "num_attention_heads": 2,
        "image_size": 32,
        "patch_size": 8,
    }
    labels: dict[str, Any] = {"num_labels": 3, "id2label": dict(enumerate(CLASSES))}
    widths = {"embedding_size": 8, "hidden_sizes": [8, 12, 16, 20], "depths": [1, 1, 1, 1]}
    swin = {"embed_dim": 8, "depths": [1, 1, 2], "num_heads": [1, 2, 2], "window_size": 4}
    network: Any
    if kind == "vit":
        network = ViTForImageClassification(ViTConfig(**sizes, intermediate_size=24, **labels))
    elif kind == "resnet":
        network = ResNetForImageClassification(ResNetConfig(**widths, layer_type="basic", **labels))
    elif kind == "swin":
        network = SwinForImageClassification(SwinConfig(image_size=64, **swin, **labels))
    elif kind == "siglip":
        vision = {**sizes, "intermediate_size": 24}
        network = SiglipForImageClassification(SiglipConfig(vision_config=vision, **labels))
    elif kind == "yolos":
        vision = {**sizes, "image_size": [32, 32], "intermediate_size": 24}
        network = YolosForObjectDetection(YolosConfig(**vision, num_detection_tokens=4, **labels))
    else:
        network = Dinov2Model(Dinov2Config(**sizes))
    with torch.no_grad():
        for value in network.parameters():
            if value.ndim > 1 and kind != "resnet":
                value.normal_(std=0.3)
    return load_model(network.eval(), **options)


class _Linear(nn.Module):  # type: ignore[misc]
    """Each class is a weighted sum of all pixels."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Conv2d(3, 5, 8, 8, bias=False)
        self.head = nn.Linear(5 * 12, 3)

    def forward(self, pixels: Tensor) -> Tensor:
        return self.head(self.embed(pixels).flatten(1))


def linear() -> Model:
    torch.manual_seed(2)
    return load_model(_Linear(), Description(["embed"], COLOURED, 8, CLASSES, name="linear"))


def smooth() -> Model:
    """A network without kinks, which few steps integrate well."""
    torch.manual_seed(3)
    layers = [nn.Conv2d(3, 6, 8, 8), nn.Tanh(), nn.Conv2d(6, 5, 1), nn.Tanh()]
    network = nn.Sequential(*layers, nn.Flatten(), nn.Linear(5 * 12, 3))
    with torch.no_grad():
        network[0].weight.mul_(2)
    return load_model(network, Description(["0", "2"], COLOURED, 8, CLASSES, name="smooth"))


class _Block(nn.Module):  # type: ignore[misc]
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.mix = nn.Linear(width, 3 * width, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        parts = self.mix(self.norm(tokens)).unflatten(2, (3, 2, -1)).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(*parts)
        return tokens + mixed.transpose(1, 2).flatten(2)


class OnePatch(nn.Module):  # type: ignore[misc]
    """A transformer to which all patches but one are 0, before and after each of its blocks."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Conv2d(3, 8, 8, 8, bias=False)
        self.blocks = nn.ModuleList([_Block(8), _Block(8)])
        self.head = nn.Linear(8, 3, bias=False)
        keep = torch.zeros(13)
        keep[[0, 1 + ONE[0] * 4 + ONE[1]]] = 1  # the class token and the patch
        self.register_buffer("keep", keep[:, None])

    def forward(self, pixels: Tensor) -> Tensor:
        patches = self.embed(pixels).flatten(2).transpose(1, 2)
        tokens = functional.pad(patches, (0, 0, 1, 0)) * self.keep
        for block in self.blocks:
            tokens = block(tokens) * self.keep
        return self.head(tokens[:, 0])


def one_patch() -> Model:
    torch.manual_seed(5)
    numbers = range(2)
    described = Description(
        layers=[f"blocks.{i}" for i in numbers],
        cam_layers=[f"blocks.{i}.norm" for i in numbers],
        preprocess=Preprocess(size=(32, 24), **PLAIN),
        patch=8,
        classes=CLASSES,
        prefix=["class"],
        heads=2,
        name="one patch",
    )
    return load_model(OnePatch(), described)
