"""`Scores` as a mapping, a table and rows; and what `score_maps` lets one ask for."""

from __future__ import annotations

import copy
import math
import pickle
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sightline
from sightline import metrics
from sightline.core import ROW_SCHEMA, Annotation, InputError, Region

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


def plain_rows(scores: sightline.Scores, keep: Any, keys: Any, visible: Any) -> list[Any]:
    """Write the rows in loops; `keys` gives image and layer of a map, `visible` of a region."""
    assert scores.regions is not None
    parts: list[Any] = [(scores, range(6), [None] * 6, [1.0] * 6)]
    parts.append((scores.regions, scores.regions.map, scores.regions.region, visible))
    rows = []
    for columns, owner, numbers, seen in parts:
        names = [name for name in columns if keep(*name.partition("@")[::2])]
        order = list(dict.fromkeys(name.partition("@")[0] for name in names))
        for name in sorted(names, key=lambda name: order.index(name.partition("@")[0])):
            metric, _, threshold = name.partition("@")
            for line, value in enumerate(columns[name].ravel().tolist()):
                area = np.float32(columns["annotation_area"].ravel()[line])
                key = (*keys(owner[line]), numbers[line], metric, threshold)
                rows.append((*key, value, area, np.float32(seen[line])))
    return rows


def test_rows_equal_those_of_a_loop(scores: sightline.Scores) -> None:
    visible = np.linspace(0.5, 1.0, 12)
    layers = [0, 1, None, 0, 1, None]
    keys = {"image": [f"image-{i // 3}" for i in range(6)], "layer": layers, "model": "vit"}
    rows = scores.to_rows({**keys, "seed": 3}, regions={"visible": visible})
    assert rows.schema.equals(ROW_SCHEMA)
    columns = ["image", "layer", "region", "metric", "threshold", "value", "area", "visible"]
    found = list(zip(*(rows[name].to_pylist() for name in columns), strict=True))

    def key(index: int) -> tuple[str, int | None]:
        return f"image-{index // 3}", layers[index]

    def keep(metric: str, _: str) -> bool:
        return metric in metrics.METRICS or metric in ("top_k_any_chance", "best_iou_percentile")

    assert found == plain_rows(scores, keep, key, visible)
    assert set(rows["model"].to_pylist()) == {"vit"}
    assert set(rows["seed"].to_pylist()) == {3}
    assert rows["head"].null_count == rows.num_rows
    for name in ("study", "rules", "variant", "method", "target", "check"):
        assert rows[name].to_pylist() == [""] * rows.num_rows


@pytest.mark.parametrize(
    ("ties", "areas"),
    [("share", {"mass60", "mean"}), ("include", {"90", "97.5", "mass60", "mean", "matched"})],
)
def test_rows_tell_the_selected_share_where_it_does_not_follow(ties: Any, areas: set[str]) -> None:
    options: dict[str, Any] = {"percentiles": (90, 97.5), "ties": ties}
    selection = ("percentile", "mass", "mean", "matched")
    found = score_maps(MAPS, MASKS, regions=BOXES, selection=selection, **options)
    frame = found.to_rows({"image": [str(i) for i in range(6)]}).to_pandas()
    stored = frame[frame["metric"] == "attention_area"]
    assert set(stored["threshold"]) == areas
    keys = ["image", "region", "threshold"]
    for figures, selected in (
        (found, stored["region"].isna()),
        (found.regions, stored["region"].notna()),
    ):
        assert figures is not None
        expected = [figures[f"attention_area@{at}"].ravel() for at in stored["threshold"].unique()]
        assert stored[selected]["value"].tolist() == np.concatenate(expected).tolist()
    assert not stored.duplicated(keys).any()
    # Everywhere else it is that of the percentile, or the annotated share.
    if ties == "share":
        assert np.allclose(found["attention_area@97.5"], 0.025, rtol=0, atol=1e-15)
        assert np.array_equal(found["attention_area@matched"], found["annotation_area"])


