"""A run to tables and statistics: leaderboards, breakdowns, tests, missing labels, SQL, files.

Light to import: a public name is imported from its home when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sightline.results._baseline import BaselineComparison, format_baseline_comparison
    from sightline.results.agreement import Agreement, map_agreement
    from sightline.results.chance import against_chance
    from sightline.results.checked_layers import choose_best_layers, find_best_layers
    from sightline.results.correctness import (
        class_scatter,
        compute_accuracy_scatter,
        correct_and_wrong,
    )
    from sightline.results.detection import (
        ErrorCosts,
        StoredDetection,
        detection_names,
        detection_table,
        open_detection,
    )
    from sightline.results.diff import Difference, diff_results
    from sightline.results.digest import results_digest
    from sightline.results.energy import Energy, cumulative_energy
    from sightline.results.export import export_results
    from sightline.results.failures import Cases, failure_cases, failure_reasons, worst_images
    from sightline.results.faithfulness import (
        background_test,
        faithfulness_curves,
        faithfulness_table,
        parts_table,
    )
    from sightline.results.map_changes import layer_changes
    from sightline.results.map_reader import LineMaps, Scenes, open_scenes
    from sightline.results.missing_labels import SparsityReport, sparsity_report
    from sightline.results.predictions import predictions_of, stored_predictions
    from sightline.results.prototypes import (
        RelevanceMean,
        StoredBenchmark,
        benchmark_names,
        open_benchmark,
    )
    from sightline.results.results import Results, open_results
    from sightline.results.sanity import cascade_table, sanity_table

_HOME = {
    "Agreement": "agreement",
    "BaselineComparison": "_baseline",
    "Cases": "failures",
    "Difference": "diff",
    "Energy": "energy",
    "ErrorCosts": "detection",
    "LineMaps": "map_reader",
    "RelevanceMean": "prototypes",
    "Results": "results",
    "Scenes": "map_reader",
    "SparsityReport": "missing_labels",
    "StoredBenchmark": "prototypes",
    "StoredDetection": "detection",
    "against_chance": "chance",
    "background_test": "faithfulness",
    "benchmark_names": "prototypes",
    "cascade_table": "sanity",
    "choose_best_layers": "checked_layers",
    "class_scatter": "correctness",
    "compute_accuracy_scatter": "correctness",
    "correct_and_wrong": "correctness",
    "cumulative_energy": "energy",
    "detection_names": "detection",
    "detection_table": "detection",
    "diff_results": "diff",
    "export_results": "export",
    "failure_cases": "failures",
    "failure_reasons": "failures",
    "faithfulness_curves": "faithfulness",
    "faithfulness_table": "faithfulness",
    "find_best_layers": "checked_layers",
    "format_baseline_comparison": "_baseline",
    "layer_changes": "map_changes",
    "map_agreement": "agreement",
    "open_benchmark": "prototypes",
    "open_detection": "detection",
    "open_results": "results",
    "open_scenes": "map_reader",
    "parts_table": "faithfulness",
    "predictions_of": "predictions",
    "results_digest": "digest",
    "sanity_table": "sanity",
    "sparsity_report": "missing_labels",
    "stored_predictions": "predictions",
    "worst_images": "failures",
}

__all__ = [
    "Agreement",
    "BaselineComparison",
    "Cases",
    "Difference",
    "Energy",
    "ErrorCosts",
    "LineMaps",
    "RelevanceMean",
    "Results",
    "Scenes",
    "SparsityReport",
    "StoredBenchmark",
    "StoredDetection",
    "against_chance",
    "background_test",
    "benchmark_names",
    "cascade_table",
    "choose_best_layers",
    "class_scatter",
    "compute_accuracy_scatter",
    "correct_and_wrong",
    "cumulative_energy",
    "detection_names",
    "detection_table",
    "diff_results",
    "export_results",
    "failure_cases",
    "failure_reasons",
    "faithfulness_curves",
    "faithfulness_table",
    "find_best_layers",
    "format_baseline_comparison",
    "layer_changes",
    "map_agreement",
    "open_benchmark",
    "open_detection",
    "open_results",
    "open_scenes",
    "parts_table",
    "predictions_of",
    "results_digest",
    "sanity_table",
    "sparsity_report",
    "stored_predictions",
    "worst_images",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"sightline.results.{_HOME[name]}"), name)
    raise AttributeError(f"module 'sightline.results' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
