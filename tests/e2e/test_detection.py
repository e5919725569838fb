"""The detection page: what it shows is what the service says, and each number opens its images."""

from __future__ import annotations

import csv
import json
import re
import urllib.request
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import pytest

from tests.e2e.conftest import PHONE, needed, wait_until_shown

if needed():
    pytest.skip(needed(), allow_module_level=True)

from playwright.sync_api import expect

from tests.demo import DETECTOR
from tests.e2e.test_axe import TOO_WIDE, broken_rules

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.conftest import Opens

NAME = f"name={DETECTOR}"


@pytest.fixture
def ask(app_url: str) -> Any:
    """Ask the service for JSON."""

    def asks(path: str, **words: Any) -> Any:
        query = f"?{urlencode(words)}" if words else ""
        with urllib.request.urlopen(app_url + path + query, timeout=20) as got:  # noqa: S310
            return json.load(got)

    return asks


@pytest.fixture
def image(ask: Any) -> str:
    """The image with the most errors."""
    found = ask(f"/api/detection/{DETECTOR}/images")
    return str(found["items"][0]["image"])


def words_of(page: Any) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


def counts_of(page: Any) -> dict[str, int]:
    """Return how many boxes of each state the picture shows."""
    states = page.locator(".detection-box").evaluate_all("all => all.map(one => one.dataset.state)")
    return {state: states.count(state) for state in set(states)}


def told(answer: dict[str, Any]) -> str:
    return f"{answer['tp']} TP, {answer['fp']} FP, {answer['fn']} FN"


def confusions(ask: Any) -> list[tuple[int, str, str]]:
    """Return count, true and predicted of the cells that hold something, the most first."""
    found = ask(f"/api/detection/{DETECTOR}")["confusion"]
    labels = found["labels"]
    cells = [
        (count, labels[i], labels[j])
        for i, row in enumerate(found["counts"])
        for j, count in enumerate(row)
        if count
    ]
    return sorted(cells, key=lambda cell: -cell[0])


def test_figures_classes_and_errors_are_those_of_the_service(open_page: Opens, ask: Any) -> None:
    page = open_page(f"/detection?{NAME}")
    found = ask(f"/api/detection/{DETECTOR}")
    rows = page.locator("#figures svg.chart .row").all_text_contents()
    assert len(rows) == 12
    for row, figure in zip(rows, found["figures"], strict=True):
        value = "undefined" if figure["value"] is None else f"{figure['value']:.3f}"
        assert figure["metric"] in row
        assert row.endswith(value)
    most = max(found["classes"], key=lambda one: (one["tp"] or 0) + (one["fn"] or 0))
    cells = page.locator("#classes tbody tr").first.locator("td").all_inner_texts()
    assert cells[:3] == [most["name"], str(most["tp"] + most["fn"]), f"{most['ap']:.2f}"]
    assert cells[7:10] == [str(most[key]) for key in ("tp", "fp", "fn")]
    rows = page.locator("#errors svg.chart .row").all_text_contents()
    assert len(rows) == len(found["errors"])
    for kind, cost in found["errors"].items():
        (row,) = (one for one in rows if kind.replace("_", " ") in one.lower())
        assert row.endswith(f"{cost:.3f}")
        assert kind not in found["counts"] or f"({found['counts'][kind]})" in row
    expect(page.locator("#reliability .note")).to_contain_text("ECE")


def test_a_class_that_is_picked_gets_its_curve_and_a_place_in_the_address(
    open_page: Opens, ask: Any
) -> None:
    page = open_page(f"/detection?{NAME}")
    name = page.locator("#classes tbody tr").nth(7).locator("td").first.inner_text()
    page.locator("#classes").get_by_role("button", name=name, exact=True).click()
    legend = page.locator("#curves .legend li")
    expect(legend).to_have_count(2)
    ap50 = next(one["ap50"] for one in ask(f"/api/detection/{DETECTOR}")["classes"]
                if one["name"] == name)  # fmt: skip
    expect(legend.nth(1)).to_have_text(f"{name}, AP50 {ap50:.2f}")
    expect(page).to_have_url(re.compile(f"classes={name.replace(' ', '[+]')}$"))
    page.reload()
    wait_until_shown(page)
    expect(page.locator("#curves .legend li").nth(1)).to_have_text(f"{name}, AP50 {ap50:.2f}")


def test_the_curve_reads_as_average_precision_does(open_page: Opens, ask: Any) -> None:
    found = ask(f"/api/detection/{DETECTOR}")
    name = max(found["curves"], key=lambda one: len(one["recall"]))["name"]
    page = open_page(f"/detection?{NAME}&classes={quote(name)}")
    page.locator("#curves").get_by_role("button", name="Table").click()
    rows = page.locator("#curves tbody tr").filter(has_text=name)
    values = [float(one or 0) for one in rows.locator("td:nth-child(3)").all_inner_texts()]
    assert len(values) == 101
    ap50 = next(one["ap50"] for one in found["classes"] if one["name"] == name)
    assert sum(values) / 101 == pytest.approx(ap50, abs=1e-3)


