"""The service as a whole: what it refuses, how it tells, and the app that it serves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from fastapi.testclient import TestClient

from sightline.api import create_app
from sightline.api.app import MODULES
from sightline.api.problems import MEDIA_TYPE, unexpected
from sightline.api.schemas import Problem
from sightline.api.security import SECURE
from sightline.api.static_app import BuiltApp
from sightline.core import InputError
from tests.scripts import printed_by

if TYPE_CHECKING:
    from pathlib import Path

    from fastapi import FastAPI


def problem(answer: object) -> Problem:
    """Return the problem that an answer tells."""
    headers, status = answer.headers, answer.status_code  # type: ignore[attr-defined]
    found = Problem.model_validate(answer.json())  # type: ignore[attr-defined]
    assert headers["content-type"] == MEDIA_TYPE
    assert headers["cache-control"] == "no-store"
    assert found.status == status
    return found


def test_a_folder_without_a_study_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no study is stored there"):
        create_app(tmp_path)


def test_unknown_routes_are_problems(client: TestClient) -> None:
    for path in ("/api/nothing", "/api", "/api/", "/api/images/", "/api/images/a/b/c"):
        found = problem(client.get(path))
        assert (found.status, found.title) == (404, "Not Found"), path
        assert path in found.detail


def test_other_methods_are_refused_and_told_which_fit(client: TestClient) -> None:
    answer = client.delete("/api/images")
    assert problem(answer).status == 405
    assert answer.headers["allow"] == "GET"
    assert "DELETE" in answer.json()["detail"]


def test_a_misspelt_word_does_not_pass_unseen(client: TestClient) -> None:
    found = problem(client.get("/api/images", params={"percentil": 80}))
    assert (found.status, found.field) == (422, "percentil")
    assert "did you mean 'percentile'?" in found.detail


def test_a_wrong_value_names_its_field_and_what_was_seen(client: TestClient) -> None:
    found = problem(client.get("/api/images", params={"percentile": "100"}))
    assert (found.status, found.field) == (422, "percentile")
    assert "less than 100" in found.detail
    assert "'100'" in found.detail
    union = problem(client.get("/api/images", params={"layer": "first"}))
    assert union.field == "layer"
    assert "'best', 'last' or 'split'" in union.detail


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "0", "100", "1e400", "-3", "x"])
def test_percentiles_lie_between_0_and_100(client: TestClient, text: str) -> None:
    assert problem(client.get("/api/images", params={"percentile": text})).field == "percentile"


def test_what_breaks_is_told_without_its_inner_life(api_store: Path) -> None:
    app = create_app(api_store)

    @app.get("/api/broken")
    def broken() -> None:
        raise RuntimeError("secret")

    with TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False) as asked:
        answer = asked.get("/api/broken")
    found = problem(answer)
    assert {name: answer.headers[name] for name in SECURE} == SECURE
    assert found.status == 500
    assert "secret" not in found.detail
    assert "RuntimeError" in found.detail


def test_a_path_forges_no_line_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    scope = {"type": "http", "method": "GET", "path": "/api/a\nERROR all is lost"}
    unexpected(scope, RuntimeError("b"))
    (line,) = caplog.messages
    assert line == r"GET '/api/a\nERROR all is lost' failed"


def test_no_pages_that_load_scripts_from_elsewhere(api: FastAPI, client: TestClient) -> None:
    assert api.docs_url is None
    assert api.redoc_url is None
    assert client.get("/api/openapi.json").json()["info"]["title"] == "Sightline"


def test_every_module_of_routes_is_listed() -> None:
    import pkgutil

    import sightline.api.routes as routes

    there = {one.name for one in pkgutil.iter_modules(routes.__path__)}
    assert {name for name in there if not name.startswith("_")} == set(MODULES)


def test_neither_the_library_nor_help_needs_the_web_packages() -> None:
    code = (
        "import sys, sightline, sightline.cli.app, sightline.api; "
        "print([n for n in ('fastapi', 'uvicorn', 'starlette') if n in sys.modules])"
    )
    assert printed_by(code).strip() == "[]"


# --- the built app -------------------------------------------------------------------------------

SCRIPT = "assets/index-a1b2.js"


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """A folder as `npm run build` leaves it, and a file beside it."""
    folder = tmp_path / "static"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html><title>App</title>")
    (folder / SCRIPT).write_text("let a = 1")
    (tmp_path / "secret.txt").write_text("secret")
    return folder


@pytest.fixture
def app_client(built: Path, api_store: Path, monkeypatch: pytest.MonkeyPatch) -> TestClient:
    """A client of the service with that app."""
    monkeypatch.setenv("SIGHTLINE_APP", str(built))
    return TestClient(create_app(api_store), base_url="http://127.0.0.1")


@pytest.mark.parametrize("path", ["/", "/images", "/image/facade-00001.png", "/compare/a/b"])
def test_the_page_is_served_under_every_path_of_the_app(app_client: TestClient, path: str) -> None:
    answer = app_client.get(path)
    assert answer.status_code == 200
    assert "<title>App</title>" in answer.text
    assert answer.headers["content-type"].startswith("text/html")
    assert answer.headers["cache-control"] == "no-cache"


def test_built_files_are_kept_for_ever(app_client: TestClient) -> None:
    answer = app_client.get(f"/{SCRIPT}")
    assert answer.text == "let a = 1"
    assert answer.headers["content-type"].startswith("text/javascript")
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"


def test_a_built_file_that_is_gone_is_not_the_page(app_client: TestClient) -> None:
    assert problem(app_client.get("/assets/index-old.js")).status == 404


def test_the_page_is_not_sent_twice(app_client: TestClient) -> None:
    tag = app_client.get("/").headers["etag"]
    assert app_client.get("/", headers={"If-None-Match": tag}).status_code == 304


def test_a_new_build_is_seen(app_client: TestClient, built: Path) -> None:
    import os

    before = app_client.get("/").headers["etag"]
    (built / "index.html").write_text("<!doctype html><title>New</title>")
    os.utime(built / "index.html", ns=(1, 1))
    answer = app_client.get("/")
    assert "New" in answer.text
    assert answer.headers["etag"] != before


@pytest.mark.parametrize(
    "path", ["/../secret.txt", "/%2e%2e/secret.txt", "/assets/../../secret.txt", "//secret.txt"]
)
def test_no_file_beside_the_app_can_be_reached(app_client: TestClient, path: str) -> None:
    assert "secret" not in app_client.get(path).text.replace("secret.txt", "")


def test_the_app_is_only_read(app_client: TestClient) -> None:
    assert problem(app_client.post("/")).status == 405
    assert app_client.head("/").status_code == 200


def test_without_a_built_app_a_page_says_how_to_build_it(
    api_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIGHTLINE_APP", str(tmp_path))
    with TestClient(create_app(api_store), base_url="http://127.0.0.1") as asked:
        page = asked.get("/")
        assert page.status_code == 200
        assert "make web" in page.text
        assert asked.get("/images").status_code == 404
        assert asked.get("/api/health").json()["status"] == "ok"


def test_the_app_lies_in_the_package_unless_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SIGHTLINE_APP", raising=False)
    assert BuiltApp().folder.parts[-3:] == ("sightline", "api", "static")
