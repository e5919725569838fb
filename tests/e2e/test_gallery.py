"""The gallery: grid, filters, search, order, warnings, keyboard, tags and saved selections."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from tests.e2e.conftest import WIDE, needed, new_page, wait_until_shown

if needed():
    pytest.skip(needed(), allow_module_level=True)

from playwright.sync_api import expect

from tests.e2e.test_shell import answer

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.conftest import Opens

MANY = 10_000


def cards(page: Any) -> Any:
    return page.get_by_role("gridcell")


def names(page: Any) -> list[str]:
    """Return the images of the cards that are drawn, in order."""
    return list(page.locator(".gallery-card-name").all_inner_texts())


def words(page: Any) -> dict[str, str]:
    """Return the words of the address."""
    return {name: value[0] for name, value in parse_qs(urlsplit(page.url).query).items()}


def images(app_url: str, query: str = "") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = answer(f"{app_url}/api/images?limit=500&{query}")["items"]
    return found


def show(page: Any, number: int) -> None:
    """Wait until so many images pass."""
    expect(page.get_by_role("grid")).to_have_attribute("aria-busy", "false")
    expect(page.locator(".gallery-count [role=status]")).to_have_text(re.compile(rf"^{number}\b"))


# --- grid and order ------------------------------------------------------------------------------


def test_the_worst_come_first_each_with_chance_and_ceiling(open_page: Opens, app_url: str) -> None:
    page = open_page("/")
    found = images(app_url, "ascending=true")
    assert len(found) == answer(f"{app_url}/api/study")["images"] > 3
    expect(cards(page).first).to_contain_text(found[0]["image"])
    assert names(page) == [one["image"] for one in found][: len(names(page))]
    first = cards(page).first
    expect(first).to_contain_text(f"{found[0]['value']:.3f}")
    expect(first).to_contain_text(f"chance {found[0]['chance']:.2f}")
    expect(first).to_contain_text(f"ceiling {found[0]['ceiling']:.2f}")
    expect(page.get_by_role("radio", name="Worst first")).to_be_checked()


@pytest.mark.parametrize("metric", ["coverage", "recall@80"])
def test_any_metric_sorts(open_page: Opens, app_url: str, metric: str) -> None:
    page = open_page("/")
    page.get_by_label("Sort by").select_option(metric)
    found = images(app_url, f"metric={metric}&sort={metric}&ascending=true")
    expect(cards(page).first).to_contain_text(f"{found[0]['value']:.3f}")
    assert names(page)[0] == found[0]["image"]
    page.get_by_role("radio", name="Best first").check()
    expect(cards(page).first).to_contain_text(
        f"{max(one['value'] for one in found if one['value'] is not None):.3f}"
    )
    assert words(page)["ascending"] == "false"
    page.go_back()
    expect(cards(page).first).to_contain_text(found[0]["image"])


def test_names_sort_from_a_to_z(open_page: Opens) -> None:
    page = open_page("/?sort=image")
    assert names(page) == sorted(names(page))
    page.get_by_role("radio", name="Z–A").check()
    expect(page.locator(".stale")).to_have_count(0)
    assert names(page) == sorted(names(page), reverse=True)


def test_maps_lie_over_the_pictures(open_page: Opens) -> None:
    page = open_page("/")
    with page.expect_response(re.compile(r"/overlay\.png\?model=")) as got:
        page.get_by_role("radio", name="Map over it").check()
    assert got.value.headers["content-type"] == "image/png"
    picture = cards(page).first.locator("img")
    expect(picture).to_have_attribute("src", re.compile(r"/overlay\.png\?model="))
    expect(page).to_have_url(re.compile("show=overlay"))


def test_the_scores_can_be_of_other_maps(open_page: Opens, app_url: str) -> None:
    page = open_page("/")
    page.get_by_label("Model").select_option("demo/cnn")
    page.get_by_label("Method").select_option("gradcam")
    expect(page.locator(".lead")).to_contain_text("demo/cnn · gradcam")
    expect(page.locator(".stale")).to_have_count(0)
    found = images(app_url, "model=demo/cnn&method=gradcam&ascending=true")
    expect(cards(page).first).to_contain_text(f"{found[0]['value']:.3f}")
    cards(page).first.get_by_role("link").click()
    page.wait_for_url(re.compile(rf"/image/{re.escape(found[0]['image'])}\?model=demo"))


# --- filters -------------------------------------------------------------------------------------


def test_filters_narrow_the_images_down(open_page: Opens, app_url: str) -> None:
    study = answer(f"{app_url}/api/study")
    style = study["styles"][0]
    some = images(app_url, f"style={style['label']}")[0]["image"]
    label = answer(f"{app_url}/api/images/{some}")["regions"][0]["label"]
    page = open_page("/")
    page.get_by_role("button", name=re.compile(f"^{style['label']}")).click()
    show(page, style["images"])
    assert words(page)["style"] == style["label"]
    page.get_by_label("Has a region labelled").select_option(label)
    both = images(app_url, urlencode({"style": style["label"], "label": label}))
    show(page, len(both))
    page.get_by_role("button", name="Clear filters").first.click()
    show(page, study["images"])
    assert not {"style", "label"} & set(words(page))


def test_text_is_looked_for_as_it_is_typed(open_page: Opens, app_url: str) -> None:
    name = images(app_url)[2]["image"]
    page = open_page("/")
    page.keyboard.press("/")
    page.keyboard.type(name[:-4])
    expect(cards(page)).to_have_count(1)
    assert names(page) == [name]
    page.get_by_label("Search").fill("no such image")
    expect(page.get_by_text("No image passes these filters")).to_be_visible()
    page.get_by_role("button", name="Remove filter text: no such image").click()
    show(page, len(images(app_url)))


def test_a_link_reproduces_the_view(open_page: Opens, page: Any, app_url: str) -> None:
    ids = [one["image"] for one in images(app_url)][:3]
    open_page(f"/?ids={','.join(ids)}&sort=coverage&ascending=false&size=large&model=demo/cnn")
    show(page, 3)
    query = f"ids={','.join(ids)}&sort=coverage&metric=coverage&model=demo/cnn"
    assert names(page) == [one["image"] for one in images(app_url, query)]
    expect(page.get_by_label("Sort by")).to_have_value("coverage")
    expect(page.get_by_role("radio", name="Best first")).to_be_checked()
    expect(page.get_by_role("radio", name="L", exact=True)).to_be_checked()


def test_a_filter_that_is_not_known_is_named(open_page: Opens, page: Any, said: list[str]) -> None:
    open_page("/?style=Brutalism")
    expect(page.get_by_role("alert")).to_contain_text("Brutalism")
    said.clear()


def test_a_store_without_pictures_says_why(open_page: Opens, page: Any, app_url: str) -> None:
    health = answer(f"{app_url}/api/health")
    health |= {"pictures": False, "missing": health["missing"] | {"pictures": "they have moved"}}
    page.route("**/api/health", lambda route: route.fulfill(json=health))
    open_page("/")
    expect(page.get_by_text("The pictures cannot be shown: they have moved")).to_be_visible()
    expect(cards(page).first).to_contain_text("no picture")
    expect(page.locator(".gallery-card img")).to_have_count(0)


# --- warnings and many images --------------------------------------------------------------------


def many_images(page: Any, app_url: str) -> list[str]:
    """Let the service answer as for a study of ten thousand; return what is asked of it."""
    page_of = answer(f"{app_url}/api/images?limit=1")
    one = page_of["items"][0]
    warned: tuple[list[str], ...] = (["cropped"], ["undefined"], ["dropped", "no regions"], [])
    asked: list[str] = []

    def item(number: int) -> dict[str, Any]:
        return {
            **one,
            "image": f"many-{number:05d}.png",
            "value": None if number % 4 == 1 else number / MANY,
            "visible": 0.5 if number % 4 == 0 else 1,
            "warnings": warned[number % 4],
        }

    def reply(route: Any) -> None:
        query = {name: one[0] for name, one in parse_qs(urlsplit(route.request.url).query).items()}
        first, limit = int(query.get("offset", 0)), int(query.get("limit", 60))
        asked.append(query.get("offset", ""))
        items = [item(number) for number in range(first, min(first + limit, MANY))]
        found = page_of | {"total": MANY, "offset": first, "limit": limit, "items": items}
        route.fulfill(json=found)

    page.route("**/api/images?*", reply)
    pixel = "<svg xmlns='http://www.w3.org/2000/svg'/>"
    page.route(
        "**/thumbnail*", lambda route: route.fulfill(body=pixel, content_type="image/svg+xml")
    )
    return asked


def test_ten_thousand_images_are_asked_for_as_one_scrolls(
    open_page: Opens, page: Any, app_url: str
) -> None:
    asked = many_images(page, app_url)
    open_page("/")
    show(page, 10)
    expect(page.locator(".gallery-count [role=status]")).to_have_text("10\u202f000 images")
    assert page.get_by_role("grid").get_attribute("aria-rowcount") == str(MANY // 4)
    assert len(set(asked)) <= 2
    assert cards(page).count() < 60
    page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    expect(page.get_by_text("many-09999.png")).to_be_visible()
    assert cards(page).count() < 60
    assert len(set(asked)) <= 6


def test_one_comes_back_to_the_place_one_left(open_page: Opens, page: Any, app_url: str) -> None:
    many_images(page, app_url)
    open_page("/?at=4000")
    card = page.get_by_role("link", name=re.compile("many-04001"))
    expect(card).to_be_in_viewport()
    page.mouse.wheel(0, 2_000)
    expect(page).to_have_url(re.compile(r"at=40[1-9]\d"))
    there = int(words(page)["at"])
    page.get_by_role("link", name="Study").click()
    expect(page.get_by_role("heading", name="Provenance")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("link", name=re.compile(f"many-{there:05d}"))).to_be_in_viewport()


def test_warnings_are_chips_that_say_what_they_mean(
    open_page: Opens, page: Any, app_url: str
) -> None:
    many_images(page, app_url)
    open_page("/")
    cropped = cards(page).nth(0).get_by_text("cropped")
    expect(cropped).to_have_attribute("title", re.compile(r"outside what the model was shown.*50%"))
    expect(cards(page).nth(1)).to_contain_text("undefined")
    expect(cards(page).nth(1).locator(".missing")).to_have_text("undefined")
    expect(cards(page).nth(2)).to_contain_text("no regions")
    with page.expect_request(re.compile(r"/api/images\?.*warning=cropped")):
        page.get_by_role("button", name="cropped").click()


def test_a_warning_that_no_image_has_says_so(open_page: Opens, app_url: str) -> None:
    assert images(app_url, "warning=cropped") == []
    page = open_page("/?warning=cropped")
    expect(page.get_by_text("No image passes these filters")).to_be_visible()
    page.locator(".state").get_by_role("button", name="Clear filters").click()
    show(page, len(images(app_url)))


def test_a_selection_may_be_longer_than_an_address(
    open_page: Opens, page: Any, app_url: str
) -> None:
    many_images(page, app_url)
    open_page("/")
    page.keyboard.press("Control+a")
    expect(page.get_by_text("10\u202f000 images picked")).to_be_visible()
    expect(page.get_by_role("button", name="Show these alone")).to_be_disabled()
    page.get_by_label("Pick many-00000.png").uncheck()
    page.get_by_label("Save as selection").fill("most")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("link", name="most").click()
    expect(page.locator(".gallery-count [role=status]")).to_have_text(re.compile("^9\u202f999 of"))
    expect(cards(page).first).to_contain_text("many-00001.png")


# --- keyboard ------------------------------------------------------------------------------------


def test_the_grid_is_walked_by_keys(open_page: Opens, page: Any, app_url: str) -> None:
    many_images(page, app_url)
    open_page("/")
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("link", name=re.compile("many-00000"))).to_be_focused()
    for key, number in (("ArrowRight", 1), ("ArrowDown", 5), ("End", 7), ("Control+End", 9_999)):
        page.keyboard.press(key)
        expect(page.get_by_role("link", name=re.compile(f"many-{number:05d}"))).to_be_focused()
    page.keyboard.press("Control+Home")
    expect(page.get_by_role("link", name=re.compile("many-00000"))).to_be_focused()
    page.keyboard.press("Shift+ArrowRight")
    expect(page.get_by_text("2 images picked")).to_be_visible()
    page.keyboard.press("Space")
    expect(page.get_by_text("1 image picked")).to_be_visible()


def test_a_card_keeps_the_focus_when_it_leaves_the_sight(
    open_page: Opens, page: Any, app_url: str
) -> None:
    many_images(page, app_url)
    open_page("/")
    page.keyboard.press("ArrowDown")
    card = page.get_by_role("link", name=re.compile("many-00000"))
    page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    expect(page.get_by_text("many-09999.png")).to_be_visible()
    expect(card).to_be_focused()
    expect(card).not_to_be_in_viewport()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("link", name=re.compile("many-00001"))).to_be_focused()
    expect(page.get_by_role("link", name=re.compile("many-00001"))).to_be_in_viewport()


def test_keys_pick_and_open_images(open_page: Opens, app_url: str) -> None:
    count = len(images(app_url))
    page = open_page("/")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Space")
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Shift+ArrowRight")
    expect(page.get_by_text("3 images picked")).to_be_visible()
    expect(page.locator("[role=gridcell][aria-selected=true]")).to_have_count(3)
    page.keyboard.press("Control+a")
    expect(page.get_by_text(f"{count} images picked")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("[role=gridcell][aria-selected=true]")).to_have_count(0)
    name = names(page)[2]
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/image/{name}*")


def test_help_lists_the_keys(open_page: Opens) -> None:
    page = open_page("/")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("tag the picked images")


# --- tags and saved selections -------------------------------------------------------------------


def pick(page: Any, *names: str) -> None:
    for name in names:
        page.get_by_label(f"Pick {name}").check()


def tag(page: Any, name: str) -> None:
    page.get_by_label("Tag them").fill(name)
    page.get_by_role("button", name="Tag", exact=True).click()
    expect(page.get_by_text(re.compile(f"^Tagged .*{name}"))).to_be_visible()


def test_tags_filter_and_outlive_the_page(open_page: Opens, page: Any) -> None:
    open_page("/")
    first, second, *_ = names(page)
    pick(page, first, second)
    tag(page, "look again")
    expect(cards(page).first).to_contain_text("look again")
    page.get_by_role("group", name="Filter by tags").get_by_role("button").click()
    show(page, 2)
    page.reload()
    wait_until_shown(page)
    show(page, 2)
    assert set(names(page)) == {first, second}
    page.get_by_role("button", name="Remove filter tag: look again").click()
    page.get_by_text("Edit tags").click()
    page.get_by_role("button", name="Delete tag look again").click()
    expect(cards(page).first).not_to_contain_text("look again")


def test_a_tag_of_another_browser_is_explained(open_page: Opens) -> None:
    page = open_page("/?tag=theirs")
    expect(page.get_by_text("kept in the browser in which they were made")).to_be_visible()


def test_the_image_page_shows_and_changes_tags(open_page: Opens, page: Any) -> None:
    open_page("/")
    first = names(page)[0]
    pick(page, first)
    tag(page, "odd")
    cards(page).first.get_by_role("link").click()
    bar = page.get_by_role("group", name=f"Tags of {first}")
    expect(bar).to_contain_text("odd")
    bar.get_by_role("button", name="Remove tag odd").click()
    bar.get_by_label("Add a tag").fill("fine")
    bar.get_by_role("button", name="Add").click()
    page.go_back()
    expect(cards(page).first).to_contain_text("fine")
    expect(cards(page).first).not_to_contain_text("odd")


def test_selections_are_saved_opened_and_linked(open_page: Opens, page: Any) -> None:
    open_page("/?sort=image")
    shown = names(page)
    pick(page, shown[3], shown[0])
    page.get_by_label("Save as selection").fill("two of them")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("button", name="Unpick all").click()
    page.get_by_role("link", name="two of them").click()
    show(page, 2)
    assert names(page) == [shown[0], shown[3]]
    assert words(page) == {"sort": "image", "saved": "two of them"}
    page.get_by_role("button", name="Copy link to selection two of them").click()
    expect(page.get_by_text("Copied")).to_be_visible()
    link = page.evaluate("navigator.clipboard.readText()")
    assert parse_qs(urlsplit(link).query)["ids"] == [f"{shown[3]},{shown[0]}"]
    page.get_by_role("button", name="Delete selection two of them").click()
    expect(page.get_by_text("No image passes these filters")).to_be_visible()
    page.goto(link)
    wait_until_shown(page)
    show(page, 2)


def test_picked_images_are_shown_alone(open_page: Opens, page: Any) -> None:
    open_page("/")
    first, second, *_ = names(page)
    pick(page, first, second)
    page.get_by_role("button", name="Show these alone").click()
    show(page, 2)
    assert words(page)["ids"] == f"{first},{second}"


def test_marks_are_carried_to_another_browser(
    open_page: Opens, page: Any, browser: Any, said: list[str], app_url: str, tmp_path: Path
) -> None:
    open_page("/")
    first = names(page)[0]
    pick(page, first)
    tag(page, "odd")
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Export", exact=True).click()
    file = tmp_path / waiting.value.suggested_filename
    waiting.value.save_as(file)
    assert json.loads(file.read_text())["tags"] == [{"name": "odd", "images": [first]}]
    other = new_page(browser, said, viewport=WIDE)
    other.goto(app_url)
    wait_until_shown(other)
    other.get_by_label("File of tags and selections").set_input_files(file)
    expect(other.get_by_text("Read 1 tag and 0 selections.")).to_be_visible()
    expect(cards(other).first).to_contain_text("odd")
    file.write_text("{}")
    other.get_by_label("File of tags and selections").set_input_files(file)
    expect(
        other.get_by_text(re.compile("Nothing was read: the file is not of tags"))
    ).to_be_visible()
    other.context.close()


# --- export and narrow screens -------------------------------------------------------------------


def test_the_data_are_exported(open_page: Opens, page: Any, app_url: str) -> None:
    open_page("/?sort=coverage")
    page.get_by_role("button", name=re.compile("^Export: ")).click()
    with page.expect_download() as waiting:
        page.get_by_role("menuitem", name="Data as CSV").click()
    lines = list(csv.DictReader(io.StringIO(waiting.value.path().read_text("utf-8"))))
    found = images(app_url, "metric=coverage&sort=coverage&ascending=true")
    assert [line["image"] for line in lines] == [one["image"] for one in found]
    assert [float(line["coverage"]) for line in lines] == [one["value"] for one in found]
    assert [float(line["chance"]) for line in lines] == [one["chance"] for one in found]


def test_a_phone_shows_two_columns_and_folds_the_filters(open_page: Opens, phone: Any) -> None:
    open_page("/", phone)
    assert phone.evaluate("document.documentElement.scrollWidth") == 390
    assert phone.get_by_role("grid").get_attribute("aria-colcount") == "2"
    expect(phone.get_by_label("Search")).to_be_hidden()
    phone.get_by_role("button", name="Filters and tags").tap()
    expect(phone.get_by_label("Search")).to_be_visible()
