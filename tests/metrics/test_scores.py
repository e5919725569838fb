"""`Scores` as a mapping, a frame and tables; and what `score_maps` lets one ask for."""

from __future__ import annotations

import copy
import math
import pickle
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sightline
from sightline import metrics
from sightline.core import Annotation, InputError, Region

# Maps of three layers: not three channels of an RGB input.
score_maps = partial(sightline.score_maps, channels="separate")

RNG = np.random.default_rng(0)
MAPS = RNG.random((2, 3, 6, 7))
MASKS = RNG.random((2, 3, 6, 7)) < 0.3
BOXES = [np.array([[0.0, 0.0, 0.5, 0.5], [0.3, 0.3, 0.9, 1.0]]) for _ in range(6)]


@pytest.fixture(scope="module")
def scores() -> sightline.Scores:
    return score_maps(MAPS, MASKS, regions=BOXES)


def test_columns_have_the_leading_shape(scores: sightline.Scores) -> None:
    assert all(scores[name].shape == (2, 3) for name in scores)
    assert scores.regions is not None
    assert all(scores.regions[name].shape == (12,) for name in scores.regions)
    assert scores.regions.map.tolist() == [i for i in range(6) for _ in range(2)]
    assert scores.regions.region.tolist() == [0, 1] * 6


def test_the_columns_of_a_plain_call(scores: sightline.Scores) -> None:
    free = {"annotation_area", "average_precision_random"}
    for name in ("coverage", "auc_roc", "average_precision", "relevance_rank", "pointing"):
        free |= {name, f"{name}_chance"}
    for name in ("top_k_pointing", "top_k_any"):
        free |= {f"{name}@k5", f"{name}_chance@k5"}
    kinds = ["iou", "iou_chance", "iou_ceiling", "iou_share", "iou_share_chance", "iou_corrected"]
    kinds += ["iou_corrected_chance", "attention_area"]
    for name in ("dice", "precision", "recall", "lift"):
        kinds += [name, f"{name}_chance"]
    at = {f"{kind}@{p}" for kind in kinds for p in (95, 90, 85, 80, 75, 70, 60, 50)}
    assert set(scores) == free | {"best_iou", "best_iou_percentile"} | at
    assert scores.regions is not None
    regional = {"annotation_area", "coverage", "coverage_chance", "pointing", "pointing_chance"}
    assert set(scores.regions) == regional | at


def test_scores_are_read_only(scores: sightline.Scores) -> None:
    with pytest.raises(ValueError, match="read-only"):
        scores["coverage"][0, 0] = 1
    with pytest.raises(TypeError):
        scores["coverage"] = 1  # type: ignore[index]
    asked = score_maps(MAPS, MASKS, metrics=["nss"])
    with pytest.raises(ValueError, match="read-only"):
        asked["nss"][0, 0] = 5


def test_scores_can_be_pickled_and_copied() -> None:
    scores = score_maps(MAPS, MASKS, metrics=["iou", "nss"])
    for other in (pickle.loads(pickle.dumps(scores)), copy.deepcopy(scores)):  # noqa: S301
        assert list(other) == list(scores)
        assert np.array_equal(other["iou@90"], scores["iou@90"])
        assert np.array_equal(other["nss"], scores["nss"])


def test_compute_all_metrics_is_the_engine_on_one_map(scores: sightline.Scores) -> None:
    found = metrics.compute_all_metrics(MAPS[1, 2], MASKS[1, 2])
    assert list(found) == list(scores)
    assert all(type(value) is float for value in found.values())
    assert found == {name: float(scores[name][1, 2]) for name in scores}


