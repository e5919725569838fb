"""No command writes CSV whose text a spreadsheet would run as a formula."""

from __future__ import annotations

import contextlib
import csv
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import typer
from PIL import Image
from transformers import ViTConfig, ViTForImageClassification

from sightline.cli import app
from tests.cli.small import run
from tests.models.families import VIT
from tests.small_prototypes import CONFIG, small_model

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LABELS = ("=1+1", "-cmd|' /C calc'!A0")
STYLES = ("@SUM(A1)", "\t=2")
MODEL = "+net"
FILES = tuple(f"-a{number}.png" for number in range(6))
NUMBER = re.compile(r"[+-]?(inf|(\d+\.?\d*|\.\d+)(e[+-]?\d+)?)", re.IGNORECASE)

STUDY = f"""
name: hostile
data: {{name: folder, path: data}}
methods:
  - {{name: first, params: {{maps: one, model: "{MODEL}"}}}}
  - {{name: second, params: {{maps: two, model: "{MODEL}"}}}}
metrics: [iou, coverage]
percentiles: [90]
"""

NETWORK = "=net"
CHECKED = f"""
name: checked
data: {{name: folder, path: data}}
models: "hf:{NETWORK}"
methods:
  - saliency
  - {{name: first, params: {{maps: one, model: "{MODEL}"}}}}
  - {{name: second, params: {{maps: two, model: "{MODEL}"}}}}
layers: -1
metrics: [iou]
percentiles: [90]
checks: {{randomisation: {{images: 2, seeds: 1}}}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write images, labels, maps, and a run over them, all with hostile names."""
    folder = tmp_path_factory.mktemp("hostile")
    rng = np.random.default_rng(0)
    (folder / "data" / "images").mkdir(parents=True)
    images = []
    for number, name in enumerate(FILES):
        pixels = rng.integers(0, 256, (48, 64, 3), np.uint8)
        Image.fromarray(pixels).save(folder / "data" / "images" / name)
        boxes = [[0.1, 0.1, 0.4, 0.5], [0.5, 0.5, 0.9, 0.9]]
        regions = [{"label": text, "box": box} for text, box in zip(LABELS, boxes, strict=True)]
        images.append({"image": name, "width": 64, "height": 48, "labels": [STYLES[number % 2]],
                       "regions": regions})  # fmt: skip
        for maps in ("one", "two"):
            (folder / maps).mkdir(exist_ok=True)
            np.save(folder / maps / f"{Path(name).stem}.npy", rng.random((12, 16), np.float32))
    content = {"format": "sightline-annotations", "version": 1, "images": images}
    (folder / "data" / "annotations.json").write_text(json.dumps(content))
    (folder / "study.yml").write_text(STUDY)
    run("run", folder / "study.yml", "--out", folder / "runs", "--workers", 1)
    return folder


def write_coco(folder: Path) -> tuple[Path, Path]:
    """Write ground truth and detections with hostile names of files and classes."""
    images = [{"id": n + 1, "file_name": name, "width": 64, "height": 48}
              for n, name in enumerate(FILES)]  # fmt: skip
    boxes: list[dict[str, Any]] = [
        {"id": n, "image_id": n, "category_id": 1 + n % 2, "bbox": [4, 4, 20, 20], "area": 400,
         "iscrowd": 0} for n in range(1, 1 + len(FILES))]  # fmt: skip
    names = [{"id": 1, "name": LABELS[0]}, {"id": 2, "name": LABELS[1]}]
    content = {"images": images, "annotations": boxes, "categories": names}
    (folder / "truth.json").write_text(json.dumps(content))
    found = [{**box, "score": 0.5 + box["id"] / 100, "bbox": [5, 5, 20, 20]} for box in boxes]
    (folder / "found.json").write_text(json.dumps(found))
    return folder / "truth.json", folder / "found.json"


def run_analyse(folder: Path, out: Path) -> None:
    data = folder / "data"
    run("analyse", data / "images" / FILES[0], "--annotations", data / "annotations.json",
        "--model", "demo/cnn", "--methods", "edge,centre", "--out", out)  # fmt: skip


def run_score(folder: Path, out: Path) -> None:
    run("score", folder / "one", "-a", folder / "data" / "annotations.json", "--out", out / "s.csv")


def run_stats(folder: Path, out: Path) -> None:
    run("stats", folder / "runs" / "hostile", "--out", out / "stats.csv")


def run_compare(folder: Path, out: Path) -> None:
    store = folder / "runs" / "hostile"
    run("compare", store, "--a", "first", "--b", "second", "--by", "method",
        "--out", out / "compare.csv")  # fmt: skip


def run_sanity(folder: Path, out: Path) -> None:
    classes = dict(enumerate(STYLES))
    config = ViTConfig(**VIT, id2label=classes, label2id={v: k for k, v in classes.items()})
    with contextlib.chdir(folder):  # the network is named by its folder
        ViTForImageClassification(config).save_pretrained(NETWORK)
        Path("checked.yml").write_text(CHECKED)
        run("run", "checked.yml", "--workers", 1)
        run("sanity", "runs/checked", "--csv", out)


