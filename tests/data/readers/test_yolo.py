from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightline.core import InputError, Taxonomy
from sightline.data.datasets import load_dataset
from tests.data.fixtures_files import write_image, write_texts

if TYPE_CHECKING:
    from pathlib import Path

YAML = "path: ../datasets/churches\ntrain: images/train\nval: images/val\nnames: [door, window]\n"
TEXTS = {
    "data.yaml": YAML,
    "labels/train/a.txt": "0 0.5 0.5 0.5 0.25\n\n1 0.25 0.25 0.25 0.25 0.875\n",
    "labels/train/b.txt": "",
    "labels/val/d.txt": "1 0.5 0 1 0 1 0.5 0.5 0.5\n1.0 0 0 0.5 0 0.5 1\n",
    "labels/val/gone.txt": "0 0.5 0.5 1 1\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_texts(tmp_path, TEXTS)
    for name in ("train/a.jpg", "train/b.png", "train/c.jpg", "val/d.jpg"):
        write_image(tmp_path / "images" / name, (16, 8))
    return tmp_path


def test_reads_boxes_confidences_and_polygons(folder: Path) -> None:
    dataset = load_dataset("yolo", folder)
    first, second = dataset[0].annotation.regions
    assert (first.label, first.kind, first.box) == ("door", "box", (0.25, 0.375, 0.75, 0.625))
    assert (first.index, first.source, first.score) == (0, "line 1", None)
    assert (second.label, second.box) == ("window", (0.125, 0.125, 0.375, 0.375))
    assert (second.index, second.source, second.score) == (1, "line 3", 0.875)
    square, triangle = dataset.by_id("val__d.jpg").annotation.regions
    assert (square.kind, square.box, square.label) == ("polygon", (0.5, 0, 1, 0.5), "window")
    expected = np.zeros((8, 16), bool)
    expected[:4, 8:] = True
    np.testing.assert_array_equal(square.to_mask(8, 16), expected)
    assert (triangle.kind, triangle.mask) == ("polygon", ((0, 0, 0.5, 0, 0.5, 1),))


def test_an_image_without_labels_has_no_objects_and_a_label_file_needs_no_image(
    folder: Path,
) -> None:
    dataset = load_dataset("yolo", folder)
    counts = {sample.image_id: len(sample.annotation.regions) for sample in dataset}
    assert counts == {
        "train__a.jpg": 2,
        "train__b.png": 0,
        "train__c.jpg": 0,
        "val__d.jpg": 2,
        "val__gone": 1,
    }
    assert dataset[3].image().shape == (8, 16, 3)
    with pytest.raises(InputError, match="'val__gone' has no file"):
        dataset[4].image()


def test_splits_are_those_of_the_yaml_file(folder: Path) -> None:
    assert load_dataset("yolo", folder).splits == {"train": 3, "val": 2}
    assert load_dataset("yolo", folder, split="val").ids == ("val__d.jpg", "val__gone")


@pytest.mark.parametrize(
    ("entries", "splits"),
    [
        ("train: images\nval: images", {"train": 5}),
        ("train: [images/val, images/train]", {"train": 5}),
        ("train: ../images/val\nval: ./images/train/", {"train": 2, "val": 3}),
        ("path: images\ntrain: val\nval: train", {"train": 2, "val": 3}),
        ("train: ../../images/val", {"train": 3, "val": 2}),
        ("train: /tmp\nval: 3\ntest: null", {"train": 3, "val": 2}),
        ("path: /tmp\ntrain: images/nowhere", {"train": 3, "val": 2}),
        ("test: .", {"test": 5}),
        (f"train: {'x' * 5000}", {"train": 3, "val": 2}),
        (f"path: {'x' * 5000}\ntest: images/val", {"train": 3, "test": 2}),
        ('train: "a\\0b"', {"train": 3, "val": 2}),
        ("validation: images/train", {"validation": 3, "val": 2}),
    ],
)
def test_places_outside_the_folder_are_not_followed(
    folder: Path, entries: str, splits: dict[str, int]
) -> None:
    write_texts(folder, {"data.yaml": f"names: [door, window]\n{entries}\n"})
    assert load_dataset("yolo", folder).splits == splits


def test_an_image_in_two_splits_belongs_to_the_one_that_is_asked_for(folder: Path) -> None:
    write_texts(folder, {"data.yaml": "names: [a, b]\ntrain: images/train\nval: images/train\n"})
    assert len(load_dataset("yolo", folder, split="train")) == 3
    assert len(load_dataset("yolo", folder, split="val")) == 3 + 2


def test_the_validation_split_has_two_names(tmp_path: Path) -> None:
    texts = {f"{split}/labels/a.txt": "0 0.5 0.5 1 1\n" for split in ("train", "valid")}
    write_texts(tmp_path, texts)
    assert load_dataset("yolo", tmp_path).splits == {"train": 1, "valid": 1}
    for split in ("val", "valid"):
        assert load_dataset("yolo", tmp_path, split=split).splits == {split: 1}
    write_texts(tmp_path, {"data.yaml": "names: [a]\nval: ../valid/images\n"})
    write_image(tmp_path / "valid" / "images" / "a.jpg", (4, 4))
    assert load_dataset("yolo", tmp_path).splits == {"train": 1, "val": 1}
    for split in ("val", "valid"):
        assert load_dataset("yolo", tmp_path, split=split).ids == ("valid__a.jpg",)


def test_lists_may_come_from_windows_and_write_endings_in_other_case(folder: Path) -> None:
    listed = "images\\val\\d.jpg\r\nimages/train/a.JPG\r\n"
    write_texts(folder, {"data.yaml": "names: [a, b]\ntest: list.txt\n", "list.txt": listed})
    dataset = load_dataset("yolo", folder, split="test")
    assert dataset.ids == ("train__a.jpg", "val__d.jpg")
    assert [len(sample.annotation.regions) for sample in dataset] == [2, 2]
    assert len(load_dataset("yolo", folder)) == 5


def test_splits_may_be_lists_of_images(folder: Path) -> None:
    listed = f"./images/val/d.jpg\n{folder}/images/train/a.jpg\nimages/val/gone.jpg\n"
    write_texts(folder, {"data.yaml": "names: [a, b]\ntest: list.txt\n", "list.txt": listed})
    dataset = load_dataset("yolo", folder, split="test")
    assert dataset.ids == ("train__a.jpg", "val__d.jpg", "val__gone.jpg")
    assert len(dataset[2].annotation.regions) == 1


@pytest.mark.parametrize("line", ["../x.jpg", "/etc/x.jpg", "images/train", "..\\x.jpg"])
def test_a_bad_line_of_a_list_is_named_or_set_aside_alone(folder: Path, line: str) -> None:
    texts = {
        "data.yaml": "names: [a, b]\ntest: list.txt\n",
        "list.txt": f"images/val/d.jpg\n{line}",
    }
    write_texts(folder, texts)
    with pytest.raises(InputError, match=r"list\.txt line 2: .*(leaves the folder|name an image)"):
        load_dataset("yolo", folder)
    assert load_dataset("yolo", folder, skip_bad=True).splits["test"] == 1


@pytest.mark.parametrize("name", ["images/none.jpg", f"images/{'x' * 5000}none.jpg"])
def test_a_listed_image_must_be_there_or_have_labels(folder: Path, name: str) -> None:
    texts = {"data.yaml": "names: [a, b]\ntest: list.txt\n", "list.txt": f"{name}\n"}
    write_texts(folder, texts)
    with pytest.raises(InputError, match=r"none\.jpg: neither the image nor its label file"):
        load_dataset("yolo", folder)
    assert len(load_dataset("yolo", folder, skip_bad=True)) == 5


def test_labels_may_lie_beside_images_or_split_folders_come_first(tmp_path: Path) -> None:
    write_texts(
        tmp_path,
        {
            "a.txt": "0 0.5 0.5 1 1\n",
            "README.txt": "about these data",
            "classes.txt": "door\nrose window\n\n",
            "valid/labels/b.txt": "1 0.5 0.5 1 1\n",
            "images/c.txt": "1 0.5 0.5 1 1\n",
        },
    )
    for name in ("a.jpg", "valid/images/b.jpg", "images/c.jpg"):
        write_image(tmp_path / name, (4, 4))
    dataset = load_dataset("yolo", tmp_path)
    found = {s.image_id: (s.split, [r.label for r in s.annotation.regions]) for s in dataset}
    assert found == {
        "a.jpg": ("", ["door"]),
        "c.jpg": ("", ["rose window"]),
        "valid__b.jpg": ("valid", ["rose window"]),
    }


@pytest.mark.parametrize(
    ("image", "label"),
    [
        ("a.jpg", "labels/a.txt"),
        ("train/a.jpg", "train/labels/a.txt"),
        ("train/images/a.jpg", "train/images/labels/a.txt"),
        ("JPEGImages/a.jpg", "labels/a.txt"),
        ("JPEGImages/train/a.jpg", "labels/train/a.txt"),
        ("images/train/a.jpg", "labels/a.txt"),
        ("images/a.jpg", "labels/train/a.txt"),
        ("photos/a.JPG", "made/labels/here/a.txt"),
    ],
)
def test_folders_of_images_and_labels_need_not_mirror_each_other(
    tmp_path: Path, image: str, label: str
) -> None:
    write_texts(tmp_path, {label: "0 0.5 0.5 1 1 0.5\n"})
    write_image(tmp_path / image, (4, 4))
    (sample,) = load_dataset("yolo", tmp_path)
    assert sample.path == tmp_path / image
    assert [region.score for region in sample.annotation.regions] == [0.5]


def test_folders_beside_labels_may_hold_images_of_one_name(tmp_path: Path) -> None:
    for number, split in enumerate(("train", "val")):
        write_texts(tmp_path, {f"labels/{split}/a.txt": f"{number} 0.5 0.5 1 1\n"})
        write_image(tmp_path / "JPEGImages" / split / "a.jpg", (4, 4))
    dataset = load_dataset("yolo", tmp_path)
    found = {s.image_id: [r.label for r in s.annotation.regions] for s in dataset}
    assert found == {"JPEGImages__train__a.jpg": ["0"], "JPEGImages__val__a.jpg": ["1"]}


@pytest.mark.parametrize(
    ("images", "labels", "said"),
    [
        (
            ["images/train/a.jpg", "images/val/a.jpg"],
            ["labels/a.txt"],
            r"labels/a\.txt: may belong to images/train/a\.jpg or images/val/a\.jpg$",
        ),
        (
            ["photos/a.jpg"],
            ["x/labels/a.txt", "y/labels/a.txt"],
            r"x/labels/a\.txt: may belong to photos/a\.jpg, and so may another of its name",
        ),
    ],
)
def test_labels_that_may_belong_to_several_images_are_a_problem(
    tmp_path: Path, images: list[str], labels: list[str], said: str
) -> None:
    write_texts(tmp_path, dict.fromkeys([*labels, "labels/b.txt"], "0 0.5 0.5 1 1\n"))
    for image in (*images, "b.jpg"):
        write_image(tmp_path / image, (4, 4))
    with pytest.raises(InputError, match=said):
        load_dataset("yolo", tmp_path)
    dataset = load_dataset("yolo", tmp_path, skip_bad=True)
    assert dataset.ids == ("b.jpg",)
    assert len(dataset.skipped) == len(labels)


def test_an_image_without_objects_gets_no_labels_of_another_folder(tmp_path: Path) -> None:
    # In cam1 the first image has labels, so the second has no objects; the image in cam2 is gone.
    write_texts(tmp_path, dict.fromkeys(["labels/cam1/a.txt", "labels/cam2/b.txt"], "0 .5 .5 1 1"))
    for name in ("a.jpg", "b.jpg"):
        write_image(tmp_path / "images" / "cam1" / name, (4, 4))
    dataset = load_dataset("yolo", tmp_path)
    counts = {sample.image_id: len(sample.annotation.regions) for sample in dataset}
    assert counts == {"cam1__a.jpg": 1, "cam1__b.jpg": 0, "cam2__b": 1}


@pytest.mark.parametrize("labels", [[], ["labels/val/a.txt"]])
def test_some_image_must_have_labels(tmp_path: Path, labels: list[str]) -> None:
    write_texts(tmp_path, dict.fromkeys(labels, "0 0.5 0.5 1 1\n"))
    write_image(tmp_path / "images" / "train" / "a.jpg", (4, 4))
    for skip_bad in (False, True):
        with pytest.raises(
            InputError, match=r"none of its 1 images has a label file; .* in labels/"
        ):
            load_dataset("yolo", tmp_path, skip_bad=skip_bad)


def test_what_systems_leave_behind_is_passed_over(folder: Path) -> None:
    debris = b"\0\5\x16\7\0\2Mac OS X \xff"
    names = ("images/train/._a.jpg", "labels/train/._a.txt", "__MACOSX/labels/train/._a.txt")
    hidden = (".git/labels/x.txt", "__MACOSX/images/z.jpg", "._other.yaml", ".DS_Store")
    (folder / "data.yaml").rename(folder / "churches.yaml")
    write_texts(folder, dict.fromkeys((*names, *hidden), debris))
    dataset = load_dataset("yolo", folder)
    assert len(dataset) == 5
    assert dataset.taxonomy.names == ("door", "window")


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("0 0 0 1 0 1 1\n0 0 0 1 0 1 1 0 1", ["polygon", "polygon"]),
        ("0 0 0 1 0 1 1 0.5\n0 0 0 1 0 1 1 0 1 0.5", ["polygon", "polygon"]),
        ("0 0 0 1 0 1 1 0.5\n0 .5 .5 1 1\n0 0 0 1 0 1 1 0 1 1", ["polygon", "box", "polygon"]),
    ],
)
def test_other_lines_show_what_polygons_are(tmp_path: Path, text: str, kinds: list[str]) -> None:
    write_texts(tmp_path, {"labels/a.txt": text})
    regions = load_dataset("yolo", tmp_path)[0].annotation.regions
    assert [region.kind for region in regions] == kinds


