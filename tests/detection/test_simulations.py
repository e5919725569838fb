"""Intervals of AP and comparisons of detectors, where the truth is known."""

from __future__ import annotations

from benchmarks.calibration.detection import WORLDS, comparison, coverage
from tests.stats.calibrated import check_page


def test_intervals_hold_the_truth_as_often_as_promised() -> None:
    lines = coverage(WORLDS[2], 200, 500, 1)
    assert [line for line in lines if not line.holds] == []
    assert sum(line.gated for line in lines) >= 3
    figures = {line.what: line.figure for line in lines}
    assert figures["coverage, AP, percentiles"] < figures["coverage, AP"] - 0.03
    assert figures["bias of AP"] > 1.5 * figures["bias of AP in the draws"] > 0
    check_page(lines)


def test_detectors_that_are_alike_seldom_seem_to_differ() -> None:
    lines = comparison(WORLDS[0], 50, 300, 1)
    assert [line for line in lines if not line.holds] == []
    figures = {line.what: line.figure for line in lines}
    names = "power, exchange of detectors", "false positives, exchange of detectors"
    assert figures[names[0]] > figures[names[1]]
    check_page(lines)
