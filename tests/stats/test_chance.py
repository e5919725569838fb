"""Chance and ceiling of the IoU, against SciPy's hypergeometric law and all placements."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightline.core import InputError
from sightline.metrics import iou_ceiling, iou_chance
from sightline.stats.chance import iou_references


def slow(selected: int, annotated: int, pixels: int) -> float:
    """The mean over all placements, term by term."""
    from scipy.stats import hypergeom

    if selected + annotated == 0:
        return math.nan
    hits = np.arange(max(0, selected + annotated - pixels), min(selected, annotated) + 1)
    law = hypergeom.pmf(hits, pixels, annotated, selected)
    return math.fsum(law * hits / (selected + annotated - hits))


@settings(max_examples=200, deadline=None)
@given(st.data(), st.integers(1, 3000))
def test_exact_chance_is_the_mean_over_all_placements(data: st.DataObject, pixels: int) -> None:
    pairs = data.draw(
        st.lists(st.tuples(st.integers(0, pixels), st.integers(0, pixels)), min_size=1, max_size=5)
    )
    selected, annotated = np.array(pairs).T
    found = iou_chance(selected / pixels, annotated / pixels, pixels=pixels)
    expected = [slow(k, p, pixels) for k, p in pairs]
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-13)


def test_exact_chance_of_a_large_image() -> None:
    pixels = 224 * 224
    selected = np.array([5018, 1, 25000, 50176, 0, 5018])
    annotated = np.array([5000, 50000, 12000, 700, 30, 1])
    found = iou_chance(selected / pixels, annotated / pixels, pixels=pixels)
    expected = [slow(k, p, pixels) for k, p in zip(selected, annotated, strict=True)]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_exact_chance_keeps_shapes_and_takes_a_number_of_pixels_for_each() -> None:
    a, g = np.array([[0.2], [0.5]]), np.array([0.1, 0.3, 0.0])
    found = iou_chance(a, g, pixels=10)
    assert found.shape == (2, 3)
    for i, j in np.ndindex(2, 3):
        one = iou_chance(float(a[i, 0]), float(g[j]), pixels=10)
        assert isinstance(one, float)
        assert found[i, j] == one
    several = iou_chance(0.5, 0.5, pixels=[2, 4, 100])
    assert several[0] == pytest.approx(0.5)
    assert several[1] == pytest.approx((4 * 1 / 3 + 1) / 6)
    assert several[2] == pytest.approx(slow(50, 50, 100))


def test_exact_chance_interpolates_fractional_pixels_one_by_one() -> None:
    found = iou_chance(np.array([0.25, 0.2, 0.21]), np.array([0.3, 0.3, 0.3]), pixels=10)
    low, high = slow(2, 3, 10), slow(3, 3, 10)
    np.testing.assert_allclose(found, [(low + high) / 2, low, 0.9 * low + 0.1 * high])


def test_shares_may_have_been_kept_in_float32() -> None:
    g = np.float32(1234 / 224**2)
    found = iou_chance(0.1, float(g), pixels=224**2)
    assert found == pytest.approx(iou_chance(0.1, 1234 / 224**2, pixels=224**2), rel=1e-12)


def test_what_is_missing_stays_missing() -> None:
    found = iou_chance(np.array([0.1, np.nan, 0.1]), np.array([0.1, 0.1, np.nan]), pixels=10)
    assert np.isnan(found).tolist() == [False, True, True]
    assert math.isnan(iou_chance(0.0, 0.0, pixels=10))


@pytest.mark.parametrize(
    ("a", "g", "pixels", "message"),
    [
        (1.5, 0.1, 10, r"a must be a share in \[0, 1\]; got 1.5"),
        (0.5, -0.1, 10, r"g must be a share in \[0, 1\]; got -0.1"),
        (0.5, 0.25, 10, "g = 0.25 is not a whole number of 10 pixels"),
        (0.5, [0.5, 0.25], [2, 10], "g = 0.25 is not a whole number of 10 pixels"),
        (0.5, 0.5, 0, "pixels must be whole numbers of at least 1; got 0"),
        (0.5, 0.5, 2.5, "pixels must be whole numbers of at least 1; got 2.5"),
    ],
)
def test_mistakes_are_named(a: Any, g: Any, pixels: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        iou_chance(a, g, pixels=pixels)


def test_references_stand_together() -> None:
    a, g = np.array([0.1, 0.1, 0.5, 0.0]), np.array([0.3, 0.0, 1.0, 0.0])
    found = iou_references(a, g, pixels=100)
    np.testing.assert_array_equal(found.closed, iou_chance(a, g))
    np.testing.assert_array_equal(found.exact, iou_chance(a, g, pixels=100))
    np.testing.assert_array_equal(found.ceiling, iou_ceiling(a, g))
    np.testing.assert_array_equal(found.matched, iou_chance(g, g))
    assert found.matched[0] == pytest.approx(0.3 / 1.7)
    without = iou_references(0.1, g)
    assert np.isnan(without.exact).all()
    assert without.exact.shape == without.closed.shape == (4,)
    assert iou_references(0.1, 0.2).closed.shape == ()
    # A closed form that is never far from the mean, and never above it.
    many = iou_references(np.full(99, 0.1), np.arange(1, 100) / 100, pixels=10000)
    assert (many.exact >= many.closed).all()
    np.testing.assert_allclose(many.exact, many.closed, atol=1e-4)


def test_shares_of_different_shapes_are_named() -> None:
    with pytest.raises(InputError, match="a and g must have shapes that go together; got 2 and 3"):
        iou_references([0.1, 0.2], [0.1, 0.2, 0.3])


def test_a_share_above_one_by_rounding_is_one() -> None:
    assert iou_chance(1 + 1e-10, 0.25, pixels=10**6) == pytest.approx(0.25)
