"""What Ray costs on one machine: the same studies by processes of our own and on Ray.

    python -m benchmarks.ray [--quick] [--markdown]

Two studies: many short tasks (maps made elsewhere, one image a task), and longer ones (a shipped
model with six methods on drawn facades, 16 images a task). Each is run in a process of its own with
one worker and with two, on either engine. Seconds are wall clock from the plan on: until the first
task is stored, and from there until the last; of two rounds the faster counts. The digests of all
results must be equal.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from argparse import RawDescriptionHelpFormatter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.maps import ONE_THREAD, machine, progress, table

if TYPE_CHECKING:
    from sightline.study import Study

ENGINES = ("local", "ray")
WORKERS = (1, 2)
STUDIES = {"short tasks": 400, "long tasks": 128}  # images
ROUNDS = 2


def study_of(kind: str, images: int, folder: Path) -> Study:
    """Return a study; its files are written where they are missing."""
    if kind == "short tasks":
        from tests.study.executors.studies import given_study

        return given_study(folder, images=images, methods="a", batch=1)
    from sightline.study import Study

    methods = ["cls", "rollout", "gradcam", "mean", "random", "centre"]
    facades = {"name": "facades", "count": images, "seed": 1}
    return Study.from_dict(
        {"name": "looks", "data": facades, "models": "demo/vit", "methods": methods}
    )


def run_one(kind: str, images: int, engine: str, workers: int, folder: Path) -> dict[str, Any]:
    """Run a study, and return its seconds and its digest."""
    from sightline.results.digest import results_digest
    from sightline.study import Run, Watch, run_study

    class Clock(Watch):
        times: list[float]

        def planned(self, run: Run) -> None:
            self.times = [time.perf_counter()]

        def moved(self, run: Run) -> None:
            self.times.append(time.perf_counter())

    clock, study = Clock(), study_of(kind, images, folder / kind)
    asked = study.model_copy(update={"engine": study.engine.model_copy(update={"kind": engine})})
    with tempfile.TemporaryDirectory() as out:
        run = run_study(asked, out, workers=workers, watch=clock)
        ended = time.perf_counter()
        planned, first, *_, last = clock.times
        return {
            "first": first - planned,
            "rest": last - first,
            "end": ended - last,
            "tasks": run.tasks,
            "digest": results_digest(run.store.path),
        }


def ask(*words: object) -> dict[str, Any]:
    """Run one study in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.ray", "--one", *map(str, words)],
        env=os.environ | ONE_THREAD,
        cwd=Path(__file__).parents[1],
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def lines(quick: bool) -> list[list[str]]:
    rows = [["study", "engine", "workers", "start s", "tasks s", "end s", "all s", "ms a task"]]
    with tempfile.TemporaryDirectory() as folder:
        for kind, images in STUDIES.items():
            digests = set()
            for engine in ENGINES:
                for workers in WORKERS:
                    progress(f"{kind}, {engine}, {workers} workers")
                    some = [
                        ask(kind, images // 4 if quick else images, engine, workers, folder)
                        for _ in range(1 if quick else ROUNDS)
                    ]
                    best = min(some, key=lambda one: one["first"] + one["rest"] + one["end"])
                    digests |= {one["digest"] for one in some}
                    parts = [best["first"], best["rest"], best["end"]]
                    each = 1000 * best["rest"] / (best["tasks"] - 1)
                    cells = [f"{seconds:.1f}" for seconds in (*parts, sum(parts))]
                    name = f"{kind}, {best['tasks']}"
                    rows.append([name, engine, str(workers), *cells, f"{each:.0f}"])
            if len(digests) != 1:
                raise SystemExit(f"{kind}: results differ: {digests}")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--quick", action="store_true", help="a quarter of the images, one round")
    parser.add_argument("--markdown", action="store_true", help="print a table for the docs")
    parser.add_argument("--one", nargs=5, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        kind, images, engine, workers, folder = asked.one
        print(json.dumps(run_one(kind, int(images), engine, int(workers), Path(folder))))
        return
    found = lines(asked.quick)
    print(f"{machine()}, load {os.getloadavg()[0]:.1f}\n")
    print(table(found, markdown=asked.markdown))
    print("\nThe digests of all results of a study are equal.")


if __name__ == "__main__":
    main()
