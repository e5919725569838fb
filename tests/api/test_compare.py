"""Comparisons say what the results say, and maps of what moved are differences of maps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from sightline.api.routes._single import on_demand
from sightline.core import InputError
from sightline.results.map_shifts import map_shift
from sightline.results.scored_map import MapKey
from tests.api.asking import get, get_map, refused

if TYPE_CHECKING:
    from fastapi.testclient import TestClient

    from sightline.api.state import Served

DINO, LORA = "demo/vit-dino", "demo/vit-dino@lora"
FIGURES = ("n", "value_a", "value_b", "difference", "low", "high", "p", "p_holm", "dz", "better",
           "equal", "worse", "chance_a", "chance_b", "ceiling_a", "ceiling_b")  # fmt: skip


@pytest.mark.parametrize(
    ("words", "given"),
    [
        ({"a": DINO, "b": LORA}, {}),
        ({"a": DINO, "b": LORA, "method": "cls", "metric": "coverage"},
         {"method": "cls", "metric": "coverage"}),
        ({"a": DINO, "b": LORA, "layer": "split"}, {"layer": "split"}),
        ({"a": "cls", "b": "rollout", "by": "method", "model": DINO},
         {"by": "method", "model": DINO}),
        ({"a": "cls", "b": "centre", "by": "method"}, {"by": "method"}),
        ({"a": "0", "b": "2", "by": "layer", "method": "cls", "percentile": 80},
         {"by": "layer", "method": "cls", "metric": "iou@80"}),
    ],
)  # fmt: skip
def test_lines_are_those_of_the_results(
    client: TestClient, served: Served, words: dict[str, Any], given: dict[str, Any]
) -> None:
    found = get(client, "compare", **words)
    sides: tuple[Any, Any] = (words["a"], words["b"])
    if words.get("by") == "layer":
        sides = (int(sides[0]), int(sides[1]))
    expected = served.results.compare(*sides, **given)
    assert found["metric"] == expected.attrs["metric"]
    assert found["summary"] == " ".join(expected.attrs["summary"])
    assert found["note"] == expected.attrs["note"]
    keys = ["model", "method", "target"]
    rows = {tuple(row[keys]): number for number, row in expected.iterrows()}
    assert len(found["lines"]) == len(expected)
    for line in found["lines"]:
        number: Any = rows[line["model"], line["method"], line["target"]]
        row = expected.loc[number]
        for name in FIGURES:
            assert line[name] == (None if pd.isna(row[name]) else row[name]), name
        assert line["sentence"] == expected.attrs["sentences"][number]


def test_shifts_are_those_of_the_first_line_the_farthest_first(
    client: TestClient, served: Served
) -> None:
    found = get(client, "compare", a=DINO, b=LORA)
    line, images = found["lines"][0], found["images"]
    assert line["method"] not in ("random", "centre")
    gaps = [one["shift"] for one in images if one["shift"] is not None]
    assert len(gaps) == line["n"]
    assert [abs(gap) for gap in gaps] == sorted((abs(gap) for gap in gaps), reverse=True)
    assert np.mean(gaps) == pytest.approx(-line["difference"], abs=1e-12)
    table = served.results.images(model=LORA, method=line["method"], layer=line["layer_b"])
    values = dict(zip(table["image"], table["value"], strict=True))
    assert {one["image"]: one["b"] for one in images} == values
    assert all(one["shift"] == one["b"] - one["a"] for one in images)


@pytest.mark.parametrize(
    ("words", "field", "text"),
    [
        ({"a": DINO}, "b", "field required"),
        ({"a": "nope", "b": DINO}, "a", "'nope'"),
        ({"a": DINO, "b": "nope"}, "b", "'nope'"),
        ({"a": DINO, "b": DINO}, "b", "must differ"),
        ({"a": DINO, "b": LORA, "model": DINO}, "model", "is what is compared"),
        ({"a": "x", "b": "2", "by": "layer"}, "a", "number of a layer"),
        ({"a": "0", "b": "77", "by": "layer"}, "b", "'77'"),
        ({"a": "0", "b": "2", "by": "layer", "layer": 2}, "layer", "is what is compared"),
        ({"a": DINO, "b": LORA, "by": "colour"}, "by", "colour"),
        ({"a": DINO, "b": LORA, "metric": "nope"}, "metric", "'nope'"),
        ({"a": DINO, "b": LORA, "method": "nope"}, "method", "'nope'"),
        ({"a": DINO, "b": "demo/cnn", "method": "cls"}, "b", "cls"),
    ],
)
def test_what_cannot_be_compared_is_refused_by_name(
    client: TestClient, words: dict[str, Any], field: str, text: str
) -> None:
    found = refused(client, "compare", **words)
    assert found["field"] == field
    assert text in found["detail"]


# --- maps ----------------------------------------------------------------------------------------


def test_a_shift_is_the_difference_of_two_maps(client: TestClient, served: Served) -> None:
    image = next(iter(served.images))
    maps = [
        get_map(client, f"maps/{image}", model=model, method="cls", layer=2)
        for model in (DINO, LORA)
    ]
    words = {"a": DINO, "b": LORA, "method": "cls", "layer": 2}
    shift = get_map(client, f"compare/{image}/shift", **words)
    np.testing.assert_allclose(shift.values, maps[1].values - maps[0].values, atol=1e-7)
    assert shift.header.choice.sign == "signed"
    assert shift.header.low < 0 < shift.header.high
    assert shift.header.regions == maps[0].header.regions
    assert DINO in shift.header.choice.why


def test_each_side_has_its_best_layer_unless_one_is_given(
    client: TestClient, served: Served
) -> None:
    image = next(iter(served.images))
    line = get(client, "compare", a=DINO, b=LORA, method="cls")["lines"][0]
    words = {"a": DINO, "b": LORA, "method": "cls"}
    shift = get_map(client, f"compare/{image}/shift", **words)
    assert shift.header.choice.layer == line["layer_b"]
    assert f"layer {line['layer_a']}" in shift.header.choice.why.partition("−")[2]


def test_shares_add_up_to_nothing(client: TestClient, served: Served) -> None:
    image = next(iter(served.images))
    words = {"a": "cls", "b": "centre", "by": "method", "model": DINO, "scale": "share"}
    shift = get_map(client, f"compare/{image}/shift", **words)
    assert float(shift.values.sum()) == pytest.approx(0, abs=1e-5)
    assert float(np.abs(shift.values).sum()) > 0.1


def test_shifts_of_unknown_images_and_layers_are_refused(client: TestClient) -> None:
    words = {"a": "0", "b": "2", "by": "layer"}
    assert refused(client, "compare/nope/shift", 404, **words)["field"] == "image_id"
    image = get(client, "images")["items"][0]["image"]
    found = refused(client, f"compare/{image}/shift", a="0", b="77", by="layer")
    assert found["field"] == "b"


def test_maps_of_two_images_or_rasters_have_no_difference(served: Served) -> None:
    from dataclasses import replace

    maps = on_demand(served)
    first, second = list(served.images)[:2]
    one = maps.map(first, MapKey(DINO, "cls", 2))
    with pytest.raises(InputError, match="both maps must be of one image"):
        map_shift(one, maps.map(second, MapKey(DINO, "cls", 2)))
    with pytest.raises(InputError, match="both maps must lie on one raster"):
        map_shift(one, replace(one, values=one.values[1:]))
    with pytest.raises(InputError, match="must have a positive sum"):
        map_shift(one, replace(one, values=one.values * 0), "share")
    assert not map_shift(one, one).values.any()