def test_compute_all_metrics_passes_its_options_on() -> None:
    attention, mask = MAPS[0, 0] - 0.5, MASKS[0, 0]
    options: dict[str, Any] = {
        "selection": ("percentile", "mass", "matched"), "percentiles": (70,), "sign": "absolute",
        "ties": "include", "ignore": np.eye(6, 7, dtype=bool),
    }  # fmt: skip
    found = metrics.compute_all_metrics(attention, mask, **options)
    expected = score_maps(attention, mask, **options)
    assert found == {name: float(expected[name]) for name in expected}
    assert {"iou@70", "recall@mass60", "iou@matched"} <= set(found)
    assert "iou@90" not in found


def test_the_mask_may_be_left_to_the_regions() -> None:
    union = np.zeros((6, 7), bool)
    union[:3, :4] = True
    union[2:, 2:6] = True
    one = score_maps(MAPS, regions=BOXES)
    two = score_maps(MAPS, union)
    assert all(np.array_equal(one[name], two[name], equal_nan=True) for name in two)


def test_regions_given_once_serve_every_map(scores: sightline.Scores) -> None:
    shared = score_maps(MAPS, MASKS, regions=BOXES[:1])
    assert shared.regions is not None
    assert scores.regions is not None
    for name in scores.regions:
        assert np.array_equal(shared.regions[name], scores.regions[name], equal_nan=True)


def annotated(ignoring: bool = False) -> list[Annotation]:
    """Two annotations: a box and a disc, and a box and, if asked for, something to ignore."""
    disc = np.hypot(*(np.mgrid[:6, :7] - 2.5)) < 2
    flags = ("ignore",) if ignoring else ()
    regions = (
        (Region("a", box=(0, 0, 0.5, 0.5), index=4), Region("b", "mask", mask=disc, index=7)),
        (
            Region("c", box=(0.2, 0.4, 0.9, 1)),
            Region("d", box=(0, 0, 0.3, 1), flags=flags, index=1),
        ),
    )
    return [Annotation(f"{i}.jpg", regions=own) for i, own in enumerate(regions)]


@pytest.mark.parametrize("ignoring", [False, True])
@pytest.mark.parametrize("names", [None, ["coverage", "kl", "nss", "pointing@tol1"]])
def test_regions_may_be_given_for_each_index_of_the_first_axis(ignoring: bool, names: Any) -> None:
    maps = RNG.random((2, 3, 4, 6, 7))
    each = [annotation for annotation in annotated(ignoring) for _ in range(12)]
    once = score_maps(maps, regions=annotated(ignoring), metrics=names)
    assert once.regions is not None
    apart = score_maps(maps, regions=each, metrics=names)
    assert apart.regions is not None
    for one, other in ((once, apart), (once.regions, apart.regions)):
        assert list(one) == list(other)
        for name in one:
            assert one[name].tobytes() == other[name].tobytes(), name
    assert once["coverage"].shape == (2, 3, 4)
    assert once.regions.map.tolist() == apart.regions.map.tolist()
    assert once.regions.region.tolist() == apart.regions.region.tolist()
    assert once.regions.label.tolist() == apart.regions.label.tolist()
    assert set(once.regions.map.tolist()) == set(range(24))


def test_regions_are_drawn_once_per_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = []
    draw = Region.to_mask

    def counted(self: Region, height: int, width: int) -> Any:
        drawn.append(self.label)
        return draw(self, height, width)

    monkeypatch.setattr(Region, "to_mask", counted)
    score_maps(RNG.random((2, 5, 6, 7)), MASKS[0, 0], regions=annotated())
    assert drawn == ["b"]


def test_shuffled_auc_compares_with_other_images_not_with_other_layers() -> None:
    maps = RNG.random((2, 3, 4, 6, 7))
    found = score_maps(maps, regions=annotated(), metrics=["shuffled_auc"])
    masks = np.stack([annotation.union_mask(6, 7) for annotation in annotated()])
    for image in range(2):
        expected = metrics.compute_shuffled_auc(maps[image], masks[image], masks[1 - image] * 1.0)
        assert np.array_equal(found["shuffled_auc"][image], expected)


