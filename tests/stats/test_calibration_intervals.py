"""Intervals hold the truth as often as they promise, in data whose truth is known."""

from __future__ import annotations

from benchmarks.calibration import intervals
from tests.stats.calibrated import check_page


def test_intervals_hold_the_truth_as_often_as_promised() -> None:
    lines = intervals.run(1000, small=True)
    assert [line for line in lines if not line.holds] == []
    assert sum(line.gated for line in lines) > 40
    check_page(lines)
    methods = [line.note.split(";")[0] for line in lines if line.what == "coverage"]
    assert set(methods) == {"bca", "studentised", "wilson"}
