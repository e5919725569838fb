from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import Image

from sightline.core import InputError
from sightline.data.annotations import read_annotations
from sightline.data.datasets import load_dataset
from sightline.data.facades import Facade, facades
from sightline.data.facades.files import _write_truths, check_facades_folder, write_facades

if TYPE_CHECKING:
    from pathlib import Path


def test_images_and_both_annotation_files_are_those_of_the_data_set(tmp_path: Path) -> None:
    dataset = load_dataset("facades", count=3, seed=5, size=96)
    told: list[tuple[int, int]] = []
    write_facades(dataset, tmp_path / "new", lambda done, total: told.append((done, total)))
    assert told == [(1, 3), (2, 3), (3, 3)]
    names = sorted(path.relative_to(tmp_path / "new").as_posix() for path in tmp_path.rglob("*.*"))
    images = [f"images/{name}" for name in dataset.ids]
    assert names == ["annotations.json", "coco.json", "facades.json", *images]
    plain = read_annotations(tmp_path / "new" / "annotations.json")
    coco = read_annotations(tmp_path / "new" / "coco.json")
    for sample in dataset:
        with Image.open(tmp_path / "new" / "images" / sample.image_id) as image:
            np.testing.assert_array_equal(np.asarray(image), sample.image())
        for found in (plain[sample.image_id], coco[sample.image_id]):
            assert (found.width, found.height) == (96, 96)
            wanted = [region.label for region in sample.annotation.regions]
            assert [region.label for region in found.regions] == wanted
            np.testing.assert_array_equal(
                found.region_masks(96, 96), sample.annotation.region_masks(96, 96)
            )
        assert plain[sample.image_id].labels == sample.labels


def test_the_folder_is_a_data_set(tmp_path: Path) -> None:
    dataset = load_dataset("facades", count=6, size=64)
    write_facades(dataset, tmp_path)
    again = load_dataset("folder", tmp_path)
    assert again.ids == dataset.ids
    for one, other in zip(again, dataset, strict=True):
        np.testing.assert_array_equal(one.image(), other.image())
        assert one.labels == other.labels
    assert again.taxonomy == dataset.taxonomy
    assert again.splits == dataset.splits


def test_what_decides_the_styles_is_written(tmp_path: Path) -> None:
    dataset = load_dataset("facades", count=10, seed=5, size=64, confounded=True).in_split("test")
    write_facades(dataset, tmp_path / "one")
    truths = json.loads((tmp_path / "one" / "facades.json").read_text())
    assert list(truths) == ["facade-00004.png", "facade-00009.png"]
    for (name, truth), index in zip(truths.items(), (4, 9), strict=True):
        facade = Facade.generate(5, index, 64, confounded=True)
        assert truth == {
            "style": facade.style,
            "evidence": facade.evidence,
            "deciding": list(facade.deciding),
            "seed": 5,
            "index": index,
            "size": 64,
            "confounded": True,
        }
        with Image.open(tmp_path / "one" / "images" / name) as image:
            np.testing.assert_array_equal(np.asarray(image), facade.image())
    numpys = facades(10, np.int64(5), np.int64(64), confounded=np.bool_(True))  # type: ignore[arg-type]
    write_facades(numpys.in_split("test"), tmp_path / "two")
    one, two = ((tmp_path / name / "facades.json").read_bytes() for name in ("one", "two"))
    assert one == two
    assert sorted(path.name for path in (tmp_path / "two").iterdir()) == [
        "annotations.json",
        "coco.json",
        "facades.json",
        "images",
    ]


def test_a_failure_keeps_the_file_of_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = load_dataset("facades", count=1, size=64)
    write_facades(dataset, tmp_path)
    before = (tmp_path / "facades.json").read_bytes()

    def fail(path: Path, text: str, **options: str) -> int:
        path.write_bytes(text.encode()[:9])
        raise OSError("disk full")

    monkeypatch.setattr(type(tmp_path), "write_text", fail)
    with pytest.raises(OSError, match="disk full"):
        _write_truths({"other.png": {}}, tmp_path / "facades.json")
    assert (tmp_path / "facades.json").read_bytes() == before
    assert [path.name for path in tmp_path.glob(".*")] == []


def test_only_facades_are_written(tmp_path: Path) -> None:
    write_facades(load_dataset("facades", count=1, size=64), tmp_path / "one")
    with pytest.raises(InputError, match=r"image 'facade-00000.png' must be .*read from"):
        write_facades(load_dataset("folder", tmp_path / "one"), tmp_path / "two")


def test_only_its_own_files_are_replaced(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    for name in ("notes.txt", "images/mine.png", "images/facade-00000.png", "coco.json"):
        (tmp_path / name).write_text("mine")
    write_facades(load_dataset("facades", count=1, size=64), tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert (tmp_path / "images" / "mine.png").read_text() == "mine"
    assert json.loads((tmp_path / "coco.json").read_text())["images"]
    with Image.open(tmp_path / "images" / "facade-00000.png") as image:
        assert image.size == (64, 64)


def test_folders_that_hold_something_need_force(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "new", tmp_path / "empty"):
        assert check_facades_folder(folder) == folder
    with pytest.raises(InputError, match="is not empty"):
        check_facades_folder(tmp_path)
    assert check_facades_folder(tmp_path, force=True) == tmp_path
    with pytest.raises(InputError, match="file: is a file, not a folder"):
        check_facades_folder(tmp_path / "file", force=True)