@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 1, 1), (1, 3, 1), (2, 1, 4), (2, 3, 4)])
def test_masks_and_pixels_to_ignore_serve_whole_axes(shape: tuple[int, ...]) -> None:
    maps = RNG.random((2, 3, 4, 6, 7))
    masks, ignored = RNG.random((2, *shape, 6, 7)) < 0.3
    found = score_maps(maps, masks, ignore=ignored, metrics=["iou", "auc_roc", "entropy"])
    whole = [np.broadcast_to(array, maps.shape) for array in (masks, ignored)]
    for index in np.ndindex(2, 3, 4):
        own = (array[index] for array in whole)
        single = score_maps(
            maps[index], next(own), ignore=next(own), metrics=["iou", "auc_roc", "entropy"]
        )
        for name in found:
            assert found[name][index] == single[name], (name, index)


def test_the_number_of_regions_must_fit() -> None:
    maps = RNG.random((2, 3, 6, 7))
    message = (
        r"all maps \(1\), one per index of their first axis \(2\) or one entry per map \(6\); got 3"
    )
    with pytest.raises(InputError, match=message):
        score_maps(maps, regions=BOXES[:3])
    with pytest.raises(InputError, match="got 0"):
        score_maps(maps, regions=[])


def test_an_annotation_brings_labels_and_numbers() -> None:
    annotation = Annotation(
        image_id="church.jpg",
        width=70,
        height=60,
        regions=(
            Region(label="tower", box=(0.0, 0.0, 0.5, 0.5), index=0),
            Region(label="door", box=(0.3, 0.3, 0.9, 1.0), index=2),
        ),
    )
    found = score_maps(MAPS[0], regions=[annotation] * 3).regions
    boxes = score_maps(MAPS[0], regions=BOXES[:3]).regions
    assert found is not None
    assert boxes is not None
    assert found.label.tolist() == ["tower", "door"] * 3
    assert found.region.tolist() == [0, 2] * 3
    assert all(np.array_equal(found[name], boxes[name]) for name in boxes)


def test_maps_without_regions_and_empty_regions() -> None:
    nothing = np.zeros((6, 7), bool)
    found = score_maps(MAPS[0], MASKS[0], regions=[[], [nothing], []]).regions
    assert found is not None
    assert found.map.tolist() == [1]
    assert math.isnan(found["recall@90"][0])
    assert found["attention_area@90"][0] == 0.1
    assert found.reasons("recall@90").tolist() == ["empty annotation"]


def test_metrics_asked_for_by_name() -> None:
    found = score_maps(MAPS[0], MASKS[0], metrics=["iou@90", "auc_roc"])
    assert set(found) == {
        "annotation_area", "iou@90", "iou_chance@90", "iou_ceiling@90", "attention_area@90",
        "auc_roc", "auc_roc_chance",
    }  # fmt: skip
    plain = score_maps(MAPS[0], MASKS[0])
    assert all(np.array_equal(found[name], plain[name]) for name in found)


def test_metrics_beyond_the_one_pass() -> None:
    names = ["nss", "cc", "sim", "kl", "information_gain", "auc_judd", "shuffled_auc", "entropy"]
    boxes = [entry[:1] for entry in BOXES[:3]]
    found = score_maps(MAPS[0], MASKS[0], regions=boxes, metrics=[*names, "gini"])
    # In pixels of a 6 × 7 map the box covers rows 0 to 3 and columns 0 to 4.
    target = metrics.soft_target([(0, 0, 4 / 7, 0.5)], 6, 7)
    expected = {
        "nss": metrics.compute_nss(MAPS[0], MASKS[0]),
        "cc": metrics.compute_cc(MAPS[0], target),
        "sim_uniform": metrics.compute_sim(np.ones((3, 6, 7)), target),
        "entropy": metrics.compute_entropy(MAPS[0]),
        "nss_chance": np.zeros(3),
        "auc_judd_chance": np.full(3, 0.5),
    }
    others = MASKS[0].sum(axis=0) - MASKS[0].astype(float)
    expected["shuffled_auc"] = metrics.compute_shuffled_auc(MAPS[0], MASKS[0], others)
    for name, values in expected.items():
        assert np.allclose(found[name], values, rtol=0, atol=1e-12), name


