"""The benchmark of statistics runs; no time is asserted."""

from __future__ import annotations

from benchmarks.statistics import measure, measure_nulls, table


def test_the_benchmark_runs_and_prints_a_line_for_each_timing() -> None:
    found = measure(images=20, columns=30, few=2, resamples=100)
    assert {t.columns for t in found} == {30, 2, 1}
    assert all(t.seconds > 0 and t.each > 0 for t in found)
    found += measure_nulls(images=6, sizes=(4,))
    assert len(found) == 8
    assert len(table(found).splitlines()) == 2 + len(found)
