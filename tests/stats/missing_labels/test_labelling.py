"""Were the labelled instances chosen at random? Against every way to deal the labels out."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from scipy.stats import rankdata

from sightline.core import InputError
from sightline.stats.missing_labels import labelling_looks_random


def slow(values: np.ndarray, labelled: np.ndarray, groups: np.ndarray) -> tuple[float, float]:
    """Return the exact p-value and the mean rank, from all ways to deal labels out."""
    observed, kinds, picked = 0.0, [], []
    for group in np.unique(groups):
        own = groups == group
        size, count = int(own.sum()), int(labelled[own].sum())
        if not 0 < count < size:
            continue
        ranks = rankdata(values[own]) / (size + 1)
        observed += (ranks[labelled[own]] - 0.5).sum()
        picked += list(ranks[labelled[own]])
        kinds.append([sum(ranks[list(c)] - 0.5) for c in combinations(range(size), count)])
    sums = [abs(sum(pick)) >= abs(observed) - 1e-9 for pick in product(*kinds)]
    return float(np.mean(sums)), float(np.mean(picked))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("ties", [True, False])
def test_p_is_that_of_every_way_to_deal(seed: int, ties: bool) -> None:
    rng = np.random.default_rng(seed)
    sizes = np.array([2, 3, 3, 2, 4, 3, 1, 4, 3])
    groups = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    values = rng.integers(0, 3, len(groups)) * 1.0 if ties else rng.random(len(groups))
    labelled = rng.random(len(groups)) < 0.5
    for group in range(6):  # six groups that can tell, at least
        own = np.flatnonzero(groups == group)
        labelled[own[0]], labelled[own[1]] = True, False
    p, mean = slow(values, labelled, groups)
    test = labelling_looks_random(values, labelled, groups, permutations=20_000, seed=seed)
    assert test.p == pytest.approx(p, abs=4 * np.sqrt(p * (1 - p) / 20_000) + 1e-4)
    assert test.statistic == pytest.approx(mean)
    assert test.direction == (
        "larger" if mean > 0.5 + 1e-12 else "smaller" if mean < 0.5 - 1e-12 else ""
    )
    usable = [g for g in range(9) if 0 < labelled[groups == g].sum() < sizes[g]]
    assert (test.groups, test.instances) == (len(usable), sizes[usable].sum())


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_extreme_labels(count: int) -> None:
    """All labels on the largest of five: as rare as it gets."""
    values, groups = np.tile(np.arange(5.0), 8), np.repeat(np.arange(8), 5)
    largest = labelling_looks_random(values, values >= 5 - count, groups, permutations=999)
    smallest = labelling_looks_random(values, values < count, groups, permutations=999)
    assert largest.p == smallest.p == 0.001
    assert (largest.direction, smallest.direction) == ("larger", "smaller")
    assert largest.statistic == pytest.approx(1 - smallest.statistic)


def test_only_the_order_within_groups_matters() -> None:
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(10), 4)
    values, labelled = rng.random(40), np.tile([True, False, False, False], 10)
    first = labelling_looks_random(values, labelled, groups, permutations=199)
    again = labelling_looks_random(values**3 + 10 * groups, labelled, groups, permutations=199)
    named = labelling_looks_random(
        values, labelled, [("a", int(g)) for g in groups], permutations=199
    )
    lists = labelling_looks_random(values, labelled, [[int(g)] for g in groups], permutations=199)
    assert first == again == named == lists
    shuffled = rng.permutation(40)
    other = labelling_looks_random(
        values[shuffled], labelled[shuffled], groups[shuffled], permutations=199
    )
    assert other.statistic == pytest.approx(first.statistic)
    assert other.groups == first.groups


def test_groups_of_one_kind_say_nothing() -> None:
    values = np.tile([1.0, 2.0, 3.0], 7)
    labelled = np.tile([False, False, True], 7)
    groups = np.repeat(np.arange(7), 3)
    test = labelling_looks_random(values, labelled, groups, permutations=99)
    more = labelling_looks_random(
        [*values, 9, 9, 0, 0],
        [*labelled, True, True, False, False],
        [*groups, 7, 7, 8, 8],
        permutations=99,
    )
    assert test == more
    assert test.groups == 7


def test_undefined_values_are_left_out() -> None:
    values = np.tile([1.0, 2.0, np.nan], 7)
    labelled = np.tile([False, True, True], 7)
    groups = np.repeat(np.arange(7), 3)
    test = labelling_looks_random(values, labelled, groups, permutations=99)
    finite = np.isfinite(values)
    assert test == labelling_looks_random(
        values[finite], labelled[finite], groups[finite], permutations=99
    )
    assert test.instances == 14


def test_equal_values_never_differ() -> None:
    test = labelling_looks_random(np.ones(21), np.arange(21) % 3 == 0, np.arange(21) // 3)
    assert (test.p, test.statistic, test.direction) == (1.0, 0.5, "")


def test_too_few_groups() -> None:
    test = labelling_looks_random(np.arange(10.0), np.arange(10) % 2 == 1, np.arange(10) // 2)
    assert np.isnan(test.p)
    assert test.direction == "larger"
    assert test.reason == "too few groups: 5 with labelled and unlabelled instances, needs 6"
    nothing = labelling_looks_random([], [], [])
    assert np.isnan([nothing.p, nothing.statistic]).all()
    assert (nothing.groups, nothing.direction) == (0, "")


def test_memory_stays_bounded_and_bits_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    values, groups = rng.random(60), np.repeat(np.arange(20), 3)
    labelled = np.tile([True, False, False], 20)
    whole = labelling_looks_random(values, labelled, groups, permutations=999)
    assert labelling_looks_random(values, labelled, groups, permutations=999) == whole
    from sightline.stats.missing_labels import random_labelling

    monkeypatch.setattr(random_labelling, "_ROOM", 600)
    assert labelling_looks_random(values, labelled, groups, permutations=999) == whole


def test_what_does_not_fit_is_named() -> None:
    with pytest.raises(InputError, match="one entry for each instance; got 2, 1 and 2"):
        labelling_looks_random([1, 2], [True], ["a", "b"])
    with pytest.raises(InputError, match="permutations must be at least 1; got 0"):
        labelling_looks_random([1], [True], ["a"], permutations=0)


def test_infinite_values_are_named() -> None:
    with pytest.raises(InputError, match="values must hold finite numbers or NaN"):
        labelling_looks_random([np.inf, 1.0], [True, False], [0, 0])


def test_groups_may_be_a_tensor() -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    values, labelled, groups = rng.random(30), np.arange(30) % 3 == 0, np.arange(30) // 3
    found = labelling_looks_random(torch.tensor(values), labelled, torch.tensor(groups))
    assert found == labelling_looks_random(values, labelled, groups)
