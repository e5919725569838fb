"""`Scores` as a mapping, a table and rows; and what `score_maps` lets one ask for."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sightline
from sightline import metrics
from sightline.records import ROW_SCHEMA, Annotation, InputError, Region

RNG = np.random.default_rng(0)
MAPS = RNG.random((2, 3, 6, 7))
MASKS = RNG.random((2, 3, 6, 7)) < 0.3
BOXES = [np.array([[0.0, 0.0, 0.5, 0.5], [0.3, 0.3, 0.9, 1.0]]) for _ in range(6)]


@pytest.fixture(scope="module")
def scores() -> sightline.Scores:
    return sightline.score_maps(MAPS, MASKS, regions=BOXES)


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
    assert set(scores) == free | {"best_iou"} | at
    assert scores.regions is not None
    regional = {"annotation_area", "coverage", "coverage_chance", "pointing", "pointing_chance"}
    assert set(scores.regions) == regional | at


def test_scores_are_read_only(scores: sightline.Scores) -> None:
    with pytest.raises(ValueError, match="read-only"):
        scores["coverage"][0, 0] = 1
    with pytest.raises(TypeError):
        scores["coverage"] = 1  # type: ignore[index]


def test_scores_can_be_pickled_and_copied() -> None:
    scores = sightline.score_maps(MAPS, MASKS, metrics=["iou", "nss"])
    for other in (pickle.loads(pickle.dumps(scores)), copy.deepcopy(scores)):  # noqa: S301
        assert list(other) == list(scores)
        assert np.array_equal(other["iou@90"], scores["iou@90"])
        assert np.array_equal(other["nss"], scores["nss"])


def test_compute_all_metrics_is_the_engine_on_one_map(scores: sightline.Scores) -> None:
    found = metrics.compute_all_metrics(MAPS[1, 2], MASKS[1, 2])
    assert list(found) == list(scores)
    assert all(type(value) is float for value in found.values())
    assert found == {name: float(scores[name][1, 2]) for name in scores}


def test_the_mask_may_be_left_to_the_regions() -> None:
    union = np.zeros((6, 7), bool)
    union[:3, :4] = True
    union[2:, 2:6] = True
    one = sightline.score_maps(MAPS, regions=BOXES)
    two = sightline.score_maps(MAPS, union)
    assert all(np.array_equal(one[name], two[name], equal_nan=True) for name in two)


def test_regions_given_once_serve_every_map(scores: sightline.Scores) -> None:
    shared = sightline.score_maps(MAPS, MASKS, regions=BOXES[:1])
    assert shared.regions is not None
    assert scores.regions is not None
    for name in scores.regions:
        assert np.array_equal(shared.regions[name], scores.regions[name], equal_nan=True)


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
    found = sightline.score_maps(MAPS[0], regions=[annotation] * 3).regions
    boxes = sightline.score_maps(MAPS[0], regions=BOXES[:3]).regions
    assert found is not None
    assert boxes is not None
    assert found.label.tolist() == ["tower", "door"] * 3
    assert found.region.tolist() == [0, 2] * 3
    assert all(np.array_equal(found[name], boxes[name]) for name in boxes)


def test_maps_without_regions_and_empty_regions() -> None:
    nothing = np.zeros((6, 7), bool)
    found = sightline.score_maps(MAPS[0], MASKS[0], regions=[[], [nothing], []]).regions
    assert found is not None
    assert found.map.tolist() == [1]
    assert math.isnan(found["recall@90"][0])
    assert found["attention_area@90"][0] == 0.1
    assert found.reasons("recall@90").tolist() == ["empty annotation"]


def test_metrics_asked_for_by_name() -> None:
    found = sightline.score_maps(MAPS[0], MASKS[0], metrics=["iou@90", "auc_roc"])
    assert set(found) == {
        "annotation_area", "iou@90", "iou_chance@90", "iou_ceiling@90", "attention_area@90",
        "auc_roc", "auc_roc_chance",
    }  # fmt: skip
    plain = sightline.score_maps(MAPS[0], MASKS[0])
    assert all(np.array_equal(found[name], plain[name]) for name in found)


def test_metrics_beyond_the_one_pass() -> None:
    names = ["nss", "cc", "sim", "kl", "information_gain", "auc_judd", "shuffled_auc", "entropy"]
    boxes = [entry[:1] for entry in BOXES[:3]]
    found = sightline.score_maps(MAPS[0], MASKS[0], regions=boxes, metrics=[*names, "gini"])
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


def test_pointing_with_tolerance_and_other_top_k() -> None:
    names = ["pointing@tol1.5", "top_k_pointing@k3", "top_k_any@k3", "pointing"]
    found = sightline.score_maps(MAPS[0], MASKS[0], metrics=names)
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
    shared = sightline.score_maps(attention, mask, selection="matched")
    whole = sightline.score_maps(attention, mask, selection="matched", ties="include")
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
        (np.eye(4), np.eye(4), "iou_corrected@0", "everything selected"),
        (np.ones((1, 3)), np.array([[1, 0, 0]]), "top_k_pointing@k5", "fewer than k pixels"),
        (np.eye(4), np.eye(4), "coverage", ""),
    ],
)
def test_undefined_has_a_reason(attention: Any, mask: Any, column: str, reason: str) -> None:
    selection = ("percentile", "mass")
    found = sightline.score_maps(attention, mask, percentiles=[100, 90, 0], selection=selection)
    assert np.isnan(found[column]) == bool(reason)
    assert found.reasons(column) == reason


def test_every_declared_reason_is_the_one_given() -> None:
    """NaN appears in a column exactly when its metric says so."""
    cases = {
        "empty annotation": (MAPS[0, 0], np.zeros((6, 7))),
        "annotation covers the image": (MAPS[0, 0], np.ones((6, 7))),
        "map sums to zero": (np.zeros((6, 7)), MASKS[0, 0]),
        "": (MAPS[0, 0], MASKS[0, 0]),
    }
    for reason, (attention, mask) in cases.items():
        found = sightline.score_maps(attention, mask)
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


def test_rows_follow_the_schema(scores: sightline.Scores) -> None:
    names = [f"image-{i}" for i in range(6)]
    rows = scores.to_rows({"image": names, "model": "vit", "layer": range(6), "seed": 3})
    assert rows.schema.equals(ROW_SCHEMA)
    data = rows.to_pandas()
    whole, parts = data[data["region"].isna()], data[data["region"].notna()]
    scored = [n for n in scores if n.partition("@")[0] in {*metrics.METRICS, "attention_area"}]
    assert len(whole) == 6 * len(scored)
    assert scores.regions is not None
    regional = [
        n for n in scores.regions if n.partition("@")[0] in {*metrics.METRICS, "attention_area"}
    ]
    assert len(parts) == 12 * len(regional)
    assert not data.duplicated(["image", "region", "metric", "threshold"]).any()
    one = whole[(whole["metric"] == "iou") & (whole["threshold"] == "90")]
    assert one["value"].to_list() == scores["iou@90"].ravel().tolist()
    assert one["image"].to_list() == names
    assert one["layer"].to_list() == list(range(6))
    assert np.allclose(one["area"], scores["annotation_area"].ravel())
    assert set(data["model"]) == {"vit"}
    assert set(data["seed"]) == {3}
    assert data["head"].isna().all()
    assert set(data["visible"]) == {1.0}
    free = whole[whole["metric"] == "coverage"]
    assert set(free["threshold"]) == {""}
    box = parts[(parts["metric"] == "recall") & (parts["threshold"] == "50")]
    assert box["value"].to_list() == scores.regions["recall@50"].tolist()
    assert box["region"].to_list() == [0, 1] * 6
    assert box["image"].to_list() == [name for name in names for _ in range(2)]
    assert np.allclose(box["area"], scores.regions["annotation_area"])


def test_rows_need_known_keys_of_the_right_length(scores: sightline.Scores) -> None:
    with pytest.raises(InputError, match=r"not a key column: \['picture'\]"):
        scores.to_rows({"picture": "a"})
    with pytest.raises(InputError, match="one value per map; got 2"):
        scores.to_rows({"image": ["a", "b"]})


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
