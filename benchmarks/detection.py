"""How long detection takes, beside its peers': ``python -m benchmarks.detection``.

The data are like COCO's validation set: 5,000 images, 80 classes of which one is every third
object, about 36,000 ground truths of which 1% are crowds, 500,000 detections whose scores have
ties. Each tool runs in a process of its own, first from what is read already (match and
accumulate), then from the JSON files on disk. The figures of all tools must be equal, else the
exit status is 1. A peer that is not installed is left out.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.util
import io
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.detection.coco import (
    IOU_THRESHOLDS,
    RECALL_POINTS,
    accumulate_matches,
    coco_arrays,
    match_detections,
)
from sightline.detection.columns import Detections, GroundTruth
from sightline.detection.files.coco_json import read_coco_detections, read_coco_ground_truth

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["TOOLS", "all_equal", "make", "measure", "summary", "table", "write"]

TOOLS = {
    "sightline": "sightline",
    "sightline, one thread": "sightline",
    "hotcoco": "hotcoco",
    "faster-coco-eval": "faster_coco_eval",
    "torchmetrics": "torchmetrics",
    "pycocotools": "pycocotools",
}
MODES = {"memory": "match and accumulate", "files": "from JSON files to the 12 figures"}
SLOW = {"faster-coco-eval": 2, "torchmetrics": 1, "pycocotools": 1}
"""These run so many times only."""

FRESH = """
import sys, time
start = time.perf_counter()
from sightline.detection.coco import coco_arrays
from sightline.detection.files.coco_json import read_coco_detections, read_coco_ground_truth
truth = read_coco_ground_truth(sys.argv[1])
coco_arrays(truth, read_coco_detections(sys.argv[2], truth)).figures()
print(time.perf_counter() - start)
"""


def _weights(classes: int) -> NDArray[np.float64]:
    """One class is 30% of the objects, the rest falls off by a power law."""
    weights = np.arange(1.0, classes + 1) ** -0.9
    weights[0] = 0
    weights *= 0.7 / max(weights.sum(), 1e-9)
    weights[0] = 1 - weights.sum()
    return weights


def _shapes(rng: np.random.Generator, count: int) -> NDArray[np.float64]:
    """Boxes in a picture of 640 by 480, small ones most."""
    side, ratio = np.exp(rng.normal(4, 1, count)), np.exp(rng.normal(0, 0.4, count))
    width = np.clip(side * np.sqrt(ratio), 3, 620)
    height = np.clip(side / np.sqrt(ratio), 3, 460)
    left, top = rng.random(count) * (640 - width), rng.random(count) * (480 - height)
    return np.column_stack([left, top, width, height])


def make(
    images: int = 5000, classes: int = 80, each: int = 100, seed: int = 0
) -> tuple[GroundTruth, Detections]:
    """Make ground truths, about 7.4 an image, and `each` detections an image."""
    rng = np.random.default_rng(seed)
    weights = _weights(classes)
    palette = rng.choice(classes, (images, 3), p=weights)  # an image shows few classes
    image = np.repeat(np.arange(images), rng.negative_binomial(1, 1 / 8.4, images))
    label = palette[image, rng.integers(3, size=len(image))]
    box = np.round(_shapes(rng, len(image)), 2)
    truth = GroundTruth.from_arrays(
        image + 1,
        label + 1,
        box,
        area=np.round(box[:, 2] * box[:, 3] * rng.uniform(0.45, 0.95, len(box)), 2),
        crowd=rng.random(len(box)) < 0.01,
        images=np.arange(1, images + 1),
        classes=np.arange(1, classes + 1),
    )
    return truth, _found(rng, truth, palette, weights, each)


def _found(
    rng: np.random.Generator,
    truth: GroundTruth,
    palette: NDArray[np.int64],
    weights: NDArray[np.float64],
    each: int,
) -> Detections:
    """Shifted copies of the ground truths, the better the surer, and boxes of nothing."""
    images, classes = len(palette), len(weights)
    copied = np.repeat(np.arange(len(truth)), rng.choice(4, len(truth), p=[0.2, 0.4, 0.25, 0.15]))
    error = rng.gamma(1.6, 0.06, len(copied))
    near = truth.box[copied]
    near[:, :2] += rng.normal(0, error[:, None], (len(near), 2)) * near[:, 2:]
    near[:, 2:] *= np.exp(rng.normal(0, error[:, None], (len(near), 2)))
    sure = np.clip(rng.normal(0.85 - 2.2 * error, 0.18), 0.01, 0.999)
    right = rng.random(len(copied)) < 0.92
    label = np.where(right, truth.label[copied] - 1, rng.choice(classes, len(copied), p=weights))
    rest = images * each - len(copied)
    image = rng.integers(images, size=rest)
    seen = palette[image, rng.integers(3, size=rest)]
    other = np.where(rng.random(rest) < 0.5, seen, rng.choice(classes, rest, p=weights))
    every = np.concatenate([truth.image[copied], image + 1])
    order = np.argsort(every, kind="stable")
    return Detections.from_arrays(
        every[order],
        np.concatenate([label, other])[order] + 1,
        np.round(np.concatenate([near, _shapes(rng, rest)]), 2)[order],
        np.round(np.concatenate([sure, rng.beta(1, 9, rest)]), 4)[order],
    )


def _as_coco(truth: GroundTruth, found: Detections) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return what COCO's files would hold."""
    assert truth.images is not None
    assert truth.classes is not None
    rows = zip(
        truth.ids.tolist(), truth.image.tolist(), truth.label.tolist(), truth.box.tolist(),
        truth.area.tolist(), truth.crowd.tolist(), strict=True,
    )  # fmt: skip
    keys = ("id", "image_id", "category_id", "bbox", "area", "iscrowd")
    data = {
        "info": {},
        "images": [{"id": i, "width": 640, "height": 480} for i in truth.images.tolist()],
        "categories": [{"id": k, "name": str(k)} for k in truth.classes.tolist()],
        "annotations": [dict(zip(keys, (*row[:5], int(row[5])), strict=True)) for row in rows],
    }
    columns = (found.image, found.label, found.box, found.score)
    results = [
        {"image_id": i, "category_id": k, "bbox": box, "score": score}
        for i, k, box, score in zip(*(column.tolist() for column in columns), strict=True)
    ]
    return data, results


