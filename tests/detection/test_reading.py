"""Every form of ground truth and detections becomes the same columns."""

from __future__ import annotations

import copy
import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from pycocotools import mask as rle

from sightline.core import Annotation, InputError, Region
from sightline.data import Dataset, from_annotations, load_dataset
from sightline.detection.columns import Detections, GroundTruth
from sightline.detection.files.detect import find_format
from sightline.detection.readers import as_detections, as_ground_truth, as_tables, has_image_ids
from tests.detection.detected import images as made_images

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BOX = (1.0, 2.0, 4.0, 6.0)
SIDES = [[1.0, 2.0, 3.0, 4.0]]


def _xml(label: str, more: str = "") -> str:
    box = "<bndbox><xmin>1</xmin><ymin>2</ymin><xmax>4</xmax><ymax>6</ymax></bndbox>"
    return f"<annotation><object><name>{label}</name>{more}{box}</object></annotation>"


def _coco() -> dict[str, Any]:
    return {
        "images": [{"id": 5, "width": 9, "height": 9}, {"id": 2, "width": 9, "height": 9}],
        "categories": [{"id": 3, "name": "cat"}],
        "annotations": [
            {"id": 1, "image_id": 5, "category_id": 3, "bbox": SIDES[0], "area": 7, "iscrowd": 0}
        ],
    }


def _results() -> list[dict[str, Any]]:
    return [{"image_id": 5, "category_id": 3, "bbox": SIDES[0], "score": 0.5}]


# Lists and mappings


def test_one_list_an_image() -> None:
    truth, found = as_tables(
        [[[BOX, "cat"], (BOX, "dog", True)], []], [[], [[BOX, 0.5, "cat"]]], images=["b", "a"]
    )
    assert truth.image.tolist() == ["b", "b"]
    assert truth.label.tolist() == ["cat", "dog"]
    assert truth.difficult.tolist() == [False, True]
    assert truth.box.tolist() == SIDES * 2
    assert truth.images is not None
    assert truth.images.tolist() == ["a", "b"]
    assert found.image.tolist() == ["a"]
    assert found.score.tolist() == [0.5]
    assert truth.pixel is found.pixel is None


def test_a_mapping_in_any_order() -> None:
    truth = {7: [[BOX, 1]], 3: []}
    found = {3: [[BOX, 0.25, 2]], 7: [[torch.tensor(BOX), torch.tensor(0.5), np.int64(1)]]}
    before = copy.deepcopy((truth, found))
    tables = as_tables(truth, found)
    assert tables[0].image.tolist() == [7]
    assert tables[1].image.tolist() == [3, 7]
    assert tables[1].score.tolist() == [0.25, 0.5]
    assert tables[1].label.tolist() == [2, 1]
    assert truth == before[0]
    assert repr(found) == repr(before[1])


@pytest.mark.parametrize(("box_format", "box"), [("xywh", SIDES[0]), ("cxcywh", [2.5, 4, 3, 4])])
def test_forms_of_boxes(box_format: Any, box: list[float]) -> None:
    truth, found = as_tables([[[box, 1]]], [[[box, 0.5, 1]]], box_format=box_format)
    assert truth.box.tolist() == found.box.tolist() == SIDES


def test_generators_are_read_once() -> None:
    truth, found = as_tables(
        (entries for entries in [[[BOX, 1]], []]), (iter([]) for _ in range(2))
    )
    assert truth.image.tolist() == [0]
    assert len(found) == 0
    targets = ({"boxes": [BOX], "labels": [1], "image_id": i} for i in (1, 0))
    preds = ({"boxes": [BOX], "labels": [1], "scores": [s]} for s in (0.25, 0.5))
    found = as_tables(targets, preds)[1]
    assert found.image.tolist() == [1, 0]
    assert found.score.tolist() == [0.25, 0.5]


