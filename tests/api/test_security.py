"""Who may ask: hosts, tokens, and what every answer forbids."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any

import pytest
from fastapi.testclient import TestClient

from sightline.api import create_app
from sightline.api.security import SECURE, Guard, is_loopback

if TYPE_CHECKING:
    from pathlib import Path

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


@pytest.mark.parametrize("path", PATHS)
def test_every_answer_has_the_headers(client: TestClient, path: str) -> None:
    headers = client.get(path).headers
    assert {name: headers[name] for name in SECURE} == SECURE
    assert not [name for name in headers if name.startswith("access-control-")]


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