def test_polygons_may_be_said_to_be_there(tmp_path: Path) -> None:
    text = "0 0 0 1 0 1 1\n0 0 0 1 0 1 1 0.5\n0 .5 .5 1 1 .25\n"
    write_texts(tmp_path, {"labels/a.txt": text, "labels/b.txt": "0 0 0 1 0 1 1 .5\n" * 2})
    first, second = load_dataset("yolo", tmp_path, polygons=True)
    assert [(r.kind, r.score) for r in first.annotation.regions] == [
        ("polygon", None),
        ("polygon", 0.5),
        ("box", 0.25),
    ]
    assert [region.mask for region in second.annotation.regions] == [((0, 0, 1, 0, 1, 1),)] * 2
    with pytest.raises(
        InputError, match=r"a\.txt line 2: a class and 7 .*; polygons=True reads it as"
    ):
        load_dataset("yolo", tmp_path)


def test_polygons_may_be_refused(tmp_path: Path) -> None:
    write_texts(tmp_path, {"labels/a.txt": "0 .5 .5 1 1\n0 0 0 1 0 1 1\n0 0 0 1 0 1 1 0 1\n"})
    with pytest.raises(
        InputError, match=r"line 2: must .* \(box and confidence\), got .* 6 numbers"
    ):
        load_dataset("yolo", tmp_path, polygons=False)
    dataset = load_dataset("yolo", tmp_path, polygons=False, skip_bad=True)
    assert (len(dataset[0].annotation.regions), len(dataset.skipped)) == (1, 2)
    with pytest.raises(InputError, match="polygons must be True, False or None, got 'yes'"):
        load_dataset("yolo", tmp_path, polygons="yes")


