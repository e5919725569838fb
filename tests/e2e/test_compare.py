"""Compare: two to four panes with linked zoom and cursor, swipe, difference, numbers."""

from __future__ import annotations

import csv
import io
import json
import re
import struct
import urllib.request
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlencode, urlsplit

import numpy as np
import pytest

from tests.e2e.conftest import needed, wait_until_shown

if needed():
    pytest.skip(needed(), allow_module_level=True)

from playwright.sync_api import expect

from tests.e2e.test_shell import answer

if TYPE_CHECKING:
    from tests.e2e.conftest import Opens

A, B = "demo/vit-dino~cls~2", "demo/vit-dino@lora~cls~11"
IMAGE = "facade-00003.png"
PAIR = f"/compare?image={IMAGE}&a={A}&b={B}"
SCORES = ("iou", "coverage", "recall", "precision", "lift", "pointing")


def words(page: Any) -> dict[str, str]:
    """Return the words of the address."""
    return {name: value[0] for name, value in parse_qs(urlsplit(page.url).query).items()}


def pane(page: Any, letter: str) -> Any:
    return page.get_by_role("region", name=f"Pane {letter}", exact=True)


def canvas(page: Any, testid: str) -> Any:
    """Return the part of a pane that is looked at, touched and typed to."""
    return page.get_by_test_id(testid).get_by_role("application")


def middle(page: Any, testid: str) -> tuple[float, float]:
    canvas(page, testid).scroll_into_view_if_needed()
    box = canvas(page, testid).bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def map_of(url: str) -> tuple[dict[str, Any], np.ndarray]:
    """Return the header and the values of a map."""
    with urllib.request.urlopen(url, timeout=20) as got:  # noqa: S310
        raw = got.read()
    (length,) = struct.unpack("<I", raw[4:8])
    header = json.loads(raw[8 : 8 + length])
    size = header["rows"] * header["columns"]
    values = np.frombuffer(raw, "<f4", size, 8 + length)
    return header, values.reshape(header["rows"], header["columns"])


def asked(pane_word: str) -> dict[str, str]:
    return dict(zip(("model", "method", "layer"), pane_word.split("~"), strict=True))


def check_numbers(page: Any, letter: str, found: dict[str, Any]) -> None:
    for name in SCORES:
        text = "undefined" if found[name] is None else f"{found[name]:.3f}"
        expect(page.get_by_test_id(f"{name}-{letter}").locator("b")).to_have_text(text)
    for name in ("chance", "ceiling"):
        expect(page.get_by_test_id(f"iou-{letter}")).to_contain_text(f"{name} {found[name]:.3f}")


# --- panes ---------------------------------------------------------------------------------------


def test_it_starts_with_two_maps_that_differ_in_one_thing(open_page: Opens, app_url: str) -> None:
    page = open_page("/compare?model=demo/vit-dino&method=cls")
    expect(pane(page, "A").get_by_role("heading")).to_contain_text("demo/vit-dino · cls")
    expect(pane(page, "B").get_by_role("heading")).to_contain_text("demo/vit-dino@lora · cls")
    expect(pane(page, "C")).to_have_count(0)
    first = answer(f"{app_url}/api/study")["default"]
    open_page("/compare")
    expect(pane(page, "A").get_by_role("heading")).to_contain_text(first["model"])
    expect(pane(page, "B").get_by_role("heading")).to_contain_text(first["method"])


@pytest.mark.parametrize(
    ("rule", "query"),
    [
        ("percentile=90", {"percentile": 90}),
        ("percentile=72.5", {"percentile": 72.5}),
        ("selection=mass60", {"selection": "mass60"}),
    ],
)
def test_the_numbers_of_each_pane_are_those_of_the_service(
    open_page: Opens, app_url: str, rule: str, query: dict[str, Any]
) -> None:
    page = open_page(f"{PAIR}&{rule}")
    for letter, word in (("A", A), ("B", B)):
        found = answer(f"{app_url}/api/metrics/{IMAGE}?{urlencode(asked(word) | query)}")
        check_numbers(page, letter, found)


