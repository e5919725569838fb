"""What all pages share: the bar, the address, keys, help, themes, errors, files, weight."""

from __future__ import annotations

import csv
import io
import json
import re
import urllib.request
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest
from PIL import Image

from tests.e2e.conftest import WIDE, needed, new_page, wait_until_shown

if needed():
    pytest.skip(needed(), allow_module_level=True)

from playwright.sync_api import expect

if TYPE_CHECKING:
    from tests.e2e.conftest import Opens

PAGES = ("Gallery", "Compare", "Dashboard", "Detection", "Sparsity", "Checks", "Prototypes",
         "Study")  # fmt: skip


def answer(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=20) as got:  # noqa: S310
        return json.load(got)


def bar(page: Any) -> Any:
    return page.get_by_role("navigation", name="Pages")


def test_the_bar_names_the_pages_that_the_store_has(open_page: Opens, app_url: str) -> None:
    page = open_page("/study")
    expect(bar(page).get_by_role("link")).to_have_text(PAGES)
    study = answer(f"{app_url}/api/health")["study"]
    expect(page.get_by_role("banner").get_by_text(study, exact=True)).to_be_visible()


def test_pages_that_the_store_has_not_are_not_in_the_bar(page: Any, app_url: str) -> None:
    health = answer(f"{app_url}/api/health") | {
        "detection": [], "sparsity": False, "checks": [], "prototypes": []
    }  # fmt: skip
    page.route("**/api/health", lambda route: route.fulfill(json=health))
    page.goto(f"{app_url}/study")
    wait_until_shown(page)
    expect(bar(page).get_by_role("link")).to_have_text(["Gallery", "Compare", "Dashboard", "Study"])


def test_each_page_opens_from_the_bar_and_says_so(open_page: Opens) -> None:
    page = open_page("/study")
    for name in PAGES:
        bar(page).get_by_role("link", name=name, exact=True).click()
        expect(page).to_have_title(re.compile(rf"{name}.* · Sightline"))
        expect(page.get_by_role("heading", level=1)).to_have_count(1)
        expect(bar(page).locator("[aria-current=page]")).to_have_text(name)


def test_choices_travel_from_page_to_page(open_page: Opens) -> None:
    page = open_page("/study?model=demo/cnn&method=gradcam&percentile=80&zoom=3")
    rule, maps = {"percentile": "80"}, {"model": "demo/cnn", "method": "gradcam"}
    # Where all maps are shown, a choice of some would be a filter that nobody set there.
    for name, words in (("Gallery", maps | rule), ("Compare", maps | rule), ("Dashboard", rule)):
        bar(page).get_by_role("link", name=name).click()
        wait_until_shown(page)
        found = page.evaluate("Object.fromEntries(new URLSearchParams(location.search))")
        assert found.items() >= words.items()
        assert name != "Dashboard" or found == rule


def test_back_and_forward_lead_through_the_pages(open_page: Opens) -> None:
    page = open_page("/study")
    bar(page).get_by_role("link", name="Dashboard").click()
    expect(page.get_by_role("heading", level=1, name="Dashboard")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", level=1, name="Study")).to_be_visible()
    page.go_forward()
    expect(page.get_by_role("heading", level=1, name="Dashboard")).to_be_visible()


def test_a_path_that_is_no_page_says_so(open_page: Opens, page: Any, app_url: str) -> None:
    page.goto(f"{app_url}/nowhere")
    expect(page.get_by_text("There is no such page")).to_be_visible()
    page.get_by_role("link", name="To the gallery").click()
    expect(page.get_by_role("heading", level=1)).to_be_visible()


def test_an_error_is_told_in_the_words_of_the_service_and_can_be_tried_again(
    page: Any, app_url: str, said: list[str]
) -> None:
    problem = {"title": "Conflict", "status": 409, "detail": "the images have moved", "field": None}
    page.route("**/api/study", lambda route: route.fulfill(status=409, json=problem))
    page.goto(f"{app_url}/study")
    expect(page.get_by_role("alert")).to_contain_text("the images have moved")
    page.unroute("**/api/study")
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("heading", name="Provenance")).to_be_visible()
    said.clear()  # the browser writes that an answer was 409


def test_the_question_mark_shows_the_keys_that_work_here(open_page: Opens) -> None:
    page = open_page("/study")
    page.keyboard.press("?")
    help_box = page.get_by_role("dialog", name="Keys and words")
    expect(help_box).to_be_visible()
    expect(help_box).to_contain_text("go to Dashboard")
    expect(help_box).to_contain_text("Chance")
    page.keyboard.press("Escape")
    expect(help_box).to_be_hidden()
    page.get_by_role("button", name="Help: keys and words").click()
    expect(help_box).to_be_visible()
    help_box.get_by_role("button", name="Close").click()
    expect(help_box).to_be_hidden()


