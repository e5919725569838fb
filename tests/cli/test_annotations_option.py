"""`--annotations` takes what `load_dataset` reads; `inspect` fails where no image is there."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from sightline.core import InputError
from sightline.data import DATASETS, load_dataset, recognise_folder
from tests.cli.small import run
from tests.data.fixtures_files import write_image, write_texts
from tests.data.readers import test_coco, test_cub, test_voc, test_wikichurches, test_yolo

if TYPE_CHECKING:
    from pathlib import Path

TABLE = "image,label,x0,y0,x1,y1\na.png,door,0.1,0.1,0.5,0.5\n"
FILES: dict[str, dict[str, str | bytes]] = {
    "facades": {},
    "photos": {},
    "folder": {"annotations.csv": TABLE},
    "coco": {"annotations/instances_val.json": json.dumps(test_coco._content())},
    "voc": dict(test_voc.TEXTS),
    "yolo": dict(test_yolo.TEXTS),
    "cub": dict(test_cub.TEXTS),
    "wikichurches": {"building_parts.json": json.dumps(test_wikichurches.CONTENT)},
}
"""The files of a small data set of each kind, without its images."""
IMAGES = {
    "yolo": {f"images/{name}": (16, 8) for name in ("train/a.jpg", "train/b.jpg", "val/d.jpg")},
    "voc": {
        "JPEGImages/000001.jpg": (40, 20),
        "JPEGImages/000002.jpg": (40, 20),
        "JPEGImages/000003.png": (20, 10),
    },
    "cub": {
        f"images/{test_cub.FIRST}": (40, 20),
        f"images/{test_cub.SECOND}": (40, 40),
        f"images/{test_cub.THIRD}": (8, 16),
    },
    "wikichurches": {"images/Q1_wd0.jpg": (40, 20), "images/Q2_wd1.jpg": (30, 20)},
}
"""Those that a reader needs: YOLO lists them, boxes in pixels need their sizes."""
OPTIONS: dict[str, dict[str, Any]] = {
    "facades": {"count": 4, "size": 64},
    "cub": {"regions": "box"},
    "coco": {"split": "val"},
    "yolo": {"split": "val"},
}


def make_dataset(kind: str, folder: Path, *, images: bool = True) -> Path | None:
    """Write a small data set of a kind; None for those that need no files."""
    if not DATASETS[kind].layout:
        return None
    folder = folder / ("VOCdevkit/VOC2007" if kind == "voc" else "set")
    write_texts(folder, FILES[kind])
    for name, size in IMAGES.get(kind, {}).items() if images else ():
        write_image(folder / name, size)
    return folder


def write_maps(folder: Path, ids: tuple[str, ...]) -> Path:
    folder.mkdir()
    rng = np.random.default_rng(0)
    for image_id in ids:
        np.save(folder / f"{image_id}.npy", rng.random((6, 7), dtype=np.float32))
    return folder


def name_dataset(kind: str, path: Path | None, options: dict[str, Any]) -> str:
    place = "" if path is None else f":{path}"
    return f"{kind}{place}" + "".join(f",{name}={value}" for name, value in options.items())


@pytest.mark.parametrize("kind", list(DATASETS))
def test_score_takes_every_kind_of_data_set(tmp_path: Path, kind: str) -> None:
    path, options = make_dataset(kind, tmp_path), OPTIONS.get(kind, {})
    dataset = load_dataset(kind, path, **options)
    maps = write_maps(tmp_path / "maps", dataset.ids)
    annotations = name_dataset(kind, path, options)
    said = run("score", maps, "-a", annotations, "-o", tmp_path / "scores.csv", "--json").stdout
    assert json.loads(said)["images_without_map"] == []
    images = [line.split(",")[0] for line in (tmp_path / "scores.csv").read_text().splitlines()]
    assert set(images[1:]) == set(dataset.ids)
    regions = sum(len(annotation.scored) for annotation in dataset.annotations().values())
    assert len(images) - 1 == regions + len(dataset)


@pytest.mark.parametrize("kind", [name for name, spec in DATASETS.items() if spec.layout])
def test_a_folder_is_recognised(tmp_path: Path, kind: str) -> None:
    path = make_dataset(kind, tmp_path)
    assert path is not None
    assert recognise_folder(path) == kind
    maps = write_maps(tmp_path / "maps", load_dataset(kind, path).ids)
    said = [run("score", maps, "-a", words, "--json").stdout for words in (path, f"{kind}:{path}")]
    assert said[0] == said[1]


def test_a_file_of_a_kind_is_read_as_that_kind(tmp_path: Path) -> None:
    folder = make_dataset("coco", tmp_path)
    assert folder is not None
    file = folder / "annotations" / "instances_val.json"
    maps = write_maps(tmp_path / "maps", load_dataset("coco", file).ids)
    said = run("score", maps, "-a", f"coco:{file},crowds=ignore,count=1", code=2).stderr
    assert "coco has no option 'crowds'" in said
    found = json.loads(run("score", maps, "-a", f"coco:{file},count=1", "--json").stdout)
    assert len(found["maps_without_annotation"]) == 2


def test_files_are_read_as_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_texts(tmp_path, {"voc": TABLE, "a,b=c.csv": TABLE, "x:y.csv": TABLE})
    maps = write_maps(tmp_path / "maps", ("a.png",))
    monkeypatch.chdir(tmp_path)
    for name in ("a,b=c.csv", "x:y.csv"):
        run("score", maps, "-a", name)
    assert "unknown annotation format" in run("score", maps, "-a", "voc", code=2).stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("", "no such file or folder, and no data set"),
        ("gone.json", "gone.json: cannot be read: No such file or directory"),
        ("gone/dir", "gone/dir: no such file or folder, and no data set"),
        ("voc", "--annotations voc: voc needs a path"),
        ("voc:gone", "--annotations voc: gone: no such file or folder"),
        ("vco:.", "did you mean 'voc'"),
        ("facades,cuont=4", "did you mean 'count'"),
        ("empty", "--annotations empty: is a folder whose files do not tell what it holds"),
        ("two", "a folder that may be of several kinds; say voc:two, or another kind: voc, yolo"),
        ("maps", "is a folder whose files"),
    ],
)
def test_what_is_no_annotations_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, told: str
) -> None:
    write_maps(tmp_path / "maps", ("a.png",))
    (tmp_path / "empty").mkdir()
    write_texts(tmp_path / "two", {"labels/a.txt": "", "Annotations/a.xml": "", "x.csv": ""})
    monkeypatch.chdir(tmp_path)
    assert told in run("score", "maps", "-a", words, code=2).stderr


def test_several_kinds_of_marks_are_listed(tmp_path: Path) -> None:
    write_texts(tmp_path, {"labels/a.txt": "", "building_parts.json": "{}"})
    with pytest.raises(InputError, match="another kind: yolo, wikichurches"):
        recognise_folder(tmp_path)


def test_the_figures_of_an_image_take_a_data_set(tmp_path: Path) -> None:
    write_texts(tmp_path / "set", {"annotations.csv": TABLE})
    write_image(tmp_path / "set" / "a.png", (64, 64))
    image, words = tmp_path / "set" / "a.png", f"folder:{tmp_path / 'set'}"
    out = tmp_path / "figure.png"
    run("figure", "energy", image, "--annotations", words, "--out", out)
    assert out.is_file()
    said = run("figure", "energy", image, "--annotations", "gone.json", code=2).stderr
    assert "gone.json: cannot be read" in said


def test_parts_out_of_sight_are_not_outside(tmp_path: Path) -> None:
    path = make_dataset("cub", tmp_path)
    maps = write_maps(tmp_path / "maps", test_cub.IDS)
    told = run("score", maps, "-a", f"cub:{path}").stdout
    assert "Regions out of sight, dropped (" in told


# --- inspect -------------------------------------------------------------------------------------


def test_inspect_fails_where_all_images_are_missing(tmp_path: Path) -> None:
    write_texts(tmp_path, {"annotations.csv": f"{TABLE}b.png,door,0,0,1,1\n"})
    failed = run("inspect", "folder", tmp_path, code=1)
    assert "all image files (2) are missing; the first would be " in failed.stderr
    assert "image files missing" in failed.stdout
    failed = run("inspect", "folder", tmp_path, "--json", "--skip-bad", "--quick", code=1)
    assert json.loads(failed.stdout)["missing"] == ["a.png", "b.png"]
    write_image(tmp_path / "b.png", (8, 8))
    assert "Images without a file (1)" in run("inspect", "folder", tmp_path).stdout


@pytest.mark.parametrize("kind", [name for name, spec in DATASETS.items() if spec.layout])
def test_inspect_fails_for_every_kind_without_its_images(tmp_path: Path, kind: str) -> None:
    path = make_dataset(kind, tmp_path, images=False)
    failed = run("inspect", kind, path, "--skip-bad", code=1)
    assert "are missing" in failed.stderr or "no image can be used: 3 records" in failed.stderr


def test_inspect_fails_where_nothing_can_be_used(tmp_path: Path) -> None:
    write_texts(tmp_path, {"annotations.csv": TABLE, "a.png": b"no image"})
    failed = run("inspect", "folder", tmp_path, "--skip-bad", code=1)
    assert "no image can be used: 1 with a problem" in failed.stderr
    write_texts(tmp_path, {"annotations.csv": TABLE.partition("\n")[0] + "\n"})
    assert "there is none" in run("inspect", "folder", tmp_path, code=1).stderr


def test_inspect_of_what_needs_no_files_succeeds() -> None:
    run("inspect", "facades", "--count", 2, "--option", "size=64")