@given(made_images(difficult=True))
def test_lists_are_told_as_they_are(pair: tuple[list[Any], list[Any]]) -> None:
    predictions, truths = pair
    truth, found = as_tables(truths, predictions)
    rows = [(n, item) for n, entry in enumerate(predictions) for item in entry]
    assert found.image.tolist() == [n for n, _ in rows]
    assert found.score.tolist() == [item[1] for _, item in rows]
    assert found.label.tolist() == [item[2] for _, item in rows]
    boxes = [[a, b, c - a, d - b] for _, ((a, b, c, d), *_) in rows]
    assert found.box.tolist() == boxes
    kept = [item for entry in truths for item in entry]
    assert truth.label.tolist() == [item[1] for item in kept]
    assert truth.difficult.tolist() == [item[2] for item in kept]
    assert truth.images is not None
    assert truth.images.tolist() == list(range(len(truths)))


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ([[BOX, 1, 0, 0]], r"image 'b', entry 0: must be \[box, class\] or \[box, class, diff"),
        ([[BOX, 1], 7], "image 'b', entry 1: must be .*; got 7"),
        ([BOX], r"image 'b', entry 0: must be .*; got \(1\.0"),
        ("ab", "image 'b' must have a list of .*; got str"),
        (3, "image 'b' must have a list of .*; got int"),
        ([[(1, 2, 3), 1]], r"image 'b', entry 0: box must be 4 numbers; got \(1, 2, 3\)"),
        ([[BOX, 1], [None, 1]], "image 'b', entry 1: box must be 4 numbers; got None"),
        ([[("a", 2, 3, 4), 1]], "entry 0: box must be 4 numbers"),
        ([[("1", "2", "3", "4"), 1]], r"box must be 4 numbers; got \('1', '2', '3', '4'\)"),
        ([[(0, 0, 1, float("inf")), 1]], r"entry 0: box must be finite; got \[0\.0, 0\.0, 1\.0"),
        ([[(1, 0, 0, 1), 1]], r"entry 0: box must have a width .*; got \[1\.0, 0\.0, 0\.0, 1"),
        (
            [[BOX, None]],
            "image 'b', entry 0: class must be an integer of 64 bits or a string; got None",
        ),
        ([[BOX, True]], "class must be an integer of 64 bits or a string; got True"),
        ([[BOX, 1.5]], r"class must be an integer of 64 bits or a string; got 1\.5"),
        ([[BOX, 1], [BOX, "1"]], r"entry 1: class must be integers everywhere .*; got '1'"),
        ([[BOX, 2**63]], "class must be an integer"),
        ([[BOX, 1, 2]], r"image 'b', entry 0: difficult must be True or False; got 2"),
        ([[BOX, 1, "no"]], "image 'b', entry 0: difficult must be a number; got 'no'"),
    ],
)
def test_lists_that_do_not_fit(entry: Any, message: str) -> None:
    with pytest.raises(InputError, match=f"ground truth: .*{message}"):
        as_ground_truth({"a": [[BOX, 1]], "b": entry})


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ([BOX, 1], r"image 4, entry 0: must be \[box, score, class\]; got"),
        ([BOX, float("nan"), 1], "image 4, entry 0: score must be finite; got nan"),
        ([BOX, "0.5", 1], "image 4, entry 0: score must be a number; got '0.5'"),
        ([BOX, None, 1], "image 4, entry 0: score must be a number; got None"),
        ([BOX, True, 1], "image 4, entry 0: score must be a number; got True"),
    ],
)
def test_found_that_do_not_fit(item: Any, message: str) -> None:
    with pytest.raises(InputError, match=f"detections: {message}"):
        as_detections({4: [item]})


def test_ids_of_images_that_do_not_fit() -> None:
    with pytest.raises(InputError, match=r"ids must be integers everywhere .*; got 1 and 'a'"):
        as_ground_truth({1: [], "a": []})
    with pytest.raises(InputError, match="must have one entry for each of 1 images; got 2"):
        as_ground_truth([[], []], images=[1])
    with pytest.raises(InputError, match="image 1 is there twice"):
        as_ground_truth([[], []], images=[1, np.int64(1)])
    with pytest.raises(InputError, match=r"image id 1 must be an integer .*; got None"):
        as_ground_truth([[], []], images=[1, None])
    with pytest.raises(InputError, match="image 0 must be 3, as images says; got 4"):
        as_ground_truth([{"boxes": [], "labels": [], "image_id": 4}], images=[3])


# Which images belong together


def test_predictions_follow_the_targets() -> None:
    """The ids are a shuffled 0, 1, 2: places alone would be wrong."""
    targets = [{"boxes": [BOX], "labels": [1], "image_id": torch.tensor([n])} for n in (2, 0, 1)]
    found = [{"boxes": [BOX], "labels": [1], "scores": [n / 10]} for n in range(3)]
    tables = as_tables(targets, found)
    assert tables[0].image.tolist() == tables[1].image.tolist() == [2, 0, 1]
    assert tables[1].score.tolist() == [0, 0.1, 0.2]
    named = [{**entry, "image_id": n} for n, entry in zip((0, 1, 2), found, strict=True)]
    assert as_tables(targets, named)[1].image.tolist() == [0, 1, 2]


