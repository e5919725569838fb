"""One map against each region of an annotation, and scores by label."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sightline import metrics
from sightline.core import Annotation, InputError, Region

ANNOTATION = Annotation(
    image_id="church.jpg",
    width=100,
    height=80,
    regions=(
        Region(label="window", box=(0.1, 0.1, 0.4, 0.5), index=0),
        Region(label="door", box=(0.5, 0.5, 0.7, 1.0), index=1),
    ),
)
ATTENTION = np.random.default_rng(0).random((8, 10))


def test_image_iou_is_the_iou_with_the_union() -> None:
    union = np.zeros((8, 10), bool)
    union[1:4, 1:4] = True
    union[4:8, 5:7] = True
    found = metrics.compute_image_iou(ATTENTION, ANNOTATION, 80)
    assert found == metrics.compute_iou(ATTENTION, union, 80)


def test_each_region_has_its_own_iou_chance_and_ceiling() -> None:
    found = metrics.compute_per_bbox_iou(ATTENTION, ANNOTATION, 80, ties="include")
    masks = ANNOTATION.region_masks(8, 10)
    assert [region.label for region in found] == ["window", "door"]
    for region, mask in zip(found, masks, strict=True):
        iou, a, g = metrics.compute_iou(ATTENTION, mask, 80, ties="include")
        assert region.iou == iou
        assert region.chance == pytest.approx(a * g / (a + g - a * g), abs=1e-12)
        assert region.ceiling == pytest.approx(min(a, g) / max(a, g), abs=1e-12)


def test_a_region_wholly_ignored_has_neither_iou_nor_chance_nor_ceiling() -> None:
    void = Region(label="void", box=(0.0, 0.0, 0.5, 0.6), flags=("ignore",), index=2)
    annotation = Annotation("a.jpg", regions=(*ANNOTATION.regions, void))
    gone, door = metrics.compute_per_bbox_iou(ATTENTION, annotation, 80)
    assert (gone.label, door.label) == ("window", "door")
    assert np.isnan([gone.iou, gone.chance, gone.ceiling]).all()
    assert np.isfinite([door.iou, door.chance, door.ceiling]).all()


def test_region_recall_is_recall() -> None:
    mask = ANNOTATION.region_masks(8, 10)[0]
    found = metrics.bbox_recall(ATTENTION, mask, 70)
    assert found == metrics.compute_recall(ATTENTION, mask, 70)


def test_regions_of_a_batch_are_refused() -> None:
    with pytest.raises(InputError, match="takes one map"):
        metrics.compute_per_bbox_iou(ATTENTION[None], ANNOTATION)


def test_scores_by_label_and_by_ancestor() -> None:
    images = [
        [("round window", 0.2), ("round window", 0.4), ("door", 0.9)],
        [("pointed window", 0.6), ("door", math.nan)],
    ]
    parents = {"round window": ["window"], "pointed window": ["window"], "window": ["opening"]}
    found = metrics.aggregate_by_feature_type(images, parents={**parents, "door": ["opening"]})
    assert set(found) == {"round window", "pointed window", "window", "opening", "door"}
    assert found["window"].mean == pytest.approx(0.4)
    assert found["window"].n == 3
    assert found["window"].std == pytest.approx(np.std([0.2, 0.4, 0.6], ddof=1))
    assert found["opening"].mean == pytest.approx((0.2 + 0.4 + 0.6 + 0.9) / 4)
    assert (found["door"].n, found["door"].undefined) == (1, 1)
    assert math.isnan(found["door"].low)


def test_an_ancestor_reached_twice_counts_once() -> None:
    parents = {"a": ["b", "c"], "b": ["d"], "c": ["d"]}
    found = metrics.aggregate_by_feature_type([[("a", 1.0)], [("a", 0.0)]], parents=parents)
    assert found["d"].n == 2


@pytest.mark.parametrize("confidence", [95, 0, 1, math.nan])
def test_confidence_must_be_a_share(confidence: float) -> None:
    with pytest.raises(InputError, match="confidence must lie between 0 and 1; got"):
        metrics.aggregate_by_feature_type([[("a", 1.0)]], confidence=confidence)


def test_all_undefined() -> None:
    found = metrics.aggregate_by_feature_type([[("a", math.nan)]])
    assert math.isnan(found["a"].mean)
    assert found["a"].undefined == 1


def test_intervals_are_clustered_by_image() -> None:
    """Copies of one image's regions must not make the interval narrower."""
    scores = [0.1, 0.5, 0.3, 0.2, 0.4]
    single = [[("a", score)] for score in scores]
    copied = [image * 10 for image in single]
    one, ten = (metrics.aggregate_by_feature_type(x)["a"] for x in (single, copied))
    assert (one.low, one.high) == pytest.approx((ten.low, ten.high), abs=1e-12)
    # With one region an image it is Student's interval of a mean.
    half = 2.7764451051977987 * np.std(scores, ddof=1) / math.sqrt(5)
    assert one.high - one.mean == pytest.approx(half, abs=1e-9)
    assert one.reason == ""