def write(folder: Path, images: int, each: int) -> None:
    """Write COCO's two files."""
    for name, content in zip(
        ("gt.json", "dt.json"), _as_coco(*make(images, each=each)), strict=True
    ):
        (folder / name).write_text(json.dumps(content))


def _ours(folder: Path, mode: str, threads: int | None) -> Callable[[], list[float]]:
    def read() -> tuple[GroundTruth, Detections]:
        truth = read_coco_ground_truth(folder / "gt.json")
        return truth, read_coco_detections(folder / "dt.json", truth)

    def run(columns: tuple[GroundTruth, Detections]) -> list[float]:
        return list(coco_arrays(*columns, threads=threads).figures().values())

    if mode == "files":
        return lambda: run(read())
    columns = read()
    return lambda: run(columns)


def _peer(name: str, folder: Path, mode: str) -> Callable[[], list[float]]:
    """Return the call of a peer."""
    module: Any = importlib.import_module("pycocotools.coco" if name == "pycocotools" else name)
    scorer: Any = (
        importlib.import_module("pycocotools.cocoeval") if name == "pycocotools" else module
    )
    kind = scorer.COCOeval_faster if name == "faster_coco_eval" else scorer.COCOeval

    def read() -> tuple[Any, Any]:
        reference = module.COCO(str(folder / "gt.json"))
        return reference, reference.loadRes(str(folder / "dt.json"))

    def run(columns: tuple[Any, Any]) -> list[float]:
        evaluation = kind(*columns, "bbox")
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
        return [float(value) for value in list(evaluation.stats)[:12]]

    if mode == "files":
        return lambda: run(read())
    columns = read()
    return lambda: run(columns)


