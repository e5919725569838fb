from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pycocotools import mask as coco

from sightline.annotation._nms import box_ious, box_parts, nms
from sightline.core import InputError

Box = tuple[int, int, int, int]


def slow_iou(a: Box, b: Box) -> float:
    """Count the unit squares of each."""
    cells = [{(x, y) for x in range(c[0], c[2]) for y in range(c[1], c[3])} for c in (a, b)]
    union = len(cells[0] | cells[1])
    return len(cells[0] & cells[1]) / union if union else 0.0


def slow_nms(boxes: list[Box], scores: list[float], threshold: float) -> list[int]:
    """Take boxes one by one; a stable sort has the first of equal scores first."""
    kept: list[int] = []
    for row in sorted(range(len(boxes)), key=lambda row: -scores[row]):
        if all(slow_iou(boxes[row], boxes[other]) <= threshold for other in kept):
            kept.append(row)
    return kept


@st.composite
def scored_boxes(draw: st.DrawFn) -> tuple[list[Box], list[float]]:
    corner, side = st.integers(0, 6), st.integers(0, 4)
    boxes = []
    for _ in range(draw(st.integers(0, 12))):
        x, y = draw(corner), draw(corner)
        boxes.append((x, y, x + draw(side), y + draw(side)))
    scores = st.lists(
        st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=len(boxes), max_size=len(boxes)
    )
    return boxes, draw(scores)


@given(scored_boxes(), st.sampled_from([0.0, 0.2, 0.5, 0.7, 1.0]))
def test_is_as_the_slow_one(made: tuple[list[Box], list[float]], threshold: float) -> None:
    boxes, scores = made

    assert nms(boxes, scores, threshold).tolist() == slow_nms(boxes, scores, threshold)


def test_by_hand() -> None:
    # Of side 10 by 10, moved by 0, 2, 4: IoUs 80/120 = 0.667 and, of first and third, 60/140 = .43.
    boxes = [(0, 0, 10, 10), (2, 0, 12, 10), (4, 0, 14, 10)]

    assert nms(boxes, [0.9, 0.8, 0.7], 0.5).tolist() == [0, 2]
    assert nms(boxes, [0.8, 0.9, 0.7], 0.5).tolist() == [1]
    assert nms(boxes, [0.7, 0.8, 0.9], 0.7).tolist() == [2, 1, 0]
    assert nms(boxes, [0.5, 0.5, 0.5], 0.4).tolist() == [0]  # equal ones: the first
    assert nms([], [], 0.5).tolist() == []


def test_an_overlap_of_the_threshold_itself_stays() -> None:
    assert nms([(0, 0, 2, 1), (0, 0, 1, 1)], [1, 0.5], 0.5).tolist() == [0, 1]


def test_overlaps_are_those_of_coco() -> None:
    random = np.random.default_rng(0)
    corners = random.uniform(0, 10, (2, 20, 2))
    a, b = (np.concatenate([low, low + random.uniform(0.1, 6, (20, 2))], 1) for low in corners)
    sizes = [np.concatenate([boxes[:, :2], boxes[:, 2:] - boxes[:, :2]], 1) for boxes in (a, b)]

    # COCO divides by the area of the detection alone where the truth is a crowd.
    np.testing.assert_allclose(box_ious(a, b), coco.iou(*sizes, [0] * 20))
    np.testing.assert_allclose(box_parts(a, b), coco.iou(*sizes, [1] * 20))
    assert box_ious(a, []).shape == (20, 0)


def test_boxes_without_area_overlap_nothing() -> None:
    flat = [(1, 1, 1, 3)]

    assert box_ious(flat, flat).tolist() == [[0.0]]
    assert box_parts(flat, [(0, 0, 9, 9)]).tolist() == [[0.0]]


@pytest.mark.parametrize(
    ("boxes", "scores", "threshold", "words"),
    [
        ([(0, 0, 1)], [1], 0.5, r"boxes must be \(n, 4\)"),
        ([(0, 0, 1, 1), (2, 0, 1, 1)], [1, 1], 0.5, r"got \[2.0, 0.0, 1.0, 1.0\]"),
        ([(0, 0, np.nan, 1)], [1], 0.5, "must be finite"),
        ([(0, 0, 1, 1)], [1, 2], 0.5, "scores must be 1 finite numbers"),
        ([(0, 0, 1, 1)], [np.nan], 0.5, "scores must be 1 finite numbers"),
        ([(0, 0, 1, 1)], [1], 1.5, "threshold must be from 0 to 1, got 1.5"),
    ],
)
def test_refuses(boxes: Any, scores: Any, threshold: float, words: str) -> None:
    with pytest.raises(InputError, match=words):
        nms(boxes, scores, threshold)