def run_figure(folder: Path, out: Path) -> None:
    store = folder / "runs" / "hostile"
    for name in ("leaderboard", "features"):
        run("figure", name, store, "--out", out / f"{name}.png", "--format", "png,csv")


def run_export(folder: Path, out: Path) -> None:
    run("export", folder / "runs" / "hostile", "--to", "csv", "--out", out / "scores.csv")


def run_report(folder: Path, out: Path) -> None:
    run("report", folder / "runs" / "hostile", "--out", out)


def run_detect(folder: Path, out: Path) -> None:
    run("detect", *write_coco(folder), "--out", out)


def run_benchmark(folder: Path, out: Path) -> None:
    (folder / "prototypes.yml").write_text(CONFIG)
    data = f"folder:{folder / 'data'}"
    run("benchmark", folder / "prototypes.yml", "--model", "small", "--data", data,
        "--projection", data, "--out", out)  # fmt: skip


# Each command that writes CSV, and which hostile texts its tables hold.
WRITERS: dict[str, tuple[Callable[[Path, Path], None], set[str]]] = {
    "analyse": (run_analyse, {"label", "file"}),
    "score": (run_score, {"label", "file"}),
    "stats": (run_stats, {"model"}),
    "compare": (run_compare, {"model"}),
    "sanity": (run_sanity, {"model"}),
    "figure": (run_figure, {"label", "model"}),
    "export": (run_export, {"model", "file"}),
    "report": (run_report, {"label", "class", "model", "file"}),
    "detect": (run_detect, {"label"}),
    "benchmark": (run_benchmark, set()),  # numbers, and names that cannot begin like a formula
}
TEXTS = {
    "label": set(LABELS),
    "class": set(STYLES),
    "model": {MODEL},
    "file": {*FILES, *(Path(name).stem for name in FILES)},
}
# The other commands that write files, and what these are.
FILES_OF_OTHERS = {
    "new": "a study, YAML",
    "run": "results: Parquet, safetensors, JSON, YAML",
    "demo": "as run",
    "facades": "pictures and JSON",
    "finetune": "a variant of a model",
    "explain": "a picture",
    "similarity": "a picture or maps",
    "sparsity": "a page, HTML",
    "propose": "proposals, JSON",
    "gold draw": "a gold set, JSON",
    "review new": "a review, SQLite",
    "review add": "adds to a review",
    "review ask": "adds to a review",
    "review export": "annotations, JSON",
}
WITHOUT_FILES = {
    "show": "prints",
    "serve": "sends CSV by the writers of `sightline.data.csv_files`: tests/api/test_exports.py",
    "inspect": "prints",
    "models": "prints",
    "methods": "prints",
    "metrics": "prints",
    "schema": "prints JSON",
    "gold show": "prints",
    "review status": "prints",
    "review log": "prints",
    "figures": "prints",
    "query": "prints a table for people",
    "diff": "prints",
    "digest": "prints",
    "verify": "prints",
}


def iter_commands(command: Any, name: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Yield all commands with their names."""
    if not hasattr(command, "commands"):
        yield " ".join(name), command
        return
    for part, inner in command.commands.items():
        yield from iter_commands(inner, (*name, part))


COMMANDS = dict(iter_commands(typer.main.get_command(app)))


def get_outputs(name: str) -> dict[str, str]:
    """Return the options of a command that say what it writes, with their help."""
    options = ("--csv", "--out", "--format", "--to")
    return {
        option: (parameter.help or "").lower()
        for parameter in COMMANDS[name].params
        for option in set(parameter.opts) & set(options)
    }


def test_every_command_is_known() -> None:
    names = [*WRITERS, *FILES_OF_OTHERS, *WITHOUT_FILES]
    assert sorted(names) == sorted(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_that_offer_csv_are_run_here(name: str) -> None:
    outputs = get_outputs(name)
    if "--csv" in outputs or any("csv" in text for text in outputs.values()):
        assert name in WRITERS
    assert not outputs or name not in WITHOUT_FILES


@pytest.mark.parametrize("command", WRITERS)
def test_no_text_is_a_formula(
    command: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if command == "benchmark":
        monkeypatch.setattr("sightline.models.load_model", lambda *_, **__: small_model())
    write, kinds = WRITERS[command]
    write(folder, tmp_path)
    cells = set()
    for path in tmp_path.rglob("*.csv"):
        with path.open(newline="", encoding="utf-8") as file:
            cells |= {cell for row in csv.reader(file) for cell in row}
    assert cells
    assert not [cell for cell in cells if cell[:1] in "=+-@\t\r" and cell
                and not NUMBER.fullmatch(cell)]  # fmt: skip
    assert {
        kind for kind, texts in TEXTS.items() if cells & {f"'{text}" for text in texts}
    } == kinds
