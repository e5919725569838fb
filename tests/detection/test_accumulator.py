"""Batches in any order, merged in any way, give the bits of one evaluation of the whole."""

from __future__ import annotations

import multiprocessing
import pickle
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pycocotools import mask as rle

from sightline.core import InputError
from sightline.detection.accumulator import DetectionAccumulator
from sightline.detection.columns import Detections, GroundTruth
from sightline.detection.evaluate import evaluate_detections
from sightline.detection.readers import as_tables
from tests.detection.detected import images as made_images
from tests.detection.gathering import gather, made

if TYPE_CHECKING:
    from sightline.detection.results import DetectionResults

BOX = (0.0, 0.0, 40.0, 40.0)
SIDES = [[0.0, 0.0, 40.0, 40.0]]


def _batch(image: Any, *, box: Any = BOX, score: float = 0.5) -> tuple[Any, Any]:
    return {image: [[BOX, "cat"]]}, {image: [[box, score, "cat"]]}


def _same_arrays(one: DetectionResults, other: DetectionResults) -> None:
    assert one.arrays is not None
    assert other.arrays is not None
    for name in ("precision", "recall", "scores"):
        assert getattr(one.arrays, name).tobytes() == getattr(other.arrays, name).tobytes()
    assert repr(one.to_dict()) == repr(other.to_dict())


def _same_tables(one: DetectionAccumulator, other: DetectionAccumulator) -> None:
    tables: list[tuple[Any, Any]] = list(zip(one.tables(), other.tables(), strict=True))
    for mine, theirs in tables:
        for name in (field.name for field in fields(mine)):
            first, second = getattr(mine, name), getattr(theirs, name)
            if isinstance(first, np.ndarray):
                assert first.dtype == second.dtype, name
                assert first.tobytes() == second.tobytes(), name
            else:
                assert first == second, name


@settings(max_examples=40, deadline=None)
@given(made_images(), st.data(), st.sampled_from(["coco", "voc", "simple"]))
def test_any_order_of_updates_and_merges(
    pair: tuple[list[Any], list[Any]], data: st.DataObject, protocol: str
) -> None:
    predictions, truths = pair
    whole = evaluate_detections(truths, predictions, protocol=protocol)  # type: ignore[arg-type]
    order = data.draw(st.permutations(range(len(truths))))
    parts = [DetectionAccumulator(protocol=protocol) for _ in range(3)]
    while order:
        count = data.draw(st.integers(1, len(order)))
        batch, order = order[:count], order[count:]
        target = parts[data.draw(st.integers(0, 2))]
        target.update([truths[i] for i in batch], [predictions[i] for i in batch], images=batch)
    first, *others = data.draw(st.permutations(parts))
    for other in others:
        first.merge(other)
    assert len(first) == len(truths)
    plain = DetectionAccumulator(protocol=protocol)
    plain.update(truths, predictions, images=range(len(truths)))
    _same_tables(first, plain)
    result = first.compute()
    assert repr(result.to_dict()) == repr(whole.to_dict())
    if protocol == "coco":
        _same_arrays(result, whole)


def test_rows_of_an_image_keep_their_order() -> None:
    """Equal scores go by the order given, so it must not change."""
    far = (100.0, 100.0, 110.0, 110.0)
    gathered = DetectionAccumulator()
    gathered.update(*_batch(9))
    gathered.update({1: [[BOX, "a"]]}, {1: [[far, 0.5, "a"], [BOX, 0.5, "a"], [far, 0.5, "b"]]})
    gathered.update(*_batch(4))
    _, found = gathered.tables()
    assert found.image.tolist() == [1, 1, 1, 4, 9]
    assert found.label.tolist() == ["a", "a", "b", "cat", "cat"]
    assert found.box[:3, 0].tolist() == [100, 0, 100]


