"""What a service prepares when it starts, what it keeps, and that no answer differs for it."""

from __future__ import annotations

import asyncio
import ctypes
import gc
from typing import TYPE_CHECKING, Any

import pytest
from fastapi.testclient import TestClient

from sightline.api import answer_cache, create_app, warmup
from sightline.api.answer_cache import CachedAnswers, Encoded
from sightline.api.choice import AskedMap
from sightline.api.routes import _at_once, scores, tables
from sightline.api.routes._single import whole_scores
from sightline.api.state import Service
from sightline.cli import serve

if TYPE_CHECKING:
    from pathlib import Path

    from sightline.api.state import Served


@pytest.fixture
def fresh(api_store: Path) -> Served:
    served: Served = create_app(api_store).state.service.last
    return served


def test_all_that_is_asked_ahead_is_answered(
    client: TestClient, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "_LINES_AHEAD", 2)
    monkeypatch.setattr(tables, "_SCORES_AHEAD", 1)
    paths = [path for some in tables.tables_ahead(served) for path in some]
    paths += warmup._pages_of(next(iter(served.images)))
    assert [path for path in paths if client.get(path).status_code != 200] == []
    named = {path.partition("?")[0] for path in paths}
    assert {"/api/leaderboard", "/api/layers", "/api/images", "/api/breakdown/labels"} < named
    # Of a line: images in two orders, one of them at two levels and in three other ways, labels.
    assert len(paths) == len(set(paths)) == 3 + 3 + 2 * (2 + 2 + 3 + 1) + 5