def _torchmetrics(folder: Path) -> Callable[[], list[float]]:
    """Return the call of torchmetrics, which takes tensors, image by image."""
    torch: Any = importlib.import_module("torch")
    metrics = _mean_ap()
    truth = read_coco_ground_truth(folder / "gt.json")
    found = read_coco_detections(folder / "dt.json")
    targets, predictions = [], []
    assert truth.images is not None
    for image in truth.images:
        one, two = truth.image == image, found.image == image
        targets.append({
            "boxes": torch.tensor(truth.box[one]), "labels": torch.tensor(truth.label[one]),
            "area": torch.tensor(truth.area[one]), "iscrowd": torch.tensor(truth.crowd[one] * 1),
        })  # fmt: skip
        predictions.append({
            "boxes": torch.tensor(found.box[two]), "labels": torch.tensor(found.label[two]),
            "scores": torch.tensor(found.score[two]),
        })  # fmt: skip

    def run() -> list[float]:
        # Its own recall points are rounded to float32, which costs AP: 0.38021 in place of 0.38045
        # on 400 images of this kind. With exact ones it computes the same figures.
        metric = metrics.MeanAveragePrecision(
            box_format="xywh", backend="faster_coco_eval", iou_thresholds=list(IOU_THRESHOLDS),
            rec_thresholds=list(RECALL_POINTS),
        )  # fmt: skip
        metric.warn_on_many_detections = False
        metric.update(predictions, targets)
        result = metric.compute()
        names = [f"map{end}" for end in ("", "_50", "_75", "_small", "_medium", "_large")]
        names += [f"mar_{end}" for end in (1, 10, 100, "small", "medium", "large")]
        return [float(result[name]) for name in names]

    return run


def _mean_ap() -> Any:
    """Return torchmetrics' module, with what it wants of torchvision where that cannot be had.

    torchvision does not install beside the pinned torch; one function of it is called.
    """
    module: Any = importlib.import_module("torchmetrics.detection.mean_ap")
    with contextlib.suppress(ImportError):
        importlib.import_module("torchvision.ops")
    if "torchvision.ops" not in sys.modules:
        ops = ModuleType("torchvision.ops")
        vars(ops)["box_convert"] = _box_convert
        sys.modules |= {"torchvision": ModuleType("torchvision"), "torchvision.ops": ops}
        module._TORCHVISION_AVAILABLE = True
    return module


def _box_convert(boxes: Any, in_fmt: str, out_fmt: str) -> Any:
    """Turn corner, width and height into two corners, or back."""
    if in_fmt == out_fmt:
        return boxes
    sign = {("xywh", "xyxy"): 1, ("xyxy", "xywh"): -1}[in_fmt, out_fmt]
    moved = boxes.clone()
    moved[:, 2:] += sign * boxes[:, :2]
    return moved


def measure(tool: str, mode: str, folder: Path, repeats: int) -> dict[str, Any]:
    """Time one tool in this process: the best of the calls after the first."""
    with contextlib.redirect_stdout(io.StringIO()):
        if TOOLS[tool] == "sightline":
            call = _ours(folder, mode, 1 if "one" in tool else None)
        elif tool == "torchmetrics":
            call = _torchmetrics(folder)
        else:
            call = _peer(TOOLS[tool], folder, mode)
    clocks = []
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), time.process_time()
        with contextlib.redirect_stdout(io.StringIO()):
            figures = call()
        clocks.append((time.perf_counter() - wall, time.process_time() - cpu))
    best = np.min(clocks[1:] or clocks, axis=0)
    peak = _peak()
    return {
        "tool": tool, "mode": mode, "wall": best[0], "cpu": best[1], "first": clocks[0][0],
        "peak": peak, "figures": figures,
    }  # fmt: skip


