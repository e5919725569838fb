"""A thousand masks through every entry; areas and all arrays are those of pycocotools."""

from __future__ import annotations

import contextlib
import copy
import io
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from pycocotools import mask as rle
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from sightline.core import InputError
from sightline.data import load_dataset
from sightline.detection import (
    DetectionAccumulator,
    Detections,
    GroundTruth,
    as_detections,
    as_ground_truth,
    evaluate_detections,
)
from sightline.detection.masks import mask_areas, read_mask
from sightline.results import open_detection
from tests.cli.small import error, run

if TYPE_CHECKING:
    from pathlib import Path

Row = dict[str, Any]
IMAGES, EACH, HEIGHT, WIDTH = 50, 20, 60, 80


def _draw(centre: Any, radii: Any) -> tuple[list[float], Row]:
    """Return an octagon as a polygon and as run lengths."""
    angle = np.arange(8) * np.pi / 4
    turns = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    polygon = np.round(np.asarray(centre) + turns * radii, 2).ravel().tolist()
    drawn = rle.merge(rle.frPyObjects([polygon], HEIGHT, WIDTH))
    return polygon, {"size": [HEIGHT, WIDTH], "counts": drawn["counts"].decode()}


def _plain_counts(runs: Row) -> Row:
    """Return run lengths as a list of numbers, read from their text one by one."""
    counts: list[int] = []
    value = shift = 0
    for byte in str(runs["counts"]).encode():
        bits = byte - 48
        value, shift = value | (bits & 31) << shift, shift + 5
        if not bits & 32:
            value -= (1 << shift) if bits & 16 else 0
            counts.append(value + (counts[-2] if len(counts) > 2 else 0))
            value = shift = 0
    return {"size": runs["size"], "counts": counts}


def _plane(runs: Row) -> Any:
    counts = _plain_counts(runs)["counts"]
    pixels = np.repeat(np.arange(len(counts)) % 2, counts)
    return pixels.reshape(runs["size"], order="F").astype(np.uint8)


