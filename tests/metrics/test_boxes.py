"""The weakly supervised localisation protocols and the soft-target family's geometry."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from sightline import metrics
from sightline.core import InputError
from tests.reference import maps as slow

RNG = np.random.default_rng(0)


def slow_components(mask: Any) -> list[tuple[int, int, int, int]]:
    """Flood fill with eight neighbours."""
    seen, boxes = set(), []
    height, width = mask.shape
    for start in zip(*np.nonzero(mask), strict=True):
        if start in seen:
            continue
        queue, part = [start], []
        seen.add(start)
        while queue:
            y, x = queue.pop()
            part.append((y, x))
            for near in [(y + dy, x + dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1)]:
                inside = 0 <= near[0] < height and 0 <= near[1] < width
                if inside and mask[near] and near not in seen:
                    seen.add(near)
                    queue.append(near)
        rows, columns = zip(*part, strict=True)
        boxes.append((min(columns), min(rows), max(columns) + 1, max(rows) + 1))
    return boxes


def slow_iou(a: Any, b: Any) -> float:
    wide = min(a[2], b[2]) - max(a[0], b[0])
    high = min(a[3], b[3]) - max(a[1], b[1])
    common = max(wide, 0) * max(high, 0)
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (a, b)]
    return float(common / (sum(areas) - common))


@pytest.mark.parametrize("seed", range(5))
def test_component_boxes_are_those_of_a_flood_fill(seed: int) -> None:
    mask = np.random.default_rng(seed).random((9, 11)) < 0.25
    found = {tuple(box) for box in metrics.component_boxes(mask).tolist()}
    assert found == {tuple(map(float, box)) for box in slow_components(mask)}


def test_box_curves_equal_slow_loops() -> None:
    maps = np.round(RNG.random((4, 8, 10)), 1)
    boxes: list[Any] = [
        [(0.1, 0.25, 0.5, 0.75), (0.6, 0.5, 1.0, 1.0)],
        [(0, 0, 0.3, 0.5)],
        [],
        [(0, 0, 1, 1)],
    ]
    levels = [0.0, 0.3, 0.55, 0.9]
    found = metrics.box_iou_curves(maps, boxes, thresholds=levels)
    for i in range(4):
        scaled = (maps[i] - maps[i].min()) / (maps[i].max() - maps[i].min())
        for j, level in enumerate(levels):
            parts = slow_components(scaled >= level)
            true = [(10 * a, 8 * b, 10 * c, 8 * d) for a, b, c, d in boxes[i]]
            ious = [slow_iou(p, t) for p in parts for t in true]
            if true:
                assert found[i, j] == pytest.approx(max(ious), abs=1e-12)
            else:
                assert math.isnan(found[i, j])


def test_max_box_accuracy_chooses_one_threshold_per_level_for_the_data_set() -> None:
    curves = np.array([[0.9, 0.2, 0.4], [0.1, 0.6, 0.4], [0.1, 0.6, 0.4], [np.nan] * 3])
    found = metrics.max_box_accuracy(curves)
    # At 0.3 the last threshold takes all three, at 0.5 the middle one two, at 0.7 the first one.
    assert found.accuracy == (1.0, 2 / 3, 1 / 3)
    assert found.threshold == (2, 1, 0)
    assert found.value == pytest.approx(2 / 3)


def test_max_box_accuracy_on_held_out_images_and_resamples() -> None:
    curves = np.array([[0.9, 0.2], [0.9, 0.2], [0.1, 0.6], [0.1, 0.6]])
    held = metrics.max_box_accuracy(curves, iou=[0.5], choose_on=np.array([0, 1]))
    assert held.accuracy == (0.0,)
    assert held.threshold == (0,)
    again = metrics.max_box_accuracy(curves, iou=[0.5], weights=np.array([1, 0, 2, 1]))
    assert again.threshold == (1,)
    assert again.accuracy == (0.75,)


def test_max_box_accuracy_of_maps() -> None:
    maps = np.zeros((2, 10, 10))
    maps[0, 2:6, 2:6] = 1
    maps[1, 5:9, 0:4] = 1
    boxes = [[(0.2, 0.2, 0.6, 0.6)], [(0.6, 0.0, 1.0, 0.4)]]
    assert metrics.compute_max_box_accuracy(maps, boxes) == 0.5


def test_corloc_with_masks_and_with_boxes() -> None:
    maps = np.zeros((3, 10, 10))
    maps[:, 2:6, 2:6] = 1
    masks = np.zeros((3, 10, 10), bool)
    masks[0, 2:6, 2:6] = True
    masks[1, 6:9, 6:9] = True
    assert metrics.compute_corloc(maps, masks, 84) == 0.5  # the third is empty and left out
    boxes = [[(0.2, 0.2, 0.6, 0.6)], [(0.6, 0.6, 0.9, 0.9)], [(0.2, 0.2, 0.6, 0.7)]]
    assert metrics.compute_corloc(maps, boxes, 84, protocol="box") == pytest.approx(2 / 3)
    assert metrics.compute_corloc(maps, boxes, 84, protocol="box", iou=0.9) == pytest.approx(1 / 3)
    assert math.isnan(metrics.compute_corloc(maps, np.zeros_like(masks)))


def test_pxap_pools_the_pixels_of_scaled_maps() -> None:
    from sklearn.metrics import average_precision_score

    maps, masks = RNG.random((3, 6, 6)) * [[[1]], [[10]], [[0.1]]], RNG.random((3, 6, 6)) < 0.3
    low, high = maps.min(axis=(1, 2), keepdims=True), maps.max(axis=(1, 2), keepdims=True)
    expected = average_precision_score(masks.ravel(), ((maps - low) / (high - low)).ravel())
    assert metrics.compute_pxap(maps, masks) == pytest.approx(expected, abs=1e-12)


def test_images_without_annotation_are_no_negatives() -> None:
    maps, masks = RNG.random((3, 6, 6)), RNG.random((3, 6, 6)) < 0.3
    maps[1] = masks[1]
    masks[2], boxes = False, [[(0.2, 0.2, 0.6, 0.6)], [(0.0, 0.0, 1.0, 1.0)], []]
    assert metrics.compute_pxap(maps, masks) == metrics.compute_pxap(maps[:2], masks[:2]) < 1
    assert metrics.compute_pxap(maps[1:], masks[1:]) == 1
    assert math.isnan(metrics.compute_pxap(maps[2:], masks[2:]))
    # What is annotated only where pixels are ignored is not annotated.
    assert metrics.compute_pxap(maps[:2], masks[:2], ignore=np.stack([masks[0], masks[2]])) == 1
    found = metrics.compute_max_box_accuracy(maps, boxes)
    assert found == metrics.compute_max_box_accuracy(maps[:2], boxes[:2]) > 0
    assert math.isnan(metrics.compute_max_box_accuracy(maps[2:], boxes[2:]))


@pytest.mark.parametrize("ignoring", [False, True])
def test_corloc_under_other_selections(ignoring: bool) -> None:
    rng = np.random.default_rng(4)
    maps, masks = rng.random((20, 6, 6)) + 0.5, rng.random((20, 6, 6)) < 0.4
    maps += rng.random((20, 1, 1)) * masks
    ignored = rng.random((6, 6)) < 0.2 if ignoring else np.zeros((6, 6), bool)
    ignore = ignored if ignoring else None
    shares = {}
    for selection in ("percentile", "matched", "mean", "mass50"):
        token = {"percentile": "80"}.get(selection, selection)
        options: dict[str, Any] = {"selection": selection, "percentiles": (80,)}
        ious = [
            slow.scores(one[~ignored][None], mask[~ignored][None], **options)[f"iou@{token}"]
            for one, mask in zip(maps, masks, strict=True)
        ]
        found = metrics.compute_corloc(maps, masks, 80, selection=selection, ignore=ignore)
        shares[selection] = float(np.mean(np.array(ious) >= 0.5))
        assert found == shares[selection]
    assert shares.pop("percentile") not in shares.values()


def test_the_box_protocol_knows_percentiles_alone() -> None:
    with pytest.raises(InputError, match="selects by percentile; got 'mean'"):
        metrics.compute_corloc(np.ones((1, 4, 4)), [[]], protocol="box", selection="mean")


@pytest.mark.parametrize(
    ("maps", "boxes", "message"),
    [
        (np.ones((2, 4, 4)), [[]], r"one entry per map \(2\); got 1"),
        (np.ones((4, 4)), [[]], r"shape \(images, H, W\); got 2 axes"),
        (np.ones((1, 4, 4)), [[(0, 0, 40, 40)]], "boxes of map 0 must be finite shares"),
        (np.ones((1, 4, 4)), [[(0.5, 0, 0, 0.5)]], "boxes of map 0 must be .* with x0 ≤ x1"),
    ],
)
def test_bad_data_sets_are_refused(maps: Any, boxes: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        metrics.box_iou_curves(maps, boxes)


def test_soft_targets_peak_in_the_middle_and_join_by_maximum() -> None:
    left, right = (0.0, 0.0, 0.5, 1.0), (0.5, 0.25, 1.0, 0.75)
    both = metrics.soft_target([left, right], 20, 20)
    alone = [metrics.soft_target([box], 20, 20) for box in (left, right)]
    assert np.array_equal(both, np.maximum(*alone))
    # One σ (a quarter of the side) from the centre the target has fallen to exp(−1/2).
    x = (np.arange(20) + 0.5) / 20
    expected = np.exp(-(((x - 0.25) / 0.125) ** 2) / 2)
    row = metrics.soft_target([(0.0, 0.0, 0.5, 1.0)], 1, 20)[0]
    assert np.allclose(row, expected, rtol=0, atol=1e-12)
    assert metrics.soft_target([], 3, 4).sum() == 0
    # A box smaller than a pixel still marks the pixel it lies in.
    tiny = metrics.soft_target([(0.62, 0.5, 0.63, 0.51)], 1, 10)
    assert tiny.argmax() == 6
    assert tiny.max() > 0.5


def test_emd_is_the_distance_moved() -> None:
    one, other = np.zeros((30, 40)), np.zeros((30, 40))
    one[3, 4] = other[3, 34] = 1
    assert metrics.compute_emd(one, one) == pytest.approx(0, abs=1e-12)
    # 40 columns are pooled into 32 cells, so the distance is right to within a cell.
    assert metrics.compute_emd(one, other) == pytest.approx(30 / 50, abs=1.25 / 50)
    half = one + np.roll(one, 20, axis=1)
    assert metrics.compute_emd(one, half) == pytest.approx(10 / 50, abs=1.25 / 50)


def test_emd_pools_mass_without_losing_any() -> None:
    small = RNG.random((16, 16))
    large = np.kron(small, np.ones((6, 6)))
    target = np.zeros((16, 16))
    target[2:5, 3:9] = 1
    fine = metrics.compute_emd(large, np.kron(target, np.ones((6, 6))))
    assert fine == pytest.approx(metrics.compute_emd(small, target), abs=1 / 16)


def test_mse_warns() -> None:
    with pytest.warns(UserWarning, match="rewards dark maps"):
        metrics.compute_mse(np.eye(3), np.eye(3))


def test_corloc_of_tensors_with_pixels_to_ignore() -> None:
    maps, masks = RNG.random((3, 6, 6)), RNG.random((3, 6, 6)) < 0.3
    ignored = np.zeros((6, 6), bool)
    ignored[:2] = True
    arrays = metrics.compute_corloc(maps, masks, 70, iou=0.2, ignore=ignored)
    one, other, left = map(torch.tensor, (maps, masks, ignored))
    assert metrics.compute_corloc(one, other, 70, iou=0.2, ignore=left) == arrays


def test_an_iou_of_exactly_one_half_is_a_hit() -> None:
    assert metrics.compute_corloc([[[3.0, 2.0, 1.0, 0.0]]], [[[1, 1, 0, 0]]], 75) == 1.0
