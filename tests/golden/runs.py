"""The two studies of the golden run, and what people and detectors add to them."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from PIL import Image
from safetensors.numpy import save_file

from sightline.annotation.gold import draw_gold, pick_gold, write_gold
from sightline.annotation.journal import Journal
from sightline.annotation.proposals import Proposal, Proposals
from sightline.annotation.rating_tasks import draw_tasks
from sightline.core import Region
from sightline.data import load_dataset, write_facades
from sightline.data.choice import DataChoice
from sightline.data.facades.detectors import write_imagined_detections
from sightline.detection import evaluate_detections
from sightline.metrics import METRICS
from sightline.models import load_model
from sightline.results import choose_best_layers, open_results
from sightline.results.predictions import predictions_of
from sightline.store import write_detection
from sightline.study import BenchmarkJob, Study, load_study, run_benchmark, run_study
from sightline.study.config.benchmark import parse_benchmark
from tests.demo import CHECKS, PROTOTYPES
from tests.golden.decisions import decide
from tests.golden.recording import recorded_maps
from tests.loaded import loaded_once

if TYPE_CHECKING:
    from pathlib import Path

    from tests.golden.recording import Recording

DATA = {"name": "facades", "count": 12, "seed": 7, "labelling": "representative"}
MAIN = {
    "name": "golden",
    "data": DATA,
    "models": ["demo/vit-dino", "demo/vit-dino@lora", "demo/cnn"],
    "methods": ["cls", "rollout", "gradcam", "random", "centre", "mean_map"],
    "layers": [0, 2, -1],
    "heads": [0, 3],
    "targets": ["predicted", "label"],
    "metrics": ["coverage", "average_precision", "pointing", "iou", "recall", "precision", "kl"],
    "selection": ["percentile", "mass60"],
    "percentiles": [50, 80, 90, 95],
    "resolution": 56,
    "seeds": [0, 1],
    "checks": CHECKS,
}
"""Networks: layers, heads, targets, seeds, a variant, baselines, sanity checks, sparse labels."""
PRECOMPUTED = {
    "name": "precomputed",
    "data": {"name": "folder", "path": "data"},
    "methods": [
        {"name": "dense", "params": {"maps": "dense.safetensors", "model": "lab/net"}},
        {"name": "signed", "params": {"maps": "signed.safetensors", "sign": "positive"}},
        {
            "name": "rgb",
            "params": {"maps": "rgb.safetensors", "channels": "sum", "sign": "absolute"},
        },
    ],
    "metrics": [name for name, metric in METRICS.items() if metric.level != "dataset"],
    "selection": ["percentile", "mean", "matched"],
    "percentiles": [75, 90],
    "resolution": "pixels",
    "ties": "include",
}
"""Maps alone: every metric, ties, constant maps, ignored pixels, images without annotation."""
LABELS = ("window", "rose window", "door")


class Runs(NamedTuple):
    """The folders of the golden run.

    Attributes
    ----------
    main, precomputed
        Run directories.
    pictures
        Images of the main study with annotations and detections.
    review
        A review with a gold set, proposals and rating tasks.
    decided
        A copy of it in which people have decided, and files of gold sets.
    """

    main: Path
    precomputed: Path
    pictures: Path
    review: Path
    decided: Path


def make_runs(folder: Path, recording: Recording) -> Runs:
    """Run both studies in a folder, with the recorded maps."""
    with loaded_once():
        main = _make_main(folder, recording)
    pictures = _make_pictures(folder / "pictures", main)
    review = _make_review(folder / "review")
    decided = _make_decided(folder / "decided", review)
    return Runs(main, _make_precomputed(folder), pictures, review, decided)


def _make_main(folder: Path, recording: Recording) -> Path:
    plain = Study.from_dict({**MAIN, "checks": {}})
    with recorded_maps(recording):
        run = run_study(plain, folder / "runs", workers=1).store.path
    with open_results(run) as results:
        predictions_of(results)
        checked = choose_best_layers(Study.from_dict(MAIN), results, CHECKS, alone=True)
    run_study(checked, folder / "runs", workers=1)
    data = DataChoice("facades", count=10, options={"seed": 7, "labelling": "representative"})
    job = BenchmarkJob(parse_benchmark(PROTOTYPES), load_model("demo/protopnet"), data, batch=8)
    run_benchmark(job, run, name="demo", text=PROTOTYPES)
    return run


def _make_pictures(folder: Path, run: Path) -> Path:
    """Write the images, and evaluate two imaginary detectors on them."""
    options = {key: value for key, value in DATA.items() if key != "name"}
    write_facades(load_dataset("facades", **options), folder)  # type: ignore[arg-type]
    write_imagined_detections(folder)
    for name in ("eager", "careful"):
        results = evaluate_detections(
            str(folder / "coco.json"), str(folder / f"{name}.json"), ci=0.95, resamples=100
        )
        write_detection(run, name, results)
    return folder


def _make_precomputed(folder: Path) -> Path:
    """Write images, annotations and maps, and run the study that scores them."""
    rng = np.random.Generator(np.random.PCG64(5))
    (folder / "data" / "images").mkdir(parents=True)
    entries = []
    maps: dict[str, dict[str, Any]] = {"dense": {}, "signed": {}, "rgb": {}}
    for index in range(12):
        height, width = (24, 32) if index % 3 else (30, 20)
        name = f"photo-{index:02}.png"
        pixels = rng.integers(0, 256, (height, width, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / "data" / "images" / name)
        entries.append(_draw_annotation(rng, index, name, width, height))
        # Quotients of small whole numbers: the same on all machines, with many ties.
        steps = rng.integers(0, 40, (height, width))
        if index == 4:
            steps[:] = 7
        maps["dense"][name] = (steps / 32).astype(np.float32)
        maps["signed"][name] = (rng.integers(-99, 100, (height, width)) / 64).astype(np.float32)
        maps["rgb"][name] = (rng.integers(-30, 31, (3, height, width)) / 16).astype(np.float32)
    document = {
        "format": "sightline-annotations",
        "version": 1,
        "units": "pixels",
        "labels": {"window": [], "rose window": ["window"], "door": []},
        "images": entries,
    }
    (folder / "data" / "annotations.json").write_text(json.dumps(document))
    for name, values in maps.items():
        save_file(values, folder / f"{name}.safetensors")
    (folder / "precomputed.yml").write_text(json.dumps(PRECOMPUTED))
    return run_study(load_study(folder / "precomputed.yml"), folder / "runs", workers=1).store.path


def _draw_annotation(
    rng: np.random.Generator, index: int, name: str, width: int, height: int
) -> dict[str, Any]:
    """Return an image with up to four boxes: none in image 3, the whole image in image 5."""
    regions: list[dict[str, Any]] = []
    for number in range(0 if index == 3 else index % 4):
        x, y = int(rng.integers(0, width - 8)), int(rng.integers(0, height - 8))
        box = [x, y, x + int(rng.integers(3, 9)), y + int(rng.integers(3, 9))]
        regions.append({"label": LABELS[number % 3], "box": box})
    if index == 5:
        regions = [{"label": "window", "box": [0, 0, width, height]}]
    if index in (2, 6):
        regions.append({"label": "door", "box": [1, 1, 7, 6], "ignore": True})
    labels = ["Gothic"] if index % 2 else ["Baroque"]
    return {
        "image": name,
        "width": width,
        "height": height,
        "labels": labels,
        "split": "test" if index > 7 else "train",
        "regions": regions,
    }


def _make_review(folder: Path) -> Path:
    """Make a review with proposals, a gold set and rating tasks."""
    folder.mkdir()
    options = {key: value for key, value in DATA.items() if key not in ("name", "count")}
    choice = DataChoice("facades", count=12, options=options)
    dataset = choice.open()
    window = Region("window", box=(0.1, 0.1, 0.3, 0.4), source="similarity")
    made = ("similarity", 0, "demo/vit-dino", "0123abcd")
    proposals = [
        Proposal(f"{number:016x}", dataset.ids[number], window, 0.9 - number / 100, *made)
        for number in range(8)
    ]
    gold = draw_gold(dataset, 5, seed=1)
    with Journal.create(
        folder, dataset, Proposals(tuple(proposals), "facades"), gold=gold, choice=choice
    ) as journal:
        journal.add_tasks(draw_tasks(dataset.ids[:2], ("demo/vit-dino cls", "demo/cnn gradcam"), 0))
    return folder


def _make_decided(folder: Path, review: Path) -> Path:
    """Copy a review, let people decide in it, and write three gold sets of its images."""
    shutil.copytree(review, folder)
    with Journal.open(folder) as journal:
        decide(journal)
        dataset, choice = journal.dataset(), journal.choice
    gold = {
        "drawn": draw_gold(dataset, 5, seed=1, choice=choice),
        "by-style": draw_gold(dataset, 6, seed=2, by="style", choice=choice),
        "picked": pick_gold(dataset, dataset.ids[:2], choice=choice),
    }
    for name, images in gold.items():
        write_gold(images, folder / f"{name}.json")
    return folder
