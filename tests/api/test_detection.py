"""Evaluations over HTTP: figures, counts at any confidence, and the images behind them."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from sightline.api import create_app
from sightline.detection import DetectionResults, evaluate_detections
from sightline.store import write_detection
from tests.api.asking import get, refused
from tests.demo import DETECTOR

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sightline.api.state import Served


@pytest.fixture(scope="module")
def results(api_store: Path) -> DetectionResults:
    """The same evaluation, made again."""
    pictures = next(one for one in api_store.parents if (one / "pictures").is_dir()) / "pictures"
    return evaluate_detections(str(pictures / "coco.json"), str(pictures / f"{DETECTOR}.json"))


def test_the_list_has_the_figures(client: TestClient, results: DetectionResults) -> None:
    (found,) = get(client, "detection")["evaluations"]
    assert (found["name"], found["protocol"], found["images"]) == (DETECTOR, "coco", results.images)
    figures = {one["metric"]: one for one in found["figures"]}
    assert list(figures) == list(results.figures)
    for name, value in results.figures.items():
        assert figures[name]["value"] == (None if np.isnan(value) else value)
    assert figures["AP"]["low"] < figures["AP"]["value"] < figures["AP"]["high"]


@pytest.mark.parametrize("confidence", [None, 0.1, 0.45, 0.8])
def test_counts_and_confusions_are_those_of_the_engine(
    client: TestClient, results: DetectionResults, confidence: float | None
) -> None:
    words = {} if confidence is None else {"confidence": confidence}
    found = get(client, f"detection/{DETECTOR}", **words)
    least = 0.25 if confidence is None else confidence
    assert (found["confidence"], found["iou"], found["boxes"]) == (least, 0.5, True)
    counts = results.counts_at(least)
    for line in found["classes"]:
        one = counts[int(line["key"])]
        assert (line["tp"], line["fp"], line["fn"]) == (one.tp, one.fp, one.fn)
        for name in ("precision", "recall", "f1"):
            value = getattr(one, name)
            assert line[name] == (None if np.isnan(value) else value)
        assert line["name"] == results.names[int(line["key"])]
    matrix, labels = results.confusion_matrix(0.5, least)
    shown = [place for place, label in enumerate(labels) if label != "Others"]
    assert found["confusion"]["counts"] == matrix[np.ix_(shown, shown)].tolist()
    assert found["confusion"]["labels"][-1] == "Background"


def test_curves_and_errors_are_those_of_the_evaluation(
    client: TestClient, results: DetectionResults
) -> None:
    found = get(client, f"detection/{DETECTOR}")
    curves = {curve["name"]: curve for curve in found["curves"]}
    for key, data in results.pr_curves().items():
        name = results.names[key]
        assert (name in curves) == (data["num_gt"] > 0)
        if name in curves:
            assert curves[name]["recall"] == data["recall"].tolist()
            assert curves[name]["precision"] == data["precision"].tolist()
            assert curves[name]["confidence"] == data["confidence"].tolist()
    errors = results.error_types()
    assert found["counts"] == errors.counts
    assert found["errors"] == pytest.approx(errors.cost)
    assert len(found["reliability"]["rows"]) == 10


# --- images --------------------------------------------------------------------------------------


def test_a_cell_leads_to_its_images(client: TestClient) -> None:
    found = get(client, f"detection/{DETECTOR}", confidence=0.3)["confusion"]
    labels, counts = found["labels"], np.array(found["counts"])
    off = counts - np.diag(np.diag(counts))
    cells = [*list(zip(*np.nonzero(off), strict=True))[:6], (0, 0)]
    for row, column in cells:
        words = {"true": labels[row], "predicted": labels[column], "confidence": 0.3}
        images = get(client, f"detection/{DETECTOR}/images", **words)
        assert sum(one["count"] for one in images["items"]) == counts[row, column]
        assert images["total"] == len(images["items"])
        for one in images["items"]:
            _check_cell(client, one, labels[row], labels[column])


def _check_cell(client: TestClient, one: dict[str, Any], true: str, predicted: str) -> None:
    """See that an image shows as many pairs of the cell as it counts."""
    path = f"detection/{DETECTOR}/images/{one['image']}"
    boxes = get(client, path, confidence=0.3)["boxes"]
    if true == predicted:
        return
    if "Background" not in (true, predicted):
        pairs = [b for b in boxes if b["score"] is None and b["taken_for"] == predicted]
        assert sum(b["label"] == true for b in pairs) == one["count"]
    else:
        side = [b for b in boxes if (b["score"] is None) == (predicted == "Background")]
        label = true if predicted == "Background" else predicted
        alone = [b for b in side if b["label"] == label and b["taken_for"] is None]
        assert len(alone) >= one["count"]


@pytest.mark.parametrize(("state", "columns"), [(None, ("fp", "fn")), ("TP", ("tp",))])
def test_images_come_by_how_much_they_have(
    client: TestClient, state: str | None, columns: tuple[str, ...]
) -> None:
    words = {} if state is None else {"state": state}
    found = get(client, f"detection/{DETECTOR}/images", **words)
    counts = [one["count"] for one in found["items"]]
    assert counts == sorted(counts, reverse=True)
    assert counts == [sum(one[name] for name in columns) for one in found["items"]]
    assert all(one["shown"] for one in found["items"])
    second = get(client, f"detection/{DETECTOR}/images", **words, limit=2, offset=1)
    assert second["items"] == found["items"][1:3]
    assert second["total"] == found["total"]


@pytest.mark.parametrize("confidence", [0.05, 0.5])
def test_the_boxes_of_images_add_up_to_the_counts(
    client: TestClient, served: Served, confidence: float
) -> None:
    classes = get(client, f"detection/{DETECTOR}", confidence=confidence)["classes"]
    totals = dict.fromkeys(("tp", "fp", "fn"), 0)
    for image in served.images:
        path = f"detection/{DETECTOR}/images/{image}"
        found = get(client, path, confidence=confidence)
        states = [box["state"] for box in found["boxes"]]
        for state in totals:
            assert found[state] == states.count(state.upper())
            totals[state] += found[state]
        assert states.count("TP") == states.count("found")
        _check_boxes(found["boxes"], confidence)
    assert totals == {state: sum(line[state] for line in classes) for state in totals}


def _check_boxes(boxes: list[dict[str, Any]], confidence: float) -> None:
    """See that partners are each other's, and boxes are shares of the image."""
    for place, box in enumerate(boxes):
        x0, y0, x1, y1 = box["box"]
        assert -0.2 < x0 < x1 < 1.2
        assert -0.2 < y0 < y1 < 1.2
        assert box["score"] is None or box["score"] >= confidence
        if box["partner"] is not None:
            other = boxes[box["partner"]]
            assert other["partner"] == place
            assert other["label"] == box["label"]
            assert other["iou"] == box["iou"] >= 0.5
    scores = [box["score"] for box in boxes if box["score"] is not None]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("confidence", [0.25, 0.5])
