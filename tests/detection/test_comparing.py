"""Two detectors on the same images."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from benchmarks.detection import make
from sightline.core import InputError
from sightline.detection import comparison
from sightline.detection.coco import accumulate_matches, coco_arrays, match_detections
from sightline.detection.columns import Detections, GroundTruth
from sightline.detection.comparison import DetectorComparison, compare_detectors
from sightline.detection.intervals import over_classes, resample_figures
from tests.detection.test_intervals import FIGURES, small


def pair(seed: int, images: int = 9) -> tuple[GroundTruth, Detections, Detections]:
    """Ground truth and two detectors, whose scores are equal now and then."""
    truth, first = small(seed, images)
    rng = np.random.default_rng(seed)
    rows = np.flatnonzero(rng.random(len(first)) < 0.9)
    moved = first.box[rows] + rng.normal(0, 3, (len(rows), 4))
    second = Detections.from_arrays(
        first.image[rows], first.label[rows], np.abs(moved), first.score[rows]
    )
    return truth, first, second


def mixed(first: Detections, second: Detections, mine: Any) -> Detections:
    """Take the first detector's results in some images, the second's in the others."""
    one, other = mine[first.image] == 1, mine[second.image] == 0
    columns = (
        np.concatenate([getattr(first, name)[one], getattr(second, name)[other]])
        for name in ("image", "label", "box", "score")
    )
    return Detections.from_arrays(*columns)


@pytest.mark.parametrize("seed", range(4))
def test_exchanges_are_those_of_another_evaluation(seed: int) -> None:
    truth, first, second = pair(seed)
    sides = [match_detections(truth, found) for found in (first, second)]
    arrays = accumulate_matches(sides[0])
    ours = comparison._exchanged(sides, truth, arrays, 11, 5, None)
    coins = np.random.default_rng([5, 1]).integers(0, 2, (11, 9))
    for b, mine in enumerate(coins):
        one = coco_arrays(truth, mixed(first, second, mine))
        other = coco_arrays(truth, mixed(second, first, mine))
        np.testing.assert_allclose(
            ours["AP"][b], one.class_precision() - other.class_precision(), rtol=0, atol=1e-12
        )
        for name in ("AP50", "APs", "AR1", "ARl"):
            gap = one.figures()[name] - other.figures()[name]
            found = over_classes(ours[name])[b]
            np.testing.assert_allclose(found, gap, rtol=0, atol=1e-12)


def test_differences_have_the_values_of_both() -> None:
    truth, first, second = pair(2, images=30)
    ours = compare_detectors(truth, first, second, resamples=200)
    assert isinstance(ours, DetectorComparison)
    assert ours.images == 30
    one, other = coco_arrays(truth, first), coco_arrays(truth, second)
    for name in FIGURES:
        each = ours.differences[name]
        assert (each.first, each.second) == (one.figures()[name], other.figures()[name])
        assert each.difference == each.first - each.second
        assert each.low <= each.difference <= each.high
        assert 1 / 201 <= each.p <= 1
    for k in range(3):
        each = ours.differences["AP", k]
        assert each.first == one.class_precision()[k]
        assert each.n == len(np.unique(truth.image[(truth.label == k) & ~truth.crowd]))
    draws = [
        resample_figures(match_detections(truth, found), truth, resamples=200).figures["AP"]
        for found in (first, second)
    ]
    each = ours.differences["AP"]
    expected = 2 * 1.96 * (draws[0] - draws[1]).std()
    assert each.high - each.low == pytest.approx(expected, rel=0.25)


def test_a_detector_does_not_differ_from_itself() -> None:
    truth, first, _ = pair(1, images=30)
    for each in compare_detectors(truth, first, first, resamples=100).differences.values():
        assert each.difference == each.low == each.high == 0
        assert each.p == 1
        assert each.reason == "all draws are equal"


def test_the_order_of_the_two_turns_signs_only() -> None:
    truth, first, second = pair(3, images=30)
    there = compare_detectors(truth, first, second, resamples=150, seed=4).differences
    back = compare_detectors(truth, second, first, resamples=150, seed=4).differences
    for key, each in there.items():
        assert back[key].p == each.p
        np.testing.assert_allclose(back[key].difference, -each.difference)
        np.testing.assert_allclose(
            [back[key].low, back[key].high], [-each.high, -each.low], atol=1e-12
        )


def test_a_clear_difference_is_found_and_threads_change_nothing() -> None:
    truth, first = make(200, classes=3, each=20, seed=1)
    rng = np.random.default_rng(0)
    second = replace(first, score=np.round(rng.permutation(first.score), 4))
    one, two = (
        compare_detectors(truth, first, second, resamples=120, threads=threads)
        for threads in (1, 2)
    )
    assert one.differences == two.differences
    each = one.differences["AP"]
    assert each.p == 1 / 121
    assert each.low > 0


def test_p_counts_the_identity_and_ties() -> None:
    truth, first, second = pair(0, images=12)
    found = compare_detectors(truth, first, second, resamples=100, seed=9).differences["AP"]
    sides = [match_detections(truth, side) for side in (first, second)]
    swapped = comparison._exchanged(sides, truth, accumulate_matches(sides[0]), 100, 9, None)
    chance = np.abs(over_classes(swapped["AP"]))
    as_large = (chance >= abs(found.difference) - 1e-9).sum()
    assert found.p == (1 + as_large) / 101


def test_few_images_have_no_p() -> None:
    truth, first, second = pair(0, images=5)
    found = compare_detectors(truth, first, second, resamples=100).differences["AP"]
    assert np.isnan(found.p)
    assert found.reason == "no p: too few images: 5, an exchange needs 6"
    assert np.isfinite(found.low)
    same = compare_detectors(truth, first, first, resamples=100).differences["AP"]
    assert same.reason.startswith("all draws are equal; no p: too few images: 5")
    nothing = replace(truth, crowd=np.ones(len(truth), np.bool_))
    undefined = compare_detectors(nothing, first, second, resamples=100).differences["AP"]
    assert undefined.reason == "no ground truth that counts, or not asked for"


def test_a_table_of_all() -> None:
    truth, first, second = pair(0)
    frame = compare_detectors(truth, first, second, resamples=100).to_frame()
    assert frame["figure"].tolist() == FIGURES + ["AP"] * 3
    assert frame["class"].tolist()[-3:] == [0, 1, 2]
    assert {"first", "second", "difference", "low", "high", "p", "n"} <= set(frame)


def test_images_must_be_the_same() -> None:
    box = [[0, 0, 9, 9]]
    truth = GroundTruth.from_arrays([1], [1], box)
    listed = GroundTruth.from_arrays([1], [1], box, images=[1, 2])
    one, other = Detections.from_arrays([2], [1], box, [1]), Detections.from_arrays([], [], [], [])
    with pytest.raises(InputError, match=r"first: image must be one of .* row 0 is 2"):
        compare_detectors(truth, one, other)
    with pytest.raises(InputError, match=r"second: image must be one of .* row 0 is 2"):
        compare_detectors(truth, other, one)
    assert compare_detectors(truth, one, one, resamples=100).images == 2
    assert compare_detectors(listed, one, other, resamples=100).images == 2
    third = Detections.from_arrays([3], [1], box, [1])
    with pytest.raises(InputError, match=r"second: image must be one of .* row 0 is 3"):
        compare_detectors(listed, one, third)
    with pytest.raises(InputError, match="image must be integers everywhere or strings"):
        compare_detectors(listed, Detections.from_arrays(["1"], [1], box, [1]), one)


def test_classes_that_only_one_detector_names() -> None:
    box = [[0, 0, 9, 9]] * 6
    truth = GroundTruth.from_arrays(range(6), [1] * 6, box)
    first = Detections.from_arrays(range(6), [1] * 6, box, [0.5] * 6)
    second = Detections.from_arrays(range(6), [1, 1, 1, 1, 2, 2], box, [0.5] * 6)
    found = compare_detectors(truth, first, second, resamples=100)
    assert found.differences["AP"].first == 1
    assert np.isnan(found.differences["AP", 2].difference)
    assert np.isnan(found.differences["AP", 2].p)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"confidence": 2}, "confidence must lie between 0 and 1; got 2"),
        ({"resamples": 10}, "resamples must be at least 100; got 10"),
        ({"max_dets": ()}, "max_dets must be whole numbers from 1 on"),
        ({"max_dets": (0, 5)}, "max_dets must be whole numbers from 1 on"),
        ({"max_dets": 5}, "max_dets must be whole numbers from 1 on, ascending; got 5"),
        ({"seed": -3}, "seed must be at least 0; got -3"),
        ({"iou_thresholds": (2.0,)}, "iou_thresholds must be"),
    ],
)
def test_options_that_do_not_fit(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        compare_detectors(*pair(0), **options)
