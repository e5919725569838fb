"""The page of prototypes: what was found, prototypes with their images, one image changed live."""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.e2e.conftest import PHONE, needed, new_page, save, wait_until_shown

if needed():
    pytest.skip(needed(), allow_module_level=True)

from playwright.sync_api import expect

from tests.e2e.test_axe import TOO_WIDE, broken_rules
from tests.e2e.test_shell import answer

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.conftest import Opens

API = "/api/prototypes/demo"
IMAGE = "facade-00003.png"


def asked(url: str) -> dict[str, str]:
    return {name: found[0] for name, found in parse_qs(urlsplit(url).query).items()}


def live(page: Any, app_url: str, steps: list[dict[str, Any]], **words: Any) -> dict[str, Any]:
    """Return what the service says of the same changes."""
    body = {"image": IMAGE, "steps": steps} | words
    found: dict[str, Any] = page.request.post(f"{app_url}{API}/live", data=body).json()
    return found


def shows(page: Any, told: dict[str, Any]) -> None:
    """See that the page has the three similarities and pictures of an answer."""
    for copy in ("original", "focused", "dual"):
        expect(page.locator(f"[data-copy={copy}]")).to_have_text(f"{told[copy]:.3f}")
    pictures = page.locator(".prototypes-frame img")
    for place, copy in enumerate(("original", "focused", "dual")):
        expect(pictures.nth(place)).to_have_attribute("src", told[f"{copy}_png"])
    expect(page.locator(".prototypes-said")).to_have_text(told["sentence"])


def test_the_overview_leads_from_a_cell_to_a_prototype_to_an_image(
    open_page: Opens, app_url: str, tmp_path: Path
) -> None:
    told, lines = answer(f"{app_url}{API}"), answer(f"{app_url}{API}/prototypes")["lines"]
    page = open_page("/")
    page.keyboard.press("g")
    page.keyboard.press("o")
    wait_until_shown(page)
    for text in (told["premise"]["sentence"], told["natures"]["sentence"], *told["cautions"]):
        expect(page.get_by_text(text)).to_be_visible()
    chart = page.get_by_role("img", name=re.compile("^Prototypes, energy relevance"))
    one = told["relevance"][0]
    expect(chart).to_have_attribute("aria-label", re.compile(f"chance {one['chance']:.2f}"))
    page.get_by_role("radio", name="mask relevance").check()
    expect(page).to_have_url(re.compile("measure=mask_relevance"))
    table = page.locator("svg.heat-table")
    drawn = [line for line in lines if line["drops"]]
    expect(table).to_have_attribute("aria-label", re.compile(f"{len(drawn)} by 2"))
    first = max(drawn, key=lambda line: max(drop["difference"] for drop in line["drops"]))
    button = page.get_by_role("button", name="Export: demo-drop-heatmap")
    with save(page, button, "Data as CSV", tmp_path).open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * len(drawn)
    assert save(page, button, "Figure as PNG", tmp_path).read_bytes()[:4] == b"\x89PNG"
    assert "<svg" in save(page, button, "Figure as SVG", tmp_path).read_text()
    table.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    wait_until_shown(page)
    words = asked(page.url)
    assert (words["view"], words["perturbation"]) == ("prototypes", "hue")
    assert words["prototype"] == str(first["prototype"])
    expect(page.get_by_role("heading", level=2).first).to_contain_text(first["label"])
    expect(page.get_by_text(first["told"])).to_be_visible()
    images = answer(f"{app_url}{API}/prototypes/{first['prototype']}")["images"]
    cards = page.get_by_role("list", name="Images").get_by_role("listitem")
    expect(cards).to_have_count(len(images))
    assert broken_rules(page) == []
    cards.first.get_by_role("link").click()
    wait_until_shown(page)
    words = asked(page.url)
    assert (words["view"], words["image"]) == ("live", images[0]["image"])
    assert words["steps"] == "hue:factor=0.4"


def offers_all(page: Any, app_url: str) -> None:
    """See that every parameter of every perturbation has a field with its ends or choices."""
    for step in answer(f"{app_url}{API}")["offered"]:
        for one in step["params"]:
            field = page.get_by_label(f"{step['type']} {one['name']}", exact=True)
            if one["choices"]:
                assert field.locator("option").all_text_contents() == one["choices"]
            else:
                expect(field).to_have_attribute("min", f"{one['low']:g}")
                expect(field).to_have_attribute("max", f"{one['high']:g}")


