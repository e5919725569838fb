"""`sightline detect`: tables, JSON, files, the store, and errors that name what is wrong."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from PIL import Image

from sightline.cli.output import console
from sightline.data import load_dataset, write_facades
from sightline.data.facades.detectors import write_imagined_detections
from sightline.detection import FIGURES, evaluate_detections
from sightline.results import open_detection
from tests.cli.small import error, run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("facades")
    write_facades(load_dataset("facades", count=20, seed=3), out)
    write_imagined_detections(out)
    return out


@pytest.fixture
def files(folder: Path) -> tuple[str, str]:
    return str(folder / "coco.json"), str(folder / "eager.json")


def test_the_tables(files: tuple[str, str]) -> None:
    text = run("detect", *files).stdout
    results = evaluate_detections(*files)
    assert "Detection (coco): 20 images" in text
    assert f"AP50     {results.figures['AP50']:.3f}" in text
    assert "APl          –" in text
    worst = results.by_class().dropna(subset="AP").sort_values("AP", kind="stable")
    rows = text[text.index("Classes, the lowest AP first") :].splitlines()[4:19]
    assert [re.split("  +", row.strip())[0] for row in rows] == worst["name"].tolist()[:15]
    assert "more: --all shows them" in text
    counts = results.error_types().counts
    for kind, count in counts.items():
        assert f"{kind:<15} {count:>6,}" in text
    assert "Classes without ground truth, left out of the means (" in text
    assert "--all shows" not in run("detect", *files, "--all").stdout


def test_json_is_one_object_with_null_for_undefined(files: tuple[str, str]) -> None:
    content = json.loads(run("detect", *files, "--json").stdout)
    assert list(content)[:12] == list(FIGURES)
    assert content["APl"] is None
    assert content == evaluate_detections(*files).to_dict()
    named = {line["name"]: line for line in content["per_class"]}
    assert named["window"]["AP"] is None
    assert 0 < named["pointed window"]["AP"] < 1


@pytest.mark.parametrize("protocol", ["voc", "simple"])
def test_other_protocols_show_the_figures_they_have(files: tuple[str, str], protocol: Any) -> None:
    text = run("detect", *files, "--protocol", protocol).stdout
    expected = evaluate_detections(*files, protocol=protocol).figures
    assert f"AP50     {expected['AP50']:.3f}" in text
    assert "AR1" not in text
    assert ("APs" in text) == (protocol == "simple")


def test_options_reach_the_evaluation(files: tuple[str, str]) -> None:
    options = ("--iou", "0.3,0.5", "--max-dets", "1,5", "--pixel", "inclusive", "--masks")
    truth, found = files
    with pytest.raises(AssertionError):
        run("detect", *files, *options)  # eager.json has boxes alone
    content = json.loads(run("detect", truth, found, *options[:-1], "--json").stdout)
    assert content["iou_thresholds"] == [0.3, 0.5]
    assert content["max_dets"] == [1, 5]
    assert content["pixel"] == "inclusive"
    assert content["AR10"] is None


def test_intervals_and_a_second_detector(folder: Path, files: tuple[str, str]) -> None:
    careful = str(folder / "careful.json")
    more = ("--ci", "0.9", "--resamples", "200", "--against", careful)
    text = run("detect", *files, *more).stdout
    assert "low    high" in text
    assert "eager.json beside careful.json, on the same 20 images" in text
    content = json.loads(run("detect", *files, *more, "--json").stdout)
    ends = content["intervals"]["AP"]
    assert ends["low"] < content["AP"] < ends["high"]
    lines = {line["figure"]: line for line in content["against"] if line["class"] is None}
    assert lines["AP"]["first"] == content["AP"]
    other = evaluate_detections(files[0], careful).figures["AP"]
    assert lines["AP"]["difference"] == pytest.approx(content["AP"] - other)
    assert lines["APl"]["p"] is None


def test_files_and_figures(tmp_path: Path, files: tuple[str, str]) -> None:
    out = tmp_path / "new" / "report"
    text = run("detect", *files, "--out", str(out)).stdout
    assert f"Tables and figures (17): {out}" in text
    tables = {path.stem for path in out.glob("*.csv")}
    assert tables == {"classes", "curves", "confusion", "errors", "reliability", "images"}
    drawn = {"pr_curves", "classes", "confusion_matrix", "error_types", "reliability"}
    assert {path.stem for path in out.glob("*.png")} == drawn
    assert {path.stem for path in out.glob("*.svg")} == drawn
    for path in out.glob("*.png"):
        with Image.open(path) as image:
            assert min(image.size) > 400
            assert len(image.convert("L").getcolors(1 << 20) or []) > 10
    results = evaluate_detections(*files)
    assert json.loads((out / "results.json").read_text()) == results.to_dict()
    classes = pd.read_csv(out / "classes.csv")
    assert classes["AP"].tolist() == pytest.approx(results.by_class()["AP"].tolist(), nan_ok=True)
    images = pd.read_csv(out / "images.csv")
    assert images["cost"].is_monotonic_decreasing
    assert len(images) == 20


def test_the_store_keeps_results_under_a_name(tmp_path: Path, files: tuple[str, str]) -> None:
    store = tmp_path / "runs"
    run("detect", *files, "--store", str(store), "--name", "mine")
    run("detect", *files, "--store", str(store))  # under the name of the file
    stored = open_detection(store, "mine")
    assert stored.figures["AP"] == evaluate_detections(*files).figures["AP"]
    assert open_detection(store, "eager").figures == stored.figures
    assert stored.sources["detections"]["name"] == "eager.json"
    text = run("show", store, "--by", "detection").stdout
    assert [line.split()[0] for line in text.splitlines() if " coco " in line] == ["eager", "mine"]
    assert f"{stored.figures['AP']:.3f}" in text
    lines = json.loads(run("show", store, "--by", "detection", "--json").stdout)["lines"]
    assert [line["name"] for line in lines] == ["eager", "mine"]
    assert lines[0]["APl"] is None
    assert "holds no results of detections" in error("show", tmp_path, "--by", "detection")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--name", "x"), "--name needs --store"),
        (("--iou", "half"), "--iou must be numbers separated by commas; got 'half'"),
        (("--iou", "0.5,2"), "iou_thresholds must be numbers of at least 0 and at most 1"),
        (("--max-dets", "ten"), "--max-dets must be whole numbers separated by commas"),
        (("--image-size", "640"), "--image-size must be as 640x480; got '640'"),
        (("--protocol", "voc", "--ci", "0.9"), "--ci needs --protocol coco; got voc"),
        (("--store", "s", "--name", "../x"), "name must be 1 to 200 letters"),
        (("--protocol", "voc", "--against", "x.json"), "--against needs --protocol coco; got voc"),
    ],
)
def test_options_that_do_not_fit(
    files: tuple[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert message in error("detect", *files, *options)
    assert not list(tmp_path.iterdir())


def test_wrong_files_are_named(folder: Path, tmp_path: Path) -> None:
    truth = folder / "coco.json"
    rows = json.loads((folder / "eager.json").read_text())
    for change, words in (
        ({"image_id": 999}, ("image_id", "999")),
        ({"bbox": [1, 2, -3, 4]}, ("bbox", "-3")),
        ({"score": float("nan")}, ("score",)),
        ({"image_id": "7"}, ("image_id", "'7'")),
    ):
        path = tmp_path / "wrong.json"
        path.write_text(json.dumps([*rows[:5], rows[5] | change, *rows[6:]]))
        told = error("detect", str(truth), str(path))
        for word in ("wrong.json", "5", *words):
            assert word in told, (word, told)
    assert "missing.json" in error("detect", str(truth), str(tmp_path / "missing.json"))
    assert "looks like detections" in error("detect", str(folder / "eager.json"), str(truth))
    content = json.loads(truth.read_text())
    content["annotations"][3]["id"] = content["annotations"][2]["id"]
    path.write_text(json.dumps(content))
    told = error("detect", str(path), str(folder / "eager.json"))
    for word in ("wrong.json", "annotations", "3", "id"):
        assert word in told


def _written(folder: Path, names: list[str], boxes: bool) -> tuple[str, str]:
    """Write a data set of one image with these classes, and what finds all of it."""
    categories = [{"id": place, "name": name} for place, name in enumerate(names)]
    objects = [
        {"id": n, "image_id": 1, "category_id": n, "bbox": [n, 0, 5, 5], "area": 25, "iscrowd": 0}
        for n in range(len(names) * boxes)
    ]
    found = [{key: one[key] for key in ("image_id", "category_id", "bbox")} for one in objects]
    truth = {"images": [{"id": 1}], "categories": categories, "annotations": objects}
    (folder / "gt.json").write_text(json.dumps(truth))
    (folder / "dt.json").write_text(json.dumps([one | {"score": 0.5} for one in found]))
    return str(folder / "gt.json"), str(folder / "dt.json")


@pytest.mark.parametrize("protocol", ["coco", "voc", "simple"])
@pytest.mark.parametrize("names", [[], ["cat"]])
def test_nothing_at_all_is_told_and_written(
    tmp_path: Path, protocol: str, names: list[str]
) -> None:
    files = _written(tmp_path, names, boxes=False)
    options = ("--protocol", protocol, "--out", str(tmp_path / "out"))
    text = run("detect", *files, *options, "--store", str(tmp_path / "store")).stdout
    title = f"Detection ({protocol}): 1 image, 0 objects, 0 detections"
    assert title in " ".join(text.split())
    assert f"AP {'0.000' if protocol == 'simple' else '–'}" in " ".join(text.split())
    assert open_detection(tmp_path / "store", "dt").classes["name"].tolist() == names
    content = json.loads(run("detect", *files, "--json").stdout)
    assert content["AP"] is None
    assert len(content["per_class"]) == len(names)


def test_names_of_any_letters(tmp_path: Path) -> None:
    files = _written(tmp_path, ["[red]x[/red]", "a\x1b[31m", "", "名前 🎉"], boxes=True)
    text = run("detect", *files, "--out", str(tmp_path / "out")).stdout
    for name in ("[red]x[/red]", r"a\x1b[31m", "名前 🎉"):
        assert name in text
    assert "\x1b[31m" not in text
    named = {
        line["class"]: line["name"] for line in evaluate_detections(*files).to_dict()["per_class"]
    }
    assert named[2] == "2"


@pytest.mark.parametrize("width", [40, 60, 80, 120])
@pytest.mark.parametrize("ends", [(), ("--ci", "0.9", "--resamples", "100")])
def test_classes_are_named_however_narrow_the_terminal(
    files: tuple[str, str], width: int, ends: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    console.cache_clear()
    text = run("detect", *files, "--all", *ends).stdout
    console.cache_clear()
    table = text[text.index("Classes, the lowest AP first") : text.index("What costs AP")]
    assert "lantern" in table
    assert "…" not in table
    assert ("low" in table.split("\n", 1)[1]) == ("high" in table)


def test_why_there_is_no_interval(tmp_path: Path) -> None:
    files = _written(tmp_path, ["cat"], boxes=True)
    assert "too few images" in run("detect", *files, "--ci", "0.9").stdout


def test_a_name_for_the_store_is_asked_for(files: tuple[str, str], tmp_path: Path) -> None:
    found = tmp_path / "my results.json"
    found.write_bytes(Path(files[1]).read_bytes())
    told = error("detect", files[0], str(found), "--store", str(tmp_path / "s"))
    assert "--name gives another one" in told


def test_a_name_that_does_not_fit_is_told_before_the_work(
    files: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        pytest.fail("files were read")

    monkeypatch.setattr("sightline.detection.as_tables", fail)
    assert "name must be" in error("detect", *files, "--store", "s", "--name", "../x")


def test_a_confidence_that_is_none_is_refused(files: tuple[str, str], tmp_path: Path) -> None:
    told = error("detect", *files, "--confidence", "nan", "--out", str(tmp_path / "out"))
    assert "confidence_threshold must be a number; got nan" in told
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_made(files: tuple[str, str]) -> None:
    told = error("detect", *files, "--out", f"{files[0]}/sub")
    assert "sub: the folder cannot be made" in told
