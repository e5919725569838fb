"""Weights of resamples, exact sums, patterns of signs."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.stats import _resample
from sightline.stats._resample import Weights, on_grid, sign_blocks, sign_patterns


def whole(weights: Weights) -> np.ndarray:
    return np.concatenate([block for _, block in weights])


@pytest.mark.parametrize("n", [1, 2, 7, 139])
def test_every_resample_draws_n_images(n: int) -> None:
    found = whole(Weights(n, 500, 0))
    assert found.shape == (500, n)
    assert (found.sum(axis=1) == n).all()
    assert (found >= 0).all()
    assert (found == np.rint(found)).all()


def test_weights_have_the_multinomial_mean_and_spread() -> None:
    n = 20
    found = whole(Weights(n, 20_000, 3))
    np.testing.assert_allclose(found.mean(axis=0), 1, atol=0.04)
    np.testing.assert_allclose(found.var(axis=0), 1 - 1 / n, atol=0.05)
    between = np.cov(found.T)[~np.eye(n, dtype=bool)]
    np.testing.assert_allclose(between, -1 / n, atol=0.04)


def test_a_seed_gives_the_same_weights_and_another_seed_others() -> None:
    np.testing.assert_array_equal(whole(Weights(9, 50, 1)), whole(Weights(9, 50, 1)))
    assert (whole(Weights(9, 50, 1)) != whole(Weights(9, 50, 2))).any()


def test_blocks_do_not_change_the_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    once = Weights(9, 50, 1)
    first = whole(once)
    np.testing.assert_array_equal(whole(once), first)  # kept, and the same again
    rows = on_grid(np.random.default_rng(0).random((3, 9)))
    sums = once.sums(rows)
    monkeypatch.setattr(_resample, "_BLOCK", 9 * 7)
    cut = Weights(9, 50, 1)
    assert [part for part, _ in cut][-1] == slice(49, 50)
    np.testing.assert_array_equal(whole(cut), first)
    np.testing.assert_array_equal(whole(cut), first)
    np.testing.assert_array_equal(cut.sums(rows), sums)


def test_sums_are_those_of_the_weights() -> None:
    rows = on_grid(np.random.default_rng(0).normal(size=(4, 30)))
    weights = Weights(30, 40, 5)
    expected = [
        [math.fsum(w * x for w, x in zip(line, row, strict=True)) for line in whole(weights)]
        for row in rows
    ]
    np.testing.assert_array_equal(weights.sums(rows), expected)


def test_sums_have_the_same_bits_alone_and_in_batches() -> None:
    rows = on_grid(np.random.default_rng(0).beta(1, 6, (500, 139)))
    weights = Weights(139, 300, 0)
    together = weights.sums(rows)
    for step in (1, 7, 64):
        parts = [weights.sums(rows[i : i + step]) for i in range(0, 140, step)]
        np.testing.assert_array_equal(np.concatenate(parts)[:140], together[:140])
    shuffled = np.random.default_rng(1).permutation(139)
    block = whole(weights)
    np.testing.assert_array_equal(rows[:, shuffled] @ block[:, shuffled].T, together)


@given(
    st.lists(st.floats(-1e100, 1e100, allow_subnormal=False), min_size=1, max_size=40),
    st.integers(0, 2**31),
)
def test_grid_sums_are_exact_in_any_order(values: list[float], seed: int) -> None:
    row = on_grid(np.array([values]))[0]
    peak = max(abs(v) for v in values)
    assert np.abs(row - values).max() <= max(peak * len(values) * 2.0**-50, 5e-324)
    counts = np.random.default_rng(seed).multinomial(len(row), np.full(len(row), 1 / len(row)))
    exact = sum((Fraction(x) * int(k) for x, k in zip(row, counts, strict=True)), Fraction(0))
    total = 0.0
    for x, k in zip(row, counts, strict=True):
        total += x * int(k)
    assert Fraction(total) == exact
    assert Fraction(float((row * counts)[::-1].sum())) == exact


def test_grid_of_zeros_and_tiny_numbers() -> None:
    np.testing.assert_array_equal(on_grid(np.zeros((2, 3))), np.zeros((2, 3)))
    assert on_grid(np.zeros((0, 3))).shape == (0, 3)
    tiny = np.array([[1e-200, 2e-200]])
    np.testing.assert_allclose(on_grid(tiny), tiny, rtol=1e-14)


def test_all_patterns_of_signs_where_they_are_few() -> None:
    assert sign_patterns(13, 9999) == 8192
    assert sign_patterns(14, 9999) == 0
    assert sign_patterns(3, 7) == 8
    assert sign_patterns(3, 6) == 0
    assert sign_patterns(500, 9999) == 0
    found = np.concatenate([*sign_blocks(11, 2047, 0)])
    assert found.shape == (2048, 11)
    assert len(np.unique(found, axis=0)) == 2048
    assert (found[0] == 1).all()


def test_drawn_signs_are_even_and_independent() -> None:
    found = np.concatenate([*sign_blocks(21, 9999, 4)])
    assert found.shape == (9999, 21)
    assert {*np.unique(found).tolist()} == {-1.0, 1.0}
    assert np.abs(found.mean(axis=0)).max() < 0.05
    between = (found.T @ found / len(found))[~np.eye(21, dtype=bool)]
    assert np.abs(between).max() < 0.05
    np.testing.assert_array_equal(found, np.concatenate([*sign_blocks(21, 9999, 4)]))
    assert (found != np.concatenate([*sign_blocks(21, 9999, 5)])).any()
    np.testing.assert_array_equal(found[:700], np.concatenate([*sign_blocks(21, 700, 4)]))
