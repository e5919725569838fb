"""Tags, answers that are not sent or made twice, and a memory with bounds."""

from __future__ import annotations

import asyncio
import shutil
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st

from sightline.api import answer_cache, create_app
from sightline.api.answer_cache import AnswerCache, CachedAnswers, Encoded
from sightline.api.state import Service, room_for, store_version

if TYPE_CHECKING:
    from pathlib import Path

URL = "/api/images?limit=3&sort=area"


@pytest.fixture
def copy(api_store: Path, tmp_path: Path) -> Path:
    """A store to change."""
    return shutil.copytree(api_store, tmp_path / "copy")


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the service look at its store with every request."""
    monkeypatch.setattr(Service, "due", lambda _: True)


def test_an_answer_has_a_tag_and_is_not_sent_twice(client: TestClient) -> None:
    first = client.get(URL)
    assert first.headers["cache-control"] == "private, no-cache"
    again = client.get(URL, headers={"If-None-Match": f'"x", W/{first.headers["etag"]}'})
    assert again.status_code == 304
    assert again.content == b""
    assert again.headers["etag"] == first.headers["etag"]
    assert client.get(URL, headers={"If-None-Match": '"other"'}).content == first.content


def test_tags_follow_the_url_and_not_the_order_of_its_words(client: TestClient) -> None:
    tag = client.get(URL).headers["etag"]
    assert client.get("/api/images?sort=area&limit=3").headers["etag"] == tag
    for other in ("/api/images?limit=4&sort=area", "/api/images?limit=3", "/api/metrics"):
        assert client.get(other).headers["etag"] != tag


def test_of_a_word_that_is_there_twice_the_last_one_counts(client: TestClient) -> None:
    for limits in ((2, 5), (5, 2)):
        words = "&".join(f"limit={limit}" for limit in limits)
        assert client.get(f"/api/images?{words}").json()["limit"] == limits[-1]


def test_only_the_current_version_may_be_kept_for_ever(client: TestClient) -> None:
    version = client.get("/api/progress").json()["version"]
    plain = client.get(URL)
    current = client.get(f"{URL}&v={version}")
    assert current.headers["cache-control"] == "private, max-age=31536000, immutable"
    assert current.headers["etag"] == plain.headers["etag"]
    assert current.content == plain.content
    assert client.get(f"{URL}&v=old").headers["cache-control"] == "private, no-cache"


def test_pictures_have_a_version_of_their_own(client: TestClient) -> None:
    image = client.get("/api/images").json()["items"][0]["image"]
    version = client.get("/api/study").json()["pictures"]
    for what in ("thumbnail", "file"):
        answer = client.get(f"/api/images/{image}/{what}", params={"v": version})
        assert answer.headers["cache-control"].endswith("immutable")
    other = client.get(f"/api/images/{image}", params={"v": version})
    assert other.headers["cache-control"] == "private, no-cache"


def test_what_changes_by_itself_is_not_kept(client: TestClient) -> None:
    for path in ("/api/health", "/api/progress"):
        assert "etag" not in client.get(path).headers


def test_problems_have_no_tag(client: TestClient) -> None:
    answer = client.get("/api/images?sort=nothing")
    assert answer.status_code == 422
    assert "etag" not in answer.headers


def test_a_kept_answer_is_the_same_to_the_byte(client: TestClient) -> None:
    one, two = client.get(URL), client.get(URL)
    assert one.content == two.content
    same = ("etag", "content-type", "content-length")
    assert [one.headers[name] for name in same] == [two.headers[name] for name in same]


def test_answers_follow_a_store_that_grows(copy: Path, at_once: None) -> None:
    moved = sorted((copy / "scores").iterdir())[-1]
    away = copy.parent / moved.name
    moved.rename(away)
    with TestClient(create_app(copy), base_url="http://127.0.0.1") as asked:
        before = asked.get("/api/study")
        assert asked.get("/api/progress").json()["finished"] is False
        away.rename(moved)
        after = asked.get("/api/study", headers={"If-None-Match": before.headers["etag"]})
        assert after.status_code == 200
        assert after.headers["etag"] != before.headers["etag"]
        assert sum(row[-1] for row in after.json()["plan"]["rows"]) == (
            1 + sum(row[-1] for row in before.json()["plan"]["rows"])
        )
        assert asked.get("/api/progress").json()["finished"] is True


@pytest.mark.parametrize("looks", [False, True])
def test_parts_may_be_deleted_while_a_store_is_served(
    copy: Path, client: TestClient, monkeypatch: pytest.MonkeyPatch, looks: bool
) -> None:
    """Whether the service looks at its store again before the next answer, or not."""
    monkeypatch.setattr(Service, "due", lambda _: looks)
    with TestClient(create_app(copy), base_url="http://127.0.0.1") as asked:
        assert asked.get("/api/leaderboard").json() == client.get("/api/leaderboard").json()
        assert list((copy / "cache").glob("*.parquet"))
        for table in ("leaderboard?metric=coverage", "layers", "percentiles", "ranking", "images"):
            shutil.rmtree(copy / "cache", ignore_errors=True)
            answer = asked.get(f"/api/{table}")
            assert answer.status_code == 200, answer.text
            assert answer.json() == client.get(f"/api/{table}").json()


def test_a_store_that_breaks_leaves_the_last_moment_and_says_so(copy: Path, at_once: None) -> None:
    with TestClient(create_app(copy), base_url="http://127.0.0.1") as asked:
        assert asked.get(URL).status_code == 200
        (copy / "manifest.json").write_text("{")
        assert asked.get(URL).status_code == 200
        assert "must be JSON" in asked.get("/api/health").json()["missing"]["store"]


def test_versions_change_with_what_answers_are_made_of(copy: Path) -> None:
    versions = [store_version(copy)]
    (copy / "lock").write_text("{}")
    (copy / "report").mkdir()
    (copy / "cache" / "lock").write_text("{}")  # what is derived of the scores changes no answer
    (copy / "cache" / "scores-000000.parquet").write_text("")
    assert store_version(copy) == versions[0]
    (copy / "reviews.sqlite").write_text("")
    versions.append(store_version(copy))
    (copy / "detection" / "other").mkdir()
    versions.append(store_version(copy))
    for folder in ("scores", "region_scores", "checks", "maps"):
        (copy / folder / "more.parquet").write_text("")
        versions.append(store_version(copy))
    assert len(set(versions)) == 7
    assert store_version(copy) == versions[-1]


def test_versions_tell_stores_apart(copy: Path, api_store: Path) -> None:
    assert store_version(copy) != store_version(api_store)


# --- the memory ----------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5000)), max_size=60))
def test_the_memory_never_grows_beyond_its_bound(steps: list[tuple[int, int]]) -> None:
    cache = AnswerCache(most=12_000)
    for key, size in steps:
        answer = Encoded(200, (), b"x" * size)
        cache.put(str(key), answer)
        assert cache.size <= cache.most
        assert cache.get(str(key)) is answer
    assert cache.size == sum(one.size for one in cache._found.values())


def test_what_is_kept_of_a_store_has_a_bound_in_bytes_too() -> None:
    kept, made = room_for(100, most_bytes=50_000), []

    def make(name: str) -> dict[str, Any]:
        made.append(name)
        return {"scores": np.zeros(2000)}

    for name in ("a", "b", "a", "c", "a", "b"):  # two have room
        kept.get(name, partial(make, name))
    assert made == ["a", "b", "c", "b"]
    assert kept.get("large", lambda: np.zeros(10_000)).size == 10_000
    assert kept.peek("large") is not None
    assert len(kept) == 1
    few = room_for(3)
    for name in "abcd":
        few.get(name, partial(int, 1))
    assert [name for name in "abcd" if few.peek(name)] == ["b", "c", "d"]


def test_what_was_used_last_stays() -> None:
    cache = AnswerCache(most=3 * 1024 + 30)
    for key in "abc":
        cache.put(key, Encoded(200, (), b"x" * 10))
    assert cache.get("a") is not None
    cache.put("d", Encoded(200, (), b"x" * 10))
    assert [key for key in "abcd" if cache.get(key)] == ["a", "c", "d"]


def test_large_answers_push_out_no_small_ones(
    api_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer_cache, "_BULKY", 5000)
    monkeypatch.setattr(answer_cache, "_MOST_BULKY", 20_000)

    async def ask(by: CachedAnswers, key: str, size: int) -> None:
        route = Counting(body=b"x" * size)
        route.may.set()
        by.app = route
        await by.make(key, {}, None, None)  # type: ignore[arg-type]

    async def go() -> CachedAnswers:
        by = CachedAnswers(Counting(), Service(api_store))
        await ask(by, "small", 10)
        for number in range(9):
            await ask(by, f"large {number}", 8000)
        return by

    by = asyncio.run(go())
    assert by.cache.get("small") is not None
    assert len(by.cache) == 1
    assert by.bulky.get("large 8") is not None
    assert by.bulky.get("large 0") is None
    assert by.bulky.size <= 20_000


class Counting:
    """A route that counts how often it runs, and answers once it may."""

    def __init__(self, status: int = 200, body: bytes = b"made", parts: int = 1) -> None:
        self.runs, self.may = 0, asyncio.Event()
        self.status, self.body, self.parts = status, body, parts

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.runs += 1
        await self.may.wait()
        if self.status == 0:
            raise RuntimeError("broken")
        await send({"type": "http.response.start", "status": self.status, "headers": []})
        for place in range(self.parts):
            more = place < self.parts - 1
            await send({"type": "http.response.body", "body": self.body, "more_body": more})


async def ask(middleware: CachedAnswers) -> tuple[int, bytes]:
    """Return status and body of an answer."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": "/api/x", "query_string": b"", "headers": []}
    await middleware(scope, None, send)  # type: ignore[arg-type]
    assert [one["type"] for one in sent].count("http.response.start") == 1
    return sent[0]["status"], b"".join(one.get("body", b"") for one in sent[1:])