def test_a_region_is_clicked_and_all_numbers_are_its_own(open_page: Opens, app_url: str) -> None:
    regions = answer(f"{app_url}/api/images/{IMAGE}")["regions"]
    region = min((one for one in regions if not one["dropped"]), key=lambda one: one["area"])
    x0, y0, x1, y1 = region["box"]
    page = open_page(PAIR)
    canvas(page, "pane-B").scroll_into_view_if_needed()
    box = canvas(page, "pane-B").bounding_box()
    page.mouse.click(
        box["x"] + (x0 + x1) / 2 * box["width"], box["y"] + (y0 + y1) / 2 * box["height"]
    )
    chip = page.get_by_text(f"{region['label']} (region {region['index']})")
    expect(chip).to_be_visible()
    path = f"/api/metrics/{IMAGE}/bbox/{region['index']}"
    check_numbers(page, "A", answer(f"{app_url}{path}?{urlencode(asked(A))}"))
    check_numbers(page, "B", answer(f"{app_url}{path}?{urlencode(asked(B))}"))
    page.get_by_role("button", name="Show figures of all regions").click()
    check_numbers(page, "A", answer(f"{app_url}/api/metrics/{IMAGE}?{urlencode(asked(A))}"))


def test_one_press_compares_models_variants_methods_or_layers(open_page: Opens) -> None:
    page = open_page(PAIR)
    group = page.get_by_role("group", name="Compare", exact=True)
    group.get_by_role("button", name="Layers").click()
    for letter, layer in (("A", 0), ("B", 2), ("C", 11)):
        expect(pane(page, letter).get_by_role("heading")).to_have_text(
            re.compile(rf"^{letter} demo/vit-dino · cls · layer {layer}$")
        )
    group.get_by_role("button", name="Methods").click()
    expect(pane(page, "D")).to_be_visible()
    expect(pane(page, "B").get_by_role("heading")).to_contain_text("rollout")
    group.get_by_role("button", name="Variants").click()
    expect(pane(page, "C")).to_have_count(0)
    expect(pane(page, "B").get_by_role("heading")).to_contain_text("demo/vit-dino@lora")


def test_panes_are_added_changed_and_removed(open_page: Opens) -> None:
    page = open_page(PAIR)
    add = page.get_by_role("button", name="Add a pane")
    add.click()
    add.click()
    expect(add).to_be_disabled()
    pane(page, "D").get_by_label("Model").select_option("demo/cnn")
    pane(page, "D").get_by_label("Method").select_option("gradcam")
    expect(pane(page, "D").get_by_role("heading")).to_contain_text("demo/cnn · gradcam")
    page.get_by_role("button", name="Remove pane C").click()
    expect(pane(page, "C").get_by_role("heading")).to_contain_text("demo/cnn · gradcam")
    assert words(page)["c"] == "demo/cnn~gradcam"
    page.reload()
    wait_until_shown(page)
    expect(pane(page, "C").get_by_role("heading")).to_contain_text("demo/cnn · gradcam")
    page.get_by_role("button", name="Remove pane A").click()
    expect(page.get_by_role("button", name=re.compile("Remove pane"))).to_have_count(0)


# --- linked zoom and cursor ----------------------------------------------------------------------


def test_zoom_is_linked_and_in_the_link(open_page: Opens, page: Any) -> None:
    open_page(PAIR)
    page.get_by_test_id("pane-A").get_by_role("button", name="Zoom in").click()
    for testid in ("pane-A", "pane-B"):
        expect(canvas(page, testid)).to_have_attribute("data-zoom", "1.5")
    canvas(page, "pane-B").focus()
    page.keyboard.press("+")
    for testid in ("pane-A", "pane-B"):
        expect(canvas(page, testid)).to_have_attribute("data-zoom", "2.25")
    expect(page).to_have_url(re.compile(r"view=.*2\.25"))
    page.reload()
    wait_until_shown(page)
    expect(canvas(page, "pane-A")).to_have_attribute("data-zoom", "2.25")


