"""Boxes of a stored evaluation tell what the engine tells, from any confidence on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from sightline.core import InputError
from sightline.data import load_dataset
from sightline.detection import (
    Detections,
    GroundTruth,
    Picture,
    as_ground_truth,
    evaluate_detections,
)
from sightline.results import open_detection
from sightline.store import write_detection
from sightline.store.checksums import save_json

if TYPE_CHECKING:
    from pathlib import Path

    from sightline.detection import DetectionResults
    from sightline.results.detection_boxes import StoredBoxes

PROTOCOLS = ("coco", "voc", "simple")


def _scene(protocol: Any = "coco", images: tuple[Any, ...] = ("a.png", "b.png", "c.png")) -> Any:
    """Evaluate a find, a confusion, a miss, a double, a thing made up, and a class unseen."""
    far = (300, 300, 340, 340)
    first, second, third = images
    truth = {
        first: [[(0, 0, 40, 40), "cat"], [(100, 0, 150, 60), "dog"]],
        second: [[(0, 0, 90, 20), "cat"], [(200, 200, 260, 250), "dog", True]],
        third: [[(5, 5, 60, 60), "cat"]],
    }
    found = {
        first: [[(0, 0, 40, 38), 0.9, "cat"], [(0, 0, 40, 30), 0.4, "cat"],
                [(100, 0, 150, 60), 0.8, "cat"], [far, 0.31, "owl"]],
        second: [[(0, 0, 80, 20), 0.75, "cat"], [far, 0.6, "dog"],
                 [(200, 200, 260, 255), 0.55, "dog"]],
        third: [],
    }  # fmt: skip
    return evaluate_detections(truth, found, protocol=protocol)


def _stored(folder: Path, results: DetectionResults) -> StoredBoxes:
    write_detection(folder, "mine", results)
    boxes = open_detection(folder, "mine").boxes
    assert boxes is not None
    return boxes


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("confidence", [0.0, 0.35, 0.55, 0.7, 1.0])
def test_counts_are_those_of_the_evaluation(
    tmp_path: Path, protocol: Any, confidence: float
) -> None:
    results = _scene(protocol)
    boxes = _stored(tmp_path, results)
    assert boxes.class_counts(confidence) == results.counts_at(confidence)
    counts = boxes.image_counts(confidence)
    totals = results.counts_at(confidence).values()
    assert counts["tp"].sum() == sum(one.tp for one in totals)
    assert counts["fp"].sum() == sum(one.fp for one in totals)
    assert counts["fn"].sum() == sum(one.fn for one in totals)
    found = boxes.confusion_matrix(confidence)
    expected = results.confusion_matrix(0.5, confidence)
    np.testing.assert_array_equal(found.matrix, expected.matrix)
    assert found.class_labels == expected.class_labels


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_cell_leads_to_images_that_add_up(tmp_path: Path, protocol: Any) -> None:
    boxes = _stored(tmp_path, _scene(protocol))
    matrix, labels = boxes.confusion_matrix(0.3)
    names = [*labels[:-2], None]
    places = [*range(len(labels) - 2), len(labels) - 1]
    for row, true in zip(places, names, strict=True):
        for column, predicted in zip(places, names, strict=True):
            images = boxes.cell_images(0.3, true, predicted)
            assert sum(images.values()) == matrix[row, column]


def test_the_boxes_of_an_image_say_what_became_of_them(tmp_path: Path) -> None:
    boxes = _stored(tmp_path, _scene())
    lines = boxes.image_boxes("a.png", 0.35)
    told = [(line.label, line.state, line.partner, line.taken_for) for line in lines]
    assert told == [
        ("cat", "found", 2, None),
        ("dog", "FN", None, "cat"),
        ("cat", "TP", 0, None),
        ("cat", "FP", None, "dog"),
        ("cat", "FP", None, None),
    ]
    assert [line.score for line in lines] == [None, None, 0.9, 0.8, 0.4]
    assert lines[0].iou == lines[2].iou == pytest.approx(38 / 40)
    assert list(lines[2].corners) == [0, 0, 40, 38]
    # Nothing is found above all scores.
    assert [line.state for line in boxes.image_boxes("a.png", 0.95)] == ["FN", "FN"]
    assert boxes.image_boxes("c.png", 0) != []


def test_what_counts_neither_way_is_ignored(tmp_path: Path) -> None:
    boxes = _stored(tmp_path, _scene("voc"))
    states = [(line.label, line.score, line.state) for line in boxes.image_boxes("b.png", 0.3)]
    assert ("dog", None, "ignored") in states
    assert ("dog", 0.55, "ignored") in states
    assert ("dog", 0.6, "FP") in states


def test_images_without_boxes_are_known(tmp_path: Path) -> None:
    results = evaluate_detections({1: [], 2: []}, {1: [], 2: []})
    boxes = _stored(tmp_path, results)
    assert boxes.pictures["name"].tolist() == ["1", "2"]
    assert boxes.image_boxes(2, 0.5) == []
    assert boxes.class_counts(0.5) == {}
    assert boxes.confusion_matrix(0.5).matrix.sum() == 0


def test_an_image_is_found_by_its_name_or_its_number(tmp_path: Path) -> None:
    content = {
        "images": [
            {"id": 7, "file_name": "val/b.png", "width": 640, "height": 480},
            {"id": 8, "width": 5, "height": 5},
            {"id": 9, "file_name": "c.png", "width": "wide", "height": True},
        ],
        "categories": [{"id": 1, "name": "cat"}],
        "annotations": [{"id": 0, "image_id": 7, "category_id": 1, "bbox": [0, 0, 4, 5]}],
    }
    path = tmp_path / "truth.json"
    path.write_text(json.dumps(content))
    boxes = _stored(tmp_path / "store", evaluate_detections(str(path), []))
    assert boxes.image_of("val/b.png") == boxes.image_of("7") == 7
    assert boxes.size_of(7) == (640, 480)
    assert boxes.image_of("8") == 8
    assert boxes.size_of(8) is None
    assert boxes.size_of(9) is None
    with pytest.raises(InputError, match="no image 'nope' was evaluated; there are 3"):
        boxes.image_of("nope")
    # The same file, parsed already.
    parsed = evaluate_detections(content, [])
    assert parsed.ground_truth.pictures[7] == Picture("val/b.png", 640, 480)
    assert set(parsed.ground_truth.pictures) == {7, 9}


def test_a_data_set_tells_how_large_its_images_are(tmp_path: Path) -> None:
    dataset = load_dataset("facades", count=2, seed=0)
    results = evaluate_detections(dataset, {})
    boxes = _stored(tmp_path, results)
    assert boxes.size_of("facade-00000.png") == (224, 224)


def test_files_of_voc_and_yolo_tell_how_large_images_are(tmp_path: Path) -> None:
    box = "<bndbox><xmin>1</xmin><ymin>1</ymin><xmax>5</xmax><ymax>9</ymax></bndbox>"
    for name, size in (("a", "<width>50</width><height>40</height>"), ("b", "<width>x</width>")):
        content = f"<size>{size}</size><object><name>cat</name>{box}</object>"
        (tmp_path / "voc").mkdir(exist_ok=True)
        (tmp_path / "voc" / f"{name}.xml").write_text(f"<annotation>{content}</annotation>")
    truth = as_ground_truth(tmp_path / "voc")
    assert truth.pictures == {"a": Picture("a", 50, 40), "b": Picture("b")}
    labels = tmp_path / "yolo" / "labels"
    labels.mkdir(parents=True)
    (labels / "a.txt").write_text("3 0.5 0.5 0.2 0.4\n")
    (labels / "b.txt").touch()
    truth = as_ground_truth(tmp_path / "yolo", image_sizes=(100, 50))
    assert truth.pictures["a"] == Picture("a", 100, 50)
    assert truth.pictures["b"].width is None


def test_masks_come_back(tmp_path: Path) -> None:
    from pycocotools import mask

    def run(x: int) -> Any:
        pixels = np.zeros((40, 40), np.uint8, order="F")
        pixels[5:25, x : x + 20] = 1
        return mask.encode(pixels)

    box = [[0, 0, 40, 40]]
    truth = GroundTruth.from_arrays([1], [3], box, masks=[run(0)], images=[1], classes=[3])
    found = Detections.from_arrays([1, 1], [3, 3], box * 2, [0.9, 0.8], masks=[run(20), run(2)])
    results = evaluate_detections(truth, found, masks=True)
    boxes = _stored(tmp_path, results)
    # The boxes are the same; the masks are not.
    assert [line.state for line in boxes.image_boxes(1, 0)] == ["found", "FP", "TP"]
    np.testing.assert_array_equal(
        boxes.confusion_matrix(0.1).matrix, results.confusion_matrix(0.5, 0.1).matrix
    )


def test_folders_without_boxes_have_none(tmp_path: Path) -> None:
    folder = write_detection(tmp_path, "mine", _scene())
    about = json.loads((folder / "results.json").read_text())
    assert about["confusion"]["confidence"] == 0.25
    del about["files"]["boxes_true.parquet"], about["confusion"]["confidence"]
    save_json(folder / "results.json", about)
    stored = open_detection(tmp_path, "mine")
    assert (stored.boxes, stored.confidence) == (None, None)
    assert stored.confusion_matrix() is not None


def test_the_confidence_of_the_matrix_is_stored(tmp_path: Path) -> None:
    from sightline.store import detection_parts

    write_detection(tmp_path, "mine", detection_parts(_scene(), confidence=0.7))
    assert open_detection(tmp_path, "mine").confidence == 0.7


def test_an_iou_of_nothing_has_no_boxes(tmp_path: Path) -> None:
    box = (0, 0, 40, 40)
    results = evaluate_detections([[[box, 1]]], [[[box, 0.9, 1]]], iou_thresholds=[0.0])
    write_detection(tmp_path, "mine", results)
    assert open_detection(tmp_path, "mine").boxes is None