async def ask_together(
    middleware: CachedAnswers, route: Counting, count: int = 5
) -> list[tuple[int, bytes] | BaseException]:
    """Return the answers to several that ask before there is one."""
    asked = [asyncio.create_task(ask(middleware)) for _ in range(count)]
    while not route.runs:
        await asyncio.sleep(0)
    for _ in range(50):  # let the others come to where they wait
        await asyncio.sleep(0)
    route.may.set()
    return await asyncio.gather(*asked, return_exceptions=True)


@pytest.fixture
def service(api_store: Path, monkeypatch: pytest.MonkeyPatch) -> Service:
    """A service that does not look again."""
    monkeypatch.setattr(Service, "due", lambda _: False)
    return Service(api_store)


def test_an_answer_is_made_once_for_all_that_wait(service: Service) -> None:
    async def run() -> None:
        route = Counting()
        middleware = CachedAnswers(route, service)
        assert await ask_together(middleware, route) == [(200, b"made")] * 5
        assert await ask(middleware) == (200, b"made")
        assert route.runs == 1
        assert len(middleware.cache) == 1

    asyncio.run(run())


def test_a_problem_is_shared_but_not_kept(service: Service) -> None:
    async def run() -> None:
        route = Counting(status=404)
        middleware = CachedAnswers(route, service)
        assert await ask_together(middleware, route) == [(404, b"made")] * 5
        assert route.runs == 1
        assert len(middleware.cache) == 0
        await ask(middleware)
        assert route.runs == 2

    asyncio.run(run())


def test_an_error_reaches_each_that_asked(service: Service) -> None:
    async def run() -> None:
        route = Counting(status=0)
        middleware = CachedAnswers(route, service)
        found = await ask_together(middleware, route)
        assert all(isinstance(one, RuntimeError) for one in found)
        assert not middleware._under_way

    asyncio.run(run())


def test_what_is_too_large_is_passed_on_and_not_kept(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer_cache, "_MOST_EACH", 10)

    async def run() -> None:
        route = Counting(body=b"1234567", parts=4)
        middleware = CachedAnswers(route, service)
        assert await ask_together(middleware, route, 3) == [(200, b"1234567" * 4)] * 3
        assert len(middleware.cache) == 0

    asyncio.run(run())
