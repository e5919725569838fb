"""Models: networks with their preprocessing and geometry, and what they are made of."""

from sightline.core import MissingPackageError

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise MissingPackageError("models need torch: pip install 'sightline[models]'") from error

from sightline.models.cabrnet import load_cabrnet, wrap_cabrnet
from sightline.models.cards import MODELS, ModelCard
from sightline.models.families import FAMILIES, Family
from sightline.models.load import Description, load_model
from sightline.models.model import Detections, Inputs, Model, Output
from sightline.models.preprocess import Preprocess
from sightline.models.prototypes import (
    HasPrototypes,
    PrototypeNetwork,
    PrototypePatch,
    prototype_patches,
    prototypes_of,
)
from sightline.models.recipes import Recipe, read_recipe
from sightline.models.variants import load_variant

__all__ = [
    "Description",
    "Detections",
    "FAMILIES",
    "Family",
    "HasPrototypes",
    "Inputs",
    "MODELS",
    "Model",
    "ModelCard",
    "Output",
    "Preprocess",
    "PrototypeNetwork",
    "PrototypePatch",
    "Recipe",
    "load_cabrnet",
    "load_model",
    "load_variant",
    "prototype_patches",
    "prototypes_of",
    "read_recipe",
    "wrap_cabrnet",
]
