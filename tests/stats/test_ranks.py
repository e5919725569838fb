"""Ranks of rows are those of SciPy, less their mean."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import rankdata

from sightline.stats import _ranks
from sightline.stats._ranks import centred_ranks


@pytest.mark.parametrize("kinds", [1, 2, 7, 10_000])
@pytest.mark.parametrize("size", [1, 2, 50])
def test_ties_share_their_rank(kinds: int, size: int) -> None:
    values = np.random.default_rng(kinds).integers(0, kinds, (9, size)) / 7
    expected = rankdata(values, axis=1) - (size + 1) / 2
    assert np.array_equal(centred_ranks(values), expected)


def test_parts_make_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(0).integers(0, 5, (11, 6)).astype(float)
    whole = centred_ranks(values)
    monkeypatch.setattr(_ranks, "CHUNK", 12)  # two rows at a time
    assert np.array_equal(centred_ranks(values), whole)