def test_a_blank_line_among_names_is_named(folder: Path) -> None:
    (folder / "data.yaml").unlink()
    write_texts(folder, {"classes.txt": "door\r\n\r\nwindow\r\n"})
    with pytest.raises(InputError, match=r"classes\.txt line 2: is blank"):
        load_dataset("yolo", folder)


@pytest.mark.parametrize(
    ("texts", "names"),
    [
        ({"data.yaml": "names: {0: door, 1: window}"}, ("door", "window")),
        ({"dataset.yaml": "names:\n  1: window\n  0: 7\n"}, ("window", "7")),
        ({"churches.yml": "names: [door, window]"}, ("door", "window")),
        ({"data.yaml": "nc: 2", "obj.names": "door\r\nwindow\r\n"}, ("door", "window")),
        ({"labels/classes.txt": "door\nwindow"}, ("door", "window")),
        ({"data.yaml": "names: [a, b]", "classes.txt": "c\nd"}, ("a", "b")),
        ({}, ("0", "1")),
    ],
)
def test_names_are_looked_for(folder: Path, texts: dict[str, str], names: tuple[str, ...]) -> None:
    (folder / "data.yaml").unlink()
    write_texts(folder, texts)
    dataset = load_dataset("yolo", folder)
    assert dataset.taxonomy.names == names
    assert len(dataset) == 5


