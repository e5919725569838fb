"""The study of the demo on fewer images, with detections beside it: made once for all tests."""

from __future__ import annotations

import fcntl
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sightline.data import load_dataset, write_facades
from sightline.data.facades.detectors import write_imagined_detections
from sightline.detection import evaluate_detections
from sightline.models import load_model
from sightline.results import choose_best_layers, open_results
from sightline.results.predictions import predictions_of
from sightline.store import write_detection
from sightline.study import BenchmarkJob, Study, demo_study, run_benchmark, run_study
from sightline.study.config.benchmark import DataChoice, parse_benchmark
from tests.loaded import loaded_once

if TYPE_CHECKING:
    from collections.abc import Callable

COUNT = 16
DETECTOR = "eager"
CHECKS: dict[str, dict[str, Any]] = {
    "randomisation": {"seeds": 2, "images": 3, "methods": ["gradcam"], "models": ["demo/cnn"]},
    "faithfulness": {
        "measures": ["deletion", "insertion"],
        "steps": 4,
        "images": 2,
        "methods": ["gradcam"],
        "models": ["demo/cnn"],
    },
    "parts": {"images": 3, "methods": ["gradcam"], "models": ["demo/cnn"]},
}
"""The checks of both studies: one method of one model, on few images."""
SERVED = {
    "name": "served",
    "data": {"name": "facades", "count": 12, "seed": 7, "labelling": "representative"},
    "models": ["demo/vit-dino", "demo/vit-dino@lora", "demo/cnn"],
    "methods": ["cls", "rollout", "gradcam", "saliency", "random", "centre"],
    "layers": [0, 2, -1],
    "heads": "all",
    "metrics": ["coverage", "average_precision", "pointing", "iou", "recall", "precision"],
    "selection": ["percentile", "mass60"],
    "resolution": 56,
    "seeds": [0, 1],
    "checks": CHECKS,
}
"""The study behind tests of the service and the app: heads, a variant, seeds, sparse labels."""
PROTOTYPES = """\
relevance_analysis:
  sampling_ratio: 4
local_perturbation_analysis:
  num_prototypes: 1
  perturbations:
    hue: {type: hue, params: {hue_factor: 0.4}}
    dull:
      - {type: saturation, params: {saturation_factor: 0.2}}
      - {type: blur, params: {gaussian_blur_ksize: 11, gaussian_blur_sigma: 3}}
"""
"""What is asked of the prototypes in both stores: the benchmark `demo`."""


def small_demo(count: int = COUNT) -> Study:
    """Return the demo's study with fewer images, scored on fewer pixels, with fewer steps."""
    study = demo_study().to_dict()
    study["data"]["count"] = count
    study["resolution"] = 56  # of all models, as the demo's pixels are
    for method in study["methods"]:
        if "steps" in method["params"]:
            method["params"] = {"steps": 2}
    study["checks"] = CHECKS
    return Study.from_dict(study)


def make_demo_store(folder: Path) -> Path:
    """Run the study, ask its classifiers, and evaluate an imaginary detector."""
    return _with_answers(small_demo(), folder, COUNT)


def make_served_store(folder: Path) -> Path:
    """Run the study that is served in tests, ask its classifiers, and evaluate a detector."""
    return _with_answers(Study.from_dict(SERVED), folder, 12)


def _with_answers(study: Study, folder: Path, count: int) -> Path:
    with loaded_once():
        plain = Study.from_dict({**study.to_dict(), "checks": {}})
        store = run_study(plain, folder, workers=1).store.path
        with open_results(store) as results:
            predictions_of(results)
            checked = choose_best_layers(study, results, CHECKS, alone=True)
        run_study(checked, folder, workers=1)
        # Both stores have the same one, beside which each is made.
        benchmark = once(folder.parents[1] / "benchmark", make_demo_benchmark)
        shutil.copytree(benchmark, store / "prototypes" / "demo")
    pictures = folder / "pictures"
    write_facades(load_dataset("facades", count=count, seed=7), pictures)
    write_imagined_detections(pictures)
    found = evaluate_detections(
        str(pictures / "coco.json"), str(pictures / f"{DETECTOR}.json"), ci=0.95, resamples=100
    )
    write_detection(store, DETECTOR, found)
    return store


def make_demo_benchmark(folder: Path) -> Path:
    """Analyse the prototypes of the demo's model, on as many images as intervals need."""
    data = DataChoice("facades", count=10, options={"seed": 7, "labelling": "representative"})
    asked = BenchmarkJob(parse_benchmark(PROTOTYPES), load_model("demo/protopnet"), data, batch=8)
    return run_benchmark(asked, folder, name="demo", text=PROTOTYPES).path


def once(folder: Path, make: Callable[[Path], Path]) -> Path:
    """Make a folder once, whichever of several processes comes first; return what was made."""
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = folder / "done"
        if not done.is_file():
            shutil.rmtree(folder / "made", ignore_errors=True)
            (folder / "made").mkdir()
            done.write_text(str(make(folder / "made")))
        return Path(done.read_text())
