"""Data sets: how long they take to open, what memory reading images takes, how fast Facades are.

    python -m benchmarks.data [--quick] [--markdown]

The files are made in a temporary folder, and each line is measured in a process of its own, on one
thread. Seconds are wall clock on an idle machine; the best of three counts, so what is imported at
first use is not in it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks.maps import ONE_THREAD, machine, progress, read_options, table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ROUNDS = 3


# What is measured: a function makes files in a folder, another returns the figure.


def make_wikichurches(folder: Path, images: int, boxes: int) -> None:
    rng = np.random.default_rng(0)
    meta = [{"name": f"part {n}", "parents": [n // 3] if n > 5 else []} for n in range(40)]
    elements = np.concatenate([rng.uniform(0, 0.6, (boxes, 2)), rng.uniform(0, 0.4, (boxes, 2))], 1)
    groups: list[list[dict[str, Any]]] = [[] for _ in range(images)]
    for number, (left, top, width, height) in enumerate(elements.tolist()):
        place = {"left": left, "top": top, "width": width, "height": height}
        groups[number % images].append({**place, "label": number % 40})
    annotations = {
        f"Q{number}_wd0.jpg": {
            "styles": ["Q176483"],
            "bbox_groups": [{"group_label": 0, "elements": group}],
        }
        for number, group in enumerate(groups)
    }
    write_json(folder / "building_parts.json", {"meta": meta, "annotations": annotations})


def make_coco(folder: Path, images: int, annotations: int) -> None:
    """Polygons of 25 points around ellipses, with boxes, as in `instances_val2017.json`."""
    rng = np.random.default_rng(0)
    angles = np.linspace(0, 2 * np.pi, 25, endpoint=False)
    circle = np.stack([np.cos(angles), np.sin(angles)], 1)
    names = [f"{number:012d}.jpg" for number in range(images)]
    found = []
    for number in range(annotations):
        radii = rng.uniform(5, 100, 2)
        centre = rng.uniform(100, 380, 2)
        points = np.round(centre + circle * radii, 2)
        low, high = points.min(axis=0), points.max(axis=0)
        found.append(
            {
                "id": number,
                "image_id": number % images,
                "category_id": number % 80,
                "segmentation": [points.ravel().tolist()],
                "bbox": [*low.tolist(), *(high - low).tolist()],
                "area": float(np.pi * np.prod(radii)),
                "iscrowd": 0,
            }
        )
    content = {
        "images": [
            {"id": number, "file_name": name, "width": 640, "height": 480}
            for number, name in enumerate(names)
        ],
        "annotations": found,
        "categories": [{"id": number, "name": f"category {number}"} for number in range(80)],
    }
    write_json(folder / "instances.json", content)


def make_images(folder: Path, images: int, _: int) -> None:
    """Photograph-sized JPEG files of twenty kinds, with an annotation file."""
    from PIL import Image

    (folder / "images").mkdir()
    rng = np.random.default_rng(0)
    sizes = [(640, 480), (480, 640), (500, 375), (640, 427)] * 5
    blocks = [Image.fromarray(rng.integers(0, 256, (12, 16, 3), np.uint8)) for _ in sizes]
    kinds = []
    for number, (block, size) in enumerate(zip(blocks, sizes, strict=True)):
        block.resize(size).save(folder / f"{number}.part", "JPEG")
        kinds.append((folder / f"{number}.part").read_bytes())
        (folder / f"{number}.part").unlink()
    listed = []
    for number in range(images):
        name = f"{number:05d}.jpg"
        (folder / "images" / name).write_bytes(kinds[number % len(kinds)])
        width, height = sizes[number % len(kinds)]
        region = {"label": "door", "box": [0.1, 0.1, 0.5, 0.5]}
        listed.append({"image": name, "width": width, "height": height, "regions": [region]})
    head = {"format": "sightline-annotations", "version": 1, "units": "normalised"}
    write_json(folder / "annotations.json", {**head, "images": listed})


def make_nothing(folder: Path, images: int, _: int) -> None:
    """Facades have no files."""


def write_json(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content), encoding="utf-8")


def seconds_to_open(name: str, path: Path, images: int) -> float:
    from sightline import load_dataset

    def once() -> float:
        start = time.perf_counter()
        dataset = load_dataset(name, path)
        taken = time.perf_counter() - start
        assert len(dataset) == images
        return taken

    return min(once() for _ in range(ROUNDS))


def open_wikichurches(folder: Path, images: int) -> float:
    return seconds_to_open("wikichurches", folder, images)


def open_coco(folder: Path, images: int) -> float:
    return seconds_to_open("coco", folder / "instances.json", images)


def memory_ratio(folder: Path, images: int) -> float:
    """Resident memory after all images over that after the first tenth."""
    from sightline import load_dataset

    early = 0
    for number, sample in enumerate(load_dataset("folder", folder), 1):
        sample.image()
        if number == images // 10:
            early = resident()
    return resident() / early


def resident() -> int:
    """Bytes of this process in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def facades_per_second(folder: Path, images: int) -> float:
    from sightline import load_dataset

    def once(seed: int) -> float:
        start = time.perf_counter()
        for sample in load_dataset("facades", count=images, seed=seed):
            assert sample.image().shape == (224, 224, 3)
            assert sample.annotation.regions[0].mask is not None
        return time.perf_counter() - start

    return images / min(once(seed) for seed in range(ROUNDS))


