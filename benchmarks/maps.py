"""Sightline beside its peers: CPU time per map, the same maps, one process per tool.

    python -m benchmarks.maps [--quick] [--markdown] [--json FILE]

Every tool runs on one thread. Tools take turns, several times over, and each one's fastest round
counts: what it costs when nothing else disturbs it.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import time
from argparse import RawDescriptionHelpFormatter
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks._maps_data import make, make_boxes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import numpy.typing as npt

    Array = npt.NDArray[Any]
    Call = Callable[[], Any]
    Figures = dict[tuple[str, int], float]

SIZES = (16, 224, 518)
PERCENTILES = (95, 90, 85, 80, 75, 70, 60, 50)
BOXES = 25
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS")}


# What each tool does. A function prepares the input and returns the calls that are timed; each
# call returns the AUC of every map, so that the tools can be seen to agree.


def numpy_sort(maps: Array, masks: Array) -> list[Call]:
    """Nothing but the sort that any exact ranking needs, in pieces that stay in the cache."""
    keys = maps.reshape(len(maps), -1).view(np.uint32) << 1
    rows = max(1, 2**16 // keys.shape[1])

    def call() -> None:
        for start in range(0, len(keys), rows):
            np.sort(keys[start : start + rows], axis=1)

    return [call]


def _ours(maps: Array, masks: Array, threads: int, boxes: list[Array] | None = None) -> Call:
    from sightline import score_maps

    def call() -> Array:
        scores = score_maps(maps, masks, regions=boxes, percentiles=PERCENTILES, threads=threads)
        dict(scores.regions or {})
        return np.asarray(dict(scores)["auc_roc"])

    return call


def numpy_sort_threads(maps: Array, masks: Array) -> list[Call]:
    """The bare sort on one thread, then on two: what the machine itself can give."""
    half = len(maps) // 2
    (whole,) = numpy_sort(maps, masks)
    halves = [numpy_sort(part, masks)[0] for part in (maps[:half], maps[half:])]

    def two() -> None:
        with ThreadPoolExecutor(2) as pool:
            for future in [pool.submit(call) for call in halves]:
                future.result()

    return [whole, two]


def sightline(maps: Array, masks: Array) -> list[Call]:
    """All one-pass figures, every column made."""
    return [_ours(maps, masks, threads=1)]


def sightline_threads(maps: Array, masks: Array) -> list[Call]:
    """One thread, then two."""
    return [_ours(maps, masks, threads=1), _ours(maps, masks, threads=2)]


def sightline_boxes(maps: Array, masks: Array) -> list[Call]:
    """Without boxes, then with 25 boxes on each map and all their columns."""
    return [_ours(maps, masks, 1), _ours(maps, masks, 1, make_boxes(len(maps), BOXES))]


def scikit_learn(maps: Array, masks: Array) -> list[Call]:
    """AUC, average precision and the IoU at eight percentiles."""
    from sklearn.metrics import average_precision_score, roc_auc_score

    def one(values: Array, inside: Array) -> float:
        average_precision_score(inside, values)
        for threshold in np.percentile(values, PERCENTILES):
            chosen = values >= threshold
            _ = (chosen & inside).sum() / (chosen | inside).sum()
        return float(roc_auc_score(inside, values))

    return [lambda: [one(a.ravel(), g.ravel()) for a, g in zip(maps, masks, strict=True)]]


def torchmetrics(maps: Array, masks: Array) -> list[Call]:
    """AUC, average precision and the IoU at eight percentiles."""
    import torch
    from torchmetrics.functional import classification as tm

    def one(values: torch.Tensor, inside: torch.Tensor) -> float:
        tm.binary_average_precision(values, inside)
        for percentile in PERCENTILES:
            chosen = values >= torch.quantile(values, percentile / 100)
            tm.binary_jaccard_index(chosen.long(), inside)
        return float(tm.binary_auroc(values, inside))

    pairs = [
        (torch.from_numpy(a).flatten(), torch.from_numpy(g).flatten().long())
        for a, g in zip(maps, masks, strict=True)
    ]
    return [lambda: [one(values, inside) for values, inside in pairs]]


def quantus(maps: Array, masks: Array) -> list[Call]:
    """Seven localisation metrics with their defaults, called as the manual shows."""
    import quantus as q
    import torch

    quiet = {"disable_warnings": True}
    metrics = [
        q.PointingGame(**quiet),
        q.AttributionLocalisation(**quiet),
        q.TopKIntersection(k=1000, **quiet),
        q.TopKIntersection(k=5000, **quiet),
        q.RelevanceMassAccuracy(**quiet),
        q.RelevanceRankAccuracy(**quiet),
        q.AUC(**quiet),
    ]
    batch = {
        "model": torch.nn.Flatten(),  # asked for, but not run: the maps are given
        "x_batch": maps[:, None],
        "y_batch": np.zeros(len(maps), int),
        "a_batch": maps[:, None],
        "s_batch": masks[:, None],
    }
    return [lambda: [metric(**batch) for metric in metrics][-1]]


# What is read off one round of a tool's calls.


class Seconds(NamedTuple):
    cpu: float
    wall: float


def per_map(seconds: Sequence[Seconds], maps: int) -> float:
    """CPU milliseconds per map."""
    return 1e3 * seconds[0].cpu / maps


def speed_up(seconds: Sequence[Seconds], maps: int) -> float:
    """How much sooner the second call is done."""
    return seconds[0].wall / seconds[1].wall


def added(seconds: Sequence[Seconds], maps: int) -> float:
    """CPU milliseconds per map that the second call adds."""
    return 1e3 * (seconds[1].cpu - seconds[0].cpu) / maps


@dataclass(frozen=True)
class Tool:
    package: str
    prepare: Callable[[Array, Array], list[Call]]
    maps: dict[int, int]  # how many maps of each size
    rounds: int = 7
    figure: Callable[[Sequence[Seconds], int], float] = per_map


BATCH = {16: 512, 224: 64, 518: 12}
FEW = {16: 32, 224: 4, 518: 2}
MANY = {16: 2048, 224: 256, 518: 48}  # enough work for two threads
TOOLS = {
    "numpy sort": Tool("numpy", numpy_sort, BATCH),
    "sightline": Tool("sightline", sightline, BATCH),
    "scikit-learn": Tool("scikit-learn", scikit_learn, FEW, rounds=3),
    "torchmetrics": Tool("torchmetrics", torchmetrics, FEW, rounds=3),
    "quantus": Tool("quantus", quantus, {224: 16}, rounds=2),
    "numpy sort 2 threads": Tool("numpy", numpy_sort_threads, MANY, figure=speed_up),
    "sightline 2 threads": Tool("sightline", sightline_threads, MANY, figure=speed_up),
    "sightline + 25 boxes": Tool("sightline", sightline_boxes, BATCH, figure=added),
}


# Running: the parent starts one child per tool and size, a child prints its rounds as JSON.


def clock(call: Call) -> Seconds:
    wall, cpu = time.perf_counter(), time.process_time()
    call()
    return Seconds(time.process_time() - cpu, time.perf_counter() - wall)


def measure(name: str, size: int, rounds: int) -> dict[str, list[Any]]:
    """Rounds of one tool in this process, after a warm-up that also tells the AUCs."""
    tool = TOOLS[name]
    count = tool.maps[size]
    copies = -(-count // BATCH[size])
    maps, masks = (np.concatenate([batch] * copies) for batch in make(BATCH[size], size))
    calls = tool.prepare(maps[:count], masks[:count])
    auc = [call() for call in calls][-1]
    return {
        "auc": [] if auc is None else np.asarray(auc, float)[: FEW[size]].tolist(),
        "rounds": [[clock(call) for call in calls] for _ in range(rounds)],
    }


def fastest(rounds: Sequence[Sequence[Sequence[float]]]) -> list[Seconds]:
    """For each of a tool's calls the least CPU time and the least wall-clock time of any round."""
    return [
        Seconds(*(min(times) for times in zip(*call, strict=True)))
        for call in zip(*rounds, strict=True)
    ]


