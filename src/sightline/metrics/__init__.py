"""Map metrics: kernels from a map and an annotation to a value, and the engine that runs them."""

from __future__ import annotations

from sightline.metrics._border import resolve_sign
from sightline.metrics.boxes import (
    MaxBoxAccuracy,
    box_iou_curves,
    component_boxes,
    compute_corloc,
    compute_max_box_accuracy,
    compute_pxap,
    max_box_accuracy,
)
from sightline.metrics.chance import (
    average_precision_random,
    chance_corrected_iou,
    iou_ceiling,
    iou_chance,
    mean_corrected_iou,
    top_k_any_chance,
)
from sightline.metrics.channels import reduce_channels
from sightline.metrics.complexity import compute_entropy, compute_gini, compute_sparsity
from sightline.metrics.distribution import (
    compute_cc,
    compute_emd,
    compute_information_gain,
    compute_kl,
    compute_mse,
    compute_nss,
    compute_sim,
    soft_target,
)
from sightline.metrics.energy import (
    compute_coverage,
    compute_energy_based_pointing_game,
    compute_relevance_mass,
)
from sightline.metrics.engine import compute_all_metrics, score_maps
from sightline.metrics.features import (
    FeatureScore,
    RegionIoU,
    aggregate_by_feature_type,
    bbox_recall,
    compute_image_iou,
    compute_per_bbox_iou,
)
from sightline.metrics.fixations import compute_point_density, count_points
from sightline.metrics.location import (
    compute_pointing_game,
    pointing_game_hit,
    top_k_pointing_accuracy,
    top_k_pointing_hit,
)
from sightline.metrics.overlap import (
    BestIoU,
    IoU,
    compute_best_iou,
    compute_corrected_iou,
    compute_dice,
    compute_iou,
    compute_iou_at_threshold,
    compute_iou_curve,
    compute_lift,
    compute_precision,
    compute_recall,
    compute_share_of_ceiling,
    threshold_attention,
)
from sightline.metrics.ranking import (
    compute_auc_judd,
    compute_auc_roc,
    compute_average_precision,
    compute_relevance_rank,
    compute_shuffled_auc,
)
from sightline.metrics.scores import CONDITIONS, RegionScores, Scores, explain_undefined
from sightline.metrics.selection import PERCENTILES
from sightline.metrics.spec import METRICS, Chance, MetricSpec

__all__ = [
    "CONDITIONS",
    "METRICS",
    "PERCENTILES",
    "Chance",
    "FeatureScore",
    "IoU",
    "MaxBoxAccuracy",
    "MetricSpec",
    "RegionIoU",
    "RegionScores",
    "Scores",
    "aggregate_by_feature_type",
    "average_precision_random",
    "bbox_recall",
    "box_iou_curves",
    "chance_corrected_iou",
    "component_boxes",
    "compute_all_metrics",
    "compute_auc_judd",
    "compute_auc_roc",
    "compute_average_precision",
    "BestIoU",
    "compute_best_iou",
    "compute_cc",
    "compute_corloc",
    "compute_corrected_iou",
    "compute_coverage",
    "compute_dice",
    "compute_emd",
    "compute_energy_based_pointing_game",
    "compute_entropy",
    "compute_gini",
    "compute_image_iou",
    "compute_information_gain",
    "compute_iou",
    "compute_iou_at_threshold",
    "compute_iou_curve",
    "compute_kl",
    "compute_lift",
    "compute_max_box_accuracy",
    "compute_mse",
    "compute_nss",
    "compute_per_bbox_iou",
    "compute_point_density",
    "compute_pointing_game",
    "compute_precision",
    "compute_pxap",
    "compute_recall",
    "compute_relevance_mass",
    "compute_relevance_rank",
    "compute_share_of_ceiling",
    "compute_shuffled_auc",
    "compute_sim",
    "compute_sparsity",
    "count_points",
    "explain_undefined",
    "iou_ceiling",
    "iou_chance",
    "max_box_accuracy",
    "mean_corrected_iou",
    "pointing_game_hit",
    "reduce_channels",
    "resolve_sign",
    "score_maps",
    "soft_target",
    "threshold_attention",
    "top_k_any_chance",
    "top_k_pointing_accuracy",
    "top_k_pointing_hit",
]
