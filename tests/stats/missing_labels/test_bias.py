"""Gold minus sparse on the gold images: what it detects, what it promises, and why it is NaN."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from sightline.core import InputError
from sightline.stats import compare_paired, interval, sign_flip
from sightline.stats.missing_labels import compute_label_bias, joined, ppi_mean

NAN = math.nan


def study(bias: float, n: int = 30, images: int = 120, seed: int = 0) -> tuple[Any, Any]:
    """Return scores that differ far more between images than between labels."""
    rng = np.random.default_rng([seed, 5])
    sparse = rng.beta(2, 6, images)
    gold = sparse + bias + rng.normal(0, 0.03, images)
    return sparse, np.where(np.arange(images) < n, gold, np.nan)


def test_a_bias_is_found_that_lies_inside_the_interval_of_the_mean() -> None:
    old, paired = np.zeros((2, 100))
    for seed in range(100):
        sparse, gold = study(0.02, seed=seed)
        bias = compute_label_bias(sparse, gold)
        four = joined(sparse, sparse, gold)
        paired[seed] = bias.p <= 0.05
        old[seed] = not four.joined.low <= four.sparse.value <= four.joined.high
    assert old.mean() < 0.1
    assert paired.mean() > 0.85


def test_it_is_the_paired_comparison_of_the_gold_images() -> None:
    sparse, gold = study(0.02)
    bias, pair = compute_label_bias(sparse, gold), compare_paired(gold[:30], sparse[:30])
    student = interval(gold[:30] - sparse[:30], method="t")
    assert (bias.difference, bias.low, bias.high) == (student.value, student.low, student.high)
    assert bias.difference == pytest.approx(pair.difference)
    assert (bias.p, bias.n, bias.undefined, bias.reason) == (pair.p, 30, 0, "")
    mirrored = compute_label_bias(gold, np.where(np.isnan(gold), np.nan, sparse))
    assert mirrored.difference == pytest.approx(-bias.difference)
    assert mirrored.p == bias.p
    assert mirrored.detectable == pytest.approx(bias.detectable)


def test_interval_and_test_agree() -> None:
    for seed in range(60):
        bias = compute_label_bias(*study(0.01, n=12 + seed % 20, seed=seed))
        if not 0.03 < bias.p < 0.08:
            assert (bias.p <= 0.05) == (not bias.low <= 0 <= bias.high)


def test_a_smaller_level_makes_the_detectable_bias_larger() -> None:
    sparse, gold = study(0.0)
    one, many = (compute_label_bias(sparse, gold, alpha=0.05 / m) for m in (1, 8))
    assert many.detectable > 1.2 * one.detectable
    assert many.p == one.p
    assert compute_label_bias(sparse, gold, power=0.95).detectable > one.detectable


def make_strata(rng: np.random.Generator, sizes: tuple[int, int], shift: float) -> tuple[Any, ...]:
    """Return a study whose second stratum is larger, drawn from rarely, and biased the other way.

    Without a bias of all images together the strata's biases cancel by their share.
    """
    names = np.repeat(["few", "many"], sizes)
    drawn = np.concatenate([np.arange(size) < 15 for size in sizes])
    apart = np.where(names == "few", 0.03, -0.03 * sizes[0] / sizes[1])
    sparse = rng.beta(2, 6, sum(sizes))
    gold = sparse + shift + apart + rng.normal(0, 0.03, sum(sizes))
    return sparse, np.where(drawn, gold, np.nan), names


def test_strata_count_by_their_share() -> None:
    sparse, gold, names = make_strata(np.random.default_rng(0), (30, 150), 0.02)
    bias = compute_label_bias(sparse, gold, strata=names)
    gaps, chosen = gold - sparse, np.isfinite(gold)
    parts = [gaps[chosen & (names == name)].mean() for name in ("few", "many")]
    assert bias.difference == pytest.approx((parts[0] * 30 + parts[1] * 150) / 180)
    own, rest = gaps[chosen], np.zeros((~chosen).sum())
    mean = ppi_mean(own, own, rest, strata=names[chosen], rest_strata=names[~chosen], tuning=0.0)
    assert (bias.low, bias.high) == pytest.approx((mean.low, mean.high))
    weights = np.where(names[chosen] == "few", 30 / 15, 150 / 15)
    assert bias.p == sign_flip(own * weights)
    same = compute_label_bias(sparse, gold, strata=["all"] * len(sparse))
    assert same.difference == pytest.approx(compute_label_bias(sparse, gold).difference)
    assert same.p == compute_label_bias(sparse, gold).p
    assert same.detectable == pytest.approx(compute_label_bias(sparse, gold).detectable)


def test_errors_with_strata_are_as_rare_as_promised_and_power_as_computed() -> None:
    rates = {}
    for shift in (0.0, 0.02):
        rng = np.random.default_rng(7)
        found = [
            compute_label_bias(*(data := make_strata(rng, (30, 150), shift))[:2], strata=data[2])
            for _ in range(300)
        ]
        rates[shift] = np.mean([one.p <= 0.05 for one in found])
    assert rates[0.0] <= 0.07
    assert np.mean([one.detectable for one in found]) == pytest.approx(0.02, abs=0.001)
    assert rates[0.02] == pytest.approx(0.8, abs=0.07)


def test_why_there_is_none_is_said() -> None:
    sparse, gold = study(0.02, n=5)
    few = compute_label_bias(sparse, gold)
    assert few.reason == "too few gold images: 5, p-values need 6"
    assert math.isnan(few.p)
    assert math.isnan(few.detectable)
    assert few.low < few.difference < few.high
    sparse, gold = study(0.02, n=7)
    many = compute_label_bias(sparse, gold, alpha=0.05 / 8)
    assert many.reason == "too few gold images: 7 cannot give p ≤ 0.0063"
    assert math.isfinite(many.p)
    assert math.isnan(many.detectable)
    equal = compute_label_bias([0.1] * 9, [0.1] * 9)
    assert (equal.difference, equal.p, equal.reason) == (0.0, 1.0, "all differences are equal")
    assert math.isnan(equal.detectable)
    names = ["a"] * 3 + ["b"] * 117
    sparse, gold = study(0.02, n=20)
    apart = compute_label_bias(sparse, gold, strata=names)
    assert apart.reason == "too few gold images: 3 in a stratum of 3 images, needs 4"
    assert np.isnan([apart.difference, apart.low, apart.p, apart.detectable]).all()
    none = compute_label_bias([0.1, 0.2], [NAN, NAN])
    assert (none.n, none.reason) == (0, "too few gold images: 0, p-values need 6")


def test_no_detectable_bias_lies_outside_the_range_of_differences() -> None:
    sparse, gold = [0.0, 0.9, 0.1, 0.8, 0.0, 1.0], [0.9, 0.1, 0.9, 0.0, 0.8, 0.1]
    assert compute_label_bias(sparse, gold).detectable > 1
    bias = compute_label_bias(sparse, gold, limits=(0, 1))
    assert math.isnan(bias.detectable)
    assert bias.reason == "too few gold images: 6, no possible bias is found with 80% power"
    assert bias.p > 0.05


def test_gold_images_without_a_sparse_score_are_counted() -> None:
    sparse, gold = study(0.02)
    sparse[[3, 8]] = np.nan
    sparse[100] = np.nan  # no gold image
    bias = compute_label_bias(sparse, gold)
    assert (bias.n, bias.undefined) == (28, 2)
    split = compute_label_bias(sparse, gold, strata=["a", "b"] * 60)
    assert (split.n, split.undefined) == (28, 2)


def test_what_does_not_fit_is_named() -> None:
    with pytest.raises(InputError, match="one score per image; got 2 and 1"):
        compute_label_bias([0.1, 0.2], [0.1])
    with pytest.raises(InputError, match="one stratum per image; got 1 for 2 images"):
        compute_label_bias([0.1, 0.2], [0.1, NAN], strata=["a"])