def test_the_cursor_reads_all_panes_at_one_place(open_page: Opens, app_url: str) -> None:
    page = open_page(PAIR)
    page.mouse.move(*middle(page, "pane-A"))
    for letter, word in (("A", A), ("B", B)):
        _, values = map_of(f"{app_url}/api/maps/{IMAGE}?{urlencode(asked(word))}")
        row, column = (size // 2 for size in values.shape)
        near = values[row - 1 : row + 1, column - 1 : column + 1].ravel()
        reading = pane(page, letter).get_by_label("Value under the pointer")
        expect(reading).not_to_be_empty()
        assert min(abs(float(reading.inner_text()) - near)) < 1e-3 * max(abs(near))


# --- swipe and difference ------------------------------------------------------------------------


def test_the_swipe_is_moved_by_keys_and_by_hand(open_page: Opens, page: Any) -> None:
    open_page(f"{PAIR}&mode=swipe&swipe=0.3")
    line = page.get_by_role("slider", name=re.compile("^Swipe between A demo.vit-dino"))
    expect(line).to_have_attribute("aria-valuenow", "30")
    line.focus()
    page.keyboard.press("ArrowRight")
    expect(line).to_have_attribute("aria-valuenow", "32")
    page.keyboard.press("Home")
    expect(line).to_have_attribute("aria-valuenow", "0")
    box = page.locator(".compare-swipe").bounding_box()
    page.mouse.move(box["x"] + 1, box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.75 * box["width"], box["y"] + 40)
    page.mouse.up()
    expect(line).to_have_attribute("aria-valuenow", "75")
    expect(page).to_have_url(re.compile(r"swipe=0\.7"))
    upper = page.locator(".compare-swipe-layer").nth(1)
    assert re.search(r"inset\(0.* 7[45]\.?\d*%\)", upper.evaluate("node => node.style.clipPath"))


def test_the_difference_is_the_services_on_a_scale_around_zero(
    open_page: Opens, app_url: str
) -> None:
    a, b = "demo/vit-dino~cls~2", "demo/vit-dino@lora~cls~2"
    query = {"a": "demo/vit-dino", "b": "demo/vit-dino@lora", "method": "cls", "layer": 2}
    header, shift = map_of(f"{app_url}/api/compare/{IMAGE}/shift?{urlencode(query)}")
    most = max(abs(header["low"]), abs(header["high"]))
    page = open_page(f"/compare?image={IMAGE}&a={a}&b={b}&mode=difference")
    label = pane(page, "B").get_by_role("img").get_attribute("aria-label")
    low, high = re.findall(r"from −(\S+) to (\S+)$", label)[0]
    assert low == high
    assert float(high) == pytest.approx(most, rel=5e-3)
    page.mouse.move(*middle(page, "difference-B"))
    row, column = (size // 2 for size in shift.shape)
    near = shift[row - 1 : row + 1, column - 1 : column + 1].ravel()
    reading = pane(page, "B").get_by_label("Value under the pointer")
    expect(reading).not_to_be_empty()
    value = float(reading.inner_text().replace("−", "-"))
    assert min(abs(value - near)) < 1e-3 * most


def test_methods_are_subtracted_as_shares(open_page: Opens, page: Any) -> None:
    open_page(f"/compare?image={IMAGE}&a={A}&b=demo/vit-dino@lora~gradcam&mode=difference")
    expect(page.get_by_role("radio", name="Shares of the sum")).to_be_checked()
    bar = pane(page, "B").get_by_role("img")
    before = bar.get_attribute("aria-label")
    page.get_by_role("radio", name="Values").check()
    expect(bar).not_to_have_attribute("aria-label", before)
    expect(page).to_have_url(re.compile("unit=values"))


# --- over all images -----------------------------------------------------------------------------


def test_two_panes_are_compared_over_all_images(open_page: Opens, app_url: str) -> None:
    query = urlencode({"a": "demo/vit-dino", "b": "demo/vit-dino@lora", "method": "cls"})
    found = answer(f"{app_url}/api/compare?{query}&by=model")
    page = open_page(f"/compare?image={IMAGE}&a=demo/vit-dino~cls&b=demo/vit-dino@lora~cls")
    panel = page.get_by_role("region", name="A and B over all images")
    expect(panel).to_contain_text(found["lines"][0]["sentence"])
    line = panel.locator("tbody tr").first
    shift = found["images"][0]
    expect(line).to_contain_text(shift["image"])
    expect(line).to_contain_text(f"{abs(shift['shift']):.3f}")
    line.get_by_role("button").click()
    expect(page.locator(".lead")).to_contain_text(shift["image"])
    assert words(page)["image"] == shift["image"]


def test_what_differs_in_two_things_is_not_compared_over_all_images(open_page: Opens) -> None:
    page = open_page(f"/compare?image={IMAGE}&a={A}&b=demo/cnn~gradcam")
    panel = page.get_by_role("region", name="A and B over all images")
    expect(panel).to_contain_text("differ in more than one thing")


# --- images, export, mistakes --------------------------------------------------------------------


def test_images_are_stepped_through_and_looked_for(open_page: Opens, page: Any) -> None:
    open_page(PAIR)
    page.keyboard.press("j")
    expect(page.locator(".lead")).to_contain_text("facade-00004.png")
    page.get_by_role("button", name="Image before").click()
    expect(page.locator(".lead")).to_contain_text(IMAGE)
    page.get_by_role("combobox", name="Image").fill("00007")
    expect(page.locator("datalist option").first).to_have_attribute("value", "facade-00007.png")
    page.keyboard.press("Enter")
    expect(page.locator(".lead")).to_contain_text("facade-00007.png")


def test_picture_and_numbers_are_exported(open_page: Opens, page: Any, app_url: str) -> None:
    open_page(PAIR)
    page.get_by_role("button", name=re.compile("^Export picture")).click()
    with page.expect_download() as waiting:
        page.get_by_role("menuitem", name="Picture as PNG").click()
    png = waiting.value.path().read_bytes()
    width, height = struct.unpack(">II", png[16:24])
    assert png.startswith(b"\x89PNG")
    assert width > height
    page.get_by_role("button", name=re.compile("^Export picture")).click()
    with page.expect_download() as waiting:
        page.get_by_role("menuitem", name="Picture as SVG").click()
    drawing = waiting.value.path().read_text("utf-8")
    assert drawing.count("data:image/png;base64,") == 4  # an image and a map in each pane
    assert "B demo/vit-dino@lora · cls · layer 11</text>" in drawing
    page.get_by_role("button", name=re.compile("^Export picture")).click()
    with page.expect_download() as waiting:
        page.get_by_role("menuitem", name="Data as CSV").click()
    _, values = map_of(f"{app_url}/api/maps/{IMAGE}?{urlencode(asked(B))}")
    lines = list(csv.DictReader(io.StringIO(waiting.value.path().read_text("utf-8"))))
    found = [float(one["value"]) for one in lines if one["shown"].startswith("B ")]
    assert found == pytest.approx(values.ravel().tolist(), rel=1e-6)
    page.get_by_role("button", name=f"Export: {IMAGE}-compared").click()
    with page.expect_download() as waiting:
        page.get_by_role("menuitem", name="Data as CSV").click()
    lines = list(csv.DictReader(io.StringIO(waiting.value.path().read_text("utf-8"))))
    found = answer(f"{app_url}/api/metrics/{IMAGE}?{urlencode(asked(B))}")
    (line,) = (one for one in lines if one["pane"] == "B" and one["metric"] == "iou@90")
    assert float(line["value"]) == pytest.approx(found["iou"], abs=1e-9)
    assert float(line["chance"]) == pytest.approx(found["chance"], abs=1e-9)


def test_what_is_not_stored_is_named(
    open_page: Opens, page: Any, said: list[str], app_url: str
) -> None:
    open_page(f"/compare?image={IMAGE}&a={A}&b=demo/none~cls")
    expect(pane(page, "B").get_by_role("alert")).to_contain_text("demo/none")
    expect(page.get_by_test_id("iou-A").locator("b")).to_be_visible()
    page.goto(page.url.replace(IMAGE, "no-such.png"))
    expect(page.get_by_role("alert").first).to_contain_text("no-such.png")
    expect(page.get_by_role("heading", level=1)).to_have_text("Compare")
    open_page(f"{PAIR}&region=99")
    expect(page.get_by_text("This image has no region 99")).to_be_visible()
    check_numbers(page, "B", answer(f"{app_url}/api/metrics/{IMAGE}?{urlencode(asked(B))}"))
    said.clear()


@pytest.mark.parametrize("mode", ["side", "swipe", "difference"])
def test_a_phone_shows_it_without_scrolling_sideways(
    open_page: Opens, phone: Any, mode: str
) -> None:
    open_page(f"{PAIR}&mode={mode}", phone)
    assert phone.evaluate("document.documentElement.scrollWidth") == 390
