"""Every interval lies in the range of its metric, or is NaN with a reason.

The walk finds the public functions whose result has ends `low` and `high`: a new one fails here
until it has a case, or a reason why its ends are no interval of a mean.
"""

from __future__ import annotations

import importlib
import inspect
import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from sightline.annotation import summarise_ratings
from sightline.annotation.journal import TaskRecord
from sightline.annotation.ratings import Answer
from sightline.metrics import METRICS, MetricSpec, aggregate_by_feature_type
from sightline.results._values import spread_of
from sightline.results._views import Name
from sightline.stats import compare_groups, compare_paired, interval, intervals, krippendorff_alpha
from sightline.stats._crossed_means import crossed_mean
from sightline.stats.missing_labels import compute_label_bias, joined, ppi_mean, pu_iou

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Ends = tuple[float, float, str]
    Range = tuple[float, float]

PACKAGES = (
    *("stats", "stats.missing_labels", "metrics", "attribution.prototypes"),
    *("results", "report", "detection"),
)
COUNTS = (2, 3, 4, 5, 6, 60)
SPECS = pytest.mark.parametrize("spec", METRICS.values(), ids=METRICS)


def make_extremes(n: int, span: Range) -> Iterator[list[float]]:
    """Yield scores at the ends of a range, where intervals leave it first."""
    low, high = (np.clip(end, -10.0, 10.0) for end in span)
    yield [low] * (n - 1) + [high]
    yield [high] * (n - 1) + [low]
    yield [low if i % 2 else high for i in range(n)]
    yield [high] * n


def check(ends: Ends, span: Range) -> None:
    low, high, reason = ends
    if math.isnan(low) or math.isnan(high):
        assert math.isnan(low)
        assert math.isnan(high)
        assert reason
    else:
        assert span[0] <= low <= high <= span[1]


def get_ends(found: Any) -> Ends:
    return float(found.low), float(found.high), str(found.reason)


# Each takes scores, one per image, and their range; each yields ends with the range they must keep.
def _mean(scores: list[float], span: Range) -> Iterator[tuple[Ends, Range]]:
    for method in (None, "t", "bca", "studentised"):
        yield get_ends(interval(scores, limits=span, method=method)), span


def _means(scores: list[float], span: Range) -> Iterator[tuple[Ends, Range]]:
    found = intervals(np.array([scores, scores[::-1]]).T, limits=span)
    yield get_ends(found.at(0)), span
    yield get_ends(found.at(1)), span


def _paired(scores: list[float], span: Range) -> Iterator[tuple[Ends, Range]]:
    found = compare_paired(scores, scores[::-1], limits=span)
    # Below 6 images the reason is about p-values, which need more than the interval.
    yield get_ends(found), (span[0] - span[1], span[1] - span[0])


def _groups(scores: list[float], span: Range) -> Iterator[tuple[Ends, Range]]:
    within = span[0] - span[1], span[1] - span[0]
    group = np.arange(len(scores)) < len(scores) // 2
    area = np.linspace(0, 1, len(scores))[:, None]
    for others in (None, area):
        yield get_ends(compare_groups(scores, group, others=others, limits=span)), within


def _labels(scores: list[float], span: Range) -> Iterator[tuple[Ends, Range]]:
    found = aggregate_by_feature_type([[("a", one)] for one in scores], limits=span)["a"]
    yield get_ends(found), span


def _ppi(scores: list[float], span: Range) -> Iterator[tuple[Ends, Range]]:
    found = ppi_mean(scores, scores[::-1], scores * 2, limits=span)
    yield get_ends(found), span
    yield get_ends(found.gold_only), span


def _joined(scores: list[float], span: Range) -> Iterator[tuple[Ends, Range]]:
    four = joined(scores * 2, scores * 2, [*scores, *[math.nan] * len(scores)], limits=span)
    for one in (four.sparse, four.completed, four.gold, four.joined):
        yield get_ends(one), span


def _bias(scores: list[float], span: Range) -> Iterator[tuple[Ends, Range]]:
    within = span[0] - span[1], span[1] - span[0]
    for strata in (None, ["a"] * len(scores)):
        found = compute_label_bias(scores, scores[::-1], strata=strata, limits=span)
        yield get_ends(found), within


def _crossed(scores: list[float], span: Range) -> Iterator[tuple[Ends, Range]]:
    found = crossed_mean(np.array([scores, scores[::-1]]).T, limits=span)
    yield get_ends(found), span


