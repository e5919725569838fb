"""The figures of one map: each beside chance and ceiling, and beside the data set's mean."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isnan, nan
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sightline.metrics import METRICS
from sightline.results._lines import Line
from sightline.results._sums import Candidate, Scores
from sightline.results._values import spreads
from sightline.results._views import Name
from sightline.results.image_maps import figure_of, is_defined, value_at
from sightline.results.scored_map import Rule, scores_of
from sightline.stats.missing_labels.regions import EITHER, divergence

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sightline.results import Results
    from sightline.results.scored_map import MapKey, OneMap

    Columns = Mapping[str, Any]  # those of `score_maps`, or like them
    ModelScores = Mapping[Name, Mapping[Candidate, tuple[Scores, Scores]]]

__all__ = [
    "DatasetMeans",
    "ImageFigures",
    "Mean",
    "figures_at",
    "figures_of",
    "names_at",
    "panel_metrics",
    "quick_metrics",
]

# Scores that differ by less differ by rounding.
_CLOSE = 1e-12
# Of which the breakdown by label has means.
_OF_REGIONS = ("iou", "recall", "pointing", "coverage")


class Mean(NamedTuple):
    """What a data set has by the same metric.

    Attributes
    ----------
    mean, low, high
        The mean with its 95% interval, clustered by image.
    n
        How many scores are in it.
    scores
        Those of the images, where it is a mean over images.
    """

    mean: float
    low: float
    high: float
    n: int
    scores: Any = None

    def rank(self, value: float) -> float:
        """Return the share of the images that score less; NaN where nothing can be said.

        >>> Mean(2.0, 1.0, 3.0, 4, np.array([1.0, 2.0, 2.0, 3.0])).rank(2.0)
        0.25
        """
        if self.scores is None or not len(self.scores) or isnan(value):
            return nan
        return float(np.mean(self.scores < value - _CLOSE))


@dataclass(frozen=True, eq=False)
class ImageFigures:
    """The figures of one map against all regions of its image, or one of them.

    Attributes
    ----------
    figures : dict of str to dict
        By name, ``metric[@threshold]``: value, chance, ceiling, uniform (a uniform map's value,
        where the metric has no chance) and beyond (0 at chance, 1 at the ceiling). NaN is
        undefined.
    attention_area, annotation_area : float
        Shares of the pixels that are selected and annotated.
    visible : float
        Share of the annotated area that the model could see.
    divergence : str
        What disagreeing figures may mean, in words; "" where they do not disagree.
    """

    figures: dict[str, dict[str, float]]
    attention_area: float
    annotation_area: float
    visible: float
    divergence: str

    def value(self, name: str) -> float:
        """Return a score; NaN where there is none."""
        return self.figures.get(name, {}).get("value", nan)


def panel_metrics(stored: Iterable[Name], sign: str) -> list[str]:
    """Return the names of all figures of a map: those of one pass, and what a study added.

    Parameters
    ----------
    stored
        What the study computed.
    sign
        How maps are read: signed ones have no energy.
    """
    first = [spec.name for spec in METRICS.values() if spec.one_pass]
    more = [
        str(name)
        for name in stored
        if name.metric in METRICS
        and not METRICS[name.metric].thresholded
        and METRICS[name.metric].level != "dataset"
    ]
    return [name for name in dict.fromkeys([*first, *more]) if is_defined(name, sign)]


def quick_metrics(names: Iterable[str]) -> list[str]:
    """Return those of some metrics that come from one pass over a map."""
    return [name for name in names if _spec(name).one_pass and not name.startswith("pointing@")]


def _spec(name: str) -> Any:
    return METRICS[name.partition("@")[0]]


def figures_of(
    one: OneMap, rule: Rule, region: int | None = None, metrics: Sequence[str] | None = None
) -> ImageFigures:
    """Return all figures of a map by a rule.

    Parameters
    ----------
    one
        The map.
    rule
        How pixels are selected.
    region
        Index of a region; all of them together unless given.
    metrics
        Names, as `panel_metrics` gives them; all of one pass unless given.

    Raises
    ------
    UnknownNameError
        If the image has no such region.
    """
    if region is not None:
        one.region(region)
    every = panel_metrics((), one.sign) if metrics is None else metrics
    quick = quick_metrics(every)
    slow = tuple(name for name in every if name not in quick)
    scores = scores_of(one, rule, quick)
    if region is None:
        found = figures_at(scores, 0, rule, one.visible)
        return replace(found, figures=found.figures | _once(one, slow)) if slow else found
    regions: Any = scores.regions  # not None: the image has this region
    place = regions.region.tolist().index(region)
    why = _AMONG_OTHERS if len(regions.region) > 1 else EITHER
    told = _divergence(regions, place, rule, why, whole=False)
    return _gathered(regions, place, rule, one.visible_regions[region], told)


def figures_at(
    scores: Columns, place: int, rule: Rule, visible: float, names: Sequence[str] | None = None
) -> ImageFigures:
    """Return the figures of a map against all regions of its image, out of scores by a rule.

    Parameters
    ----------
    scores, place
        From `score_maps`, and which of its maps it is.
    rule
        How pixels are selected: one of those of the scores.
    visible
        Share of the annotated area that the model could see.
    names
        Of the figures; those that `names_at` finds unless given.
    """
    told = _divergence(scores, place, rule, EITHER, whole=True)
    return _gathered(scores, place, rule, visible, told, names)


def names_at(columns: Columns, rule: Rule) -> tuple[str, ...]:
    """Return the names of the figures by a rule, out of columns that may be by others too."""
    wanted = str(rule)
    parts = [(name, *name.partition("@")[::2]) for name in columns]
    return tuple(
        name
        for name, base, token in parts
        if base in METRICS and (token == wanted or not METRICS[base].thresholded)
    )


def _gathered(
    columns: Columns,
    place: int,
    rule: Rule,
    visible: float,
    told: str,
    names: Sequence[str] | None = None,
) -> ImageFigures:
    wanted = names_at(columns, rule) if names is None else names
    figures = {name: _figure(columns, place, name) for name in wanted}
    selected = value_at(columns, f"attention_area@{rule}", place)
    return ImageFigures(
        figures, selected, value_at(columns, "annotation_area", place), visible, told
    )


def _once(one: OneMap, names: tuple[str, ...]) -> dict[str, dict[str, float]]:
    """Return figures that take long and depend on no rule, computed when first asked for."""
    if names not in one.noted:
        columns = scores_of(one, Rule(), names)
        every = [name for name in columns if name.partition("@")[0] in METRICS]
        one.noted[names] = {name: _figure(columns, 0, name) for name in every}
    found: dict[str, dict[str, float]] = one.noted[names]
    return found


def _figure(columns: Columns, place: int, name: str) -> dict[str, float]:
    base, at, token = name.partition("@")
    found = figure_of(columns, place, name)
    found["uniform"] = value_at(columns, f"{base}_uniform{at}{token}", place)
    del found["metric"]
    return found


# --- where metrics disagree ----------------------------------------------------------------------


def _divergence(columns: Columns, place: int, rule: Rule, why: str, *, whole: bool) -> str:
    """Say what it may mean where a map points at regions and gathers there, yet IoU is low."""
    found = divergence(*(figure[place : place + 1] for figure in _inputs(columns, rule)))
    if not found.flags.any():
        return ""
    return (
        f"The map's maximum lies {'on annotated pixels' if whole else 'in this region'}, "
        f"which hold{'' if whole else 's'} {found.lift[0]:.1f} times the energy of chance, "
        f"yet IoU is {found.ceiling[0]:.0%} of the largest possible: {why}."
    )


_AMONG_OTHERS = (
    "this cannot be told apart from attention to instances that nobody annotated, nor from "
    "attention to other regions of this image and to wrong places"
)


def _inputs(columns: Columns, rule: Rule) -> list[Any]:
    """Return what divergence is found by: hit, coverage, IoU, selected share, area."""
    names = ("pointing", "coverage", f"iou@{rule}", f"attention_area@{rule}", "annotation_area")
    lacking = np.full(np.size(columns["annotation_area"]), np.nan)
    return [np.ravel(columns[name]) if name in columns else lacking for name in names]


# --- the data set beside it ----------------------------------------------------------------------


class DatasetMeans:
    """Means over the images, or regions, of a study, out of its stored scores.

    Parameters
    ----------
    results
        Of the study.
    """

    def __init__(self, results: Results) -> None:
        self._results = results
        self._tables = results._tables
        self._ties = results.study["ties"]

    def names(self, rule: Rule, metrics: Iterable[str]) -> list[Name]:
        """Return those of some metrics that are stored by a rule."""
        wanted = [Name(*name.partition("@")[::2]) for name in metrics]
        stored = set(self._tables.names)
        own = rule.ties == self._ties and rule.exact
        return [
            name
            for name in wanted
            if name in stored and (own or not METRICS[name.metric].thresholded)
        ]

    def of_images(self, key: MapKey, scores: ModelScores) -> dict[str, Mean]:
        """Return the means over all images.

        Parameters
        ----------
        key
            Of which map.
        scores
            By metric, those of the maps of its model and head, as `sum_up` finds them.
        """
        pick = Candidate(key.method, key.target, key.layer)
        return {
            str(name): _mean(name, key, pick, candidates[pick][0] + candidates[pick][1])
            for name, candidates in scores.items()
            if pick in candidates
        }

    def of_regions(self, key: MapKey, token: str | None) -> dict[str, dict[str, Mean]]:
        """Return the means over the regions of each label: by label, then by metric.

        Parameters
        ----------
        key
            Which maps.
        token
            Threshold of IoU and recall, as `token_of` says; None leaves these out.
        """
        stored = {name.metric for name in self._tables.names} & set(_OF_REGIONS)
        if not stored or not self._results.study["regions"]:
            return {}
        frame = self._results.feature_breakdown(
            model=key.model, method=key.method, layer=key.layer, target=key.target or None,
            head=key.head, seed=key.seed, percentile=token,
        )  # fmt: skip
        return {row["label"]: _by_metric(row, token) for row in frame.to_dict("records")}

    def token_of(self, rule: Rule) -> str | None:
        """Return the threshold by which regions were scored by a rule; None where they were not."""
        names = {str(name) for name in self.names(rule, [f"{m}@{rule}" for m in ("iou", "recall")])}
        return str(rule) if names else None


def _mean(name: Name, key: MapKey, pick: Candidate, scores: Scores) -> Mean:
    line = Line(key.model, key.head, "", (pick, pick), "", scores, key.seed)
    (spread,) = spreads(name, [line])
    return Mean(scores.sums.mean(), spread.low, spread.high, int(scores.sums.n), scores.values)


def _by_metric(row: Mapping[Any, Any], token: str | None) -> dict[str, Mean]:
    """Return the means of a label's regions, those with a threshold where there is one."""
    found = {}
    for metric in _OF_REGIONS:
        thresholded = METRICS[metric].thresholded
        if thresholded and token is None:
            continue
        before = "" if metric == "iou" else f"{metric}_"
        ends = (row[f"{before}low"], row[f"{before}high"])
        found[f"{metric}@{token}" if thresholded else metric] = Mean(
            row[metric], *ends, int(row["n"])
        )
    return found