@pytest.mark.filterwarnings("ignore:MSE rewards dark maps")
def test_soft_targets_are_of_boxes_in_whole_pixels() -> None:
    attention = np.random.default_rng(0).random((14, 14))
    mask = np.zeros((14, 14), bool)
    mask[4:6, 7:8] = True  # of 7.28 to 8.4 across and 4.2 to 5.74 down
    names = ["cc", "sim", "kl", "emd", "mse"]
    box = (0.52, 0.30, 0.60, 0.41)
    annotation = Annotation("a.jpg", regions=(Region("door", box=box),))
    target = metrics.soft_target([(7 / 14, 4 / 14, 8 / 14, 6 / 14)], 14, 14)
    assert np.allclose(annotation.soft_target(14, 14), target, rtol=0, atol=1e-12)
    assert not np.allclose(metrics.soft_target([box], 14, 14), target, rtol=0, atol=0.01)
    for regions in ([[box]], [[mask]], [annotation]):
        found = score_maps(attention, regions=regions, metrics=names)
        for name in names:
            expected = metrics.METRICS[name].function(attention, target)
            assert found[name] == pytest.approx(expected, abs=1e-12), name


def test_pointing_with_tolerance_and_other_top_k() -> None:
    names = ["pointing@tol1.5", "top_k_pointing@k3", "top_k_any@k3", "pointing"]
    found = score_maps(MAPS[0], MASKS[0], metrics=names)
    hit = metrics.pointing_game_hit(MAPS[0], MASKS[0], 1.5)
    assert np.array_equal(found["pointing@tol1.5"], hit)
    near = [
        metrics.pointing_game_hit(np.ones((6, 7)), mask, 1.5) for mask in MASKS[0]
    ]  # a constant map hits as often as there are pixels near
    assert np.allclose(found["pointing_chance@tol1.5"], near, rtol=0, atol=1e-12)
    three = metrics.top_k_pointing_accuracy(MAPS[0], MASKS[0], 3)
    assert np.allclose(found["top_k_pointing@k3"], three, rtol=0, atol=1e-12)
    any_of = metrics.top_k_pointing_hit(MAPS[0], MASKS[0], 3)
    assert np.allclose(found["top_k_any@k3"], any_of, rtol=0, atol=1e-12)


def test_matched_columns_follow_the_tie_rule_and_relevance_rank_does_not() -> None:
    attention, mask = np.array([[3.0, 1.0, 1.0, 1.0]]), np.array([[1, 1, 0, 0]])
    shared = score_maps(attention, mask, selection="matched")
    whole = score_maps(attention, mask, selection="matched", ties="include")
    assert shared["attention_area@matched"] == 0.5
    assert whole["attention_area@matched"] == 1.0
    assert shared["relevance_rank"] == whole["relevance_rank"] == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("attention", "mask", "column", "reason"),
    [
        (np.ones((4, 4)), np.zeros((4, 4)), "iou@90", "empty annotation"),
        (np.zeros((4, 4)), np.eye(4), "coverage", "map sums to zero"),
        (np.zeros((4, 4)), np.eye(4), "iou@mass60", "map sums to zero"),
        (np.eye(4), np.ones((4, 4)), "auc_roc", "annotation covers the image"),
        (np.eye(4), np.eye(4), "precision@100", "nothing selected"),
        (np.zeros((4, 4)), np.eye(4), "precision@100", "nothing selected"),
        (np.zeros((4, 4)), np.zeros((4, 4)), "iou_ceiling@90", "empty annotation"),
        (np.eye(4), np.eye(4), "iou_corrected@0", "everything selected"),
        (np.ones((1, 3)), np.array([[1, 0, 0]]), "top_k_pointing@k5", "fewer than k pixels"),
        (np.eye(4), np.eye(4), "coverage", ""),
    ],
)
def test_undefined_has_a_reason(attention: Any, mask: Any, column: str, reason: str) -> None:
    selection = ("percentile", "mass")
    found = score_maps(attention, mask, percentiles=[100, 90, 0], selection=selection)
    assert np.isnan(found[column]) == bool(reason)
    assert found.reasons(column) == reason


