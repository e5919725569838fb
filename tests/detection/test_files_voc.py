"""Pascal VOC: XML becomes ground truth, the devkit's result files become detections."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.core import InputError
from sightline.data.readers.voc import VocObject, read_files
from sightline.detection.columns import GroundTruth
from sightline.detection.files.detect import find_format
from sightline.detection.files.voc import read_voc_detections, read_voc_ground_truth

if TYPE_CHECKING:
    from pathlib import Path

NUMBERS = ("xmin", "ymin", "xmax", "ymax")


def _object(name: str, *corners: float, more: str = "") -> str:
    box = "".join(f"<{n}>{v}</{n}>" for n, v in zip(NUMBERS, corners, strict=True))
    return f"<object><name>{name}</name>{more}<bndbox>{box}</bndbox></object>"


def _write(folder: Path, name: str, *objects: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    content = f"<annotation><filename>other.jpg</filename>{''.join(objects)}</annotation>"
    (folder / f"{name}.xml").write_text(content)


def _devkit(root: Path) -> Path:
    _write(
        root / "Annotations",
        "2007_000027",
        _object("person", 174, 101, 349, 351),
        _object("car", 1, 1, 5.5, 1, more="<difficult>1</difficult><truncated>1</truncated>"),
    )
    _write(root / "Annotations", "2007_000032")
    lists = root / "ImageSets" / "Main"
    lists.mkdir(parents=True)
    (lists / "val.txt").write_text("2007_000032\n")
    (lists / "car_val.txt").write_text("2007_000027 1\n2007_000032 -1\n")
    return root


def test_objects_of_a_devkit(tmp_path: Path) -> None:
    truth = read_voc_ground_truth(_devkit(tmp_path / "VOC2012"))
    assert truth.image.tolist() == ["2007_000027", "2007_000027"]
    assert truth.label.tolist() == ["person", "car"]
    assert truth.box.tolist() == [[174, 101, 175, 250], [1, 1, 4.5, 0]]
    assert truth.difficult.tolist() == [False, True]
    assert not truth.crowd.any()
    assert truth.pixel == "inclusive"
    assert truth.images is not None
    assert truth.images.tolist() == ["2007_000027", "2007_000032"]
    assert truth.classes is not None
    assert truth.classes.tolist() == ["car", "person"]


def test_one_folder_above_and_a_split(tmp_path: Path) -> None:
    _devkit(tmp_path / "VOCdevkit" / "VOC2012")
    truth = read_voc_ground_truth(tmp_path, split="val")
    assert truth.images is not None
    assert truth.images.tolist() == ["2007_000032"]
    assert len(truth) == 0
    assert len(read_voc_ground_truth(str(tmp_path / "VOCdevkit"), split="car_val")) == 2
    with pytest.raises(InputError, match="no list of split 'test'; lists: car_val, val"):
        read_voc_ground_truth(tmp_path, split="test")


def test_splits_that_are_folders(tmp_path: Path) -> None:
    _write(tmp_path / "train", "a", _object("cat", 1, 1, 2, 2))
    _write(tmp_path / "valid", "b", _object("dog", 1, 1, 2, 2))
    assert read_voc_ground_truth(tmp_path).image.tolist() == ["a", "b"]
    assert read_voc_ground_truth(tmp_path, split="val").image.tolist() == ["b"]
    with pytest.raises(InputError, match="has no images in split 'test'"):
        read_voc_ground_truth(tmp_path, split="test")
    _write(tmp_path / "valid", "a")
    with pytest.raises(InputError, match=r"valid.a\.xml: has the name of .*train.a\.xml; choose"):
        read_voc_ground_truth(tmp_path)


def test_objects_are_told_as_written(tmp_path: Path) -> None:
    found = read_files(_devkit(tmp_path))
    assert found["2007_000032"].objects == []
    second = found["2007_000027"].objects[1]
    assert second == VocObject("car", ("difficult", "truncated"), (1, 1, 5.5, 1))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("<annotation>", "bad.xml: is not valid XML"),
        ("<image/>", "bad.xml: must be an <annotation>"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><annotation/>', "bad.xml: must not declare a document"),
        ("<annotation><object/></annotation>", "bad.xml: object 1: has no name"),
        (_object("cat", 5, 1, 4, 2), "object 1: bndbox must have xmin <= xmax, .*got 5 1 4 2"),
        (
            "<object><name>a</name></object>",
            "bad.xml: object 1: xmin must be a finite number, got ''",
        ),
        (_object("a", 1, 1, 2, float("nan")), "object 1: ymax must be a finite number, got 'nan'"),
        (
            _object("a", 1, 1, 2, 2, more="<difficult>2</difficult>"),
            "object 1: difficult must be 0 or 1, got '2'",
        ),
    ],
)
def test_xml_that_does_not_fit(tmp_path: Path, content: str, message: str) -> None:
    if content.startswith("<object>"):
        content = f"<annotation>{content}</annotation>"
    (tmp_path / "bad.xml").write_text(content)
    with pytest.raises(InputError, match=message):
        read_voc_ground_truth(tmp_path)


def test_folders_that_do_not_fit(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="must be a folder of XML files; there is nothing"):
        read_voc_ground_truth(tmp_path / "none")
    (tmp_path / "file.xml").write_text("<annotation/>")
    with pytest.raises(InputError, match="must be a folder of XML files; it is a file"):
        read_voc_ground_truth(tmp_path / "file.xml")
    with pytest.raises(InputError, match="is not the name of a file or folder"):
        read_voc_ground_truth(None)  # type: ignore[arg-type]


def test_links_do_not_lead_out(tmp_path: Path) -> None:
    (tmp_path / "secret.xml").write_text(f"<annotation>{_object('a', 1, 1, 2, 2)}</annotation>")
    (tmp_path / "secret.txt").write_text("a 1 1 1 2 2")
    (tmp_path / "data").mkdir()
    for ending in ("xml", "txt"):
        (tmp_path / "data" / f"a.{ending}").symlink_to(tmp_path / f"secret.{ending}")
    with pytest.raises(InputError, match="leaves the folder"):
        read_voc_ground_truth(tmp_path / "data")
    with pytest.raises(InputError, match="leaves the folder"):
        read_voc_detections(tmp_path / "data")


def test_result_files_of_the_devkit(tmp_path: Path) -> None:
    (tmp_path / "comp3_det_test_car.txt").write_text("000004 0.702732 89 112 516 466\n\n")
    lines = "000006 0.5 1 2 3 4\n000004 -1e-3 1.5 2 1.5 2\n"
    (tmp_path / "comp3_det_test_dining_table.txt").write_text(lines)
    (tmp_path / "comp3_det_test_dog.txt").write_text("")
    (tmp_path / ".hidden.txt").write_text("nothing to read")
    found = read_voc_detections(tmp_path)
    assert found.image.tolist() == ["000004", "000006", "000004"]
    assert found.label.tolist() == ["car", "dining_table", "dining_table"]
    assert found.score.tolist() == [0.702732, 0.5, -0.001]
    assert found.box.tolist() == [[89, 112, 427, 354], [1, 2, 2, 2], [1.5, 2, 0, 0]]
    assert found.pixel == "inclusive"
    one = read_voc_detections(tmp_path / "comp3_det_test_car.txt")
    assert one.label.tolist() == ["car"]


@pytest.mark.parametrize(
    ("stem", "classes", "label"),
    [
        ("car", [], "car"),
        ("results_car", [], "car"),
        ("my_set_dining_table", ["table", "dining_table"], "dining_table"),
        ("comp4_det_val_dining_table", ["chair"], "dining_table"),
        ("comp4_det_val_2012_car", ["car"], "car"),
        ("sidecar", ["car"], "sidecar"),
    ],
)
def test_names_of_files_tell_the_class(
    tmp_path: Path, stem: str, classes: list[str], label: str
) -> None:
    (tmp_path / f"{stem}.txt").write_text("a 1 1 1 2 2")
    truth = None
    if classes:
        truth = GroundTruth.from_arrays([], [], [], classes=classes)
    assert read_voc_detections(tmp_path, truth).label.tolist() == [label]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a 0.5 1 1 2", "line 1: must be 'image score xmin ymin xmax ymax'; got 5 words"),
        ("a 0.5 1 1 2 2\nb 0.5 1 1 2 2 3", "line 2: must be 'image score .*; got 7 words"),
        ("\na nan 1 1 2 2", "line 2: score must be a finite number, got 'nan'"),
        ("a 0.5 1 1 2 1_0", "line 1: ymax must be a finite number, got '1_0'"),
        ("a 0.5 1 1 ٣ 2", "line 1: xmax must be a finite number"),
        ("a 0.5 1 x 2 2", "line 1: ymin must be a finite number, got 'x'"),
        ("a 0.5 1 1 2 1e999", "line 1: ymax must be a finite number, got '1e999'"),
        ("a 0.5 3 1 2 2", r"line 1: must have xmin <= xmax .*; got \[3"),
        ("a 0.5 1 3 2 2", r"line 1: must have xmin <= xmax .*; got \[1"),
        ("a 0.5 1 1 2 2\nz 0.5 1 1 2 2", "line 2: image must be one of the 1 of the ground.*'z'"),
    ],
)
def test_result_files_that_do_not_fit(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "comp3_det_test_car.txt").write_text(content, encoding="utf-8")
    truth = GroundTruth.from_arrays([], [], [], images=["a"])
    with pytest.raises(InputError, match=f"comp3_det_test_car.txt {message}"):
        read_voc_detections(tmp_path, truth)


def test_folders_of_results_that_do_not_fit(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"must hold result files such as .*; has none"):
        read_voc_detections(tmp_path)
    for name in ("a_car.txt", "b_car.txt"):
        (tmp_path / name).write_text("")
    with pytest.raises(InputError, match=r"b_car\.txt: is of class 'car', and so is a_car\.txt"):
        read_voc_detections(tmp_path)
    (tmp_path / "b_car.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=r"b_car\.txt: is not UTF-8 text"):
        read_voc_detections(tmp_path / "b_car.txt")


_CORNER = st.floats(-1e6, 1e6)


@given(rows=st.lists(st.tuples(st.floats(-1e9, 1e9), _CORNER, _CORNER, _CORNER, _CORNER)))
def test_numbers_are_read_to_the_last_bit(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[float, ...]]
) -> None:
    folder = tmp_path_factory.mktemp("voc")
    rows = [(s, min(a, c), min(b, d), max(a, c), max(b, d)) for s, a, b, c, d in rows]
    text = "\n".join(f"i{n} {' '.join(map(repr, row))}" for n, row in enumerate(rows))
    (folder / "x_cat.txt").write_text(text)
    found = read_voc_detections(folder)
    assert found.score.tolist() == [row[0] for row in rows]
    assert found.box.tolist() == [[a, b, c - a, d - b] for _, a, b, c, d in rows]


def test_files_of_a_detector_that_found_nothing(tmp_path: Path) -> None:
    (tmp_path / "comp3_det_test_car.txt").touch()
    (tmp_path / "comp3_det_test_dog.txt").touch()
    assert find_format(tmp_path) == "voc"
    assert len(read_voc_detections(tmp_path)) == 0
