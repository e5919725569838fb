"""Who may ask: hosts, tokens, and what every answer forbids."""

from __future__ import annotations

import asyncio
import os
import re
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from fastapi.testclient import TestClient

from sightline.api import create_app
from sightline.api.security import SECURE, Guard, is_loopback
from sightline.api.writes import LARGEST
from tests.api.test_openapi import ROUTES

if TYPE_CHECKING:
    from fastapi import FastAPI

TOKEN = "correct horse battery"  # noqa: S105
PATHS = ("/", "/api/health", "/api/images", "/api/openapi.json", "/api/nothing", "/assets/x.js")


@pytest.fixture(scope="module")
def guarded_app(api_store: Path) -> FastAPI:
    """A service that needs a token."""
    return create_app(api_store, token=TOKEN)


@pytest.fixture
def guarded(guarded_app: FastAPI) -> TestClient:
    """A client of it, as one on another machine, without cookies."""
    return TestClient(guarded_app, base_url="http://example.org")


IMAGE = "facade-00000.png"
JSON = {"content-type": "application/json"}
KINDS: list[tuple[str, str, int, dict[str, str]]] = [
    ("GET", "/api/health", 200, {}),
    ("GET", "/api/openapi.json", 200, {}),
    ("HEAD", "/api/health", 405, {}),
    ("OPTIONS", "/api/images", 405, {"Origin": "http://evil.example"}),
    ("GET", "/api/nothing", 404, {}),
    ("GET", "/assets/x.js", 404, {}),
    ("GET", "/api/images/gone.png", 404, {}),
    ("GET", "/api/images?limit=x", 422, {}),
    ("GET", "/api/health", 421, {"Host": "evil.example"}),
    ("POST", "/api/images", 405, {}),
    ("POST", "/api/review/events", 415, {}),
    ("POST", "/api/review/events", 403, {"Origin": "http://evil.example"}),
    ("POST", "/api/review/events", 413, {**JSON, "Content-Length": "999999999"}),
    ("POST", f"/api/similarity/{IMAGE}", 422, JSON),
    ("GET", "/api/export/leaderboard.csv", 200, {}),
    ("GET", "/api/export/study.yml", 200, {}),
    ("GET", f"/api/images/{IMAGE}/file", 200, {}),
    ("GET", f"/api/images/{IMAGE}/thumbnail", 200, {}),
    ("GET", f"/api/maps/{IMAGE}", 200, {}),
    ("GET", f"/api/maps/{IMAGE}/heatmap.png", 200, {}),
]


@pytest.mark.parametrize(
    ("method", "path", "status", "headers"), KINDS, ids=lambda one: str(one)[:40]
)
def test_every_answer_has_the_headers(
    client: TestClient, method: str, path: str, status: int, headers: dict[str, str]
) -> None:
    answer = client.request(method, path, headers=headers)
    assert answer.status_code == status
    assert {name: answer.headers[name] for name in SECURE} == SECURE
    assert not [name for name in answer.headers if name.startswith("access-control-")]
    assert "server" not in answer.headers


def test_pages_and_answers_that_are_not_sent_twice_have_the_headers(client: TestClient) -> None:
    tag = client.get("/api/study").headers["etag"]
    asked: list[tuple[str, dict[str, str]]] = [("/", {}), ("/deep/in/the/app", {})]
    for path, headers in [*asked, ("/api/study", {"If-None-Match": tag})]:
        answer = client.get(path, headers=headers)
        assert (answer.status_code == 304) == bool(headers)
        assert {name: answer.headers[name] for name in SECURE} == SECURE


def test_no_script_but_the_apps_own_may_run() -> None:
    rules = dict(
        rule.strip().split(" ", 1) for rule in SECURE["Content-Security-Policy"].split(";")
    )
    assert rules["default-src"] == "'self'"
    assert "script-src" not in rules  # so that the default holds: no inline script, no eval
    assert {rules[name] for name in ("object-src", "base-uri", "frame-ancestors")} == {"'none'"}


# --- what is sent --------------------------------------------------------------------------------

SENDING = [(path, method) for path, method, about in ROUTES if "requestBody" in about]