CASES: dict[str, Callable[[list[float], Range], Iterator[tuple[Ends, Range]]]] = {
    "stats.interval": _mean,
    "stats.intervals": _means,
    "stats.compare_paired": _paired,
    "stats.compare_groups": _groups,
    "stats.missing_labels.ppi_mean": _ppi,
    "stats.missing_labels.joined": _joined,
    "stats.missing_labels.compute_label_bias": _bias,
    "metrics.aggregate_by_feature_type": _labels,
    "stats._crossed_means": _crossed,
}
# Ends that are no interval of the mean of a metric, or are tested below or where they are made.
OTHERS = {
    "stats.krippendorff_alpha": "an agreement: tested below",
    "stats.missing_labels.pu_iou": "an IoU from regions: tested below",
    "stats.missing_labels.pu_band": "no interval: what an unknown frequency can do",
    "stats.missing_labels.bootstrap_iou_under_dropout": "a sensitivity band: of quantiles",
    "stats.missing_labels.dropout_sweep": "a sensitivity band: quantiles of means",
    "stats.missing_labels.dropout_bands": "a sensitivity band: quantiles of means",
    "stats.missing_labels.delta_under_dropout": "a sensitivity band: quantiles of means",
    "stats.missing_labels.delta_bands": "a sensitivity band: quantiles of means",
    "stats.effect_size": "no ends; a class of prototypes has its name",
    "attribution.prototypes.effects": "drops have no lower limit; test_nature.py has an upper one",
    "attribution.prototypes.premise": "drops have no lower limit; NaN below 10 images",
    "results.open_benchmark": "reads what is stored",
    "results.map_agreement": "calls `intervals` with limits",
    "results.sparsity_report": "its ends are of functions that are tested here",
    "detection.compare_detectors": "tests/detection/test_comparing.py walks its differences",
    "detection.figure_intervals": "tests/detection/test_intervals.py walks its figures",
}


def public_functions() -> set[str]:
    """Return the functions whose result, or a part of it, has ends."""
    modules = {name: importlib.import_module(f"sightline.{name}") for name in PACKAGES}
    classes: set[str] = set()
    for _ in range(2):  # a class may hold another
        for module in modules.values():
            for name in module.__all__:
                fields = getattr(getattr(module, name), "__annotations__", {})
                held = set(re.findall(r"\w+", " ".join(map(str, fields.values()))))
                ends = any(f"_{field}".endswith("_low") for field in fields)
                if inspect.isclass(getattr(module, name)) and (ends or held & classes):
                    classes.add(name)
    return {
        f"{package}.{name}"
        for package, module in modules.items()
        for name in module.__all__
        if inspect.isfunction(one := getattr(module, name))
        and set(re.findall(r"\w+", str(one.__annotations__.get("return", "")))) & classes
    }


def test_every_function_that_returns_ends_is_tested() -> None:
    found = public_functions()
    assert "stats.interval" in found
    assert found - {*CASES, *OTHERS} == set()
    assert {*CASES, *OTHERS} - found <= {"stats._crossed_means"}


@SPECS
@pytest.mark.parametrize("case", CASES)
def test_intervals_of_few_extreme_scores_stay_in_the_range(case: str, spec: MetricSpec) -> None:
    for n in COUNTS:
        for scores in make_extremes(n, spec.range):
            for ends, span in CASES[case](scores, spec.range):
                check(ends, span)
                # `_joined` has as many images again without gold labels.
                assert n >= 5 or math.isnan(ends[0]) or CASES[case] is _joined


@SPECS
def test_tables_of_a_study_keep_the_range(spec: MetricSpec) -> None:
    name = Name(spec.name, "")
    for n in COUNTS:
        for scores in make_extremes(n, spec.range):
            images = [f"i{i}" for i in range(n)]
            for weights in (np.ones(n), np.linspace(0.1, 1, n)):
                found = spread_of(name, np.array(scores), images, weights)
                few = n < (2 if spec.share and (weights == 1).all() else 5)
                assert math.isnan(found.low) == few or spec.share
                if not math.isnan(found.low):
                    assert spec.range[0] <= found.low <= found.high <= spec.range[1]


def test_the_example_of_two_images_has_no_interval() -> None:
    found = aggregate_by_feature_type([[("w", 0.1)], [("w", 0.3)]])["w"]
    assert found.mean == pytest.approx(0.2)
    assert found.n == 2
    assert np.isnan([found.low, found.high]).all()
    assert found.reason == "too few images: 2, an interval needs 5"


@pytest.mark.parametrize("n", COUNTS)
def test_ratings_agreement_and_corrected_iou_keep_their_range(n: int) -> None:
    for scores in make_extremes(n, (0.0, 1.0)):
        found = pu_iou(scores, [0.01] * n, 0.1, [2] * n, images=range(n))
        check(get_ends(found), (0, 1))
        alpha = krippendorff_alpha([scores, scores[::-1], scores], level="interval")
        check(get_ends(alpha), (-np.inf, 1))
        tasks = [TaskRecord(f"t{i}", f"i{i}", "rate", ("cls",)) for i in range(n)]
        said = [Answer(task, who, 1 + 4 * score) for who in ("anna", "bo")
                for task, score in zip(tasks, scores, strict=True)]  # fmt: skip
        (mean,) = summarise_ratings(said).ratings
        check((mean.low, mean.high, mean.reason), (1, 5))


def test_scores_outside_the_limits_are_refused() -> None:
    with pytest.raises(ValueError, match=r"within limits, from 0 to 1; label 'a' has 2\.5"):
        aggregate_by_feature_type([[("a", 2.5)]])
    found = aggregate_by_feature_type([[("a", float(i))] for i in range(6)], limits=None)["a"]
    assert found.high > 1
    assert pd.notna(found.low)
