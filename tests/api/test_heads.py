"""Single heads say what the results say: their tables, and the images on which one does best."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from sightline.api.routes import heads
from sightline.results import open_results
from tests.api.asking import LINE, get, refused, same

if TYPE_CHECKING:
    from pathlib import Path

    from fastapi.testclient import TestClient

    from sightline.api.state import Served

ONE: dict[str, Any] = {"model": "demo/vit-dino@lora", "method": "cls", "layer": 2}

# --- tables of heads -----------------------------------------------------------------------------


def test_heads_are_those_of_the_results(client: TestClient, served: Served) -> None:
    found = get(client, "heads")
    choice = found["choice"]
    assert set(choice["chosen"]) >= {"model", "method"}
    assert choice["layer"] is None
    assert choice["why"]
    expected = served.results.head_ranking(model=choice["model"], method=choice["method"])
    assert len(found["lines"]) == len(expected) > 0
    for line, (_, row) in zip(found["lines"], expected.iterrows(), strict=True):
        same(line, row, (*LINE, "layer", "head", "rank"))


def test_heads_of_one_layer_and_model(client: TestClient) -> None:
    words = {"model": "demo/vit-dino", "method": "cls", "layer": 2, "metric": "coverage"}
    found = get(client, "heads", **words)
    assert {line["layer"] for line in found["lines"]} == {2}
    assert (found["metric"], found["choice"]["layer"]) == ("coverage", 2)
    assert not {"model", "method", "layer"} & set(found["choice"]["chosen"])
    ranks = [line["rank"] for line in found["lines"]]
    assert ranks == sorted(ranks)


def test_the_matrix_of_heads_is_that_of_the_results(client: TestClient, served: Served) -> None:
    found = get(client, "heads/matrix", model="demo/vit-dino", min_count=3)
    expected = served.results.head_feature_matrix(model="demo/vit-dino", method="cls")
    counts = expected.attrs["n"]
    assert found["labels"] == [label for label in expected if counts[label] >= 3]
    assert found["counts"] == [counts[label] for label in found["labels"]]
    assert [tuple(one) for one in found["heads"]] == list(expected.index)
    table = np.array(found["values"], float)
    np.testing.assert_array_equal(table, expected[found["labels"]].to_numpy())
    assert not any(math.isnan(one) for one in table[0]) or None in found["values"][0]


def test_without_heads_it_says_what_would_store_them(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heads, "with_heads", lambda served: set())
    words = {"metric": "iou@75"}  # not asked before: no answer is kept
    for path in ("heads", "heads/matrix"):
        assert "heads: all" in refused(client, path, 404, **words)["detail"]


@pytest.mark.parametrize("words", [{"head": 3}, {"seed": 1}, {"ties": "include"}], ids=str)
@pytest.mark.parametrize("path", ["heads", "heads/matrix"])
def test_words_that_a_table_of_heads_does_not_take_are_refused(
    client: TestClient, path: str, words: dict[str, Any]
) -> None:
    assert refused(client, path, **words)["field"] == next(iter(words))


# --- images of a head ----------------------------------------------------------------------------


@pytest.mark.parametrize("label", [None, "door"])
def test_exemplars_are_the_best_of_a_head(
    client: TestClient, api_store: Path, label: str | None
) -> None:
    words: dict[str, Any] = ONE | {"head": 1} | ({} if label is None else {"label": label})
    found = get(client, "heads/exemplars", **words, limit=5)
    assert (found["metric"], found["label"]) == ("iou@90", label)
    assert (found["choice"]["layer"], found["choice"]["head"]) == (2, 1)
    with open_results(api_store) as results:
        level = "long.region IS NULL" if label is None else f"regions.label = '{label}'"
        expected = results.query(
            "SELECT long.image, long.region, value FROM scores_long long LEFT JOIN regions "  # noqa: S608
            "ON regions.image = long.image AND regions.region = long.region "
            "WHERE model = 'demo/vit-dino@lora' AND method = 'cls' AND layer = 2 "
            f"AND head = 1 AND name = 'iou@90' AND {level} "
            "ORDER BY value DESC, long.image, long.region LIMIT 5"
        )
    assert [one["value"] for one in found["items"]] == expected["value"].tolist()
    assert [one["image"] for one in found["items"]] == expected["image"].tolist()
    if label is not None:
        assert [one["region"] for one in found["items"]] == expected["region"].tolist()


def test_the_best_head_is_chosen_where_none_is_asked_for(
    client: TestClient, api_store: Path
) -> None:
    found = get(client, "heads/exemplars", model="demo/vit-dino", method="cls")
    with open_results(api_store) as results:
        best = results.head_ranking("iou@90", model="demo/vit-dino", method="cls").iloc[0]
    assert (found["choice"]["layer"], found["choice"]["head"]) == (best["layer"], best["head"])
    assert {"layer", "head"} <= set(found["choice"]["chosen"])
    mass = get(client, "heads/exemplars", selection="mass60", limit=1)
    assert (mass["metric"], len(mass["items"])) == ("iou@mass60", 1)


@pytest.mark.parametrize(
    ("words", "status", "field"),
    [
        ({"label": "nothing"}, 422, "label"),
        ({"label": "door", "metric": "average_precision"}, 422, "metric"),
        ({"percentile": 33}, 422, "percentile"),
        ({"layer": "split"}, 422, "layer"),
        ({"ties": "include"}, 422, "ties"),
        ({"method": "saliency"}, 404, "head"),
        ({"limit": 0}, 422, "limit"),
    ],
)
def test_exemplars_name_what_does_not_fit(
    client: TestClient, words: dict[str, Any], status: int, field: str
) -> None:
    answer = client.get("/api/heads/exemplars", params=words)
    assert (answer.status_code, answer.json()["field"]) == (status, field), answer.text
