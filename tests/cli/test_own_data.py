"""Own images, own weights and own maps, from files to results, as a new user goes."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from transformers import ViTConfig, ViTForImageClassification

from sightline.attribution.methods import explain
from sightline.data import read_annotations
from sightline.data.by_image import score_by_image
from sightline.models import load_model
from sightline.results import open_results
from tests.cli.small import STYLES, error, numbers, run, write_data, write_maps
from tests.models.families import VIT


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write images with annotations, and stand where the commands are typed."""
    write_data(tmp_path / "my images")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_weights(folder: Path) -> None:
    """Write a tiny ViT as transformers does, with the two styles as its classes."""
    torch.manual_seed(0)
    names = dict(enumerate(STYLES))
    ids = {name: number for number, name in names.items()}
    config = ViTConfig(**VIT, id2label=names, label2id=ids)
    ViTForImageClassification(config).save_pretrained(folder)


def means(scores: pd.DataFrame, metric: str) -> float:
    """Return the mean of a metric over images, from a table of `sightline score`."""
    return float(scores.loc[scores["region"].isna(), metric].mean())


def shrink(study: str, **changes: str) -> None:
    """Change lines of a study file."""
    lines = Path(study).read_text().splitlines()
    for key, value in changes.items():
        (place,) = (n for n, line in enumerate(lines) if line.startswith((f"{key}:", f"# {key}:")))
        lines[place] = f"{key}: {value}"
    Path(study).write_text("\n".join(lines))


# --- images and weights of one's own -------------------------------------------------------------


