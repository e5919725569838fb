"""The p-values against chance keep their promise: simulations in which nothing is to be found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benchmarks.calibration.nulls import run
from tests.stats.calibrated import check_page

if TYPE_CHECKING:
    from benchmarks.calibration.lines import Line


@pytest.fixture(scope="module")
def lines() -> list[Line]:
    return run(1000, small=True)


def test_every_false_positive_rate_is_within_its_bounds(lines: list[Line]) -> None:
    missed = [line for line in lines if not line.holds]
    assert not missed
    assert sum(line.gated for line in lines) >= 60
    check_page(lines)


def test_the_rates_that_fail_are_told(lines: list[Line]) -> None:
    figures = {(line.what, line.setting): line.figure for line in lines}
    central = "smooth maps and boxes, both central: "
    assert figures["torus shift, p of a data set", f"{central}auc_roc"] > 0.9
    assert figures["pixel permutation, image", f"{central}coverage"] > 0.3
    assert figures["t-test against closed-form chance, data set", f"{central}iou@90"] > 0.5
    assert figures["cross-image mean over closed-form chance", f"{central}iou@90"] > 1.5
    letterboxed = "cross-image, letterboxed among others, p of a data set"
    assert figures[letterboxed, "smooth maps, boxes anywhere: auc_roc"] > 0.5


def test_a_signal_is_found(lines: list[Line]) -> None:
    found = {line.what: line.figure for line in lines if "power" in line.what}
    assert found["cross-image, power, regions × 7.4, p of a data set"] > 0.95
