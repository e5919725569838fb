"""The best of several candidates, chosen on one half and scored on the other."""

from __future__ import annotations

import numpy as np
import pytest

from sightline.core import InputError
from sightline.stats.selection import _halves, split_half


def slow(table: np.ndarray, direction: str, seed: int, repeats: int) -> tuple[float, list[float]]:
    """One cut, one half, one candidate at a time."""
    usable = np.isfinite(table).any(axis=1)
    better = max if direction == "higher" else min
    values, picks = [], [0.0] * table.shape[1]
    for cut in _halves(usable, repeats, seed):
        scores: list[float] = []
        for learn, test in ((cut == 1, (cut == 0) & usable), ((cut == 0) & usable, cut == 1)):
            means = {}
            for j in range(table.shape[1]):
                seen = [x for x in table[learn, j] if np.isfinite(x)]
                if seen:
                    means[j] = round(float(np.mean(seen)), 12)
            best = better(means.values())
            chosen = next(j for j, mean in means.items() if mean == best)
            picks[chosen] += 1 / (2 * repeats)
            scores += [x for x in table[test, chosen] if np.isfinite(x)]
        values.append(float(np.mean(scores)))
    return float(np.mean(values)), picks


@pytest.mark.parametrize("direction", ["higher", "lower"])
@pytest.mark.parametrize("n", [4, 9, 30])
def test_it_is_what_a_slow_loop_says(n: int, direction: str) -> None:
    rng = np.random.default_rng(n)
    table = rng.integers(0, 5, (n, 6)) / 4  # equals occur
    table[rng.random(table.shape) < 0.1] = np.nan
    found = split_half(table, direction=direction, seed=3, repeats=20)  # type: ignore[arg-type]
    value, picks = slow(table, direction, 3, 20)
    assert found.value == pytest.approx(value, abs=1e-12)
    np.testing.assert_allclose(found.picks, picks, atol=1e-12)
    means = np.nanmean(table, axis=0)
    best = means.max() if direction == "higher" else means.min()
    assert found.naive == pytest.approx(best)
    assert means[found.best] == pytest.approx(best)
    gap = found.naive - found.value
    assert found.optimism == pytest.approx(gap if direction == "higher" else -gap)


def test_halves_are_halves_of_the_usable_images() -> None:
    usable = np.array([True] * 7 + [False] * 2)
    found = _halves(usable, 200, 0)
    assert (found.sum(axis=1) == 3).all()
    assert (found[:, 7:] == 0).all()
    np.testing.assert_allclose(found[:, :7].mean(axis=0), 3 / 7, atol=0.12)


def test_a_clear_winner_is_always_chosen() -> None:
    table = np.random.default_rng(0).random((20, 3)) + np.array([0, 5, 0])
    found = split_half(table)
    np.testing.assert_array_equal(found.picks, [0, 1, 0])
    assert found.best == 1
    assert found.value == pytest.approx(table[:, 1].mean())
    assert found.optimism == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(found.values, table[:, 1])
    assert found.n == 20
    assert found.reason == ""


def test_of_equals_the_first_is_chosen() -> None:
    column = np.random.default_rng(0).random((11, 1))
    found = split_half(np.repeat(column, 4, axis=1))
    assert found.best == 0
    np.testing.assert_array_equal(found.picks, [1, 0, 0, 0])


def test_luck_is_not_praised() -> None:
    tables = np.random.default_rng(0).normal(size=(300, 30, 10))
    found = [split_half(table, repeats=10, seed=i) for i, table in enumerate(tables)]
    assert np.mean([f.naive for f in found]) > 0.25
    assert abs(np.mean([f.value for f in found])) < 0.03
    assert np.mean([f.optimism for f in found]) > 0.25


def test_images_without_any_value_do_not_count() -> None:
    table = np.random.default_rng(0).random((9, 3))
    table[[2, 5]] = np.nan
    found = split_half(table, seed=1)
    assert found.n == 7
    assert np.isnan(found.values[[2, 5]]).all()
    assert np.isfinite(np.delete(found.values, [2, 5])).all()


def test_a_candidate_without_values_is_never_chosen() -> None:
    table = -1 - np.random.default_rng(0).random((12, 3))
    table[:, 0] = np.nan
    found = split_half(table)
    assert found.picks[0] == 0
    assert found.best > 0
    assert found.value < -1


def test_too_few_images_are_said() -> None:
    found = split_half([[1.0, 2.0], [1.0, 3.0], [2.0, 2.0]])
    assert np.isnan([found.value, found.optimism]).all()
    assert found.naive == pytest.approx(7 / 3)
    assert found.best == 1
    assert found.reason == "too few images: 3, halves need 4"
    assert split_half(np.full((5, 2), np.nan)).best == -1


def test_a_seed_gives_the_same_bits() -> None:
    table = np.random.default_rng(0).random((15, 4))
    assert split_half(table, seed=1).value == split_half(table, seed=1).value
    assert split_half(table, seed=1).value != split_half(table, seed=2).value


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        ([1.0, 2.0], {}, "table must be images × candidates; got 2"),
        (np.zeros((3, 0)), {}, "table must be images × candidates; got 3×0"),
        ([[np.inf]], {}, "table must hold finite numbers or NaN"),
        ([[1.0]], {"direction": "neither"}, "direction must be higher or lower; got 'neither'"),
        ([[1.0]], {"repeats": 0}, "repeats must be at least 1; got 0"),
    ],
)
def test_what_does_not_fit_is_named(
    table: object, options: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        split_half(table, **options)  # type: ignore[arg-type]


def test_a_cut_without_any_score_is_left_out() -> None:
    table = np.full((6, 2), np.nan)
    table[0, 0] = 9.0  # the best candidate, on a single image
    table[1:, 1] = 0.5
    found = split_half(table)
    assert found.best == 0
    assert 0.5 <= found.value < 9
    assert found.reason == ""


def test_candidates_without_an_image_in_common() -> None:
    found = split_half(np.where(np.eye(5, dtype=bool), 1.0, np.nan))
    assert np.isnan(found.value)
    assert found.reason == "no candidate has a value on both halves of the images"