class Task(NamedTuple):
    text: str
    unit: str
    make: Callable[[Path, int, int], None]
    measure: Callable[[Path, int], float]
    images: int
    regions: int = 0
    least: float = 0
    most: float = float("inf")


TASKS = {
    "wikichurches": Task(
        "open WikiChurches, 139 images, 631 boxes",
        "s", make_wikichurches, open_wikichurches, 139, 631, most=0.3,
    ),
    "coco": Task(
        "open COCO val, 5,000 images, 37,000 polygons",
        "s", make_coco, open_coco, 5000, 37_000, most=2,
    ),
    "memory": Task(
        "memory after 2,000 images over that after 200",
        "×", make_images, memory_ratio, 2000, most=1.1,
    ),
    "facades": Task(
        "Facades at 224×224 with masks",
        "images/s", make_nothing, facades_per_second, 200, least=60,
    ),
}  # fmt: skip


# Running: a child measures one task on files that the parent made, and prints the figure.


def in_child(name: str, folder: Path, images: int) -> float:
    argv = [sys.executable, "-W", "ignore", "-m", __spec__.name]
    argv += ["--task", name, "--folder", str(folder), "--images", str(images)]
    done = subprocess.run(
        argv, env=os.environ | ONE_THREAD, check=True, text=True, stdout=subprocess.PIPE
    )
    return float(done.stdout)


def run(name: str, share: float = 1) -> float:
    """The figure of a task, on fewer images where a share is given."""
    task = TASKS[name]
    images, regions = round(task.images * share), round(task.regions * share)
    with tempfile.TemporaryDirectory() as folder:
        task.make(Path(folder), images, regions)
        return in_child(name, Path(folder), images)


def rows(figures: dict[str, float]) -> list[list[str]]:
    """A line per task: what was wanted and what was seen."""
    found = [["data sets", "unit", "wanted", "seen", ""]]
    for name, value in figures.items():
        task = TASKS[name]
        wanted = f"≥ {task.least:g}" if task.least else f"≤ {task.most:g}"
        verdict = "met" if task.least <= value <= task.most else "missed"
        found.append([task.text, task.unit, wanted, f"{value:.3g}", verdict])
    return found


def main(argv: Sequence[str] | None = None) -> None:
    options = read_options(__doc__, argv, ("--task", "--folder", "--images"))
    if options.task:
        print(TASKS[options.task].measure(Path(options.folder), int(options.images)))
        return
    figures = {}
    for name, task in TASKS.items():
        progress(task.text)
        figures[name] = run(name, 0.1 if options.quick else 1)
    progress("")
    print(f"{machine()}\n\n{table(rows(figures), markdown=options.markdown)}")


if __name__ == "__main__":
    main()
