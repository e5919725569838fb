"""Small studies that were run: sparse and complete labels, odd geometries, maps made elsewhere."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from sightline.results import open_results, sparsity_report
from sightline.study import Study, run_study
from tests.loaded import loaded_once

if TYPE_CHECKING:
    from pathlib import Path

    from sightline.results import SparsityReport

COUNT = 20  # fewer give no p-values of single images
DRAWS = 60
SIZES = ((60, 40), (40, 60), (60, 40), (60, 40), (40, 60), (60, 40), (60, 40), (40, 60), (60, 40))


def run(folder: Path, name: str, **keys: Any) -> Path:
    """Run a study in one process; return its store."""
    given: dict[str, Any] = {
        "name": name,
        "methods": ["cls", "random", "centre", "mean_map"],
        "models": ["demo/vit"],
        "layers": [3, -1],
        "metrics": ["iou", "recall", "coverage", "pointing", "auc_roc", "entropy"],
        "percentiles": [90, 80],
        "batch": 8,
    }
    with loaded_once():
        run_study(Study(**{**given, **keys}), folder, workers=1)
    return folder / name


def run_facades(folder: Path, name: str, labelling: str, count: int, **keys: Any) -> Path:
    """Run a study over drawn facades, of two models; random maps of two seeds."""
    data = {"name": "facades", "count": count, "seed": 5, "labelling": labelling}
    given: dict[str, Any] = {"models": ["demo/vit", "demo/vit@seed2"], "seeds": [0, 1]}
    return run(folder, name, data=data, **{**given, **keys})


def report_of(store: Path, **words: Any) -> SparsityReport:
    """Say what missing labels do to the scores of a store."""
    with open_results(store) as results:
        return sparsity_report(results, draws=DRAWS, **words)


def write_odd(folder: Path) -> Path:
    """Write pictures of two shapes, each with two boxes and one to be ignored; one has none."""
    folder.mkdir()
    lines = []
    for number, (width, height) in enumerate(SIZES):
        rng = np.random.default_rng(number)
        name = f"{number:03}.png"
        Image.fromarray(rng.integers(0, 256, (height, width, 3), np.uint8)).save(folder / name)
        x, y = (float(one) for one in rng.uniform(0.05, 0.5, 2))
        regions: list[dict[str, Any]] = [
            {"label": "door", "box": [x, y, x + 0.3, y + 0.4]},
            {"label": "window", "box": [0.5 - x / 2, 0.1, 0.95 - x / 2, 0.5]},
            {"label": "crowd", "box": [0.0, 0.8, 0.3, 1.0], "flags": ["ignore"]},
        ]
        lines.append(
            {
                "image": name,
                "width": width,
                "height": height,
                "regions": [] if number == 1 else regions,
            }
        )
    content = {"format": "sightline-annotations", "version": 1, "images": lines}
    (folder / "annotations.json").write_text(json.dumps(content))
    return folder


def write_maps(folder: Path, numbers: range, seed: int = 0) -> Path:
    """Write maps of the pictures, made elsewhere; some values are equal, some below 0."""
    folder.mkdir()
    rng = np.random.default_rng(seed)
    for number in numbers:
        values = np.round(rng.normal(0.3, 0.5, (8, 9)), 1).astype(np.float32)
        np.save(folder / f"{number:03}.npy", values)
    return folder


def run_given(folder: Path, name: str, data: Path, numbers: range, **keys: Any) -> Path:
    """Run a study over maps made elsewhere by two networks."""
    methods = [
        {"name": "theirs", "params": {"maps": str(write_maps(folder / f"{name}-{net}", numbers, s)),
                                      "model": net}}
        for s, net in enumerate(("first", "second"))
    ]  # fmt: skip
    data_of_study = {"name": "folder", "path": str(data)}
    own = {"data": data_of_study, "models": [], "methods": methods[:1], "sign": "positive"}
    two = {**own, "methods": [methods[0], {**methods[1], "name": "others"}]}
    return run(folder, name, **{**two, "layers": "all", **keys})
