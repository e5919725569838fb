"""Confusion matrices against counting cell by cell."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.core import InputError
from sightline.detection.calibration import reliability_curve
from sightline.detection.confusion import generate_confusion_matrix
from sightline.detection.errors import error_types
from sightline.detection.matching import match_dataset
from tests.detection import detected
from tests.reference import detection as slow

BOX = (0, 0, 10, 10)


@given(
    st.one_of(detected.images(), detected.images(difficult=True)),
    detected.LIMITS,
    st.sampled_from([0.0, 0.25, 0.6]),
    st.sampled_from([["ant"], ["cat", "ant"], [], ["ant", "bee", "cat", "dog"], ["fox"]]),
    st.sampled_from(["any_class", "same_class"]),
)
def test_equals_counting(
    scene: tuple[list[Any], list[Any]], limit: float, least: float, targets: Any, matching: Any
) -> None:
    before = copy.deepcopy(scene)
    predictions, truths = scene
    found = generate_confusion_matrix(predictions, truths, limit, least, targets, matching=matching)
    expected, apart = slow.confusion(
        *scene, (limit, least), targets, any_class=matching == "any_class"
    )
    assert found.matrix.tolist() == expected
    assert found.others_confused == apart
    assert found.class_labels == [*targets, "Others", "Background"]
    objects = sum(len(slow.counted(true)) for true in truths)
    assert found.matrix[:-1].sum() + apart == objects
    assert found.matrix[-1, -1] == 0
    assert scene == before


@given(detected.flagged(), detected.LIMITS, st.sampled_from(["any_class", "same_class"]))
def test_crowds_and_difficult_objects_of_records(
    scene: tuple[list[Any], list[Any]], limit: float, matching: Any
) -> None:
    columns = detected.columns(scene)
    labels = sorted({row[2] for part in scene[0] for row in part} | set(columns[1].label.tolist()))
    found = generate_confusion_matrix(*columns, limit, 0.25, matching=matching)
    expected, _ = slow.confusion(*scene, (limit, 0.25), labels, any_class=matching == "any_class")
    assert found.class_labels[:-2] == labels
    assert found.matrix.tolist() == expected


def test_a_confusion_stands_off_the_diagonal_or_is_two_errors() -> None:
    scene: Any = ([[[BOX, 0.9, "cat"]]], [[[BOX, "dog"]]])
    matrix, labels = generate_confusion_matrix(*scene)
    assert labels == ["cat", "dog", "Others", "Background"]
    assert matrix[1, 0] == matrix.sum() == 1
    matrix, _ = generate_confusion_matrix(*scene, matching="same_class")
    assert (matrix[1, 3], matrix[3, 0], matrix.sum()) == (1, 1, 2)


def test_equal_overlap_goes_to_the_same_class_even_at_a_lower_score() -> None:
    predictions = [[[BOX, 0.9, "cat"], [BOX, 0.5, "dog"]]]
    matrix, _ = generate_confusion_matrix(predictions, [[[BOX, "dog"]]])
    assert (matrix[1, 1], matrix[3, 0]) == (1, 1)


def test_the_last_bit_of_an_overlap_is_no_larger_overlap() -> None:
    """In tenths, both predictions lie 12 beside the object; in floats one IoU is larger."""
    found, other = (96.2, 0, 131.2, 10), (98.6, 0, 133.6, 10)
    true = (97.4, 0, 132.4, 10)
    assert slow.iou(found, true) < slow.iou(other, true)
    predictions = [[[found, 0.5, "dog"], [other, 0.9, "cat"]]]
    matrix, _ = generate_confusion_matrix(predictions, [[[true, "dog"]]])
    assert (matrix[1, 1], matrix[3, 0], matrix.sum()) == (1, 1, 2)


@given(st.integers(0, 2000), st.integers(40, 400), st.integers(1, 12))
def test_equal_overlaps_on_either_side_go_to_the_same_class(start: int, wide: int, by: int) -> None:
    left, true, right = ((x / 10, 0, (x + wide) / 10, 10) for x in (start - by, start, start + by))
    predictions = [[[left, 0.5, "dog"], [right, 0.9, "cat"]]]
    matrix, _ = generate_confusion_matrix(predictions, [[[true, "dog"]]])
    assert (matrix[1, 1], matrix[3, 0]) == (1, 1)


def test_confusions_among_the_others_are_counted_apart() -> None:
    found = generate_confusion_matrix(
        [[[BOX, 0.9, "cat"]]], [[[BOX, "dog"]]], target_classes=["owl"]
    )
    assert found.matrix.sum() == 0
    assert found.others_confused == 1
    others = found.class_counts()[-1]
    assert (others.label, others.tp, others.fp, others.fn) == ("Others", 0, 1, 1)


def test_confidence_at_the_threshold_is_kept() -> None:
    scene: Any = ([[[BOX, 0.25, 1], [BOX, 0.2499, 1]]], [[]])
    assert generate_confusion_matrix(*scene).matrix.sum() == 1


def test_views_and_counts() -> None:
    far = (50, 50, 60, 60)
    predictions = [[[BOX, 0.9, "cat"], [far, 0.8, "cat"]], [[BOX, 0.7, "cat"]]]
    truths: Any = [[[BOX, "cat"]], [[BOX, "dog"], [far, "dog"]]]
    found = generate_confusion_matrix(predictions, truths)
    rows = found.normalised()
    assert rows[0].tolist() == [1, 0, 0, 0]
    assert rows[1].tolist() == [0.5, 0, 0, 0.5]
    assert np.isnan(rows[2]).all()
    assert found.normalised("predicted")[:, 0].tolist() == [1 / 3, 1 / 3, 0, 1 / 3]
    assert found.normalised("all").sum() == 1
    cat, dog, others = found.class_counts()
    assert cat == ("cat", 1, 2, 0, 1 / 3, 1.0, 0.5)
    assert (dog.tp, dog.fp, dog.fn, dog.recall, dog.f1) == (0, 0, 2, 0.0, 0.0)
    assert math.isnan(dog.precision)
    assert math.isnan(others.f1)


def test_crowds_need_not_be_found_and_hide_what_lies_in_them() -> None:
    def total(label: Any, box: Any, **options: Any) -> int:
        row = [(0, 0, 100, 100), "cat", not options.get("crowd", True), options.pop("crowd", True)]
        columns = detected.columns(([[[box, 0.9, label]]], [[row]]))
        return int(generate_confusion_matrix(*columns, **options).matrix.sum())

    assert total("cat", BOX) == total("dog", BOX) == 0
    assert total("cat", (95, 0, 110, 10)) == 1  # a third of it lies inside
    assert total("cat", BOX, matching="same_class") == 0
    assert total("dog", BOX, matching="same_class") == 1
    # A difficult object is found by what overlaps it, not by what lies in it.
    assert total("cat", BOX, crowd=False) == 1
    assert total("cat", (0, 0, 100, 60), crowd=False) == 0


def test_widths_count_as_records_say() -> None:
    scene: Any = ([[[(0, 0, 3, 3), 0.9, 1]]], [[[(0, 0, 3, 1), 1]]])
    assert generate_confusion_matrix(*scene).matrix[0, 0] == 0  # 3 of 9
    assert generate_confusion_matrix(*scene, pixel="inclusive").matrix[0, 0] == 1  # 8 of 16
    told = detected.columns(scene, pixel="inclusive")
    assert generate_confusion_matrix(*told).matrix[0, 0] == 1
    assert generate_confusion_matrix(*told, pixel="continuous").matrix[0, 0] == 0


@pytest.mark.parametrize(
    "make",
    [
        lambda: generate_confusion_matrix([[[BOX, 0.9, 1]]], [[[BOX, 1]]]),
        lambda: error_types([[[BOX, 0.9, 1]] * 2], [[[BOX, 1]]]),
        lambda: match_dataset([[[BOX, 0.9, 1]] * 2], [[[BOX, 1]]]),
        lambda: reliability_curve([0.5, 0.9], [True, False]),
    ],
)
def test_records_of_arrays_are_themselves_alone_and_copy(make: Any) -> None:
    one = make()
    assert one != make()
    assert one in {one}
    assert repr(copy.deepcopy(one)) == repr(one)


def test_nothing_at_all() -> None:
    found = generate_confusion_matrix([], [], target_classes=["cat"])
    assert found.matrix.tolist() == [[0] * 3] * 3
    assert found.class_labels == ["cat", "Others", "Background"]
    assert np.isnan(found.normalised("all")).all()


def test_target_classes_of_numpy_and_their_order() -> None:
    scene: tuple[Any, Any] = ([[[BOX, 0.9, 5]]], [[[BOX, 3]]])
    targets: Any = np.array([5, 3])
    found = generate_confusion_matrix(*scene, target_classes=targets)
    assert found.class_labels == [5, 3, "Others", "Background"]
    assert found.matrix[1, 0] == 1
    others = generate_confusion_matrix(*scene, target_classes=[3])
    assert others.matrix[0, 1] == 1  # a true 3, taken for one of the others


def test_errors_name_what_is_wrong() -> None:
    wrong: Any = "hungarian"
    with pytest.raises(InputError, match="matching"):
        generate_confusion_matrix([], [], matching=wrong)
    with pytest.raises(InputError, match="differ"):
        generate_confusion_matrix([], [], target_classes=[1, 1])
    targets: Any
    for targets in ([None], [True], "cat", 3):
        with pytest.raises(InputError, match="target_classes must be"):
            generate_confusion_matrix([], [], target_classes=targets)
    with pytest.raises(InputError, match="strings everywhere; got '1' and 1"):
        generate_confusion_matrix([[[BOX, 0.9, 1]]], [[]], target_classes=["1"])
    for least in (math.nan, None, "0.5"):
        with pytest.raises(InputError, match="confidence_threshold must be a number"):
            generate_confusion_matrix([], [], 0.5, least)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="over"):
        generate_confusion_matrix([], []).normalised(wrong)