def test_a_cell_of_the_matrix_opens_its_images_with_its_boxes(open_page: Opens, ask: Any) -> None:
    count, true, predicted = next(one for one in confusions(ask) if one[1] != one[2])
    page = open_page(f"/detection?{NAME}")
    cell = page.locator("#confusion .cell").filter(
        has=page.locator("title", has_text=re.compile(rf"^{true}, {predicted}: {count} × "))
    )
    expect(cell).to_have_count(1)
    cell.click()
    expect(page.locator("#images h2")).to_contain_text("Images with")
    words = words_of(page)
    assert (words["true"], words["predicted"]) == (true, predicted)
    cards = page.locator(".detection-card")
    expect(cards.first).to_be_visible()
    shown = [int(one.split()[0]) for one in cards.locator(".what").all_inner_texts()]
    assert sum(shown) == count
    cards.first.get_by_role("link").click()
    strong = page.locator('.detection-box[opacity="1"]')
    pair = 1 if "Background" in (true, predicted) else 2
    expect(strong).to_have_count(shown[0] * pair)


def test_the_matrix_is_moved_and_picked_by_keys(open_page: Opens, ask: Any) -> None:
    labels = ask(f"/api/detection/{DETECTOR}")["confusion"]["labels"]
    page = open_page(f"/detection?{NAME}")
    page.locator("#confusion svg.heat-table").focus()
    page.keyboard.press("ArrowDown")
    reading = page.locator("#confusion .heat-reading")
    expect(reading).to_contain_text(" × ")
    page.keyboard.press("Enter")
    expect(page.locator("#images h2")).to_contain_text("found")
    assert words_of(page)["true"] in labels


def test_the_picture_shows_what_the_service_says_by_more_than_colour(
    open_page: Opens, ask: Any, image: str
) -> None:
    answer = ask(f"/api/detection/{DETECTOR}/images/{image}")
    page = open_page(f"/detection?{NAME}&image={image}")
    expect(page.locator(".detection-sum")).to_contain_text(told(answer))
    states = [box["state"] for box in answer["boxes"]]
    assert counts_of(page) == {state: states.count(state) for state in set(states)}
    label = page.locator(".detection-picture").get_attribute("aria-label")
    assert label == (
        f"{image} at confidence 0.25: {answer['tp']} true positives, {answer['fp']} false "
        f"positives, {answer['fn']} false negatives"
    )
    lines = {
        state: page.locator(f'.detection-box[data-state="{state}"] rect').nth(1)
        .get_attribute("stroke-dasharray")
        for state in set(states) & {"TP", "FP", "FN"}
    }  # fmt: skip
    assert len(set(lines.values())) == len(lines)
    box = next(one for one in answer["boxes"] if one["state"] == "FP")
    tag = f"{box['label']} {box['score']:.2f}"
    expect(page.locator(".detection-picture text", has_text=tag).first).to_be_visible()
    place = answer["boxes"].index(box)
    drawn = page.locator(f'.detection-box[data-place="{place}"] rect').first
    picture = page.locator(".detection-picture")
    x, wide = (
        float(one or 0) for one in (drawn.get_attribute("x"), picture.get_attribute("width"))
    )
    assert x / wide == pytest.approx(box["box"][0], abs=1e-6)


def test_the_confidence_moves_the_boxes_and_stands_in_the_address(
    open_page: Opens, ask: Any, image: str
) -> None:
    page = open_page(f"/detection?{NAME}&image={image}")
    slider = page.get_by_role("slider", name="Confidence")
    slider.fill("0.6")
    answer = ask(f"/api/detection/{DETECTOR}/images/{image}", confidence=0.6)
    assert answer["tp"] < ask(f"/api/detection/{DETECTOR}/images/{image}")["tp"]
    expect(page.locator(".detection-sum")).to_contain_text("confidence 0.60")
    expect(page.locator(".detection-sum")).to_contain_text(told(answer))
    expect(page.locator(".detection-box")).to_have_count(len(answer["boxes"]))
    expect(page).to_have_url(re.compile(r"confidence=0\.6\b"))
    page.reload()
    wait_until_shown(page)
    expect(page.locator(".detection-sum")).to_contain_text(told(answer))
    expect(slider).to_have_value("0.6")
    page.locator("h1").click()
    page.keyboard.press("+")
    expect(slider).to_have_value("0.65")
    slider.fill("1")
    expect(page.locator(".detection-sum")).to_contain_text("0 TP, 0 FP")
    expect(page.locator(".detection-sum")).to_contain_text("precision undefined, recall 0%")


def test_kinds_of_boxes_can_be_switched_off_and_a_link_keeps_that(
    open_page: Opens, ask: Any, image: str
) -> None:
    answer = ask(f"/api/detection/{DETECTOR}/images/{image}")
    page = open_page(f"/detection?{NAME}&image={image}")
    page.get_by_role("checkbox", name=re.compile("True positive")).uncheck()
    page.get_by_role("checkbox", name=re.compile("True box")).uncheck()
    expect(page.locator(".detection-box")).to_have_count(answer["fp"] + answer["fn"])
    expect(page.locator(".detection-list tbody tr")).to_have_count(answer["fp"] + answer["fn"])
    page.get_by_role("radio", name="none").check()
    expect(page.locator(".detection-picture text")).to_have_count(0)
    expect(page).to_have_url(re.compile("show=FP%2CFN.*labels=none"))
    page.reload()
    wait_until_shown(page)
    expect(page.locator(".detection-box")).to_have_count(answer["fp"] + answer["fn"])


