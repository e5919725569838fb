"""The image page, as a person uses it: by mouse, by touch and by keyboard."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlencode, urlsplit
from urllib.request import Request, urlopen

import pytest

from sightline.api.binary import decode_map

if TYPE_CHECKING:
    from tests.e2e.conftest import Opens

IMAGE = "facade-00010.png"
# Of a model with layers and heads; the figures of this map are not all 0 or 1.
WORDS = {"model": "demo/vit-dino", "method": "cls", "layer": "2"}
ADDRESS = f"/image/{IMAGE}?{urlencode(WORDS)}"
NAMES = {"iou": "iou", "iou_corrected": "corrected"} | {
    name: name for name in ("coverage", "recall", "precision", "lift", "pointing")
}
CANVAS = "document.querySelector('[data-testid=stage] canvas')?.toDataURL()"


class Api:
    """The service, asked beside the browser."""

    def __init__(self, url: str) -> None:
        self.url = url

    def bytes(self, path: str, **words: Any) -> bytes:
        with urlopen(Request(f"{self.url}{path}?{urlencode(words)}")) as answer:  # noqa: S310
            content: bytes = answer.read()
        return content

    def ask(self, path: str, **words: Any) -> Any:
        return json.loads(self.bytes(path, **words))

    def metrics(self, region: int | None = None, **words: Any) -> Any:
        tail = "" if region is None else f"/bbox/{region}"
        return self.ask(f"/api/metrics/{IMAGE}{tail}", **{**WORDS, **words})

    def regions(self) -> list[Any]:
        every = self.ask(f"/api/images/{IMAGE}")["regions"]
        return [region for region in every if not region["dropped"] and not region["ignore"]]

    def map(self) -> tuple[Any, ...]:
        return decode_map(self.bytes(f"/api/maps/{IMAGE}", **WORDS))


@pytest.fixture
def api(app_url: str) -> Api:
    """The service."""
    return Api(app_url)


def expect(what: Any) -> Any:
    from playwright.sync_api import expect as of

    return of(what)


def word(page: Any, name: str) -> str:
    """Return a word of the address."""
    address: str = page.url
    return parse_qs(urlsplit(address).query).get(name, [""])[0]


def expect_word(page: Any, name: str, value: str) -> None:
    """Wait until the address says so; it is written a moment after the page has changed."""
    pair = re.escape(urlencode({name: value}))
    expect(page).to_have_url(re.compile(rf"[?&]{pair}(&|$)"))


def seen(page: Any) -> dict[str, float | None]:
    """Return the panel's numbers, with all their digits."""
    cells = page.eval_on_selector_all(
        "[data-testid=figures] tr[data-metric]",
        "rows => rows.map(row => [row.dataset.metric, ...[...row.querySelectorAll('[data-figure]')]"
        ".map(cell => cell.dataset.value)])",
    )
    found = {}
    for metric, value, chance, ceiling in cells:
        base = metric.partition("@")[0]
        for name, text in (("", value), (" chance", chance), (" ceiling", ceiling)):
            found[base + name] = float(text) if text else None
    areas = page.get_by_test_id("areas")
    found["selected"] = float(areas.get_attribute("data-selected"))
    found["annotated"] = float(areas.get_attribute("data-annotated"))
    return found


def expect_same(found: dict[str, float | None], answer: Any) -> None:
    """Compare the panel with the service's answer."""
    wanted = {name: answer[field] for name, field in NAMES.items()}
    for figure in answer["figures"]:
        base = figure["metric"].partition("@")[0]
        if base in NAMES:
            wanted |= {f"{base} chance": figure["chance"], f"{base} ceiling": figure["ceiling"]}
    wanted |= {"selected": answer["attention_area"], "annotated": answer["annotation_area"]}
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        if value is None:
            assert found[name] is None, name
        else:
            assert math.isclose(found[name] or 0, value, rel_tol=0, abs_tol=1e-9), name


def type_percentile(page: Any, percentile: float) -> None:
    field = page.get_by_label("Percentile, typed")
    field.fill(str(percentile))
    field.press("Enter")
    expect(page.locator(f"tr[data-metric='iou@{percentile:g}']")).to_be_visible()


