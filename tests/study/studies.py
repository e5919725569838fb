"""Small studies: a folder of pictures with regions, maps beside it, and the plans over them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from sightline.study import Plan, Shelf, Study, plan_study

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["CLASSES", "SHELF", "add_maps", "make_folder", "plan_of", "study_of"]

# All tests use the same networks, each loaded once.
SHELF = Shelf()
CLASSES = ("Romanesque", "Gothic", "Renaissance", "Baroque")
WIDTH, HEIGHT = 30, 24


def make_folder(path: Path, count: int) -> Path:
    """Write pictures of noise; image n is the same however many there are."""
    path.mkdir(exist_ok=True)
    lines: list[dict[str, Any]] = []
    for number in range(count):
        rng = np.random.default_rng(number)
        pixels = rng.integers(0, 256, (HEIGHT, WIDTH, 3), np.uint8)
        Image.fromarray(pixels).save(path / f"{number:03}.png")
        boxes = [[2 + number % 5, 3, 14, 20], [15, 4, 22 + number % 3, 13]]
        lines.append(
            {
                "image": f"{number:03}.png",
                "width": WIDTH,
                "height": HEIGHT,
                "split": "test" if number % 2 else "train",
                "labels": [CLASSES[number % 4]],
                "regions": [{"label": "door", "box": box} for box in boxes[: 1 + number % 2]],
            }
        )
    head = {"format": "sightline-annotations", "version": 1, "units": "pixels"}
    (path / "annotations.json").write_text(json.dumps({**head, "images": lines}))
    return path


def add_maps(path: Path, numbers: range, *, side: int = 6) -> Path:
    """Write a map for some of the pictures."""
    path.mkdir(exist_ok=True)
    for number in numbers:
        values = np.random.default_rng(100 + number).random((side, side + 1)).astype(np.float32)
        np.save(path / f"{number:03}.npy", values)
    return path


def study_of(folder: Path, **changes: Any) -> Study:
    """A study of a network over a folder, with some of its keys changed; None removes a key."""
    given: dict[str, Any] = {
        "name": "first",
        "data": {"name": "folder", "path": str(folder), **changes.pop("data", {})},
        "models": ["demo/vit"],
        "methods": ["cls", "gradcam", "random"],
        "layers": [0, -1],
        "metrics": ["coverage", "iou", "pointing"],
        "percentiles": [90, 50],
        "batch": 4,
    }
    return Study(**{**given, **changes})


def plan_of(folder: Path, **changes: Any) -> Plan:
    skip_bad = changes.pop("skip_bad", False)
    return plan_study(study_of(folder, **changes), shelf=SHELF, skip_bad=skip_bad)
