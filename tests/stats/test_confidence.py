"""Intervals: against slow loops, SciPy, and what must not change them."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sightline.core import InputError
from sightline.stats import _ends
from sightline.stats._resample import Weights
from sightline.stats.confidence import Interval, Intervals, Kind, interval, intervals
from tests.reference import statistics as reference

Ends = Literal["bca", "studentised"]
SLOW = {"bca": reference.bca, "studentised": reference.studentised}


def data(name: str, n: int, seed: int = 0) -> tuple[list[float], list[float]]:
    """Sums and sizes of n images."""
    rng = np.random.default_rng([seed, n])
    if name == "skewed":
        return rng.beta(1, 6, n).tolist(), [1.0] * n
    if name == "half zero":
        return (rng.beta(1, 6, n) * (np.arange(n) % 2)).tolist(), [1.0] * n
    if name == "hits":
        return [1.0, *(rng.random(n - 1) < 0.3)], [1.0] * n
    sizes = np.minimum(rng.geometric(0.25, n), 25).astype(float)
    sizes[0] = 25.0
    return (sizes * rng.beta(1, 6, n)).tolist(), sizes.tolist()


@pytest.mark.parametrize("name", ["skewed", "half zero", "hits", "clustered"])
@pytest.mark.parametrize("n", [5, 12, 60])
@pytest.mark.parametrize("method", ["bca", "studentised"])
@pytest.mark.parametrize("confidence", [0.95, 0.8])
def test_ends_are_those_of_a_slow_loop(name: str, n: int, method: Ends, confidence: float) -> None:
    sums, sizes = data(name, n)
    found = intervals(
        np.array(sums)[:, None],
        counts=np.array(sizes)[:, None],
        resamples=300,
        seed=7,
        method=method,
        confidence=confidence,
    ).at(0)
    drawn = reference.draws(np.concatenate([block for _, block in Weights(n, 300, 7)]))
    low, high = SLOW[method](sums, sizes, drawn, confidence)
    assert found.value == pytest.approx(reference.ratio(sums, sizes, range(n)), rel=1e-12)
    assert (found.low, found.high) == pytest.approx((low, high), rel=1e-7, abs=1e-9)
    assert (found.method, found.n, found.values) == (method, n, int(sum(sizes)))


@pytest.mark.parametrize("n", [50, 139])
def test_bca_is_that_of_scipy_but_for_its_draws(n: int) -> None:
    values = np.random.default_rng(n).beta(1, 6, n)
    ours = interval(values, resamples=20_000)
    theirs = stats.bootstrap(
        (values,), np.mean, method="BCa", n_resamples=20_000, rng=np.random.default_rng(1)
    ).confidence_interval
    width = theirs.high - theirs.low
    assert ours.method == "bca"
    assert ours.low == pytest.approx(theirs.low, abs=0.03 * width)
    assert ours.high == pytest.approx(theirs.high, abs=0.03 * width)


def test_student_is_that_of_scipy() -> None:
    values = np.random.default_rng(0).beta(1, 6, 10_001)
    found = interval(values)
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert found.method == "t"
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))


@pytest.mark.parametrize(("hits", "n"), [(0, 5), (9, 10), (10, 10), (37, 139), (1, 2)])
@pytest.mark.parametrize("confidence", [0.95, 0.5])
def test_wilson_is_that_of_scipy(hits: int, n: int, confidence: float) -> None:
    values = [1] * hits + [0] * (n - hits)
    found = interval(values, kind="share", confidence=confidence)
    expected = stats.binomtest(hits, n).proportion_ci(confidence, method="wilson")
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert found.method == "wilson"
    assert found.low <= found.value <= found.high


def test_shares_with_ties_are_worth_what_they_spread() -> None:
    values = [0.75, 0.5, 0.4, 0.6, 0.75, 0.75]
    found = interval(values, kind="share")
    t, share = float(stats.t.ppf(0.975, 5)), 3.75 / 6
    worth = 6 * share * (1 - share) / float(np.var(values, ddof=1))
    assert worth > 6
    assert (found.low, found.high) == pytest.approx(reference.wilson(share * worth, worth, t))
    z, nearly = float(stats.norm.ppf(0.975)), interval([1, 0.5, 0, 0, 1, 1], kind="share")
    assert (nearly.low, nearly.high) == pytest.approx(reference.wilson(3.5, 6, z))
    equal = interval([0.25] * 8, kind="share")
    assert (equal.low, equal.high) == pytest.approx(reference.wilson(2, 8, z))


def test_clustered_shares_take_what_their_spread_is_worth() -> None:
    images = ["a"] * 4 + ["b"] * 2 + ["c"] * 3 + ["d"]
    hits = [1, 1, 1, 0, 0, 0, 1, 1, 0, 1]
    found = interval(hits, images=images, kind="share")
    sums, sizes = [3, 0, 2, 1], [4, 2, 3, 1]
    share = 0.6
    without = [(6 - s) / (10 - m) for s, m in zip(sums, sizes, strict=True)]
    variance = 3 / 4 * sum((w - share) ** 2 for w in without)
    worth = min(share * (1 - share) / variance, 10)
    alike = 10**2 / sum(m**2 for m in sizes)
    t = float(stats.t.ppf(0.975, alike - 1))
    assert worth < 10
    assert (found.low, found.high) == pytest.approx(reference.wilson(share * worth, worth, t))
    assert (found.n, found.values, found.undefined) == (4, 10, 0)


def test_clustered_shares_are_worth_no_more_than_their_values() -> None:
    found = interval([1, 0, 1, 0, 1, 0, 1, 0, 0, 1, 1], images=[*"aabbccddeef"], kind="share")
    alike = 11**2 / (5 * 4 + 1)
    t = float(stats.t.ppf(0.975, alike - 1))
    assert (found.low, found.high) == pytest.approx(reference.wilson(6, 11, t))


def test_clustered_shares_without_spread_are_worth_their_images() -> None:
    found = interval([1] * 9, images=[*"aaabbbccc"], kind="share")
    t = float(stats.t.ppf(0.975, 2))
    assert (found.value, found.high) == (1, 1)
    assert found.low == pytest.approx(reference.wilson(3, 3, t)[0])


def test_one_image_that_outweighs_all_others_makes_a_wide_interval() -> None:
    found = interval([1] * 999 + [0], images=[0] * 999 + [1], kind="share")
    assert 0 <= found.low < 0.5
    assert found.low < found.value < found.high <= 1


@pytest.mark.parametrize(
    ("n", "several", "method"),
    [
        (5, False, "studentised"),
        (49, False, "studentised"),
        (50, False, "bca"),
        (10_000, False, "bca"),
        (10_001, False, "t"),
        (499, True, "studentised"),
        (500, True, "bca"),
        (10_001, True, "t"),
    ],
)
def test_the_number_of_images_chooses_the_method(n: int, several: bool, method: str) -> None:
    values = np.random.default_rng(0).random(n)
    images = range(n)
    if several:
        values, images = np.append(values, 0.5), [*images, 0]  # type: ignore[assignment]
    found = interval(values, images=images, resamples=100)
    assert (found.method, found.n) == (method, n)
    assert found.low < found.value < found.high


def test_regions_of_one_image_stay_together() -> None:
    rng = np.random.default_rng(0)
    image = np.repeat(np.arange(60), 8)
    values = rng.normal(size=60)[image] + 0.1 * rng.normal(size=480)
    together, apart = interval(values, images=image), interval(values)
    assert together.value == pytest.approx(apart.value)
    assert together.high - together.low > 2.2 * (apart.high - apart.low)
    assert (together.n, together.values) == (60, 480)


def test_labels_may_be_anything_and_come_in_any_order() -> None:
    rng = np.random.default_rng(0)
    values, image = rng.random(40), rng.integers(0, 9, 40)
    numbers = interval(values, images=image)
    names = interval(values, images=[("image", str(i)) for i in image])
    assert numbers == names
    back = interval(values[::-1], images=image[::-1])
    assert back.value == pytest.approx(numbers.value)
    assert back.n == numbers.n
    assert back.std == pytest.approx(numbers.std)


def test_it_describes_the_values() -> None:
    values = [0.5, 0.25, float("nan"), 1.0, 0.0, 0.1]
    found = interval(values)
    valid = [v for v in values if not math.isnan(v)]
    assert (found.n, found.values, found.undefined) == (5, 5, 1)
    assert found.std == pytest.approx(np.std(valid, ddof=1))
    assert found.median == pytest.approx(np.median(valid))
    assert found.confidence == 0.95
    clustered = interval(values, images=[0, 0, 1, 1, 2, 3])
    assert (clustered.n, clustered.values, clustered.undefined) == (4, 5, 1)
    assert (clustered.std, clustered.median) == (found.std, found.median)


@pytest.mark.parametrize("kind", ["mean", "share"])
@pytest.mark.parametrize("n", [5, 60])
def test_undefined_images_change_nothing_else(kind: Any, n: int) -> None:
    values = (np.random.default_rng(0).random(n) < 0.5) * 1.0
    gaps = np.insert(values, [0, 3, 3, n], np.nan)
    whole, holed = interval(values, kind=kind), interval(gaps, kind=kind)
    assert (holed.low, holed.high, holed.value) == (whole.low, whole.high, whole.value)
    assert (holed.n, holed.undefined) == (n, 4)


def assert_same(one: Interval, other: Interval) -> None:
    for field in fields(Interval):
        first, second = (getattr(x, field.name) for x in (one, other))
        assert first == second or (first != first and second != second), field.name


@pytest.mark.parametrize("kind", ["mean", "share"])
@pytest.mark.parametrize("n", [12, 70])
def test_a_column_has_the_same_bits_alone_and_among_others(kind: Any, n: int) -> None:
    rng = np.random.default_rng(n)
    table = rng.random((n, 40))
    table[rng.random(table.shape) < 0.05] = np.nan
    table[:, 3] = 0.25
    table[:, 4] = np.nan
    table[1:, 5] = np.nan
    together = intervals(table, kind=kind, resamples=200)
    assert isinstance(together, Intervals)
    assert len(together) == 40
    for j in range(40):
        assert_same(intervals(table[:, [j]], kind=kind, resamples=200).at(0), together.at(j))
        assert_same(interval(table[:, j], kind=kind, resamples=200), together.at(j))


def test_a_column_with_one_value_an_image_does_not_care_for_clustered_ones() -> None:
    rng = np.random.default_rng(0)
    counts = np.column_stack([np.ones(60), rng.integers(1, 5, 60), rng.integers(0, 2, 60)])
    sums = counts * rng.random(counts.shape)
    kinds: tuple[Kind, ...] = ("mean", "share")
    for kind in kinds:
        together = intervals(sums, counts=counts, kind=kind, resamples=200)
        for j in range(3):
            alone = intervals(
                sums[:, [j]],
                counts=counts[:, [j]],
                kind=kind,
                resamples=200,
            )
            assert_same(alone.at(0), together.at(j))


def test_blocks_of_columns_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    table = np.random.default_rng(0).random((60, 23))
    counts = np.random.default_rng(1).integers(1, 4, (60, 23))
    expected = [
        intervals(table, counts=count, resamples=100, method=method)
        for count in (None, counts)
        for method in ("bca", "studentised")
    ]
    monkeypatch.setattr(_ends, "_BLOCK", 500)
    for one, count, method in zip(
        expected, (None, None, counts, counts), ("bca", "studentised") * 2, strict=True
    ):
        other = intervals(table, counts=count, resamples=100, method=method)  # type: ignore[arg-type]
        np.testing.assert_array_equal(one.low, other.low)
        np.testing.assert_array_equal(one.high, other.high)


def test_counts_make_sums_of_values() -> None:
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 5, (30, 4))
    values = [[rng.random(k) for k in row] for row in counts]
    sums = np.array([[v.sum() for v in row] for row in values])
    found = intervals(sums, counts=counts)
    for j in range(4):
        flat = np.concatenate([row[j] for row in values])
        alone = interval(flat, images=np.repeat(np.arange(30), counts[:, j]))
        assert found.at(j).value == pytest.approx(alone.value)
        assert (found.low[j], found.high[j]) == pytest.approx((alone.low, alone.high))
        assert (found.n[j], found.values[j]) == (alone.n, alone.values)
        assert found.undefined[j] == (counts[:, j] == 0).sum()
        assert np.isnan([found.std[j], found.median[j]]).all()


@given(st.floats(-1e6, 1e6), st.integers(5, 80))
def test_equal_values_have_an_interval_without_width(value: float, n: int) -> None:
    found = interval([value] * n, resamples=100)
    assert found.value == found.low == found.high == value
    assert found.reason == "all values are equal"
    assert found.std <= 1e-9 * abs(value)


@pytest.mark.parametrize("n", [12, 60])
def test_values_that_hardly_differ_do_differ(n: int) -> None:
    values = 1 + 1e-7 * np.random.default_rng(0).random(n)
    found = interval(values)
    assert 0 < found.high - found.low < 1e-7
    assert found.reason == ""


def test_clusters_of_equal_values_have_no_width_either() -> None:
    found = interval([0.1] * 11, images=[*"aaabbcdddde"])
    assert found.low == found.high == found.value == pytest.approx(0.1)
    assert found.reason == "all values are equal"


@pytest.mark.parametrize("values", [[], [0.5], [float("nan")] * 3, [0.5, float("nan")]])
@pytest.mark.parametrize(("kind", "least"), [("mean", 5), ("share", 2)])
def test_too_few_images_are_said(values: list[float], kind: Any, least: int) -> None:
    found = interval(values, kind=kind)
    assert np.isnan([found.low, found.high]).all()
    assert found.method == ""
    assert found.n == int(0.5 in values)
    assert found.reason == f"too few images: {found.n}, an interval needs {least}"
    assert (found.value == 0.5) if found.n else math.isnan(found.value)


def test_one_image_with_many_values_is_one_image() -> None:
    found = interval([0.1, 0.2, 0.3], images=["a"] * 3)
    assert (found.n, found.values) == (1, 3)
    assert found.value == pytest.approx(0.2)
    assert found.reason == "too few images: 1, an interval needs 5"


@pytest.mark.parametrize("method", ["studentised", "bca", "t"])
@pytest.mark.parametrize("n", [2, 3, 4])
def test_few_resamples_do_not_make_an_interval_of_a_mean(n: int, method: Any) -> None:
    """Of 2 images 3 resamples are distinct; the ends were those of a bound, −1.07 to 1.47."""
    values = [0.1, 0.3, 0.2, 0.4][:n]
    found = interval(values, method=method)
    assert np.isnan([found.low, found.high]).all()
    assert found.reason == f"too few images: {n}, an interval needs 5"
    assert found.value == pytest.approx(np.mean(values))


@pytest.mark.parametrize("n", [5, 6, 25, 60])
def test_one_value_among_zeros_does_not_make_noise(n: int) -> None:
    found = interval([0.5] + [0.0] * (n - 1))
    assert np.isfinite([found.low, found.high]).all()
    assert found.low <= found.value < found.high
    # Most resamples hold the value once or not at all: they cannot tell how large it might be.
    error = 0.5 / n * math.sqrt(n / (n - 1) * (1 - 1 / n))
    assert found.high <= found.value + 13 * error * math.sqrt(n)


def test_limits_draw_the_ends_in() -> None:
    values = [0.0, 0.0, 0.0, 0.02, 0.9]
    free, kept = interval(values), interval(values, limits=(0, 1))
    assert free.low < 0 or free.high > 1
    assert (kept.low, kept.high) == (max(free.low, 0), min(free.high, 1))
    share = interval(values, kind="share", method="t")
    assert 0 <= share.low < share.high <= 1
    nothing = intervals([[0.5]], limits=(0, 1))
    assert np.isnan(nothing.low).all()
    both = intervals(np.array([values, values]).T, limits=([0, -9], [1, 9]))
    assert (both.low[0], both.low[1]) == (kept.low, free.low)


@pytest.mark.parametrize("n", [12, 60])
def test_shifting_and_scaling_move_the_ends_along(n: int) -> None:
    values = np.random.default_rng(0).beta(1, 6, n)
    found, moved = interval(values), interval(3 - 10 * values)
    plain = interval(10 * values + 3)
    assert (plain.low, plain.high) == pytest.approx((10 * found.low + 3, 10 * found.high + 3))
    width = found.high - found.low
    assert moved.low == pytest.approx(3 - 10 * found.high, abs=0.2 * width)
    assert moved.value == pytest.approx(3 - 10 * found.value)


@given(
    st.lists(st.one_of(st.floats(-1e50, 1e50), st.just(float("nan"))), max_size=30),
    st.sampled_from([None, "bca", "studentised", "t"]),
    st.booleans(),
)
def test_any_values_give_numbers_or_a_reason(
    values: list[float], method: Any, clustered: bool
) -> None:
    images = [i // 3 for i in range(len(values))] if clustered else None
    found = interval(values, images=images, method=method, resamples=100)
    if found.n < 5:
        assert found.reason
        assert math.isnan(found.low)
    else:
        slack = 1e-9 * max(abs(v) for v in values if not math.isnan(v))
        assert found.low <= found.high + slack
        assert np.isfinite([found.low, found.high, found.value]).all()


def test_seeds_and_confidence() -> None:
    values = np.random.default_rng(0).random(30)
    assert interval(values, seed=1) == interval(values, seed=1)
    assert interval(values, seed=1).low != interval(values, seed=2).low
    wide, narrow = interval(values, confidence=0.99), interval(values, confidence=0.5)
    assert wide.low < narrow.low < narrow.high < wide.high


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: interval([[1.0]]), "values must be a list of numbers; got 1×1"),
        (lambda: interval([1.0, 2.0], images=["a"]), "one for each of 2 values; got 1"),
        (lambda: interval([1.0, np.inf]), "values must hold finite numbers or NaN"),
        (lambda: interval([0.5, 1.2], kind="share"), "shares from 0 to 1; got 1.2"),
        (lambda: interval([-0.5], kind="share"), "shares from 0 to 1; got -0.5"),
        (lambda: interval([0.5], kind="sum"), "kind must be one of mean, share; got 'sum'"),  # type: ignore[arg-type]
        (lambda: interval([0.5], method="normal"), "method must be one of"),  # type: ignore[arg-type]
        (lambda: interval([0.5], method="wilson"), "wilson is for kind='share'"),
        (lambda: interval([0.5], confidence=95), "confidence must lie between 0 and 1; got 95"),
        (lambda: interval([0.5], resamples=10), "resamples must be at least 100; got 10"),
        (lambda: intervals([0.5]), "table must be images × columns; got 1"),
        (lambda: intervals([[0.5]], counts=[1]), "table's shape 1×1; got 1"),
        (lambda: intervals([[0.5]], counts=[[-1]]), "counts must be whole numbers from 0 up"),
        (lambda: intervals([[0.5]], counts=[[0.5]]), "counts must be whole numbers"),
        (lambda: intervals([[0.5]], counts=[[np.nan]]), "counts must be whole numbers"),
        (lambda: intervals([[1.5]], counts=[[1]], kind="share"), "shares from 0 to 1; got 1.5"),
    ],
)
def test_what_does_not_fit_is_named(call: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()


@pytest.mark.parametrize("n", [3, 5, 10])
def test_shares_of_few_images_hold_the_truth(n: int) -> None:
    found = intervals(np.random.default_rng(n).uniform(0.3, 0.7, (n, 2000)), kind="share")
    assert 0.9 <= float(((found.low <= 0.5) & (found.high >= 0.5)).mean()) <= 0.98


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
@pytest.mark.parametrize("n", [30, 139])
def test_any_unit_gives_the_same_interval(scale: float, n: int) -> None:
    values = np.random.default_rng(0).normal(0.1, 1, n)
    one, other = interval(values), interval(values * scale)
    for what in ("value", "low", "high", "std", "median"):
        assert getattr(other, what) / scale == pytest.approx(getattr(one, what), rel=1e-9)
    table = intervals(np.stack([values, values * scale], axis=1))
    assert table.std[1] / scale == pytest.approx(table.std[0])


def test_limits_draw_ends_in() -> None:
    hits = [0.0, 1, 1, 1, 1, 1]
    assert interval(hits, kind="share", method="t", limits=(-5, 5)).high == 1
    assert interval(hits, limits=(0, 0.9)).high == 0.9
    for limits in ((1.0, 0.0), (0.5, 0.5), (math.nan, 1.0)):
        with pytest.raises(InputError, match="limits must be"):
            interval(hits, limits=limits)


def test_images_may_be_named_by_a_tensor() -> None:
    torch = pytest.importorskip("torch")
    values, labels = np.random.default_rng(0).random(30), np.arange(30) // 3
    assert interval(values, images=torch.tensor(labels)) == interval(values, images=labels)


def test_short_tensors_are_read() -> None:
    torch = pytest.importorskip("torch")
    values = torch.tensor([0.5, 0.25, 0.75, 0.5, 0.25], dtype=torch.bfloat16)
    assert interval(values) == interval([0.5, 0.25, 0.75, 0.5, 0.25])