def _peak() -> float:
    """Return the most memory that this process had, in MB.

    Where Linux tells it: the figure of `getrusage` begins with what the parent had at the start.
    """
    status = Path("/proc/self/status")
    if status.exists():
        (line,) = (row for row in status.read_text().splitlines() if row.startswith("VmHWM:"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _interval(folder: Path) -> dict[str, Any]:
    """Time the intervals of 1,000 resamples, as multiples of one evaluation."""
    intervals: Any = importlib.import_module("sightline.detection.intervals")
    truth = read_coco_ground_truth(folder / "gt.json")
    found = read_coco_detections(folder / "dt.json", truth)

    def evaluate() -> Any:
        matches = match_detections(truth, found)
        return matches, accumulate_matches(matches)

    def clock(run: Callable[[], Any], repeats: int) -> NDArray[np.float64]:
        clocks = []
        for _ in range(repeats):
            wall, cpu = time.perf_counter(), time.process_time()
            run()
            clocks.append((time.perf_counter() - wall, time.process_time() - cpu))
        return np.min(clocks, axis=0)  # type: ignore[no-any-return]

    matches, arrays = evaluate()
    intervals.figure_intervals(matches, arrays, truth, resamples=100)
    once = clock(evaluate, 6)
    many = clock(lambda: intervals.figure_intervals(matches, arrays, truth), 2)
    return {"wall": many[0], "cpu": many[1], "times wall": many[0] / once[0],
            "times cpu": many[1] / once[1]}  # fmt: skip


def _equal(row: dict[str, Any], first: dict[str, Any]) -> bool:
    """Return whether figures are equal.

    torchmetrics rounds them to float32; faster-coco-eval's may differ in the last bit.
    """
    kind = np.float32 if row["tool"] == "torchmetrics" else np.float64
    mine, others = (np.array(each["figures"], kind) for each in (row, first))
    mine, others = (np.where(part == -1, np.nan, part) for part in (mine, others))
    slack = 1e-15 if row["tool"] == "faster-coco-eval" else 0.0
    return np.allclose(mine, others, rtol=0, atol=slack, equal_nan=True)


def table(results: list[dict[str, Any]]) -> str:
    """Write the results of one mode, with the times of each tool as multiples of ours."""
    lines = [
        f"{'tool':24}{'CPU s':>9}{'wall s':>9}{'first s':>9}{'peak MB':>9}{'× CPU':>8}{'× wall':>8}"
    ]
    lines += [
        f"{row['tool']:24}{row['cpu']:9.3f}{row['wall']:9.3f}{row['first']:9.2f}"
        f"{row['peak']:9.0f}{row['cpu'] / results[0]['cpu']:8.2f}"
        f"{row['wall'] / results[0]['wall']:8.2f}"
        for row in results
    ]
    return "\n".join([*lines, "figures equal: " + ("yes" if all_equal(results) else "NO")])


def all_equal(results: list[dict[str, Any]]) -> bool:
    """Return whether all tools have the same figures."""
    return all(_equal(row, results[0]) for row in results)


def summary(results: list[dict[str, Any]], more: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what is promised, what was measured and whether it holds."""
    by_name = {(row["mode"], row["tool"]): row for row in results}
    promised = [
        ("memory", "hotcoco", "cpu", 0.55), ("memory", "hotcoco", "wall", 0.75),
        ("memory", "faster-coco-eval", "cpu", 1 / 14), ("memory", "pycocotools", "cpu", 1 / 150),
        ("files", "hotcoco", "cpu", 1), ("files", "hotcoco", "wall", 1),
    ]  # fmt: skip
    found = []
    for mode, tool, clock, limit in promised:
        ours, peer = by_name.get((mode, "sightline")), by_name.get((mode, tool))
        if ours and peer:
            what = f"{MODES[mode]}: {clock} as a share of {tool}'s"
            found.append((what, ours[clock] / peer[clock], limit))
    if ("files", "sightline") in by_name:
        found.append(("peak memory from files, MB", by_name["files", "sightline"]["peak"], 300))
    if "fresh" in more:
        found.append(("imports and first call in a fresh process, s", more["fresh"], 2))
    if "interval" in more:
        what = "intervals of 1,000 resamples, times one evaluation"
        found += [(f"{what}, {c}", more["interval"][f"times {c}"], 60) for c in ("wall", "cpu")]
    return [
        {"what": what, "value": value, "limit": limit, "holds": bool(value <= limit)}
        for what, value, limit in found
    ]


def _lines(results: list[dict[str, Any]], more: dict[str, Any]) -> str:
    """Write everything."""
    parts = []
    for mode, title in MODES.items():
        rows = [row for row in results if row["mode"] == mode]
        if rows:
            parts.append(f"{title}\n{table(rows)}")
    promises = [
        f"{row['what']:72}{row['value']:9.4g}  at most {row['limit']:.4g}"
        f"{'' if row['holds'] else '  NOT HELD'}"
        for row in summary(results, more)
    ]
    return "\n\n".join([*parts, "\n".join(promises)])


def _in_its_own_process(tool: str, mode: str, folder: Path, repeats: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.detection", "--folder", str(folder)]
    command += ["--mode", mode, "--repeats", str(SLOW.get(tool, repeats)), "--tool", tool]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def _fresh(folder: Path) -> float:
    """Return the seconds that a first evaluation takes in a new process, imports too."""
    command = [sys.executable, "-c", FRESH, str(folder / "gt.json"), str(folder / "dt.json")]
    times = [
        subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(3)
    ]
    return min(float(text) for text in times)


def _run(
    arguments: argparse.Namespace, folder: Path
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Run all tools that are there."""
    write(folder, arguments.images, arguments.each)
    there = [tool for tool, package in TOOLS.items() if importlib.util.find_spec(package)]
    chosen = [tool for tool in there if tool not in arguments.without]
    results = [
        _in_its_own_process(tool, mode, folder, arguments.repeats)
        for mode in MODES
        for tool in chosen
        if mode == "memory" or tool not in ("sightline, one thread", "torchmetrics")
    ]
    more: dict[str, Any] = {"fresh": _fresh(folder)}
    if importlib.util.find_spec("sightline.detection.intervals") and arguments.intervals:
        more["interval"] = _in_its_own_process("interval", "memory", folder, 1)
    return results, more


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=5000)
    parser.add_argument("--each", type=int, default=100, help="detections an image")
    parser.add_argument("--repeats", type=int, default=6)
    parser.add_argument(
        "--without", nargs="*", default=[], choices=TOOLS, help="tools to leave out"
    )
    parser.add_argument(
        "--intervals", action=argparse.BooleanOptionalAction, default=True, help="time them too"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--tool", choices=[*TOOLS, "interval"], help="only this, in this process")
    parser.add_argument("--mode", choices=MODES, default="memory", help="with --tool")
    parser.add_argument("--folder", type=Path, help="with --tool: where gt.json and dt.json are")
    return parser.parse_args()


def main() -> None:
    """Run and print."""
    arguments = _arguments()
    if arguments.tool == "interval":
        print(json.dumps(_interval(arguments.folder)))
    elif arguments.tool:
        found = measure(arguments.tool, arguments.mode, arguments.folder, arguments.repeats)
        print(json.dumps(found))
    else:
        with tempfile.TemporaryDirectory() as folder:
            results, more = _run(arguments, Path(folder))
        if arguments.json:
            promises = summary(results, more)
            print(json.dumps({"results": results, "more": more, "promises": promises}))
        else:
            print(_lines(results, more))
        if not all_equal(results):
            sys.exit(1)


if __name__ == "__main__":
    main()
