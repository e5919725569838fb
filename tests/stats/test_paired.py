"""Comparisons on the same images: against enumeration, SciPy, and each other."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sightline.core import InputError
from sightline.stats.confidence import interval
from sightline.stats.corrections import benjamini_hochberg, holm
from sightline.stats.paired_tests import (
    compare_family,
    compare_paired,
    effect_size,
    max_t_pvalues,
    sign_flip,
    wilcoxon,
)
from tests.reference import statistics as reference

NAN = float("nan")


@given(st.lists(st.integers(-4, 4).map(lambda k: k / 10), min_size=6, max_size=10))
def test_few_images_count_every_pattern(differences: list[float]) -> None:
    assert sign_flip(differences) == pytest.approx(reference.sign_flip(differences))


def test_sign_flip_is_the_permutation_test_of_scipy() -> None:
    rng = np.random.default_rng(0)
    differences = rng.normal(0.2, 1, 12)
    theirs = stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=2**12
    ).pvalue
    assert sign_flip(differences) == pytest.approx(theirs)


def test_drawn_patterns_come_near_to_all_of_them() -> None:
    rng = np.random.default_rng(1)
    for shift in (0.0, 0.3, 0.6):
        differences = rng.normal(shift, 1, 12)
        exact, drawn = sign_flip(differences), sign_flip(differences, flips=3999, seed=5)
        assert drawn == pytest.approx(exact, abs=4 * math.sqrt(exact / 3999) + 1e-3)
        assert (drawn * 4000) % 1 == pytest.approx(0, abs=1e-6) or drawn == 1


def test_the_identity_is_counted() -> None:
    differences = np.full(200, 0.1)
    assert sign_flip(differences, flips=999) == 1 / 1000
    assert sign_flip(differences, flips=1) == 1 / 2
    assert sign_flip(np.full(10, 0.1)) == 2 / 2**10  # and its mirror image


def test_ties_are_ties_in_spite_of_rounding() -> None:
    # 0.1 + 0.2 − 0.3 and the like are not quite 0.
    differences = [0.1, 0.2, -0.3, 0.1, 0.2, -0.3]
    assert sign_flip(differences) == 1
    scaled = [1e-7 * d for d in differences]
    assert sign_flip(scaled) == 1
    assert sign_flip([0.0] * 8) == 1


@pytest.mark.parametrize("n", [8, 60])
def test_the_sign_and_the_unit_do_not_matter(n: int) -> None:
    differences = np.random.default_rng(0).normal(0.3, 1, n)
    expected = sign_flip(differences)
    assert sign_flip(-differences) == expected
    assert sign_flip(1000 * differences) == expected
    assert wilcoxon(-differences) == wilcoxon(differences) == wilcoxon(1000 * differences)


def test_undefined_differences_are_left_out() -> None:
    differences = np.random.default_rng(0).normal(0.3, 1, 30)
    gaps = np.insert(differences, [0, 7, 30], NAN)
    assert sign_flip(gaps) == sign_flip(differences)
    assert wilcoxon(gaps) == wilcoxon(differences)
    assert effect_size(gaps) == effect_size(differences)


@pytest.mark.parametrize("test", [sign_flip, wilcoxon])
def test_below_six_images_there_is_no_p_value(test: Any) -> None:
    assert math.isnan(test([1.0, 2.0, 3.0, 4.0, 5.0]))
    assert math.isnan(test([1.0, 2.0, 3.0, 4.0, 5.0, NAN]))
    assert math.isnan(test([1.0] * 50, images=[0, 1, 2, 3, 4] * 10))
    assert math.isnan(test([]))
    assert test([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]) == 2 / 64


def test_differences_of_one_image_flip_together() -> None:
    rng = np.random.default_rng(0)
    images = rng.integers(0, 9, 60)
    values = rng.normal(0.2, 1, 60)
    sums = [float(values[images == i].sum()) for i in range(9)]
    means = [float(values[images == i].mean()) for i in range(9)]
    assert sign_flip(values, images=images) == pytest.approx(reference.sign_flip(sums))
    assert wilcoxon(values, images=images) == wilcoxon(means)
    gaps, labels = np.append(values, [NAN, NAN]), [*images, 3, 99]
    assert sign_flip(gaps, images=labels) == sign_flip(values, images=images)
    assert wilcoxon(gaps, images=labels) == wilcoxon(means)


@pytest.mark.parametrize("n", [6, 13, 30, 50, 51, 200])
def test_wilcoxon_is_that_of_scipy_without_ties(n: int) -> None:
    values = np.random.default_rng(n).normal(0.2, 1, n)
    method: Any = "exact" if n <= 50 else "asymptotic"
    assert wilcoxon(values) == pytest.approx(stats.wilcoxon(values, method=method).pvalue)


def test_wilcoxon_of_many_images_with_zeros_is_that_of_pratt() -> None:
    values = np.random.default_rng(200).integers(-2, 4, 200) / 10
    method: Any = "asymptotic"
    expected = stats.wilcoxon(values, zero_method="pratt", method=method).pvalue
    assert wilcoxon(values) == pytest.approx(expected)


def pratt_ranks(values: Any) -> Any:
    return np.sign(values) * stats.rankdata(np.abs(values))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("zeros", [0, 3, 60])
def test_wilcoxon_with_ties_counts_every_pattern(seed: int, zeros: int) -> None:
    values = np.random.default_rng(seed).integers(-2, 4, 9) / 10
    values[0] = 0.3
    ranks = pratt_ranks(np.append(values, np.zeros(zeros)))
    expected = reference.sign_flip(ranks[ranks != 0].tolist())
    assert wilcoxon(np.append(values, np.zeros(zeros))) == pytest.approx(expected)


@pytest.mark.parametrize("n", [16, 45])
def test_wilcoxon_with_ties_is_the_permutation_of_ranks(n: int) -> None:
    values = np.random.default_rng(n).integers(-3, 5, n) / 10
    drawn = sign_flip(pratt_ranks(values), flips=99_999)
    assert wilcoxon(values) == pytest.approx(drawn, abs=0.006)


def test_wilcoxon_of_a_few_hits_among_zeros_is_a_sign_test() -> None:
    for count, p in ((1, 1.0), (3, 0.25), (4, 0.125), (5, 0.0625), (6, 0.03125)):
        assert wilcoxon([1.0] * count + [0.0] * 40) == p
    hits = [1.0] * 12 + [-1.0] * 4 + [0.0] * 20
    assert wilcoxon(hits) == pytest.approx(stats.binomtest(12, 16).pvalue)


def test_wilcoxon_sees_ties_in_spite_of_rounding() -> None:
    noisy = [0.1 + 0.2, 0.3, 0.7 - 0.4, -0.3, -(0.1 + 0.2), 0.2, 0.2, 1e-17]
    plain = [0.3, 0.3, 0.3, -0.3, -0.3, 0.2, 0.2, 0.0]
    assert wilcoxon(noisy) == wilcoxon(plain)
    assert wilcoxon([0.0] * 6) == wilcoxon([0.0] * 60) == 1
    values = np.random.default_rng(0).normal(0.3, 1, 20)
    values[:5] = 0
    assert wilcoxon(values + 1e-17 * (values == 0)) == wilcoxon(values)


def test_one_zero_is_enough_for_the_handling_of_zeros() -> None:
    values = np.append(np.random.default_rng(0).normal(0.3, 1, 19), 0)
    drawn = sign_flip(pratt_ranks(values), flips=99_999)
    assert wilcoxon(values) == pytest.approx(drawn, abs=0.006)


def test_effect_sizes() -> None:
    values = np.random.default_rng(0).normal(0.4, 1, 25)
    values[:3] = 0
    found = effect_size(values)
    some = values[values != 0]
    ranks = stats.rankdata(np.abs(some))
    for_, against = ranks[some > 0].sum(), ranks[some < 0].sum()
    assert found.dz == pytest.approx(values.mean() / values.std(ddof=1))
    assert found.rank_biserial == pytest.approx((for_ - against) / (for_ + against))
    assert effect_size(-values) == pytest.approx((-found.dz, -found.rank_biserial))
    assert effect_size([0.1, 0.2, 0.3]).rank_biserial == 1
    assert effect_size([0.0, 0.0]) == (0, 0)
    assert math.isnan(effect_size([0.1 + 0.2, 0.3]).dz)
    assert effect_size([0.3, 0.3]).rank_biserial == 1
    assert np.isnan(effect_size([])).all()
    assert math.isnan(effect_size([0.5]).dz)


def test_a_comparison_holds_together() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.random(40), rng.random(40)
    b[:4] = a[:4] + 1e-12
    a[5], b[[5, 6]] = NAN, NAN
    found = compare_paired(a, b, seed=3)
    gaps = np.delete(a - b, [5, 6])
    gaps[np.abs(gaps) < 1e-9] = 0
    span = interval(gaps, seed=3)
    assert (found.n, found.undefined) == (38, 2)
    assert found.value_a == pytest.approx(np.delete(a, [5, 6]).mean())
    assert found.value_b == pytest.approx(np.delete(b, [5, 6]).mean())
    assert found.difference == pytest.approx(found.value_a - found.value_b)
    assert (found.low, found.high) == (span.low, span.high)
    assert found.p == sign_flip(gaps, seed=3)
    assert found.p_wilcoxon == wilcoxon(gaps)
    assert (found.dz, found.rank_biserial) == effect_size(gaps)
    assert found.better == pytest.approx((gaps > 0).mean())
    assert found.equal == pytest.approx(4 / 38)
    assert found.worse == pytest.approx((gaps < 0).mean())
    assert found.reason == ""


def test_turning_a_comparison_around_turns_its_signs() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.beta(2, 5, 30), rng.beta(1, 5, 30)
    one, other = compare_paired(a, b), compare_paired(b, a)
    assert one.difference > 0
    assert other.difference == pytest.approx(-one.difference)
    assert (other.low, other.high) == pytest.approx((-one.high, -one.low), rel=1e-9)
    assert (other.p, other.p_wilcoxon) == (one.p, one.p_wilcoxon)
    assert (other.dz, other.rank_biserial) == pytest.approx((-one.dz, -one.rank_biserial))
    assert (other.better, other.worse) == (one.worse, one.better)


def test_sides_that_differ_by_noise_are_equal() -> None:
    a = np.random.default_rng(0).random(20)
    found = compare_paired(a, a + 1e-14 * np.sign(a - 0.3))
    assert (found.p, found.p_wilcoxon, found.equal) == (1, 1, 1)
    assert found.difference == found.low == found.high == found.dz == 0


def test_a_comparison_of_regions_is_clustered() -> None:
    rng = np.random.default_rng(0)
    images = np.repeat(np.arange(12), rng.integers(1, 9, 12))
    a, b = rng.random(len(images)), rng.random(len(images))
    a[2] = NAN
    found = compare_paired(a, b, images=images)
    gaps = a - b
    means = np.array([np.nanmean(gaps[images == i]) for i in range(12)])
    span = interval(gaps, images=images)
    assert (found.n, found.undefined) == (12, 1)
    assert found.difference == pytest.approx(np.nanmean(gaps))
    assert (found.low, found.high) == (span.low, span.high)
    assert found.p == sign_flip(gaps, images=images)
    assert found.p_wilcoxon == wilcoxon(gaps, images=images)
    assert (found.dz, found.rank_biserial) == pytest.approx(effect_size(means))
    assert found.better == pytest.approx((means > 0).mean())


def test_a_comparison_of_few_images_says_so() -> None:
    found = compare_paired([0.1, 0.2, 0.4], [0.2, 0.1, NAN])
    assert found.reason == "too few images: 2, p-values need 6"
    assert np.isnan([found.p, found.p_wilcoxon, found.low, found.high]).all()
    nothing = compare_paired([], [])
    assert nothing.n == 0
    assert np.isnan([nothing.difference, nothing.value_a, nothing.better, nothing.low]).all()


def test_a_family_is_its_members() -> None:
    rng = np.random.default_rng(0)
    for n in (9, 40):
        table = rng.normal(0.3, 1, (n, 5))
        found = compare_family(table, seed=2)
        expected = [sign_flip(column, seed=2) for column in table.T]
        np.testing.assert_array_equal(found.p, expected)
        np.testing.assert_allclose(found.difference, table.mean(axis=0))
        np.testing.assert_array_equal(found.holm, holm(found.p))
        np.testing.assert_array_equal(found.bh, benjamini_hochberg(found.p))
        assert (found.max_t >= found.p - 1e-12).all()
        assert (found.n == n).all()


@pytest.mark.parametrize("seed", range(4))
def test_max_t_is_the_step_down_method(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = rng.normal(0.4, 1, (8, 4)) * [1, 10, 0.1, 3]
    table[:, 2] = np.round(table[:, 2], 1)
    np.testing.assert_allclose(compare_family(table).max_t, reference.step_down(table))


def test_one_comparison_needs_no_correction() -> None:
    found = compare_family(np.random.default_rng(0).normal(0.3, 1, (30, 1)))
    assert found.p == found.holm == found.bh == found.max_t


def test_copies_of_a_comparison_cost_nothing_under_max_t() -> None:
    column = np.random.default_rng(0).normal(0.4, 1, (30, 1))
    one, many = compare_family(column), compare_family(np.repeat(column, 20, axis=1))
    np.testing.assert_array_equal(many.max_t, np.repeat(one.p, 20))
    assert (many.holm > many.max_t).all()


def test_a_family_with_gaps() -> None:
    rng = np.random.default_rng(0)
    table = rng.normal(0.5, 1, (30, 6))
    table[:10, 1] = NAN
    table[5:, 2] = NAN  # five images
    table[:, 3] = NAN
    table[:, 4] = 0
    table[7] = NAN
    found = compare_family(table)
    np.testing.assert_array_equal(found.n, [29, 20, 5, 0, 29, 29])
    np.testing.assert_array_equal(found.undefined, 30 - found.n)
    for values in (found.p, found.holm, found.bh, found.max_t):
        np.testing.assert_array_equal(np.isnan(values), [0, 0, 1, 1, 0, 0])
        assert values[4] == 1
    np.testing.assert_allclose(found.difference[:3], np.nanmean(table[:, :3], axis=0))
    assert math.isnan(found.difference[3])
    kept = compare_family(np.delete(table, [2, 3], axis=1))
    np.testing.assert_array_equal(found.max_t[[0, 1, 4, 5]], kept.max_t)
    assert found.p[0] == sign_flip(table[:, 0])


def test_a_family_with_nothing_to_test() -> None:
    found = compare_family(np.full((10, 2), NAN))
    assert np.isnan(found.p).all()
    assert compare_family(np.zeros((10, 0))).p.shape == (0,)


def slow_max_t(observed: np.ndarray, draws: np.ndarray, two_sided: bool) -> list[float]:
    every = np.column_stack([observed, draws])
    every = (every - every.mean(axis=1, keepdims=True)) / every.std(axis=1, keepdims=True)
    every = np.abs(every) if two_sided else every
    order = np.argsort(-every[:, 0])
    found, worst = [0.0] * len(every), 0.0
    for place, line in enumerate(order):
        left = order[place:]
        reached = [every[left, b].max() >= every[line, 0] - 1e-9 for b in range(every.shape[1])]
        worst = max(worst, sum(reached) / len(reached))
        found[line] = worst
    return found


@pytest.mark.parametrize("two_sided", [False, True])
def test_max_t_of_draws(two_sided: bool) -> None:
    rng = np.random.default_rng(0)
    draws = rng.normal(size=(5, 99)) * [[1], [100], [0.01], [1], [5]] + [[0], [7], [0], [3], [0]]
    observed = draws[:, :5].diagonal() + draws.std(axis=1) * [3, 0, -4, 0.5, 2]
    found = max_t_pvalues(observed, draws, two_sided=two_sided)
    np.testing.assert_allclose(found, slow_max_t(observed, draws, two_sided))
    assert (found >= 1 / 100).all()
    single = max_t_pvalues(observed[:1], draws[:1], two_sided=False)
    assert single == (1 + (draws[0] >= observed[0] - 1e-9).sum()) / 100


def test_max_t_of_lines_without_spread_or_value() -> None:
    rng = np.random.default_rng(0)
    draws = rng.normal(size=(4, 99))
    draws[1] = 0.3
    draws[2, 5] = NAN
    for value in (5.0, -0.5):  # lines that do not count change nothing
        found = max_t_pvalues([value, 0.1 + 0.2, 9.0, NAN], draws)
        assert found[1] == 1
        assert np.isnan(found[2:]).all()
        assert found[0] == max_t_pvalues([value], draws[:1])[0] < 1
    assert max_t_pvalues([5.0], draws[:1])[0] == 0.01
    assert max_t_pvalues([0.3], draws[1:2])[0] == 1
    assert np.isnan(max_t_pvalues([NAN], [[1.0, 2.0]])).all()


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
def test_any_unit_gives_the_same_figures(scale: float) -> None:
    rng = np.random.default_rng(0)
    table = rng.normal(0.4, 1, (30, 4))
    column, draws = table[:, 0], rng.normal(size=(4, 99))
    for what in ("p", "holm", "bh", "max_t"):
        one, other = (getattr(compare_family(table * unit), what) for unit in (1, scale))
        np.testing.assert_array_equal(one, other)
    assert sign_flip(column * scale) == sign_flip(column)
    assert wilcoxon(column * scale) == wilcoxon(column)
    assert effect_size(column * scale) == pytest.approx(effect_size(column))
    for two_sided in (False, True):
        np.testing.assert_array_equal(
            max_t_pvalues(column[:4] * scale, draws * scale, two_sided=two_sided),
            max_t_pvalues(column[:4], draws, two_sided=two_sided),
        )


def test_labels_may_be_a_tensor_or_an_array() -> None:
    torch = pytest.importorskip("torch")
    values, labels = np.random.default_rng(0).normal(0.3, 1, 30), np.arange(30) // 3
    pairs = np.stack([labels, labels], axis=1)
    for images in (labels, torch.tensor(labels), list(torch.tensor(labels)), pairs):
        assert sign_flip(values, images=images) == sign_flip(values, images=labels.tolist())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sign_flip([[1.0]]), "differences must be a list of numbers; got 1×1"),
        (lambda: sign_flip([np.inf] * 6), "differences must hold finite numbers or NaN"),
        (lambda: sign_flip([1.0, 2.0], images=[0]), "one for each of 2 differences; got 1"),
        (lambda: sign_flip([1.0] * 9, flips=0), "flips must be at least 1; got 0"),
        (lambda: compare_paired([1.0], [1.0, 2.0]), "the same length; got 1 and 2"),
        (lambda: compare_paired([1.0, np.inf], [1.0, 2.0]), "a must hold finite numbers"),
        (lambda: compare_paired([1.0], [[2.0]]), "b must be a list of numbers"),
        (lambda: compare_paired([1.0], [2.0], images=[1, 2]), "images must name one"),
        (lambda: compare_family([1.0]), "images × comparisons; got 1"),
        (lambda: compare_family([[np.inf]]), "differences must hold finite numbers"),
        (lambda: max_t_pvalues([1.0], [[1.0], [2.0]]), "draws must be 1 lines × draws; got 2×1"),
        (lambda: max_t_pvalues([1.0], [1.0]), "draws must be 1 lines × draws; got 1"),
    ],
)
def test_what_does_not_fit_is_named(call: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()