def test_whatever_is_no_question_takes_a_body() -> None:
    asking = [(path, method) for path, method, _ in ROUTES if method == "get"]
    assert len(SENDING) + len(asking) == len(ROUTES)
    assert len(SENDING) >= 5


@pytest.mark.parametrize(("path", "method"), SENDING)
def test_what_takes_a_body_takes_json_from_here_and_of_a_size(
    client: TestClient, path: str, method: str
) -> None:
    url = re.sub(r"{\w+}", "x", path)

    def status(content: bytes = b"{}", **headers: str) -> tuple[int, str]:
        asked = JSON | {name.replace("_", "-"): value for name, value in headers.items()}
        answer = client.request(method, url, content=content, headers=asked)
        return answer.status_code, answer.json().get("field")

    for origin in ("http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1.evil"):
        assert status(Origin=origin) == (403, "Origin")
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        assert status(content_type=kind) == (415, "Content-Type")
    assert status(b" " * (LARGEST.get(path, 256 << 10) + 1)) == (413, "body")
    assert status(Origin="http://127.0.0.1")[0] in (404, 422)


# --- files ---------------------------------------------------------------------------------------

NAMED = [path for path, method, _ in ROUTES if method == "get" and "{" in path]


@pytest.mark.parametrize("path", NAMED)
def test_no_name_in_a_path_reaches_a_file(client: TestClient, path: str, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("a secret")
    outside = quote(str(tmp_path / "secret.txt"), safe="")
    for word in ("..%2fmanifest.json", "%2e%2e%2f%2e%2e%2fsecret.txt", outside, "%00", "C:%5cx"):
        answer = client.get(re.sub(r"{\w+}", word, path))
        assert answer.status_code in (404, 422), word
        assert b"a secret" not in answer.content


# --- nobody is told ------------------------------------------------------------------------------


def test_no_test_has_a_network() -> None:
    """So that whatever runs in tests (studies, reports, the service) is known to need none."""
    for host in ("192.0.2.1", "2001:db8::1", "example.org"):
        with pytest.raises(ConnectionRefusedError, match="no network"):
            socket.create_connection((host, 80), timeout=1)
    with socket.socket() as one, pytest.raises(ConnectionRefusedError):
        one.connect(("192.0.2.1", 80))
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname()).close()


def test_nothing_is_reported_whatever_the_environment_says(
    api_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FASTAPI_OTEL_AUTO_CONFIGURE", "true")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://192.0.2.1:4318")
    app: Any = create_app(api_store)
    kinds = ("tracing", "metrics", "logs", "auto_configure")
    assert {name: app._telemetry[name] for name in kinds} == dict.fromkeys(kinds, False)


def test_ray_reports_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from sightline.study.executors import ray_cluster

    monkeypatch.setattr(os, "environ", {**os.environ, "RAY_USAGE_STATS_ENABLED": "1"})
    ray_cluster._hush()  # before Ray is imported, which reads it
    assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"


# --- the page ------------------------------------------------------------------------------------

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text("utf-8")


def test_every_claim_of_the_page_has_a_test_that_is_there() -> None:
    lines = PAGE.partition("| Claim | Test |")[2].partition("\n\n")[0].splitlines()[2:]
    assert len(lines) > 20
    for line in lines:
        named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", line)
        assert named, line
        for file, name in named:
            assert re.search(rf"^def {name}\(", (ROOT / file).read_text("utf-8"), re.M), name


def test_the_page_tells_the_headers_as_they_are() -> None:
    lines = PAGE.partition("| Header | Value |")[2].partition("\n\n")[0]
    assert dict(re.findall(r"\| `([\w-]+)` \| `([^`]+)` \|", lines)) == SECURE
    assert len(SECURE) >= 6


def test_other_origins_are_allowed_nothing(client: TestClient) -> None:
    asked = {"Origin": "http://evil.example", "Access-Control-Request-Method": "GET"}
    answer = client.options("/api/images", headers=asked)
    assert answer.status_code == 405
    assert not [name for name in answer.headers if name.startswith("access-control-")]


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.0.1:8000", "localhost:1", "LOCALHOST", "[::1]:8000", "[::1]",
             "127.0.0.2:8000"],
)  # fmt: skip
def test_this_machine_is_let_in(client: TestClient, host: str) -> None:
    assert client.get("/api/health", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "localhost@evil.example", "",
     "127.0.0.1:80:80", "10.0.0.1"],
)  # fmt: skip
@pytest.mark.parametrize("path", ["/", "/api/health"])
def test_other_names_of_this_machine_are_not(client: TestClient, host: str, path: str) -> None:
    answer = client.get(path, headers={"Host": host})
    assert answer.status_code == 421
    assert answer.json()["field"] == "Host"


