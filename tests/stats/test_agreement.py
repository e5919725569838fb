"""Krippendorff's alpha, against published figures and the definition written out."""

from __future__ import annotations

from itertools import permutations
from math import isnan, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sightline.core import InputError
from sightline.stats import krippendorff_alpha

# Krippendorff (2011), section C: four observers, twelve units.
WORKED = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, nan, nan, nan],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, nan, 3],
    [nan, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, nan],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, nan],
]
# The same paper, section A: two observers, binary; and section B: two observers, nominal.
BINARY = [[0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]]
NOMINAL = [list(map(ord, "aabbdcccedda")), list(map(ord, "babbbccceddd"))]
LEVELS = ("nominal", "ordinal", "interval")


def by_definition(table: np.ndarray[Any, Any], level: str) -> float:
    """Return alpha from the matrix of coincidences, pair by pair."""
    values = sorted({v for v in table.ravel() if not isnan(v)})
    seen: dict[tuple[float, float], float] = {(a, b): 0.0 for a in values for b in values}
    for unit in table.T:
        said = [v for v in unit if not isnan(v)]
        if len(said) > 1:
            for a, b in permutations(range(len(said)), 2):
                seen[said[a], said[b]] += 1 / (len(said) - 1)
    often = {a: sum(seen[a, b] for b in values) for a in values}
    n = sum(often.values())

    def differ(a: float, b: float) -> float:
        if level == "nominal":
            return float(a != b)
        if level == "interval":
            return (a - b) ** 2
        low, high = min(a, b), max(a, b)
        between = sum(often[v] for v in values if low <= v <= high)
        return (between - (often[a] + often[b]) / 2) ** 2

    observed = sum(seen[a, b] * differ(a, b) for a in values for b in values)
    expected = sum(often[a] * often[b] * differ(a, b) for a in values for b in values)
    return 1 - (n - 1) * observed / expected if expected else nan


@pytest.mark.parametrize(
    ("ratings", "level", "published"),
    [
        (WORKED, "nominal", 0.743),
        (WORKED, "ordinal", 0.815),
        (WORKED, "interval", 0.849),
        (BINARY, "nominal", 0.095),
        (NOMINAL, "nominal", 0.692),
    ],
)
def test_published_figures(ratings: Any, level: Any, published: float) -> None:
    found = krippendorff_alpha(ratings, level=level)
    assert found.value == pytest.approx(published, abs=0.0005)
    assert found.low < found.value < found.high
    assert found.reason == ""


def test_what_counts_is_counted() -> None:
    found = krippendorff_alpha(WORKED, level="ordinal")
    assert (found.units, found.ratings, found.raters) == (11, 40, 4)  # unit 12 has one rating


@settings(max_examples=60, deadline=None)
@given(
    table=hnp.arrays(
        np.float64,
        st.tuples(st.integers(2, 4), st.integers(1, 7)),
        elements=st.sampled_from([nan, 1.0, 2.0, 3.0, 4.5, -7.0]),
    ),
    level=st.sampled_from(LEVELS),
)
def test_the_definition_written_out(table: np.ndarray[Any, Any], level: Any) -> None:
    expected = by_definition(table, level)
    found = krippendorff_alpha(table, level=level, resamples=20)
    assert found.value == pytest.approx(expected, abs=1e-12, nan_ok=True)
    assert isnan(found.value) == (found.reason in ("no unit was judged by two people", EQUAL))
    for order in (table[::-1], table[:, ::-1]):  # who and what come first does not matter
        again = krippendorff_alpha(order, level=level, resamples=1)
        assert again.value == pytest.approx(expected, abs=1e-12, nan_ok=True)


EQUAL = "all judgements are equal"


@pytest.mark.parametrize("level", LEVELS)
def test_what_is_undefined_says_why(level: Any) -> None:
    for ratings, reason in (
        ([[1, nan], [nan, 2]], "no unit was judged by two people"),
        ([[2, 2, 2], [2, 2, nan]], EQUAL),
        (np.empty((0, 0)), "no unit was judged by two people"),
    ):
        found = krippendorff_alpha(ratings, level=level)
        assert isnan(found.value)
        assert isnan(found.low)
        assert found.reason == reason
    one = krippendorff_alpha([[1], [2]], level=level)
    assert one.value == pytest.approx(0.0)
    few = krippendorff_alpha([[1, 2, 1, 2], [2, 1, 1, 2]], level=level)
    for found in (one, few):
        assert isnan(found.high)
        assert f"{found.units}, an interval needs 5" in found.reason
    few = krippendorff_alpha([[1, 1, 1, 1, 2]] * 2, level=level)  # one unit differs
    assert few.value == 1
    assert isnan(few.low)
    assert few.reason == "32% of the resamples have no alpha: too few units differ"


def test_scales_do_not_matter_where_they_should_not() -> None:
    table = np.array(WORKED)
    stretched = np.where(table == 5, 1000, table)
    for level in ("nominal", "ordinal"):
        a = krippendorff_alpha(table, level=level)
        assert krippendorff_alpha(stretched, level=level) == a
    moved = krippendorff_alpha(table * 3e8 + 1e9, level="interval").value
    assert moved == pytest.approx(krippendorff_alpha(table, level="interval").value)


def test_the_interval_covers_the_true_value() -> None:
    """Raters of a known reliability: the interval holds the alpha of very many units."""

    def rated(rng: np.random.Generator, units: int) -> np.ndarray[Any, Any]:
        truth = rng.normal(size=units)
        noisy = truth + rng.normal(scale=0.8, size=(3, units))
        return np.clip(np.round(noisy + 3), 1, 5)

    truth = krippendorff_alpha(
        rated(np.random.default_rng(1), 200_000), level="ordinal", resamples=1
    ).value
    held = 0
    for seed in range(200):
        found = krippendorff_alpha(
            rated(np.random.default_rng([2, seed]), 40), level="ordinal", resamples=400, seed=seed
        )
        held += found.low <= truth <= found.high
    assert 0.87 <= held / 200 <= 0.99  # of 0.95; a quantile bootstrap is a little too short


def test_the_same_seed_gives_the_same_bits() -> None:
    assert krippendorff_alpha(WORKED, seed=3) == krippendorff_alpha(WORKED, seed=3)
    assert (
        krippendorff_alpha(WORKED, seed=3).low
        != krippendorff_alpha(WORKED, seed=4, confidence=0.9).low
    )


@pytest.mark.parametrize(
    ("ratings", "options", "said"),
    [
        ([1, 2], {}, r"table \(raters, units\)"),
        ([[1, np.inf]], {}, "finite"),
        (
            WORKED,
            {"level": "ratio"},
            "level must be one of nominal, ordinal, interval; got 'ratio'",
        ),
        (WORKED, {"confidence": 1}, "confidence"),
        (WORKED, {"resamples": 0}, "resamples"),
    ],
)
def test_what_does_not_fit_is_named(ratings: Any, options: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        krippendorff_alpha(ratings, **options)
