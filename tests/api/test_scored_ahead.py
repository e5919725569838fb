"""Maps that are scored at many percentiles at once, and ahead: no answer tells the difference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi.testclient import TestClient

from sightline.api import create_app, warmup
from sightline.api.choice import AskedMap
from sightline.api.routes import scores
from sightline.api.routes._single import key_of, whole_scores
from sightline.api.routes.scores import score_lines
from sightline.results._full_scores import WholeScores

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from sightline.api.state import Served, Service

ASKED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("", {}),
    ("", {"percentile": 61}),
    ("", {"percentile": 80, "ties": "include"}),
    ("/percentiles", {}),
    ("/percentiles", {"metric": "recall", "percentile": 33}),
    ("/layers", {}),
    ("/layers", {"metric": "coverage"}),
    ("/models", {}),
    ("/models", {"percentile": 47}),
    ("/models", {"metric": "coverage"}),
    ("/models", {"metric": "pointing", "selection": "mean"}),
)


def answers(store: Path) -> list[bytes]:
    with TestClient(create_app(store), base_url="http://127.0.0.1") as client:
        image = client.get("/api/images?limit=1").json()["items"][0]["image"]
        found = [client.get(f"/api/metrics/{image}{path}", params=w) for path, w in ASKED]
    assert [one.status_code for one in found] == [200] * len(ASKED)
    return [one.content for one in found]


def test_answers_are_those_of_maps_scored_one_by_one(
    api_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once = answers(api_store)
    monkeypatch.setattr(WholeScores, "has", lambda *_: False)
    monkeypatch.setattr(scores._Asked, "here", lambda *_: False)
    monkeypatch.setattr(scores, "quick_metrics", lambda _: [])  # so that regions are scored too
    monkeypatch.setattr(WholeScores, "several", lambda *_: [])
    assert answers(api_store) == at_once


def test_layers_are_read_out_of_the_rows_and_are_the_same(
    api_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served: Served = create_app(api_store).state.service.last
    image = next(iter(served.images))
    picks = [(line.model, line.picks[0]) for line in scores._all_lines(served, AskedMap())]
    asked = [
        (AskedMap(model=model, method=pick.method, layer=pick.layer, percentile=level), metric)
        for model, pick in picks
        for level, metric in ((None, None), (90, "recall"), (61, None))
    ]
    computed = [scores._layers(served, image, words, None, metric) for words, metric in asked]
    next(score_lines(served))
    by_rows: list[bool] = []
    lines = scores._stored_lines

    def noting(one: Any) -> Any:
        found = lines(one)
        by_rows.append(found is not None)
        return found

    monkeypatch.setattr(scores, "_stored_lines", noting)
    read = [scores._layers(served, image, words, None, metric) for words, metric in asked]
    assert read == computed
    expected = []
    for (words, _), layered in zip(asked, computed, strict=True):
        drawn = layered.choice.seed is not None and layered.choice.layer is not None
        expected.append(layered.choice.layer is None or (words.percentile != 61 and not drawn))
    assert by_rows == expected
    assert any(one.points for one, rows in zip(read, by_rows, strict=True) if rows)


def test_layers_by_other_rules_are_computed(api_store: Path) -> None:
    served: Served = create_app(api_store).state.service.last
    image = next(score_lines(served))

    def by_rows(words: AskedMap, region: int | None = None, metric: str | None = None) -> bool:
        asked = scores._Asked(served, image, words, region, metric)
        return scores._stored_lines(asked) is not None

    assert by_rows(AskedMap())
    assert by_rows(AskedMap(), metric="recall@90")
    for words in ({"ties": "include"}, {"selection": "mass60"}, {"percentile": 90.0000001}):
        assert not by_rows(AskedMap(**words))
    region = next(one.region for one in served.regions[image] if not one.dropped)
    assert not by_rows(AskedMap(), region=region)
    assert not by_rows(AskedMap(), metric="coverage")


def lines_kept(served: Served, image: str) -> list[bool]:
    asked = scores._Asked(served, image, AskedMap(), None, None)
    choices = [
        scores._choice_of(served, asked, line) for line in scores._all_lines(served, AskedMap())
    ]
    known = whole_scores(served)
    return [known.kept(image, key_of(one), one.ties) is not None for one in choices]


def test_the_maps_of_all_lines_are_scored_ahead(api_store: Path) -> None:
    served: Served = create_app(api_store).state.service.last
    done = list(score_lines(served))
    assert done == list(served.images)
    assert all(all(lines_kept(served, image)) for image in done)


def test_no_more_are_scored_ahead_than_are_kept(
    api_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served: Served = create_app(api_store).state.service.last
    lines = len(scores._all_lines(served, AskedMap()))
    monkeypatch.setattr(WholeScores, "room", 2 * lines + 1)
    assert list(score_lines(served)) == list(served.images)[:2]


def test_a_service_that_ends_scores_nothing_ahead(
    api_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service: Service = create_app(api_store).state.service
    monkeypatch.setattr(warmup, "_LEISURE", 0.0)
    service.closed = True
    warmup._score_ahead(service, service.last)
    first, second, *_ = service.last.images
    assert all(lines_kept(service.last, first))
    assert not any(lines_kept(service.last, second))