def test_forms_of_a_training_loop() -> None:
    gathered = DetectionAccumulator()
    for start in (4, 0, 2):
        targets = [
            {"boxes": torch.tensor(SIDES), "labels": torch.tensor([i]), "image_id": i}
            for i in (start + 1, start)
        ]
        found = [
            {"boxes": torch.tensor(SIDES), "labels": torch.tensor([i]), "scores": torch.tensor([1])}
            for i in (start + 1, start)
        ]
        gathered.update(iter(targets), iter(found))
    truth, detections = gathered.tables()
    assert truth.image.tolist() == truth.label.tolist() == list(range(6))
    assert detections.image.tolist() == detections.label.tolist() == list(range(6))
    assert truth.ids.tolist() == [1, 2, 3, 4, 5, 6]
    assert len(gathered) == 6
    assert repr(gathered) == "<DetectionAccumulator: 6 images>"


def test_columns_and_names() -> None:
    gathered = DetectionAccumulator()
    for image, label in ((3, 1), (1, 2)):
        truth = GroundTruth.from_arrays(
            [image],
            [label],
            SIDES,
            classes=[label, 9],
            names={label: f"class {label}"},
            area=[image],
            crowd=[1],
            difficult=[1],
            ids=[77],
            pixel="inclusive",
        )
        found = Detections.from_arrays([image], [label], SIDES, [image / 10], pixel="continuous")
        gathered.update(truth, found)
    truth, found = gathered.tables()
    assert truth.names == {1: "class 1", 2: "class 2"}
    assert truth.classes is not None
    assert truth.classes.tolist() == [1, 2, 9]
    assert truth.area.tolist() == [1, 3]
    assert truth.crowd.all()
    assert truth.difficult.all()
    assert truth.pixel == "inclusive"
    assert truth.ids.tolist() == [1, 2]
    assert found.score.tolist() == [0.1, 0.3]
    assert found.pixel == "continuous"
    gathered.update(GroundTruth.from_arrays([5], [7], SIDES, pixel="inclusive"), _no(found))
    assert gathered.tables()[0].classes is None


def _no(found: Detections) -> Detections:
    return Detections.from_arrays([], [], [], [], pixel=found.pixel)


def test_images_without_boxes_count() -> None:
    gathered = DetectionAccumulator()
    columns = GroundTruth.from_arrays([3], [1], SIDES)
    gathered.update(columns, Detections.from_arrays([4], [1], SIDES, [0.5]), images=[3, 4, 5])
    assert len(gathered) == 3
    gathered.update(columns_at(8), Detections.from_arrays([7], [1], SIDES, [0.5]))
    images = gathered.tables()[0].images
    assert images is not None
    assert images.tolist() == [3, 4, 5, 7, 8]
    gathered.update({9: []}, {10: [[BOX, 0.5, 1]]}, images=[10, 9])
    assert len(gathered) == 7
    with pytest.raises(InputError, match="images must name every image of the batch; 12 is not"):
        gathered.update({11: [], 12: []}, {}, images=[11])
    with pytest.raises(InputError, match="image must be one of the 1 of the ground truth"):
        gathered.update({11: []}, {12: [[BOX, 0.5, 1]]})
    assert len(gathered) == 7


def columns_at(image: int) -> GroundTruth:
    return GroundTruth.from_arrays([image], [1], SIDES)


def test_masks_travel_with_their_rows() -> None:
    gathered = DetectionAccumulator(masks=True)
    planes = {}
    for image in (2, 0, 1):
        plane = np.zeros((1, 50, 50), np.bool_)
        plane[0, : 10 + image, :20] = True
        planes[image] = rle.encode(np.asfortranarray(plane[0], np.uint8))
        entry = {"boxes": SIDES, "labels": [1], "masks": plane}
        gathered.update([{**entry, "image_id": image}], [{**entry, "scores": [0.5]}])
    gathered.update([{"boxes": [], "labels": [], "image_id": 7}], [{"boxes": []}])
    truth, found = gathered.tables()
    assert truth.masks == found.masks == (planes[0], planes[1], planes[2])
    assert found.area.tolist() == [200, 220, 240]
    assert round(gathered.compute().figures["AP"], 9) == 1
    with pytest.raises(InputError, match="ground truth: masks must be in all batches or in none"):
        gathered.update(columns_at(8), Detections.from_arrays([], [], [], []))


