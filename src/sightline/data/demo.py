"""The demo: drawn church fronts and maps of them, made from a seed, to be scored at once.

Six methods show what scores mean: one sees the annotated parts, one half of them, one the edges in
the picture, and three know nothing about it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sightline.data.by_image import score_by_image
from sightline.data.contact import write_contact_sheet
from sightline.data.datasets import load_dataset
from sightline.data.facades.files import write_facades
from sightline.data.mapfiles import open_maps
from sightline.data.tables import write_table

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from numpy.typing import NDArray

    from sightline.data.by_image import ImageScores
    from sightline.records import Sample

__all__ = ["METHODS", "demo_map", "score_demo", "write_demo"]

METHODS = ("sees-the-parts", "sees-half", "edges", "centre-gaussian", "uniform-random", "constant")
_SIDE = 56  # of a map; an image has four times as many pixels a side
_COUNT = 24


def demo_map(sample: Sample, method: str, seed: int = 0) -> NDArray[np.float32]:
    """Return the map that a method of `METHODS` makes of an image, 56 x 56."""
    shape = (_SIDE, _SIDE)
    rng = np.random.default_rng((seed, METHODS.index(method), *sample.image_id.encode()))
    noise = rng.random(shape, np.float32)
    if method == "constant":
        return np.ones(shape, np.float32)
    if method == "uniform-random":
        return noise
    if method == "centre-gaussian":
        return _blob((0.1, 0.1, 0.9, 0.9))
    if method == "edges":
        return _edges(sample.image())
    boxes = [region.box for region in sample.annotation.scored]
    seen = boxes if method == "sees-the-parts" else boxes[: (len(boxes) + 1) // 2]
    blobs: NDArray[np.float32] = np.max([_blob(box) for box in seen], axis=0)
    return blobs + np.float32(0.05) * noise


def write_demo(folder: str | os.PathLike[str], seed: int = 0) -> list[Path]:
    """Write images, annotations, a contact sheet and a folder of maps per method; return those."""
    folder = Path(folder)
    dataset = load_dataset("facades", count=_COUNT, seed=seed)
    folders = [folder / "maps" / method for method in METHODS]
    for target in folders:
        target.mkdir(parents=True, exist_ok=True)
    for sample in dataset:
        for target in folders:
            array = demo_map(sample, target.name, seed)
            np.save(target / f"{Path(sample.image_id).stem}.npy", array)
    write_facades(dataset, folder)
    write_contact_sheet(dataset, folder / "sheet.png", count=_COUNT, columns=6)
    return folders


def score_demo(
    folder: str | os.PathLike[str], *, progress: Callable[[int, int], object] | None = None
) -> dict[str, ImageScores]:
    """Write the demo, score each method and write `scores/<method>.csv`."""
    folder = Path(folder)
    folders = write_demo(folder)
    annotations = load_dataset("folder", folder, annotations="annotations.json").annotations()
    (folder / "scores").mkdir(exist_ok=True)
    scores = {}
    for number, maps in enumerate(folders):
        scores[maps.name] = score_by_image(open_maps(maps), annotations)
        write_table(scores[maps.name].frame, folder / "scores" / f"{maps.name}.csv")
        if progress is not None:
            progress(number + 1, len(folders))
    return scores


def _blob(box: tuple[float, float, float, float]) -> NDArray[np.float32]:
    """Return a bell over a box; its standard deviation is a third of the side."""
    x0, y0, x1, y1 = box
    centres = (np.arange(_SIDE) + 0.5) / _SIDE
    dx = (centres - (x0 + x1) / 2) / ((x1 - x0) / 3)
    dy = (centres - (y0 + y1) / 2) / ((y1 - y0) / 3)
    return np.exp(-(dx**2 + dy[:, None] ** 2) / 2).astype(np.float32)


def _edges(image: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return how much brightness changes from pixel to pixel, averaged over each cell."""
    grey = image.astype(np.float32).mean(axis=2)
    down, across = np.gradient(grey)
    cell = len(grey) // _SIDE
    change = np.sqrt(down**2 + across**2).reshape(_SIDE, cell, _SIDE, cell)
    edges: NDArray[np.float32] = change.mean(axis=(1, 3)).astype(np.float32)
    return edges
