"""Dicts of tensors: targets and predictions become columns, and errors name image and field."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pycocotools import mask as rle

from sightline.core import InputError
from sightline.detection.dicts import dict_detections, dict_ground_truth, own_image_ids


def _target(**change: Any) -> dict[str, Any]:
    return {"boxes": [[0.0, 1.0, 4.0, 5.0]], "labels": [3], **change}


def _prediction(**change: Any) -> dict[str, Any]:
    return {"boxes": [[0.0, 1.0, 4.0, 5.0]], "labels": [3], "scores": [0.5], **change}


def _planes(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(0).random(shape) > 0.5


@pytest.mark.parametrize("make", [torch.tensor, np.array, list], ids=["torch", "numpy", "list"])
def test_targets_of_any_kind_of_array(make: Any) -> None:
    targets = [
        {
            "boxes": make([[1.0, 2.0, 4.0, 6.0], [0.0, 0.0, 1.0, 1.0]]),
            "labels": make([1, 2]),
            "area": make([10.0, 1.0]),
            "iscrowd": make([0, 1]),
            "image_id": 5,
        },
        {"boxes": make([]), "labels": make([]), "image_id": 3},
    ]
    truth = dict_ground_truth(targets)
    assert truth.image.tolist() == [5, 5]
    assert truth.images is not None
    assert truth.images.tolist() == [3, 5]
    assert truth.box.tolist() == [[1, 2, 3, 4], [0, 0, 1, 1]]
    assert truth.label.tolist() == [1, 2]
    assert truth.area.tolist() == [10, 1]
    assert truth.crowd.tolist() == [False, True]
    assert truth.pixel is None
    assert truth.masks is None


def test_predictions_with_gradients_and_short_floats() -> None:
    boxes = torch.tensor([[0.5, 1.0, 4.0, 5.0]], dtype=torch.bfloat16, requires_grad=True)
    scores = torch.tensor([0.25], dtype=torch.float16)
    found = dict_detections([{"boxes": boxes, "labels": torch.tensor([3]), "scores": scores}])
    assert found.box.dtype == found.score.dtype == np.float64
    assert found.box.tolist() == [[0.5, 1, 3.5, 4]]
    assert found.score.tolist() == [0.25]


def test_sides_are_told_in_double_precision() -> None:
    boxes = np.array([[0.1, 0.1, 16777216.1, 3.3]], np.float32)
    found = dict_detections([_prediction(boxes=boxes)])
    wide = boxes.astype(np.float64)
    assert found.box.tolist() == [[*wide[0, :2], wide[0, 2] - wide[0, 0], wide[0, 3] - wide[0, 1]]]


@pytest.mark.parametrize(
    ("box_format", "box"),
    [("xyxy", [1.0, 2.0, 4.0, 6.0]), ("xywh", [1.0, 2.0, 3.0, 4.0]), ("cxcywh", [2.5, 4, 3, 4])],
)
def test_box_formats(box_format: Any, box: list[float]) -> None:
    found = dict_detections([_prediction(boxes=[box])], box_format=box_format)
    truth = dict_ground_truth([_target(boxes=[box])], box_format=box_format)
    assert found.box.tolist() == truth.box.tolist() == [[1, 2, 3, 4]]


def test_boxes_that_carry_their_format() -> None:
    class Boxes(torch.Tensor):  # type: ignore[misc]
        """As torchvision's BoundingBoxes."""

        format = type("Format", (), {"value": "XYWH"})

    boxes = torch.tensor([[1.0, 2.0, 3.0, 4.0]]).as_subclass(Boxes)
    assert dict_detections([_prediction(boxes=boxes)]).box.tolist() == [[1, 2, 3, 4]]
    boxes.format = type("Format", (), {"value": "XYXYR"})
    with pytest.raises(InputError, match="box_format must be one of xyxy, xywh, cxcywh"):
        dict_detections([_prediction(boxes=boxes)])


def test_texts_as_labels() -> None:
    entries = [_prediction(labels=["cat"]), _prediction(labels=np.array(["a bird"]))]
    assert dict_detections(entries).label.tolist() == ["cat", "a bird"]


def test_images_are_named_from_outside() -> None:
    entries = [_prediction(), _prediction()]
    assert dict_detections(entries).image.tolist() == [0, 1]
    assert dict_detections(entries, images=("b", "a")).image.tolist() == ["b", "a"]
    assert dict_detections(entries, images=np.array([7, 3])).image.tolist() == [7, 3]
    named = [_prediction(image_id=torch.tensor([4])), _prediction(image_id=np.int32(2))]
    assert dict_detections(named, images=[4, 2]).image.tolist() == [4, 2]
    with pytest.raises(InputError, match=r"image_id of number 1 must be that of images, 3; got 2"):
        dict_detections(named, images=[4, 3])


