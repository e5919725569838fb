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


WRITERS: dict[str, Callable[[Path, Path], None]] = {
    "analyse": run_analyse, "score": run_score, "stats": run_stats, "compare": run_compare,
    "sanity": run_sanity, "figure": run_figure, "export": run_export, "report": run_report,
    "detect": run_detect, "benchmark": run_benchmark,
}  # fmt: skip
# Each of the other commands was looked through: it writes no CSV.
OTHERS = {
    "new", "run", "show", "serve", "demo", "inspect", "facades", "models", "methods", "metrics",
    "finetune", "schema", "explain", "similarity", "sparsity", "propose", "gold draw", "gold show",
    "review new", "review add", "review status", "review log", "review ask", "review export",
    "figures", "query", "diff", "digest", "verify",
}  # fmt: skip


def iter_commands(command: Any, name: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the names of all commands."""
    if not hasattr(command, "commands"):
        yield " ".join(name)
        return
    for part, inner in command.commands.items():
        yield from iter_commands(inner, (*name, part))


def test_every_command_is_known() -> None:
    assert set(iter_commands(typer.main.get_command(app))) == set(WRITERS) | OTHERS
    assert not set(WRITERS) & OTHERS


@pytest.mark.parametrize("command", WRITERS)
def test_no_text_is_a_formula(
    command: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if command == "benchmark":
        monkeypatch.setattr("sightline.models.load_model", lambda *_, **__: small_model())
    WRITERS[command](folder, tmp_path)
    cells = set()
    for path in tmp_path.rglob("*.csv"):
        with path.open(newline="", encoding="utf-8") as file:
            cells |= {cell for row in csv.reader(file) for cell in row}
    assert not [cell for cell in cells if cell[:1] in "=+-@\t\r" and cell
                and not NUMBER.fullmatch(cell)]  # fmt: skip
    hostile = {f"'{text}" for text in (*LABELS, *STYLES, MODEL, *FILES)}
    hostile |= {f"'{Path(name).stem}" for name in FILES}
    assert cells
    # Tables of prototypes hold numbers, and names that cannot begin like a formula.
    assert command == "benchmark" or any(cell.startswith(tuple(hostile)) for cell in cells)