def test_keys_lead_to_pages_unless_turned_off(open_page: Opens) -> None:
    page = open_page("/study")
    page.keyboard.press("g")
    page.keyboard.press("d")
    expect(page.get_by_role("heading", level=1, name="Dashboard")).to_be_visible()
    page.keyboard.press("?")
    page.get_by_role("checkbox", name="Keys without Ctrl or Alt work").uncheck()
    page.get_by_role("button", name="Close").click()
    page.keyboard.press("g")
    page.keyboard.press("s")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect(page.get_by_role("heading", level=1, name="Dashboard")).to_be_visible()


def test_the_theme_follows_the_system_until_one_chooses_and_is_kept(open_page: Opens) -> None:
    page = open_page("/study")
    light, dark = "rgb(244, 246, 249)", "rgb(18, 23, 29)"
    body = page.locator("body")
    expect(body).to_have_css("background-color", light)
    page.emulate_media(color_scheme="dark")
    expect(body).to_have_css("background-color", dark)
    switch = page.get_by_role("button", name=re.compile("^Theme"))
    switch.click()
    expect(body).to_have_css("background-color", light)
    page.reload()
    expect(body).to_have_css("background-color", light)
    switch.click()
    page.emulate_media(color_scheme="light")
    expect(body).to_have_css("background-color", dark)


def test_the_keyboard_reaches_the_content_past_the_bar(open_page: Opens) -> None:
    page = open_page("/study")
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="To the content")
    expect(skip).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()


def test_nothing_is_asked_of_other_machines(open_page: Opens, page: Any, app_url: str) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for path in ("/", "/dashboard", "/study"):
        open_page(path)
    assert asked
    assert [url for url in asked if not url.startswith((app_url, "blob:", "data:"))] == []


def test_metrics_are_explained_from_the_table_of_metrics(open_page: Opens, app_url: str) -> None:
    about = next(
        one for one in answer(f"{app_url}/api/metrics")["metrics"] if one["name"] == "coverage"
    )
    page = open_page("/study")
    page.get_by_role("button", name=about["title"], exact=True).focus()
    tip = page.get_by_role("tooltip")
    for part in ("meaning", "chance", "limitation", "citation"):
        expect(tip).to_contain_text(about[part])
    page.keyboard.press("Escape")
    expect(tip).to_be_hidden()


def saved(page: Any, item: str) -> tuple[str, bytes]:
    """Return name and content of what the first menu of a figure saves."""
    page.get_by_role("button", name=re.compile("^Export")).first.click()
    with page.expect_download() as waiting:
        page.get_by_role("menuitem", name=item).click()
    return waiting.value.suggested_filename, waiting.value.path().read_bytes()


def test_a_figure_is_saved_as_svg_png_and_csv_in_light_colours(
    browser: Any, app_url: str, said: list[str]
) -> None:
    page = new_page(browser, said, viewport=WIDE, color_scheme="dark")
    page.goto(f"{app_url}/dashboard?view=layers")
    wait_until_shown(page)
    name, svg = saved(page, "Figure as SVG")
    assert name.endswith(".svg")
    drawing = ET.fromstring(svg)  # noqa: S314
    assert drawing[0].attrib["fill"] == "#ffffff"
    assert b"var(--" not in svg
    assert b"rgb(230, 235, 241)" not in svg  # the ink of the dark theme
    assert b"class=" not in svg
    assert len(list(drawing.iter("{http://www.w3.org/2000/svg}path"))) > 1
    words = {"".join(one.itertext()) for one in drawing.iter("{http://www.w3.org/2000/svg}text")}
    names = page.locator(".chart-frame").first.locator(".legend li").all_inner_texts()
    assert {*(one.strip() for one in names), "chance", "layer"} <= words
    assert page.locator(".chart-frame h3").first.inner_text() in words
    name, png = saved(page, "Figure as PNG")
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    assert picture.width == 2 * round(float(drawing.attrib["width"]))
    assert picture.getpixel((1, 1)) == (255, 255, 255)
    assert len(picture.getcolors(1 << 20) or ()) > 10
    name, table = saved(page, "Data as CSV")
    rows = list(csv.DictReader(io.StringIO(table.decode())))
    assert {"layer", "value", "chance"} <= set(rows[0])
    page.context.close()
    assert said == []


def test_the_numbers_of_a_figure_are_shown_as_a_table(open_page: Opens) -> None:
    page = open_page("/dashboard?view=layers")
    before = page.locator("svg.chart").count()
    page.get_by_role("button", name=re.compile("^Table")).first.click()
    numbers = page.get_by_role("region", name=re.compile("^Numbers of"))
    expect(numbers.locator("tbody tr").first).to_be_visible()
    expect(page.locator("svg.chart")).to_have_count(before - 1)


def test_a_chart_is_read_with_the_keyboard(open_page: Opens) -> None:
    page = open_page("/dashboard?view=layers")
    page.locator("svg.line-chart").first.focus()
    page.keyboard.press("ArrowRight")
    reading = page.locator(".readout")
    expect(reading).to_contain_text("layer 0")
    expect(reading).to_contain_text("chance")
    page.keyboard.press("Escape")
    expect(reading).to_have_count(0)