def test_names_may_be_given(folder: Path) -> None:
    for names in (["a", "b"], ("a", "b"), {0: "a", 1: "b"}):
        assert load_dataset("yolo", folder, names=names).taxonomy == Taxonomy.flat(["a", "b"])


def test_numbers_as_labels_are_in_order(tmp_path: Path) -> None:
    write_texts(tmp_path, {"labels/a.txt": "10 0.5 0.5 1 1\n9 1.6 0.5 0.1 0.1\n2 0.5 0.5 1 1\n"})
    dataset = load_dataset("yolo", tmp_path)
    assert dataset.taxonomy.names == ("2", "9", "10")
    assert [region.label for region in dataset[0].annotation.dropped] == ["9"]


BOMB = "a: &a [x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{chr(ord(name) - 1)}'] * 9)}]\n" for name in "bcdefghijk"
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("names: [door, door]", "names: classes 0 and 1 are both 'door'"),
        ("names: [no, yes]", "names: name of class 0 must be text .*, is bool"),
        ("names: [door, '']", "names: name of class 1 must be text"),
        ("names: {-1: door}", "names: number of a class must be whole and >= 0"),
        ("names: {a: door}", "names: number of a class must be whole and >= 0"),
        ("names: door", "names must be a list, or numbers with names"),
        ("names: []", "names must be a list, or numbers with names"),
        (BOMB + "names: [*k]", "name of class 0 must be text .*, is list"),
        (BOMB + "names: {0: door}\ntrain: *k", ""),
        ("kpt_shape: [17, 3]\nnames: [person]", "key points cannot be told from polygons"),
        ("[a, b]", "must be names with values, got a list"),
        ("names: [", "is not valid YAML"),
        (f"names: [0x{'f' * 5000}]", "name of class 0 must be text .*, is int"),
        (f"names:\n  ? 0x{'f' * 5000}\n  : door", "number of a class must be whole and >= 0"),
        (f"names: [{'9' * 5000}]", "is not valid YAML"),
        ('names: [!!int ""]', "is not valid YAML"),
        ("names: [2020-13-45]", "is not valid YAML"),
        ("names: !!python/object/apply:os.getcwd []", "is not valid YAML"),
        (b"names: [caf\xe9]", "is not UTF-8 text"),
    ],
)
def test_a_bad_yaml_file_is_named(tmp_path: Path, text: str | bytes, said: str) -> None:
    write_texts(tmp_path, {"data.yaml": text, "labels/a.txt": "0 0.5 0.5 1 1\n"})
    if not said:
        assert load_dataset("yolo", tmp_path).splits == {"": 1}
        return
    with pytest.raises(InputError, match=r"data\.yaml: .*" + said):
        load_dataset("yolo", tmp_path)


