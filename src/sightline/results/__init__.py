"""Tables out of a store: leaderboards, breakdowns, single images, SQL, files to hand on."""

from __future__ import annotations

from sightline.results._baseline import BaselineComparison, format_baseline_comparison
from sightline.results.detection import (
    ErrorCosts,
    StoredDetection,
    detection_names,
    detection_table,
    open_detection,
)
from sightline.results.diff import Difference, diff_results
from sightline.results.digest import results_digest
from sightline.results.export import export_results
from sightline.results.prototypes import (
    RelevanceMean,
    StoredBenchmark,
    benchmark_names,
    open_benchmark,
)
from sightline.results.results import Results, open_results

__all__ = [
    "BaselineComparison",
    "Difference",
    "ErrorCosts",
    "RelevanceMean",
    "Results",
    "StoredBenchmark",
    "StoredDetection",
    "benchmark_names",
    "detection_names",
    "detection_table",
    "diff_results",
    "export_results",
    "format_baseline_comparison",
    "open_benchmark",
    "open_detection",
    "open_results",
    "results_digest",
]
