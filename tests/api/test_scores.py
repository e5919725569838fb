"""Scores of one image over HTTP: the stored rows, any percentile, any region, and words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from sightline.api.binary import decode_map
from sightline.metrics import METRICS, score_maps
from sightline.results import open_results
from tests.api.asking import rows_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pandas as pd
    from fastapi.testclient import TestClient

    from sightline.api.state import Served

ONE: dict[str, Any] = {"model": "demo/vit-dino@lora", "method": "cls", "layer": 2}


@pytest.fixture(scope="module")
def image(served: Served) -> str:
    """An image with several regions."""
    return max(served.images.values(), key=lambda one: one.regions).image


@pytest.fixture(scope="module")
def first(served: Served, image: str) -> int:
    """Its first region that is scored."""
    return next(one.region for one in served.regions[image] if not one.dropped)


@pytest.fixture(scope="module")
def rows(api_store: Path, image: str) -> pd.DataFrame:
    """All stored scores of it."""
    with open_results(api_store) as results:
        return results.image(image)


def get(client: TestClient, path: str, **words: Any) -> Any:
    answer = client.get(path, params=words)
    assert answer.status_code == 200, answer.text
    return answer.json()


def stored(rows: pd.DataFrame, words: Mapping[str, Any], region: int | None) -> dict[str, Any]:
    """Return the stored scores of one map, each with chance and ceiling."""
    own = rows_of(rows, words)
    own = own[own["region"].isna() if region is None else own["region"] == region]
    return {row["name"]: row for row in own.to_dict("records")}


def same(one: float | None, other: float) -> bool:
    return np.array_equal(np.nan if one is None else one, other, equal_nan=True)


@pytest.mark.parametrize(
    "words",
    [
        ONE,
        ONE | {"head": 0},
        {"model": "demo/cnn", "method": "saliency"},
        {"model": "demo/vit-dino", "method": "random", "seed": 1},
    ],
)
def test_scores_are_the_stored_ones(
    client: TestClient, image: str, rows: pd.DataFrame, words: dict[str, Any]
) -> None:
    regions = client.get(f"/api/maps/{image}/header", params=words).json()["regions"]
    for region in (None, *regions[:3]):
        path = f"/api/metrics/{image}" + ("" if region is None else f"/bbox/{region}")
        for rule, token in (({"percentile": 80}, "80"), ({"selection": "mass60"}, "mass60")):
            found = get(client, path, **words, **rule)
            own = stored(rows, words, region)
            names = {name for name in own if name.partition("@")[2] in ("", token)}
            figures = {one["metric"]: one for one in found["figures"]}
            assert names <= set(figures)
            for name in names:
                assert same(figures[name]["value"], own[name]["value"]), (region, name)
                for beside in ("chance", "ceiling"):
                    given = figures[name][beside]
                    if not np.isnan(own[name][beside]):
                        assert given == pytest.approx(own[name][beside], abs=1e-6)
            assert same(found["iou"], own[f"iou@{token}"]["value"])
            assert same(found["recall"], own[f"recall@{token}"]["value"])
            assert same(found["coverage"], own["coverage"]["value"])
            assert (found["region"], found["image"]) == (region, image)


def test_any_percentile_works_and_equals_the_engine(client: TestClient, image: str) -> None:
    header, values, masks, ignore = decode_map(client.get(f"/api/maps/{image}", params=ONE).content)
    for percentile in (0.5, 12.345678, 87.5, 99.99):
        for region, mask in ((None, np.logical_or.reduce(list(masks.values()))), *masks.items()):
            scores = score_maps(values, mask, ignore=ignore, percentiles=[percentile])
            path = f"/api/metrics/{image}" + ("" if region is None else f"/bbox/{region}")
            found = get(client, path, **ONE, percentile=percentile)
            token = f"{percentile:g}"
            for field, column in (
                ("iou", f"iou@{token}"),
                ("chance", f"iou_chance@{token}"),
                ("ceiling", f"iou_ceiling@{token}"),
                ("corrected", f"iou_corrected@{token}"),
                ("precision", f"precision@{token}"),
                ("lift", f"lift@{token}"),
                ("attention_area", f"attention_area@{token}"),
                ("annotation_area", "annotation_area"),
                ("pointing", "pointing"),
            ):
                assert same(found[field], float(scores[column])), (percentile, field)
    assert header.choice.percentile == 90


@pytest.mark.parametrize("percentile", [1e-300, 12.345678, 99.9999999])
def test_a_percentile_is_not_rounded(client: TestClient, image: str, percentile: float) -> None:
    words = ONE | {"percentile": percentile}
    found = get(client, f"/api/metrics/{image}", **words)
    assert found["choice"]["percentile"] == percentile
    assert found["attention_area"] == pytest.approx((100 - percentile) / 100, rel=1e-12)
    layers = get(client, f"/api/metrics/{image}/layers", **words)
    at_layer = {point["x"]: point["value"] for point in layers["points"]}
    assert at_layer[2] == found["iou"]
    models = get(client, f"/api/metrics/{image}/models", **words)
    assert [line["value"] for line in models["lines"]] == [found["iou"]]
    curve = get(client, f"/api/metrics/{image}/percentiles", **words)
    by_percentile = {point["x"]: point["value"] for point in curve["points"]}
    assert by_percentile[percentile] == found["iou"]


def test_ties_can_be_included(client: TestClient, image: str) -> None:
    words = ONE | {"percentile": 50, "ties": "include"}
    _, values, *_ = decode_map(client.get(f"/api/maps/{image}", params=ONE).content)
    found = get(client, f"/api/metrics/{image}", **words)
    assert found["attention_area"] == np.mean(values >= np.quantile(values.astype(float), 0.5))
    figures = {one["metric"]: one for one in found["figures"]}
    assert figures["iou@50"]["mean"] is None  # stored by the other rule
    assert figures["coverage"]["mean"] is not None


def test_the_mean_of_the_data_set_stands_beside(
    client: TestClient, api_store: Path, image: str
) -> None:
    found = get(client, f"/api/metrics/{image}", **ONE)
    figures = {one["metric"]: one for one in found["figures"]}
    with open_results(api_store) as results:
        for name in ("iou@90", "coverage", "pointing", "average_precision"):
            board = results.leaderboard(name, model=ONE["model"], method="cls", layer=2)
            (line,) = board.to_dict("records")
            for ours, theirs in (("mean", "value"), ("low", "low"), ("high", "high"), ("n", "n")):
                assert figures[name][ours] == line[theirs]
        table = results.images("iou@90", model=ONE["model"], method="cls", layer=2)
    below = table["value"] < found["iou"] - 1e-12
    assert found["rank"] == below.sum() / table["value"].notna().sum()
    assert figures["dice@90"]["mean"] is None  # not stored
    free = get(client, f"/api/metrics/{image}", **ONE, percentile=90.5)
    assert free["rank"] is None
    assert "did not store this rule (90.5)" in free["note"]
    assert {one["metric"]: one["mean"] for one in free["figures"]}["iou@90.5"] is None


def test_the_mean_of_a_region_is_over_its_label(
    client: TestClient, api_store: Path, image: str, first: int
) -> None:
    found = get(client, f"/api/metrics/{image}/bbox/{first}", **ONE)
    figures = {one["metric"]: one for one in found["figures"]}
    with open_results(api_store) as results:
        frame = results.feature_breakdown(model=str(ONE["model"]), method="cls", layer=2)
    line = frame.set_index("label").loc[found["label"]]
    assert figures["iou@90"]["mean"] == pytest.approx(line["iou"], abs=0)
    low = None if line["recall_low"] != line["recall_low"] else line["recall_low"]  # few images
    assert figures["recall@90"]["low"] == low
    assert figures["coverage"]["n"] == line["n"]
    assert f"regions labelled {found['label']}" in found["note"]
    assert {one for one in figures if METRICS[one.partition("@")[0]].level != "region"} == set()


def test_beyond_is_0_at_chance_and_1_at_the_ceiling(client: TestClient, image: str) -> None:
    found = get(client, f"/api/metrics/{image}", **ONE)
    for one in found["figures"]:
        if one["beyond"] is not None:
            room = one["ceiling"] - one["chance"]
            assert one["beyond"] == pytest.approx((one["value"] - one["chance"]) / room)
    figures = {one["metric"]: one for one in found["figures"]}
    assert figures["best_iou"]["chance"] is None
    assert found["corrected"] == pytest.approx(figures["iou@90"]["beyond"])


def test_disagreeing_metrics_are_told_in_words(client: TestClient, served: Served) -> None:
    told = []
    for image in served.images:
        for layer in (0, 2, 11):
            found = get(client, f"/api/metrics/{image}", **ONE | {"layer": layer})
            if found["divergence"]:
                told.append(found)
    assert 0 < len(told) < 3 * len(served.images)
    for found in told:
        assert "cannot be told apart from" in found["divergence"]
        assert found["pointing"] >= 0.5
        assert found["coverage"] >= 2 * found["annotation_area"]
        assert found["iou"] <= 0.5 * found["ceiling"]


# --- curves and lists ----------------------------------------------------------------------------


@pytest.mark.parametrize("whole", [True, False])
def test_layers_are_scored_one_by_one(
    client: TestClient, image: str, rows: pd.DataFrame, first: int, whole: bool
) -> None:
    region = None if whole else first
    words: dict[str, Any] = ONE | ({} if region is None else {"region": region})
    found = get(client, f"/api/metrics/{image}/layers", **words)
    assert [point["x"] for point in found["points"]] == [0, 2, 11]
    assert (found["metric"], found["region"]) == ("iou@90", region)
    for point in found["points"]:
        own = stored(rows, ONE | {"layer": point["x"]}, region)["iou@90"]
        assert same(point["value"], own["value"])
        assert point["chance"] == pytest.approx(own["chance"], abs=1e-6)
        assert point["ceiling"] == pytest.approx(own["ceiling"], abs=1e-6)
    head = get(client, f"/api/metrics/{image}/layers", **words, head=1, metric="coverage")
    for point in head["points"]:
        own = stored(rows, ONE | {"layer": point["x"], "head": 1}, region)["coverage"]
        assert same(point["value"], own["value"])
    without = get(client, f"/api/metrics/{image}/layers", model="demo/cnn", method="saliency")
    assert without["points"] == []
    assert "saliency has no layers" in without["note"]


@pytest.mark.parametrize("whole", [True, False])
def test_the_curve_over_percentiles_holds_stored_points(
    client: TestClient, image: str, rows: pd.DataFrame, first: int, whole: bool
) -> None:
    region = None if whole else first
    words: dict[str, Any] = ONE | ({} if region is None else {"region": region})
    found = get(client, f"/api/metrics/{image}/percentiles", **words, percentile=62.5)
    xs = [point["x"] for point in found["points"]]
    assert xs == sorted({*range(1, 100), 62.5})
    points = {point["x"]: point for point in found["points"]}
    own = stored(rows, ONE, region)
    for percentile in (95, 90, 50):
        assert same(points[percentile]["value"], own[f"iou@{percentile}"]["value"])
    values = [point["value"] for point in found["points"]]
    assert found["best"]["value"] == max(values)
    recall = get(client, f"/api/metrics/{image}/percentiles", **words, metric="recall")
    assert np.all(np.diff([point["value"] for point in recall["points"]]) <= 1e-12)
    include = get(client, f"/api/metrics/{image}/percentiles", **words, ties="include")
    assert [point["x"] for point in include["points"]] == list(range(1, 100))


def test_all_models_are_lined_up_on_one_image(
    client: TestClient, image: str, rows: pd.DataFrame, api_store: Path, first: int
) -> None:
    found = get(client, f"/api/metrics/{image}/models")
    with open_results(api_store) as results:
        board = results.leaderboard("iou@90")
    wanted = {
        (line["model"], line["method"], line["target"]): line["layer"]
        for line in board.to_dict("records")
    }
    assert len(found["lines"]) == len(wanted)
    for line in found["lines"]:
        choice = line["choice"]
        layer = wanted[choice["model"], choice["method"], choice["target"]]
        assert choice["layer"] == (None if layer != layer or layer is None else layer)
        own = stored(rows, {k: v for k, v in choice.items() if v is not None}, None)["iou@90"]
        assert same(line["value"], own["value"])
    ranks = [line["rank"] for line in found["lines"]]
    assert ranks == sorted(ranks)
    values = [line["value"] for line in found["lines"]]
    assert values == sorted(values, reverse=True)
    assert {line["group"] for line in found["lines"]} >= {"baseline", "attention"}
    some = get(client, f"/api/metrics/{image}/models", method="cls", region=first, percentile=71)
    assert {line["choice"]["method"] for line in some["lines"]} == {"cls"}
    assert (some["metric"], some["region"]) == ("iou@71", first)


def test_heads_of_one_image_come_best_first(
    client: TestClient, image: str, rows: pd.DataFrame
) -> None:
    found = get(client, f"/api/metrics/{image}/heads", **ONE)
    pairs = [(line["layer"], line["head"]) for line in found["lines"]]
    assert len(set(pairs)) == len(pairs)
    assert {layer for layer, _ in pairs} == {0, 2, 11}
    for line in found["lines"]:
        own = stored(rows, ONE | {"layer": line["layer"], "head": line["head"]}, None)["iou@90"]
        assert same(line["value"], own["value"])
    values = [line["value"] for line in found["lines"]]
    assert values == sorted(values, reverse=True)
    one = get(client, f"/api/metrics/{image}/heads", **ONE, every_layer=False)
    assert {line["layer"] for line in one["lines"]} == {2}
    none = get(client, f"/api/metrics/{image}/heads", model="demo/cnn", method="gradcam")
    assert none["lines"] == []
    assert "kept no single heads" in none["note"]


@pytest.mark.parametrize(
    ("path", "words", "status", "field"),
    [
        ("nothing.png", {}, 404, "image_id"),
        ("nothing.png/bbox/0", {}, 404, "image_id"),
        ("{image}/bbox/99", {}, 404, "bbox_index"),
        ("{image}/bbox/-1", {}, 404, "bbox_index"),
        ("{image}/bbox/first", {}, 422, "bbox_index"),
        ("{image}", {"percentile": 0}, 422, "percentile"),
        ("{image}", {"percentile": "nan"}, 422, "percentile"),
        ("{image}", {"selection": "mass0"}, 422, "selection"),
        ("{image}", {"selection": "k5"}, 422, "selection"),
        ("{image}/layers", {"region": 99}, 404, "region"),
        ("{image}/layers", {"metric": "iuo"}, 422, "metric"),
        ("{image}/layers", {"metric": "corloc"}, 422, "metric"),
        ("{image}/layers", {"metric": "iou@100"}, 422, "metric"),
        ("{image}/layers", {"metric": "auc_roc", "region": "first"}, 422, "metric"),
        ("{image}/percentiles", {"metric": "coverage"}, 422, "metric"),
        ("{image}/heads", {"metric": "coverage@90"}, 422, "metric"),
        ("{image}/models", {"layer": 99}, 422, "layer"),
    ],
)
def test_what_does_not_fit_is_named(
    client: TestClient, image: str, first: int, path: str, words: dict[str, Any], status: int,
    field: str,
) -> None:  # fmt: skip
    given = {name: first if value == "first" else value for name, value in words.items()}
    answer = client.get(f"/api/metrics/{path.format(image=image)}", params=given)
    assert (answer.status_code, answer.json()["field"]) == (status, field), answer.text
