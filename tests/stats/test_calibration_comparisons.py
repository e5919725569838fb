"""Comparisons find nothing where there is nothing, but for the rate they promise."""

from __future__ import annotations

from benchmarks.calibration import comparisons
from tests.stats.calibrated import check_page


def test_comparisons_keep_their_error_rates() -> None:
    lines = comparisons.run(1000, small=True)
    assert [line for line in lines if not line.holds] == []
    by_name = {(line.what, line.setting): line.figure for line in lines}
    power = {what: figure for (what, _), figure in by_name.items() if what.startswith("power")}
    assert power["power, max-T"] > power["power, Holm"] > 0.05
    check_page(lines)
    naive, honest = (line.figure for line in lines[-2:])
    assert naive > 0.5 > abs(honest)