def test_what_is_asked_ahead_is_kept(api_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    run = answer_cache._Recorder.run

    async def counting(self: Any, scope: Any, receive: Any) -> Any:
        made.append(scope["path"])
        return await run(self, scope, receive)

    def warm(service: Service) -> None:
        assert service.ask is not None
        for path in warmup._pages_of(next(iter(service.last.images))):
            service.ask(path)
        service.ask("/api/images/none")  # which is refused
        service.warming = False

    monkeypatch.setattr(answer_cache._Recorder, "run", counting)
    monkeypatch.setattr("sightline.api.app.prepare", warm)
    app = create_app(api_store, token="a long token", warm=True)  # noqa: S106
    with TestClient(app, headers={"Authorization": "Bearer a long token"}) as client:
        while client.get("/api/health").json()["warming"]:
            pass
        assert app.state.service.asked == 0
        before, image = list(made), next(iter(app.state.service.last.images))
        assert len(before) == 6
        for path in warmup._pages_of(image):
            assert client.get(path).status_code == 200
        assert made == before
        assert app.state.service.asked == 5
        client.get("/api/images/none")
        assert len(made) == len(before) + 1


def test_one_map_is_scored_with_those_it_is_compared_with(fresh: Served) -> None:
    first, second, *_ = fresh.images
    scores._metrics(fresh, first, AskedMap(), None)
    lines = scores._maps_of_lines(fresh)
    ties = fresh.study["ties"]
    known = whole_scores(fresh)
    assert len(lines) > 2
    assert all(known.kept(first, key, ties) for key in lines)
    assert not any(known.kept(second, key, ties) for key in lines)


def test_large_maps_are_scored_alone(fresh: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scores, "MOST_PIXELS", 1)
    first = next(iter(fresh.images))
    scores._metrics(fresh, first, AskedMap(), None)
    known, ties = whole_scores(fresh), fresh.study["ties"]
    kept = [known.kept(first, key, ties) for key in scores._maps_of_lines(fresh)]
    assert sum(one is not None for one in kept) == 1


def test_the_scores_of_a_map_hold_no_others(fresh: Served) -> None:
    first = next(iter(fresh.images))
    scores._metrics(fresh, first, AskedMap(), None)
    known = whole_scores(fresh)
    found = [
        one
        for key in scores._maps_of_lines(fresh)
        if (one := known.kept(first, key, fresh.study["ties"])) is not None
    ]
    assert all(one.columns._numbers.base is None for one in found)
    assert known._kept.size > sum(one.columns.nbytes for one in found)
    signs = {one.sign for one in found}
    assert len({id(one.columns._places) for one in found}) == len(signs)


@pytest.mark.parametrize(
    ("path", "scored"),
    [
        ("/api/metrics/{}", True),
        ("/api/metrics/{}/percentiles", True),
        ("/api/metrics/{}/layers", False),
        ("/api/maps/{}", False),
    ],
)
def test_what_is_at_hand_is_answered_at_once_and_is_the_same(
    api_store: Path, monkeypatch: pytest.MonkeyPatch, path: str, scored: bool
) -> None:
    threads: list[str] = []
    timed = _at_once._timed

    def noting(served: Any, noted: Any, words: Any, make: Any) -> Any:
        threads.append(make.args[1])
        return timed(served, noted, words, make)

    monkeypatch.setattr(_at_once, "_timed", noting)
    monkeypatch.setattr(_at_once, "_SHORT", 1e9)
    app = create_app(api_store)
    first, second, *_ = app.state.service.last.images

    def get(image: str, words: float | str) -> Any:
        return client.get(f"{path.format(image)}?percentile={words}")

    with TestClient(app, base_url="http://127.0.0.1") as client:
        get(first, 61)
        get(second, 61)
        assert threads == [first, second]
        found = [get(image, level) for image in (first, second) for level in (62, 63)]
        assert threads == [first, second]
        get(first, 61.5)  # at which maps are not scored beforehand
        assert threads == [first, second, *([first] if scored else [])]
        get(first, "61&selection=matched")
        monkeypatch.setattr(_at_once, "_SHORT", 0.0)
        threads.clear()
        get(first, 64)
        assert threads == [first]
    with TestClient(create_app(api_store), base_url="http://127.0.0.1") as client:
        again = [client.get(one.url.raw_path.decode()) for one in found]
    assert [one.status_code for one in again] == [200] * 4
    assert [one.content for one in again] == [one.content for one in found]


def test_maps_push_out_no_pictures(api_store: Path) -> None:
    by = CachedAnswers(lambda *_: None, Service(api_store))  # type: ignore[arg-type]
    large = Encoded(200, (), b"x" * 2 * answer_cache._BULKY)
    rooms = [by._room(path, large) for path in ("/api/maps/a", "/api/images/a/file")]
    assert rooms == [by.maps, by.bulky]
    assert by._room("/api/maps/a/header", Encoded(200, (), b"x")) is by.cache
    by.maps.put("a", large)
    assert by.kept("a") is large
    assert by.kept("b") is None


def test_scores_of_single_maps_push_out_nothing_else(api_store: Path) -> None:
    by = CachedAnswers(lambda *_: None, Service(api_store))  # type: ignore[arg-type]
    small = Encoded(200, (), b"x")
    quick = [by._room(f"/api/metrics/a{of}", small) for of in ("", "/layers", "/percentiles")]
    assert quick == [by.scores] * 3
    slow = ("/api/metrics/a/models", "/api/metrics/a/heads", "/api/metrics", "/api/images/a")
    assert [by._room(path, small) for path in slow] == [by.cache] * 4
    by.scores.put("a", small)
    assert by.kept("a") is small
    by._version = "another"  # whatever was kept of it is gone
    asyncio.run(by._now())
    assert by.kept("a") is None


def test_other_c_libraries_keep_their_habits(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[int, int]] = []

    class Glibc:
        def mallopt(self, what: int, value: int) -> int:
            told.append((what, value))
            return 1

    monkeypatch.setattr(ctypes, "CDLL", lambda _: Glibc())
    serve._share_memory()
    assert told == [(-8, 2), (-3, 1 << 20)]
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    serve._share_memory()
    assert len(told) == 2


def test_once_all_is_prepared_maps_are_given_back_when_let_go_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[tuple[int, ...]] = []

    class Glibc:
        def mallopt(self, *what: int) -> int:
            told.append(what)
            return 1

        def malloc_trim(self, *pad: int) -> int:
            told.append(pad)
            return 1

    monkeypatch.setattr(gc, "freeze", lambda: told.append(()))
    monkeypatch.setattr(ctypes, "CDLL", lambda _: Glibc())
    serve._settle()
    assert told == [(), (0,), (-3, 160 << 10)]
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    serve._settle()
    assert told[3:] == [()]
