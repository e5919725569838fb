"""Sightline says whether a vision model looks where experts look."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sightline.attribution.methods import METHODS, Maps, explain, similarity
    from sightline.core.geometry import Geometry
    from sightline.data import DATASETS, load_dataset
    from sightline.detection import DetectionResults, evaluate_detections
    from sightline.metrics import METRICS, Scores, compute_all_metrics, score_maps
    from sightline.models import MODELS, Model, load_model
    from sightline.report import analyse
    from sightline.results import Results, open_results
    from sightline.study import Study, load_study, run_study

__version__ = "0.1.0.dev0"

_HOME = {
    "DATASETS": "sightline.data",
    "DetectionResults": "sightline.detection",
    "Geometry": "sightline.core.geometry",
    "METHODS": "sightline.attribution.methods",
    "METRICS": "sightline.metrics",
    "MODELS": "sightline.models",
    "Maps": "sightline.attribution.methods",
    "Model": "sightline.models",
    "Results": "sightline.results",
    "Scores": "sightline.metrics",
    "Study": "sightline.study",
    "analyse": "sightline.report",
    "compute_all_metrics": "sightline.metrics",
    "evaluate_detections": "sightline.detection",
    "explain": "sightline.attribution.methods",
    "load_dataset": "sightline.data",
    "load_model": "sightline.models",
    "load_study": "sightline.study",
    "open_results": "sightline.results",
    "run_study": "sightline.study",
    "score_maps": "sightline.metrics",
    "similarity": "sightline.attribution.methods",
}

__all__ = [
    "DATASETS",
    "DetectionResults",
    "Geometry",
    "METHODS",
    "METRICS",
    "MODELS",
    "Maps",
    "Model",
    "Results",
    "Scores",
    "Study",
    "__version__",
    "analyse",
    "compute_all_metrics",
    "evaluate_detections",
    "explain",
    "load_dataset",
    "load_model",
    "load_study",
    "open_results",
    "run_study",
    "score_maps",
    "similarity",
]


def __getattr__(name: str) -> Any:
    """Import a public name from its home when it is first used."""
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'sightline' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
