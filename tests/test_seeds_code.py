"""Code as the document on sparse annotation writes it: its calls, unpackings and loops run here.

What cannot run as written is listed in docs/seeds.md.
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sightline.core import Annotation, ImageAnnotation, Region
from sightline.metrics import (
    aggregate_by_feature_type,
    bbox_recall,
    compute_best_iou,
    compute_image_iou,
    compute_iou,
    compute_per_bbox_iou,
    threshold_attention,
)
from sightline.stats.missing_labels import bootstrap_iou_under_dropout

SIZE = 12, 16
PERCENTILE = 80
NAMES = ("window", "door", "window")


def _annotation(number: int) -> ImageAnnotation:
    rng = np.random.default_rng(number)
    corners = rng.uniform(0, 0.6, (len(NAMES), 2))
    regions = [
        Region(label, box=(x, y, x + 0.3, y + 0.35), index=index)
        for index, (label, (x, y)) in enumerate(zip(NAMES, corners.tolist(), strict=True))
    ]
    return ImageAnnotation(image_id=f"{number}.jpg", width=160, height=120, regions=tuple(regions))


@pytest.fixture(params=["numpy", "torch"])
def maps(request: pytest.FixtureRequest) -> list[Any]:
    """One map for each of six images, as an array and as a tensor."""
    found: list[Any] = list(np.random.default_rng(5).random((6, *SIZE)))
    if request.param == "torch":
        torch = pytest.importorskip("torch")
        found = [torch.from_numpy(one) for one in found]
    return found


ANNOTATIONS = [_annotation(number) for number in range(6)]


def test_a_single_box_is_scored_alone(maps: list[Any]) -> None:
    attention, annotation = maps[0], ANNOTATIONS[0]
    bbox = annotation.bboxes[1]
    mask = bbox.to_mask(*SIZE)
    iou, attention_area, annotation_area = compute_iou(attention, mask, PERCENTILE)
    assert (bbox.label, float(annotation_area)) == ("door", mask.mean())
    assert float(attention_area) == pytest.approx(1 - PERCENTILE / 100)
    assert float(iou) == compute_per_bbox_iou(attention, annotation, PERCENTILE)[1].iou


def test_the_loop_over_boxes_is_that_of_the_library(maps: list[Any]) -> None:
    per_image = []
    for attention, annotation in zip(maps, ANNOTATIONS, strict=True):
        results = []
        for bbox in annotation.bboxes:
            iou, _, _ = compute_iou(attention, bbox.to_mask(*SIZE), PERCENTILE)
            results.append((bbox.label, float(iou)))
        assert [
            (a, b) for a, b in compute_per_bbox_iou(attention, annotation, PERCENTILE)
        ] == results
        per_image.append(compute_per_bbox_iou(attention, annotation, PERCENTILE))
    by_label: dict[str, list[float]] = {}
    for image_results in per_image:
        for label, iou in image_results:
            by_label.setdefault(label, []).append(iou)
    found = aggregate_by_feature_type(per_image)
    assert {label: one.n for label, one in found.items()} == {"door": 6, "window": 12}
    for label, values in by_label.items():
        assert found[label].mean == pytest.approx(np.mean(values))


def test_the_union_of_the_boxes_is_the_union_mask() -> None:
    for annotation in ANNOTATIONS:
        union = np.zeros(SIZE, bool)
        for bbox in annotation.bboxes:
            union |= bbox.to_mask(*SIZE)
        assert np.array_equal(union, annotation.get_union_mask(*SIZE))


def test_recall_of_a_box_by_hand(maps: list[Any]) -> None:
    mask = ANNOTATIONS[0].bboxes[0].to_mask(*SIZE)
    high = np.asarray(threshold_attention(maps[0], PERCENTILE))
    by_hand = (high & mask).sum() / mask.sum()
    assert float(bbox_recall(maps[0], mask, PERCENTILE, ties="include")) == by_hand


def test_a_band_unpacks_into_its_ends(maps: list[Any]) -> None:
    low, high = bootstrap_iou_under_dropout(maps, ANNOTATIONS, 80, 0.3, 200)
    band = bootstrap_iou_under_dropout(
        attention_maps=maps, annotations=ANNOTATIONS, percentile=80, dropout_rate=0.3,
        n_bootstrap=200,
    )  # fmt: skip
    assert (low, high) == (band.low, band.high)
    observed = np.mean(
        [float(compute_image_iou(*pair, 80).iou) for pair in zip(maps, ANNOTATIONS, strict=True)]
    )
    assert low < high
    assert band.value == pytest.approx(observed)


def test_boxes_can_be_dropped_by_hand(maps: list[Any]) -> None:
    """The inner loop, with `replace` in the place of a constructor that takes boxes."""
    rng = random.Random(0)  # noqa: S311 (as the document draws)
    for attention, annotation in zip(maps, ANNOTATIONS, strict=True):
        n_keep = max(1, int(len(annotation.bboxes) * (1 - 0.3)))
        kept = rng.sample(annotation.bboxes, n_keep)
        reduced = replace(annotation, regions=tuple(kept))
        iou, _, _ = compute_iou(attention, reduced.get_union_mask(*SIZE), PERCENTILE)
        assert len(reduced.bboxes) == 2
        assert 0 <= float(iou) <= 1


def test_boxes_are_those_of_what_is_scored_whatever_its_shape() -> None:
    corner = np.zeros((4, 4), bool)
    corner[0, 0] = corner[1, 1] = True
    shapes = (
        Region("mask", "mask", (0, 0, 0.5, 0.5), corner),
        Region("point", "point", (0.5, 0.5, 1, 1), radius=2.0),
        Region("void", flags=("ignore",)),
    )
    bboxes = Annotation("a", 4, 4, shapes).bboxes
    assert [(bbox.label, bbox.kind, bbox.box) for bbox in bboxes] == [
        ("mask", "box", (0, 0, 0.5, 0.5)),
        ("point", "box", (0.5, 0.5, 1, 1)),
    ]
    assert bboxes[0].to_mask(4, 4).sum() == bboxes[1].to_mask(4, 4).sum() == 4


def test_the_best_threshold_depends_on_the_image(maps: list[Any]) -> None:
    """As the document on metrics says: larger annotations peak at lower percentiles."""
    found = []
    for attention, annotation in zip(maps, ANNOTATIONS, strict=True):
        mask = annotation.get_union_mask(*SIZE)
        best = compute_best_iou(attention, mask)
        iou, percentile = (float(one) for one in best)
        assert (iou, percentile) == (float(best.iou), float(best.percentile))
        for ties in ("share", "include"):
            at = compute_iou(attention, mask, percentile, ties=ties)
            assert float(at.iou) == pytest.approx(iou, abs=1e-9)
        found.append(percentile)
    assert len(set(found)) > 1
    values = np.arange(100.0).reshape(10, 10)
    for percent in (5, 30, 80):
        best = compute_best_iou(values, values >= percent)
        assert (float(best.iou), float(best.percentile)) == (1.0, percent)
