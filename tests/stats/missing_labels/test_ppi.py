"""Gold and completed images joined: against ppi-python, textbook formulas and a slow jackknife."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sightline.core import InputError
from sightline.stats.missing_labels import PPI, Estimate, joined, ppi_mean

NAN = float("nan")


def scores(
    seed: int = 0, n: int = 25, others: int = 114
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.beta(2, 6, n + others)
    f = 0.7 * y + rng.normal(0, 0.04, n + others)
    return y[:n], f[:n], f[n:]


def ends(found: PPI) -> tuple[float, float, float]:
    return found.value, found.low, found.high


@pytest.fixture(scope="module")
def peer() -> Any:
    return import_module("ppi_py")


@pytest.mark.parametrize("weight", [0.0, 0.4, 1.0])
def test_a_fixed_weight_is_that_of_ppi_python(peer: Any, weight: float) -> None:
    y, f, rest = scores()
    found = ppi_mean(y, f, rest, tuning=weight, confidence=0.9)
    value = peer.ppi_mean_pointestimate(y, f, rest, lam=weight)
    low, high = peer.ppi_mean_ci(y, f, rest, alpha=0.1, lam=weight)
    assert found.value == pytest.approx(float(value[0]), abs=1e-12)
    assert (found.weight, found.df) == (weight, 24)
    # Ours divides by n − 1 and takes Student's t, theirs divides by n and takes the normal law.
    rectifier, spread = (y - weight * f).var() / 24, weight**2 * rest.var() / 113
    half = stats.norm.ppf(0.95) * np.sqrt(rectifier * 24 / 25 + spread * 113 / 114)
    assert float(high[0] - low[0]) / 2 == pytest.approx(half, abs=1e-12)
    assert found.se == pytest.approx(np.sqrt(rectifier + spread), abs=1e-12)
    assert found.high - found.value == pytest.approx(stats.t.ppf(0.95, 24) * found.se, abs=1e-12)


def test_the_tuned_weight_nears_that_of_ppi_python(peer: Any) -> None:
    y, f, rest = scores(1, 20_000, 60_000)
    found = ppi_mean(y, f, rest)
    low, high = peer.ppi_mean_ci(y, f, rest, alpha=0.05)
    assert found.value == pytest.approx(float(peer.ppi_mean_pointestimate(y, f, rest)[0]), rel=1e-3)
    assert (found.low, found.high) == pytest.approx((float(low[0]), float(high[0])), rel=1e-2)


def test_the_tuned_estimate_is_the_regression_estimate() -> None:
    y, f, rest = scores()
    found = ppi_mean(y, f, rest)
    line = stats.linregress(f, y)
    everything = np.concatenate([f, rest]).mean()
    assert found.value == pytest.approx(y.mean() + line.slope * (everything - f.mean()), abs=1e-12)
    assert found.weight == pytest.approx(line.slope / (1 + 25 / 114), abs=1e-12)
    assert found.correlation == pytest.approx(line.rvalue, abs=1e-12)
    rectified = y - found.weight * f
    variance = ((rectified - rectified.mean()) ** 2).sum() / 23 / 25
    variance += found.weight**2 * rest.var(ddof=1) / 114
    assert found.se == pytest.approx(np.sqrt(variance), abs=1e-12)
    assert found.df == 23
    half = stats.t.ppf(0.975, 23) * np.sqrt(variance)
    assert (found.low, found.high) == pytest.approx((found.value - half, found.value + half))
    assert (found.n_gold, found.n_rest, found.undefined, found.reason) == (25, 114, 0, "")


def test_the_set_has_the_same_value_and_a_slow_jackknife_variance() -> None:
    y, f, rest = scores(2)
    whole, here = ppi_mean(y, f, rest), ppi_mean(y, f, rest, target="set")
    assert here.value == whole.value
    assert here.high - here.low < whole.high - whole.low
    everything = np.concatenate([f, rest]).mean()
    squares = []
    for i in range(25):
        others = np.arange(25) != i
        line = stats.linregress(f[others], y[others])
        # What the line through the others says of image i, which is its residual over 1 − h.
        missed = y[i] - line.intercept - line.slope * f[i]
        pull = 1 + 25 * (everything - f.mean()) * (f[i] - f.mean()) / ((f - f.mean()) ** 2).sum()
        squares.append((pull * missed) ** 2)
    assert here.se == pytest.approx(np.sqrt(114 / 139 * np.sum(squares)) / 25, abs=1e-12)
    kurtosis = np.mean(np.square(squares)) / np.mean(squares) ** 2
    assert here.df == pytest.approx(min(23, 50 / (kurtosis - 1)))
    half = stats.t.ppf(0.975, here.df) * here.se
    assert (here.low, here.high) == pytest.approx((here.value - half, here.value + half))


def test_one_large_miss_leaves_few_degrees_of_freedom() -> None:
    rng = np.random.default_rng(0)
    f = rng.random(60)
    y = f[:20] + 1e-4 * rng.random(20)
    y[3] += 0.5
    found = ppi_mean(y, f[:20], f[20:], target="set")
    assert found.df == pytest.approx(3, abs=0.01)
    assert ppi_mean(y, f[:20], f[20:]).df == 18


def test_a_fixed_weight_for_the_set() -> None:
    y, f, rest = scores()
    found = ppi_mean(y, f, rest, target="set", tuning=114 / 139)  # the difference estimator
    gaps = y - f
    everything = np.concatenate([f, rest]).mean()
    assert found.value == pytest.approx(everything + gaps.mean(), abs=1e-12)
    assert found.se == pytest.approx(np.sqrt(114 / 139 * gaps.var(ddof=1) / 25), abs=1e-12)
    assert found.df == 24


def test_a_perfect_completion_of_the_set_leaves_no_doubt() -> None:
    _, f, rest = scores()
    found = ppi_mean(f, f, rest, target="set")
    mean = np.concatenate([f, rest]).mean()
    assert ends(found) == pytest.approx((mean, mean, mean), abs=1e-12)


def test_gold_alone() -> None:
    y, f, rest = scores()
    found = ppi_mean(y, f, rest)
    low, high = stats.t.interval(0.95, 24, y.mean(), stats.sem(y))
    assert found.gold_only[:4] == pytest.approx((y.mean(), low, high, 25))
    for same in (
        ppi_mean(y, f, rest, tuning=0),
        ppi_mean(y, f, []),
        ppi_mean(y, f * 0 + 0.1, rest),
    ):
        assert ends(same) == pytest.approx((y.mean(), low, high))
        assert same.weight == 0
    assert np.isnan(ppi_mean(y, f * 0 + 0.1, rest).correlation)


def test_no_rest_means_that_the_set_is_known() -> None:
    y, f, _ = scores()
    assert ends(ppi_mean(y, f, [], target="set")) == pytest.approx((y.mean(),) * 3)
    one = ppi_mean(y, f, [0.2])
    assert np.isfinite(ends(one)).all()


def test_a_completion_that_points_the_other_way_is_left_out() -> None:
    y, f, rest = scores()
    found = ppi_mean(y, -f, -rest)
    assert found.weight == 0
    assert found.value == y.mean()
    assert found.correlation < -0.8


@given(st.integers(0, 1000), st.floats(0.1, 10), st.floats(-5, 5))
def test_scale_and_shift_of_scores_and_of_the_completion(
    seed: int, scale: float, shift: float
) -> None:
    y, f, rest = scores(seed, 8, 20)
    for target in ("population", "set"):
        found = ppi_mean(y, f, rest, target=target)
        other = ppi_mean(y, scale * f + shift, scale * rest + shift, target=target)
        assert ends(other) == pytest.approx(ends(found), abs=1e-7)
        moved = ppi_mean(scale * y + shift, f, rest, target=target)
        expected = [scale * value + shift for value in ends(found)]
        assert ends(moved) == pytest.approx(expected, abs=1e-7)


def test_undefined_scores_are_left_out_and_counted() -> None:
    y, f, rest = scores()
    found = ppi_mean([*y, NAN, 0.2], [*f, 0.3, NAN], [*rest, NAN])
    assert found.undefined == 3
    assert ends(found) == ends(ppi_mean(y, f, rest))


@pytest.mark.parametrize("count", [0, 1, 4])
def test_too_few_gold_images(count: int) -> None:
    y, f, rest = scores()
    found = ppi_mean(y[:count], f[:count], rest)
    assert np.isnan([*ends(found), found.se, found.df, found.weight]).all()
    assert found.reason == f"too few gold images: {count}, needs 5"
    assert found.gold_only.n == found.n_gold == count
    assert np.isnan(ppi_mean([], [], []).value)
    assert ppi_mean(y[:5], f[:5], rest).reason == ""
    both = ["a"] * 4 + ["b"] * 4
    assert ppi_mean(y[:8], f[:8], rest, strata=both, rest_strata=both[1:2] * 114).reason == ""


def test_strata_are_combined_by_their_share() -> None:
    y, f, rest = scores()
    own, other = np.array([0] * 10 + [1] * 15), np.array([0] * 74 + [1] * 40)
    parts = [ppi_mean(y[own == s], f[own == s], rest[other == s], target="set") for s in (0, 1)]
    shares = np.array([84, 55]) / 139
    found = ppi_mean(y, f, rest, target="set", strata=own, rest_strata=other)
    assert found.value == pytest.approx(shares @ [part.value for part in parts])
    own_variances = shares**2 * [part.se**2 for part in parts]
    assert found.se == pytest.approx(np.sqrt(own_variances.sum()))
    df = own_variances.sum() ** 2 / (own_variances**2 / [part.df for part in parts]).sum()
    assert found.df == pytest.approx(df)
    assert found.weight == pytest.approx(shares @ [part.weight for part in parts])
    assert (found.n_gold, found.n_rest) == (25, 114)


def test_in_the_population_shares_of_strata_are_a_sample_too() -> None:
    y, f, rest = scores()
    own, other = ["a"] * 10 + ["b"] * 15, ["a"] * 74 + ["b"] * 40
    far = np.array([name == "b" for name in own]) * 5.0
    far_rest = np.array([name == "b" for name in other]) * 5.0
    near = ppi_mean(y, f, rest, strata=own, rest_strata=other)
    apart = ppi_mean(y + far, f + far, rest + far_rest, strata=own, rest_strata=other)
    parts = [
        ppi_mean(y[s], f[s], rest[r])
        for s, r in ((slice(10), slice(74)), (slice(10, 25), slice(74, 114)))
    ]
    shares = np.array([84, 55]) / 139
    values = np.array([parts[0].value, parts[1].value + 5])
    inside = (shares**2 * [part.se**2 for part in parts]).sum()
    between = (shares * (values - apart.value) ** 2).sum() / 139
    assert apart.value == pytest.approx(shares @ values)
    assert apart.se == pytest.approx(np.sqrt(inside + between))
    assert apart.se > 2 * near.se
    rough = ((shares**2 * [p.se**2 for p in parts]) ** 2 / [p.df for p in parts]).sum()
    assert apart.df == pytest.approx((inside + between) ** 2 / (rough + between**2 / 138))


def test_one_stratum_is_none() -> None:
    y, f, rest = scores()
    same = ppi_mean(y, f, rest, strata=["a"] * 25, rest_strata=["a"] * 114)
    assert same == ppi_mean(y, f, rest)


def test_a_stratum_with_too_few_gold_images_is_named() -> None:
    y, f, rest = scores()
    found = ppi_mean(y, f, rest, strata=["a"] * 25, rest_strata=["a"] * 100 + ["b"] * 14)
    assert np.isnan(found.value)
    assert found.reason == "too few gold images: 0 in a stratum of 14 images, needs 4"


def test_what_does_not_fit_is_named() -> None:
    y, f, rest = scores()
    with pytest.raises(InputError, match="target must be 'population' or 'set'"):
        ppi_mean(y, f, rest, target="all")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="confidence must lie between 0 and 1"):
        ppi_mean(y, f, rest, confidence=1)
    with pytest.raises(InputError, match="tuning must be a finite number"):
        ppi_mean(y, f, rest, tuning=NAN)
    with pytest.raises(InputError, match=r"got shapes \(25,\), \(24,\) and \(114,\)"):
        ppi_mean(y, f[1:], rest)
    with pytest.raises(InputError, match="must be given together"):
        ppi_mean(y, f, rest, strata=["a"] * 25)
    with pytest.raises(InputError, match="got 3 for 25 gold images and 114 for 114 others"):
        ppi_mean(y, f, rest, strata=["a"] * 3, rest_strata=["a"] * 114)


def test_four_results_side_by_side() -> None:
    y, f, rest = scores()
    order = np.random.default_rng(0).permutation(139)
    sparse, completed = np.linspace(0, 0.2, 139), np.concatenate([f, rest])[order]
    gold = np.concatenate([y, np.full(114, NAN)])[order]
    sparse[4] = NAN
    found = joined(sparse, completed, gold)
    known = np.isfinite(gold)
    expected = ppi_mean(gold[known], completed[known], completed[~known])
    assert found.joined == expected
    assert found.gold == expected.gold_only
    for side, values in ((found.sparse, sparse), (found.completed, completed)):
        kept = values[np.isfinite(values)]
        low, high = stats.t.interval(0.95, len(kept) - 1, kept.mean(), stats.sem(kept))
        assert side[:4] == pytest.approx((kept.mean(), low, high, len(kept)))
        assert isinstance(side, Estimate)
    assert joined(sparse, completed, gold, target="set").joined.target == "set"
    names = ["a" if i % 2 else "b" for i in range(139)]
    split = joined(sparse, completed, gold, strata=names).joined
    strata = np.array(names)
    assert split == ppi_mean(
        gold[known],
        completed[known],
        completed[~known],
        strata=list(strata[known]),
        rest_strata=list(strata[~known]),
    )


def test_joined_without_gold_says_so() -> None:
    found = joined([0.1, 0.2], [0.2, 0.3], [NAN, NAN])
    assert found.joined.reason == "too few gold images: 0, needs 5"
    assert np.isnan(found.gold.value)
    assert found.completed.value == pytest.approx(0.25)


def test_joined_needs_one_score_an_image() -> None:
    with pytest.raises(InputError, match="one score an image"):
        joined([0.1], [0.1, 0.2], [0.1, 0.2])
    with pytest.raises(InputError, match="got 1 for 2 images"):
        joined([0.1, 0.1], [0.1, 0.2], [0.1, 0.2], strata=["a"])


@pytest.mark.parametrize("target", ["population", "set"])
@pytest.mark.parametrize("tuning", [None, 0.7])
@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
def test_any_unit_gives_the_same_estimate(target: Any, tuning: Any, scale: float) -> None:
    rng = np.random.default_rng(0)
    y = rng.beta(2, 6, 60)
    f = 0.8 * y + rng.normal(0, 0.05, 60)
    one, other = (
        ppi_mean(y[:15] * unit, f[:15] * unit, f[15:] * unit, target=target, tuning=tuning)
        for unit in (1, scale)
    )
    for what in ("value", "low", "high", "se"):
        assert getattr(other, what) / scale == pytest.approx(getattr(one, what), rel=1e-9)
    assert (other.weight, other.correlation) == pytest.approx((one.weight, one.correlation))
    assert other.gold_only.high / scale == pytest.approx(one.gold_only.high)


def test_infinite_scores_are_named() -> None:
    with pytest.raises(InputError, match="gold_f must hold finite numbers or NaN"):
        ppi_mean([1, 2, 3, 4], [1, 2, 3, np.inf], [1, 2])
    with pytest.raises(InputError, match="completed must hold finite numbers or NaN"):
        joined([1.0], [np.inf], [1.0])


def test_a_single_other_image_is_not_free_of_spread() -> None:
    rng = np.random.default_rng(0)
    y, f = rng.random(10), rng.random(10)
    found = ppi_mean(y, f, [0.4], tuning=0.5)
    variance = np.var(y - 0.5 * f, ddof=1) / 10 + 0.25 * np.var(f, ddof=1)
    assert found.se == pytest.approx(float(np.sqrt(variance)))