def test_places_are_enough_where_both_count_from_zero() -> None:
    truth = as_ground_truth([[], []])
    assert as_detections([[], [[BOX, 0.5, 1]]], truth).image.tolist() == [1]
    with pytest.raises(InputError, match="a list of 3 needs the ids of its images"):
        as_detections([[], [], []], truth)
    with pytest.raises(InputError, match="a list of 1 needs the ids of its images"):
        as_detections([[]], truth)


def test_a_list_cannot_be_of_named_images() -> None:
    with pytest.raises(InputError, match=r"a list of 1 needs the ids of its images \(images="):
        as_tables({"a": []}, [[[BOX, 0.5, 1]]])
    columns = GroundTruth.from_arrays([0], [1], SIDES)
    with pytest.raises(InputError, match="a list of 1 needs the ids"):
        as_tables(columns, [[[BOX, 0.5, 1]]])
    found = as_tables({"a": []}, [[[BOX, 0.5, 1]]], images=["a"])[1]
    assert found.image.tolist() == ["a"]
    with pytest.raises(InputError, match="must have one entry for each of 2 images; got 1"):
        as_tables([[], []], [[]])


def test_detections_in_unknown_images() -> None:
    with pytest.raises(InputError, match=r"row 1: image must be one of the 1 of the .*; got 'b'"):
        as_tables({"a": []}, {"a": [[BOX, 0.5, 1]], "b": [[BOX, 0.5, 1]]})
    with pytest.raises(InputError, match="image must be integers everywhere or strings"):
        as_tables({"a": []}, {1: [[BOX, 0.5, 1]]})
    assert len(as_tables({"a": []}, {"a": [], "b": []})[1]) == 0


def test_sides_that_are_swapped() -> None:
    truth, found = as_tables([[]], [[]])
    for right in (truth, _coco()):
        with pytest.raises(InputError, match=r"detections: must not be ground truth; .*swapped"):
            as_detections(right)
    for wrong in (found, _results()):
        with pytest.raises(InputError, match=r"ground truth: must not be .*; are both .*swapped"):
            as_ground_truth(wrong)


def test_columns_are_taken_as_they_are() -> None:
    truth = GroundTruth.from_arrays([7], [1], SIDES)
    found = Detections.from_arrays([8], [1], SIDES, [0.5])
    tables = as_tables(truth, found)
    assert tables[0] is truth
    assert tables[1] is found


@pytest.mark.parametrize("given", [3, None, np.zeros((2, 6)), object()])
def test_other_things(given: Any) -> None:
    for read in (as_ground_truth, as_detections):
        with pytest.raises(InputError, match="must be columns, a path, parsed COCO JSON"):
            read(given)


def test_dicts_and_lists_do_not_mix() -> None:
    entry: dict[str, Any] = {"boxes": [], "labels": []}
    with pytest.raises(InputError, match="a dict for every image, or for none; number 1 is list"):
        as_ground_truth([entry, []])
    with pytest.raises(InputError, match="must be a list of dicts, one an image; got a single"):
        as_ground_truth(entry)
    with pytest.raises(InputError, match="box_format must be one of xyxy, xywh, cxcywh; got 'x'"):
        as_ground_truth([entry], box_format="x")  # type: ignore[arg-type]
    found = as_tables({"b": {**entry}}, {"b": {"boxes": [BOX], "labels": [1], "scores": [1]}})[1]
    assert found.image.tolist() == ["b"]


def test_who_has_image_ids() -> None:
    named: list[Any] = [{"boxes": [], "labels": [], "image_id": 1}]
    columns = GroundTruth.from_arrays([], [], [])
    known: list[Any] = [{1: []}, named, _results(), "a/path", columns]
    assert all(has_image_ids(form) for form in known)
    assert not has_image_ids([[]])
    assert not has_image_ids([{"boxes": [], "labels": []}])


# COCO JSON


