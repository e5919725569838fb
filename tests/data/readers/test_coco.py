from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from PIL import Image

from sightline.core import InputError, Taxonomy
from sightline.data import load_dataset

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
    [
        "annotations/instances_val.json",
        "annotations/val.json",
        "annotations/person_keypoints_val.json",
        "val/_annotations.coco.json",
        "x_val.json",
    ],
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


def test_a_split_is_not_invented(tmp_path: Path) -> None:
    file = _write(tmp_path / "annotations" / "instances_train2017.json", _content())
    message = r"no file of split 'val2017'; there are: annotations/instances_train2017\.json$"
    chosen: dict[str, Any] = {"annotations": "annotations/instances_train2017.json"}
    for path, options in ((tmp_path, {}), (tmp_path, chosen), (file, {})):
        with pytest.raises(InputError, match=message):
            load_dataset("coco", path, split="val2017", **options)
        assert load_dataset("coco", path, split="train2017", **options).splits == {"train2017": 3}
    _write(tmp_path / "annotations" / "instances_test2017.json", _content())
    message = "no file of split 'val2017'; there are: annotations/instances_test2017.json, annot"
    with pytest.raises(InputError, match=message):
        load_dataset("coco", tmp_path, split="val2017")


def test_a_folder_for_each_split(tmp_path: Path) -> None:
    for split in ("train", "valid"):
        _write(tmp_path / split / "_annotations.coco.json", _content())
        _images(tmp_path / split)
    message = r": train/_annotations\.coco\.json, valid/_annotations\.coco\.json; choose: split="
    with pytest.raises(InputError, match=message):
        load_dataset("coco", tmp_path)
    found = load_dataset("coco", tmp_path, split="valid")
    assert (found.splits, found.root) == ({"valid": 3}, tmp_path)
    for path in (tmp_path / "valid", tmp_path / "valid" / "_annotations.coco.json"):
        assert load_dataset("coco", path)[1].path == found[1].path
    assert found[1].path == tmp_path / "valid" / "a.png"
    (tmp_path / "valid" / "a.png").unlink()  # the one of the same name in train/ is another
    assert load_dataset("coco", tmp_path, split="valid")[1].path == tmp_path / "valid" / "a.png"


def test_files_of_other_tasks(tmp_path: Path) -> None:
    content = _content()
    no_categories = {key: content[key] for key in ("images", "annotations")}
    _write(tmp_path / "annotations" / "captions_val.json", no_categories)
    _write(tmp_path / "annotations" / "person_keypoints_val.json", _content("p.png"))
    (tmp_path / "annotations" / "folder_val.json").mkdir()
    (tmp_path / "annotations" / "._person_keypoints_val.json").write_bytes(b"\x00\x05")
    assert load_dataset("coco", tmp_path, split="val").ids == ("p.png",)
    assert load_dataset("coco", tmp_path).ids == ("p.png",)


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
    _images(tmp_path / "train2017", "gone.png", "a.png")
    found = load_dataset("coco", file)
    assert found[1].path == tmp_path / "val2017" / "a.png"
    assert found[0].path == tmp_path / "val2017" / "gone.png"  # not that of another split
    (tmp_path / "val2017" / "a.png").rename(tmp_path / "val2017" / "a.PNG")
    assert load_dataset("coco", file)[1].path == tmp_path / "val2017" / "a.PNG"


def test_images_are_found_below(tmp_path: Path) -> None:
    file = _write(tmp_path / "annotations" / "x.json", _content())
    _images(tmp_path / "one" / "two", "a.png")
    _images(tmp_path / "three", "b.png")
    for path in (tmp_path, file):
        found = load_dataset("coco", path)
        assert found[1].path == tmp_path / "one" / "two" / "a.png"
        assert found[2].path == tmp_path / "three" / "b.png"
    _images(tmp_path / "three", "a.png")
    message = r"'a\.png': 2 files have this name: one/two/a\.png, three/a\.png"
    with pytest.raises(InputError, match=message):
        load_dataset("coco", tmp_path)


def test_sizes_that_are_missing_are_those_of_the_images(tmp_path: Path) -> None:
    content = _content("a.png", "b.png")
    for image in content["images"]:
        del image["width"], image["height"]
    file = _write(tmp_path / "x.json", content)
    _images(tmp_path / "images", "a.png")
    with pytest.raises(InputError, match=r"images\[1\]: image 1: width and height are missing"):
        load_dataset("coco", file)
    _images(tmp_path / "images", "b.png")
    for kind in ("coco", "folder"):
        found = load_dataset(kind, file)
        assert (found[0].annotation.width, found[0].annotation.height) == (4, 3)
        assert found[0].annotation.regions[0].box == pytest.approx((0, 0, 2 / 4, 2 / 3))


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
        (
            _set_region(score="high"),
            "annotations[0] (id 1)",
            "score must be a finite number",
            (3, 1),
        ),
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


@pytest.mark.parametrize(("there", "asked"), [("valid", "val"), ("val", "valid")])
def test_val_and_valid_are_one_split(tmp_path: Path, there: str, asked: str) -> None:
    _write(tmp_path / "annotations" / f"{there}.json", _content())
    found = load_dataset("coco", tmp_path, split=asked)
    assert found.splits == {asked: 3}


def test_one_image_under_two_names(tmp_path: Path) -> None:
    file = _write(tmp_path / "x.json", _content("a.png", "./a.png"))
    with pytest.raises(InputError, match=r"image '\./a\.png' appears twice, first as 'a\.png'"):
        load_dataset("coco", file)
