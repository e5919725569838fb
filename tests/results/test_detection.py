"""What was stored of an evaluation comes back, and what was damaged is named."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from sightline.core import InputError
from sightline.detection import reliability_curve
from sightline.detection.evaluate import evaluate_detections
from sightline.results.detection import StoredDetection, detection_names, open_detection
from sightline.store import DetectionParts, detection_parts, write_detection

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sightline.detection.results import DetectionResults

TABLES = ("classes", "curves", "confusion", "reliability")


def _scene(labels: tuple[Any, Any, Any], protocol: Any = "coco") -> DetectionResults:
    """Evaluate a few boxes: a find, a confusion, a miss, one thing made up; a class unseen."""
    a, b, c = labels
    far = (300, 300, 340, 340)
    truth = {
        1: [[(0, 0, 40, 40), a], [(100, 0, 150, 60), b]],
        2: [[(0, 0, 90, 20), a], [(200, 200, 260, 250), b]],
        3: [[(5, 5, 60, 60), a]],
    }
    found = {
        1: [[(0, 0, 40, 38), 0.9, a], [(100, 0, 150, 60), 0.8, a], [far, 0.31, c]],
        2: [[(0, 0, 80, 20), 0.75, a], [far, 0.6, b], [(200, 200, 260, 255), 0.55, b]],
        3: [],
    }
    return evaluate_detections(truth, found, protocol=protocol)


@pytest.fixture(params=[(3, 7, 9), ("cat", "dog", "owl")], ids=["numbers", "words"])
def results(request: pytest.FixtureRequest) -> DetectionResults:
    return _scene(request.param, "voc")


@pytest.fixture
def stored(tmp_path: Path, results: DetectionResults) -> StoredDetection:
    write_detection(tmp_path / "s", "mine", results, sources={"detections": {"name": "x.json"}})
    return open_detection(tmp_path / "s", "mine")


# --- all comes back ------------------------------------------------------------------------------


def test_figures_come_back(stored: StoredDetection, results: DetectionResults) -> None:
    assert stored.protocol == "voc"
    np.testing.assert_equal(stored.figures, results.figures)
    assert stored.names == results.names
    assert stored.iou == 0.5
    assert stored.intervals == {}
    assert stored.sources == {"detections": {"name": "x.json"}}
    assert repr(stored) == f"StoredDetection('mine': voc; AP {results.figures['AP']:.4f})"
    pd.testing.assert_frame_equal(stored.classes, results.by_class(), check_dtype=False)


def test_curves_come_back(stored: StoredDetection, results: DetectionResults) -> None:
    expected, found = results.pr_curves(), stored.pr_curves()
    assert list(found) == list(expected)
    for key, data in expected.items():
        assert found[key]["num_gt"] == data["num_gt"]
        for name in ("precision", "recall", "confidence"):
            np.testing.assert_array_equal(found[key][name], data[name])
    np.testing.assert_equal(stored.best_f1(), results.best_f1())


def test_errors_come_back(stored: StoredDetection, results: DetectionResults) -> None:
    expected = results.confusion_matrix()
    found = stored.confusion_matrix()
    assert found is not None
    np.testing.assert_array_equal(found.matrix, expected.matrix)
    assert found.class_labels == expected.class_labels
    assert found.others_confused == expected.others_confused
    errors, kinds = stored.errors, results.error_types()
    assert errors is not None
    assert (errors.map, errors.counts, errors.cost) == (kinds.map, kinds.counts, kinds.cost)


def test_reliability_comes_back(stored: StoredDetection, results: DetectionResults) -> None:
    found, expected = stored.reliability(), results.reliability()
    assert found is not None
    for name in ("edges", "count", "confidence", "precision", "ece", "mce"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def test_figures_can_be_drawn_from_what_is_stored(stored: StoredDetection) -> None:
    from sightline import figures

    matrix, errors, reliability = stored.confusion_matrix(), stored.errors, stored.reliability()
    assert matrix is not None
    assert errors is not None
    assert reliability is not None
    figures.draw_pr_curves(stored.pr_curves(), names=stored.names, best=stored.best_f1())
    figures.draw_confusion_matrix(matrix, names=stored.names)
    figures.draw_error_types(errors)
    figures.draw_reliability(reliability)
    figures.draw_intervals(stored.classes)


def test_of_coco_the_101_points_are_stored(tmp_path: Path) -> None:
    results = _scene((3, 7, 9))
    parts = DetectionParts(
        results.to_dict(), results.by_class(), results.pr_curves(), arrays=results.arrays
    )
    write_detection(tmp_path, "a", parts)
    stored = open_detection(tmp_path, "a")
    even = stored.curves[stored.curves["kind"] == "coco101"]
    arrays = results.arrays
    assert arrays is not None
    assert sorted(set(even["class"])) == [3, 7]
    assert len(even) == 2 * 10 * 101
    line = even[(even["class"] == 7) & (even["iou"] == 0.75)]
    place = int(np.argmin(np.abs(arrays.thresholds - 0.75)))
    assert line["recall"].tolist() == arrays.recall_points.tolist()
    assert line["precision"].tolist() == arrays.precision[place, :, 1, 0, -1].tolist()
    reached = line["recall"] <= arrays.recall[place, 1, 0, -1]
    assert 0 < reached.sum() < 101
    assert line["confidence"].isna().tolist() == (~reached).tolist()
    assert line["confidence"][reached].tolist() == [0.6] + [0.55] * (int(reached.sum()) - 1)
    np.testing.assert_equal(stored.figures, results.figures)


def test_of_coco_all_parts_are_stored(tmp_path: Path) -> None:
    results = _scene((3, 7, 9)).with_intervals(0.9, resamples=200)
    folder = write_detection(tmp_path, "a", results)
    names = {file.name for file in folder.iterdir()}
    tables = ["classes", "confusion", "curves", "errors", "images", "reliability"]
    tables += ["boxes_found", "boxes_true", "pictures"]
    assert names == {"results.json", *(f"{one}.parquet" for one in tables)}
    stored = open_detection(tmp_path, "a")
    assert stored.images is not None
    pd.testing.assert_frame_equal(stored.images, results.costliest_images(3), check_dtype=False)
    assert {"AP", "AP50"} <= set(stored.intervals)
    ends = results.intervals["AP"]
    np.testing.assert_equal(stored.intervals["AP"], (ends.low, ends.high))
    np.testing.assert_array_equal(stored.classes["low"], results.by_class()["low"])


def test_parts_of_another_iou_are_those_of_the_lowest() -> None:
    box = (0, 0, 40, 40)
    results = evaluate_detections(
        [[[box, "cat"]]], [[[box, 1.5, "cat"]]], protocol="voc", iou_thresholds=[0.75, 0.6]
    )
    parts = detection_parts(results)
    assert parts.iou == 0.6
    assert parts.reliability is None  # a score of 1.5 is no share
    assert parts.images is None
    assert parts.errors is not None


def test_what_was_not_stored_is_none(tmp_path: Path) -> None:
    summary = {
        "protocol": "coco", "AP": 0.25, "AR1": None,
        "intervals": {"AP": {"low": 0.2, "high": None}},
    }  # fmt: skip
    empty = reliability_curve([], [])
    frame = pd.DataFrame({"class": [1], "name": ["cat"]})
    write_detection(tmp_path, "a", DetectionParts(summary, frame))
    stored = open_detection(tmp_path, "a")
    assert stored.confusion_matrix() is None
    assert stored.errors is None
    assert stored.reliability() is None
    assert stored.images is None
    assert stored.pr_curves() == {}
    assert stored.figures["AP"] == 0.25
    assert math.isnan(stored.figures["AR1"])
    np.testing.assert_equal(stored.intervals, {"AP": (0.2, math.nan)})
    images = pd.DataFrame({"image": ["x", "y"], "cost": [0.2, 0.1]})
    write_detection(tmp_path, "b", DetectionParts(summary, frame, reliability=empty, images=images))
    other = open_detection(tmp_path, "b")
    assert other.images is not None
    assert other.images["cost"].tolist() == [0.2, 0.1]
    found = other.reliability()
    assert found is not None
    assert math.isnan(found.ece)


# --- names ---------------------------------------------------------------------------------------


def test_names_are_those_of_whole_results(tmp_path: Path) -> None:
    assert detection_names(tmp_path) == []
    for name in ("b", "a", "lock"):
        folder = write_detection(tmp_path, name, DetectionParts({}, pd.DataFrame()))
    (folder.parent / "c~12~part").mkdir()
    (folder.parent / "notes.txt").touch()
    assert detection_names(tmp_path) == ["a", "b", "lock"]


def test_results_that_a_killed_writer_set_aside_are_still_there(tmp_path: Path) -> None:
    folder = write_detection(tmp_path, "a", DetectionParts({"AP": 0.5}, pd.DataFrame()))
    folder.rename(folder.with_name("a~old"))
    assert detection_names(tmp_path) == ["a"]
    stored = open_detection(tmp_path, "a")
    assert (stored.name, stored.figures["AP"]) == ("a", 0.5)


def test_an_unknown_name_is_answered_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no detection results of the name 'x'; there are: none"):
        open_detection(tmp_path, "x")
    write_detection(tmp_path, "a", DetectionParts({}, pd.DataFrame()))
    write_detection(tmp_path, "b", DetectionParts({}, pd.DataFrame()))
    with pytest.raises(InputError, match="'x'; there are: a, b"):
        open_detection(tmp_path, "x")
    with pytest.raises(InputError, match="name must be"):
        open_detection(tmp_path, "../detection/a")


# --- damage --------------------------------------------------------------------------------------

ASKED: dict[str, Callable[[StoredDetection], Any]] = {
    "classes": lambda stored: stored.classes,
    "curves": lambda stored: stored.pr_curves(),
    "confusion": lambda stored: stored.confusion_matrix(),
    "reliability": lambda stored: stored.reliability(),
}
DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda content: content[: len(content) // 2],
    "junk": lambda content: b"junk" * 100,
    "empty": lambda content: b"",
    "byte": lambda content: content[:40] + bytes([content[40] ^ 1]) + content[41:],
}


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("how", [*DAMAGES, "gone"])
def test_a_damaged_table_is_named(tmp_path: Path, table: str, how: str) -> None:
    folder = write_detection(tmp_path, "a", _scene((1, 2, 3), "voc"))
    file = folder / f"{table}.parquet"
    if how == "gone":
        file.unlink()
    else:
        file.write_bytes(DAMAGES[how](file.read_bytes()))
    stored = open_detection(tmp_path, "a")
    word = "is gone" if how == "gone" else "is damaged"
    with pytest.raises(InputError, match=rf"{table}.parquet {word}; evaluate the detections"):
        ASKED[table](stored)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"results.json: must be JSON"),
        ("\udcff", r"results.json: must be JSON"),
        ("[]", r"results.json: format must be 1, got None"),
        ('{"format": 2}', r"results.json: format must be 1, got 2"),
        ('{"format": 1}', r"results.json: must hold an object results"),
        (json.dumps({"format": 1, "results": {}, "sources": {}, "files": []}), r"an object files"),
        (None, r"results.json is gone; evaluate the detections again"),
    ],
)
def test_a_damaged_description_is_named(tmp_path: Path, text: str | None, message: str) -> None:
    folder = write_detection(tmp_path, "a", DetectionParts({}, pd.DataFrame()))
    file = folder / "results.json"
    if text is None:
        file.unlink()
    else:
        file.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError, match=message):
        open_detection(tmp_path, "a")