def place_of(page: Any, x: float, y: float) -> tuple[float, float]:
    """Return where a point of the image, in shares, is on the screen while it is shown whole."""
    page.evaluate("window.scrollTo(0, 0)")
    box = page.get_by_test_id("stage").bounding_box()
    return box["x"] + x * box["width"], box["y"] + y * box["height"]


def middle_of(api: Api, region: Any) -> tuple[float, float]:
    """Return a point of a region that lies in no smaller one."""
    import numpy as np

    _, _, masks, _ = api.map()
    mine = masks[region["index"]].copy()
    for other in api.regions():
        if other["area"] < region["area"]:
            mine &= ~masks[other["index"]]
    rows, columns = np.nonzero(mine)
    middle = len(rows) // 2
    height, width = mine.shape
    return (columns[middle] + 0.5) / width, (rows[middle] + 0.5) / height


def test_numbers_equal_the_services_at_any_percentile_and_region(
    open_page: Opens, api: Api
) -> None:
    page = open_page(ADDRESS)
    region = api.regions()[0]
    for percentile in (90, 50, 97.3):
        type_percentile(page, percentile)
        expect_same(seen(page), api.metrics(percentile=percentile))
    page.get_by_role("button", name=re.compile(f"^{region['label']} ")).first.click()
    expect(page.locator(".image-figures .chip.region")).to_contain_text(region["label"])
    for percentile in (97.3, 80):
        type_percentile(page, percentile)
        expect_same(seen(page), api.metrics(region["index"], percentile=percentile))
    page.get_by_label("Rule", exact=True).select_option("mass")
    expect(page.locator("tr[data-metric='iou@mass60']")).to_be_visible()
    expect_same(seen(page), api.metrics(region["index"], selection="mass60"))
    page.get_by_label("Ties").select_option("include")
    for selection in ("mean", "matched"):
        page.get_by_label("Rule", exact=True).select_option(selection)
        expect(page.locator(f"tr[data-metric='iou@{selection}']")).to_be_visible()
        answer = api.metrics(region["index"], selection=selection, ties="include")
        expect_same(seen(page), answer)


def test_moving_the_percentile_waits_for_nobody(open_page: Opens, api: Api) -> None:
    page = open_page(ADDRESS)
    before = page.evaluate(CANVAS)
    page.route("**/api/**", lambda _: None)  # asked, and never answered
    slider = page.get_by_label("Percentile", exact=True)
    slider.fill("70")
    expect(page.locator("tr[data-metric='iou@70']")).to_be_visible()
    expect_same(seen(page), api.metrics(percentile=70))
    assert page.evaluate(CANVAS) != before  # the selected pixels are outlined anew
    slider.press("ArrowRight")
    expect(page.locator("tr[data-metric='iou@70.1']")).to_be_visible()
    expect_same(seen(page), api.metrics(percentile=70.1))
    expect_word(page, "percentile", "70.1")


def test_figures_stand_beside_the_data_set(open_page: Opens, api: Api) -> None:
    page = open_page(ADDRESS)
    answer = api.metrics()
    figure = next(one for one in answer["figures"] if one["metric"] == "iou@90")
    row = page.locator("tr[data-metric='iou@90']")
    expect(row).to_contain_text(f"{figure['mean']:.3f}")
    expect(row).to_contain_text(f"[{figure['low']:.3f}, {figure['high']:.3f}]")
    expect(page.locator(".image-figures")).to_contain_text(f"{answer['rank']:.0%} of the images")
    row.get_by_role("button", name="IoU@90").hover()
    expect(page.get_by_role("tooltip")).to_contain_text("Overlap of the selected pixels")


def test_the_note_says_where_metrics_disagree(open_page: Opens, api: Api) -> None:
    address = f"/image/{IMAGE}"
    wanted = api.ask(f"/api/metrics/{IMAGE}")["divergence"]
    assert wanted != ""
    page = open_page(address)
    expect(page.get_by_test_id("divergence")).to_contain_text(wanted)


