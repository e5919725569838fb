from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unicodedata import normalize

import pytest
from PIL import Image

from sightline.core import InputError
from sightline.data import load_dataset
from sightline.data.problems import Problems
from sightline.data.readers.folder import read

CSV = "image,label,x0,y0,x1,y1\na.png,door,0,0,1,1\nsub/b.png,window,0,0,0.5,1\n"
PLAIN: dict[str, Any] = {
    "format": "sightline-annotations",
    "version": 1,
    "images": [{"image": "a.png", "split": "train"}, {"image": "sub/b.png"}],
}


def _image(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (4, 3), "blue").save(path)


@pytest.mark.parametrize(
    "name", ["annotations.json", "annotations.csv", "regions.json", "regions.csv", "boxes.CSV"]
)
@pytest.mark.parametrize("base", [".", "images", "deep/photos"])
def test_file_and_images_are_found(tmp_path: Path, name: str, base: str) -> None:
    (tmp_path / name).write_text(json.dumps(PLAIN) if name.endswith("json") else CSV)
    _image(tmp_path / base / "sub" / "b.png")
    for path in (tmp_path, tmp_path / name):
        found = load_dataset("folder", path)
        assert (found.ids, found.root) == (("a.png", "sub__b.png"), tmp_path)
        assert found[1].image().shape == (3, 4, 3)
        assert found[1].path == tmp_path / base / "sub" / "b.png"


def test_the_usual_name_comes_first(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")
    (tmp_path / "regions.json").write_text("{}")
    (tmp_path / "annotations.csv").write_text(CSV)
    assert len(load_dataset("folder", tmp_path)) == 2


def test_what_systems_leave_behind_is_no_file_of_regions(tmp_path: Path) -> None:
    for name, text in (("parts.json", json.dumps(PLAIN)), ("._parts.json", "\0")):
        (tmp_path / name).write_text(text)
    assert len(load_dataset("folder", tmp_path)) == 2


def test_several_or_no_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no file of regions"):
        load_dataset("folder", tmp_path)
    for name in ("b.json", "a.csv"):
        (tmp_path / name).write_text(CSV)
    with pytest.raises(InputError, match=r"several .*: a\.csv, b\.json; choose: annotations="):
        load_dataset("folder", tmp_path)
    assert len(load_dataset("folder", tmp_path, annotations="a.csv")) == 2


def test_the_folder_of_the_images_can_be_given(tmp_path: Path) -> None:
    (tmp_path / "annotations.csv").write_text(CSV)
    for folder in ("small", "images"):
        _image(tmp_path / folder / "a.png")
    found = load_dataset("folder", tmp_path, images="small")
    assert found[0].path == tmp_path / "small" / "a.png"


def _paths(path: Path, **options: Any) -> list[str]:
    """Return where the images of a data set are, from its folder."""
    return [
        sample.path.relative_to(path).as_posix()
        for sample in load_dataset("folder", path, **options)
        if sample.path is not None
    ]


def _names(folder: Path, *names: str) -> None:
    images = [{"image": name} for name in names]
    content = {"format": "sightline-annotations", "version": 1, "images": images}
    (folder / "annotations.json").write_text(json.dumps(content))


def test_each_image_is_found_for_itself(tmp_path: Path) -> None:
    files = ("c.png", "images/c.png", "images/d.png", "images/train/a.png", "other/x/b.png")
    for name in (*files, "__MACOSX/a.png", ".cache/a.png", "other/.b.png"):
        _image(tmp_path / name)
    _names(tmp_path, "a.png", "x/b.png", "c.png", "d.png", "y/b.png")
    found = ["images/train/a.png", "other/x/b.png", "c.png", "images/d.png"]
    # The one that is missing is expected in the first folder that held one.
    assert _paths(tmp_path) == [*found, "y/b.png"]
    assert load_dataset("folder", tmp_path)[0].image().shape == (3, 4, 3)


def test_several_files_of_one_name(tmp_path: Path) -> None:
    for name in ("augmented/a.png", "photos/a.png", "photos/b.png"):
        _image(tmp_path / name)
    _names(tmp_path, "a.png", "b.png")
    message = r"image 'a\.png': 2 files have this name: augmented/a\.png, photos/a\.png; .*images="
    with pytest.raises(InputError, match=message):
        load_dataset("folder", tmp_path)
    found = load_dataset("folder", tmp_path, skip_bad=True)
    assert (found.ids, len(found.skipped)) == (("b.png",), 1)
    assert _paths(tmp_path, images="photos") == ["photos/a.png", "photos/b.png"]


KOELN, KOELN_APART = normalize("NFC", "Köln.png"), normalize("NFD", "Köln.png")


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("sub\\a.png", "sub/a.png"),
        ("sub\\a.png", "images/sub/a.png"),
        ("a.png", "a.PNG"),
        ("a.PNG", "images/a.png"),
        (KOELN, KOELN_APART),
        (KOELN_APART, f"deep/{KOELN}"),
    ],
)
def test_names_that_are_written_otherwise(tmp_path: Path, name: str, file: str) -> None:
    _image(tmp_path / file)
    _names(tmp_path, name)
    assert _paths(tmp_path) == [file]


def test_the_exact_name_comes_first(tmp_path: Path) -> None:
    for name in ("a.PNG", "deep/a.png", "b.PNG", "deep/b.PNG"):
        _image(tmp_path / name)
    _names(tmp_path, "a.png", "b.png")
    assert _paths(tmp_path) == ["deep/a.png", "b.PNG"]


def test_paths_from_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("images/a.PNG", "deep/a.PNG", "deep/b.png"):
        _image(tmp_path / name)
    _names(tmp_path, "a.png", "b.png")
    monkeypatch.chdir(tmp_path)
    for path in (".", "annotations.json"):
        found = read(Path(path), Problems(), None)
        assert [str(sample.path) for sample in found] == ["images/a.PNG", "deep/b.png"]


def test_splits_and_labels(tmp_path: Path) -> None:
    (tmp_path / "annotations.json").write_text(json.dumps(PLAIN))
    assert load_dataset("folder", tmp_path).splits == {"train": 1, "": 1}
    assert load_dataset("folder", tmp_path, split="train").ids == ("a.png",)
    (tmp_path / "annotations.json").unlink()
    (tmp_path / "annotations.csv").write_text(CSV)
    assert load_dataset("folder", tmp_path).taxonomy.names == ("door", "window")


def test_a_name_that_leaves_the_folder(tmp_path: Path) -> None:
    _image(tmp_path / "secret.png")
    (tmp_path / "set").mkdir()
    file = tmp_path / "set" / "annotations.csv"
    file.write_text(CSV + "../secret.png,door,0,0,1,1\n")
    with pytest.raises(InputError, match=r"annotations\.csv: image '\.\./secret\.png': leaves the"):
        load_dataset("folder", tmp_path / "set")
    found = load_dataset("folder", tmp_path / "set", skip_bad=True)
    assert found.ids == ("a.png", "sub__b.png")
    assert [problem.where for problem in found.skipped] == [f"{file}: image '../secret.png'"]
