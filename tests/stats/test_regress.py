"""Slopes are those of least squares, and their intervals hold also where few images are wrong."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import t

from sightline.stats._regress import slope


def slow(values: np.ndarray, design: np.ndarray) -> tuple[float, ...]:
    """Return slope and ends of the last column by whole matrices."""
    n = len(values)
    inverse = np.linalg.inv(design.T @ design)
    hat = design @ inverse @ design.T
    rest = np.eye(n) - hat
    weights = (inverse @ design.T)[-1] ** 2 / (1 - np.diag(hat))
    variance = weights @ (rest @ values) ** 2
    product = rest @ np.diag(weights)
    freedom = np.trace(product) ** 2 / np.trace(product @ product)
    value = (inverse @ design.T @ values)[-1]
    reach = t.ppf(0.975, freedom) * math.sqrt(variance)
    return value, value - reach, value + reach, freedom


@pytest.mark.parametrize("seed", range(3))
def test_it_is_what_whole_matrices_find(seed: int) -> None:
    rng = np.random.default_rng(seed)
    others, right = rng.normal(size=(15, 2)), (np.arange(15) > 3).astype(np.float64)
    values = rng.normal(size=15) + right
    design = np.column_stack([np.ones(15), others, right])
    assert slope(values, right, others) == pytest.approx(slow(values, design), rel=1e-9)
    plain = slope(values, right)
    assert plain.value == pytest.approx(values[4:].mean() - values[:4].mean())


def test_intervals_hold_with_few_wrong_images_that_scatter_more() -> None:
    rng = np.random.default_rng(5)
    held, count = np.zeros(2), 800
    right = (np.arange(40) >= 6).astype(np.float64)
    for _ in range(count):
        area = rng.beta(2, 5, 40) + 0.2 * right  # larger where the model is right
        values = 0.3 * right + 0.8 * area + rng.normal(0, np.where(right > 0, 0.1, 0.2))
        adjusted = slope(values, right, area[:, None])
        plain = slope(values, right)
        held += [adjusted.low <= 0.3 <= adjusted.high, plain.low <= 0.3 <= plain.high]
    adjusted_held, plain_held = held / count
    assert 0.92 <= adjusted_held <= 0.98
    assert plain_held < 0.75  # it holds the area's effect too


@pytest.mark.parametrize(
    ("right", "others"),
    [
        ([1, 1, 1, 1, 1, 1], None),  # nothing to compare
        ([1, 1, 1, 0, 0, 0], [[1], [1], [1], [0], [0], [0]]),  # cannot be told apart
        ([1, 0], None),  # too few
    ],
)
def test_what_cannot_be_told_is_undefined(right: list[int], others: list[list[int]] | None) -> None:
    causes = None if others is None else np.array(others, float)
    values = np.arange(len(right), dtype=np.float64)
    assert np.isnan(slope(values, np.array(right, float), causes)).all()


def test_a_slope_that_hangs_on_one_image_has_no_ends() -> None:
    found = slope(np.array([1.0, 2, 3, 9]), np.array([0.0, 0, 0, 1]))
    assert found.value == pytest.approx(7)
    assert np.isnan(found[1:]).all()