def test_a_reason_is_one_that_the_metric_declares() -> None:
    nothing = np.zeros((4, 4))
    names = ["gini", "shuffled_auc", "cc"]
    found = score_maps(nothing[None], regions=[[nothing > 0]], metrics=names)
    assert found.reasons("gini") == "map sums to zero"
    assert found.reasons("cc") == "target is constant"
    alone = score_maps(np.eye(4)[None], np.eye(4), metrics=["shuffled_auc"])
    assert alone.reasons("shuffled_auc") == "no other annotations"
    single = score_maps(np.ones((1, 1)), np.ones((1, 1)), metrics=["entropy"])
    assert single.reasons("entropy") == "single pixel"


def test_every_declared_reason_is_the_one_given() -> None:
    """NaN appears in a column exactly when its metric says so."""
    cases = {
        "empty annotation": (MAPS[0, 0], np.zeros((6, 7))),
        "annotation covers the image": (MAPS[0, 0], np.ones((6, 7))),
        "map sums to zero": (np.zeros((6, 7)), MASKS[0, 0]),
        "": (MAPS[0, 0], MASKS[0, 0]),
    }
    for reason, (attention, mask) in cases.items():
        found = score_maps(attention, mask)
        for spec in metrics.METRICS.values():
            if spec.one_pass:
                suffix = "@90" if spec.thresholded else "@k5" if "top_k" in spec.name else ""
                undefined = bool(np.isnan(found[spec.name + suffix]))
                assert undefined == (reason in spec.undefined), (spec.name, reason)


def test_frames(scores: sightline.Scores) -> None:
    frame = scores.to_frame()
    assert list(frame) == ["map", *scores]
    assert len(frame) == 6
    assert frame["iou@90"].to_list() == scores["iou@90"].ravel().tolist()
    assert scores.regions is not None
    regions = scores.regions.to_frame()
    assert list(regions)[:3] == ["map", "region", "label"]
    assert len(regions) == 12


def read(scores: Any, name: str) -> list[Any]:
    """Return a column as a table should hold it."""
    values: list[Any] = scores[name].ravel().tolist()
    return values


def equal(column: pa.ChunkedArray, expected: list[float]) -> bool:
    """Return whether a column has these numbers to the bit, NaN and all."""
    return bool(np.array_equal(column.to_numpy(), np.array(expected), equal_nan=True))


def test_tables_have_a_column_per_score(scores: sightline.Scores) -> None:
    layers = [0, 1, None, 0, 1, None]
    table = scores.to_table({"image": [f"i{k // 3}" for k in range(6)], "layer": layers, "seed": 3})
    assert table.column_names[:6] == [
        *("image", "layer", "seed", "annotated_fraction", "pixels", "undefined")
    ]
    assert table["layer"].to_pylist() == layers
    assert table["seed"].to_pylist() == [3] * 6
    stored = [name for name in scores if name.partition("@")[0] in metrics.METRICS]
    others = {"top_k_any_chance@k5", "best_iou_percentile"}
    assert set(table.column_names[6:]) == {*stored, *others}
    assert all(equal(table[name], read(scores, name)) for name in table.column_names[6:])
    assert all(table[name].type == pa.float64() for name in table.column_names[6:])
    areas = scores["annotation_area"].ravel().astype(np.float32)
    assert table["annotated_fraction"].to_numpy().tolist() == areas.tolist()
    assert set(table["pixels"].to_pylist()) == {42}