def test_a_region_is_chosen_by_mouse_and_by_keyboard(open_page: Opens, api: Api) -> None:
    page = open_page(ADDRESS)
    region = max(api.regions(), key=lambda one: one["area"])
    chip = page.locator(".image-figures .chip.region")
    page.mouse.click(*place_of(page, *middle_of(api, region)))
    expect(chip).to_contain_text(f"{region['label']} · region {region['index']}")
    expect_word(page, "region", str(region["index"]))
    expect_same(seen(page), api.metrics(region["index"]))
    expect(page.get_by_label("Annotated regions").locator("[aria-pressed=true]")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(chip).to_have_count(0)
    pane = page.get_by_role("application")
    pane.focus()
    for _ in range(20):  # from wherever the pointer was: the region has many cells
        pane.press("Enter")
        if chip.count():
            break
        pane.press("ArrowDown")
    expect(chip).to_have_count(1)
    page.go_back()
    expect(chip).to_have_count(0)
    page.keyboard.press("n")
    expect(chip).to_contain_text(f"region {api.regions()[0]['index']}")


def test_similarity_to_a_region_and_to_a_box(open_page: Opens, api: Api) -> None:
    page = open_page(f"{ADDRESS}&region={api.regions()[0]['index']}")
    before = page.evaluate(CANVAS)
    # The first such question loads the model.
    with page.expect_response(re.compile("/api/similarity/"), timeout=90_000) as answer:
        page.get_by_role("radio", name="Similarity to a region").check()
    header, values, *_ = decode_map(answer.value.body())
    assert header.choice.sign == "signed"
    most = float(abs(values).max())
    bar = page.get_by_role("img", name=re.compile("^Colours from"))
    low, high = map(
        float, re.findall(r"[-−]?\d[\d.]*", bar.get_attribute("aria-label").replace("−", "-"))
    )
    assert low == -high == pytest.approx(-most, rel=1e-2)  # zero is in the middle
    assert page.evaluate(CANVAS) != before
    expect_word(page, "mode", "similarity")
    box = page.get_by_test_id("stage").bounding_box()
    page.keyboard.down("Shift")
    page.mouse.move(*place_of(page, 0.2, 0.2))
    page.mouse.down()
    page.mouse.move(*place_of(page, 0.4, 0.5), steps=4)
    with page.expect_request(re.compile("/api/similarity/")) as asked:
        page.mouse.up()
    page.keyboard.up("Shift")
    sent = asked.value.post_data_json["box"]
    assert sent == pytest.approx([0.2, 0.2, 0.4, 0.5], abs=2 / box["width"])
    expect_word(page, "box", ",".join(f"{edge:g}" for edge in sent))


def test_the_value_under_the_pointer(open_page: Opens, api: Api) -> None:
    page = open_page(ADDRESS)
    _, values, *_ = api.map()
    rows, columns = values.shape
    row, column = rows // 3, columns // 2
    page.mouse.move(*place_of(page, (column + 0.5) / columns, (row + 0.5) / rows))
    reading = page.get_by_test_id("reading")
    expect(reading).to_contain_text(f"row {row}, column {column}")
    (shown,) = re.findall(r"value ([\d.e-]+)", reading.inner_text())
    assert float(shown) == pytest.approx(float(values[row, column]), rel=1e-3)
    pane = page.get_by_role("application")
    pane.focus()
    pane.press("ArrowRight")
    expect(reading).not_to_contain_text(f"column {column} ")
    expect(reading).to_contain_text(f"row {row}, column ")


def test_how_the_map_looks(open_page: Opens) -> None:
    page = open_page(ADDRESS)
    pictures = [page.evaluate(CANVAS)]

    def expect_another() -> None:
        page.wait_for_function(f"last => {CANVAS} !== last", arg=pictures[-1])
        pictures.append(page.evaluate(CANVAS))

    page.get_by_label("Opacity", exact=True).fill("100")
    expect_another()
    for choice in ("Cells", "Fixed"):
        page.get_by_role("radio", name=choice).check()
        expect_another()
    page.get_by_label("Colours", exact=True).select_option("viridis")
    expect_another()
    for box in ("Regions", "Selected pixels"):
        page.get_by_label(box, exact=True).uncheck()
        expect_another()
    words = {"opacity": "1", "cells": "1", "scale": "fixed", "colours": "viridis"}
    for name, value in (words | {"regions": "0", "outline": "0"}).items():
        expect_word(page, name, value)
    assert len(set(pictures)) == len(pictures)
    page.reload()  # the link reproduces the view
    page.wait_for_function(f"last => {CANVAS} === last", arg=pictures[-1])


def test_zoom_and_pan_by_mouse_and_keyboard(open_page: Opens) -> None:
    page = open_page(ADDRESS)
    pane = page.get_by_role("application")

    def zoom() -> float:
        return float(pane.get_attribute("data-zoom"))

    def view() -> list[float]:
        return [float(part) for part in word(page, "view").split(",")]

    pane.focus()
    page.mouse.move(*place_of(page, 0.25, 0.25))
    page.mouse.wheel(0, -300)
    expect(pane).not_to_have_attribute("data-zoom", "1")
    expect(page).to_have_url(re.compile("view="))
    assert zoom() > 1.3
    x, y, _ = view()
    assert x < 0.5  # towards where the pointer was
    assert y < 0.5
    page.mouse.down()
    page.mouse.move(*place_of(page, 0.05, 0.05), steps=4)
    page.mouse.up()
    page.wait_for_function(
        "x => Number(new URL(location.href).searchParams.get('view').split(',')[0]) > x", arg=x
    )
    at, address = zoom(), page.url
    page.goto(address)
    expect(pane).to_have_attribute("data-zoom", f"{float(view()[2]):g}")
    pane.press("+")
    assert zoom() > at
    x = view()[0]
    pane.press("Shift+ArrowRight")
    page.wait_for_function(
        "x => Number(new URL(location.href).searchParams.get('view').split(',')[0]) > x", arg=x
    )
    page.get_by_role("button", name="Zoom out").click()
    pane.press("0")
    expect(pane).to_have_attribute("data-zoom", "1")


def test_layers_are_shown_played_and_drawn(open_page: Opens, api: Api) -> None:
    page = open_page(ADDRESS)
    answer = api.ask(f"/api/metrics/{IMAGE}/layers", **WORDS)
    strip = page.get_by_role("list", name="Layers")
    current = strip.locator("[aria-current=true]")
    assert [point["x"] for point in answer["points"]] == [0, 2, 11]
    expect(strip.get_by_role("button")).to_have_count(3)
    for point in answer["points"]:
        name = f"Layer {point['x']:g}, iou@90 {point['value']:.3f}"
        expect(strip.get_by_role("button", name=name)).to_be_visible()
    strip.get_by_role("button", name=re.compile("^Layer 11,")).click()
    expect(current).to_contain_text("11")
    expect_word(page, "layer", "11")
    expect_same(seen(page), api.metrics(layer=11))
    page.get_by_role("button", name="Play").click()
    for layer in ("0", "2", "11"):
        expect(current.locator("span")).to_have_text(layer)
    page.get_by_role("button", name="Pause").click()
    page.keyboard.press("[")
    chart = page.get_by_label(re.compile("over the layers"))
    chart.focus()
    chart.press("Home")
    chart.press("Enter")
    expect(current.locator("span")).to_have_text("0")


def test_the_percentile_curve_is_the_services_and_leads_there(open_page: Opens, api: Api) -> None:
    page = open_page(ADDRESS)
    answer = api.ask(f"/api/metrics/{IMAGE}/percentiles", **WORDS)
    page.get_by_role("button", name=f"Table: {IMAGE}-percentiles").click()
    rows = page.get_by_label(f"Numbers of {IMAGE}-percentiles").locator("tbody tr")
    expect(rows).to_have_count(99)
    shown = {row[1]: row[2] for row in rows.evaluate_all(
        "rows => rows.map(row => [...row.cells].map(cell => cell.textContent))"
    )}  # fmt: skip
    for point in answer["points"]:
        if f"{point['x']:g}" in shown:
            assert float(shown[f"{point['x']:g}"]) == pytest.approx(point["value"], abs=6e-5)
    page.get_by_role("button", name=f"Table: {IMAGE}-percentiles").click()
    chart = page.get_by_label(re.compile("over the percentiles"))
    expect(chart.locator(".current")).to_have_count(1)
    at = chart.locator(".current").get_attribute("x1")
    chart.focus()
    chart.press("Home")
    chart.press("Enter")
    expect(page.locator("tr[data-metric='iou@1']")).to_be_visible()
    expect(chart.locator(".current")).not_to_have_attribute("x1", at)


def test_other_maps_of_the_image(open_page: Opens, api: Api) -> None:
    page = open_page(ADDRESS)
    heads = page.get_by_label(re.compile("of each head"))
    heads.focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight"):  # layer 2, head 2
        heads.press(key)
    lines = api.ask(f"/api/metrics/{IMAGE}/heads", **WORDS)["lines"]
    line = next(one for one in lines if (one["layer"], one["head"]) == (2, 2))
    expect(page.locator(".heat-reading")).to_contain_text(f"head 2: {line['value']:.3f}")
    heads.press("Enter")
    expect_word(page, "head", "2")
    expect(page.get_by_role("application")).to_have_attribute("aria-label", re.compile("head 2"))
    expect_same(seen(page), api.metrics(head=2))
    table = page.get_by_label(f"iou@90 of all models on {IMAGE}")
    lines = api.ask(f"/api/metrics/{IMAGE}/models")["lines"]
    values = [one["value"] for one in lines if one["choice"]["method"] == "centre"]
    assert len(values) > len(set(values))  # the same for several models: one line
    for button in page.get_by_role("button", name=re.compile("^Show all")).all():
        button.click()
    expect(table.get_by_role("row").filter(has_text="centre")).to_have_count(len(set(values)))
    table.get_by_role("row").filter(has_text="demo/cnn").filter(has_text="saliency").click()
    expect_word(page, "model", "demo/cnn")
    expect_word(page, "method", "saliency")
    expect(page.get_by_role("list", name="Layers")).to_have_count(0)  # it has none
    answer = api.ask(f"/api/metrics/{IMAGE}", model="demo/cnn", method="saliency")
    page.wait_for_function(
        "area => document.querySelector('tr[data-metric=coverage] [data-figure=value]')"
        ".dataset.value.startsWith(area)",
        arg=str(answer["coverage"])[:8],
    )
    expect_same(seen(page), answer)
    page.get_by_label("Model", exact=True).select_option("demo/vit-dino@lora")
    page.get_by_label("Method", exact=True).select_option("rollout")
    page.get_by_label("Layer", exact=True).select_option("11")
    expect_word(page, "layer", "11")


def test_what_can_be_saved(open_page: Opens, api: Api) -> None:
    page = open_page(ADDRESS)

    def saved(menu: str, item: str) -> bytes:
        page.get_by_role("button", name=menu).click()
        with page.expect_download() as download:
            page.get_by_role("menuitem", name=item).click()
        content: bytes = download.value.path().read_bytes()
        return content

    assert saved("Export picture", "Picture as PNG").startswith(b"\x89PNG")
    drawing = saved("Export picture", "Picture as SVG").decode()
    assert drawing.count("data:image/png;base64,") == 2  # the image and its map
    assert drawing.count("<path") >= 2 * len(api.regions())  # regions are lines
    values = saved("Export picture", "Data as CSV").decode().splitlines()
    assert values[0] == "row,column,value,selected"
    assert len(values) == 1 + 56 * 56
    figures = saved(f"Export: {IMAGE}-figures", "Data as CSV").decode()
    assert "iou@90," in figures
    assert saved(f"Export: {IMAGE}-percentiles", "Figure as SVG").startswith(b"<?xml")


def test_keys_go_from_image_to_image(open_page: Opens) -> None:
    page = open_page(ADDRESS)
    page.keyboard.press(".")
    expect_word(page, "percentile", "91")
    page.keyboard.press("k")
    expect(page.get_by_role("heading", level=1)).to_have_text("facade-00009.png")
    expect_word(page, "percentile", "91")  # what was chosen goes along
    expect(page.get_by_label("Images before and after")).to_contain_text("10 of 12")
    page.keyboard.press("j")
    expect(page.get_by_role("heading", level=1)).to_have_text(IMAGE)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("next layer")


def test_next_goes_on_in_the_order_of_the_gallery(open_page: Opens, api: Api) -> None:
    words = {"model": "demo/cnn", "sort": "coverage", "ascending": "true"}
    order = [one["image"] for one in api.ask("/api/images", **words)["items"]]
    assert order != sorted(order)
    page = open_page(f"/?{urlencode(words)}")
    page.get_by_role("link", name=re.compile(order[0])).first.click()
    links = page.get_by_label("Images before and after")
    expect(links).to_contain_text(f"1 of {len(order)}")
    page.get_by_role("link", name="Next image").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(order[1])
    expect(links).to_contain_text(f"2 of {len(order)}")


def test_next_goes_on_among_the_images_that_were_named(open_page: Opens, api: Api) -> None:
    every = [
        one["image"] for one in api.ask("/api/images", sort="image", ascending="true")["items"]
    ]
    few = [every[0], every[3]]
    page = open_page(f"/?{urlencode({'ids': ','.join(few), 'sort': 'image'})}")
    page.get_by_role("link", name=re.compile(few[0])).first.click()
    links = page.get_by_label("Images before and after")
    expect(links).to_contain_text("1 of 2")
    page.get_by_role("link", name="Next image").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(few[1])
    expect(links).to_contain_text("2 of 2")


def test_what_is_not_there_is_said(open_page: Opens, said: list[str]) -> None:
    page = open_page("/image/nothing.png")
    expect(page.get_by_role("alert")).to_contain_text("nothing.png")
    page = open_page(f"/image/{IMAGE}?method=magic")
    alert = page.get_by_role("alert").first
    expect(alert).to_contain_text("magic")
    expect(alert).to_be_in_viewport()
    expect(page.get_by_label("Method", exact=True)).to_have_value("magic")
    page.get_by_label("Method", exact=True).select_option("")  # the way out
    expect(page.get_by_test_id("figures")).to_be_visible()
    page = open_page(f"{ADDRESS}&region=99")
    figures = page.locator(".image-figures")
    expect(figures).to_contain_text("has no region 99")
    page.route(f"**/api/metrics/{IMAGE}?*", lambda route: route.fulfill(status=400, body="no"))
    page.reload()
    expect(figures.get_by_role("alert")).to_be_visible()
    expect(figures).not_to_contain_text("not stored")  # what is not known is not said
    page.unroute(f"**/api/metrics/{IMAGE}?*")
    figures.get_by_role("button", name="Try again").click()
    expect(page.locator("tr[data-metric='iou@90'] .image-against")).to_contain_text("[")
    said.clear()


def test_the_layers_of_tables_come_to_one(open_page: Opens, api: Api) -> None:
    words = {"model": "demo/vit-dino", "method": "cls"}
    page = open_page(f"/image/{IMAGE}?{urlencode(words)}&layer=split&selection=mass500")
    expect_same(seen(page), api.ask(f"/api/metrics/{IMAGE}", **words))
    expect(page.locator(".image-map")).to_contain_text("one image has one layer")
    page = open_page(f"/image/{IMAGE}?{urlencode(words)}&layer=last")
    expect_same(seen(page), api.metrics(layer=11))


def test_by_touch_on_a_phone(open_page: Opens, phone: Any, api: Api) -> None:
    page = open_page(ADDRESS, phone)
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= page.evaluate("window.innerWidth")
    region = max(api.regions(), key=lambda one: one["area"])
    page.touchscreen.tap(*place_of(page, *middle_of(api, region)))
    expect(page.locator(".image-figures .chip.region")).to_contain_text(region["label"])
    expect(page.get_by_test_id("reading")).to_contain_text("value")
    pinch(page, place_of(page, 0.5, 0.5), 20, 90)
    pane = page.get_by_role("application")
    expect(pane).not_to_have_attribute("data-zoom", "1")
    expect(page).to_have_url(re.compile("view="))
    page.get_by_role("button", name="Show whole image").tap()
    expect(pane).to_have_attribute("data-zoom", "1")


def pinch(page: Any, centre: tuple[float, float], near: float, far: float) -> None:
    """Move two fingers apart."""
    touch = page.context.new_cdp_session(page)
    x, y = centre

    def fingers(apart: float) -> list[dict[str, float]]:
        return [{"x": x - apart, "y": y, "id": 0}, {"x": x + apart, "y": y, "id": 1}]

    touch.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": fingers(near)})
    for step in range(1, 6):
        apart = near + (far - near) * step / 5
        touch.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": fingers(apart)})
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