def test_sliders_switches_and_keys_change_one_image(
    open_page: Opens, app_url: str, tmp_path: Path
) -> None:
    page = open_page(f"/prototypes?view=live&image={IMAGE}")
    hue = {"type": "hue", "params": {"factor": 0.4}}
    shows(page, live(page, app_url, [hue]))
    slider = page.get_by_role("slider", name="hue factor")
    offers_all(page, app_url)
    slider.press("End")
    hue = {"type": "hue", "params": {"factor": 0.5}}
    shows(page, live(page, app_url, [hue]))
    page.locator("h1").click()
    page.keyboard.press("6")  # a second change: a composition
    page.get_by_label("distortion direction").select_option("vertical")
    bent = {"type": "distortion", "params": {"direction": "vertical"}}
    told = live(page, app_url, [hue, bent])
    shows(page, told)
    expect(page.get_by_text(told["description"])).to_be_visible()
    page.get_by_role("button", name="Do distortion earlier").click()
    shows(page, live(page, app_url, [bent, hue]))
    page.get_by_label("Prototype", exact=True).select_option("7")
    page.get_by_label("Attribution", exact=True).select_option("saliency")
    told = live(page, app_url, [bent, hue], prototype=7, attribution="saliency")
    shows(page, told)
    page.reload()
    wait_until_shown(page)
    shows(page, told)
    assert broken_rules(page) == []
    name = f"Export: demo-{IMAGE}-prototype-7"
    button = page.get_by_role("button", name=name, exact=True)
    with save(page, button, "Data as CSV", tmp_path).open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row["similarity"]) for row in rows] == [
        told["original"], told["focused"], told["dual"]
    ]  # fmt: skip
    assert save(page, button, "Picture as PNG", tmp_path).read_bytes()[:4] == b"\x89PNG"
    page.keyboard.press("0")
    page.keyboard.press("4")
    expect(page.get_by_text("Nothing is changed")).to_be_visible()
    expect(page).to_have_url(re.compile("steps=none"))
    page.keyboard.press(".")
    expect(page.get_by_label("Image", exact=True)).to_have_value("facade-00004.png")


def test_an_answer_that_comes_late_is_dropped(open_page: Opens, app_url: str) -> None:
    page = open_page(f"/prototypes?view=live&image={IMAGE}&prototype=7")
    held: list[Any] = []
    page.route("**/live", lambda route: held.append(route) if not held else route.continue_())
    slider = page.get_by_role("slider", name="hue factor")
    slider.press("Home")
    expect(page.locator(".prototypes-said")).to_have_text("Asking the model …")
    page.wait_for_timeout(400)
    assert len(held) == 1
    slider.press("End")
    last = live(page, app_url, [{"type": "hue", "params": {"factor": 0.5}}], prototype=7)
    shows(page, last)
    page.wait_for_timeout(100)
    shows(page, last)
    page.unroute_all(behavior="ignoreErrors")


def test_what_cannot_be_asked_is_told(open_page: Opens, said: list[str]) -> None:
    page = open_page("/prototypes?view=live&image=none.png")
    expect(page.get_by_role("alert")).to_contain_text("no image 'none.png'")
    said.clear()
    page.get_by_label("Image", exact=True).select_option(IMAGE)
    expect(page.locator("[data-copy=focused]")).to_be_visible()
    page.goto(page.url.split("/prototypes")[0] + "/prototypes?name=none")
    expect(page.get_by_role("alert")).to_contain_text("no benchmark 'none' is stored")
    said.clear()


def test_cards_on_a_phone_are_filtered_and_fit(browser: Any, app_url: str, said: list[str]) -> None:
    lines = answer(f"{app_url}{API}/prototypes")["lines"]
    page = new_page(browser, said, viewport=PHONE, color_scheme="dark")
    page.goto(f"{app_url}/prototypes?view=prototypes")
    wait_until_shown(page)
    cards = page.get_by_role("list", name="Prototypes").get_by_role("listitem")
    expect(cards).to_have_count(len(lines))
    expect(cards.first).to_contain_text(f"chance {lines[0]['chance']:.0%}")
    assert page.evaluate(TOO_WIDE) <= 0
    page.get_by_label("Class").select_option("Gothic")
    gothic = [line for line in lines if line["label"] == "Gothic"]
    expect(cards).to_have_count(len(gothic))
    page.get_by_label("Nature").select_option("uncovered")
    expect(cards).to_have_count(sum(line["images"] == 0 for line in gothic))
    assert broken_rules(page) == []
    current = page.get_by_role("navigation", name="Pages").locator("[aria-current=page]")
    expect(current).to_be_in_viewport()
    page.keyboard.press("]")
    expect(page.locator("[data-copy=dual]")).to_be_visible()
    wait_until_shown(page)
    assert page.evaluate(TOO_WIDE) <= 0
    assert broken_rules(page) == []
    page.context.close()
    assert said == []
