"""What the store does not hold is told with what would make it; what it holds is shown."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from fastapi.testclient import TestClient

from sightline.api import create_app
from tests.api.asking import get, refused

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("checks", "`checks` in a study's file"),
        ("prototypes", "STORE/prototypes/NAME"),
        ("reviews", "STORE/reviews.sqlite"),
    ],
)
def test_what_is_not_held_is_told(client: TestClient, path: str, text: str) -> None:
    assert text in refused(client, path, 404)["detail"]


@pytest.fixture
def store(api_store: Path, tmp_path: Path) -> Path:
    """A copy of the store that may be changed."""
    return shutil.copytree(api_store, tmp_path / "store")


def _client(store: Path) -> TestClient:
    return TestClient(create_app(store), base_url="http://127.0.0.1")


def test_prototypes_are_listed(store: Path) -> None:
    for name in ("b", "a"):
        (store / "prototypes" / name).mkdir(parents=True)
    assert get(_client(store), "prototypes") == {"names": ["a", "b"]}


def test_reviews_are_counted_and_damage_is_told(store: Path) -> None:
    with closing(sqlite3.connect(store / "reviews.sqlite")) as found, found:
        found.execute("CREATE TABLE reviews (proposal TEXT)")
        found.executemany("INSERT INTO reviews VALUES (?)", [("a",), ("b",)])
    assert get(_client(store), "reviews") == {"count": 2}
    (store / "reviews.sqlite").write_bytes(b"torn" * 999)
    assert "reviews.sqlite cannot be read" in refused(_client(store), "reviews", 409)["detail"]


def test_checks_are_shown(store: Path) -> None:
    """A source is called a check: its rows tell the name of it as well."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    manifest = json.loads((store / "manifest.json").read_text())
    source = next(one for one in manifest["sources"] if one["method"] == "saliency")
    source["check"] = "cascade_top_down/01"
    (store / "manifest.json").write_text(json.dumps(manifest))
    for path in (store / "rows").glob("*.parquet"):
        table = pq.read_table(path)
        if set(table["method"].to_pylist()) != {"saliency"}:
            continue
        if table["model"][0].as_py() != source["model"]:
            continue
        if table["variant"][0].as_py() != source["variant"]:
            continue
        place = table.schema.get_field_index("check")
        column = pa.array([source["check"]] * len(table), table.schema.field(place).type)
        pq.write_table(table.set_column(place, table.schema.field(place), column), path)
    found = get(_client(store), "checks")
    assert found["checks"] == ["cascade_top_down"]
    columns = found["table"]["columns"]
    rows = [dict(zip(columns, row, strict=True)) for row in found["table"]["rows"]]
    assert {row["check"] for row in rows} == {"cascade_top_down/01"}
    assert {row["method"] for row in rows} == {"saliency"}
    assert all(row["value"] is None or row["images"] > 0 for row in rows)
