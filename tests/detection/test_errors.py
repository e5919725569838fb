"""Kinds of error and what each costs, against slow loops."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.core import InputError
from sightline.detection.coco import coco_arrays
from sightline.detection.columns import Detections, GroundTruth
from sightline.detection.errors import ERROR_TYPES, ErrorTypes, error_types
from tests.detection import detected
from tests.reference import detection as slow

BOX, FAR = (0, 0, 10, 10), (50, 50, 60, 60)


def only(predictions: list[Any], truths: list[Any]) -> str:
    """The one kind of error that there is in an image."""
    counts = error_types([predictions], [truths]).counts
    (name,) = [name for name, count in counts.items() if count]
    return name


def check(found: ErrorTypes, scene: tuple[list[Any], list[Any]], limit: float) -> None:
    """Compare kinds, misses, counts and costs with slow loops."""
    parts = [slow.error_kinds(p, t, limit, 0.1) for p, t in zip(*scene, strict=True)]
    kinds = [kind for part in parts for kind in part[0]]
    missed = [value for part in parts for value in part[1]]
    names = {-1: "", -2: "aside", **dict(enumerate(ERROR_TYPES))}
    assert [names[int(kind)] for kind in found.kind] == kinds
    assert found.missed.tolist() == missed
    expected = {name: kinds.count(name) for name in ERROR_TYPES[:5]}
    assert found.counts == {**expected, "missed": sum(missed)}
    costs = slow.error_costs(*scene, limit, 0.1)
    assert {"map": found.map, **found.cost} == pytest.approx(costs, abs=1e-13, nan_ok=True)


@given(st.one_of(detected.images(), detected.images(difficult=True)), detected.LIMITS)
def test_equals_slow_loops(scene: tuple[list[Any], list[Any]], limit: float) -> None:
    before = copy.deepcopy(scene)
    found = error_types(*scene, iou_threshold=limit)
    check(found, scene, limit)
    assert scene == before
    if any(scene[1]) and not any(row[2] for true in scene[1] for row in true):
        assert found.map == pytest.approx(slow.mean_ap(*scene, limit, 101), abs=1e-14)


@given(detected.flagged(), detected.LIMITS)
def test_crowds_and_difficult_objects_of_records(
    scene: tuple[list[Any], list[Any]], limit: float
) -> None:
    check(error_types(*detected.columns(scene), iou_threshold=limit), scene, limit)


@pytest.mark.parametrize("seed", range(4))
def test_mean_ap_with_crowds_is_that_of_coco(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, m = 60, 260
    true = np.hstack([rng.uniform(0, 90, (n, 2)), rng.uniform(5, 60, (n, 2))])
    source = rng.integers(0, n, m)
    images, labels = rng.integers(0, 6, n), rng.integers(1, 4, n)
    label = np.where(rng.random(m) < 0.8, labels[source], rng.integers(1, 4, m))
    truth = GroundTruth.from_arrays(images, labels, true, crowd=rng.random(n) < 0.2)
    found = Detections.from_arrays(
        images[source], label, true[source] * rng.uniform(0.8, 1.25, (m, 4)), rng.random(m)
    )
    arrays = coco_arrays(truth, found, iou_thresholds=[0.5, 0.75], max_dets=(m,))
    for limit in (0.5, 0.75):
        ours = error_types(found, truth, iou_threshold=limit).map
        assert ours == pytest.approx(arrays.mean_precision(threshold=limit), abs=1e-12)


def test_each_kind_alone() -> None:
    near, little = (0, 0, 10, 4), (0, 0, 10, 2)
    hit = [BOX, 0.9, "cat"]
    assert only([[near, 0.9, "cat"]], [[BOX, "cat"]]) == "localisation"
    assert only([[BOX, 0.9, "dog"]], [[BOX, "cat"]]) == "classification"
    assert only([hit, [BOX, 0.8, "cat"]], [[BOX, "cat"]]) == "duplicate"
    assert only([hit, [FAR, 0.8, "cat"]], [[BOX, "cat"]]) == "background"
    assert only([hit, [little, 0.8, "dog"]], [[BOX, "cat"]]) == "both"
    assert only([hit], [[BOX, "cat"], [FAR, "cat"]]) == "missed"


def test_overlaps_exactly_at_the_thresholds() -> None:
    half, tenth = (0, 0, 10, 5), (0, 0, 10, 1)
    hit = [BOX, 0.9, "cat"]
    assert only([hit, [half, 0.8, "cat"]], [[BOX, "cat"]]) == "duplicate"
    assert only([hit, [half, 0.8, "dog"]], [[BOX, "cat"]]) == "classification"
    assert only([hit, [tenth, 0.8, "cat"]], [[BOX, "cat"]]) == "localisation"
    assert only([hit, [tenth, 0.8, "dog"]], [[BOX, "cat"]]) == "both"


def test_an_object_is_found_once_when_errors_are_put_right() -> None:
    near = (0, 0, 10, 4)
    predictions = [[BOX, 0.5, 1], [near, 0.9, 1], [near, 0.8, 1]]
    found = error_types([predictions], [[[BOX, 1]]], interpolation="all_points")
    assert found.counts["localisation"] == 2
    assert found.map == pytest.approx(1 / 3)
    assert found.cost["localisation"] == pytest.approx(2 / 3)
    unfound = error_types([predictions[1:]], [[[BOX, 1]]], interpolation="all_points")
    assert unfound.cost["localisation"] == 1.0


def test_costs_of_a_small_case() -> None:
    truths = [[BOX, "cat"], [FAR, "cat"]]
    predictions = [[FAR, 0.9, "dog"], [BOX, 0.8, "cat"]]
    found = error_types([predictions], [truths], interpolation="all_points")
    assert found.map == 0.5
    assert found.cost["classification"] == 0.5
    assert found.cost["missed"] == found.cost["background"] == 0.0
    assert found.cost["false_negatives"] == 0.5
    assert found.partner.tolist() == [1, 0]


def test_no_errors_and_nothing_at_all() -> None:
    perfect = error_types([[[BOX, 0.9, 1]]], [[[BOX, 1]]])
    assert perfect.map == 1.0
    assert set(perfect.cost.values()) == {0.0}
    nothing = error_types([], [])
    assert np.isnan([nothing.map, *nothing.cost.values()]).all()
    assert set(nothing.counts.values()) == {0}


def test_a_class_that_is_missed_whole_costs_its_whole_ap() -> None:
    assert error_types([[]], [[[BOX, 1]]]).cost["missed"] == 1.0


def test_crowds_need_not_be_found_and_hide_what_lies_in_them() -> None:
    def kinds(label: Any, *flags: bool) -> list[int]:
        truths = [[BOX, 1], [(0, 40, 100, 100), 1, *flags]]
        columns = detected.columns(([[[FAR, 0.95, label], [BOX, 0.9, 1]]], [truths]))
        found = error_types(*columns)
        assert found.missed.tolist() == [False, False]
        return [int(kind) for kind in found.kind]

    assert kinds(1, False, True) == [-2, -1]
    assert kinds(2, False, True) == [4, -1]  # a crowd of another class hides nothing
    assert kinds(1, True, False) == [4, -1]  # a difficult object does not contain what it is


def test_each_kind_is_put_right_by_itself() -> None:
    near = (0, 0, 10, 4)
    predictions = [[BOX, 0.9, "dog"], [near, 0.8, "cat"]]
    found = error_types([predictions], [[[BOX, "cat"]]])
    assert found.counts["classification"] == found.counts["localisation"] == 1
    assert found.cost["classification"] == found.cost["localisation"] == 1.0


def test_classes_without_ground_truth_are_left_out() -> None:
    found = error_types([[[BOX, 0.9, 1], [FAR, 0.8, 2]]], [[[BOX, 1]]])
    assert found.map == 1.0
    assert found.cost["background"] == 0.0


def test_widths_count_as_records_say() -> None:
    scene: Any = ([[[(0, 0, 3, 3), 0.9, 1]]], [[[(0, 0, 3, 1), 1]]])
    assert error_types(*scene).kind.tolist() == [1]  # 3 of 9
    assert error_types(*scene, pixel="inclusive").kind.tolist() == [-1]  # 8 of 16
    told = detected.columns(scene, pixel="inclusive")
    assert error_types(*told).kind.tolist() == [-1]
    assert error_types(*told, pixel="continuous").kind.tolist() == [1]


def test_thresholds_are_checked() -> None:
    with pytest.raises(InputError, match="background_threshold"):
        error_types([], [], background_threshold=0.6)
    with pytest.raises(InputError, match="iou_threshold"):
        error_types([], [], iou_threshold=0)