def test_the_list_says_in_words_what_the_picture_shows_and_points_at_it(
    open_page: Opens, image: str
) -> None:
    page = open_page(f"/detection?{NAME}&image={image}&labels=none")
    row = page.locator(".detection-list tbody tr").first
    button = row.get_by_role("button", name=re.compile("^Show false positive: "))
    button.focus()
    expect(row).to_have_attribute("aria-current", "true")
    expect(page.locator(".detection-picture text")).to_have_count(1)
    button.blur()
    expect(page.locator(".detection-picture text")).to_have_count(0)


def test_keys_go_from_image_to_image_and_back_returns(open_page: Opens, ask: Any) -> None:
    items = ask(f"/api/detection/{DETECTOR}/images", state="FN")["items"]
    page = open_page(f"/detection?{NAME}&state=FN")
    expect(page.locator(".detection-card")).to_have_count(len(items))
    page.locator(".detection-card a").first.click()
    expect(page.locator("main h2")).to_have_text(items[0]["image"])
    expect(page.locator(".detection-steps")).to_contain_text(f"1 of {len(items)}")
    page.keyboard.press("n")
    expect(page.locator("main h2")).to_have_text(items[1]["image"])
    expect(page.locator(".detection-steps")).to_contain_text(f"2 of {len(items)}")
    page.keyboard.press("p")
    expect(page.locator("main h2")).to_have_text(items[0]["image"])
    for _ in range(3):
        page.go_back()
    expect(page.locator("#images h2")).to_have_text("Images with false negatives")


def test_picture_and_boxes_are_saved(
    open_page: Opens, ask: Any, image: str, tmp_path: Path
) -> None:
    page = open_page(f"/detection?{NAME}&image={image}")
    boxes = ask(f"/api/detection/{DETECTOR}/images/{image}")["boxes"]
    saved = {}
    for what in ("Figure as PNG", "Figure as SVG", "Data as CSV"):
        page.get_by_role("button", name=re.compile("^Export: ")).click()
        with page.expect_download() as got:
            page.get_by_role("menuitem", name=what).click()
        saved[what] = tmp_path / got.value.suggested_filename
        got.value.save_as(saved[what])
    svg = saved["Figure as SVG"].read_text("utf-8")
    assert 'href="data:image/' in svg  # the picture itself, so that the file stands alone
    assert colours_in_sky(saved["Figure as PNG"]) > 1
    with saved["Data as CSV"].open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert sorted(one["state"] for one in lines) == sorted(one["state"] for one in boxes)


def colours_in_sky(path: Path) -> int:
    """Return how many colours the upper edge of a picture has; 1 where nothing was drawn."""
    from PIL import Image

    with Image.open(path) as picture:
        strip = picture.convert("RGB").crop((0, 0, picture.width, 8))
        return len(strip.getcolors(strip.width * strip.height) or [])


def test_the_evaluation_follows_the_confidence(open_page: Opens, ask: Any) -> None:
    page = open_page(f"/detection?{NAME}")
    page.get_by_role("slider", name="Confidence").fill("0.5")
    found = ask(f"/api/detection/{DETECTOR}", confidence=0.5)
    most = max(found["classes"], key=lambda one: (one["tp"] or 0) + (one["fn"] or 0))
    expect(page.locator("#classes .note")).to_contain_text("confidence 0.50")
    cells = page.locator("#classes tbody tr").first.locator("td")
    expect(cells.nth(7)).to_have_text(str(most["tp"]))
    expect(page).to_have_url(re.compile(r"confidence=0\.5\b"))


def test_what_is_not_there_is_said(open_page: Opens, said: list[str]) -> None:
    page = open_page("/detection?name=nothing")
    expect(page.get_by_role("alert")).to_contain_text("no evaluation 'nothing' is stored")
    page = open_page(f"/detection?{NAME}&image=nothing.png", page)
    expect(page.get_by_role("alert")).to_contain_text("no image 'nothing.png' was evaluated")
    page = open_page(f"/detection?{NAME}&image=x&true=nothing&predicted=nothing", page)
    expect(page.get_by_role("alert")).to_be_visible()
    said.clear()  # the browser writes a line for each 404


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_images_and_boxes_break_no_serious_rule(
    page: Any, open_page: Opens, image: str, scheme: str
) -> None:
    page.emulate_media(color_scheme=scheme)
    open_page(f"/detection?{NAME}&images=1")
    assert broken_rules(page) == []
    open_page(f"/detection?{NAME}&image={image}")
    assert broken_rules(page) == []
    page.set_viewport_size(PHONE)
    wait_until_shown(page)
    assert page.evaluate(TOO_WIDE) <= 0