def test_an_image_comes_once() -> None:
    gathered = DetectionAccumulator()
    for image in ("b", "d", "a"):
        gathered.update(*_batch(image))
    for image in ("a", "b", "d"):
        with pytest.raises(InputError, match=f"given once; image '{image}' was given before"):
            gathered.update({"c": [], image: []}, {})
    other = DetectionAccumulator()
    other.update({image: [] for image in "uvwxyz"}, {})
    other.update({"d": []}, {})  # kept apart: it is small
    with pytest.raises(InputError, match="image 'd' was given before"):
        gathered.merge(other)
    with pytest.raises(InputError, match="was given before"):
        gathered.merge(gathered)
    assert len(gathered) == 3
    assert len(other) == 7
    with pytest.raises(InputError, match="image 'e' is there twice"):
        gathered.update([[], []], [[], []], images=["e", "e"])


def test_images_need_names() -> None:
    gathered = DetectionAccumulator()
    dicts: list[Any] = [{"boxes": [], "labels": []}]
    lists: list[Any] = [[]]
    for batch in (lists, dicts):
        with pytest.raises(InputError, match="images must be named, since batches come in any"):
            gathered.update(batch, batch)
    gathered.update(dicts, dicts, images=["a"])
    with pytest.raises(InputError, match="image must be integers everywhere or strings"):
        gathered.update(dicts, dicts, images=[1])
    with pytest.raises(InputError, match="images must be a list of image ids; got 'ab'"):
        gathered.update(dicts, dicts, images="ab")


def test_batches_that_do_not_go_together() -> None:
    gathered = DetectionAccumulator()
    truth = GroundTruth.from_arrays([1], [1], SIDES, names={1: "cat"}, pixel="inclusive")
    none = Detections.from_arrays([], [], [], [])
    gathered.update(truth, none)
    for changed, message in (
        ({"label": ["a"]}, "class of the ground truth must be integers everywhere"),
        ({"pixel": None}, "ground truth: pixel must be the same in all batches; got 'inclusive'"),
        ({"names": {1: "dog"}}, "class 1 is 'cat' and 'dog'"),
    ):
        columns = {"label": [1], "pixel": "inclusive", **changed}
        with pytest.raises(InputError, match=message):
            gathered.update(GroundTruth.from_arrays([2], box=SIDES, **columns), none)  # type: ignore[arg-type]
    other = GroundTruth.from_arrays([5], [1], SIDES, pixel="inclusive")
    with pytest.raises(InputError, match="detections: pixel must be the same"):
        gathered.update(other, Detections.from_arrays([], [], [], [], pixel="continuous"))
    assert len(gathered) == 1


def test_options_are_checked_and_compared() -> None:
    with pytest.raises(InputError, match=r"options must be of protocol, .*; got 'iou'"):
        DetectionAccumulator(iou=0.5)
    with pytest.raises(InputError, match=r"options must be of protocol, .*; got 'images'"):
        DetectionAccumulator(images=[1])
    with pytest.raises(InputError, match="box_format must be one of"):
        DetectionAccumulator(box_format="yxyx")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="masks must be True, False or None; got 'no'"):
        DetectionAccumulator(masks="no")  # type: ignore[arg-type]
    one = DetectionAccumulator(iou_thresholds=[0.5])
    one.merge(DetectionAccumulator(iou_thresholds=(0.5,)))
    with pytest.raises(InputError, match=r"the same iou_thresholds; got \[0\.5\] and None"):
        one.merge(DetectionAccumulator())
    with pytest.raises(InputError, match="other must be a DetectionAccumulator; got list"):
        one.merge([])  # type: ignore[arg-type]


