"""Two groups of images: one interval for their difference, or a reason why there is none."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from benchmarks.calibration.intervals import group_coverage
from sightline.core import InputError
from sightline.stats import compare_groups, interval

NAN = float("nan")


def test_it_is_close_to_welchs_interval() -> None:
    rng = np.random.default_rng(0)
    values, inside = rng.beta(2, 5, 90), np.arange(90) < 30
    values[::7] = NAN
    found = compare_groups(values, inside)
    sides = [values[side & np.isfinite(values)] for side in (inside, ~inside)]
    welch = stats.ttest_ind(*sides, equal_var=False).confidence_interval(0.95)
    assert found.value == pytest.approx(sides[0].mean() - sides[1].mean())
    assert (found.low, found.high) == pytest.approx((welch.low, welch.high), abs=5e-3)
    assert (found.inside, found.outside) == tuple(map(len, sides))


def test_shares_have_the_interval_of_newcombe() -> None:
    hits = [1] * 8 + [0] * 2 + [0] * 10
    found = compare_groups(hits, [True] * 10 + [False] * 10, kind="share", limits=(0, 1))
    one, other = (interval(part, kind="share") for part in (hits[:10], hits[10:]))
    low = 0.8 - np.hypot(one.value - one.low, other.high - other.value)
    high = 0.8 + np.hypot(one.high - one.value, other.value - other.low)
    assert (found.value, found.low, found.high) == pytest.approx((0.8, low, high))


def test_variables_held_fixed_take_their_part() -> None:
    rng = np.random.default_rng(2)
    inside = np.arange(60) % 3 > 0
    area = 0.2 + 0.3 * inside + rng.uniform(0, 0.1, 60)
    values = 0.1 + area + rng.normal(0, 0.02, 60)
    same = np.full(60, 0.9)  # does not vary: skipped
    plain = compare_groups(values, inside)
    adjusted = compare_groups(values, inside, others=np.column_stack([area, same]))
    assert plain.low > 0.25
    assert abs(adjusted.value) < 0.1
    assert adjusted.low < 0 < adjusted.high
    gaps = np.where(np.arange(60) < 3, NAN, area)[:, None]
    assert compare_groups(values, inside, others=gaps).inside == inside[3:].sum()


@pytest.mark.parametrize(
    ("values", "inside", "others", "reason"),
    [
        ([0.1] * 12, [True] * 8 + [False] * 4, None, "too few images: 8 inside and 4 outside"),
        ([0.1] * 9 + [NAN], [True] * 5 + [False] * 5, None, "too few images: 5 inside and 4"),
        (range(12), [True] * 6 + [False] * 6, [1] * 6 + [0] * 6, "follow from the variables"),
        (range(12), [True] * 6 + [False] * 6, [0] * 11 + [1], ""),
    ],
)
def test_a_difference_has_an_interval_or_a_reason(
    values: list[float], inside: list[bool], others: list[float] | None, reason: str
) -> None:
    fixed = None if others is None else np.array(others, float)[:, None]
    found = compare_groups(list(values), inside, others=fixed)
    assert reason in found.reason
    assert np.isnan(found[:3]).all() == bool(reason)


def test_ends_stay_in_the_range_of_a_difference() -> None:
    values = [1.0] * 5 + [0.0] * 4 + [1.0]
    free = compare_groups(values, [True] * 5 + [False] * 5)
    kept = compare_groups(values, [True] * 5 + [False] * 5, limits=(0, 1))
    assert free.high > 1
    assert (kept.value, kept.low, kept.high) == (free.value, free.low, 1.0)
    flat = compare_groups([1.0] * 5 + [0.0] * 5, [True] * 5 + [False] * 5)
    assert (flat.low, flat.high) == pytest.approx((1, 1))
    assert flat.reason == "all values of a group are equal"


@pytest.mark.parametrize(("few", "least", "most"), [(5, 0.89, 0.98), (25, 0.92, 0.98)])
def test_the_interval_holds_the_truth(few: int, least: float, most: float) -> None:
    assert least <= group_coverage(few, 60, 1000).figure <= most


def test_what_does_not_fit_is_named() -> None:
    with pytest.raises(InputError, match="one entry per image; got 2, 3 and 2"):
        compare_groups([0.1, 0.2], [True, False, True])