def test_one_of_several_yaml_files_must_be_named(folder: Path) -> None:
    (folder / "data.yaml").rename(folder / "one.yaml")
    write_texts(folder, {"two.yaml": "names: [a, b]"})
    with pytest.raises(InputError, match=r"call one data\.yaml: one\.yaml, two\.yaml"):
        load_dataset("yolo", folder)
    dataset = load_dataset("yolo", folder / "two.yaml")
    assert dataset.taxonomy.names == ("a", "b")
    assert dataset.root == folder


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("0 0.5 0.5 0.5", "got a class and 3 numbers"),
        ("0", "got a class and 0 numbers"),
        ("0 0.5 0.5 0.5 0.5 0.5 0.5 0.5", "7 numbers may be a box with key points"),
        ("0 0.5 0.5 0.5 0.5 0.9 1", "6 numbers may be a box with confidence and track"),
        ("2 0.5 0.5 0.5 0.5", "class 2 has no name; named are 0 to 1"),
        ("-1 0.5 0.5 0.5 0.5", "class must be a whole number >= 0, got -1"),
        ("0.5 0.5 0.5 0.5 0.5", "class must be a whole number >= 0, got 0.5"),
        ("door 0.5 0.5 0.5 0.5", "must be a finite number, got 'door'"),
        ("0 nan 0.5 0.5 0.5", "must be a finite number, got 'nan'"),
        ("0 0,5 0.5 0.5 0.5", "must be a finite number, got '0,5'"),
        ("0 0.5 0.5 -0.5 0.5", "width and height must be >= 0, got -0.5 and 0.5"),
        ("0 0.5 0.5 0.5 0.5 1.5", "confidence must be 0 to 1, got 1.5"),
        ("0 320 240 50 50", "shares of the image.* not pixels; got a shape of 50 x 50 images"),
        ("0 0 0 9 0 9 9 0 9", "not pixels; got a shape of 9 x 9 images"),
        ("0 1e308 0 1.7e308 0", "not pixels; got a shape of inf x 0 images"),
    ],
)
def test_a_bad_line_is_named_or_set_aside_alone(folder: Path, line: str, said: str) -> None:
    write_texts(folder, {"labels/train/a.txt": f"0 0.5 0.5 1 1\n{line}\n1 0.5 0.5 1 1\n"})
    with pytest.raises(InputError, match=r"labels/train/a\.txt line 2: .*" + said):
        load_dataset("yolo", folder)
    dataset = load_dataset("yolo", folder, skip_bad=True)
    assert [region.index for region in dataset[0].annotation.regions] == [0, 2]
    assert (len(dataset), len(dataset.skipped)) == (5, 1)


