"""Files to take away: each one that is listed comes, and says what the tables say."""

from __future__ import annotations

import io
import json
import shutil
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from fastapi.testclient import TestClient
from PIL import Image

from sightline.api.app import create_app
from sightline.api.routes.exports import names_of
from sightline.report.figures import StoreFigures
from tests.api.asking import get, refused
from tests.demo import DETECTOR

if TYPE_CHECKING:
    from pathlib import Path

    from sightline.api.state import Served


def _csv(client: TestClient, name: str, **words: Any) -> pd.DataFrame:
    answer = client.get(f"/api/export/{name}", params=words)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    return pd.read_csv(io.BytesIO(answer.content), low_memory=False)


def test_the_study_lists_all_names_and_no_others(client: TestClient, served: Served) -> None:
    names = names_of(served)
    assert tuple(get(client, "study")["downloads"]) == names
    assert len(set(names)) == len(names)
    figures = {name.rpartition(".")[0] for name in names if name.endswith(".svg")}
    assert figures == set(StoreFigures.names())
    asked = {"leaderboard.csv", "images.csv", "rows.csv", "layers.csv", "labels.csv", "styles.csv",
             "heads.csv", "study.yml", "table1.tex"}  # fmt: skip
    assert asked <= set(names)


def test_every_table_and_text_comes_as_a_file(client: TestClient, served: Served) -> None:
    drawn = tuple(StoreFigures.names())
    for name in names_of(served):
        if name.rpartition(".")[0] in drawn:
            continue
        answer = client.get(f"/api/export/{name}")
        assert answer.status_code == 200, name
        assert answer.content
        told = answer.headers["content-disposition"]
        assert told == f'attachment; filename="served-{name}"'


def test_tables_say_what_the_routes_say(client: TestClient) -> None:
    words = {"metric": "coverage", "method": "cls"}
    lines = get(client, "leaderboard", **words)["lines"]
    table = _csv(client, "leaderboard.csv", **words)
    assert table["model"].tolist() == [line["model"] for line in lines]
    assert table["value"].tolist() == pytest.approx([line["value"] for line in lines])
    labels = get(client, "breakdown/labels", ancestors=True)["lines"]
    table = _csv(client, "labels.csv", ancestors=True)
    assert table["label"].tolist() == [line["label"] for line in labels]
    images = _csv(client, "images.csv", **words)
    assert set(images["metric"]) == {"coverage"}
    heads = get(client, "heads")["lines"]
    assert _csv(client, "heads.csv")["head"].tolist() == [line["head"] for line in heads]
    matrix = get(client, "heads/matrix", min_count=0)
    assert list(_csv(client, "head_matrix.csv"))[2:] == matrix["labels"]


def test_rows_are_all_scores(client: TestClient, served: Served) -> None:
    table = _csv(client, "rows.csv")
    chosen = "metric IN ('coverage', 'iou') AND region IS NULL"
    found = served.results.query(f"SELECT count(*) AS n FROM scores_long WHERE {chosen}")  # noqa: S608
    kept = table[table["metric"].isin(["coverage", "iou"]) & table["region"].isna()]
    assert len(kept) == found["n"][0]
    maps = served.results.scores()
    names = [name for name in map(str, maps) if name == "coverage" or name.startswith("iou@")]
    assert len(kept) == len(maps) * len(names)
    assert {"chance", "ceiling", "value"} <= set(table)


def test_the_study_and_the_manifest_come_as_they_are(client: TestClient, served: Served) -> None:
    path = served.results.path
    answer = client.get("/api/export/study.yml")
    assert answer.content == (path / "study.yml").read_bytes()
    assert client.get("/api/export/manifest.json").json() == json.loads(
        (path / "manifest.json").read_text()
    )
    assert "\\begin{tabular}" in client.get("/api/export/table1.tex").text


@pytest.mark.parametrize("name", ["ranking", "layers", "features", "attribution", "detection-pr"])
def test_figures_come_as_pictures(client: TestClient, name: str) -> None:
    answer = client.get(f"/api/export/{name}.svg")
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "image/svg+xml"
    assert answer.content.lstrip().startswith(b"<?xml")


def test_a_picture_has_the_dots_that_were_asked_for(client: TestClient) -> None:
    small, large = (
        Image.open(io.BytesIO(client.get(f"/api/export/leaderboard.png?dpi={dpi}").content))
        for dpi in (50, 100)
    )
    assert large.width == pytest.approx(2 * small.width, abs=2)


def test_figures_are_about_what_was_asked(client: TestClient, served: Served) -> None:
    first, second = list(served.images)[:2]
    table = _csv(client, "roc.csv", method="cls")
    assert set(table["method"]) == {"cls"}
    pictures = [
        client.get("/api/export/attribution.svg", params={"image": image}).content
        for image in (first, second)
    ]
    assert pictures[0] != pictures[1]
    table = _csv(client, "confusion-matrix.csv", model=DETECTOR)
    assert "true" in table


@pytest.mark.parametrize(
    ("name", "words", "status", "field", "text"),
    [
        ("nope.csv", {}, 404, "name", "there is no file 'nope.csv'"),
        ("leaderbord.csv", {}, 404, "name", "nearest: leaderboard.csv"),
        ("leaderboard.exe", {}, 404, "name", "there is no file"),
        ("leaderboard", {}, 404, "name", "there is no file"),
        ("..", {}, 404, None, ""),
        ("leaderboard.csv", {"metric": "nope"}, 422, "metric", "'nope'"),
        ("ranking.svg", {"model": "nope"}, 422, "model", "'nope'"),
        ("attribution.svg", {"image": "nope"}, 404, "image_id", "no image 'nope'"),
        ("confusion-matrix.svg", {"model": "nope"}, 422, "model", "stored evaluation"),
        ("leaderboard.png", {"dpi": 5000}, 422, "dpi", "dpi"),
    ],
)
def test_what_is_not_there_is_told(
    client: TestClient, name: str, words: dict[str, Any], status: int, field: str, text: str
) -> None:
    found = refused(client, f"export/{name}", status, **words)
    assert found["field"] == field
    assert text in found["detail"]


def test_a_study_whose_file_is_gone_says_so(api_store: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(api_store, tmp_path / "copy")
    (copy / "study.yml").unlink()
    with TestClient(create_app(copy), base_url="http://127.0.0.1") as client:
        for path in ("export/study.yml", "study"):
            assert "the study's file cannot be read" in refused(client, path, 409)["detail"]