def test_masks_of_targets_and_predictions() -> None:
    planes = _planes(2, 5, 7)
    boxes = [[0, 0, 7, 5], [0, 0, 7, 5]]
    expected = [rle.encode(np.asfortranarray(plane, np.uint8)) for plane in planes]
    target = _target(boxes=boxes, labels=[1, 2], masks=torch.tensor(planes))
    truth = dict_ground_truth([target, _target(boxes=[], labels=[])], masks=True)
    assert truth.masks == tuple(expected)
    assert truth.area.tolist() == [plane.sum() for plane in planes]
    shares = torch.tensor(np.where(planes, 0.5, 0.4999))[:, None]
    found = dict_detections(
        [{"boxes": boxes, "labels": [1, 2], "scores": [1, 0], "masks": shares}], masks=True
    )
    assert found.masks == tuple(expected)
    assert dict_ground_truth([target]).masks is None


@pytest.mark.parametrize("kind", [np.uint8, np.int64, np.bool_])
def test_masks_of_whole_numbers_are_set_where_not_zero(kind: Any) -> None:
    planes = _planes(1, 3, 4).astype(kind)
    truth = dict_ground_truth([_target(masks=planes * kind(1))], masks=True)
    assert truth.masks == (rle.encode(np.asfortranarray(planes[0], np.uint8)),)


def test_masks_as_run_lengths_and_boxes_around_them() -> None:
    plane = np.zeros((5, 7), np.uint8, order="F")
    plane[1:3, 2:6] = 1
    packed = rle.encode(plane)
    plain = {"size": [5, 7], "counts": [11, 2, 3, 2, 3, 2, 3, 2, 7]}
    entry = {"labels": [1, 2], "masks": [packed, plain]}
    truth = dict_ground_truth([entry], masks=True)
    assert truth.box.tolist() == [[2, 1, 4, 2]] * 2
    assert truth.area.tolist() == [8, 8]
    empty = dict_ground_truth([{"labels": [], "masks": torch.zeros(0, 5, 7)}], masks=True)
    assert len(empty) == 0
    assert empty.masks == ()


def test_nothing_at_all() -> None:
    assert len(dict_ground_truth([])) == 0
    found = dict_detections([{"boxes": torch.zeros(0, 4), "labels": [], "scores": []}])
    assert len(found) == 0
    assert len(dict_detections([{"boxes": []}])) == 0


def test_inputs_stay_as_they_are() -> None:
    boxes, planes = np.array([[0.0, 1.0, 4.0, 5.0]]), _planes(1, 5, 7)
    for array in (boxes, planes):
        array.flags.writeable = False
    entry = _prediction(boxes=boxes, masks=planes, image_id=torch.tensor(3))
    before = copy.deepcopy(entry)
    dict_detections([entry], masks=True, box_format="cxcywh")
    assert entry.keys() == before.keys()
    for key, value in before.items():
        assert np.array_equal(np.asarray(entry[key]), np.asarray(value))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"boxes": [[0, 0, 1]]}, r"image 1: boxes must have the shape \(N, 4\); got 1×3"),
        ({"boxes": [0, 0, 1, 1]}, r"image 1: boxes must have the shape \(N, 4\); got 4"),
        ({"boxes": [["a", 0, 1, 1]]}, "image 1: boxes must be numbers"),
        ({"boxes": [[0, 0, 1, np.nan]]}, r"image 1, entry 0: box must be finite; got \[0"),
        ({"boxes": [[3, 0, 1, 1]]}, r"entry 0: box must have a width .* got \[3\.0, 0\.0, 1\.0"),
        ({"labels": [1, 2]}, "image 1: labels must have one value for each of 1 boxes; .* 2"),
        ({"labels": [[1]]}, "labels must have one value for each of 1 boxes; got the shape 1×1"),
        ({"labels": [1.0]}, r"image 1: labels must be integers everywhere .*; got \[1\.0\]"),
        ({"labels": [True]}, "image 1: labels must be integers everywhere"),
        ({"labels": [None]}, "image 1: labels must be integers everywhere"),
        ({"labels": ["cat"]}, r"image 1: labels must be integers everywhere .* got \['cat'\]"),
        ({"scores": [np.inf]}, "image 1, entry 0: scores must be finite; got inf"),
        ({"scores": ["high"]}, "image 1: scores must be numbers"),
        ({"scores": [[0.5]]}, "scores must have one value for each of 1 boxes"),
        ({"masks": _planes(2, 3, 4)}, "image 1: masks must be one for each of 1 boxes; got 2"),
        ({"masks": _planes(3, 4)}, r"masks must have the shape .*; got 3×4"),
        ({"masks": np.array([["a"]])}, "image 1: masks must be True and False, or numbers"),
        ({"masks": [{"counts": []}]}, r"image 1, entry 0: masks must have a size of height"),
        ({"masks": None}, "image 1: masks must be there; masks=False compares boxes"),
    ],
)
def test_predictions_that_do_not_fit(change: dict[str, Any], message: str) -> None:
    good = _prediction(masks=_planes(1, 3, 4))
    with pytest.raises(InputError, match=f"detections: .*{message}"):
        dict_detections([good, {**good, **change}], masks=True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"iscrowd": [2]}, "image 8, entry 0: iscrowd must be 0 or 1; got 2"),
        ({"iscrowd": [np.nan]}, "iscrowd must be 0 or 1"),
        ({"area": [-1]}, "image 8, entry 0: area must be a number of at least 0; got -1"),
        ({"area": [np.inf]}, "area must be a number of at least 0; got inf"),
        ({"area": [1, 2]}, "area must have one value for each of 1 boxes"),
        ({"image_id": 9}, "each image must be there once; image 9 is there twice"),
        ({"image_id": True}, "image_id of number 1 must be an integer of 64 bits or a string"),
        ({"image_id": 2.0}, "image_id of number 1 must be an integer"),
        ({"image_id": [1, 2]}, "image_id of number 1 must be an integer"),
        ({"image_id": 2**63}, "image_id of number 1 must be an integer of 64 bits"),
        ({"image_id": "8"}, "must be integers everywhere or strings everywhere; got 9 and '8'"),
    ],
)
def test_targets_that_do_not_fit(change: dict[str, Any], message: str) -> None:
    good = _target(area=[1], iscrowd=[0])
    with pytest.raises(InputError, match=f"ground truth: .*{message}"):
        dict_ground_truth([{**good, "image_id": 9}, {**good, "image_id": 8, **change}])


