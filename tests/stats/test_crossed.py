"""Intervals over images and draws hold what they promise, and are what a slow way finds."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t

from sightline.stats._crossed_means import Pairs, crossed_difference, crossed_mean

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

IMAGES, DRAWS, CROSS = 32, 5, 5
NONE = Pairs(np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0))


def cyclic(
    images: int = IMAGES, partners: int = CROSS
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return images and partners: each with the next few."""
    first = np.repeat(np.arange(images), partners)
    return first, (first + np.tile(np.arange(1, partners + 1), images)) % images


def slow(table: NDArray[np.float64], pairs: Pairs) -> tuple[float, float, float]:
    """Return the interval by leaving each image out in turn, and a two-way analysis."""

    def figure(rows: list[int], among: list[int]) -> float:
        kept = [v for a, b, v in zip(*pairs, strict=True) if a in among and b in among]
        return float(np.mean(table[rows])) - (float(np.mean(kept)) if kept else 0.0)

    n, m = table.shape
    every = list(range(n))
    without = [figure(*[[j for j in every if j != i]] * 2) for i in every]
    of_images = (n - 1) / n * sum((one - np.mean(without)) ** 2 for one in without)
    if len(pairs.values):
        centre = pairs.values.mean()
        own = [
            np.mean([v for a, b, v in zip(*pairs, strict=True) if i in (a, b)]) - centre
            for i in every
        ]
        noise = [v - centre - own[a] - own[b] for a, b, v in zip(*pairs, strict=True)]
        of_images = max(of_images - sum(one**2 for one in noise) / len(noise) ** 2, 0)
    of_draws = np.var(table.mean(axis=0), ddof=1) / m
    rest = table - table.mean(1, keepdims=True) - table.mean(0, keepdims=True) + table.mean()
    of_rest = (rest**2).sum() / ((n - 1) * (m - 1)) / (n * m)
    whole = max(of_images + of_draws - of_rest, of_images, of_draws)
    parts = (of_images, n - 1), (of_draws, m - 1), (of_rest, (n - 1) * (m - 1))
    freedom = whole**2 / sum(one**2 / df for one, df in parts)
    reach = t.ppf(0.975, min(max(freedom, 1), n * m)) * math.sqrt(whole)
    value = figure(every, every)
    return value, value - reach, value + reach


@pytest.mark.parametrize("seed", range(3))
def test_it_is_what_leaving_images_out_finds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(8, 4)) + rng.normal(size=(8, 1)) + rng.normal(size=4)
    pairs = Pairs(*cyclic(8, 3), rng.normal(size=24))
    for given_pairs in (NONE, pairs):
        found = crossed_difference(table, given_pairs)
        np.testing.assert_allclose(found[:3], slow(table, given_pairs), rtol=1e-9)
        assert found[3:] == (8, 4, "")
    assert crossed_mean(table) == crossed_difference(table, NONE)


def draw(rng: Generator, sizes: tuple[float, ...]) -> tuple[NDArray[np.float64], Pairs]:
    """Return values and pairs, all around 0: of images, draws, and neither."""
    image, drawn, rest, shared = sizes
    own = rng.normal(0, image, IMAGES)
    table = shared * own[:, None] + rng.normal(0, drawn, DRAWS)
    table = table + rng.normal(0, rest, (IMAGES, DRAWS))
    first, second = cyclic()
    values = own[first] + own[second] + rng.normal(0, 0.1, len(first))
    return table, Pairs(first, second, values)


# Spread of images, of draws, of neither; how much of an image's own its value shares.
WORLDS = [(0.1, 0.03, 0.1, 1), (0.1, 0.1, 0.1, 0), (0.2, 0.02, 0.05, 1)]


@pytest.mark.parametrize("sizes", WORLDS)
def test_intervals_hold_the_truth_as_often_as_promised(sizes: tuple[float, ...]) -> None:
    rng = np.random.default_rng(20)
    held = np.zeros(3)
    count = 500
    for _ in range(count):
        table, pairs = draw(rng, sizes)
        unknown = pairs._replace(second=np.full(len(pairs.first), -1))
        found = (
            crossed_mean(table),
            crossed_difference(table, pairs),
            crossed_difference(table, unknown),
        )
        held += [one.low <= 0 <= one.high for one in found]
    mean, difference, blind = held / count
    slack = 3 * math.sqrt(0.95 * 0.05 / count)
    assert 0.93 - slack / 2 <= mean <= 0.97 + slack / 2
    assert 0.93 - slack / 2 <= difference <= 0.97 + slack / 2
    assert blind >= 0.95 - slack  # too wide, never too narrow


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 12))
def test_what_is_undefined_is_left_out(seed: int, gaps: int) -> None:
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(7, 3))
    table.flat[rng.permutation(21)[:gaps]] = np.nan
    found = crossed_mean(table)
    means = [row[np.isfinite(row)].mean() for row in table if np.isfinite(row).any()]
    assert found.value == pytest.approx(np.mean(means))
    assert found.images == len(means)
    assert found.low <= found.value <= found.high or found.reason
    padded = np.vstack([table, np.full((2, 3), np.nan)])
    np.testing.assert_allclose(crossed_mean(padded)[:5], found[:5], rtol=1e-9)


def test_the_more_images_and_draws_the_narrower() -> None:
    rng = np.random.default_rng(3)
    table = rng.normal(size=(64, 1)) + rng.normal(size=16) + rng.normal(size=(64, 16))
    for sizes in ([(8, 8), (16, 8), (64, 8)], [(64, 2), (64, 4), (64, 16)]):
        wide = [np.ptp(crossed_mean(table[:n, :m])[1:3]) for n, m in sizes]
        assert all(a > b for a, b in pairwise(wide))


def test_one_draw_or_few_images_have_no_ends_and_a_reason() -> None:
    for table, reason in (
        (np.ones((5, 1)), "too few draws: 1, an interval needs 2"),
        (np.ones((4, 5)), "too few images: 4, an interval needs 5"),
    ):
        found = crossed_mean(table)
        assert found.value == 1
        assert np.isnan(found[1:3]).all()
        assert found.reason == reason
    nothing = crossed_mean(np.full((3, 2), np.nan))
    assert np.isnan(nothing[:3]).all()
    assert nothing.reason == "too few images: 0, an interval needs 5"
    assert crossed_mean(np.ones((5, 3)))[:3] == (1, 1, 1)  # nothing varies


def test_images_are_paired_and_ends_kept_within_limits() -> None:
    table = np.array([[0.2, 0.4], [0.6, 0.8], [np.nan, np.nan], [0.9, 0.9]])
    first, second = np.array([0, 1, 2, 0, 1]), np.array([1, 0, 0, 2, 2])
    pairs = Pairs(first, second, np.array([0.1, 0.2, 0.9, np.nan, 0.3]))
    found = crossed_difference(table, pairs, limits=(-0.1, 0.4))
    # The third image has no value, the fourth no pair: neither counts. One pair is undefined: its
    # image counts no less for it.
    assert found.value == pytest.approx(((0.3 - 0.1) + (0.7 - (0.2 + 0.3) / 2)) / 2)
    assert found.images == 2
    few = Pairs(first[:1], second[:1], np.array([0.1]))
    assert np.isnan(crossed_difference(table, few).low)