def test_tables_of_regions_have_a_row_per_map_and_region(scores: sightline.Scores) -> None:
    assert scores.regions is not None
    images = np.array([f"i{k}" for k in range(6)])[scores.regions.map]
    table = scores.regions.to_table({"image": images})
    assert table["image"].to_pylist() == [f"i{k}" for k in range(6) for _ in range(2)]
    assert table["region"].to_pylist() == [0, 1] * 6
    assert table["region"].type == pa.int32()
    stored = [name for name in scores.regions if name.partition("@")[0] in metrics.METRICS]
    assert table.column_names == [
        *("image", "region", "annotated_fraction", "pixels", "undefined"),
        *stored,
    ]
    assert all(equal(table[name], read(scores.regions, name)) for name in stored)


@pytest.mark.parametrize(
    ("ties", "thresholds"),
    [("share", {"mass60", "mean"}), ("include", {"90", "97.5", "mass60", "mean", "matched"})],
)
def test_the_selected_fraction_is_a_column_where_it_does_not_follow(
    ties: Any, thresholds: set[str]
) -> None:
    options: dict[str, Any] = {"percentiles": (90, 97.5), "ties": ties}
    selection = ("percentile", "mass", "mean", "matched")
    found = score_maps(MAPS, MASKS, regions=BOXES, selection=selection, **options)
    for figures in (found, found.regions):
        assert figures is not None
        table = figures.to_table()
        stored = [name for name in table.column_names if name.startswith("selected_fraction@")]
        assert {name.partition("@")[2] for name in stored} == thresholds
        for name in stored:
            token = name.partition("@")[2]
            assert equal(table[name], read(figures, f"attention_area@{token}"))
    # Everywhere else it is that of the percentile, or the annotated fraction.
    if ties == "share":
        assert np.allclose(found["attention_area@97.5"], 0.025, rtol=0, atol=1e-15)
        assert np.array_equal(found["attention_area@matched"], found["annotation_area"])


def test_tables_hold_what_chance_cannot_be_computed_from_areas() -> None:
    names = ["pointing@tol1.5", "pointing", "top_k_any@k3", "sim", "nss", "iou@90"]
    found = score_maps(MAPS[0], MASKS[0], regions=BOXES[:1], metrics=names)
    table = found.to_table()
    assert set(table.column_names[3:]) == {
        *("pointing@tol1.5", "pointing_chance@tol1.5", "pointing", "top_k_any@k3"),
        *("top_k_any_chance@k3", "sim", "sim_uniform", "nss", "iou@90"),
    }
    assert all(equal(table[name], read(found, name)) for name in table.column_names[3:])


def test_curves_are_lists_of_the_table() -> None:
    found = score_maps(MAPS, MASKS, curves=True)
    table = found.to_table()
    for kind in ("roc", "pr"):
        assert table[kind].type == pa.list_(pa.float32())
        assert np.array_equal(table[kind].to_pylist(), found.curves[kind].reshape(6, 101))


def test_conditions_and_reasons_are_those_of_the_columns() -> None:
    """What a row says of its conditions gives the reason that `reasons` gives."""
    maps = np.stack([np.zeros((4, 4)), RNG.random((4, 4)), RNG.random((4, 4)), RNG.random((4, 4))])
    masks = np.zeros((4, 4, 4), bool)
    masks[0, 0, 0] = masks[2] = masks[3, :2] = True
    ignore = np.zeros((4, 4, 4), bool)
    ignore[3] = True
    found = sightline.score_maps(maps, masks, ignore=ignore, selection=["percentile", "mass60"])
    table = found.to_table()
    assert table["undefined"].to_pylist() == [0b1000, 0b100, 0b10000, 0b11101]
    assert table["pixels"].to_pylist() == [16, 16, 16, 0]
    pairs = list(zip(table["undefined"].to_pylist(), table["pixels"].to_pylist(), strict=True))
    for name in table.column_names[3:]:
        if name.partition("@")[0] not in metrics.METRICS:
            continue
        missing = np.isnan(table[name].to_numpy())
        told = [
            metrics.explain_undefined(name, *pair) if gone else ""
            for pair, gone in zip(pairs, missing, strict=True)
        ]
        assert told == found.reasons(name).tolist(), name


