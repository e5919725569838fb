"""Alike lines become neighbours."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest

from sightline.stats._order import leaf_order


@pytest.mark.parametrize("seed", range(3))
def test_groups_stay_together_wherever_they_come(seed: int) -> None:
    rng = np.random.default_rng(seed)
    group = rng.permutation(np.repeat([0, 1, 2], 3))
    alike = np.where(group[:, None] == group, 0.8, 0.1) + rng.uniform(0, 0.05, (9, 9))
    alike = (alike + alike.T) / 2
    np.fill_diagonal(alike, 1)
    ordered = group[leaf_order(alike)]
    assert (np.diff(ordered) != 0).sum() == 2


def test_neighbours_are_as_close_as_the_tree_allows() -> None:
    # Lines 0 and 1 are a branch, 2 and 3 another: 1 and 2 can touch, 0 and 3 stay outside.
    alike = np.array([[1, 0.9, 0.1, 0.0], [0.9, 1, 0.5, 0.2], [0.1, 0.5, 1, 0.8], [0, 0.2, 0.8, 1]])
    trees = [p for p in permutations(range(4)) if {*p[:2]} in ({0, 1}, {2, 3})]
    best = max(trees, key=lambda p: sum(alike[a, b] for a, b in pairwise(p)))
    assert leaf_order(alike).tolist() in (list(best), list(best)[::-1])


def test_what_is_undefined_counts_as_no_relation() -> None:
    alike = np.array([[1, np.nan, 0.9], [np.nan, np.nan, np.nan], [0.9, np.nan, 1]])
    assert leaf_order(alike).tolist() in ([1, 2, 0], [1, 0, 2], [2, 0, 1], [0, 2, 1])
    assert leaf_order(np.ones((2, 2))).tolist() == [0, 1]
    assert leaf_order(np.ones((0, 0))).tolist() == []
