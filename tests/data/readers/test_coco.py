from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from PIL import Image

from sightline.data import load_dataset
from sightline.records import InputError, Taxonomy

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NAMES = ("gone.png", "a.png", "b.png")


def _content(*names: str) -> dict[str, Any]:
    return {
        "images": [
            {"id": number, "file_name": name, "width": 4, "height": 3}
            for number, name in enumerate(names or NAMES)
        ],
        "categories": [
            {"id": 1, "name": "cat", "supercategory": "animal"},
            {"id": 2, "name": "person", "supercategory": "person"},
        ],
        "annotations": [
            {"id": 1, "image_id": 0, "category_id": 1, "bbox": [0, 0, 2, 2]},
            {"id": 2, "image_id": 0, "category_id": 2, "bbox": [1, 1, 1, 1], "iscrowd": 1},
        ],
    }


def _write(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))
    return path


def _images(folder: Path, *names: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names or NAMES[1:]:
        Image.new("RGB", (4, 3), "red").save(folder / name)


# --- which file ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "file",
    ["annotations/instances_val.json", "annotations/val.json", "annotations/x.json", "x.json"],
)
def test_the_file_is_found(tmp_path: Path, file: str) -> None:
    _write(tmp_path / file, _content())
    found = load_dataset("coco", tmp_path, split="val")
    assert found.ids == NAMES
    assert found.splits == {"val": 3}
    assert found.root == tmp_path
    assert (found.name, found.taxonomy.parents["cat"]) == ("coco", ("animal",))


def test_several_files_are_listed(tmp_path: Path) -> None:
    _write(tmp_path / "annotations" / "instances_train.json", _content("t.png"))
    _write(tmp_path / "annotations" / "instances_val.json", _content("v.png"))
    _write(tmp_path / "info.json", {"a": 1})
    message = (
        r"several COCO files: annotations/instances_train\.json, annotations/instances_val\.json; "
        r"choose: split= or annotations="
    )
    with pytest.raises(InputError, match=message):
        load_dataset("coco", tmp_path)
    assert load_dataset("coco", tmp_path, split="val").ids == ("v.png",)
    file = "annotations/instances_train.json"
    assert load_dataset("coco", tmp_path, annotations=file).ids == ("t.png",)
    assert load_dataset("coco", tmp_path / file).ids == ("t.png",)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no COCO file"):
        load_dataset("coco", tmp_path)
    with pytest.raises(InputError, match=r"none\.json: cannot be read"):
        load_dataset("coco", tmp_path, annotations="none.json")


# --- which images --------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", ["val", "images/val", "images", "."])
@pytest.mark.parametrize("whole", [True, False])
def test_the_images_are_found(tmp_path: Path, folder: str, whole: bool) -> None:
    file = _write(tmp_path / "annotations" / "instances_val.json", _content())
    _images(tmp_path / folder)
    found = load_dataset("coco", tmp_path if whole else file, split="val")
    assert found.root == tmp_path
    assert found[1].path == tmp_path / folder / "a.png"
    assert found[2].image().tolist() == [[[255, 0, 0]] * 4] * 3
    with pytest.raises(InputError, match=r"gone\.png: no such image"):
        found[0].image()


def test_the_name_of_the_file_says_where_its_images_are(tmp_path: Path) -> None:
    file = _write(tmp_path / "annotations" / "instances_val2017.json", _content())
    _images(tmp_path / "val2017")
    assert load_dataset("coco", file)[1].path == tmp_path / "val2017" / "a.png"


def test_the_folder_of_the_images_can_be_given(tmp_path: Path) -> None:
    root, elsewhere = tmp_path / "set", tmp_path / "elsewhere"
    file = _write(root / "x.json", _content())
    for folder in (root, root / "small", elsewhere):
        _images(folder)
    for path in (root, file):
        inner = load_dataset("coco", path, images="small")
        assert (inner[1].path, inner.root) == (root / "small" / "a.png", root)
        outer = load_dataset("coco", path, images=elsewhere)
        assert (outer[1].path, outer.root) == (elsewhere / "a.png", elsewhere)
        assert outer[1].image().shape == (3, 4, 3)
    with pytest.raises(InputError, match=r"no such folder .*none"):
        load_dataset("coco", root, images="none")


def test_images_are_not_needed(tmp_path: Path) -> None:
    found = load_dataset("coco", _write(tmp_path / "x.json", _content()))
    assert [len(sample.annotation.regions) for sample in found] == [2, 0, 0]
    with pytest.raises(InputError, match="no such image"):
        found[1].image()


# --- splits, labels, ignored regions -------------------------------------------------------------


def test_splits_of_the_file(tmp_path: Path) -> None:
    content = _content()
    for image, split in zip(content["images"], ("train", "test", "train"), strict=True):
        image["split"] = split
    file = _write(tmp_path / "annotations" / "all.json", content)
    assert load_dataset("coco", file).splits == {"train": 2, "test": 1}
    assert load_dataset("coco", file, split="test").ids == ("a.png",)
    assert load_dataset("coco", tmp_path, split="test").ids == ("a.png",)
    with pytest.raises(InputError, match="no images in split 'val'"):
        load_dataset("coco", file, split="val")