def test_a_file_that_is_no_text_is_named_or_set_aside_alone(folder: Path) -> None:
    write_texts(folder, {"labels/train/a.txt": b"0 0.5 0.5 1 1 \xff\n"})
    with pytest.raises(InputError, match=r"labels/train/a\.txt: is not UTF-8 text"):
        load_dataset("yolo", folder)
    dataset = load_dataset("yolo", folder, skip_bad=True)
    assert dataset.ids == ("train__b.png", "train__c.jpg", "val__d.jpg", "val__gone")


def test_one_id_has_one_image(folder: Path) -> None:
    write_image(folder / "train" / "a.jpg", (4, 4))
    with pytest.raises(InputError, match=r"train/a\.jpg: .* is that of labels/train/a\.txt"):
        load_dataset("yolo", folder)
    dataset = load_dataset("yolo", folder, skip_bad=True)
    assert (len(dataset), len(dataset.skipped)) == (5, 1)


@pytest.mark.parametrize("name", ["images/train/c.jpg", "labels/train/a.txt"])
def test_a_link_must_stay_in_the_folder(folder: Path, tmp_path_factory: Any, name: str) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "file"
    os.replace(folder / name, elsewhere)  # noqa: PTH105
    (folder / name).symlink_to(elsewhere)
    with pytest.raises(InputError, match="leaves the folder"):
        load_dataset("yolo", folder)
    assert len(load_dataset("yolo", folder, skip_bad=True)) == 4