def test_rows_hold_what_chance_cannot_be_computed_from_areas() -> None:
    names = ["pointing@tol1.5", "pointing", "top_k_any@k3", "sim", "nss", "iou@90"]
    found = score_maps(MAPS[0], MASKS[0], regions=BOXES[:1], metrics=names)
    rows = found.to_rows()
    whole = rows.filter(rows["region"].is_null())
    kinds = list(zip(whole["metric"].to_pylist(), whole["threshold"].to_pylist(), strict=True))
    seen = list(dict.fromkeys(kinds))
    assert set(seen) == {
        ("pointing", "tol1.5"), ("pointing_chance", "tol1.5"), ("pointing", ""),
        ("top_k_any", "k3"), ("top_k_any_chance", "k3"), ("sim", ""), ("sim_uniform", ""),
        ("nss", ""), ("iou", "90"),
    }  # fmt: skip
    metric = [kind for kind, _ in kinds]
    assert len(list(groupby(metric))) == len(set(metric)), "a metric's rows stand together"
    for kind, at in seen:
        name = f"{kind}@{at}" if at else kind
        here = [pair == (kind, at) for pair in kinds]
        assert whole["value"].to_numpy()[here].tolist() == found[name].tolist()


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
    rows = scores.to_rows({"layer": layers})
    assert rows["layer"].to_pylist()[:6] == [0, None, 2, 3, 4, 5]
    assert rows["layer"].type == pa.int16()


@pytest.mark.parametrize(
    "images",
    [
        ["b", "a", "", "b", "a", "b"],
        ["b", "a", None, "b", "a", "b"],
        np.array(["b", "a", "", "b", "a", "b"]),
        pa.array(["b", "a", None, "b", "a", "b"]).dictionary_encode(),
        pa.array(["b", "a", "", "b", "a", "b"], pa.large_string()),
    ],
)
def test_texts_are_codes_and_never_null(scores: sightline.Scores, images: Any) -> None:
    column = scores.to_rows({"image": images}, regions={"check": ["x", "y"] * 6})
    assert column["image"].to_pylist()[:6] == ["b", "a", "", "b", "a", "b"]
    assert column["image"].null_count == 0
    assert len(column["image"].chunk(0).dictionary) == 3
    assert column["check"].to_pylist()[:6] == [""] * 6
    assert column["check"].to_pylist()[-4:] == ["x", "y", "x", "y"]


def test_one_value_serves_all_regions(scores: sightline.Scores) -> None:
    rows = scores.to_rows({"visible": np.full(6, 0.25)}, regions={"visible": 0.5})
    whole = np.array(rows["region"].is_null())
    assert set(rows["visible"].to_numpy()[whole]) == {0.25}
    assert set(rows["visible"].to_numpy()[~whole]) == {0.5}


def test_rows_need_known_keys_of_the_right_length(scores: sightline.Scores) -> None:
    with pytest.raises(InputError, match=r"not a key column: \['picture'\]; known: study, rules"):
        scores.to_rows({"picture": "a"})
    with pytest.raises(InputError, match=r"not a key column: \['region', 'value'\]"):
        scores.to_rows({"value": 1}, {"region": range(12)})
    with pytest.raises(InputError, match=r"image must .* one value per map \(6\); got 2"):
        scores.to_rows({"image": ["a", "b"]})
    with pytest.raises(InputError, match=r"visible must .* one value per region \(12\); got 6"):
        scores.to_rows(regions={"visible": np.ones(6)})
    with pytest.raises(InputError, match="layer must hold values of type int16: "):
        scores.to_rows({"layer": [70_000] * 6})
    with pytest.raises(InputError, match="layer must hold values of type int16: "):
        scores.to_rows({"layer": "last"})
    without = score_maps(MAPS, MASKS)
    with pytest.raises(InputError, match="got visible of regions, but no regions were scored"):
        without.to_rows(regions={"visible": 1.0})


def test_rows_of_one_map_and_of_no_regions() -> None:
    found = score_maps(MAPS[0, 0], regions=[[]], metrics=["coverage"])
    rows = found.to_rows({"image": "a"}, regions={"visible": []})
    assert rows.num_rows == 1
    assert np.isnan(rows["value"].to_pylist()[0])


def test_rows_of_several_batches_join(scores: sightline.Scores) -> None:
    tables = [scores.to_rows({"image": [f"{run}-{i}" for i in range(6)]}) for run in "ab"]
    joined = pa.concat_tables(tables).unify_dictionaries()
    assert joined.num_rows == 2 * tables[0].num_rows
    assert joined["image"].to_pylist()[0] == "a-0"
    assert joined["image"].to_pylist()[-1] == "b-5"


def test_repr_tells_what_it_is(scores: sightline.Scores) -> None:
    assert repr(scores).startswith("<Scores (2, 3): annotation_area, coverage")
    assert "iou@90" in scores
    assert "iou@91" not in scores
    assert len(scores) == len(list(scores))
