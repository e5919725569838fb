"""Studies at scale: cost and memory by the number of images, ten million scores, how to ask them.

    python -m benchmarks.study [--quick] [--markdown]

Maps of 14×14 cells by five methods made elsewhere are scored against ten boxes an image: runs of
100, 1,000 and 10,000 images, each in a process of its own with one worker. The last one stores ten
million scores, which are then queried. Seconds are wall clock; of a query the best of three counts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks.maps import ONE_THREAD, machine, progress, read_options, table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SIZES = (100, 1_000, 10_000)
METHODS = 5
BOXES = 10
GRID = 14
ROUNDS = 3


class Target(NamedTuple):
    text: str
    unit: str
    most: float


TARGETS = {
    "cost": Target("cost of an image, 1,000 to 10,000 over 100 to 1,000", "×", 1.1),
    "memory": Target("memory of an image, 1,000 to 10,000 over 100 to 1,000", "×", 1.1),
    "bytes": Target("bytes of a score on disk", "B", 12),
    "group": Target("mean of every score by model, method, metric, threshold", "s", 2),
    "image": Target("every score of one image", "ms", 60),
}


def make(folder: Path, images: int) -> Path:
    """Write boxes, maps and a study file; return the file."""
    from safetensors.numpy import save_file

    rng = np.random.default_rng(0)
    names = [f"image-{number:05}.png" for number in range(images)]
    corners = rng.uniform(0, 0.7, (images, BOXES, 2))
    sides = rng.uniform(0.05, 0.3, (images, BOXES, 2))
    boxes = np.concatenate([corners, corners + sides], axis=2).round(4)
    lines = ["image,label,x0,y0,x1,y1,width,height"]
    for name, of in zip(names, boxes.tolist(), strict=True):
        for number, (x0, y0, x1, y1) in enumerate(of):
            lines.append(f"{name},part {number},{x0},{y0},{x1},{y1},224,224")
    data = folder / "data"
    data.mkdir()
    (data / "annotations.csv").write_text("\n".join(lines) + "\n")
    methods = []
    for number in range(METHODS):
        maps = rng.random((images, GRID, GRID), np.float32) ** 4
        save_file(dict(zip(names, maps, strict=True)), folder / f"maps{number}.safetensors")
        methods.append({"name": f"method{number}", "params": {"maps": f"maps{number}.safetensors"}})
    study = folder / "study.yml"
    content = {"name": "scale", "data": {"name": "folder", "path": "data"}, "methods": methods}
    study.write_text(json.dumps(content))  # JSON is YAML
    return study


# What a child measures.


def run(study: Path, out: Path) -> dict[str, float]:
    """Seconds of a run, and the most memory that it took."""
    import resource

    from sightline import load_study, run_study

    warm = study.parent / "warm"  # compiles and imports what is used
    warm.mkdir()
    run_study(load_study(make(warm, 8)), warm / "runs", workers=1)
    begun = time.perf_counter()
    done = run_study(load_study(study), out, workers=1)
    seconds = time.perf_counter() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"seconds": seconds, "bytes": peak, "scores": done.rows}


def ask(study: Path, out: Path) -> dict[str, float]:
    """Seconds of the questions to a store."""
    from sightline import open_results
    from sightline.results import results_digest

    store = out / "scale"
    with open_results(store) as results:
        (scores,) = results.query("SELECT count(*) AS n FROM scores_long")["n"]
        group = "SELECT model, method, metric, threshold, avg(value) FROM scores_long GROUP BY ALL"
        median = "SELECT method, metric, threshold, median(value) FROM scores_long GROUP BY ALL"
        found = {
            "group": best(lambda: results.query(group)),
            "median": best(lambda: results.query(median)),
            "leaderboard": best(results.leaderboard),
            "image": 1000 * best(lambda: results.image("image-00001.png")),
        }
    folders = (store / "scores", store / "region_scores")
    size = sum(path.stat().st_size for folder in folders for path in folder.iterdir())
    begun = time.perf_counter()
    results_digest(store)
    return found | {"digest": time.perf_counter() - begun, "scores": scores, "bytes": size / scores}


def best(call: Callable[[], Any]) -> float:
    """The least seconds of a few calls."""

    def once() -> float:
        begun = time.perf_counter()
        call()
        return time.perf_counter() - begun

    return min(once() for _ in range(ROUNDS))


def in_child(what: str, study: Path, out: Path) -> dict[str, float]:
    argv = [sys.executable, "-W", "ignore", "-m", __spec__.name]
    argv += ["--task", what, "--study", str(study), "--out", str(out)]
    env = os.environ | ONE_THREAD
    done = subprocess.run(argv, env=env, check=True, text=True, stdout=subprocess.PIPE)
    answer: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return answer


def measure(sizes: Sequence[int]) -> tuple[dict[int, dict[str, float]], dict[str, float]]:
    """What runs of these sizes took, and what the questions to the last one took."""
    runs, answers = {}, {}
    for size in sizes:
        progress(f"{size} images")
        with tempfile.TemporaryDirectory() as folder:
            study, out = make(Path(folder), size), Path(folder, "runs")
            runs[size] = in_child("run", study, out)
            if size == sizes[-1]:
                progress("questions")
                answers = in_child("ask", study, out)
    progress("")
    return runs, answers


def slopes(runs: dict[int, dict[str, float]], what: str) -> list[float]:
    """What an image costs from each size to the next."""
    sizes = sorted(runs)
    return [(runs[b][what] - runs[a][what]) / (b - a) for a, b in pairwise(sizes)]


def verdicts(runs: dict[int, dict[str, float]], answers: dict[str, float]) -> list[list[str]]:
    """A line per figure that is wanted."""
    figures = {name: answers[name] for name in ("bytes", "group", "image")}
    for name, what in (("cost", "seconds"), ("memory", "bytes")):
        first, second = slopes(runs, what)
        figures[name] = second / max(first, 1e-9)  # nothing at all, where runs are tiny
    found = [["studies", "unit", "wanted", "seen", ""]]
    for name, target in TARGETS.items():
        verdict = "met" if figures[name] <= target.most else "missed"
        cells = [target.text, target.unit, f"≤ {target.most:g}", f"{figures[name]:.3g}", verdict]
        found.append(cells)
    return found


def costs(runs: dict[int, dict[str, float]]) -> list[list[str]]:
    """A line per run."""
    found = [["images", "maps", "scores", "seconds", "ms an image", "peak MB"]]
    for size, one in runs.items():
        cells = [f"{size:,}", f"{size * METHODS:,}", f"{one['scores']:,.0f}"]
        each = 1000 * one["seconds"] / size
        found.append([*cells, f"{one['seconds']:.2f}", f"{each:.2f}", f"{one['bytes'] / 1e6:.0f}"])
    return found


def main(argv: Sequence[str] | None = None) -> None:
    options = read_options(__doc__, argv, ("--task", "--study", "--out"))
    if options.task:
        call = {"run": run, "ask": ask}[options.task]
        print(json.dumps(call(Path(options.study), Path(options.out))))
        return
    runs, answers = measure([size // 10 for size in SIZES] if options.quick else SIZES)
    print(machine())
    for lines in (verdicts(runs, answers), costs(runs)):
        print(f"\n{table(lines, markdown=options.markdown)}")
    more = ("median", "leaderboard", "digest")
    print(f"\n{answers['scores']:,.0f} scores:", ", ".join(f"{n} {answers[n]:.2f} s" for n in more))


if __name__ == "__main__":
    main()
