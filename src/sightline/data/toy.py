"""A small set of annotated images and maps, made from a seed: something to score at once.

Five methods show what scores mean: one sees the annotated parts, one half of them, and three know
nothing about the image.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.data.annotations import read_annotations
from sightline.data.by_image import score_by_image
from sightline.data.mapfiles import open_maps
from sightline.data.tables import write_table
from sightline.records import Annotation, Region

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from sightline.data.by_image import ImageScores

__all__ = ["METHODS", "score_toy", "toy_annotations", "toy_maps", "write_toy"]

METHODS = ("sees-the-parts", "sees-half", "centre-gaussian", "uniform-random", "constant")
_LABELS = ("window", "door", "tower", "rose")
_IMAGE_SIZE = 640, 480
_MAP_SIZE = 48, 64  # height, width


def toy_annotations(count: int = 24, seed: int = 0) -> dict[str, Annotation]:
    """Return `count` images with one to four boxes each."""
    rng = np.random.default_rng(seed)
    annotations = {}
    for number in range(count):
        name = f"toy-{number:02d}.png"
        regions = tuple(_random_box(rng, index) for index in range(rng.integers(1, 5)))
        annotations[name] = Annotation(name, *_IMAGE_SIZE, regions)
    return annotations


def toy_maps(
    annotations: Mapping[str, Annotation], method: str, seed: int = 0
) -> dict[str, NDArray[np.float32]]:
    """Return the map that a method of `METHODS` makes of each image."""
    maps = {}
    for number, (name, annotation) in enumerate(annotations.items()):
        rng = np.random.default_rng((seed, METHODS.index(method), number))
        maps[name] = _draw(method, [region.box for region in annotation.regions], rng)
    return maps


def write_toy(folder: str | os.PathLike[str], seed: int = 0) -> list[Path]:
    """Write `annotations.json` and a folder of maps per method; return those folders."""
    folder = Path(folder)
    annotations = toy_annotations(seed=seed)
    folders = [folder / "maps" / method for method in METHODS]
    for target in folders:
        target.mkdir(parents=True, exist_ok=True)
        for name, array in toy_maps(annotations, target.name, seed).items():
            np.save(target / f"{Path(name).stem}.npy", array)
    content = json.dumps(_plain(annotations), indent=1) + "\n"
    (folder / "annotations.json").write_text(content, encoding="utf-8")
    return folders


def score_toy(
    folder: str | os.PathLike[str], *, progress: Callable[[int, int], object] | None = None
) -> dict[str, ImageScores]:
    """Write the toy set, score each method and write `scores/<method>.csv`."""
    folder = Path(folder)
    folders = write_toy(folder)
    annotations = read_annotations(folder / "annotations.json")
    (folder / "scores").mkdir(exist_ok=True)
    scores = {}
    for number, maps in enumerate(folders):
        scores[maps.name] = score_by_image(open_maps(maps), annotations)
        write_table(scores[maps.name].frame, folder / "scores" / f"{maps.name}.csv")
        if progress is not None:
            progress(number + 1, len(folders))
    return scores


def _random_box(rng: np.random.Generator, index: int) -> Region:
    width, height = rng.uniform(0.1, 0.3, 2)
    left, top = rng.uniform(0, 1 - width), rng.uniform(0, 1 - height)
    x0, y0, x1, y1 = (round(float(edge), 3) for edge in (left, top, left + width, top + height))
    return Region(str(rng.choice(_LABELS)), box=(x0, y0, x1, y1), index=index)


def _draw(
    method: str, boxes: list[tuple[float, float, float, float]], rng: np.random.Generator
) -> NDArray[np.float32]:
    if method == "constant":
        return np.ones(_MAP_SIZE, np.float32)
    noise = rng.random(_MAP_SIZE, np.float32)
    if method == "uniform-random":
        return noise
    if method == "centre-gaussian":
        return _blob((0.1, 0.1, 0.9, 0.9))
    seen = boxes if method == "sees-the-parts" else boxes[: (len(boxes) + 1) // 2]
    blobs: NDArray[np.float32] = np.max([_blob(box) for box in seen], axis=0)
    return blobs + np.float32(0.05) * noise


def _blob(box: tuple[float, float, float, float]) -> NDArray[np.float32]:
    """Return a bell over a box; its standard deviation is a third of the side."""
    x0, y0, x1, y1 = box
    height, width = _MAP_SIZE
    dx = ((np.arange(width) + 0.5) / width - (x0 + x1) / 2) / ((x1 - x0) / 3)
    dy = ((np.arange(height) + 0.5) / height - (y0 + y1) / 2) / ((y1 - y0) / 3)
    return np.exp(-(dx**2 + dy[:, None] ** 2) / 2).astype(np.float32)


def _plain(annotations: Mapping[str, Annotation]) -> dict[str, Any]:
    """Return annotations made of boxes in the plain format."""
    return {
        "format": "sightline-annotations",
        "version": 1,
        "units": "normalised",
        "images": [
            {
                "image": annotation.image_id,
                "width": annotation.width,
                "height": annotation.height,
                "regions": [
                    {"label": region.label, "box": list(region.box)}
                    for region in annotation.regions
                ],
            }
            for annotation in annotations.values()
        ],
    }