def test_the_pairs_of_images_add_up_to_the_confusion_matrix(
    client: TestClient, served: Served, confidence: float
) -> None:
    found = get(client, f"detection/{DETECTOR}", confidence=confidence)["confusion"]
    place = {label: n for n, label in enumerate(found["labels"])}
    counts = np.zeros((len(place), len(place)), int)
    for image in served.images:
        path = f"detection/{DETECTOR}/images/{image}"
        boxes = get(client, path, confidence=confidence)["boxes"]
        for n, box in enumerate(boxes):
            other = None if box["across"] is None else boxes[box["across"]]
            assert other is None or other["across"] == n
            differs = other is not None and other["label"] != box["label"]
            assert box["taken_for"] == (other["label"] if other and differs else None)
            label = "Background" if other is None else other["label"]
            if box["score"] is not None:
                counts[place[label], place[box["label"]]] += 1
            elif other is None:
                counts[place[box["label"]], place[label]] += 1
    assert counts.tolist() == found["counts"]


def test_true_boxes_lie_where_regions_do(client: TestClient, served: Served) -> None:
    image = next(iter(served.images))
    found = get(client, f"detection/{DETECTOR}/images/{image}")["boxes"]
    boxes = np.array([one["box"] for one in found if one["score"] is None])
    for region in served.regions[image]:
        if region.dropped != "unlabelled":
            # COCO files have whole pixels of 224.
            assert np.abs(boxes - np.array(region.box)).max(axis=1).min() < 1.01 / 224


