"""What a store's scores are worth: tests against chance, and what gaps in the annotation do."""

from __future__ import annotations

from sightline.analysis.agreement import Agreement, map_agreement
from sightline.analysis.chance import against_chance
from sightline.analysis.detection import write_detection_report
from sightline.analysis.energy import Energy, cumulative_energy
from sightline.analysis.one_image import Analysis, analyse
from sightline.analysis.page import sparsity_page, write_page
from sightline.analysis.predictions import predictions_of, stored_predictions
from sightline.analysis.scenes import LineMaps, Scenes, open_scenes
from sightline.analysis.sparsity import SparsityReport, sparsity_report

__all__ = [
    "Agreement",
    "Analysis",
    "Energy",
    "LineMaps",
    "Scenes",
    "SparsityReport",
    "against_chance",
    "analyse",
    "cumulative_energy",
    "map_agreement",
    "open_scenes",
    "predictions_of",
    "sparsity_page",
    "sparsity_report",
    "stored_predictions",
    "write_detection_report",
    "write_page",
]