def in_child(name: str, size: int, rounds: int) -> dict[str, list[Any]]:
    argv = [sys.executable, "-W", "ignore", "-m", __spec__.name]
    argv += ["--tool", name, "--size", str(size), "--rounds", str(rounds)]
    done = subprocess.run(
        argv,
        env=os.environ | ONE_THREAD,
        cwd=Path(__file__).parents[1],
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    answer: dict[str, list[Any]] = json.loads(done.stdout.splitlines()[-1])
    return answer


def run_all(sizes: Sequence[int], passes: int) -> tuple[Figures, float]:
    """Every tool's figure at every size, and how far the tools' AUCs lie apart."""
    rounds: dict[tuple[str, int], list[Any]] = defaultdict(list)
    auc: dict[int, list[list[float]]] = defaultdict(list)
    todo = [(n, s) for s in sizes for n, tool in TOOLS.items() if s in tool.maps]
    for number in range(passes):
        for name, size in todo:
            progress(f"pass {number + 1} of {passes}: {name}, {size}×{size}")
            if version(TOOLS[name].package):
                answer = in_child(name, size, TOOLS[name].rounds)
                rounds[name, size] += answer["rounds"]
                auc[size] += [answer["auc"]] if answer["auc"] else []
    progress("")
    apart = max(float(np.ptp(np.array(each), axis=0).max()) for each in auc.values())
    figures = {
        (name, size): TOOLS[name].figure(fastest(each), TOOLS[name].maps[size])
        for (name, size), each in rounds.items()
    }
    return figures, apart


# Telling.


def read_options(
    about: str | None, argv: Sequence[str] | None, child_only: Sequence[str]
) -> argparse.Namespace:
    """The words of a benchmark that starts itself again, which is told more: `child_only`."""
    parser = argparse.ArgumentParser(description=about, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the images")
    parser.add_argument("--markdown", action="store_true", help="print Markdown tables")
    for name in child_only:
        parser.add_argument(name, help=argparse.SUPPRESS)
    return parser.parse_args(argv)


def progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r{text:60}\r", end="", file=sys.stderr)


def version(package: str) -> str:
    """The installed version, empty where there is none; ours may run from the source tree."""
    if package == "sightline":
        return importlib.import_module(package).__version__  # type: ignore[no-any-return]
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def machine() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    name = names[0] if names else platform.processor() or platform.machine()
    return f"{name}, {os.cpu_count()} cores, Python {platform.python_version()}"


def table(rows: Sequence[Sequence[str]], *, markdown: bool = False) -> str:
    """Rows under their headings, the first column left-aligned and the others right-aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    edge, between = ("| ", " | ") if markdown else ("", "  ")

    def line(cells: Iterable[str]) -> str:
        first, *others = (
            cell.rjust(width) if i else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        return (edge + between.join([first, *others]) + edge[::-1]).rstrip()

    rule = ["-" * widths[0], *((":" if markdown else "-").rjust(w, "-") for w in widths[1:])]
    return "\n".join([line(rows[0]), line(rule), *map(line, rows[1:])])


def tool_rows(figures: Figures, sizes: Sequence[int]) -> list[list[str]]:
    """CPU milliseconds per map, and in how many times our time that is."""
    head = ["CPU time, one thread", "version"]
    rows = [head + [text for s in sizes for text in (f"{s}×{s} ms", "× ours")]]
    for name, tool in TOOLS.items():
        if tool.figure is not per_map:
            continue
        row = [name, version(tool.package) or "not installed"]
        for size in sizes:
            ms, ours = figures.get((name, size)), figures["sightline", size]
            row += [f"{ms:.3g}", f"{ms / ours:.3g}"] if ms else ["–", "–"]
        rows.append(row)
    return rows


def option_rows(figures: Figures, sizes: Sequence[int]) -> list[list[str]]:
    rows = [["sightline with", *(f"{size}×{size}" for size in sizes)]]
    threads, boxes = ("sightline 2 threads", "sightline + 25 boxes")
    sort = "numpy sort 2 threads"
    rows.append(["2 threads, maps/s", *(f"×{figures[threads, s]:.2f}" for s in sizes)])
    rows.append(["(a bare sort with 2 threads", *(f"×{figures[sort, s]:.2f})" for s in sizes)])
    rows.append(["25 boxes, CPU ms per map", *(f"+{figures[boxes, s]:.3g}" for s in sizes)])
    return rows


class Target(NamedTuple):
    text: str
    size: int
    tool: str
    over: str | None  # divide the tool's figure by this one's
    least: float = 0
    most: float = float("inf")


TARGETS = [
    Target("times faster than scikit-learn", 16, "scikit-learn", "sightline", least=250),
    Target("times faster than scikit-learn", 224, "scikit-learn", "sightline", least=60),
    Target("times faster than scikit-learn", 518, "scikit-learn", "sightline", least=55),
    Target("times faster than Quantus' seven calls", 224, "quantus", "sightline", least=500),
    Target("times a bare sort", 224, "sightline", "numpy sort", most=1.8),
    Target("times the maps with 2 threads", 224, "sightline 2 threads", None, least=1.7),
    Target("ms more per map for 25 boxes", 224, "sightline + 25 boxes", None, most=0.3),
]


def target_rows(figures: Figures) -> list[list[str]]:
    rows = [["target", "size", "wanted", "seen", ""]]
    for goal in TARGETS:
        value = figures.get((goal.tool, goal.size))
        if value is not None and goal.over:
            value /= figures[goal.over, goal.size]
        wanted = f"≥ {goal.least:g}" if goal.least else f"≤ {goal.most:g}"
        seen, verdict = "–", "not run"
        if value is not None:
            seen = f"{value:.3g}"
            verdict = "met" if goal.least <= value <= goal.most else "missed"
        rows.append([goal.text, str(goal.size), wanted, seen, verdict])
    return rows


def report(figures: Figures, apart: float, *, markdown: bool) -> str:
    sizes = sorted({size for _, size in figures})
    tables = [tool_rows(figures, sizes), option_rows(figures, sizes), target_rows(figures)]
    parts = [machine(), *(table(rows, markdown=markdown) for rows in tables)]
    parts.insert(2, f"The tools' AUCs of the same maps differ by at most {apart:.1g}.")
    return "\n\n".join(parts)


def save(path: Path, figures: Figures, apart: float) -> None:
    results = [{"tool": t, "size": s, "figure": value} for (t, s), value in figures.items()]
    versions = {tool.package: version(tool.package) for tool in TOOLS.values()}
    about = {"machine": machine(), "versions": versions, "auc_apart": apart}
    path.write_text(json.dumps(about | {"results": results}, indent=1) + "\n")


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="one pass, and no 518×518 maps")
    parser.add_argument("--markdown", action="store_true", help="print Markdown tables")
    parser.add_argument("--json", type=Path, metavar="FILE", help="save the figures too")
    for child_only in ("--tool", "--size", "--rounds"):
        parser.add_argument(child_only, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.tool:
        print(json.dumps(measure(options.tool, int(options.size), int(options.rounds))))
        return
    sizes, passes = (SIZES[:2], 1) if options.quick else (SIZES, 3)
    figures, apart = run_all(sizes, passes)
    print(report(figures, apart, markdown=options.markdown))
    if options.json:
        save(options.json, figures, apart)


if __name__ == "__main__":
    main()
