"""Models: networks with their preprocessing and geometry, and what they are made of."""

from sightline.records import MissingPackageError

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise MissingPackageError("models need torch: pip install 'sightline[models]'") from error

from sightline.models.cards import MODELS, ModelCard
from sightline.models.families import FAMILIES, Family
from sightline.models.load import Description, load_model
from sightline.models.model import Inputs, Model, Output
from sightline.models.preprocess import Preprocess

__all__ = [
    "Description",
    "FAMILIES",
    "Family",
    "Inputs",
    "MODELS",
    "Model",
    "ModelCard",
    "Output",
    "Preprocess",
    "load_model",
]
