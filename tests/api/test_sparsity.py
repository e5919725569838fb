"""The sparsity report over HTTP is that of the library, made once."""

from __future__ import annotations

import math
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from sightline.api.routes import sparsity
from sightline.core import InputError
from sightline.results.missing_labels import SparsityReport, sparsity_report
from tests.api.asking import get, refused

if TYPE_CHECKING:
    from fastapi.testclient import TestClient

    from sightline.api.state import Served

WORDS: dict[str, Any] = {"method": "cls", "layer": 2}


def test_the_report_is_that_of_the_library(client: TestClient, served: Served) -> None:
    found = get(client, "sparsity", **WORDS)
    expected = sparsity_report(served.results, method="cls", layer=2)
    assert found["metric"] == "iou@90"
    assert found["main"] == expected.main
    assert found["best_baseline"] == expected.best_baseline.to_dict()
    assert (found["images"], found["regions"]) == (expected.images, expected.regions)
    assert [tuple(one) for one in found["findings"]] == list(expected.findings)
    assert found["missing"] == list(expected.missing)
    assert set(found["tables"]) == set(SparsityReport.TABLES)
    for name, table in found["tables"].items():
        frame = getattr(expected, name)
        assert table["columns"] == list(frame)
        assert len(table["rows"]) == len(frame)
    lines = found["tables"]["lines"]
    place = lines["columns"].index("iou")
    assert [row[place] for row in lines["rows"]] == expected.lines["iou"].tolist()


def test_what_is_undefined_is_null(client: TestClient) -> None:
    tables = get(client, "sparsity", **WORDS)["tables"]
    cells = [cell for table in tables.values() for row in table["rows"] for cell in row]
    assert None in cells
    assert not any(isinstance(cell, float) and not math.isfinite(cell) for cell in cells)


def test_it_is_made_once(
    client: TestClient, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    get(client, "sparsity", **WORDS)

    def again(*_: Any, **__: Any) -> None:
        raise AssertionError("made again")

    monkeypatch.setattr(sparsity, "sparsity_report", again)
    # Another URL for the same report: it does not come out of the cache of answers.
    get(client, "sparsity", **WORDS, metric="iou@90")
    with pytest.raises(AssertionError, match="made again"):
        client.get("/api/sparsity", params={**WORDS, "metric": "iou@80"})


@pytest.mark.parametrize(
    ("words", "field", "text"),
    [
        ({"metric": "coverage"}, "metric", "metric must be one of iou@"),
        ({"metric": "nope"}, "metric", "'nope'"),
        ({"head": 1}, "head", "does not go with"),
        ({"seed": 1}, "seed", "does not go with"),
        ({"model": "nope"}, "model", "'nope'"),
    ],
)
def test_words_that_do_not_fit_are_refused(
    client: TestClient, words: dict[str, Any], field: str, text: str
) -> None:
    found = refused(client, "sparsity", **words)
    assert found["field"] == field
    assert text in found["detail"]


def test_reports_in_the_making_hold_up_no_other_answer(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More of them than there are threads for answers; the first tells how far it has come."""
    go_on, begun = threading.Event(), threading.Event()

    def slow(*_: Any, progress: Any, **__: Any) -> None:
        progress(2, 5, "Measuring a line")
        begun.set()
        go_on.wait(60)
        raise InputError("made slowly")

    monkeypatch.setattr(sparsity, "sparsity_report", slow)
    scores = [f"iou@{level}" for level in (95, 90, 85, 80, 75, 70, 60, 50)]
    many = 2 * (os.cpu_count() or 2) + 1
    monkeypatch.setattr(sparsity, "_WAITING", threading.BoundedSemaphore(many))
    words: list[dict[str, Any]] = [{"metric": scores[k % 8], "layer": k // 8} for k in range(many)]
    assert get(client, "sparsity/progress")["making"] is False
    with ThreadPoolExecutor(many) as pool:
        try:
            asked = [
                pool.submit(client.get, "/api/sparsity", params={**one, "method": "cls"})
                for one in words
            ]
            assert begun.wait(60)
            told = get(client, "sparsity/progress")
            assert (told["making"], told["step"]) == (True, "Measuring a line")
            assert (told["done"], told["all"]) == (2, 5)
            assert told["metric"] in scores
            assert get(client, "images", limit=1)["total"] > 0
        finally:
            go_on.set()
        assert {one.result(60).status_code for one in asked} == {409}
    assert get(client, "sparsity/progress")["making"] is False


def test_no_more_reports_are_begun_than_there_is_room_for(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = threading.BoundedSemaphore(1)
    monkeypatch.setattr(sparsity, "_WAITING", room)
    with room:
        found = refused(client, "sparsity", 429, metric="nothing")
        assert "ask again later" in found["detail"]
    assert refused(client, "sparsity", metric="nothing")["field"] == "metric"
    assert room.acquire(blocking=False)  # given back, though it was refused
    room.release()


@pytest.mark.parametrize(
    ("stored", "told"),
    [
        (["coverage", "iou@90"], ""),
        (["coverage", "iou@matched"], "stored no IoU but iou@matched"),
        (["coverage"], "stored no IoU"),
    ],
)
def test_only_an_iou_by_the_map_alone_is_a_score_for_it(stored: list[str], told: str) -> None:
    served: Any = SimpleNamespace(results=SimpleNamespace(metrics=stored))
    why = sparsity.why_no_score(served)
    assert why.endswith(told)
    assert bool(why) is bool(told)
