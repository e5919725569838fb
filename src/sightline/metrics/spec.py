"""The one table of metrics: what each is, how to read it, and what it is worth without knowledge.

Commands, documentation, stores, figures and services read this table; nothing else says which
direction is better or what chance is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any, Literal

from sightline.core.arrays import Array, divide, namespace, share
from sightline.core.registry import Registry
from sightline.metrics.boxes import compute_corloc, compute_max_box_accuracy, compute_pxap
from sightline.metrics.chance import iou_ceiling, iou_chance, top_k_any_chance
from sightline.metrics.complexity import compute_entropy, compute_gini, compute_sparsity
from sightline.metrics.distribution import (
    compute_cc,
    compute_emd,
    compute_information_gain,
    compute_kl,
    compute_mse,
    compute_nss,
    compute_sim,
)
from sightline.metrics.energy import compute_coverage
from sightline.metrics.location import (
    pointing_game_hit,
    top_k_pointing_accuracy,
    top_k_pointing_hit,
)
from sightline.metrics.overlap import (
    compute_best_iou,
    compute_corrected_iou,
    compute_dice,
    compute_iou,
    compute_lift,
    compute_precision,
    compute_recall,
    compute_share_of_ceiling,
)
from sightline.metrics.ranking import (
    compute_auc_judd,
    compute_auc_roc,
    compute_average_precision,
    compute_relevance_rank,
    compute_shuffled_auc,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from sightline.core.choices import Direction

__all__ = ["METRICS", "Chance", "Facts", "Formula", "MetricSpec", "Undefined"]

Level = Literal["map", "region", "dataset"]
Category = Literal["location", "energy", "ranking", "overlap", "distribution", "complexity"]
Role = Literal["primary", "supporting"]
Need = Literal["mask", "target", "others", "boxes"]
Undefined = Literal[
    "empty annotation",
    "annotation covers the image",
    "map sums to zero",
    "nothing selected",
    "everything selected",
    "fewer than k pixels",
    "single pixel",
    "target is constant",
    "no other annotations",
]


@dataclass(frozen=True, slots=True)
class Facts:
    """What chance and ceiling depend on: pixels, annotated pixels, selected pixels, top k."""

    pixels: Array | int
    inside: Array
    selected: Array = None
    k: int | None = None

    @property
    def g(self) -> Array:
        """Annotated share."""
        return share(self.inside, self.pixels)

    @property
    def a(self) -> Array:
        """Selected share."""
        return share(self.selected, self.pixels)

    @property
    def common(self) -> Array:
        """Largest share that can be both."""
        a, g = self.a, self.g
        return namespace(a, g).where(a < g, a, g)


@dataclass(frozen=True, slots=True)
class Formula:
    """A figure that follows from areas: its formula for people, for arrays and for data bases."""

    formula: str
    value: Callable[[Facts], Array]

    def __str__(self) -> str:
        return self.formula

    @property
    def sql(self) -> str | None:
        """The formula as an SQL expression over columns a and g; None where it needs more."""
        words = set(re.findall(r"[A-Za-z]+", self.formula))
        if not words <= {"a", "g", "min", "max"}:
            return None
        signs = {"·": "*", "−": "-", "min": "least", "max": "greatest"}
        return re.sub("|".join(signs), lambda sign: signs[sign[0]], self.formula)


@dataclass(frozen=True, slots=True)
class Chance(Formula):
    """The score of a map that knows nothing.

    Examples
    --------
    >>> from sightline.metrics import METRICS
    >>> METRICS["coverage"].chance.formula, METRICS["auc_roc"].chance.formula
    ('g', '0.5')
    """


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """All there is to know about a metric.

    Attributes
    ----------
    name
        Column name, without the part behind the @.
    function
        Its definition: ``function(map, mask)``, or what `needs` says in place of the mask.
    direction
        Which values are better.
    range
        Smallest and largest value.
    chance
        What a constant positive map scores, or None where no such value means anything.
    ceiling
        The best score possible at its areas, where that is not an end of the range.
    level
        ``map``: one value per map; ``region``: also one per region; ``dataset``: the other maps
        count too, in one value for all or, for shuffled AUC, in each map's.
    spatial
        Whether the order of the pixels matters.
    category, role
        What it looks at, and whether it leads a table.
    needs
        What it compares the map with.
    undefined
        When it is NaN; by mass selection, whatever the metric, also if the map sums to zero.
    best_for, limitation, citation, meaning
        For people, a line each.
    thresholded
        Whether it has a value for each selection threshold.
    one_pass
        Whether `score_maps` gives it without being asked.
    aliases
        Other names of the same thing.
    repeats
        Whether a pixel counts as often as it was fixated, where `score_maps` is given fixations.
    share
        Whether a value is a hit or a miss (a share where pixels tie), so that a mean over images
        is a share of them.

    Examples
    --------
    >>> from sightline.metrics import METRICS
    >>> spec = METRICS["coverage"]
    >>> spec.direction, spec.range, spec.category, spec.aliases
    ('higher', (0.0, 1.0), 'energy', ('energy_based_pointing_game', 'relevance_mass'))
    >>> spec.function([[0.0, 1.0]], [[0, 1]])
    np.float64(1.0)
    """

    name: str
    function: Callable[..., Any]
    meaning: str
    category: Category
    range: tuple[float, float]
    chance: Chance | None
    undefined: tuple[Undefined, ...]
    best_for: str
    limitation: str
    citation: str
    direction: Direction = "higher"
    level: Level = "map"
    spatial: bool = False
    role: Role = "supporting"
    needs: tuple[Need, ...] = ("mask",)
    thresholded: bool = False
    one_pass: bool = False
    aliases: tuple[str, ...] = ()
    ceiling: Formula | None = None
    share: bool = False
    repeats: bool = False

    @property
    def difference_range(self) -> tuple[float, float]:
        """Smallest and largest difference of two values.

        >>> METRICS["auc_roc"].difference_range, METRICS["lift"].difference_range
        ((-1.0, 1.0), (-inf, inf))
        """
        least, most = self.range
        return least - most, most - least


class _Metrics(Registry[MetricSpec]):
    """The metrics; where only the @ before the threshold is missing, that is what is meant."""

    def nearest(self, name: str) -> str | None:
        """Return the metric, with its threshold if there is one, that a name may stand for."""
        parts = re.fullmatch(r"(.+?)[_ -]?((?:mass|tol|k)?\d[\d.]*|mass|mean|matched)", name)
        if parts is not None and parts[1] in self:
            return f"{parts[1]}@{parts[2]}"
        return super().nearest(name)


METRICS: Registry[MetricSpec] = _Metrics("metric")

_SHARE = Chance("g", lambda facts: facts.g)
_HALF = Chance("0.5", lambda facts: facts.g * 0 + 0.5)
_ZERO = Chance("0", lambda facts: facts.g * 0)
_WHOLE = Formula("1", lambda facts: facts.g * 0 + 1)
_UNIT = (0.0, 1.0)
_BYLINSKII = "Bylinskii et al. 2018, arXiv:1604.03605"

for _spec in (
    MetricSpec(
        "coverage",
        compute_coverage,
        "Share of the map's energy that lies inside the annotation",
        "energy",
        _UNIT,
        _SHARE,
        ("empty annotation", "map sums to zero"),
        "a first, threshold-free answer",
        "falls with every unannotated instance that is attended to",
        "Wang et al. 2020, arXiv:1910.01279",
        level="region",
        role="primary",
        one_pass=True,
        aliases=("energy_based_pointing_game", "relevance_mass"),
    ),
    MetricSpec(
        "average_precision",
        compute_average_precision,
        "Mean precision at the rank of each annotated pixel",
        "ranking",
        _UNIT,
        _SHARE,
        ("empty annotation",),
        "small annotations, where the top of the ranking counts",
        "its chance value differs from image to image",
        "Buckley & Voorhees 2000",
        role="primary",
        one_pass=True,
    ),
    MetricSpec(
        "iou",
        compute_iou,
        "Overlap of the selected pixels with the annotation over their union",
        "overlap",
        _UNIT,
        Chance("a·g / (a + g − a·g)", lambda facts: iou_chance(facts.a, facts.g)),
        ("empty annotation",),
        "localisation at a stated area, beside chance and ceiling",
        "bounded by min(a, g) / max(a, g): never read it alone",
        "Jaccard 1912; Everingham et al. 2010",
        level="region",
        role="primary",
        thresholded=True,
        one_pass=True,
        ceiling=Formula("min(a, g) / max(a, g)", lambda facts: iou_ceiling(facts.a, facts.g)),
    ),
    MetricSpec(
        "iou_share",
        compute_share_of_ceiling,
        "IoU as a share of the largest possible at its areas",
        "overlap",
        _UNIT,
        Chance(
            "a·g / (a + g − a·g) · max(a, g) / min(a, g)",
            lambda facts: divide(iou_chance(facts.a, facts.g), iou_ceiling(facts.a, facts.g)),
        ),
        ("empty annotation", "nothing selected"),
        "seeing how much of the possible is reached",
        "rewards diffuse maps: with g = 0.1 chance alone reaches 45% at percentile 50",
        "this project",
        level="region",
        thresholded=True,
        one_pass=True,
        ceiling=_WHOLE,
    ),
    MetricSpec(
        "iou_corrected",
        compute_corrected_iou,
        "IoU on the scale from chance (0) to ceiling (1)",
        "overlap",
        (-inf, 1.0),
        _ZERO,
        (
            "empty annotation",
            "annotation covers the image",
            "nothing selected",
            "everything selected",
        ),
        "comparing images and thresholds of different areas",
        "average it as a ratio of sums, not as a mean of ratios",
        "this project",
        level="region",
        thresholded=True,
        one_pass=True,
        ceiling=_WHOLE,
    ),
    MetricSpec(
        "dice",
        compute_dice,
        "Overlap of the selected pixels with the annotation over their mean size (F1)",
        "overlap",
        _UNIT,
        Chance("2·a·g / (a + g)", lambda facts: divide(2 * facts.a * facts.g, facts.a + facts.g)),
        ("empty annotation",),
        "comparison with segmentation papers",
        "a monotone function of IoU at fixed areas: no second opinion",
        "Dice 1945",
        level="region",
        thresholded=True,
        one_pass=True,
        aliases=("f1",),
        ceiling=Formula(
            "2·min(a, g) / (a + g)", lambda facts: divide(2 * facts.common, facts.a + facts.g)
        ),
    ),
    MetricSpec(
        "precision",
        compute_precision,
        "Share of the selected pixels that are annotated",
        "overlap",
        _UNIT,
        _SHARE,
        ("empty annotation", "nothing selected"),
        "asking whether what is attended to matters",
        "unannotated instances count as mistakes",
        "van Rijsbergen 1979",
        level="region",
        thresholded=True,
        one_pass=True,
        ceiling=Formula("min(1, g / a)", lambda facts: divide(facts.common, facts.a)),
    ),
    MetricSpec(
        "recall",
        compute_recall,
        "Share of the annotated pixels that are selected",
        "overlap",
        _UNIT,
        Chance("a", lambda facts: facts.a),
        ("empty annotation",),
        "single regions under sparse annotation",
        "selecting everything gives 1: show it beside IoU or coverage",
        "van Rijsbergen 1979",
        level="region",
        thresholded=True,
        one_pass=True,
        ceiling=Formula("min(1, a / g)", lambda facts: divide(facts.common, facts.g)),
    ),
    MetricSpec(
        "lift",
        compute_lift,
        "How many times more of the annotation is selected than by chance",
        "overlap",
        (0.0, inf),
        Chance("1", lambda facts: facts.g * 0 + 1),
        ("empty annotation", "nothing selected"),
        "comparing recall across thresholds",
        "bounded by 1/a",
        "Brin et al. 1997",
        level="region",
        thresholded=True,
        one_pass=True,
        ceiling=Formula("min(a, g) / (a·g)", lambda facts: divide(facts.common, facts.a * facts.g)),
    ),
    MetricSpec(
        "pointing",
        pointing_game_hit,
        "Whether the maximum lies inside the annotation (share of tied maxima)",
        "location",
        _UNIT,
        _SHARE,
        ("empty annotation",),
        "the simplest question: does it point there?",
        "looks at one pixel; falls as unannotated instances compete for the maximum",
        "Zhang et al. 2016, arXiv:1608.00507",
        level="region",
        one_pass=True,
        aliases=("pointing_game",),
        share=True,
    ),
    MetricSpec(
        "top_k_pointing",
        top_k_pointing_accuracy,
        "Share of the k highest pixels inside the annotation",
        "location",
        _UNIT,
        _SHARE,
        ("empty annotation", "fewer than k pixels"),
        "a steadier pointing game",
        "k is in pixels, so its meaning changes with resolution",
        "Zhang et al. 2016, arXiv:1608.00507",
        one_pass=True,
    ),
    MetricSpec(
        "top_k_any",
        top_k_pointing_hit,
        "Chance that at least one of the k highest pixels is inside the annotation",
        "location",
        _UNIT,
        Chance(
            "1 − C(N−P, k) / C(N, k)",
            lambda facts: top_k_any_chance(facts.inside, facts.pixels, facts.k or 1),
        ),
        ("empty annotation", "fewer than k pixels"),
        "a forgiving pointing game",
        "k is in pixels, so its meaning changes with resolution",
        "Zhang et al. 2016, arXiv:1608.00507",
        one_pass=True,
        share=True,
    ),
    MetricSpec(
        "auc_roc",
        compute_auc_roc,
        "Chance that an annotated pixel outranks another one",
        "ranking",
        _UNIT,
        _HALF,
        ("empty annotation", "annotation covers the image"),
        "a ranking score whose chance value is always 0.5",
        "high by default for small annotations on dark backgrounds",
        "Fawcett 2006",
        one_pass=True,
    ),
    MetricSpec(
        "relevance_rank",
        compute_relevance_rank,
        "Share of the P highest pixels that are annotated, P being as many as are annotated",
        "ranking",
        _UNIT,
        _SHARE,
        ("empty annotation",),
        "an overlap without a free threshold",
        "one threshold of many; equals precision@matched",
        "Arras et al. 2022, arXiv:2003.07258",
        one_pass=True,
        aliases=("relevance_rank_accuracy",),
    ),
    MetricSpec(
        "best_iou",
        compute_best_iou,
        "Largest IoU over all thresholds of the map",
        "overlap",
        _UNIT,
        None,
        ("empty annotation",),
        "what the map could give with the right threshold",
        "chooses its threshold on the annotation; declares no chance",
        "Choe et al. 2020, arXiv:2001.07437",
        one_pass=True,
    ),
    MetricSpec(
        "nss",
        compute_nss,
        "Mean standardised value of the map at annotated pixels",
        "distribution",
        (-inf, inf),
        _ZERO,
        ("empty annotation",),
        "comparison with fixation studies",
        "unbounded; sensitive to a few very high pixels",
        _BYLINSKII,
        repeats=True,
    ),
    MetricSpec(
        "cc",
        compute_cc,
        "Correlation of the map with the soft target",
        "distribution",
        (-1.0, 1.0),
        _ZERO,
        ("target is constant",),
        "a symmetric comparison with a soft target",
        "depends on the width given to the target",
        _BYLINSKII,
        needs=("target",),
    ),
    MetricSpec(
        "sim",
        compute_sim,
        "Common part of map and soft target as densities",
        "distribution",
        _UNIT,
        None,
        ("map sums to zero", "empty annotation"),
        "densities with partial overlap",
        "punishes missing mass harder than misplaced mass",
        _BYLINSKII,
        needs=("target",),
    ),
    MetricSpec(
        "kl",
        compute_kl,
        "Divergence of the map from the soft target",
        "distribution",
        (0.0, inf),
        None,
        ("map sums to zero", "empty annotation"),
        "maps that must not miss anything",
        "one zero pixel in the target's place costs dearly",
        _BYLINSKII,
        direction="lower",
        needs=("target",),
    ),
    MetricSpec(
        "information_gain",
        compute_information_gain,
        "Bits per annotated pixel that the map knows beyond a uniform one",
        "distribution",
        (-inf, inf),
        _ZERO,
        ("empty annotation", "map sums to zero"),
        "comparing probabilistic maps with a baseline",
        "one zero pixel inside the annotation costs dearly",
        "Kümmerer et al. 2015",
        repeats=True,
    ),
    MetricSpec(
        "auc_judd",
        compute_auc_judd,
        "Area under the ROC through the annotated pixels' values",
        "ranking",
        _UNIT,
        _HALF,
        ("empty annotation", "annotation covers the image"),
        "comparison with fixation studies",
        "interpolates between few thresholds, so that noise scores 0.5 + 1 / (2(P + 1)) on average "
        "and only equal values score chance; auc_roc uses all",
        "Judd et al. 2009; " + _BYLINSKII,
    ),
    MetricSpec(
        "shuffled_auc",
        compute_shuffled_auc,
        "AUC against the places annotated in other images",
        "ranking",
        _UNIT,
        _HALF,
        ("empty annotation", "no other annotations"),
        "taking centre bias out",
        "punishes maps that are rightly central",
        "Zhang et al. 2008; " + _BYLINSKII,
        level="dataset",
        needs=("mask", "others"),
    ),
    MetricSpec(
        "emd",
        compute_emd,
        "Work to turn the map into the soft target, in image diagonals",
        "distribution",
        _UNIT,
        None,
        ("map sums to zero", "empty annotation"),
        "near misses: distance counts",
        "slow; pooled to 32 × 32 cells",
        "Rubner et al. 2000",
        direction="lower",
        spatial=True,
        needs=("target",),
    ),
    MetricSpec(
        "mse",
        compute_mse,
        "Mean squared difference to the soft target",
        "distribution",
        _UNIT,
        None,
        ("empty annotation",),
        "reproducing older papers",
        "rewards dark maps: do not rank by it",
        "—",
        direction="lower",
        needs=("target",),
    ),
    MetricSpec(
        "corloc",
        compute_corloc,
        "Share of images whose selected pixels reach an IoU of 0.5",
        "overlap",
        _UNIT,
        None,
        ("empty annotation",),
        "one number per data set",
        "a hard cut at 0.5, out of reach wherever the ceiling is lower",
        "Deselaers et al. 2012",
        level="dataset",
        thresholded=True,
        share=True,
    ),
    MetricSpec(
        "max_box_acc",
        compute_max_box_accuracy,
        "Share of images with a component box matching a true box, at the best threshold",
        "overlap",
        _UNIT,
        None,
        ("empty annotation",),
        "comparison with weakly supervised localisation papers",
        "its threshold is chosen on the data it reports",
        "Choe et al. 2020, arXiv:2001.07437, arXiv:2007.04178",
        level="dataset",
        spatial=True,
        needs=("boxes",),
        share=True,
    ),
    MetricSpec(
        "pxap",
        compute_pxap,
        "Average precision over all pixels of a data set, maps min–max scaled",
        "ranking",
        _UNIT,
        Chance("g", lambda facts: facts.g),
        ("empty annotation",),
        "comparison with weakly supervised localisation papers",
        "min–max scaling makes one outlier dim a whole map",
        "Choe et al. 2020, arXiv:2001.07437",
        level="dataset",
    ),
    MetricSpec(
        "entropy",
        compute_entropy,
        "Evenness of the map: 0 for one pixel, 1 for a constant map",
        "complexity",
        _UNIT,
        None,
        ("map sums to zero", "single pixel"),
        "telling focused from diffuse maps",
        "says nothing about being right",
        "Bhatt et al. 2020, arXiv:2005.00631",
        direction="neither",
        needs=(),
    ),
    MetricSpec(
        "gini",
        compute_gini,
        "Inequality of the map's values: 0 for a constant map",
        "complexity",
        _UNIT,
        None,
        ("map sums to zero",),
        "telling focused from diffuse maps",
        "says nothing about being right",
        "Chalasani et al. 2020, arXiv:1810.06583",
        direction="neither",
        needs=(),
    ),
    MetricSpec(
        "sparsity",
        compute_sparsity,
        "Hoyer sparsity: 0 for a constant map, 1 for a single pixel",
        "complexity",
        _UNIT,
        None,
        ("map sums to zero", "single pixel"),
        "telling focused from diffuse maps",
        "says nothing about being right",
        "Hoyer 2004",
        direction="neither",
        needs=(),
    ),
):
    METRICS.add(_spec.name, _spec)
del _spec