@pytest.mark.parametrize("name", ["classes.txt", "data.yaml", "list.txt"])
def test_a_file_of_names_must_not_be_elsewhere(
    folder: Path, tmp_path_factory: Any, name: str
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "file"
    elsewhere.write_text("door\nwindow\n")
    texts = {} if name == "data.yaml" else {"data.yaml": "test: list.txt"}
    (folder / "data.yaml").unlink()
    write_texts(folder, texts)
    (folder / name).symlink_to(elsewhere)
    if name == "list.txt":  # a place elsewhere: not followed
        assert "test" not in load_dataset("yolo", folder).splits
        return
    with pytest.raises(InputError, match=rf"{name}: '{name}' leaves the folder"):
        load_dataset("yolo", folder)


def test_a_pipe_is_not_read(folder: Path) -> None:
    (folder / "labels" / "train" / "a.txt").unlink()
    os.mkfifo(folder / "labels" / "train" / "a.txt")
    with pytest.raises(InputError, match=r"a\.txt: cannot be read: it is not a regular file"):
        load_dataset("yolo", folder)
    assert len(load_dataset("yolo", folder, skip_bad=True)) == 4


def test_an_empty_folder_is_an_error(tmp_path: Path) -> None:
    write_texts(tmp_path, {"README.txt": "nothing"})
    with pytest.raises(InputError, match="holds neither images nor a folder of labels"):
        load_dataset("yolo", tmp_path)


def test_names_with_spaces_become_ids(folder: Path) -> None:
    write_image(folder / "images" / "a b.jpg", (4, 5))
    sample = load_dataset("yolo", folder).by_id("a_b.jpg")
    assert sample.path == folder / "images" / "a b.jpg"
    assert sample.image().shape == (5, 4, 3)
    write_image(folder / "images" / "a_b.jpg", (4, 4))
    with pytest.raises(InputError, match=r"image id 'a_b\.jpg' of .* is that of .*a b\.jpg"):
        load_dataset("yolo", folder)


shares = st.integers(-64, 80).map(lambda number: number / 16)
sizes = st.integers(0, 8).map(lambda number: number / 8)


@settings(max_examples=30)
@given(st.lists(st.tuples(shares, shares, sizes, sizes), max_size=4))
def test_boxes_are_given_by_their_centre_and_clipped(
    tmp_path_factory: pytest.TempPathFactory, boxes: list[tuple[float, float, float, float]]
) -> None:
    folder = tmp_path_factory.mktemp("yolo")
    lines = [f"0 {x:.6f} {y:.6f} {width} {height:e}" for x, y, width, height in boxes]
    write_texts(folder, {"labels/a.txt": "\n".join(lines)})
    annotation = load_dataset("yolo", folder)[0].annotation
    numbers = [region.index for region in annotation.regions + annotation.dropped]
    assert sorted(numbers) == list(range(len(boxes)))
    for region in annotation.regions:
        x, y, width, height = boxes[region.index]
        left, top = max(x - width / 2, 0), max(y - height / 2, 0)
        assert region.box == (left, top, min(x + width / 2, 1), min(y + height / 2, 1))
    for region in annotation.dropped:
        x, y, width, height = boxes[region.index]
        assert abs(x - 0.5) >= (width + 1) / 2 or abs(y - 0.5) >= (height + 1) / 2


def test_shapes_far_outside_are_clipped_or_dropped(tmp_path: Path) -> None:
    lines = ["0 -0.75 0.5 2 1", "0 40 0.5 0.5 0.5", "0 -1.5 0 0.5 0 0.5 1 -1.5 1"]
    far = "0 5 0 6 0 6 1 5 1"
    write_texts(tmp_path, {"labels/a.txt": "\n".join([*lines, far])})
    annotation = load_dataset("yolo", tmp_path, polygons=True)[0].annotation
    assert [(one.index, one.box, one.flags) for one in annotation.regions] == [
        (0, (0.0, 0.0, 0.25, 1.0), ("clipped",)),
        (2, (0.0, 0.0, 0.5, 1.0), ("clipped",)),
    ]
    assert annotation.regions[1].to_mask(4, 8).tolist() == [[True] * 4 + [False] * 4] * 4
    assert [(one.index, one.box) for one in annotation.dropped] == [
        (1, (39.75, 0.25, 40.25, 0.75)),
        (3, (5.0, 0.0, 6.0, 1.0)),
    ]


@pytest.mark.parametrize(
    ("list_file", "line"),
    [
        ("set/train.txt", "./images/1.jpg"),
        ("train.txt", "set/images/1.jpg"),
        ("train.txt", "/content/elsewhere/set/images/1.jpg"),
    ],
)
def test_lists_name_images_from_their_folder_the_root_or_another_machine(
    tmp_path: Path, list_file: str, line: str
) -> None:
    texts = {
        "data.yaml": f"names: [a]\ntrain: {list_file}\n",
        list_file: f"{line}\n",
        "set/labels/1.txt": "0 0.5 0.5 1 1\n",
    }
    write_texts(tmp_path, texts)
    write_image(tmp_path / "set" / "images" / "1.jpg", (4, 4))
    found = load_dataset("yolo", tmp_path, split="train")
    assert [sample.path for sample in found] == [tmp_path / "set" / "images" / "1.jpg"]


def test_numbers_of_classes_may_be_quoted(tmp_path: Path) -> None:
    texts = {"data.yaml": "names: {'0': a, '1': b}\n", "labels/1.txt": "1 0.5 0.5 1 1\n"}
    write_texts(tmp_path, texts)
    write_image(tmp_path / "images" / "1.jpg", (4, 4))
    assert load_dataset("yolo", tmp_path)[0].annotation.regions[0].label == "b"


def test_a_split_with_a_year_answers_to_its_name(tmp_path: Path) -> None:
    for year in ("train2017", "val2017"):
        write_texts(tmp_path, {f"labels/{year}/{year}.txt": "0 0.5 0.5 1 1\n"})
        write_image(tmp_path / "images" / year / f"{year}.jpg", (4, 4))
    assert load_dataset("yolo", tmp_path).splits == {"train2017": 1, "val2017": 1}
    assert load_dataset("yolo", tmp_path, split="val").ids == ("val2017__val2017.jpg",)
    assert load_dataset("yolo", tmp_path, split="val2017").ids == ("val2017__val2017.jpg",)
    assert load_dataset("yolo", tmp_path, split="train").ids == ("train2017__train2017.jpg",)
