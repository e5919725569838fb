"""Each page, light, dark and narrow: axe-core finds nothing serious, nothing sticks out."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

from tests.e2e.conftest import PHONE, WIDE, needed, new_page, wait_until_shown

if needed():
    pytest.skip(needed(), allow_module_level=True)

from tests.e2e.test_shell import answer

PATHS = ("/", "/image/", "/compare", "/dashboard", "/detection", "/sparsity", "/checks",
         "/prototypes", "/study")  # fmt: skip
TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
LOOKS = [("light", WIDE), ("dark", WIDE), ("light", PHONE)]


def broken_rules(page: Any) -> list[tuple[str, str, list[str]]]:
    """Return the serious and critical rules that a page breaks, and where."""
    found = import_module("axe_playwright_python.sync_playwright").Axe().run(page)
    return [
        (one["id"], one["impact"], [node["html"][:200] for node in one["nodes"][:3]])
        for one in found.response["violations"]
        if one["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize(("scheme", "size"), LOOKS, ids=["light", "dark", "phone"])
@pytest.mark.parametrize("path", PATHS)
def test_the_page_breaks_no_serious_rule_and_fits_the_window(
    browser: Any, app_url: str, said: list[str], path: str, scheme: str, size: dict[str, int]
) -> None:
    if path == "/image/":
        path += answer(f"{app_url}/api/images?limit=1")["items"][0]["image"]
    page = new_page(browser, said, viewport=size, color_scheme=scheme)
    page.goto(app_url + path)
    wait_until_shown(page)
    assert broken_rules(page) == []
    assert page.evaluate(TOO_WIDE) <= 0
    page.context.close()
    assert said == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_help_menus_and_tips_break_no_serious_rule(
    browser: Any, app_url: str, said: list[str], scheme: str
) -> None:
    page = new_page(browser, said, viewport=WIDE, color_scheme=scheme)
    page.goto(f"{app_url}/study")
    wait_until_shown(page)
    page.get_by_role("button", name="Export").first.click()
    page.get_by_role("menu").wait_for()
    assert broken_rules(page) == []
    page.keyboard.press("Escape")
    page.locator(".tip button").first.focus()
    page.get_by_role("tooltip").wait_for()
    assert broken_rules(page) == []
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    page.get_by_role("dialog").wait_for()
    assert broken_rules(page) == []
    page.context.close()
    assert said == []
