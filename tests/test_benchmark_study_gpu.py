"""The benchmark of studies on a GPU, rehearsed without one."""

from __future__ import annotations

from dataclasses import replace

import pytest

bench = pytest.importorskip("benchmarks.study_gpu")


def test_a_rehearsal_measures_every_part(capsys: pytest.CaptureFixture[str]) -> None:
    sizes = replace(
        bench.QUICK, batch=2, images=4, decoded=4, resolutions=("grid",), dtypes=("float32",)
    )
    (found,) = bench.run(replace(sizes, seconds=0.0), "cpu", markdown=True)
    assert (found.dtype, found.resolution) == ("float32", "grid")
    assert min(found.forward, found.engine, found.study.rate, found.written.rate) > 0
    assert found.bound < min(found.forward, found.engine)
    # 3 methods of 2 layers: the union has 19 scores a map, and each of 10 boxes has 16.
    assert found.written.images == 4
    assert found.written.scores == found.written.images * 3 * 2 * (19 + 10 * 16)
    assert found.kept.scores == found.written.scores
    assert found.study.scores == 0
    said = capsys.readouterr().out
    assert "1,074 scores an image" in said
    assert "of the forward pass's rate, 70% wanted" in said


def test_the_bound_is_forward_and_engine_one_after_the_other() -> None:
    ran = bench.Ran(50.0, 1, 0, dict.fromkeys(bench.STEPS, 1.0))
    found = bench.Found("bfloat16", 224, 100.0, 100.0, ran, ran, ran, 0)
    assert found.bound == 50
    assert list(bench.verdicts([found])) == [
        "bfloat16 at 224: 100% of the bound, 80% wanted: met",
    ]
    on_grid = replace(found, resolution="grid")
    assert list(bench.verdicts([on_grid])) == [
        "bfloat16 at grid: 50% of the forward pass's rate, 70% wanted: missed",
        "bfloat16 at grid: 50% of the forward pass's rate, scores written, 60% wanted: missed",
    ]
    lines = bench.projection([found])
    assert lines[1] == ["bfloat16, 224, figures", "5.56 h", "0.69 h", "0.09 h"]