@pytest.mark.parametrize(
    ("path", "words", "status", "field", "text"),
    [
        ("nope", {}, 404, "name", "no evaluation 'nope' is stored; stored: eager"),
        ("nope/images", {}, 404, "name", "nope"),
        (f"{DETECTOR}/images/nope", {}, 404, "image_id", "no image 'nope' was evaluated"),
        (f"{DETECTOR}/images", {"true": "door"}, 422, "predicted", "both must be given"),
        (f"{DETECTOR}/images", {"true": "door", "predicted": "x"}, 422, "predicted", "no class"),
        (f"{DETECTOR}/images", {"true": "door", "predicted": "door", "state": "TP"}, 422, "state",
         "does not go with"),
        (f"{DETECTOR}/images", {"state": "XX"}, 422, "state", "XX"),
        (DETECTOR, {"confidence": "nan"}, 422, "confidence", "confidence"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_told(
    client: TestClient, path: str, words: dict[str, Any], status: int, field: str, text: str
) -> None:
    found = refused(client, f"detection/{path}", status, **words)
    assert found["field"] == field
    assert text in found["detail"]


# --- other stores --------------------------------------------------------------------------------


@pytest.fixture
def other(api_store: Path, tmp_path: Path) -> Iterator[tuple[Path, TestClient]]:
    """A copy of the store whose evaluation may be changed."""
    store = tmp_path / "store"
    shutil.copytree(api_store, store)
    with TestClient(create_app(store), base_url="http://127.0.0.1") as client:
        yield store, client


def test_an_older_folder_without_boxes_still_answers(other: tuple[Path, TestClient]) -> None:
    store, client = other
    folder = store / "detection" / DETECTOR
    about = json.loads((folder / "results.json").read_text())
    for name in ("boxes_true", "boxes_found", "pictures"):
        (folder / f"{name}.parquet").unlink()
        del about["files"][f"{name}.parquet"]
    del about["confusion"]["confidence"]
    del about["sightline-checksum"]  # of which older folders have none
    (folder / "results.json").write_text(json.dumps(about))
    found = get(client, f"detection/{DETECTOR}")
    assert (found["boxes"], found["confidence"]) == (False, None)
    assert found["classes"][0]["tp"] is None
    assert found["confusion"]["counts"]
    assert "boxes were not stored" in found["note"]
    for path in (f"detection/{DETECTOR}/images", f"detection/{DETECTOR}/images/a.png"):
        assert "evaluate the detections again" in refused(client, path, 409)["detail"]
    words = {"confidence": 0.5}
    assert refused(client, f"detection/{DETECTOR}", 409, **words)["status"] == 409


def test_images_are_called_as_the_study_calls_them(other: tuple[Path, TestClient]) -> None:
    store, client = other
    box = (0, 0, 112, 56)
    truth = {"val/facade-00000.png": [[box, "door"]], "facade-00001": [], "else/where.png": []}
    found = {"val/facade-00000.png": [[box, 0.9, "door"]], "else/where.png": [[box, 0.8, "door"]]}
    write_detection(store, "mine", evaluate_detections(truth, found, protocol="voc"))
    images = get(client, "detection/mine/images", state="FP")["items"]
    assert [(one["image"], one["shown"]) for one in images] == [("else__where.png", False)]
    # The store knows how large an image of its own is.
    shown = get(client, "detection/mine/images/facade-00000.png")
    assert shown["boxes"][0]["box"] == pytest.approx([0, 0, 113 / 224, 57 / 224])
    assert get(client, "detection/mine/images/facade-00001.png")["boxes"] == []
    problem = refused(client, "detection/mine/images/else__where.png", 409)
    assert "size of image 'else__where.png' is not known" in problem["detail"]


def test_a_damaged_table_is_named(other: tuple[Path, TestClient]) -> None:
    store, client = other
    (store / "detection" / DETECTOR / "boxes_found.parquet").write_bytes(b"torn")
    found = refused(client, f"detection/{DETECTOR}", 409)
    assert "boxes_found.parquet is damaged" in found["detail"]
