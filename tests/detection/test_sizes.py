"""Mean average precision by size, against slow loops."""

from __future__ import annotations

import copy
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given

from sightline.core import InputError
from sightline.detection.columns import Detections, GroundTruth
from sightline.detection.sizes import SIZE_RANGES, calculate_map_by_size
from tests.detection import detected
from tests.reference import detection as slow

RANGES = {"none": (0, 1), "small": (1, 4), "rest": (4, float("inf"))}


def area(box: Any) -> float:
    return float((box[2] - box[0]) * (box[3] - box[1]))


@given(detected.images(), detected.LIMITS)
def test_equals_slow_loops(scene: tuple[list[Any], list[Any]], limit: float) -> None:
    predictions, truths = scene
    areas = [[area(t[0]) for t in true] for true in truths]
    found = calculate_map_by_size(predictions, truths, areas, RANGES, limit)
    for name, (least, beyond) in RANGES.items():
        part = [[t for t in true if least <= area(t[0]) < beyond] for true in truths]
        assert found[name] == pytest.approx(slow.mean_ap(predictions, part, limit), abs=1e-14)
    assert found == calculate_map_by_size(predictions, truths, None, RANGES, limit)
    flat = [value for row in areas for value in row]
    assert found == calculate_map_by_size(predictions, truths, flat, RANGES, limit)


def test_boundaries_belong_to_the_larger_size() -> None:
    box = (0, 0, 10, 10)
    for value, name in ((1023.9, "small"), (1024, "medium"), (9215, "medium"), (9216, "large")):
        found = calculate_map_by_size([[[box, 0.9, 1]]], [[[box, 1]]], [[value]])
        assert found == {key: float(key == name) for key in SIZE_RANGES}


def test_perfect_predictions_of_mixed_sizes_stay_below_one() -> None:
    boxes = [(0, 0, 10, 10), (0, 0, 50, 50), (0, 0, 200, 200)]
    predictions = [[[box, 0.9 - i / 10, 1] for i, box in enumerate(boxes)]]
    found = calculate_map_by_size(predictions, [[[box, 1] for box in boxes]])
    assert found == pytest.approx({"small": 1, "medium": 1 / 2, "large": 1 / 3})


def test_columns_bring_their_own_areas() -> None:
    found = SimpleNamespace(image=[1], label=[1], box=[(0, 0, 10, 10)], score=[0.5])
    true = SimpleNamespace(image=[1], label=[1], box=[(0, 0, 10, 10)], area=[2000.0])
    assert calculate_map_by_size(found, true)["medium"] == 1.0


def test_mappings_of_areas() -> None:
    box = (0, 0, 10, 10)
    scene: tuple[Any, Any] = ({"a": [[box, 0.9, 1]], "b": []}, {"a": [[box, 1]], "b": [[box, 2]]})
    found = calculate_map_by_size(*scene, {"b": [9999], "a": [5]})
    assert found == {"small": 1.0, "medium": 0.0, "large": 0.0}


def test_a_size_without_objects_is_zero_and_flags_change_nothing() -> None:
    box = (0, 0, 10, 10)
    found = calculate_map_by_size([[[box, 0.9, 1]]], [[[box, 1, True]]])
    assert found == {"small": 1.0, "medium": 0.0, "large": 0.0}
    assert calculate_map_by_size([], []) == {"small": 0.0, "medium": 0.0, "large": 0.0}
    columns = detected.columns(([[[box, 0.9, 1]]], [[[box, 1, True, True]]]))
    assert calculate_map_by_size(*columns)["small"] == 1.0


def test_areas_follow_the_pixels_unless_they_were_given() -> None:
    box = (0, 0, 31, 31)
    scene: tuple[Any, Any] = ([[[box, 0.9, 1]]], [[[box, 1]]])
    assert calculate_map_by_size(*scene)["small"] == 1.0
    assert calculate_map_by_size(*scene, pixel="inclusive")["medium"] == 1.0
    assert calculate_map_by_size(*scene, [[961]], pixel="inclusive")["small"] == 1.0
    told = detected.columns(scene, pixel="inclusive")
    assert calculate_map_by_size(*told)["medium"] == 1.0
    assert calculate_map_by_size(*told, pixel="continuous")["small"] == 1.0
    found = Detections.from_arrays([1], [1], [box], [0.5])
    true = GroundTruth.from_arrays([1], [1], [box], area=[700], pixel="inclusive")
    assert calculate_map_by_size(found, true)["small"] == 1.0


def test_inputs_stay_as_they_are() -> None:
    box = (0, 0, 10, 10)
    scene: Any = ({"a": [[box, 0.9, 1]]}, {"a": [[box, 1]]}, {"a": [5.0]})
    before = copy.deepcopy(scene)
    calculate_map_by_size(*scene)
    assert scene == before
    areas = detected.fixed([5000.0])
    assert calculate_map_by_size([[[box, 0.9, 1]]], [[[box, 1]]], areas)["medium"] == 1.0


def test_areas_must_stand_where_their_objects_do() -> None:
    box = (0, 0, 10, 10)
    truths: Any = [[[box, 1]], [[box, 1]]]
    with pytest.raises(InputError, match="each of 1 objects in image 0; got 2"):
        calculate_map_by_size([[], []], truths, [[1, 2], []])
    with pytest.raises(InputError, match="got 1"):
        calculate_map_by_size([[], []], truths, [[1, 2]])
    keyed = dict(enumerate(truths))
    with pytest.raises(InputError, match="each of 1 objects in image 1; got 0"):
        calculate_map_by_size({}, keyed, {0: [1]})
    for wrong in ([1, 2], 3):
        with pytest.raises(InputError, match="a mapping by image id"):
            calculate_map_by_size({}, keyed, wrong)
    with pytest.raises(InputError, match="must be lists"):
        calculate_map_by_size([[], []], truths, {0: [1]})
    for value in ("5", None):
        with pytest.raises(InputError, match="gt_areas must be a number"):
            calculate_map_by_size([[], []], truths, [1, value])


def test_errors_name_what_is_wrong() -> None:
    box = (0, 0, 10, 10)
    with pytest.raises(InputError, match="one area for each of 1"):
        calculate_map_by_size([[]], [[[box, 1]]], [[]])
    with pytest.raises(InputError, match="iou_threshold"):
        calculate_map_by_size([[]], [[]], iou_threshold=0)
    with pytest.raises(InputError, match="at least 0"):
        calculate_map_by_size([[]], [[[box, 1]]], [[-1]])
    with pytest.raises(InputError, match="'odd'"):
        calculate_map_by_size([[]], [[]], None, {"odd": (5, 5)})
    ranges: Any
    for ranges in (None, [(0, 5)]):
        with pytest.raises(InputError, match="size_ranges must be a mapping"):
            calculate_map_by_size([[]], [[]], None, ranges)
    for limits in ((5,), (-1, 5), 7, "ab", (float("nan"), 5), (0, None)):
        with pytest.raises(InputError, match="'odd'"):
            calculate_map_by_size([[]], [[]], None, {"odd": limits})  # type: ignore[dict-item]
