"""The images that cost most, against an evaluation in which each of them is made perfect."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.detection import make
from sightline.core import InputError
from sightline.detection.coco import CocoArrays, accumulate_matches, coco_arrays, match_detections
from sightline.detection.columns import Detections, GroundTruth
from sightline.detection.images import ImageCosts, image_costs
from tests.detection.test_intervals import Sides, small


def costs_of(sides: Sides, **options: Any) -> tuple[ImageCosts, CocoArrays]:
    max_dets = options.pop("max_dets", (1, 10, 100))
    matches = match_detections(*sides, most=max_dets[-1], **options)
    arrays = accumulate_matches(matches, max_dets=max_dets)
    return image_costs(matches, arrays, sides[0]), arrays


def perfected(sides: Sides, image: int) -> Sides:
    """Report just the objects of one image, above all else, and nothing else there."""
    truth, found = sides
    rest, mine = found.image != image, (truth.image == image) & ~truth.crowd
    top = 1 + found.score.max(initial=0.0)
    return truth, Detections.from_arrays(
        np.concatenate([found.image[rest], truth.image[mine]]),
        np.concatenate([found.label[rest], truth.label[mine]]),
        np.concatenate([found.box[rest], truth.box[mine]]),
        np.concatenate([found.score[rest], np.full(mine.sum(), top)]),
    )


def assert_costs(sides: Sides, **options: Any) -> None:
    ours, arrays = costs_of(sides, **options)
    usual = arrays.figures()["AP"]
    for image, cost in zip(ours.image, ours.cost, strict=True):
        other = coco_arrays(*perfected(sides, image), **options).figures()["AP"]
        np.testing.assert_allclose(cost, other - usual, rtol=0, atol=1e-12)


@given(st.integers(0, 10**6), st.booleans())
@settings(max_examples=25, deadline=None)
def test_costs_are_those_of_another_evaluation(seed: int, ties: bool) -> None:
    assert_costs(small(seed, ties=ties))


@pytest.mark.parametrize(
    "options",
    [
        {"max_dets": (1, 2)},
        {"iou_thresholds": (0.3, 0.7)},
        {"size_ranges": {"small": (0.0, 1024.0), "all": (0.0, 1e10)}},
    ],
)
def test_costs_with_other_options(options: dict[str, Any]) -> None:
    for seed in range(3):
        assert_costs(small(seed), **options)


def test_more_images_than_a_thread_takes_at_a_time() -> None:
    truth, found = make(700, classes=2, each=15, seed=3)
    ours, arrays = costs_of((truth, found))
    for image in ours.image[::97]:
        other = coco_arrays(*perfected((truth, found), image)).figures()["AP"]
        rise = other - arrays.figures()["AP"]
        assert ours.cost[ours.image == image][0] == pytest.approx(rise, abs=1e-12)
    matches = match_detections(truth, found)
    for threads in (1, 3):
        again = image_costs(matches, arrays, truth, threads=threads)
        np.testing.assert_array_equal(again.cost, ours.cost)


def test_nothing_is_gained_where_all_is_right_and_never_lost() -> None:
    sides = small(5)
    ours, _ = costs_of(sides)
    assert (ours.cost >= 0).all()
    perfect = sides[0].image == ours.image[0]
    better = perfected(sides, ours.image[0])
    again, _ = costs_of(better)
    assert perfect.any()
    assert again.cost[0] == 0


def test_false_positives_and_misses_are_counted() -> None:
    box, far = [0.0, 0.0, 40.0, 40.0], [500.0, 0.0, 40.0, 40.0]
    truth = GroundTruth.from_arrays(
        [1, 1, 2, 3], [1, 2, 1, 1], [box, box, box, far], crowd=[0, 0, 0, 1], images=[1, 2, 3, 4]
    )
    found = Detections.from_arrays(
        [1, 1, 1, 2, 3, 4], [1, 1, 2, 1, 1, 2], [box, far, far, box, far, far], [0.5] * 6
    )
    ours, _ = costs_of((truth, found))
    assert ours.image.tolist() == [1, 2, 3, 4]
    assert ours.false_positives.tolist() == [2, 0, 0, 1]
    assert ours.misses.tolist() == [1, 0, 0, 0]
    assert ours.threshold == 0.5
    strict, _ = costs_of((truth, found), iou_thresholds=(0.9, 0.6))
    assert strict.threshold == 0.6
    lowest, _ = costs_of((truth, found), iou_thresholds=(0.3, 0.55))
    assert lowest.threshold == 0.3


def test_the_costliest_come_first() -> None:
    ours, _ = costs_of(small(3))
    worst = ours.costliest(3)
    assert len(worst) == 3
    assert len(ours.costliest()) == 6
    assert (np.diff(ours.costliest().cost) <= 0).all()
    assert worst.cost[0] == ours.cost.max()
    frame = worst.to_frame()
    assert frame["image"].tolist() == worst.image.tolist()
    assert frame["misses"].tolist() == worst.misses.tolist()
    with pytest.raises(InputError, match="at least 0; got -1"):
        ours.costliest(-1)
    with pytest.raises(InputError, match=r"count must be a whole number, .*; got 1.5"):
        ours.costliest(1.5)  # type: ignore[arg-type]


def test_without_ground_truth_there_is_no_cost() -> None:
    truth = GroundTruth.from_arrays([], [], [], images=[7], classes=[1])
    found = Detections.from_arrays([7], [1], [[0, 0, 9, 9]], [0.4])
    ours, _ = costs_of((truth, found))
    assert np.isnan(ours.cost).all()
    assert ours.false_positives.tolist() == [1]


def test_no_detections_at_all() -> None:
    truth, _ = small(0)
    assert_costs((truth, Detections.from_arrays([], [], [], [])))


def test_all_sizes_are_needed() -> None:
    with pytest.raises(InputError, match="size_ranges must have 'all'; got small"):
        costs_of(small(0), size_ranges={"small": (0, 1024)})