def test_numbers_among_texts() -> None:
    entry = {"boxes": [[0, 0, 1, 1]] * 2, "labels": ["cat", 1], "scores": [0, 0]}
    with pytest.raises(InputError, match=r"image 0: labels must be .*; got \['cat', 1\]"):
        dict_detections([entry])


def test_missing_keys_are_named() -> None:
    with pytest.raises(InputError, match="image 0: boxes must be there; its keys are labels"):
        dict_ground_truth([{"labels": [1]}])
    shares = {"boxes": [[0.5, 0.5, 1, 1]], "class_labels": [1]}
    with pytest.raises(InputError, match=r"labels must be there.*whose boxes are shares"):
        dict_ground_truth([shares])
    with pytest.raises(InputError, match="image 1: area must be there"):
        dict_ground_truth([_target(area=[1]), _target()])
    with pytest.raises(InputError, match=r"must be in every dict, or in none; .* number 1"):
        own_image_ids([{"image_id": 1}, {}], "ground truth")
    with pytest.raises(InputError, match="number 1 must be a dict; got list"):
        dict_ground_truth([_target(), []])  # type: ignore[list-item]
    with pytest.raises(InputError, match="images must name each of 1 dicts; got 2"):
        dict_ground_truth([_target()], images=[1, 2])
    with pytest.raises(InputError, match="images must be a list of image ids; got 'ab'"):
        dict_ground_truth([_target(), _target()], images="ab")


@given(st.lists(st.integers(0, 4), max_size=5), st.data())
def test_the_row_of_an_error_is_the_right_one(counts: list[int], data: st.DataObject) -> None:
    """Put one bad score somewhere, and see that the message says where."""
    places = [(image, entry) for image, count in enumerate(counts) for entry in range(count)]
    if not places:
        return
    image, entry = data.draw(st.sampled_from(places))
    scores = [np.full(count, 0.5) for count in counts]
    scores[image][entry] = np.nan
    entries = [
        {"boxes": np.tile([0, 0, 1, 1], (n, 1)), "labels": [1] * n, "scores": part}
        for n, part in zip(counts, scores, strict=True)
    ]
    with pytest.raises(InputError, match=f"detections: image {image}, entry {entry}: scores"):
        dict_detections(entries)


@pytest.mark.parametrize(
    ("masks", "message"),
    [
        (np.array(1), r"masks must have the shape \(N, H, W\)"),
        ([{"size": [5], "counts": [25]}], r"entry 0: masks must have a size of height and width"),
        ([{"size": [5, 5], "counts": ["a"]}], "entry 0: masks must have counts: run lengths"),
        ([{"size": [0, 4], "counts": "11"}], "entry 0: masks must have a size of height and width"),
        ([{"size": [5, 5], "counts": b"16"}], "entry 0: masks must have counts that add up to 5"),
    ],
)
def test_masks_that_are_none(masks: Any, message: str) -> None:
    entry = {"boxes": [[0, 0, 4, 4]], "labels": [1], "masks": masks}
    with pytest.raises(InputError, match=message):
        dict_ground_truth([entry], masks=True)
    del entry["boxes"]  # they are then those around the masks, once these are known to be good
    with pytest.raises(InputError, match=message):
        dict_ground_truth([entry], masks=True)
