"""Sightline says whether a vision model looks where experts look."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sightline.data import DATASETS, load_dataset
    from sightline.geometry import Geometry
    from sightline.maps import METHODS, Maps, explain
    from sightline.metrics import METRICS, Scores, compute_all_metrics, score_maps
    from sightline.models import MODELS, Model, load_model

__version__ = "0.1.0.dev0"

_HOME = {
    "DATASETS": "sightline.data",
    "Geometry": "sightline.geometry",
    "METHODS": "sightline.maps",
    "METRICS": "sightline.metrics",
    "MODELS": "sightline.models",
    "Maps": "sightline.maps",
    "Model": "sightline.models",
    "Scores": "sightline.metrics",
    "compute_all_metrics": "sightline.metrics",
    "explain": "sightline.maps",
    "load_dataset": "sightline.data",
    "load_model": "sightline.models",
    "score_maps": "sightline.metrics",
}

__all__ = [
    "DATASETS",
    "Geometry",
    "METHODS",
    "METRICS",
    "MODELS",
    "Maps",
    "Model",
    "Scores",
    "__version__",
    "compute_all_metrics",
    "explain",
    "load_dataset",
    "load_model",
    "score_maps",
]


def __getattr__(name: str) -> Any:
    """Import a public name from its home when it is first used."""
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'sightline' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
