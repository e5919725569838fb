"""Chance and ceiling: the closed forms, the exact means, and the published table put right."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from sightline import metrics

G = 0.103
TABLE = {  # percentile: chance, ceiling
    90: (0.053, 0.971),
    85: (0.065, 0.687),
    80: (0.073, 0.515),
    75: (0.079, 0.412),
    70: (0.083, 0.343),
    60: (0.089, 0.258),
    50: (0.093, 0.206),
}


@pytest.mark.parametrize("percentile", TABLE)
def test_table_of_chance_and_ceiling(percentile: int) -> None:
    a = (100 - percentile) / 100
    chance, ceiling = TABLE[percentile]
    assert abs(metrics.iou_chance(a, G) - chance) <= 0.00051
    assert abs(metrics.iou_ceiling(a, G) - ceiling) <= 0.00051


@pytest.mark.parametrize("percentile", TABLE)
def test_the_engine_shows_the_same_table(percentile: int) -> None:
    mask = np.zeros((100, 100), bool)
    mask.flat[:1030] = True
    attention = np.random.default_rng(0).random((100, 100))
    scores = metrics.score_maps(attention, mask, percentiles=list(TABLE))
    chance, ceiling = TABLE[percentile]
    assert abs(scores[f"iou_chance@{percentile}"] - chance) <= 0.00051
    assert abs(scores[f"iou_ceiling@{percentile}"] - ceiling) <= 0.00051


@pytest.mark.parametrize(
    ("pixels", "selected", "annotated"), [(6, 2, 3), (7, 3, 3), (5, 0, 2), (5, 5, 2)]
)
def test_exact_chance_is_the_mean_over_all_placements(
    pixels: int, selected: int, annotated: int
) -> None:
    inside = set(range(annotated))
    ious = [
        len(inside & set(chosen)) / len(inside | set(chosen))
        for chosen in itertools.combinations(range(pixels), selected)
    ]
    found = metrics.iou_chance(selected / pixels, annotated / pixels, pixels=pixels)
    assert found == pytest.approx(sum(ious) / len(ious), abs=1e-12)


def test_exact_chance_interpolates_a_fractional_pixel() -> None:
    low, high = (metrics.iou_chance(k / 10, 0.3, pixels=10) for k in (2, 3))
    assert metrics.iou_chance(0.25, 0.3, pixels=10) == pytest.approx((low + high) / 2, abs=1e-12)


def test_exact_chance_wants_whole_annotated_pixels() -> None:
    with pytest.raises(ValueError, match="not a whole number of 10 pixels"):
        metrics.iou_chance(0.2, 0.25, pixels=10)


@pytest.mark.parametrize(("inside", "pixels"), [(1, 1), (1, 4), (2, 5), (5, 5), (3, 7)])
def test_random_average_precision_is_the_mean_over_all_rankings(inside: int, pixels: int) -> None:
    total = [
        sum((i + 1) / place for i, place in enumerate(places)) / inside
        for places in itertools.combinations(range(1, pixels + 1), inside)
    ]
    found = float(metrics.average_precision_random(inside, pixels))
    assert found == pytest.approx(sum(total) / len(total), abs=1e-12)


@pytest.mark.parametrize("pixels", [np.int64(100), 100.0, np.array(100)])
def test_random_average_precision_takes_any_number(pixels: Any) -> None:
    assert metrics.average_precision_random(10, pixels) == metrics.average_precision_random(10, 100)


def test_random_average_precision_is_smooth_where_the_series_takes_over() -> None:
    exact = math.fsum(1 / i for i in range(1, 1001))
    expected = (exact + 99 * (1000 - exact) / 999) / 1000
    assert float(metrics.average_precision_random(100, 1000)) == pytest.approx(expected, abs=1e-14)


def test_corrected_iou_of_a_data_set_is_a_ratio_of_sums() -> None:
    iou, a, g = [0.5, 0.2, 0.9], [0.2, 0.3, 1.0], [0.2, 0.3, 0.5]
    chance = [metrics.iou_chance(x, y) for x, y in zip(a[:2], g[:2], strict=True)]
    expected = (0.5 + 0.2 - sum(chance)) / (2 - sum(chance))
    assert metrics.mean_corrected_iou(iou, a, g) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("a", "g"), [(0.0, 0.5), (1.0, 0.5), (0.5, 0.0), (0.5, 1.0)])
def test_correction_is_undefined_at_trivial_areas(a: float, g: float) -> None:
    assert math.isnan(metrics.chance_corrected_iou(0.3, a, g))


def test_chance_and_ceiling_without_any_area_are_undefined() -> None:
    assert math.isnan(metrics.iou_chance(0.0, 0.0))
    assert math.isnan(metrics.iou_ceiling(0.0, 0.0))
    assert np.isnan(metrics.iou_chance(np.zeros(2), np.zeros(2))).all()
