"""Ignored pixels are left out of selection, energy and area alike: as if they did not exist."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import sightline
from sightline import metrics
from sightline.core import Annotation, InputError, MapError, Region
from sightline.metrics import compute_emd
from tests.metrics.test_engine import ON_EITHER, SIGNS, TIES, assert_equal, columns
from tests.reference import maps as reference
from tests.strategies import scenes

SELECTIONS = {
    "positive": ("percentile", "mass", "mean", "matched"),
    "absolute": ("percentile", "mass", "mean", "matched"),
    "signed": ("percentile", "matched"),
}


def kept(array: Any, ignored: Any) -> Any:
    return np.asarray(array)[~ignored][None]


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("sign", SIGNS)
@ON_EITHER
@settings(max_examples=30)
@given(scene=scenes(tame=True), data=st.data())
def test_scores_are_those_of_the_other_pixels(
    scene: Any, sign: Any, ties: Any, data: st.DataObject, score: Any
) -> None:
    attention, mask = scene
    some = data.draw(hnp.arrays(bool, attention.shape))
    some.flat[data.draw(st.integers(0, some.size - 1))] = False
    ignored = np.stack([np.zeros_like(some), some, ~np.isfinite(attention)])
    options: dict[str, Any] = {"sign": sign, "ties": ties, "selection": SELECTIONS[sign]}
    region = np.roll(mask, 1)
    found = score(
        np.stack([attention] * 3), mask, regions=[[mask, region]], ignore=ignored, **options
    )
    for row, left_out in enumerate(ignored):
        pair = kept(attention, left_out), kept(mask, left_out)
        assert_equal({name: found[name][row] for name in found}, reference.scores(*pair, **options))
        for number, shape in enumerate((mask, region)):
            expected = reference.region_scores(pair[0], kept(shape, left_out), **options)
            here = {name: found.regions[name][2 * row + number] for name in found.regions}
            assert_equal(here, expected)
    assert found.regions.map.tolist() == [0, 0, 1, 1, 2, 2]
    assert found.regions.region.tolist() == [0, 1, 0, 1, 0, 1]


@ON_EITHER
def test_what_lies_on_ignored_pixels_changes_no_bit(score: Any) -> None:
    rng = np.random.default_rng(0)
    attention, mask = rng.random((4, 9, 11)), rng.random((4, 9, 11)) < 0.3
    ignored = rng.random((4, 9, 11)) < 0.2
    ignored[1] = False
    boxes = np.array([[0.1, 0.1, 0.5, 0.6], [0.3, 0.0, 0.9, 0.9]])
    clean = columns(score(attention, mask, regions=[boxes], ignore=ignored))
    for junk in (0.0, 1e9, -5.0, np.nan, np.inf):
        dirty = np.where(ignored, junk, attention)
        again = columns(score(dirty, mask ^ ignored, regions=[boxes], ignore=ignored))
        for name, values in clean.items():
            assert values.tobytes() == again[name].tobytes(), (name, junk)


def test_batches_and_threads_change_no_bit() -> None:
    rng = np.random.default_rng(1)
    attention, mask = rng.random((5, 8, 8)), rng.random((5, 8, 8)) < 0.3
    ignored = rng.random((5, 8, 8)) < 0.2
    ignored[2:4] = False
    options: dict[str, Any] = {"regions": [[mask[0]]], "selection": ("percentile", "mass")}
    whole = columns(sightline.score_maps(attention, mask, ignore=ignored, threads=3, **options))
    single = [
        columns(sightline.score_maps(a, m, ignore=i, threads=1, **options))
        for a, m, i in zip(attention, mask, ignored, strict=True)
    ]
    for name, values in whole.items():
        assert np.concatenate([s[name].ravel() for s in single]).tobytes() == values.tobytes(), name


def test_a_constant_map_scores_the_chance_of_what_is_left() -> None:
    mask, ignored = np.zeros((10, 10), bool), np.zeros((10, 10), bool)
    mask[:4], ignored[2:7] = True, True
    scores = sightline.score_maps(np.ones((10, 10)), mask, ignore=ignored)
    assert scores["annotation_area"] == 0.4  # 20 of 50 pixels
    for name in ("coverage", "average_precision", "iou@90", "pointing", "top_k_any@k5"):
        metric, at, threshold = name.partition("@")
        chance = scores[f"{metric}_chance{at}{threshold}"]
        assert abs(scores[name] - chance) < 1e-12, name
    assert scores["coverage"] == 0.4
    assert scores["attention_area@90"] == 0.1


@ON_EITHER
def test_nothing_left_is_undefined_with_a_reason(score: Any) -> None:
    mask, ignored = np.zeros((2, 3, 3), bool), np.zeros((2, 3, 3), bool)
    mask[:, 0], ignored[0, 0], ignored[1] = True, True, True
    scores = score(np.ones((2, 3, 3)), mask, regions=[[mask[0]]], ignore=ignored)
    assert np.isnan(np.asarray(scores["coverage"])).tolist() == [True, True]
    assert scores.reasons("coverage").tolist() == ["empty annotation", "every pixel is ignored"]
    assert scores.regions.reasons("iou@90").tolist() == scores.reasons("coverage").tolist()
    assert float(scores["annotation_area"][0]) == 0
    assert np.isnan(float(scores["annotation_area"][1]))


def test_a_map_that_is_not_finite_keeps_its_number() -> None:
    attention, ignored = np.ones((3, 2, 2)), np.zeros((3, 2, 2), bool)
    attention[2, 0, 0], ignored[0, 1, 1] = np.nan, True
    with pytest.raises(MapError, match="map 2 is not finite: 1 NaN") as found:
        sightline.score_maps(attention, np.eye(2, dtype=bool), ignore=ignored)
    assert found.value.index == 2
    scores = sightline.score_maps(
        attention, np.eye(2, dtype=bool), ignore=ignored, nonfinite="drop"
    )
    assert np.isnan(scores["coverage"]).tolist() == [False, False, True]


def test_annotations_say_what_to_ignore() -> None:
    parts = (
        Region("window", box=(0, 0, 0.5, 0.5), index=0),
        Region("void", box=(0.25, 0, 0.75, 1), flags=("ignore",), index=1),
        Region("door", box=(0, 0.5, 1, 1), index=2),
    )
    annotation = Annotation("a.jpg", 8, 8, parts)
    attention = np.random.default_rng(2).random((8, 8))
    scores = sightline.score_maps(attention, regions=[annotation])
    ignored = np.zeros((8, 8), bool)
    ignored[:, 2:6] = True
    by_hand = sightline.score_maps(
        attention,
        annotation.union_mask(8, 8),
        regions=[[parts[0].box, parts[2].box]],
        ignore=ignored,
    )
    assert scores.regions is not None
    assert scores.regions.region.tolist() == [0, 2]
    assert scores.regions.label.tolist() == ["window", "door"]
    for name in scores:
        assert scores[name].tobytes() == by_hand[name].tobytes(), name
    assert scores["annotation_area"] == (8 + 16) / 32
    iou, a, g = metrics.compute_image_iou(attention, annotation, 90)
    assert (iou, a, g) == (scores["iou@90"], 0.1, scores["annotation_area"])
    per_box = metrics.compute_per_bbox_iou(attention, annotation, 90)
    assert [found.label for found in per_box] == ["window", "door"]
    assert [found.iou for found in per_box] == pytest.approx(scores.regions["iou@90"], abs=1e-12)


@settings(max_examples=25)
@given(scene=scenes(tame=True), data=st.data())
def test_metrics_by_name_are_those_of_the_other_pixels(scene: Any, data: st.DataObject) -> None:
    attention, mask = scene
    ignored = data.draw(hnp.arrays(bool, attention.shape))
    names = ("entropy", "gini", "sparsity", "nss", "auc_judd")
    found = sightline.score_maps(attention, mask, ignore=ignored, metrics=names, sign="positive")
    if ignored.all():
        assert all(np.isnan(found[name]) for name in names)
        return
    pair = kept(attention, ignored), kept(mask, ignored)
    expected = {name: getattr(reference, name)(pair[0]) for name in names[:3]}
    expected |= {name: getattr(reference, name)(*pair) for name in names[3:]}
    assert_equal(found, expected, tolerance=1e-9)


@pytest.mark.filterwarnings("ignore:MSE rewards dark maps")
def test_soft_targets_tolerance_and_transport_leave_them_out() -> None:
    rng = np.random.default_rng(3)
    attention, ignored = rng.random((6, 8)), rng.random((6, 8)) < 0.3
    boxes = np.array([[0.25, 0.0, 0.75, 0.5]])
    target = metrics.soft_target(boxes, 6, 8)
    mask = np.zeros((6, 8), bool)
    mask[:3, 2:6] = True
    names = ("cc", "sim", "kl", "mse", "emd", "pointing@tol1")
    options: dict[str, Any] = {"regions": [boxes], "ignore": ignored, "metrics": names}
    found = sightline.score_maps(attention, **options)
    for name in names[:4]:
        expected = getattr(reference, name)(kept(attention, ignored), kept(target, ignored))
        assert found[name] == pytest.approx(expected, abs=1e-9), name
    keep = ~ignored
    assert found["emd"] == pytest.approx(float(compute_emd(attention * keep, target * keep)))
    near = np.zeros_like(mask)  # one pixel around the annotated ones that count, in a disc
    for y, x in np.argwhere(mask & keep):
        for dy, dx in ((0, 0), (0, 1), (0, -1), (1, 0), (-1, 0)):
            if 0 <= y + dy < 6 and 0 <= x + dx < 8:
                near[y + dy, x + dx] = True
    best = np.unravel_index(np.argmax(np.where(keep, attention, -1)), (6, 8))
    assert found["pointing@tol1"] == near[best]
    assert found["pointing_chance@tol1"] == pytest.approx((near & keep).sum() / keep.sum())
    again = sightline.score_maps(np.where(ignored, np.nan, attention), **options)
    assert all(found[name].tobytes() == again[name].tobytes() for name in found)


def test_ignore_must_fit() -> None:
    with pytest.raises(InputError, match="ignore must have the maps' height and width 4×4"):
        sightline.score_maps(np.ones((4, 4)), np.ones((4, 4)), ignore=np.ones((2, 2)))
    annotation = Annotation("a.jpg", regions=(Region("void", flags=("ignore",)),))
    with pytest.raises(InputError, match=r"'a.jpg': every pixel is ignored"):
        metrics.compute_image_iou(np.ones((2, 2)), annotation)


def scenes_of_three() -> tuple[Any, list[Annotation]]:
    rng = np.random.default_rng(5)
    voids = [(0.0, 0.0, 0.5, 0.25), None, (0.5, 0.5, 1.0, 1.0)]
    found = []
    for number, void in enumerate(voids):
        regions = [Region("window", box=(0.25, 0.0, 0.75, 0.75))]
        if void is not None:
            regions.append(Region("void", box=void, flags=("ignore",), index=1))
        found.append(Annotation(f"{number}.jpg", regions=tuple(regions)))
    return rng.random((3, 8, 8)), found


def test_each_map_has_its_own_pixels_to_ignore() -> None:
    attention, annotations = scenes_of_three()
    names = ("coverage", "iou@90", "nss", "sim", "emd", "information_gain")
    options: dict[str, Any] = {"metrics": names}
    batch = sightline.score_maps(attention, regions=annotations, **options)
    assert batch.regions is not None
    for row, annotation in enumerate(annotations):
        single = sightline.score_maps(attention[row], regions=[annotation], **options)
        for name in single:
            assert batch[name][row] == single[name], (name, row)
        assert single.regions is not None
        assert batch.regions["coverage"][row] == single.regions["coverage"][0]
    areas = [24 / 64, 24 / 64, 24 / 64]
    left = [(24 - 4) / (64 - 8), areas[1], (24 - 4) / (64 - 16)]
    assert batch["annotation_area"].tolist() == left


def test_one_annotation_serves_every_map() -> None:
    attention, annotations = scenes_of_three()
    every = sightline.score_maps(attention, regions=annotations[:1])
    each = sightline.score_maps(attention, regions=annotations[:1] * 3)
    assert all(every[name].tobytes() == each[name].tobytes() for name in every)


def test_uniform_references_and_others_leave_them_out() -> None:
    attention, annotations = scenes_of_three()
    ignored = np.stack([annotation.ignore_mask(8, 8) for annotation in annotations])
    masks = np.stack([annotation.union_mask(8, 8) for annotation in annotations])
    names = ["sim", "kl", "shuffled_auc"]
    found = sightline.score_maps(attention, regions=annotations, metrics=names)
    for row in range(3):
        target = kept(annotations[row].soft_target(8, 8), ignored[row])
        even = np.ones_like(target)
        assert found["sim_uniform"][row] == pytest.approx(reference.sim(even, target))
        assert found["kl_uniform"][row] == pytest.approx(reference.kl(even, target))
        others = kept(masks.sum(axis=0) - masks[row], ignored[row])
        pair = kept(attention[row], ignored[row]), kept(masks[row], ignored[row])
        expected = reference.shuffled_auc(*pair, others)
        assert found["shuffled_auc"][row] == pytest.approx(expected, abs=1e-9)


@pytest.mark.filterwarnings("ignore:MSE rewards dark maps")
def test_a_region_wholly_ignored_has_no_target() -> None:
    box = (0.0, 0.0, 0.5, 0.5)
    void = Region("void", box=box, flags=("ignore",), index=1)
    gone = Annotation("a.jpg", regions=(Region("window", box=box), void))
    attention = np.random.default_rng(0).random((8, 8))
    names = ["cc", "sim", "kl", "mse", "emd"]
    alone = sightline.score_maps(attention, regions=[gone], metrics=names)
    assert all(np.isnan(alone[name]) for name in names)
    assert not gone.soft_target(8, 8).any()
    door = Region("door", box=(0.5, 0.5, 1, 1), index=2)
    both = Annotation("a.jpg", regions=(*gone.regions, door))
    rest = Annotation("a.jpg", regions=(void, door))
    one, two = (
        sightline.score_maps(attention, regions=[which], metrics=names) for which in (both, rest)
    )
    assert all(one[name].tobytes() == two[name].tobytes() for name in one)
    np.testing.assert_array_equal(both.soft_target(8, 8), rest.soft_target(8, 8))


@pytest.mark.parametrize("ignoring", [False, True])
def test_dropped_maps_are_undefined_for_metrics_by_name(ignoring: bool) -> None:
    attention, mask = np.random.default_rng(0).random((2, 8, 8)), np.eye(8, dtype=bool)
    attention[1, 7, 7] = np.nan
    ignore = np.zeros((8, 8), bool)
    ignore[0, 0] = ignoring
    names = ["entropy", "nss", "pointing@tol1"]
    found = sightline.score_maps(attention, mask, ignore=ignore, metrics=names, nonfinite="drop")
    good = sightline.score_maps(attention[0], mask, ignore=ignore, metrics=names)
    for name in names:
        assert found[name][0] == good[name]
        assert np.isnan(found[name][1])
    with pytest.raises(MapError, match="map 1 is not finite"):
        sightline.score_maps(attention, mask, ignore=ignore, metrics=names)


@pytest.mark.parametrize("flags", [(), ("ignore",)])
def test_annotations_score_tensors_too(flags: tuple[str, ...]) -> None:
    import torch

    parts = (Region("window", box=(0, 0, 0.5, 0.5)), Region("x", box=(0.3, 0, 1, 0.5), flags=flags))
    annotation = Annotation("a.jpg", regions=parts)
    maps = np.random.default_rng(0).random((2, 6, 8))
    for numbers, tensor in (
        (maps, torch.tensor(maps)),
        (maps[0], torch.tensor(maps[0])),
    ):
        expected = metrics.compute_image_iou(numbers, annotation)
        found = metrics.compute_image_iou(tensor, annotation)
        for one, two in zip(expected, found, strict=True):
            np.testing.assert_allclose(np.asarray(two), one, rtol=1e-12)
    per_box = metrics.compute_per_bbox_iou(torch.tensor(maps[0]), annotation)
    by_numpy = metrics.compute_per_bbox_iou(maps[0], annotation)
    assert [found.iou for found in per_box] == pytest.approx([found.iou for found in by_numpy])


def test_figures_of_data_sets_leave_them_out() -> None:
    rng = np.random.default_rng(4)
    attention, mask = rng.random((3, 8, 8)), np.zeros((3, 8, 8), bool)
    mask[:, 2:5, 2:6] = True
    attention[mask] += 1
    attention[0] += 5  # scaled by itself: its ignored pixels must not tell where it starts
    banner = np.zeros((8, 8), bool)
    banner[:2] = True
    bright = np.where(banner, 9.0, attention)
    boxes = [np.array([[2 / 8, 2 / 8, 6 / 8, 5 / 8]])] * 3
    pooled = np.concatenate([kept(a, banner)[0] for a in bright])
    inside = np.concatenate([kept(m, banner)[0] for m in mask])
    low, high = (np.repeat([f(kept(a, banner)) for a in attention], 48) for f in (np.min, np.max))
    expected = metrics.compute_average_precision(
        ((pooled - low) / (high - low))[None], inside[None]
    )
    assert metrics.compute_pxap(bright, mask, ignore=banner) == pytest.approx(float(expected))
    assert metrics.compute_pxap(bright, mask) < 0.5
    for protocol, target in (("mask", mask), ("box", boxes)):
        options: dict[str, Any] = {"protocol": protocol, "percentile": 75}
        assert metrics.compute_corloc(bright, target, ignore=banner, **options) == 1
        assert metrics.compute_corloc(bright, target, **options) == 0
    assert metrics.compute_max_box_accuracy(bright, boxes, ignore=banner) == 1
    assert metrics.compute_max_box_accuracy(bright, boxes) < 1
    dirty = np.where(banner, np.nan, attention)
    assert metrics.compute_pxap(dirty, mask, ignore=banner) == pytest.approx(float(expected))
    every = np.ones((8, 8), bool)
    assert np.isnan(metrics.compute_pxap(bright, mask, ignore=every))
    assert np.isnan(metrics.compute_corloc(bright, mask, ignore=every))