def test_a_folder_of_images_and_local_weights(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_weights(home / "weights")
    said = run("new", "mine.yml", "--path", "my images", "--model", "hf:weights").stdout
    shrink("mine.yml", targets="label")
    text = Path("mine.yml").read_text().replace("  - rollout\n", "  - rollout\n  - gradcam\n")
    Path("mine.yml").write_text(text)
    (home / "elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")  # paths in the file start from its folder
    command = shlex.split(said.splitlines()[-1])
    command[2] = "../mine.yml"
    dry = run(*command[1:]).stdout
    assert "Plan: 6 images with 9 regions, 1 model, 5 methods, " in dry
    assert not Path("runs").exists()
    said = run("run", "../mine.yml", "--workers", 1).stdout
    annotations = read_annotations(home / "my images" / "annotations.json")
    images = sorted((home / "my images" / "images").iterdir())
    maps = explain(load_model(f"hf:{home / 'weights'}"), images, "cls", layers=1)
    arrays = {path.name: maps.of(image=n, layer=1) for n, path in enumerate(images)}
    expected = score_by_image(arrays, annotations).frame
    words = ("--model", "hf:weights", "--method", "cls", "--layer", 1, "--json")
    shown = json.loads(run("show", "runs/mine", *words).stdout)
    assert shown["lines"][0]["value"] == pytest.approx(means(expected, "iou@90"), abs=1e-6)
    for method in ("cls", "rollout", "gradcam", "random", "centre"):
        assert len(numbers(said, "hf:weights", method)) >= 5  # value, interval, chance, ceiling
    assert "over 6 images" in said
    styles = run("show", "runs/mine", "--by", "styles").stdout
    assert all(style in styles for style in STYLES)
    assert "Nothing was left to do" in run("run", "../mine.yml", "--workers", 1).stdout


def test_weights_that_are_not_there(home: Path) -> None:
    run("new", "mine.yml", "--path", "my images", "--model", "hf:no/such-weights")
    assert "no/such-weights" in error("run", "mine.yml")


# --- maps made elsewhere -------------------------------------------------------------------------


def test_maps_made_elsewhere_need_no_model(home: Path) -> None:
    write_maps(home / "my maps")
    run("new", "maps.yml", "--kind", "maps", "--path", "my images", "--maps", "my maps")
    code = (
        "import sys; from typer.testing import CliRunner; from sightline.cli import app\n"
        "for words in ('run maps.yml --dry-run', 'run maps.yml --workers 1', 'show runs/maps'):\n"
        "    done = CliRunner().invoke(app, words.split())\n"
        "    assert done.exit_code == 0, (words, done.output)\n"
        "    found = {'torch', 'transformers', 'timm'} & sys.modules.keys()\n"
        "    assert not found, (words, found)\n"
        "print(done.stdout)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "my-model  my-method" in done.stdout
    run("export", "runs/maps", "--to", "csv")
    frame = pd.read_csv("maps.csv")
    out = ("--annotations", "my images/annotations.json", "--out", "scores.csv")
    run("score", "my maps", *out)
    scores = pd.read_csv("scores.csv")
    union = frame[frame["region"].isna()]
    for metric in ("iou@90", "coverage", "auc_roc", "average_precision", "recall@50"):
        found = union.loc[union["name"] == metric].set_index("image")["value"]
        wanted = scores[scores["region"].isna()].set_index("image")[metric]
        np.testing.assert_allclose(found.loc[wanted.index], wanted, rtol=1e-5)
    assert numbers(done.stdout, "my-model", "my-method")[0] == pytest.approx(
        means(scores, "iou@90"), abs=6e-4
    )


def test_maps_need_no_image_files(home: Path) -> None:
    """Annotations and maps are enough."""
    write_maps(home / "my maps")
    for path in (home / "my images" / "images").iterdir():
        path.unlink()
    run("new", "maps.yml", "--path", "my images", "--maps", "my maps")
    said = run("run", "maps.yml", "--workers", 1).stdout
    assert "Plan: 6 images with 9 regions, 1 method, 6 maps, 1 task" in said


def test_images_without_a_map_are_told(home: Path) -> None:
    write_maps(home / "my maps", count=5)
    run("new", "maps.yml", "--path", "my images", "--maps", "my maps")
    said = run("run", "maps.yml", "--workers", 1).stdout
    assert said.splitlines()[:2] == [
        "Plan: 6 images with 9 regions, 1 method, up to 6 maps, 1 task",
        "No map of my-method for 1 of 6 images: 005.png",
    ]
    assert "scores of 5 maps" in said
    assert "over 5 images" in said


@pytest.mark.parametrize("method", ["cls", "saliency"])
def test_maps_of_explain_are_scored_by_a_study(home: Path, method: str) -> None:
    """They are scored as a study scores the maps that it makes itself."""
    run("explain", "my images/images", "--model", "demo/vit", "--method", method,
        "--maps", "made.safetensors")  # fmt: skip
    run("new", "given.yml", "--path", "my images", "--maps", "made.safetensors")
    text = Path("given.yml").read_text().replace("      sign: positive\n", "")
    Path("given.yml").write_text(text)  # the file of maps says how they are meant
    run("run", "given.yml", "--workers", 1)
    run("new", "made.yml", "--path", "my images", "--model", "demo/vit")
    text = Path("made.yml").read_text()
    start, end = text.index("methods:\n"), text.index("\n# Which layers")
    Path("made.yml").write_text(f"{text[:start]}methods: [{method}]\nlayers: [-1]\n{text[end:]}")
    run("run", "made.yml", "--workers", 1)
    tables: list[Any] = []
    columns = "image, coalesce(region, -1) AS region, name, value"
    sql = f"SELECT {columns} FROM scores_long ORDER BY ALL"  # noqa: S608
    for name in ("given", "made"):
        with open_results(f"runs/{name}") as results:
            tables.append(results.query(sql))
    given, made = tables
    assert given[["image", "region", "name"]].equals(made[["image", "region", "name"]])
    smooth = ~made["name"].str.startswith("pointing")  # a hit or none, on which ties decide
    np.testing.assert_allclose(given["value"][smooth], made["value"][smooth], atol=0.02)
    assert abs(given["value"] - made["value"])[smooth].mean() < 1e-4


# --- annotations of other kinds ------------------------------------------------------------------


def test_coco_files_are_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    content: dict[str, Any] = {"images": [], "annotations": []}
    content["categories"] = [{"id": 7, "name": "cat"}, {"id": 9, "name": "dog"}]
    for folder in ("images", "maps"):
        Path(folder).mkdir()
    for number in range(4):
        name = f"{number:012}.jpg"
        Image.fromarray(rng.integers(0, 256, (40, 60, 3), np.uint8)).save(f"images/{name}")
        np.save(f"maps/{number:012}.npy", rng.random((10, 15)))
        image = {"id": number, "file_name": name, "width": 60, "height": 40}
        content["images"].append(image)
        box = [6, 4, 30, 20]
        content["annotations"].append(
            {"id": number, "image_id": number, "category_id": 7 + 2 * (number % 2), "bbox": box,
             "area": 600, "iscrowd": 0, "segmentation": [[6, 4, 36, 4, 36, 24, 6, 24]]}
        )  # fmt: skip
    Path("instances.json").write_text(json.dumps(content))
    words = ("--data", "coco", "--path", "instances.json", "--maps", "maps")
    run("new", "coco.yml", *words)
    said = run("run", "coco.yml", "--workers", 1).stdout
    assert "Plan: 4 images with 4 regions, 1 method, 4 maps, 1 task" in said
    labels = run("show", "runs/coco", "--by", "labels").stdout
    assert numbers(labels, "cat")[-1] == numbers(labels, "dog")[-1] == 2
    run("score", "maps", "-a", "instances.json", "-o", "scores.csv")
    expected = means(pd.read_csv("scores.csv"), "iou@90")
    assert numbers(said, "my-model", "my-method")[0] == pytest.approx(expected, abs=6e-4)
