"""The torus shift: the transform equals a loop over shifts, its p-values count what they say."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from sightline.core import InputError, MapError
from sightline.stats import torus as torus_module
from sightline.stats.nulls import TorusScores, torus_scores, torus_shift
from tests.reference import nulls as reference
from tests.stats.test_nulls import LINEAR, OTHERS, UNSIGNED

SHAPES = [(5, 6), (4, 7), (5, 6), (1, 9), (6, 5), (3, 3)]


def scene() -> tuple[list[Any], list[Any]]:
    """Maps of several sizes: with ties, without energy, constant; masks empty, full, one pixel."""
    rng = np.random.default_rng(0)
    maps: list[Any] = [rng.normal(size=shape) for shape in SHAPES]
    masks = [rng.random(shape) < 0.3 for shape in SHAPES]
    maps[1] = rng.integers(-1, 3, SHAPES[1])
    maps[2][:] = -1
    maps[5][:] = 0.1
    masks[3][:] = True
    masks[4][:] = False
    masks[0][:] = False
    masks[0][1, 2] = True
    return maps, masks


@pytest.mark.parametrize(
    ("metric", "sign"),
    [
        (metric, sign)
        for metric in LINEAR
        for sign in ("positive", "absolute", "signed")
        if sign != "signed" or metric not in UNSIGNED
    ],
)
def test_all_shifts_score_as_in_a_loop(metric: str, sign: Any) -> None:
    maps, masks = scene()
    found = torus_scores(maps, masks, metric, sign=sign)
    assert (found.n, found.metric, found.direction) == (6, metric, "higher")
    for one_map, mask, shifts in zip(maps, masks, found.shifts, strict=True):
        expected = reference.shifted_scores(one_map, mask, metric, sign=sign)
        np.testing.assert_allclose(shifts, expected, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(found.values, [shifts[0] for shifts in found.shifts])


def test_ties_may_be_included() -> None:
    maps, masks = scene()
    (shifts,) = torus_scores(
        maps[1:2], masks[1:2], "iou@90", ties="include", sign="positive"
    ).shifts
    expected = reference.shifted_scores(maps[1], masks[1], "iou@90", ties="include")
    np.testing.assert_allclose(shifts, expected, rtol=0, atol=1e-12)


def test_pieces_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    maps, masks = np.random.default_rng(0).random((2, 7, 4, 5))
    whole = torus_scores(maps, masks < 0.3, "iou@75").shifts
    monkeypatch.setattr(torus_module, "CHUNK", 50)
    pieces = torus_scores(maps, masks < 0.3, "iou@75").shifts
    np.testing.assert_allclose(pieces, whole, rtol=0, atol=1e-15)


def test_maps_are_shifted_inside_what_is_visible() -> None:
    maps, masks = np.random.default_rng(0).random((2, 3, 6, 8))
    masks = masks < 0.4
    visible = np.zeros((6, 8), bool)
    visible[1:5, 2:8] = True
    maps[1, 0, 0] = np.nan  # nobody sees it
    found = torus_scores(maps, masks, "iou@75", visible=[None, visible, visible])
    whole = torus_scores(maps[:1], masks[:1], "iou@75")
    inner = torus_scores(maps[1:, 1:5, 2:8], masks[1:, 1:5, 2:8], "iou@75")
    for ours, theirs in zip(found.shifts, (*whole.shifts, *inner.shifts), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-15)


@pytest.mark.parametrize("direction", ["higher", "lower"])
def test_p_values_count_the_map_as_it_is(direction: Any) -> None:
    rng = np.random.default_rng(1)
    better = 1 if direction == "higher" else -1
    shifts = [rng.random(size).round(1) for size in (20, 19, 30, 64, 25, 40)]
    shifts[4][:] = np.nan
    for one in shifts:
        one[0] += 0.1 * better
    null = torus_shift(TorusScores(tuple(shifts), "", direction), draws=19999, keep_draws=True)
    expected = [reference.image_p(one, one[0], better) for one in shifts]
    np.testing.assert_array_equal(null.p_images, expected)
    assert np.flatnonzero(np.isnan(null.p_images)).tolist() == [1, 4]
    assert null.draws is not None
    as_high = better * null.draws >= better * null.value - 1e-9
    assert null.p == (1 + as_high.sum()) / 20000
    assert (null.kind, null.n, null.undefined, null.alone) == ("torus", 5, 1, 0)
    assert null.mean == pytest.approx(np.mean([one.mean() for one in shifts if one[1] == one[1]]))
    assert null.draws.mean() == pytest.approx(null.mean, abs=5 * null.sd / 140)


def test_the_p_value_of_a_data_set_is_that_of_all_draws_of_places() -> None:
    rng = np.random.default_rng(4)
    shifts = [rng.random(4) for _ in range(5)]
    for one in shifts:
        one[0] = np.sort(one)[2]
    observed = sum(one[0] for one in shifts)
    sums = [sum(places) for places in itertools.product(*shifts)]
    exact = np.mean([total >= observed - 1e-9 for total in sums])
    null = torus_shift(TorusScores(tuple(shifts)), draws=39999)
    assert null.p == pytest.approx(exact, abs=0.008)
    assert np.isnan(null.p_images).all()
    assert null.reason_images == "too few places: 5 images have fewer than the 20 needed"


def test_a_constant_map_is_never_significant() -> None:
    masks = np.random.default_rng(0).random((8, 9, 9)) < 0.2
    for metric in ("iou@90", "coverage", "auc_roc", "pointing"):
        null = torus_shift(torus_scores(np.full((8, 9, 9), 0.3), masks, metric), draws=99)
        assert null.p == 1
        assert (null.p_images == 1).all()


def test_lines_share_their_places_and_seeds_change_them() -> None:
    shifts = tuple(np.random.default_rng(0).random((6, 25)))
    twice = tuple(2 * one for one in shifts)
    gap = (np.full(25, np.nan), *shifts[1:])
    draws = [
        torus_shift(TorusScores(one), draws=50, seed=seed, keep_draws=True).draws
        for one, seed in ((shifts, 0), (twice, 0), (gap, 0), (shifts, 1))
    ]
    first, second, third, fourth = (np.asarray(one) for one in draws)
    np.testing.assert_allclose(second, 2 * first)
    alone = 6 * first - 5 * third  # what the first image drew
    assert np.isin(alone.round(9), shifts[0].round(9)).all()
    assert (fourth != first).any()
    assert torus_shift(TorusScores(shifts), draws=9).draws is None


def test_too_few_images_and_wrong_options_are_named() -> None:
    few = torus_shift(TorusScores(tuple(np.ones((4, 30)))), draws=9)
    assert math.isnan(few.p)
    assert few.reason == "too few images: 4 with a score, 5 are needed"
    assert (few.p_images == 1).all()
    with pytest.raises(InputError, match="draws must be at least 1; got 0"):
        torus_shift(TorusScores(tuple(np.ones((4, 30)))), draws=0)
    with pytest.raises(InputError, match="direction must be"):
        torus_shift(TorusScores((np.ones(30),), direction="neither"))


@pytest.mark.parametrize("metric", OTHERS)
def test_only_sums_over_pixels_are_offered(metric: str) -> None:
    maps, masks = scene()
    with pytest.raises(InputError, match="add up over annotated pixels"):
        torus_scores(maps, masks, metric)


def test_ignored_pixels_are_refused() -> None:
    maps, masks = np.random.default_rng(0).random((2, 2, 6, 6))
    visible = np.ones((2, 6, 6), bool)
    visible[1, 2, 3] = False
    with pytest.raises(
        InputError, match=r"not offered with ignored pixels.*image 1 lacks 1 pixels"
    ):
        torus_scores(maps, masks < 0.5, visible=visible)
    with pytest.raises(InputError, match="image 0 has none"):
        torus_scores(maps, masks < 0.5, visible=np.zeros((2, 6, 6), bool))
    with pytest.raises(InputError, match="visible must hold one array for each of 2 maps"):
        torus_scores(maps, masks < 0.5, visible=visible[:1])
    maps[1, 1, 1] = np.inf
    with pytest.raises(MapError, match="map 1 is not finite"):
        torus_scores(maps, masks < 0.5)


def test_the_assumption_says_what_is_not_controlled() -> None:
    null = torus_shift(torus_scores(*scene(), "coverage", sign="positive"), draws=9)
    assert null.assumption.endswith("no centre-bias control")
    assert "." not in null.assumption