def test_coco_parsed_and_on_disk(tmp_path: Path) -> None:
    (tmp_path / "truth.json").write_text(json.dumps(_coco()))
    (tmp_path / "found.json").write_text(json.dumps(_results()))
    for pair in ((_coco(), _results()), (tmp_path / "truth.json", str(tmp_path / "found.json"))):
        truth, found = as_tables(*pair)
        assert truth.image.tolist() == found.image.tolist() == [5]
        assert truth.area.tolist() == [7]
        assert truth.names == {3: "cat"}
        assert truth.images is not None
        assert truth.images.tolist() == [2, 5]
        assert found.box.tolist() == SIDES
    with pytest.raises(InputError, match=r"truth\.json: split is of Pascal VOC and YOLO files"):
        as_ground_truth(tmp_path / "truth.json", split="val")
    assert len(as_detections([], as_ground_truth(_coco()))) == 0


# Files of Pascal VOC and YOLO


def test_pascal_voc(tmp_path: Path) -> None:
    (tmp_path / "gt").mkdir()
    (tmp_path / "gt" / "000004.xml").write_text(_xml("car", "<difficult>1</difficult>"))
    (tmp_path / "dt").mkdir()
    (tmp_path / "dt" / "comp3_det_test_car.txt").write_text("000004 0.5 1 2 4 6\n")
    truth, found = as_tables(tmp_path / "gt", tmp_path / "dt")
    assert truth.box.tolist() == found.box.tolist() == SIDES
    assert truth.difficult.tolist() == [True]
    assert truth.pixel == found.pixel == "inclusive"
    (tmp_path / "dt" / "comp3_det_test_car.txt").write_text("000005 0.5 1 2 4 6\n")
    with pytest.raises(InputError, match=r"car\.txt line 1: image must be one .* got '000005'"):
        as_tables(tmp_path / "gt", tmp_path / "dt")


def test_yolo_takes_sizes_from_the_images_of_the_ground_truth(tmp_path: Path) -> None:
    gt, dt = tmp_path / "gt", tmp_path / "predict" / "labels"
    for folder in (gt / "labels" / "val", gt / "images" / "val", dt):
        folder.mkdir(parents=True)
    Image.new("L", (80, 40)).save(gt / "images" / "val" / "a.png")
    (gt / "labels" / "val" / "a.txt").write_text("1 0.5 0.5 0.25 0.5")
    (dt / "a.txt").write_text("1 0.5 0.5 0.25 0.5 0.75")
    (gt / "data.yaml").write_text("names: [x, y]\nval: images/val")
    for path in (gt, gt / "data.yaml"):
        truth, found = as_tables(path, tmp_path / "predict", split="val")
        assert truth.box.tolist() == found.box.tolist() == [[30, 10, 20, 20]]
        assert found.score.tolist() == [0.75]
    other = as_tables(gt, dt, image_sizes=(8, 8))
    assert other[0].box.tolist() == other[1].box.tolist() == [[3, 2, 2, 4]]


def test_yolo_without_any_image(tmp_path: Path) -> None:
    (tmp_path / "labels").mkdir()
    (tmp_path / "labels" / "a.txt").write_text("1 0.5 0.5 0.25 0.5")
    with pytest.raises(InputError, match="so give image_sizes="):
        as_tables(tmp_path, tmp_path)


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ({"a.xml": "<annotation/>"}, "voc"),
        ({"Annotations/a.xml": "<annotation/>", "labels/a.txt": ""}, "voc"),
        ({"VOCdevkit/VOC2012/Annotations/a.xml": ""}, "voc"),
        ({"train/a.xml": ""}, "voc"),
        ({"comp3_det_test_car.txt": ""}, "voc"),
        ({"comp3_det_test_car.txt": "000004 0.7 89 112 516 466"}, "voc"),
        ({"car.txt": "000004 0.7 89 112 516 466"}, "voc"),
        ({"car.txt": "2007_a 0.7 0.1 0.1 0.5 0.5"}, "voc"),
        ({"comp3_det_test_car.txt": "4 0.7 0 0 1 1"}, "voc"),
        ({"a.txt": "4 0.7 0.1 0.1 0.5 0.5"}, "yolo"),
        ({"a.txt": "", "b.txt": "4 0.7 0.1 0.1 0.5 0.5 0.6 0.6"}, "yolo"),
        ({"classes.txt": "a name of six words here now", "a.txt": "4 0.7 0 0 1 1"}, "yolo"),
        ({"nan.txt": "nan 0.7 0 0 1 1"}, "voc"),
        ({"data.yaml": ""}, "yolo"),
        ({"labels/val/a.txt": ""}, "yolo"),
        ({"train/labels/a.txt": ""}, "yolo"),
    ],
)
def test_formats_of_folders(tmp_path: Path, files: dict[str, str], kind: str) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert find_format(tmp_path) == kind


