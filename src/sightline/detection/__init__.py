"""Detections: boxes and scores to matches, average precision, confusion, error types."""

from __future__ import annotations

from sightline.detection.accumulator import DetectionAccumulator
from sightline.detection.ap import (
    BestF1,
    ClassCounts,
    Interpolation,
    PRData,
    best_f1,
    calculate_ap,
    calculate_ap_per_class,
    calculate_map,
    calculate_pr_data,
    class_counts_at,
)
from sightline.detection.boxes import BoxMatches, match_boxes
from sightline.detection.calibration import Reliability, reliability_curve
from sightline.detection.coco import CocoArrays, coco_arrays
from sightline.detection.columns import Detections, GroundTruth, Picture
from sightline.detection.comparison import (
    DetectorComparison,
    FigureDifference,
    compare_detectors,
)
from sightline.detection.confusion import (
    ConfusionMatrix,
    ConfusionPairs,
    confusion_pairs,
    generate_confusion_matrix,
)
from sightline.detection.errors import ERROR_TYPES, ErrorTypes, error_types
from sightline.detection.evaluate import evaluate_detections
from sightline.detection.images import ImageCosts, image_costs
from sightline.detection.intervals import FigureInterval, figure_intervals
from sightline.detection.matching import (
    Matches,
    match_dataset,
    match_predictions,
    match_thresholds,
)
from sightline.detection.readers import as_detections, as_ground_truth, as_tables
from sightline.detection.results import FIGURES, DetectionResults, Settings
from sightline.detection.sizes import calculate_map_by_size

__all__ = [
    "BestF1",
    "BoxMatches",
    "ClassCounts",
    "CocoArrays",
    "ConfusionMatrix",
    "ConfusionPairs",
    "DetectionAccumulator",
    "DetectionResults",
    "Detections",
    "DetectorComparison",
    "ERROR_TYPES",
    "ErrorTypes",
    "FIGURES",
    "FigureDifference",
    "FigureInterval",
    "GroundTruth",
    "ImageCosts",
    "Interpolation",
    "Matches",
    "PRData",
    "Picture",
    "Reliability",
    "Settings",
    "as_detections",
    "as_ground_truth",
    "as_tables",
    "best_f1",
    "calculate_ap",
    "calculate_ap_per_class",
    "calculate_map",
    "calculate_map_by_size",
    "calculate_pr_data",
    "class_counts_at",
    "coco_arrays",
    "compare_detectors",
    "confusion_pairs",
    "error_types",
    "evaluate_detections",
    "figure_intervals",
    "generate_confusion_matrix",
    "image_costs",
    "match_boxes",
    "match_dataset",
    "match_predictions",
    "match_thresholds",
    "reliability_curve",
]
