"""A page whose files did not come says so, and comes when they do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.conftest import needed, wait_until_shown

if needed():
    pytest.skip(needed(), allow_module_level=True)

from playwright.sync_api import expect

if TYPE_CHECKING:
    from tests.e2e.conftest import Opens

SCRIPT = re.compile(r"/assets/dashboard-[^/]*\.js$")
STYLE = re.compile(r"/assets/dashboard-[^/]*\.css$")
SHARED = re.compile(r"/assets/charts-[^/]*\.js$")
"""What the page is made of: its script, its styles, and a script that it shares with others."""
PATH = "/dashboard?view=layers&metric=coverage"


def follow(page: Any, name: str) -> None:
    page.get_by_role("navigation", name="Pages").get_by_role("link", name=name, exact=True).click()


def block(page: Any, file: re.Pattern[str], how: str) -> None:
    """Let a file of the app not come: no network, or gone with the version that had it."""
    page.route(file, lambda route: route.abort() if how == "abort" else route.fulfill(status=404))


def expect_dashboard(page: Any) -> None:
    """Wait for the page as it should look, with the styles of its own."""
    expect(page.get_by_role("heading", level=1, name="Dashboard")).to_be_visible()
    wait_until_shown(page)
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(page.locator(".dashboard-bar")).to_have_css("display", "flex")


@pytest.mark.parametrize(
    ("file", "how"),
    [(SCRIPT, "abort"), (SCRIPT, "gone"), (SHARED, "abort"), (STYLE, "abort")],
    ids=["no network", "new version", "shared script", "styles"],
)
def test_a_page_whose_file_did_not_come_can_be_tried_again(
    open_page: Opens, said: list[str], file: re.Pattern[str], how: str
) -> None:
    page = open_page("/study?metric=coverage")
    block(page, file, how)
    follow(page, "Dashboard")
    expect(page.get_by_role("alert")).to_contain_text("The files of this page could not be loaded")
    page.unroute_all()
    page.get_by_role("button", name="Try again").click()
    expect_dashboard(page)
    expect(page).to_have_url(re.compile(r"/dashboard\?metric=coverage$"))
    said.clear()  # the browser writes that a file did not come


@pytest.mark.parametrize("file", [SCRIPT, STYLE], ids=["script", "styles"])
def test_a_page_whose_file_did_not_come_comes_when_it_is_opened_again(
    open_page: Opens, said: list[str], file: re.Pattern[str]
) -> None:
    page = open_page("/study")
    block(page, file, "abort")
    follow(page, "Dashboard")
    expect(page.get_by_role("alert")).to_be_visible()
    follow(page, "Study")
    expect(page.get_by_role("heading", level=1, name="Study")).to_be_visible()
    page.unroute_all()
    follow(page, "Dashboard")
    expect_dashboard(page)
    said.clear()


def test_while_the_service_does_not_answer_the_app_stays_and_says_so(
    open_page: Opens, said: list[str]
) -> None:
    page = open_page("/study")
    page.route(re.compile("/assets/|/api/"), lambda route: route.abort())
    follow(page, "Dashboard")
    expect(page.get_by_role("alert")).to_contain_text("The files of this page could not be loaded")
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("alert")).to_contain_text("The service does not answer")
    expect(page.get_by_role("navigation", name="Pages")).to_be_visible()
    page.unroute_all()
    page.get_by_role("button", name="Try again").click()
    expect_dashboard(page)
    said.clear()