def test_formats_of_files(tmp_path: Path) -> None:
    for name, kind in (("a.JSON", "coco"), ("b.yml", "yolo"), ("c.yaml", "yolo")):
        (tmp_path / name).write_text("")
        assert find_format(str(tmp_path / name)) == kind
    (tmp_path / "x_car.txt").write_text("i 0.7 89 112 516 466")
    assert find_format(tmp_path / "x_car.txt") == "voc"
    (tmp_path / "a.csv").write_text("")
    with pytest.raises(InputError, match=r"must be a COCO \.json file, .*; its ending is '\.csv'"):
        find_format(tmp_path / "a.csv")
    with pytest.raises(InputError, match=r"must be a COCO \.json file, .*; there is nothing"):
        as_ground_truth(tmp_path / "none")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="holds none of their files"):
        find_format(tmp_path / "empty")
    (tmp_path / "empty" / "found.json").write_text("[]")
    with pytest.raises(InputError, match=r"it holds found\.json, name that file"):
        as_detections(tmp_path / "empty")


# Data sets


def _dataset(*regions: Region, size: tuple[int | None, int | None] = (80, 40)) -> Dataset:
    annotations = {"a": Annotation("a", *size, regions), "b": Annotation("b")}
    return from_annotations("made", annotations, {})


def test_regions_of_a_data_set() -> None:
    box = (0.25, 0.5, 0.5, 1.0)
    dataset = _dataset(
        Region("cat", box=box, flags=("crowd",)),
        Region("dog", "polygon", box, ((0.25, 0.5, 0.5, 0.5, 0.5, 1.0, 0.25, 1.0),)),
        Region("cow", box=box, flags=("difficult",)),
        Region("", box=box, flags=("ignore",)),
    )
    truth = as_ground_truth(dataset)
    assert truth.image.tolist() == ["a"] * 4
    assert truth.label.tolist() == ["cat", "dog", "cow", ""]
    assert truth.box.tolist() == [[20, 20, 20, 20]] * 4
    assert truth.crowd.tolist() == [True, False, False, True]
    assert truth.difficult.tolist() == [False, False, True, False]
    assert truth.images is not None
    assert truth.images.tolist() == ["a", "b"]
    assert truth.pixel == "continuous"
    assert truth.masks is None
    drawn = as_ground_truth(dataset, masks=True)
    plane = np.zeros((40, 80), np.uint8, order="F")
    plane[20:40, 20:40] = 1
    assert drawn.masks == (rle.encode(plane),) * 4


def test_regions_with_scores_are_detections() -> None:
    found = as_detections(_dataset(Region("cat", box=(0, 0, 0.5, 1), score=0.25)))
    assert found.box.tolist() == [[0, 0, 40, 40]]
    assert found.score.tolist() == [0.25]
    with pytest.raises(InputError, match="image 'a', region 0: must have a score; has none"):
        as_detections(_dataset(Region("cat")))


def test_regions_that_do_not_fit() -> None:
    point = Region("eye", "point", (0.1, 0.1, 0.2, 0.2), None, 2.0, index=4)
    with pytest.raises(InputError, match=r"image 'a', region 4 \('eye'\): must be a box"):
        as_ground_truth(_dataset(point))
    with pytest.raises(InputError, match="image 'a': its size in pixels must be known"):
        as_ground_truth(_dataset(Region("cat"), size=(None, None)))


def test_sizes_of_a_data_set_come_from_its_images(tmp_path: Path) -> None:
    for folder in ("images", "labels"):
        (tmp_path / folder).mkdir()
    Image.new("L", (80, 40)).save(tmp_path / "images" / "a.png")
    (tmp_path / "labels" / "a.txt").write_text("0 0.5 0.5 0.25 0.5")
    truth = as_ground_truth(load_dataset("yolo", tmp_path))
    assert truth.image.tolist() == ["a.png"]
    assert truth.box.tolist() == [[30, 10, 20, 20]]


_READERS: list[Callable[[Any], Any]] = [as_ground_truth, as_detections]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["boxes", "labels", "scores", "image_id", "category_id", "a"]),
                inner,
                max_size=3,
            )
        ),
        max_leaves=8,
    ).filter(lambda given: not isinstance(given, str))
)
def test_nonsense_is_refused_or_read_but_never_crashes(given: Any) -> None:
    for read in _READERS:
        with suppress(InputError):
            assert len(read(given)) >= 0
