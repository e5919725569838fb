"""Reliability curves against slow loops."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.core import InputError
from sightline.detection.calibration import reliability_curve
from tests.detection import detected
from tests.reference import detection as slow

SCORES = st.one_of(st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.7, 1.0]), st.floats(0, 1))


@given(st.lists(st.tuples(SCORES, st.booleans()), min_size=1, max_size=20), st.integers(1, 12))
def test_equals_slow_loops(rows: list[Any], bins: int) -> None:
    scores, correct = [row[0] for row in rows], [row[1] for row in rows]
    found = reliability_curve(scores, correct, bins=bins)
    assert found.ece == pytest.approx(slow.calibration_error(scores, correct, bins), abs=1e-12)
    assert found.count.sum() == len(rows)
    assert found.ece <= found.mce + 1e-12
    assert np.isnan(found.precision[found.count == 0]).all()
    mass = reliability_curve(scores, correct, bins=bins, binning="mass")
    assert mass.count.sum() == len(rows)
    assert (np.diff(mass.edges) > 0).all()
    assert len(mass.count) <= bins
    assert mass.count.min() > 0
    shares = sorted(scores.count(score) for score in set(scores))
    assert mass.count.max() <= -(-len(rows) // bins) + 2 * shares[-1]


def test_bins_of_equal_mass() -> None:
    scores = np.linspace(0.5, 0.98, 100)
    found = reliability_curve(scores, scores > 0.7, bins=4, binning="mass")
    assert found.count.min() >= 24
    assert found.count.max() <= 26


def test_bins_of_equal_mass_keep_equal_scores_together() -> None:
    half = reliability_curve([0.5, 0.5, 1.0, 1.0], [0, 1, 1, 1], bins=2, binning="mass")
    assert (half.edges.tolist(), half.count.tolist()) == ([0.0, 0.75, 1.0], [2, 2])
    assert (half.ece, half.mce) == (0.0, 0.0)
    one = reliability_curve([0.3] * 5, [True] * 5, bins=4, binning="mass")
    assert (one.edges.tolist(), one.count.tolist()) == ([0.0, 1.0], [5])
    three = reliability_curve([0.1, 0.2, 0.2, 0.2, 0.9], [1] * 5, bins=3, binning="mass")
    assert three.count.tolist() == [1, 4]


def test_calibrated_scores_have_a_small_error() -> None:
    rng = np.random.default_rng(0)
    scores = rng.random(20_000)
    assert reliability_curve(scores, rng.random(20_000) < scores).ece < 0.02
    assert reliability_curve(scores, rng.random(20_000) < scores**2).ece > 0.1


def test_nothing_is_undefined() -> None:
    found = reliability_curve([], [])
    assert math.isnan(found.ece)
    assert math.isnan(found.mce)
    assert math.isnan(reliability_curve([], [], binning="mass").ece)


def test_errors_name_what_is_wrong() -> None:
    with pytest.raises(InputError, match=r"got 1\.5"):
        reliability_curve([1.5], [True])
    with pytest.raises(InputError, match="got nan"):
        reliability_curve([math.nan], [True])
    with pytest.raises(InputError, match="one length"):
        reliability_curve([0.5], [])
    for bins in (0, 2.5, True, None):
        with pytest.raises(InputError, match="bins must be a whole number"):
            reliability_curve([], [], bins=bins)  # type: ignore[arg-type]
    for wrong in (-1, 0.5, 2):
        with pytest.raises(InputError, match="correct must be true or false"):
            reliability_curve([0.5], [wrong])
    with pytest.raises(InputError, match="scores must be numbers; got"):
        reliability_curve(["a"], [True])
    with pytest.raises(InputError, match="binning"):
        reliability_curve([], [], binning="size")  # type: ignore[arg-type]


def test_a_score_on_an_edge_belongs_to_the_bin_above() -> None:
    found = reliability_curve([0.0, 0.3, 0.6, 1.0], [1, 0, 1, 1])
    assert found.count.tolist() == [1, 0, 0, 1, 0, 0, 1, 0, 0, 1]
    assert found.mce == 1.0


def test_inputs_of_any_kind_stay_as_they_are() -> None:
    scores, correct = detected.fixed([0.25, 0.75]), detected.fixed([False, True])
    for binning in ("width", "mass"):
        assert reliability_curve(scores, correct, bins=2, binning=binning).ece == 0.25
    torch = pytest.importorskip("torch")
    whole: Any = np.int64(2)
    assert reliability_curve(iter([0.25, 0.75]), [False, True], bins=whole).ece == 0.25
    tensors = torch.tensor([0.25, 0.75], requires_grad=True), torch.tensor([False, True])
    assert reliability_curve(*tensors, bins=2).ece == 0.25
