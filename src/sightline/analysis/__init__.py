"""What a store's scores are worth: tests against chance, and what gaps in the annotation do."""

from __future__ import annotations

from sightline.analysis.chance import against_chance
from sightline.analysis.detection import write_detection_report
from sightline.analysis.page import sparsity_page, write_page
from sightline.analysis.scenes import LineMaps, Scenes, open_scenes
from sightline.analysis.sparsity import SparsityReport, sparsity_report

__all__ = [
    "LineMaps",
    "Scenes",
    "SparsityReport",
    "against_chance",
    "open_scenes",
    "sparsity_page",
    "sparsity_report",
    "write_detection_report",
    "write_page",
]