def _scene() -> tuple[Row, list[Row]]:
    """Return 1,000 objects of all forms, two of them crowds an image, and as many detections."""
    rng = np.random.default_rng(0)
    objects: list[Row] = []
    found: list[Row] = []
    for number in range(IMAGES * EACH):
        centre, radii = rng.uniform((5, 5), (WIDTH - 5, HEIGHT - 5)), rng.uniform(2, 40, 2)
        polygon, runs = _draw(centre, radii)
        ids = {"image_id": 1 + number // EACH, "category_id": int(rng.integers(1, 4))}
        sides = {"bbox": rle.toBbox(runs).tolist(), "area": float(rle.area(runs))}
        form = [[polygon], runs, _plain_counts(runs)][number % 3]
        crowd = int(number % 10 == 7)
        row = {"id": number + 1, **ids, **sides, "iscrowd": crowd, "segmentation": form}
        objects.append(row)
        _, runs = _draw(centre + rng.normal(0, 1, 2), radii * rng.uniform(0.8, 1.2, 2))
        score, box = round(float(rng.random()), 2), rle.toBbox(runs).tolist()
        found.append({**ids, "score": score, "bbox": box, "segmentation": runs})
    images = [
        {"id": n, "file_name": f"c{n:02}.png", "width": WIDTH, "height": HEIGHT}
        for n in range(1, IMAGES + 1)
    ]
    categories = [{"id": n, "name": f"class {n}"} for n in (1, 2, 3)]
    return {"images": images, "categories": categories, "annotations": objects}, found


TRUTH, FOUND = _scene()
AREAS = [row["area"] for row in TRUTH["annotations"]]
BARE = [{key: row[key] for key in row if key != "bbox"} for row in FOUND]


def _without(field: str) -> Row:
    rows = [{key: row[key] for key in row if key != field} for row in TRUTH["annotations"]]
    return TRUTH | {"annotations": rows}


def _write(path: Path, content: Any) -> Path:
    path.write_text(json.dumps(content))
    return path


def _theirs(truth: Row, found: list[Row], masks: bool) -> COCOeval:
    with contextlib.redirect_stdout(io.StringIO()):
        known = COCO()
        known.dataset = copy.deepcopy(truth) | {"info": {}}
        known.createIndex()
        results = known.loadRes(copy.deepcopy(found))
        evaluation = COCOeval(known, results, "segm" if masks else "bbox")
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    return evaluation


def _assert_same(results: Any, evaluation: COCOeval) -> None:
    for name in ("precision", "recall", "scores"):
        ours = getattr(results.arrays, name)
        np.testing.assert_array_equal(ours, evaluation.eval[name], name)
    expected = np.where(evaluation.stats == -1, np.nan, evaluation.stats)
    np.testing.assert_array_equal(list(results.figures.values()), expected)


@pytest.mark.compiles
@pytest.mark.parametrize("masks", [False, True])
@pytest.mark.parametrize("found", [FOUND, BARE], ids=["boxes and masks", "masks alone"])
def test_all_arrays_are_those_of_pycocotools(masks: bool, found: list[Row], tmp_path: Path) -> None:
    evaluation = _theirs(TRUTH, found, masks)
    assert 0.05 < evaluation.stats[0] < 0.95
    files = _write(tmp_path / "gt.json", TRUTH), _write(tmp_path / "dt.json", found)
    for pair in (files, (TRUTH, found)):
        _assert_same(evaluate_detections(*pair, masks=masks), evaluation)


@pytest.mark.parametrize(
    ("truth", "found", "options"),
    [
        (TRUTH, FOUND, ["--masks"]),
        (TRUTH, BARE, ["--masks"]),
        (TRUTH, BARE, []),
        (_without("area"), FOUND, ["--masks"]),
        (_without("bbox"), BARE, []),
    ],
    ids=["masks", "masks alone", "masks as boxes", "without area", "without box"],
)
def test_the_command(truth: Row, found: list[Row], options: list[str], tmp_path: Path) -> None:
    files = _write(tmp_path / "gt.json", truth), _write(tmp_path / "dt.json", found)
    content = json.loads(run("detect", *files, *options, "--json").stdout)
    expected = _theirs(TRUTH, found, bool(options)).stats
    np.testing.assert_array_equal([content["AP"], content["AR100"]], [expected[0], expected[8]])


def test_the_command_stores_masks_and_compares_them(tmp_path: Path) -> None:
    files = _write(tmp_path / "gt.json", TRUTH), _write(tmp_path / "dt.json", BARE)
    options = "--masks", "--against", files[1], "--resamples", 100
    run("detect", *files, *options, "--store", tmp_path / "run", "--name", "mine")
    stored = open_detection(tmp_path / "run", "mine")
    results = evaluate_detections(*files, masks=True)
    assert stored.boxes is not None
    np.testing.assert_array_equal(
        stored.boxes.confusion_matrix(0.25).matrix, results.confusion_matrix(0.5, 0.25).matrix
    )


def test_columns() -> None:
    runs = [row["segmentation"] for row in FOUND]
    ids = [row["image_id"] for row in FOUND], [row["category_id"] for row in FOUND]
    boxes = [row["bbox"] for row in FOUND]
    found = Detections.from_arrays(*ids, boxes, np.ones(len(boxes)), masks=runs)
    expected = [float(rle.area(mask)) for mask in runs]
    assert found.area.tolist() == expected
    assert found.area.dtype == np.float64
    assert GroundTruth.from_arrays(*ids, boxes, masks=runs).area.tolist() == expected


def test_dicts_of_tensors_and_batches() -> None:
    runs = [row["segmentation"] for row in FOUND]
    planes = np.array([_plane(mask) for mask in runs[:300]])
    entry = {"labels": np.ones(300, np.int64), "scores": np.linspace(0, 1, 300)}
    expected = [float(rle.area(mask)) for mask in runs]
    for masks in (planes, runs[:300]):
        truth = as_ground_truth([{"labels": entry["labels"], "masks": masks}], masks=True)
        assert truth.area.tolist() == expected[:300]
        found = as_detections([entry | {"masks": masks}], masks=True)
        assert found.area.tolist() == expected[:300]
        np.testing.assert_array_equal(found.box, rle.toBbox(runs[:300]))
    accumulator = DetectionAccumulator(masks=True)
    for number in range(4):
        one = entry | {"masks": runs[300 * number : 300 * number + 300][:250]}
        one = {key: value[: len(one["masks"])] for key, value in one.items()}
        target = {"labels": one["labels"], "masks": one["masks"], "image_id": number}
        accumulator.update([target], [one])
    assert accumulator.compute().figures["AR100"] > 0


def test_regions_of_a_data_set(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    for image in TRUTH["images"]:
        Image.new("L", (WIDTH, HEIGHT)).save(tmp_path / "images" / image["file_name"])
    path = _write(tmp_path / "annotations.json", TRUTH)
    dataset = load_dataset("coco", path, images=tmp_path / "images")
    truth = as_ground_truth(dataset, masks=True)
    assert len(truth) == 1000
    assert sorted(truth.area.tolist()) == sorted(AREAS)


# --- YOLO's polygons -----------------------------------------------------------------------------


def _write_labels(folder: Path, found: bool = False) -> Row:
    """Write polygons in shares of the images; return the same as COCO's content."""
    rng = np.random.default_rng(3)
    size = np.array([WIDTH, HEIGHT])
    (folder / "labels").mkdir(parents=True)
    objects: list[Row] = []
    for number in range(1, IMAGES + 1):
        lines = []
        for _ in range(EACH):
            polygon, _ = _draw(rng.uniform((5, 5), size - 5), rng.uniform(3, 20, 2))
            shares = np.round(np.reshape(polygon, (-1, 2)) / size, 6)
            label, points = int(rng.integers(3)), np.round(shares * size, 6)
            score = f" {len(objects) / 1000}" if found else ""
            lines.append(f"{label} {' '.join(map(str, shares.ravel().tolist()))}{score}")
            runs = rle.merge(rle.frPyObjects([points.ravel().tolist()], HEIGHT, WIDTH))
            objects.append(
                {
                    "id": len(objects) + 1, "image_id": number, "category_id": label + 1,
                    "segmentation": {**runs, "counts": runs["counts"].decode()}, "iscrowd": 0,
                    "bbox": rle.toBbox(runs).tolist(), "area": float(rle.area(runs)),
                }
            )  # fmt: skip
        (folder / "labels" / f"c{number:02}.txt").write_text("\n".join(lines))
    return TRUTH | {"annotations": objects}


def test_polygons_of_yolo_are_masks_of_coco(tmp_path: Path) -> None:
    content = _write_labels(tmp_path)
    (tmp_path / "data.yaml").write_text("names: [x, y, z]")
    rows = content["annotations"]
    found = [
        {"image_id": f"c{row['image_id']:02}", "category_id": row["category_id"],
         "score": number % 97 / 97, "segmentation": rows[number - number % 2]["segmentation"]}
        for number, row in enumerate(rows)
    ]  # fmt: skip
    path = _write(tmp_path / "predictions.json", found)
    sizes = "--image-size", f"{WIDTH}x{HEIGHT}"
    told = run("detect", tmp_path / "data.yaml", path, "--masks", *sizes, "--json").stdout
    numbered = [row | {"image_id": int(row["image_id"][1:])} for row in found]
    expected = _theirs(content, numbered, masks=True)
    assert 0.05 < expected.stats[0] < 0.95
    assert json.loads(told)["AP"] == expected.stats[0]
    truth = as_ground_truth(tmp_path, masks=True, image_sizes=(WIDTH, HEIGHT))
    assert truth.area.tolist() == [row["area"] for row in rows]
    _assert_same(evaluate_detections(truth, found, masks=True), expected)


def test_polygons_with_confidences_are_masks(tmp_path: Path) -> None:
    gt, dt = tmp_path / "gt", tmp_path / "dt"
    content = _write_labels(gt)
    _write_labels(dt, found=True)
    sizes = "--image-size", f"{WIDTH}x{HEIGHT}"
    told = json.loads(run("detect", gt, dt, "--masks", *sizes, "--json").stdout)
    assert told["AR100"] == 1  # the same polygons
    found = as_detections(dt, masks=True, image_sizes=(WIDTH, HEIGHT))
    assert found.area.tolist() == [row["area"] for row in content["annotations"]]


def test_polygons_of_yolo_as_a_data_set_has_them(tmp_path: Path) -> None:
    _write_labels(tmp_path)
    for image in TRUTH["images"]:
        Image.new("L", (WIDTH, HEIGHT)).save(tmp_path / "labels" / image["file_name"])
    truth = as_ground_truth(tmp_path, masks=True)
    other = as_ground_truth(load_dataset("yolo", tmp_path), masks=True)
    assert truth.masks is not None
    assert truth.masks == other.masks


@pytest.mark.parametrize("place", [0, 1])
def test_a_box_among_polygons_is_an_error(tmp_path: Path, place: int) -> None:
    polygon = "1 0.1 0.2 0.5 0.2 0.5 0.6 0.1 0.5"
    lines = [polygon]
    lines.insert(place, "1 0.5 0.5 0.25 0.5")
    (tmp_path / "labels").mkdir()
    file = tmp_path / "labels" / "a.txt"
    file.write_text("\n".join(lines))
    assert len(as_ground_truth(tmp_path, image_sizes=(8, 8))) == 2
    message = rf"a\.txt line {place + 1}: must be a polygon, since masks are compared.*got a box"
    with pytest.raises(InputError, match=message):
        as_ground_truth(tmp_path, masks=True, image_sizes=(8, 8))
    told = error("detect", tmp_path, tmp_path, "--masks", "--image-size", "8x8")
    assert f"a.txt line {place + 1}: must be a polygon" in told
    file.write_text("\n".join(f"{line} 0.5" for line in lines))
    with pytest.raises(InputError, match=message):
        as_detections(tmp_path, masks=True, image_sizes=(8, 8))


def test_three_points_are_a_polygon_where_masks_are_compared(tmp_path: Path) -> None:
    (tmp_path / "labels").mkdir()
    (tmp_path / "labels" / "a.txt").write_text("1 0.1 0.1 0.9 0.1 0.9 0.9")
    with pytest.raises(InputError, match="a class and 6 numbers may be a box with confidence and"):
        as_ground_truth(tmp_path, image_sizes=(10, 10))
    truth = as_ground_truth(tmp_path, masks=True, image_sizes=(10, 10))
    expected = rle.merge(rle.frPyObjects([[1, 1, 9, 1, 9, 9]], 10, 10))
    assert truth.area.tolist() == [float(rle.area(expected))]


# --- areas ---------------------------------------------------------------------------------------


@given(st.lists(st.lists(st.integers(0, 700), min_size=1, max_size=9), max_size=5))
def test_areas_of_any_runs(runs: list[list[int]]) -> None:
    masks = []
    for counts in runs:
        pixels = sum(counts) or 1
        whole = counts if sum(counts) else [1]
        masks.append(read_mask({"size": [1, pixels], "counts": whole}))
    assert mask_areas(masks).tolist() == [float(rle.area(mask)) for mask in masks]


def test_areas_of_the_emptiest_and_the_largest() -> None:
    side, other = 65535, 65537  # together the most pixels that a mask may have: 2^32 - 1
    most = side * other
    runs = [[most], [0, most], [1, most - 1], [most - 1, 1], [0, 1, most - 2, 1], [5, 0, most - 5]]
    masks = [read_mask({"size": [side, other], "counts": counts}) for counts in runs]
    assert mask_areas(masks).tolist() == [0, most, most - 1, 1, 2, 0]
    assert mask_areas(masks).tolist() == [float(rle.area(mask)) for mask in masks]
    assert mask_areas([]).tolist() == []