@pytest.mark.parametrize("path", PATHS)
def test_nothing_is_answered_without_the_token(guarded: TestClient, path: str) -> None:
    answer = guarded.get(path)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.headers["cache-control"] == "no-store"
    assert {name: answer.headers[name] for name in SECURE} == SECURE
    assert "token" in answer.text


@pytest.mark.parametrize(
    "header",
    ["", "Bearer", "Bearer ", f"Basic {TOKEN}", f"Bearer {TOKEN}x", "Bearer correct", TOKEN,
     f"Bearer {TOKEN.upper()}", "Bearer é"],
)  # fmt: skip
def test_a_wrong_token_is_refused(guarded: TestClient, header: str) -> None:
    answer = guarded.get("/api/health", headers={b"Authorization": header.encode()})
    assert answer.status_code == 401


def test_a_header_with_the_token_is_let_in(guarded: TestClient) -> None:
    for kind in ("Bearer", "bearer"):
        answer = guarded.get("/api/health", headers={"Authorization": f"{kind} {TOKEN}"})
        assert answer.status_code == 200
        assert "set-cookie" not in answer.headers
    assert guarded.get("/api/health").status_code == 401


def test_the_address_with_the_token_leads_to_one_without(guarded: TestClient) -> None:
    page = guarded.get("/images", params={"token": TOKEN, "sort": 'a"<b'})
    assert page.status_code == 200
    (url,) = set(re.findall(r'url=([^"]*)"', page.text))
    assert url == "/images?sort=a%22%3Cb"
    assert TOKEN not in page.text
    cookie = page.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert TOKEN not in cookie
    assert guarded.get("/api/health").status_code == 200  # by the cookie, which the client kept


def test_the_way_on_never_leaves_the_service(guarded: TestClient) -> None:
    answer = guarded.get("http://example.org//evil.example/x", params={"token": TOKEN})
    assert 'url=/evil.example/x"' in answer.text


def test_a_path_of_the_api_with_the_token_is_answered(guarded: TestClient) -> None:
    answer = guarded.get("/api/health", params={"token": TOKEN})
    assert answer.json()["status"] == "ok"
    assert "set-cookie" in answer.headers


def test_a_cookie_of_another_token_is_refused(api_store: Path, guarded: TestClient) -> None:
    page = guarded.get("/", params={"token": TOKEN})
    name, _, value = page.headers["set-cookie"].partition(";")[0].partition("=")
    other = TestClient(create_app(api_store, token="another one"), base_url="http://example.org")  # noqa: S106
    assert other.get("/api/health", headers={"Cookie": f"{name}={value}"}).status_code == 401
    assert guarded.get("/api/health", headers={"Cookie": "\x01=;;;"}).status_code in (200, 401)


def test_an_answer_that_is_kept_is_guarded_as_well(guarded: TestClient) -> None:
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    tag = guarded.get("/api/study", headers=bearer).headers["etag"]
    assert guarded.get("/api/study", headers={"If-None-Match": tag}).status_code == 401
    assert guarded.get("/api/study").status_code == 401


def test_what_is_cut_off_by_the_end_of_the_service_is_told_so() -> None:
    sent: list[Any] = []

    async def cut_off(scope: Any, receive: Any, send: Any) -> None:
        raise asyncio.CancelledError

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": "/", "headers": [(b"host", b"localhost")]}
    asyncio.run(Guard(cut_off)(scope, None, send))  # type: ignore[arg-type]
    assert (sent[0]["status"], len(sent)) == (503, 2)


def test_which_hosts_are_this_machine() -> None:
    assert is_loopback("127.5.5.5")
    assert not is_loopback("localhost.example.org")
    assert not is_loopback("")