def test_a_map_that_is_not_finite_has_its_condition() -> None:
    maps = np.full((1, 4, 4), np.nan)
    found = sightline.score_maps(maps, np.eye(4, dtype=bool)[None], nonfinite="drop")
    (conditions,) = found.to_table()["undefined"].to_pylist()
    assert conditions & 0b10
    assert metrics.explain_undefined("iou@90", conditions, 16) == "map is not finite"


@pytest.mark.parametrize(
    "layers",
    [
        [0, None, 2, 3, 4, 5],
        np.ma.masked_array(np.arange(6), np.arange(6) == 1),
        np.ma.masked_array(np.arange(6).reshape(2, 3), np.arange(6).reshape(2, 3) == 1),
        pa.array([0, None, 2, 3, 4, 5], pa.int64()),
        pa.chunked_array([[0, None], [2, 3, 4, 5]]),
        pd.Series([0, None, 2, 3, 4, 5], dtype="Int64"),
    ],
)
def test_missing_numbers_are_null(scores: sightline.Scores, layers: Any) -> None:
    assert scores.to_table({"layer": layers})["layer"].to_pylist() == [0, None, 2, 3, 4, 5]


@pytest.mark.parametrize(
    "images",
    [
        ["b", "a", "", "b", "a", "b"],
        np.array(["b", "a", "", "b", "a", "b"]),
        pa.array(["b", "a", "", "b", "a", "b"]).dictionary_encode(),
    ],
)
def test_texts_are_dictionaries(scores: sightline.Scores, images: Any) -> None:
    column = scores.to_table({"image": images, "model": "m"})["image"]
    assert column.to_pylist() == ["b", "a", "", "b", "a", "b"]
    assert pa.types.is_dictionary(column.type)
    assert len(column.chunk(0).dictionary) == 3


def test_keys_need_one_value_or_one_per_row(scores: sightline.Scores) -> None:
    with pytest.raises(InputError, match=r"image must have one value, or one per row \(6\); got 2"):
        scores.to_table({"image": ["a", "b"]})
    assert scores.regions is not None
    with pytest.raises(
        InputError, match=r"image must have one value, or one per row \(12\); got 6"
    ):
        scores.regions.to_table({"image": list("abcdef")})
    with pytest.raises(InputError, match=r"keys must not be named like a column .*'coverage'"):
        scores.to_table({"coverage": 1.0})
    with pytest.raises(InputError, match="layer must hold values of one type: "):
        scores.to_table({"layer": [1, "a", 2, 3, 4, 5]})


def test_tables_of_one_map_and_of_no_regions() -> None:
    found = score_maps(MAPS[0, 0], regions=[[]], metrics=["coverage"])
    table = found.to_table({"image": "a"})
    assert table.num_rows == 1
    assert np.isnan(table["coverage"].to_pylist()[0])
    assert found.regions is not None
    assert found.regions.to_table({"image": "a"}).num_rows == 0


def test_tables_of_several_batches_join(scores: sightline.Scores) -> None:
    tables = [scores.to_table({"image": [f"{run}-{i}" for i in range(6)]}) for run in "ab"]
    joined = pa.concat_tables(tables).unify_dictionaries()
    assert joined.num_rows == 2 * tables[0].num_rows
    assert joined["image"].to_pylist()[0] == "a-0"
    assert joined["image"].to_pylist()[-1] == "b-5"


def test_repr_tells_what_it_is(scores: sightline.Scores) -> None:
    assert repr(scores).startswith("<Scores (2, 3): annotation_area, coverage")
    assert "iou@90" in scores
    assert "iou@91" not in scores
    assert len(scores) == len(list(scores))
