"""The app in a browser: the real command serves the fixture store, Chromium shows it.

Chromium must be installed (Debian: `apt install chromium`) and the app built (`make web`). Where
one is missing these tests are left out, and say so; in CI they fail. `SIGHTLINE_APP` names another
folder of a built app.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from tests.chromium import LACKING, launch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WIDE = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}
SERVE = "from sightline.cli import main; main()"
PATIENCE_MS = 30_000


class Opens(Protocol):
    """Opens a path of the app in a page and waits until nothing is being loaded."""

    def __call__(self, path: str, page: Any = None) -> Any: ...


def needed() -> str:
    """Say what is lacking, for which a module is left out; in CI none is, and its tests fail."""
    return "" if "CI" in os.environ else _lacking()


def _lacking() -> str:
    """Say what is lacking; empty where all is there."""
    if LACKING:
        return LACKING
    for name in ("playwright", "axe_playwright_python", "fastapi", "uvicorn"):
        if find_spec(name) is None:
            return f"{name} is not installed: pip install 'sightline[dev]'"
    folder = import_module("sightline.api.static_app").app_folder()
    return "" if (folder / "index.html").is_file() else "the app is not built: make web"


def must_have_all() -> None:
    """Leave the test out, or fail in CI, where something is lacking."""
    why = _lacking()
    if why and "CI" in os.environ:
        pytest.fail(why)
    if why:
        pytest.skip(why)


@pytest.fixture(scope="session")
def app_url(served_store: Path) -> Iterator[str]:
    """The address of the app, served by `sightline serve` for all tests of a process."""
    must_have_all()
    with serving(served_store) as address:
        yield address


@contextmanager
def serving(store: Path, *more: str) -> Iterator[str]:
    """Serve a store with the real command, at any free port; yield the address."""
    words = ["serve", str(store), *more, "--port", "0", "--no-open", "--no-prepare"]
    command = [sys.executable, "-c", SERVE, *words]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(command, **pipes) as run:
        try:
            yield address_of(run)
        finally:
            run.terminate()
            run.wait(timeout=20)


def address_of(run: subprocess.Popen[str]) -> str:
    """Return the address that the command prints once it listens."""
    said = ""
    for line in run.stdout or ():
        said += line.strip()
        found = re.search(r"http://127\.0\.0\.1:\d+", said)
        if found:
            return found[0]
    raise RuntimeError(f"sightline serve ended: {said}")


@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    """Chromium, for the tests of this folder: each page has a context of its own."""
    must_have_all()
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as player:
        opened = launch(player)
        yield opened
        opened.close()


@pytest.fixture
def said() -> list[str]:
    """What pages complained about; a test that means to cause it clears the list."""
    return []


def new_page(browser: Any, said: list[str], **options: Any) -> Any:
    """Return a page in a context of its own, whose complaints are written down."""
    context = browser.new_context(accept_downloads=True, reduced_motion="reduce", **options)
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    page.on("console", lambda one: said.append(one.text) if one.type in ("error", "warning") else 0)
    page.on("pageerror", lambda error: said.append(str(error)))
    return page


@pytest.fixture
def page(browser: Any, said: list[str]) -> Iterator[Any]:
    """A page 1280 pixels wide; afterwards the browser must have had nothing to complain about."""
    found = new_page(browser, said, viewport=WIDE)
    yield found
    found.context.close()
    assert said == []


@pytest.fixture
def phone(browser: Any, said: list[str]) -> Iterator[Any]:
    """A page as wide as a phone, touched."""
    found = new_page(browser, said, viewport=PHONE, has_touch=True, is_mobile=True)
    yield found
    found.context.close()
    assert said == []


@pytest.fixture
def open_page(app_url: str, request: pytest.FixtureRequest) -> Opens:
    """Open a path of the app, in `page` unless another is given."""

    def opens(path: str, page: Any = None) -> Any:
        shown = page or request.getfixturevalue("page")
        shown.goto(app_url + path)
        wait_until_shown(shown)
        return shown

    return opens


def exporter(panel: Any) -> Any:
    """Return the button of a panel that opens what can be saved of it."""
    return panel.get_by_role("button", name=re.compile("^Export: ")).first


def save(page: Any, button: Any, what: str, folder: Path) -> Path:
    """Open a menu, choose what to save, and return the file."""
    button.click()
    with page.expect_download() as got:
        page.get_by_role("menuitem", name=what).click()
    path: Path = folder / got.value.suggested_filename
    got.value.save_as(path)
    return path


def wait_until_shown(page: Any) -> None:
    """Wait until the page has its heading and nothing is on its way."""
    from playwright.sync_api import expect

    expect(page.locator("main h1").first).to_be_visible()
    expect(page.locator(".spinner")).to_have_count(0)
    expect(page.locator(".stale")).to_have_count(0)
