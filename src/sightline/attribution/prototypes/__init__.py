"""Case-based models: what their prototypes show, and what their similarity is made of.

Light to import: a public name is imported from its home when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sightline.attribution.prototypes.attribution import (
        ATTRIBUTIONS,
        Attributed,
        AttributionSpec,
        attribute,
        scaled_values,
    )
    from sightline.attribution.prototypes.cabrnet import read_projection
    from sightline.attribution.prototypes.local import (
        Perturbed,
        class_score,
        perturbed_scores,
        prototype_score,
    )
    from sightline.attribution.prototypes.matches import (
        Matches,
        Nearest,
        best_matches,
        find_matches,
        nearest_images,
        normalised,
        prototype_classes,
        prototypes_in_use,
        similarity_maps,
        unit_images,
    )
    from sightline.attribution.prototypes.nature import Effect, Premise, effects, natures, premise
    from sightline.attribution.prototypes.perturbations import (
        PERTURBATIONS,
        Param,
        Perturbation,
        PerturbationSpec,
        Step,
        blend,
        default_perturbations,
        perturb,
        relevant_boxes,
    )
    from sightline.attribution.prototypes.quick import quickened
    from sightline.attribution.prototypes.relevance import Relevance, counted_of, segmentation_of
    from sightline.attribution.prototypes.score_drops import (
        GlobalStats,
        LargestDrop,
        drops,
        global_stats,
        largest_drops,
    )
    from sightline.attribution.prototypes.views import (
        box_to_percentile,
        crop_to_percentile,
        heatmap,
        percentile_box,
    )

# The function `relevance` has the name of its module, so it is imported from there.
_HOME = {
    "ATTRIBUTIONS": "attribution",
    "Attributed": "attribution",
    "AttributionSpec": "attribution",
    "Effect": "nature",
    "GlobalStats": "score_drops",
    "LargestDrop": "score_drops",
    "Matches": "matches",
    "Nearest": "matches",
    "PERTURBATIONS": "perturbations",
    "Param": "perturbations",
    "Perturbation": "perturbations",
    "PerturbationSpec": "perturbations",
    "Perturbed": "local",
    "Premise": "nature",
    "Relevance": "relevance",
    "Step": "perturbations",
    "attribute": "attribution",
    "best_matches": "matches",
    "blend": "perturbations",
    "box_to_percentile": "views",
    "class_score": "local",
    "counted_of": "relevance",
    "crop_to_percentile": "views",
    "default_perturbations": "perturbations",
    "drops": "score_drops",
    "effects": "nature",
    "global_stats": "score_drops",
    "heatmap": "views",
    "largest_drops": "score_drops",
    "find_matches": "matches",
    "natures": "nature",
    "nearest_images": "matches",
    "normalised": "matches",
    "percentile_box": "views",
    "perturb": "perturbations",
    "perturbed_scores": "local",
    "premise": "nature",
    "prototype_classes": "matches",
    "prototype_score": "local",
    "prototypes_in_use": "matches",
    "quickened": "quick",
    "read_projection": "cabrnet",
    "relevant_boxes": "perturbations",
    "scaled_values": "attribution",
    "segmentation_of": "relevance",
    "similarity_maps": "matches",
    "unit_images": "matches",
}

__all__ = [
    "ATTRIBUTIONS",
    "PERTURBATIONS",
    "Attributed",
    "AttributionSpec",
    "Effect",
    "GlobalStats",
    "LargestDrop",
    "Matches",
    "Nearest",
    "Param",
    "Perturbation",
    "PerturbationSpec",
    "Perturbed",
    "Premise",
    "Relevance",
    "Step",
    "attribute",
    "best_matches",
    "blend",
    "box_to_percentile",
    "class_score",
    "counted_of",
    "crop_to_percentile",
    "default_perturbations",
    "drops",
    "effects",
    "find_matches",
    "global_stats",
    "heatmap",
    "largest_drops",
    "natures",
    "nearest_images",
    "normalised",
    "percentile_box",
    "perturb",
    "perturbed_scores",
    "premise",
    "prototype_classes",
    "prototype_score",
    "prototypes_in_use",
    "quickened",
    "read_projection",
    "relevant_boxes",
    "scaled_values",
    "segmentation_of",
    "similarity_maps",
    "unit_images",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"sightline.attribution.prototypes.{_HOME[name]}"), name)
    raise AttributeError(f"module 'sightline.attribution.prototypes' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
