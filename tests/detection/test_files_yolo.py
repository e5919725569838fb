"""YOLO text files: shares of the image become pixels; errors name file and line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from sightline.core import InputError
from sightline.data.readers.yolo import read_label_files
from sightline.detection.columns import GroundTruth
from sightline.detection.files.yolo import (
    read_yolo_detections,
    read_yolo_ground_truth,
    yolo_image_sizes,
)

if TYPE_CHECKING:
    from pathlib import Path

LINE = "3 0.5 0.5 0.25 0.5"


def _put(root: Path, name: str, text: str) -> None:
    file = root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def _picture(root: Path, name: str, size: tuple[int, int] = (80, 40)) -> None:
    file = root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    Image.new("L", size).save(file)


def _dataset(root: Path) -> Path:
    _put(root, "data.yaml", "names: {0: cat, 3: dog}\ntrain: images/train\nval: images/val\n")
    _put(root, "labels/train/a.txt", f"{LINE}\n0 0.25 0.25 0.5 0.5\n")
    _put(root, "labels/val/b.txt", "")
    _picture(root, "images/train/a.png")
    _picture(root, "images/val/b.png", (10, 20))
    _picture(root, "images/val/c.png", (30, 20))
    return root


def test_a_folder_of_label_files_alone(tmp_path: Path) -> None:
    whole = read_yolo_ground_truth(_dataset(tmp_path), split="train")
    alone = read_yolo_ground_truth(tmp_path / "labels" / "train", names={0: "cat", 3: "dog"})
    assert alone.box.tolist() == whole.box.tolist()
    assert alone.images is not None
    assert alone.images.tolist() == ["a"]
    assert alone.names == whole.names
    assert yolo_image_sizes(tmp_path / "labels" / "train") == {"a": (80, 40)}
    bare = read_yolo_ground_truth(tmp_path / "labels" / "train", image_sizes=(8, 4))
    assert bare.box.tolist() == [[3, 1, 2, 2], [0, 0, 4, 2]]
    assert bare.classes is None
    with pytest.raises(InputError, match="class 3 has no name; named are 0 to 1"):
        read_yolo_ground_truth(tmp_path / "labels" / "train", names=["cat", "dog"])


def test_a_data_set_with_its_images(tmp_path: Path) -> None:
    for path in (_dataset(tmp_path), tmp_path / "data.yaml"):
        truth = read_yolo_ground_truth(path)
        assert truth.image.tolist() == ["a", "a"]
        assert truth.label.tolist() == [3, 0]
        assert truth.box.tolist() == [[30, 10, 20, 20], [0, 0, 40, 20]]
        assert truth.pixel == "continuous"
        assert truth.names == {0: "cat", 3: "dog"}
        assert truth.classes is not None
        assert truth.classes.tolist() == [0, 3]
        assert truth.images is not None
        assert truth.images.tolist() == ["a", "b", "c"]
    assert yolo_image_sizes(tmp_path) == {"a": (80, 40), "b": (10, 20), "c": (30, 20)}


def test_one_split(tmp_path: Path) -> None:
    truth = read_yolo_ground_truth(_dataset(tmp_path), split="val")
    assert truth.images is not None
    assert truth.images.tolist() == ["b", "c"]
    assert yolo_image_sizes(tmp_path, split="valid") == {"b": (10, 20), "c": (30, 20)}
    with pytest.raises(InputError, match="has no images in split 'test'"):
        read_yolo_ground_truth(tmp_path, split="test")


def test_label_files_with_what_belongs_to_them(tmp_path: Path) -> None:
    files, names = read_label_files(_dataset(tmp_path))
    assert names == {0: "cat", 3: "dog"}
    assert [(file.name, file.split, bool(file.text)) for file in files] == [
        ("train/a.png", "train", True),
        ("val/b.png", "val", False),
        ("val/c.png", "val", False),
    ]
    assert files[0].image == tmp_path / "images/train/a.png"


def test_names_of_classes_from_outside(tmp_path: Path) -> None:
    _put(tmp_path, "labels/a.txt", LINE)
    truth = read_yolo_ground_truth(tmp_path, image_sizes=(8, 8), names=["w", "x", "y", "z"])
    assert truth.names == {0: "w", 1: "x", 2: "y", 3: "z"}
    assert read_yolo_ground_truth(tmp_path, image_sizes=(8, 8)).classes is None


@pytest.mark.parametrize(
    "sizes",
    [(80, 40), [80, 40], {"a.b": (80, 40)}, {"a.b.jpg": (80, 40)}, {"a.b": (np.int64(80), 40)}],
)
def test_sizes_from_outside(tmp_path: Path, sizes: Any) -> None:
    _put(tmp_path, "labels/a.b.txt", LINE)
    truth = read_yolo_ground_truth(tmp_path, image_sizes=sizes)
    assert truth.image.tolist() == ["a.b"]
    assert truth.box.tolist() == [[30, 10, 20, 20]]
    _put(tmp_path, "labels/a.b.txt", f"{LINE} 0.5")
    assert read_yolo_detections(tmp_path, image_sizes=sizes).box.tolist() == [[30, 10, 20, 20]]


@pytest.mark.parametrize(
    "sizes",
    [{}, (80,), (80, 0), (80.0, 40), {"a": None}, (True, 1), "ab", {"a.b": (8, 8)}],
)
def test_sizes_that_do_not_fit(tmp_path: Path, sizes: Any) -> None:
    _put(tmp_path, "labels/a.txt", LINE)
    with pytest.raises(InputError, match=r"a\.txt: image_sizes must have the width .* of 'a' in"):
        read_yolo_ground_truth(tmp_path, image_sizes=sizes)


def test_unknown_sizes(tmp_path: Path) -> None:
    _put(tmp_path, "labels/a.txt", f"{LINE} 0.5")
    message = r"a\.txt: the size of image 'a' in pixels must be known; .* so give image_sizes="
    with pytest.raises(InputError, match=message):
        read_yolo_detections(tmp_path)
    _put(tmp_path, "labels/a.txt", LINE)
    with pytest.raises(InputError, match=message):
        read_yolo_ground_truth(tmp_path)
    _put(tmp_path, "labels/a.txt", "")
    assert len(read_yolo_ground_truth(tmp_path)) == 0


def test_polygons_count_by_the_box_around_them(tmp_path: Path) -> None:
    _put(tmp_path, "labels/a.txt", f"1 0.1 0.2 0.5 0.2 0.5 0.6 0.1 0.5\n{LINE}")
    truth = read_yolo_ground_truth(tmp_path, image_sizes=(10, 100))
    assert truth.box.round(9).tolist() == [[1, 20, 4, 40], [3.75, 25, 2.5, 50]]


def test_detections_beside_their_images(tmp_path: Path) -> None:
    """As ultralytics lays them: predict/a.jpg and predict/labels/a.txt."""
    _picture(tmp_path, "a.png")
    _put(tmp_path, "labels/a.txt", "3 0.5 0.5 0.25 0.5 0.9\n3.0 0.5 0.5 0 0 1\n")
    _put(tmp_path, "labels/b.txt", "")
    _put(tmp_path, "labels/classes.txt", "cat")
    found = read_yolo_detections(tmp_path)
    assert found.image.tolist() == ["a", "a"]
    assert found.label.tolist() == [3, 3]
    assert found.label.dtype == np.int64
    assert found.box.tolist() == [[30, 10, 20, 20], [40, 20, 0, 0]]
    assert found.score.tolist() == [0.9, 1]
    assert found.pixel == "continuous"
    assert len(read_yolo_detections(tmp_path / "labels")) == 2


def test_tracks_and_polygons_of_detections(tmp_path: Path) -> None:
    polygon = "1 0.1 0.2 0.5 0.2 0.5 0.6 0.75"
    _put(tmp_path, "a.txt", f"{LINE} 0.9 17\n{polygon}\n{LINE} 0.25")
    found = read_yolo_detections(tmp_path, image_sizes=(10, 100))
    assert found.score.tolist() == [0.9, 0.75, 0.25]
    assert found.box.round(9).tolist() == [[3.75, 25, 2.5, 50], [1, 20, 4, 40], [3.75, 25, 2.5, 50]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("3 0.5 0.5 0.25", "line 1: must be a class and 4 numbers"),
        (
            f"{LINE}\n\n{LINE} 0.5",
            "line 3: must be 'class cx cy width height' or a polygon; .*conf",
        ),
        (f"{LINE} 0.5", "line 1: must be 'class cx .* got a confidence behind it"),
        (f"{LINE} 0.5 1", "line 1: a class and 6 numbers may be a box with confidence and track"),
        ("3 0.5 0.5 -0.25 0.5", r"line 1: width and height must be at least 0; got \[-0\.25"),
        ("3 0.5 0.5 0.25 inf", "line 1: height must be a finite number, got 'inf'"),
        ("3 0.5 1_0 0.25 1", "line 1: cy must be a finite number, got '1_0'"),
        ("-3 0.5 0.5 0.25 1", r"line 1: class must be a whole number of at least 0; got -3\.0"),
        ("2.5 0.5 0.5 0.25 1", r"line 1: class must be a whole number of at least 0; got 2\.5"),
        ("cat 0.5 0.5 0.25 1", "line 1: class must be a finite number, got 'cat'"),
        ("1_0 0.5 0.5 0.25 1", "line 1: class must be a finite number, got '1_0'"),
        ("٣ 0.5 0.5 0.25 1", "line 1: class must be a finite number"),
        (f"{LINE}\n7 0 0 1 1", "line 2: class 7 has no name; named are 3 to 4"),
    ],
)
def test_labels_that_do_not_fit(tmp_path: Path, text: str, message: str) -> None:
    _put(tmp_path, "labels/a.txt", text)
    with pytest.raises(InputError, match=rf"a\.txt {message}"):
        read_yolo_ground_truth(tmp_path, image_sizes=(8, 8), names={3: "a", 4: "b"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (LINE, "line 1: must be 'class cx cy width height confidence', .* a class and 4 numbers"),
        (f"{LINE} 0.5\n{LINE}", "line 2: must be 'class cx .* 4 numbers .*save_conf=True"),
        (f"{LINE} 0.5 0.5", "line 1: must be 'class cx .* a class and 6 numbers"),
        (f"{LINE} 0.5 1 2 3", "line 1: must be 'class cx .* a class and 8 numbers"),
        ("3 0.5 0.5", "line 1: must be 'class cx .* a class and 2 numbers"),
        (f"{LINE} 1.5", r"line 1: confidence must be from 0 to 1; got 1\.5"),
        (f"{LINE} -0.1", r"line 1: confidence must be from 0 to 1; got -0\.1"),
        (f"{LINE} nan", "line 1: confidence must be a finite number, got 'nan'"),
    ],
)
def test_detections_that_do_not_fit(tmp_path: Path, text: str, message: str) -> None:
    _put(tmp_path, "a.txt", text)
    with pytest.raises(InputError, match=rf"a\.txt {message}"):
        read_yolo_detections(tmp_path, image_sizes=(8, 8))


def test_folders_that_do_not_fit(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"must hold \.txt files, one an image; has none"):
        read_yolo_detections(tmp_path)
    _put(tmp_path, "one/a.txt", f"{LINE} 0.5")
    _put(tmp_path, "two/a.txt", f"{LINE} 0.5")
    with pytest.raises(InputError, match=r"two.a\.txt: image 'a' is also that of .*one.a\.txt"):
        read_yolo_detections(tmp_path)
    with pytest.raises(InputError, match="must be a folder of YOLO text files; it is a file"):
        read_yolo_detections(tmp_path / "one" / "a.txt")
    with pytest.raises(InputError, match=r"must be a YOLO folder or its .yaml file; there is no"):
        read_yolo_ground_truth(tmp_path / "none")
    truth = GroundTruth.from_arrays([], [], [], images=["b", "c"])
    with pytest.raises(InputError, match=r"a\.txt: image must be one of the 2 of the ground .*'a'"):
        read_yolo_detections(tmp_path / "one", truth)


def test_two_images_of_one_name(tmp_path: Path) -> None:
    _dataset(tmp_path)
    _put(tmp_path, "labels/val/a.txt", LINE)
    _picture(tmp_path, "images/val/a.png")
    with pytest.raises(InputError, match=r"image 'a' is also that of .*train.a\.txt; choose one"):
        read_yolo_ground_truth(tmp_path)
    assert len(read_yolo_ground_truth(tmp_path, split="val")) == 1


def test_links_do_not_lead_out(tmp_path: Path) -> None:
    _put(tmp_path, "secret.txt", f"{LINE} 0.5")
    (tmp_path / "found").mkdir()
    (tmp_path / "found" / "a.txt").symlink_to(tmp_path / "secret.txt")
    with pytest.raises(InputError, match=r"a\.txt: .* leaves the folder"):
        read_yolo_detections(tmp_path / "found", image_sizes=(8, 8))
    (tmp_path / "data" / "labels").mkdir(parents=True)
    (tmp_path / "data" / "labels" / "a.txt").symlink_to(tmp_path / "secret.txt")
    with pytest.raises(InputError, match="leaves the folder"):
        read_yolo_ground_truth(tmp_path / "data", image_sizes=(8, 8))


def test_yaml_is_plain(tmp_path: Path) -> None:
    _put(tmp_path, "labels/a.txt", LINE)
    _put(tmp_path, "data.yaml", "names: !!python/object/apply:os.system ['true']")
    with pytest.raises(InputError, match=r"data\.yaml: is not valid YAML"):
        read_yolo_ground_truth(tmp_path, image_sizes=(8, 8))


_SHARE = st.floats(0, 1)
_ROW = st.tuples(st.integers(0, 99), _SHARE, _SHARE, _SHARE, _SHARE, _SHARE)


@given(rows=st.lists(_ROW, max_size=6), size=st.tuples(st.integers(1, 999), st.integers(1, 999)))
def test_the_quick_way_equals_the_slow_one(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[Any, ...]],
    size: tuple[int, int],
) -> None:
    """A line with a track sends the whole file the slow way."""
    quick, slow = (tmp_path_factory.mktemp(name) for name in ("quick", "slow"))
    text = "\n".join(" ".join(map(repr, row)) for row in rows)
    (quick / "a.txt").write_text(text)
    (slow / "a.txt").write_text(f"{text}\n9 0.5 0.5 0.5 0.5 0.5 1")
    found = read_yolo_detections(quick, image_sizes=size)
    other = read_yolo_detections(slow, image_sizes=size)
    assert found.label.tolist() == other.label.tolist()[:-1] == [row[0] for row in rows]
    assert np.array_equal(found.box, other.box[:-1])
    assert found.score.tolist() == other.score.tolist()[:-1] == [row[5] for row in rows]
    width, height = size
    expected = [
        [row[1] * width - row[3] * width / 2, row[2] * height - row[4] * height / 2] for row in rows
    ]
    assert found.box[:, :2].tolist() == expected
    assert found.box[:, 2:].tolist() == [[row[3] * width, row[4] * height] for row in rows]
