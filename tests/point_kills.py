"""Kills at each point of a write, made by a program of its own, whose forks have no threads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from benchmarks._kill_points import PointResult

ROOT = Path(__file__).parents[1]
CODE = """
import json, sys
from dataclasses import asdict
from pathlib import Path
from benchmarks import _kill_points as points
{before}
results = points.{function}(Path(sys.argv[1]), {count}, seed=0)
print(json.dumps([asdict(result) for result in results]))
"""


def kill_points(
    function: str, folder: Path, *, count: int = 1, before: str = ""
) -> list[PointResult]:
    """Return the results of a function of the benchmark; some code may run before it."""
    code = CODE.format(function=function, count=count, before=before)
    ended = subprocess.run(
        [sys.executable, "-c", code, str(folder / "kills")],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return [PointResult(**record) for record in json.loads(ended.stdout)]


def check_kills(results: list[PointResult], points: tuple[str, ...], count: int = 1) -> None:
    """Check that each point was hit, and that nothing differs afterwards."""
    assert {result.point for result in results} == set(points)
    assert len(results) == len(points)
    for result in results:
        assert result.differences == [], result.point
        assert result.kills == count, result.point
        assert result.compared > 0, result.point
