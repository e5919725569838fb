"""Columns are checked once, and errors name the column, the row and the value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pycocotools import mask as rle

from sightline.core import InputError
from sightline.detection.columns import Detections, GroundTruth

BOX = [0.0, 1.0, 4.0, 5.0]


def test_what_is_not_given_is_filled_in() -> None:
    truth = GroundTruth.from_arrays([3, 2], ["a", "b"], [BOX, BOX])
    assert len(truth) == 2
    assert truth.area.tolist() == [20, 20]
    assert truth.crowd.tolist() == [False, False]
    assert truth.ids.tolist() == [1, 2]
    assert truth.masks is None
    assert truth.images is None


def test_known_ids_are_sorted() -> None:
    truth = GroundTruth.from_arrays(["b"], [1], [BOX], images=["c", "b", "a"], classes=[2, 1])
    assert truth.images is not None
    assert truth.classes is not None
    assert truth.images.tolist() == ["a", "b", "c"]
    assert truth.classes.tolist() == [1, 2]


def test_nothing_is_fine() -> None:
    assert len(GroundTruth.from_arrays([], [], [])) == 0
    assert Detections.from_arrays([], [], np.empty((0, 4)), []).box.shape == (0, 4)


def test_masks_bring_their_areas() -> None:
    picture = np.zeros((8, 8), np.uint8, order="F")
    picture[2:5, 1:3] = 1
    masks = [rle.encode(picture)]
    assert Detections.from_arrays([1], [1], [BOX], [0.5], masks=masks).area.tolist() == [6]
    assert GroundTruth.from_arrays([1], [1], [BOX], masks=masks, area=[9]).area.tolist() == [9]


def test_masks_may_be_written_in_any_way() -> None:
    picture = np.zeros((8, 8), np.uint8, order="F")
    picture[2:5, 1:3] = 1
    runs = rle.encode(picture)
    counts: list[Any] = [runs["counts"], runs["counts"].decode(), [10, 3, 5, 3, 43]]
    masks = [{"size": (8, np.int64(8)), "counts": count} for count in counts]
    found = Detections.from_arrays([1] * 3, [1] * 3, [BOX] * 3, [1] * 3, masks=masks)
    assert found.masks == (runs,) * 3
    assert [mask["counts"] for mask in masks] == counts


def test_an_area_beyond_the_floats_is_infinite() -> None:
    found = Detections.from_arrays([1], [1], [[0, 0, 1e200, 1e200]], [1])
    assert found.area.tolist() == [np.inf]


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64])
def test_ids_of_any_integer_type(dtype: Any) -> None:
    found = Detections.from_arrays(np.array([1], dtype), np.array([2], dtype), [BOX], [1])
    assert found.image.dtype == found.label.dtype == np.int64


def test_strings_as_objects() -> None:
    found = Detections.from_arrays(np.array(["x", "longer"], object), [1, 1], [BOX, BOX], [1, 0])
    assert found.image.tolist() == ["x", "longer"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"box": [[0, 0, 1]]}, r"box must have the shape \(N, 4\): x, y, width, height; got 1×3"),
        ({"box": [[0, 0, 1, float("nan")]]}, "box must be finite; row 0 is"),
        ({"box": [[0, 0, -1, 1]]}, "width and a height of at least 0; row 0 is"),
        ({"box": [["a", 0, 1, 1]]}, "box must be numbers"),
        ({"score": [float("nan")]}, "detections: score must be finite; row 0 is nan"),
        ({"score": [1, 2]}, "score must have one value for each of 1 boxes; got the shape 2"),
        ({"image": [1.5]}, "image must be integers or strings; got float64"),
        ({"label": [None]}, "label must be integers or strings; got object"),
        ({"label": [1, 2]}, "label must have one value for each of 1 boxes"),
        ({"area": [-1]}, "area must be at least 0; row 0 is -1.0"),
        ({"masks": []}, "masks must have one for each of 1 boxes; got 0"),
        ({"masks": [[1, 2]]}, "masks: row 0 must be run lengths: an object with size and counts"),
        ({"masks": [{"size": [8, 8]}]}, "masks: row 0 must have counts"),
        ({"masks": [{"size": [8], "counts": b"P2"}]}, "row 0 must have a size of height and width"),
        ({"masks": [{"size": [8, 8], "counts": b"P1"}]}, "add up to 8 × 8 pixels; got 32"),
        ({"image": np.array([2**63], np.uint64)}, r"image must be below 2\^63; row 0 is 92233"),
        ({"box": [[0, 0, 1, 1j]]}, "box must be numbers; got complex128"),
        ({"score": ["0.5"]}, "score must be numbers; got <U3"),
        ({"score": [10**400]}, "score must be numbers; int too large"),
    ],
)
def test_detections_that_do_not_fit(change: dict[str, Any], message: str) -> None:
    columns: dict[str, Any] = {"image": [1], "label": [1], "box": [BOX], "score": [0.5]}
    with pytest.raises(InputError, match=message):
        Detections.from_arrays(**{**columns, **change})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"crowd": [0, 2]}, "ground truth: crowd must be 0 or 1; row 1 is 2"),
        ({"crowd": [0, None]}, "ground truth: crowd must be 0 or 1; row 1 is None"),
        ({"crowd": [0]}, "crowd must have one value for each of 2 boxes"),
        ({"ids": [7, 7]}, "ids must be different; row 1 is 7"),
        ({"ids": ["a", "b"]}, "ids must be integers; got 'a'"),
        ({"images": [1]}, "image must be one of those given; row 1 is 2"),
        ({"images": ["1", "2"]}, "image must be integers everywhere or strings everywhere"),
        ({"classes": [5]}, "label must be one of those given; row 0 is 1"),
    ],
)
def test_ground_truth_that_does_not_fit(change: dict[str, Any], message: str) -> None:
    columns: dict[str, Any] = {"image": [1, 2], "label": [1, 1], "box": [BOX, BOX]}
    with pytest.raises(InputError, match=message):
        GroundTruth.from_arrays(**{**columns, **change})