def test_options_reach_the_evaluation() -> None:
    near = (0.0, 0.0, 40.0, 28.0)
    gathered = DetectionAccumulator(iou_thresholds=[0.6], box_format="xywh")
    gathered.update(*_batch("a", box=near))
    assert round(gathered.compute().figures["AP"], 9) == 1
    other = DetectionAccumulator(protocol="voc", iou_thresholds=0.75)
    other.update(*_batch("a", box=near))
    assert other.compute().figures["AP"] == 0


def test_start_again() -> None:
    gathered = DetectionAccumulator()
    assert len(gathered) == 0
    truth, found = gathered.tables()
    assert len(truth) == len(found) == 0
    gathered.update(*_batch("a"))
    gathered.update({}, {})
    first = gathered.compute()
    gathered.reset()
    assert len(gathered) == 0
    gathered.update(*_batch("a"))
    _same_arrays(first, gathered.compute())


def test_more_may_follow_a_result() -> None:
    gathered = DetectionAccumulator()
    gathered.update(*_batch("a"))
    before = gathered.compute()
    gathered.update(*_batch("b", box=(50.0, 50.0, 60.0, 60.0)))
    assert gathered.compute().figures["AP"] < before.figures["AP"]


def test_many_small_batches_stay_few() -> None:
    gathered = DetectionAccumulator()
    for image in range(200):
        gathered.update(*_batch(image))
    assert len(gathered._batches) < 12
    assert len(gathered) == 200


def test_inputs_stay_as_they_are() -> None:
    truth = columns_at(3)
    found = Detections.from_arrays([3], [1], SIDES, [0.5])
    for side in (truth, found):
        for field in fields(side):
            if isinstance(column := getattr(side, field.name), np.ndarray):
                column.flags.writeable = False
    gathered = DetectionAccumulator()
    gathered.update(truth, found)
    gathered.update(columns_at(2), _no(found))
    gathered.compute()
    assert truth.images is None
    assert truth.ids.tolist() == [1]


def test_workers_in_other_processes() -> None:
    shares = [[5, 1], [0, 9, 3], [8, 2, 7, 4, 6]]
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        parts = pool.map(gather, shares)
    gathered = DetectionAccumulator()
    for part in reversed(parts):
        gathered.merge(part)
    sides: list[dict[int, Any]] = [{}, {}]
    for image in range(10):
        for side, one in zip(sides, made(image), strict=True):
            side.update(one)
    _same_arrays(gathered.compute(), evaluate_detections(*as_tables(*sides)))
    _same_tables(gathered, gather(list(range(10))))


def test_it_can_be_sent() -> None:
    gathered = gather([3, 1])
    other = pickle.loads(pickle.dumps(gathered))  # noqa: S301
    _same_tables(gathered, other)
    other.update(*made(7))
    assert len(other) == 3
    assert len(gathered) == 2


@pytest.mark.parametrize(
    "options",
    [
        {"protocol": "coc"},
        {"iou_thresholds": 2},
        {"max_dets": [0]},
        {"protocol": "voc", "ci": 0.9},
        {"ci": 95},
        {"ci": 0.9, "resamples": 5},
        {"ci": 0.9, "seed": -1},
        {"size_ranges": {"small": (9, 1)}},
        {"protocol": "simple", "size_ranges": {"small": (9, 1)}},
    ],
)
def test_options_are_refused_before_the_first_image(options: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        DetectionAccumulator(**options)


def test_an_option_that_is_the_default_is_the_same_option() -> None:
    first, second = DetectionAccumulator(protocol="coco"), DetectionAccumulator(box_format="xywh")
    second.update(*_batch(1))
    first.merge(second)
    assert len(first) == 1


def test_masks_of_no_images() -> None:
    assert np.isnan(DetectionAccumulator(masks=True).compute().figures["AP"])
