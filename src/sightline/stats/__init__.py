"""What scores are worth: chance, intervals, comparisons, and annotations with gaps.

Functions take plain arrays, so that scores of any tool can be tested. The unit is the image. What
is about annotations with gaps is in `sightline.stats.missing_labels`.
"""

from __future__ import annotations

from sightline.stats import missing_labels
from sightline.stats.agreement import Alpha, krippendorff_alpha
from sightline.stats.chance import References, iou_references
from sightline.stats.confidence import Interval, Intervals, interval, intervals
from sightline.stats.corrections import benjamini_hochberg, holm
from sightline.stats.groups import GroupDifference, compare_groups
from sightline.stats.nulls import (
    CrossScores,
    Null,
    TorusScores,
    best_of,
    cross_image,
    cross_scores,
    torus_scores,
    torus_shift,
)
from sightline.stats.paired_tests import (
    Comparison,
    Effect,
    Family,
    compare_family,
    compare_paired,
    effect_size,
    max_t_pvalues,
    sign_flip,
    wilcoxon,
)
from sightline.stats.power import compute_detectable_difference, compute_power
from sightline.stats.selection import Selection, split_half

__all__ = [
    "Alpha",
    "Comparison",
    "CrossScores",
    "Effect",
    "Family",
    "GroupDifference",
    "Interval",
    "Intervals",
    "Null",
    "References",
    "Selection",
    "TorusScores",
    "benjamini_hochberg",
    "best_of",
    "compare_family",
    "compare_groups",
    "compare_paired",
    "compute_detectable_difference",
    "compute_power",
    "cross_image",
    "cross_scores",
    "effect_size",
    "holm",
    "interval",
    "intervals",
    "iou_references",
    "krippendorff_alpha",
    "max_t_pvalues",
    "missing_labels",
    "sign_flip",
    "split_half",
    "torus_scores",
    "torus_shift",
    "wilcoxon",
]
