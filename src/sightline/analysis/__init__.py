"""What a store's scores are worth: tests against chance, checks of maps, gaps in annotations."""

from __future__ import annotations

from sightline.analysis.across_layers import layer_changes
from sightline.analysis.agreement import Agreement, map_agreement
from sightline.analysis.chance import against_chance
from sightline.analysis.checked_layers import choose_best_layers, find_best_layers
from sightline.analysis.correctness import (
    class_scatter,
    compute_accuracy_scatter,
    correct_and_wrong,
)
from sightline.analysis.detection import write_detection_report
from sightline.analysis.energy import Energy, cumulative_energy
from sightline.analysis.failures import Cases, failure_cases, failure_reasons, worst_images
from sightline.analysis.faithful import (
    background_test,
    faithfulness_curves,
    faithfulness_table,
    parts_table,
)
from sightline.analysis.one_image import Analysis, analyse
from sightline.analysis.page import sparsity_page, write_page
from sightline.analysis.predictions import predictions_of, stored_predictions
from sightline.analysis.sanity import cascade_table, sanity_table
from sightline.analysis.scenes import LineMaps, Scenes, open_scenes
from sightline.analysis.sparsity import SparsityReport, sparsity_report

__all__ = [
    "Agreement",
    "Analysis",
    "Cases",
    "Energy",
    "LineMaps",
    "Scenes",
    "SparsityReport",
    "against_chance",
    "analyse",
    "background_test",
    "cascade_table",
    "choose_best_layers",
    "class_scatter",
    "compute_accuracy_scatter",
    "correct_and_wrong",
    "cumulative_energy",
    "failure_cases",
    "failure_reasons",
    "faithfulness_curves",
    "faithfulness_table",
    "find_best_layers",
    "layer_changes",
    "map_agreement",
    "open_scenes",
    "parts_table",
    "predictions_of",
    "sanity_table",
    "sparsity_page",
    "sparsity_report",
    "stored_predictions",
    "worst_images",
    "write_detection_report",
    "write_page",
]