def test_a_file_named_by_the_split_is_all_of_it(tmp_path: Path) -> None:
    content = _content()
    content["images"][0]["split"] = "other"
    _write(tmp_path / "annotations" / "val.json", content)
    assert load_dataset("coco", tmp_path, split="val").splits == {"val": 3}


def test_supercategories_stand_above(tmp_path: Path) -> None:
    found = load_dataset("coco", _write(tmp_path / "x.json", _content()))
    assert found.taxonomy == Taxonomy({"cat": ["animal"], "person": [], "animal": []})
    assert found.taxonomy.names == ("cat", "person", "animal")


def test_crowds_can_be_ignored(tmp_path: Path) -> None:
    file = _write(tmp_path / "x.json", _content())
    found = load_dataset("coco", file, ignore=["crowd"])
    assert [region.ignore for region in found[0].annotation.regions] == [False, True]


# --- bad input -----------------------------------------------------------------------------------


def _set_image(**change: Any) -> Callable[[dict[str, Any]], object]:
    return lambda content: content["images"][1].update(change)


def _set_region(**change: Any) -> Callable[[dict[str, Any]], object]:
    return lambda content: content["annotations"][0].update(change)


@pytest.mark.parametrize(
    ("change", "where", "what", "kept"),
    [
        (_set_image(file_name="../a.png"), "image '../a.png'", "leaves the folder", (2, 2)),
        (_set_image(file_name="/etc/a.png"), "image '/etc/a.png'", "leaves the folder", (2, 2)),
        (
            _set_image(file_name="x/../../a.png"),
            "image 'x/../../a.png'",
            "leaves the folder",
            (2, 2),
        ),
        (
            _set_image(file_name="http://h/a.png"),
            "images[1]",
            "image 1: image name 'http://h/a.p",
            (2, 2),
        ),
        (
            _set_image(file_name="b.png"),
            "images[2]",
            "image 2: image 'b.png' appears twice",
            (2, 2),
        ),
        (_set_image(id=0), "images[1]", "id 0 appears twice", (2, 2)),
        (
            lambda c: c["images"].insert(1, ["a.png"]),
            "images[1]",
            "must be an object, got ['a.png'",
            (3, 2),
        ),
        (
            _set_region(bbox=[0, 0, float("nan"), 1]),
            "annotations[0] (id 1)",
            "got [0, 0, nan, 1]",
            (3, 1),
        ),
        (_set_region(bbox=[0, 0, 10**400, 1]), "annotations[0] (id 1)", "4 finite numbers", (3, 1)),
        (_set_region(id=2), "annotations[1] (id 2)", "id 2 appears twice", (3, 1)),
        (_set_region(score="high"), "annotations[0] (id 1)", "score must be 1 finite", (3, 1)),
        (_set_region(iscrowd=2), "annotations[0] (id 1)", "iscrowd must be 0 or 1, got 2", (3, 1)),
    ],
)
def test_bad_records_raise_or_are_set_aside(
    tmp_path: Path,
    change: Callable[[dict[str, Any]], object],
    where: str,
    what: str,
    kept: tuple[int, int],
) -> None:
    content = _content()
    change(content)
    file = _write(tmp_path / "x.json", content)
    with pytest.raises(InputError) as caught:
        load_dataset("coco", file)
    assert str(caught.value).startswith(f"{file}: {where}: ")
    assert what in str(caught.value)
    found = load_dataset("coco", file, skip_bad=True)
    assert [problem.where for problem in found.skipped] == [f"{file}: {where}"]
    assert what in found.skipped[0].what
    regions = sum(len(sample.annotation.regions) for sample in found)
    assert (len(found), regions) == kept


def test_a_broken_file_has_nothing_to_set_aside(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"images": [\n {"id": 1,,}]}')
    for skip_bad in (False, True):
        with pytest.raises(InputError, match=r"x\.json: is not valid JSON: .*line 2 column 11"):
            load_dataset("coco", tmp_path, skip_bad=skip_bad)


def test_links_that_leave_are_not_followed(tmp_path: Path) -> None:
    secret, root = tmp_path / "secret", tmp_path / "set"
    _images(secret)
    _write(root / "x.json", _content())
    (root / "a.png").symlink_to(secret / "a.png")
    sample = load_dataset("coco", root)[1]
    with pytest.raises(InputError, match=r"a\.png' leaves the folder"):
        sample.image()
    (root / "a.png").unlink()
    (root / "images").symlink_to(secret)
    with pytest.raises(InputError, match=r"images' leaves the folder"):
        load_dataset("coco", root)
    assert load_dataset("coco", root, images=secret)[1].image().shape == (3, 4, 3)
