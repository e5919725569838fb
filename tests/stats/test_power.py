"""Power of a paired test: against SciPy's noncentral t, and by simulation of the test itself."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from sightline.core import InputError
from sightline.stats import compare_family, compute_detectable_difference, compute_power

Floats = NDArray[np.float64]
ROUNDS = 4000


def make_gaps(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(0.01, 0.05, n)


@pytest.mark.parametrize("n", [6, 12, 30, 139])
@pytest.mark.parametrize("alpha", [0.05, 0.05 / 8])
def test_power_is_that_of_the_noncentral_t(n: int, alpha: float) -> None:
    gaps = make_gaps(n)
    for difference in (-0.03, 0.0, 0.01, 0.05):
        shift = difference / gaps.std(ddof=1) * n**0.5
        most = stats.t.ppf(1 - alpha / 2, n - 1)
        law = stats.nct(n - 1, abs(shift))  # the other sign mirrors both tails
        expected = law.sf(most) + np.nan_to_num(law.cdf(-most))  # SciPy's is NaN where it is 0
        assert compute_power(difference, gaps, alpha=alpha) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("power", [0.5, 0.8, 0.95])
def test_the_detectable_difference_has_the_power_asked_for(power: float) -> None:
    for n in (6, 30, 1000):
        least = compute_detectable_difference(make_gaps(n), power=power)
        assert compute_power(least, make_gaps(n)) == pytest.approx(power, abs=1e-9)
    wider = compute_detectable_difference(3 * make_gaps(30))
    assert wider == pytest.approx(3 * compute_detectable_difference(make_gaps(30)))
    huge = compute_detectable_difference(1e200 * make_gaps(30))
    assert huge == pytest.approx(1e200 * compute_detectable_difference(make_gaps(30)))


@pytest.mark.parametrize("n", [12, 30])
def test_tests_detect_it_in_four_of_five_studies_and_nothing_in_one_of_twenty(n: int) -> None:
    rng = np.random.default_rng([n, 1])
    noise = rng.normal(0, 0.05, (n, ROUNDS))
    # Of studies with a known spread: the true standard deviation decides the power.
    base = np.sqrt((n - 1) / n) * np.where(np.arange(n) % 2, 1.0, -1.0) * 0.05
    least = compute_detectable_difference(base)
    for find_p in (_student, _flip):
        assert (find_p(noise + least) <= 0.05).mean() == pytest.approx(0.8, abs=0.025)
        assert (find_p(noise) <= 0.05).mean() <= 0.07


def _student(gaps: Floats) -> Floats:
    return np.asarray(stats.ttest_1samp(gaps, 0.0).pvalue)


def _flip(gaps: Floats) -> Floats:
    return compare_family(gaps, flips=999).p


def test_what_cannot_be_computed_is_not_a_number() -> None:
    for few in ([0.1] * 5, [0.1, 0.2, math.nan, 0.3, 0.1, 0.0], [0.0] * 9, [0.1] * 9, []):
        assert math.isnan(compute_detectable_difference(few))
        assert math.isnan(compute_power(0.1, few))
    gaps = make_gaps(8)
    assert compute_power(0.05, [*gaps, math.nan]) == compute_power(0.05, gaps)


def test_what_does_not_fit_is_named() -> None:
    gaps = make_gaps(9)
    with pytest.raises(InputError, match="alpha must be between 0 and 1; got 1"):
        compute_power(0.1, gaps, alpha=1)
    with pytest.raises(InputError, match=r"power must be above alpha .* below 1; got"):
        compute_detectable_difference(gaps, power=0.01)
    with pytest.raises(InputError, match="difference must be a finite number; got nan"):
        compute_power(math.nan, gaps)
    with pytest.raises(InputError, match="differences must be a list of numbers"):
        compute_detectable_difference([[0.1]])
