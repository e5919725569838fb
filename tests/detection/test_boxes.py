"""What became of single boxes agrees with what the protocols count."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.detection import (
    Detections,
    GroundTruth,
    confusion_pairs,
    evaluate_detections,
    generate_confusion_matrix,
    match_boxes,
)
from sightline.detection.coco import CocoMatches

# Few places and sizes, so that equal overlaps, equal scores and boxes inside others are common.
_CORNER, _SIDE = st.integers(0, 4), st.integers(1, 4)
_BOX = st.tuples(_CORNER, _CORNER, _SIDE, _SIDE)
_WHERE = st.tuples(st.integers(0, 1), st.integers(0, 1))


@st.composite
def _tables(draw: st.DrawFn) -> tuple[GroundTruth, Detections]:
    true = draw(st.lists(st.tuples(_WHERE, _BOX, st.booleans(), st.booleans()), max_size=6))
    found = draw(st.lists(st.tuples(_WHERE, _BOX, st.integers(0, 3)), max_size=8))
    truth = GroundTruth.from_arrays(
        [where[0] for where, *_ in true], [where[1] for where, *_ in true],
        [box for _, box, *_ in true], crowd=[crowd for *_, crowd, _ in true],
        difficult=[hard for *_, hard in true], images=[0, 1], classes=[0, 1],
    )  # fmt: skip
    detections = Detections.from_arrays(
        [where[0] for where, *_ in found], [where[1] for where, *_ in found],
        [box for _, box, _ in found], [score / 4 for *_, score in found],
    )  # fmt: skip
    return truth, detections


@given(_tables(), st.sampled_from([0.5, 0.75]), st.sampled_from([(1, 10, 100), (1, 2)]))
def test_partners_are_those_of_cocos_pass(
    tables: tuple[GroundTruth, Detections], iou: float, limits: tuple[int, ...]
) -> None:
    results = evaluate_detections(*tables, max_dets=limits)
    boxes = match_boxes(results, iou)
    assert isinstance(results.matches, CocoMatches)
    np.testing.assert_array_equal(boxes.hit == 1, boxes.partner >= 0)
    partners = boxes.partner[boxes.hit == 1]
    assert len(set(partners.tolist())) == len(partners)
    assert boxes.counts[partners].all()
    _check_pairs(tables, boxes, iou)
    for confidence in (0.0, 0.25, 0.5, 0.75):
        kept = tables[1].score >= confidence
        for label, counts in results.counts_at(confidence, iou=iou).items():
            mine = kept & (tables[1].label == label)
            assert ((boxes.hit == 1) & mine).sum() == counts.tp
            assert ((boxes.hit == 0) & mine).sum() == counts.fp
            there = boxes.counts & (tables[0].label == label)
            assert there.sum() - ((boxes.hit == 1) & mine).sum() == counts.fn


def _check_pairs(tables: tuple[GroundTruth, Detections], boxes: Any, iou: float) -> None:
    """See that partners are of one image and class and overlap enough."""
    truth, found = tables
    for row, partner in enumerate(boxes.partner.tolist()):
        if partner < 0:
            assert np.isnan(boxes.iou[row])
            continue
        assert truth.image[partner] == found.image[row]
        assert truth.label[partner] == found.label[row]
        assert boxes.iou[row] >= iou - 1e-10
        assert boxes.iou[row] == pytest.approx(_overlap(truth.box[partner], found.box[row]))


def _overlap(one: Any, other: Any) -> float:
    sides = [
        max(0.0, min(one[k] + one[k + 2], other[k] + other[k + 2]) - max(one[k], other[k]))
        for k in (0, 1)
    ]
    common = sides[0] * sides[1]
    return float(common / (one[2] * one[3] + other[2] * other[3] - common))


@given(_tables(), st.sampled_from(["voc", "simple"]))
def test_the_other_protocols_tell_partners_themselves(
    tables: tuple[GroundTruth, Detections], protocol: Any
) -> None:
    results = evaluate_detections(*tables, protocol=protocol, iou_thresholds=[0.5])
    boxes = match_boxes(results)
    for label, counts in results.counts_at(0.25).items():
        mine = (tables[1].score >= 0.25) & (tables[1].label == label)
        assert ((boxes.hit == 1) & mine).sum() == counts.tp
        assert ((boxes.hit == 0) & mine).sum() == counts.fp
        there = boxes.counts & (tables[0].label == label)
        assert there.sum() == counts.tp + counts.fn
    assert not np.isnan(boxes.iou[boxes.partner >= 0]).any()


@given(_tables(), st.sampled_from([0.0, 0.5, 0.75]))
def test_a_higher_confidence_only_leaves_boxes_out(
    tables: tuple[GroundTruth, Detections], confidence: float
) -> None:
    truth, found = tables
    kept = found.score >= confidence
    whole = match_boxes(evaluate_detections(truth, found))
    part = match_boxes(evaluate_detections(truth, found.at(kept)))
    np.testing.assert_array_equal(whole.hit[kept], part.hit)
    np.testing.assert_array_equal(whole.partner[kept], part.partner)


@pytest.mark.parametrize("protocol", ["coco", "voc", "simple"])
def test_classes_that_the_ground_truth_does_not_list_count_neither_way(protocol: Any) -> None:
    truth = GroundTruth.from_arrays([0], [1], [[0, 0, 4, 4]], images=[0], classes=[1])
    box = [[0, 0, 4, 4]]
    found = Detections.from_arrays([0, 0], [2, 1], box * 2, [0.9, 0.8])
    boxes = match_boxes(evaluate_detections(truth, found, protocol=protocol))
    assert boxes.hit.tolist() == [-1, 1]
    assert boxes.partner.tolist() == [-1, 0]


def test_areas_that_grow_with_the_pixel_say_what_counts() -> None:
    box = (0, 0, 9, 9)
    results = evaluate_detections(
        {"a": [[box, "c"]]}, {"a": [[box, 0.9, "c"]]}, pixel="inclusive",
        size_ranges={"all": (90, 1e10)},
    )  # fmt: skip
    boxes = match_boxes(results)
    assert (boxes.hit.tolist(), boxes.partner.tolist(), boxes.counts.tolist()) == ([1], [0], [True])


@given(_tables(), st.sampled_from([0.0, 0.5]), st.sampled_from(["any_class", "same_class"]))
def test_pairs_add_up_to_the_confusion_matrix(
    tables: tuple[GroundTruth, Detections], confidence: float, matching: Any
) -> None:
    truth, found = tables
    matrix, labels = generate_confusion_matrix(
        found, truth, 0.5, confidence, [0, 1], matching=matching
    )
    pairs = confusion_pairs(found, truth, 0.5, confidence, matching=matching)
    counted = np.zeros_like(matrix)
    background = labels.index("Background")
    for a, b in zip(pairs.found.tolist(), pairs.true.tolist(), strict=True):
        row = truth.label[b] if b >= 0 else background
        counted[row, found.label[a] if a >= 0 else background] += 1
        assert a < 0 or b < 0 or truth.image[b] == found.image[a]
        assert a < 0 or found.score[a] >= confidence
    np.testing.assert_array_equal(counted, matrix)
