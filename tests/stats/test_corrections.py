"""Corrections of many p-values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sightline.core import InputError
from sightline.stats.corrections import benjamini_hochberg, holm
from tests.reference import statistics as reference

Correct = Callable[[Any], np.ndarray]
SHARES = st.lists(st.floats(0, 1, allow_subnormal=False), min_size=1, max_size=9)


@given(SHARES)
def test_holm_is_the_smallest_level_that_rejects(p: list[float]) -> None:
    np.testing.assert_allclose(holm(p), reference.holm(p), rtol=1e-9)


@given(SHARES)
def test_benjamini_hochberg_is_that_of_scipy(p: list[float]) -> None:
    np.testing.assert_allclose(benjamini_hochberg(p), stats.false_discovery_control(p))


@pytest.mark.parametrize("correct", [holm, benjamini_hochberg])
def test_undefined_ones_stay_and_do_not_count(correct: Correct) -> None:
    p = np.array([0.01, np.nan, 0.04, 0.03, np.nan])
    found = correct(p)
    assert np.isnan(found[[1, 4]]).all()
    np.testing.assert_array_equal(found[[0, 2, 3]], correct(p[[0, 2, 3]]))


@pytest.mark.parametrize("correct", [holm, benjamini_hochberg])
def test_shapes_and_edges(correct: Correct) -> None:
    p = np.random.default_rng(0).random((3, 4))
    np.testing.assert_array_equal(correct(p).ravel(), correct(p.ravel()))
    assert correct([]).shape == (0,)
    assert np.isnan(correct([np.nan])).all()
    np.testing.assert_array_equal(correct([0.2]), [0.2])
    np.testing.assert_array_equal(correct([0.9, 0.9]), [1.0, 1.0] if correct is holm else [0.9] * 2)
    assert (correct(p) >= p).all()


@pytest.mark.parametrize("correct", [holm, benjamini_hochberg])
@pytest.mark.parametrize("bad", [-0.1, 1.5, np.inf])
def test_numbers_that_are_no_p_values(correct: Correct, bad: float) -> None:
    with pytest.raises(InputError, match="p must hold numbers from 0 to 1 or NaN; got"):
        correct([0.5, bad])
