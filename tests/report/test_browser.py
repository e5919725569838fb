"""The page in a browser: no errors, nothing fetched, sorts, downloads, prints, open to all.

Chromium must be installed (Debian: `apt install chromium`). Where it is not, these tests are left
out, and say so; in CI they fail.
"""

from __future__ import annotations

import base64
import os
import re
import shutil
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.chromium import LACKING, launch

if TYPE_CHECKING:
    from collections.abc import Iterator

WIDTHS = {"wide": 1400, "narrow": 420}


def _needed() -> str:
    """Say what is lacking; empty where all is there."""
    if LACKING:
        return LACKING
    for name in ("playwright", "axe_playwright_python"):
        if find_spec(name) is None:
            return f"{name} is not installed: pip install 'sightline[dev]'"
    return ""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Yield Debian's Chromium."""
    why = _needed()
    if why and "CI" in os.environ:
        pytest.fail(why)
    if why:
        pytest.skip(why)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as player:
        opened = launch(player)
        yield opened
        opened.close()


class Visit:
    """A page in the browser, with what it said and asked for."""

    def __init__(self, browser: Any, page: Path, scheme: str = "light", width: int = 1400) -> None:
        self.context = browser.new_context(
            color_scheme=scheme, viewport={"width": width, "height": 900}, accept_downloads=True
        )
        self.page = self.context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(page.as_uri())


@pytest.fixture
def visit(browser: Any, demo_report: Path) -> Iterator[Visit]:
    found = Visit(browser, demo_report / "index.html")
    yield found
    found.context.close()


# No colour depends on the width: the dark page is looked at once.
@pytest.mark.parametrize(
    ("scheme", "width"), [("light", "wide"), ("dark", "wide"), ("light", "narrow")]
)
def test_the_page_opens_without_errors_and_breaks_no_serious_rule(
    browser: Any, demo_report: Path, scheme: str, width: str
) -> None:
    axe = import_module("axe_playwright_python.sync_playwright").Axe()
    visit = Visit(browser, demo_report / "index.html", scheme, WIDTHS[width])
    try:
        found = axe.run(visit.page)
        broken = [
            (one["id"], one["impact"], [node["html"][:200] for node in one["nodes"][:3]])
            for one in found.response["violations"]
            if one["impact"] in ("serious", "critical")
        ]
        assert broken == []
        assert visit.said == []
        assert all(address.startswith(("file:", "data:")) for address in visit.asked)
        page = visit.page.evaluate("document.documentElement.scrollWidth")
        assert page <= WIDTHS[width], "the page itself must not scroll sideways"
    finally:
        visit.context.close()


def test_one_file_is_enough(browser: Any, demo_report: Path, tmp_path: Path) -> None:
    alone = tmp_path / "index.html"
    shutil.copy(demo_report / "index.html", alone)
    visit = Visit(browser, alone)
    pictures = visit.page.evaluate(
        "Array.from(document.images).every(one => one.complete && one.naturalWidth > 100)"
    )
    assert pictures
    assert visit.page.locator("figure svg[role=img]").count() >= 12
    assert visit.said == []
    assert [address for address in visit.asked if address.startswith("file:")] == [alone.as_uri()]
    visit.context.close()


def test_a_table_sorts_by_click_and_by_key(visit: Visit) -> None:
    table = visit.page.locator("#leaderboard table")
    head = table.locator("thead th", has_text="iou@90")

    def column() -> list[float]:
        cells = table.locator("tbody tr td:nth-child(3)")
        return [float(cell.get_attribute("data-value") or "nan") for cell in cells.all()]

    before = column()
    assert before == sorted(before, reverse=True)
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    head.locator("button").focus()
    visit.page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    assert column() == sorted(before)
    first = table.locator("thead th").first
    first.locator("button").press("Space")
    assert head.get_attribute("aria-sort") is None
    names = table.locator("tbody th").evaluate_all("all => all.map(one => one.firstChild.data)")
    words = [name.split() for name in names]
    assert [word[0] for word in words] == sorted(word[0] for word in words)
    vit = [name for name in names if name.startswith("demo/vit ")]
    assert vit == sorted(vit)
    first.locator("button").click()
    turned = table.locator("tbody th").evaluate_all("all => all.map(one => one.firstChild.data)")
    assert turned == names[::-1]


def test_chance_stays_last_when_a_table_is_sorted(visit: Visit) -> None:
    table = visit.page.locator("#table-1 table")
    for head in table.locator("thead button").all():
        for _ in range(2):
            head.click()
            assert table.locator("tbody tr").last.locator("th").inner_text() == "Chance"


def test_the_mode_can_be_turned_and_figures_stay_on_white(visit: Visit) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    light = visit.page.evaluate(ground)
    button = visit.page.get_by_role("button", name="Dark mode")
    button.click()
    assert visit.page.evaluate(ground) != light
    assert visit.page.locator("#theme").inner_text() == "Light mode"
    paper = "getComputedStyle(document.querySelector('.paper')).backgroundColor"
    assert visit.page.evaluate(paper) == "rgb(255, 255, 255)"
    visit.page.locator("#theme").press("Enter")
    assert visit.page.evaluate(ground) == light


def test_downloads_are_the_files(visit: Visit, demo_report: Path) -> None:
    figure = visit.page.locator("#figure-2a")
    for ending in ("PNG", "SVG", "PDF", "CSV"):
        link = figure.locator(".downloads a", has_text=ending)
        assert (link.get_attribute("href") or "").startswith("data:")
        with visit.page.expect_download() as waiting:
            link.click()
        name = waiting.value.suggested_filename
        assert name == f"roc_curves.{ending.lower()}"
        assert Path(waiting.value.path()).read_bytes() == (demo_report / name).read_bytes()
    assert figure.locator("a[download$='.svg']").count() == 1


def test_the_page_prints(visit: Visit) -> None:
    visit.page.emulate_media(media="print")
    assert not visit.page.locator("nav.contents").is_visible()
    assert not visit.page.locator(".downloads").first.is_visible()
    session = visit.context.new_cdp_session(visit.page)
    made = session.send("Page.printToPDF", {"preferCSSPageSize": True, "printBackground": True})
    content = base64.b64decode(made["data"])
    assert content.startswith(b"%PDF")
    assert len(re.findall(rb"/Type\s*/Page\b", content)) >= 10
