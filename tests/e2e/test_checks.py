"""The page of checks: verdicts, cascades, faithfulness, parts, agreement, failures."""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.e2e.conftest import PHONE, exporter, needed, new_page, save, wait_until_shown

if needed():
    pytest.skip(needed(), allow_module_level=True)

from playwright.sync_api import expect

from tests.e2e.test_axe import TOO_WIDE, broken_rules
from tests.e2e.test_shell import answer

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.conftest import Opens

VIEWS = ("verdicts", "cascade", "faithfulness", "curves", "parts", "correctness", "agreement",
         "layers", "failures")  # fmt: skip
SIGNS = {"pass": "✓", "fail": "✗", "cannot tell": "?"}


def asked(url: str) -> dict[str, str]:
    return {name: found[0] for name, found in parse_qs(urlsplit(url).query).items()}


def minus(value: float, sign: bool = False) -> str:
    text = f"{value:{'+' if sign else ''}.3f}"
    return text.lstrip("+-") if float(text) == 0 else text.replace("-", "−")


def test_verdicts_stand_with_their_numbers_and_the_guides_rule(
    open_page: Opens, app_url: str
) -> None:
    lines = answer(f"{app_url}/api/checks/sanity")["lines"]
    page = open_page("/checks")
    rows = page.locator("#verdicts tbody tr")
    expect(rows).to_have_count(len(lines))
    for row, line in zip(rows.all(), lines, strict=True):
        expect(row).to_contain_text(line["method"])
        expect(row.locator(".chip").first).to_have_text(line["verdict"])
        expect(row).to_contain_text(minus(line["difference"], sign=True))
        expect(row).to_contain_text(minus(line["similarity"]))
        expect(row).to_contain_text(f"{line['images']} × {line['seeds']}")
        expect(row).to_contain_text(line["guide"])
        expect(row).to_contain_text(line["cascade"])
    for verdict, sign in SIGNS.items():
        count = sum(line["verdict"] == verdict for line in lines)
        expect(page.locator(".checks-counts")).to_contain_text(f"{sign} {verdict}: {count}")


def test_verdicts_are_not_a_ranking_and_the_page_says_why(open_page: Opens, app_url: str) -> None:
    page = open_page("/checks")
    note = page.get_by_role("note").first
    expect(note).to_contain_text("Verdicts do not rank methods")
    expect(note).to_contain_text("Binder et al. 2023")
    expect(page.get_by_role("button", name=re.compile("Sort by similarity"))).to_have_count(0)


def test_a_verdict_opens_its_cascade_with_references_and_accuracy(
    open_page: Opens, app_url: str
) -> None:
    line = answer(f"{app_url}/api/checks/sanity")["lines"][0]
    page = open_page("/checks")
    page.locator("#verdicts tbody tr").first.get_by_role("link").click()
    wait_until_shown(page)
    words = asked(page.url)
    assert (words["view"], words["model"], words["method"]) == (
        "cascade", line["model"], line["method"],
    )  # fmt: skip
    legend = page.locator(".legend")
    expect(legend).to_contain_text(f"map of another image ({line['cross']:.2f})")
    expect(legend).to_contain_text("accuracy of the model")
    page.locator("svg.line-chart").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".readout")).to_contain_text("the trained network")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".readout")).to_contain_text("up to head")


def test_the_measure_and_the_way_are_chosen_and_stay_in_the_address(
    open_page: Opens, app_url: str
) -> None:
    page = open_page("/checks")
    page.get_by_label("Similarity by").select_option("ssim")
    expect(page).to_have_url(re.compile("similarity=ssim"))
    line = answer(f"{app_url}/api/checks/sanity?measure=ssim")["lines"][0]
    expect(page.locator("#verdicts tbody tr").first).to_contain_text(minus(line["similarity"]))
    page.reload()
    wait_until_shown(page)
    expect(page.get_by_label("Similarity by")).to_have_value("ssim")
    page.get_by_role("button", name="Clear filters").click()
    expect(page.get_by_label("Similarity by")).to_have_value("spearman")


def test_keys_lead_through_the_views(open_page: Opens) -> None:
    page = open_page("/checks")
    views = page.get_by_role("navigation", name="Views of the checks")
    page.keyboard.press("]")
    expect(views.locator("[aria-current=page]")).to_have_text("Cascade")
    page.keyboard.press("[")
    page.keyboard.press("[")
    expect(views.locator("[aria-current=page]")).to_have_text("Failures")
    wait_until_shown(page)
    page.keyboard.press("g")
    page.keyboard.press("k")
    expect(views.locator("[aria-current=page]")).to_have_text("Verdicts")


def test_measures_of_faithfulness_stand_beside_the_random_map(
    open_page: Opens, app_url: str
) -> None:
    found = answer(f"{app_url}/api/checks/faithfulness")
    page = open_page("/checks?view=faithfulness")
    first = found["measures"][0]
    shown = [line for line in found["lines"] if line["measure"] == first]
    line = next(one for one in shown if one["group"] != "baseline")
    mark = page.get_by_role("link", name=re.compile(rf"^{line['method']}\b")).first
    expect(mark).to_have_accessible_name(re.compile(f"random map {minus(line['random'])}"))
    heads = page.locator("#measures thead th").all_inner_texts()
    assert len(heads) == 1 + len(found["measures"])
    methods = {(one["model"], one["method"], one["target"]) for one in found["lines"]}
    expect(page.locator("#measures tbody tr")).to_have_count(len(methods))
    mark.click()
    wait_until_shown(page)
    assert asked(page.url)["view"] == "curves"
    assert asked(page.url)["curve"] == first


def test_removal_curves_have_the_baselines_beside_them(open_page: Opens, app_url: str) -> None:
    curves = answer(f"{app_url}/api/checks")["curves"]
    page = open_page(f"/checks?view=curves&curve={curves[-1]}")
    found = answer(f"{app_url}/api/checks/curves?measure={curves[-1]}")
    models = list(dict.fromkeys(line["model"] for line in found["lines"]))
    expect(page.locator("svg.line-chart")).to_have_count(len(models))
    for name in ("random", "centre", "edge"):
        expect(page.locator(".legend").first).to_contain_text(name)
    expect(page.get_by_label("Curves of", exact=True)).to_have_value(curves[-1])


def test_deciding_parts_and_the_background(open_page: Opens, app_url: str) -> None:
    parts = answer(f"{app_url}/api/checks/parts")["lines"]
    page = open_page("/checks?view=parts")
    line = next(one for one in parts if one["ap"] is not None)
    row = page.get_by_role("img", name=re.compile(rf"^{line['method']}\b")).first
    expect(row).to_have_accessible_name(re.compile(rf"{line['ap']:.3f}.*chance {line['base']:.3f}"))
    background = answer(f"{app_url}/api/checks/background")
    rows = page.locator("#background tbody tr")
    expect(rows).to_have_count(len(background["lines"]))
    expect(rows.first).to_contain_text(minus(background["lines"][0]["difference"], sign=True))
    models = [one["name"] for one in answer(f"{app_url}/api/study")["models"]]
    page.locator("#background").get_by_label("against", exact=True).select_option(models[2])
    expect(page).to_have_url(re.compile("other="))
    other = answer(f"{app_url}/api/checks/background?other={models[2]}")["lines"]
    expect(rows).to_have_count(len(other))


def test_right_and_wrong_is_plausibility_alone(page: Any, open_page: Opens, app_url: str) -> None:
    found = answer(f"{app_url}/api/checks/correctness")
    told = {"difference": 0.123, "low": 0.05, "high": 0.2, "wrong_images": 4}
    told |= {"adjusted": -0.045, "adjusted_low": -0.1, "adjusted_high": 0.01}
    found["lines"] = [found["lines"][0] | told]  # the demo's classifiers are rarely wrong
    page.route("**/api/checks/correctness*", lambda route: route.fulfill(json=found))
    open_page("/checks?view=correctness")
    expect(page.get_by_role("note")).to_contain_text("plausibility, not faithfulness")
    row = page.locator(".interval-rows .interval-row").first
    expect(row).to_contain_text("−0.045")
    page.get_by_role("radio", name="as it is").check(force=True)
    expect(page).to_have_url(re.compile("difference=difference"))
    expect(row).to_contain_text("+0.123")
    expect(row).to_contain_text("(4)")
    models = page.get_by_role("group", name="by accuracy of its model")
    defined = [one for one in found["models"] if one["value"] is not None]
    expect(models.locator(".spot")).to_have_count(len(defined))
    spots = page.locator(".checks-small svg.checks-scatter").first.locator("circle")
    assert spots.count() > 0
    page.locator(".checks-small svg.checks-scatter a").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Gallery")
    assert asked(page.url)["style"] in {one["label"] for one in found["classes"]}


def test_a_difference_over_single_images_comes_last_and_stretches_no_axis(
    page: Any, open_page: Opens, app_url: str
) -> None:
    found = answer(f"{app_url}/api/checks/correctness")
    ends = {"low": None, "high": None, "adjusted_low": None, "adjusted_high": None}
    few = {"right": 0.9, "wrong": 0.1, "right_images": 11, "wrong_images": 1, "reason": ""}
    sure = {"low": 0.01, "high": 0.09, "adjusted_low": 0.01, "adjusted_high": 0.09}
    many = {"right_images": 6, "wrong_images": 6, "reason": ""}
    lines = [
        {"method": "alone", "difference": 0.8, "adjusted": 0.8} | few | ends,
        {"method": "small", "difference": 0.04, "adjusted": 0.04} | many | sure,
        {"method": "none", "difference": None, "adjusted": None, "reason": "needs 5"} | ends,
        {"method": "large", "difference": 0.06, "adjusted": 0.06} | many | sure,
    ]
    found["lines"] = [found["lines"][0] | line for line in lines]
    page.route("**/api/checks/correctness*", lambda route: route.fulfill(json=found))
    open_page("/checks?view=correctness")
    chart = page.locator("svg.interval-rows")
    rows = chart.locator(".interval-row")
    for row, method in zip(rows.all(), ("large", "small", "alone", "none"), strict=True):
        expect(row).to_contain_text(method)
    expect(rows.nth(2)).to_contain_text("n = 1")
    expect(rows.nth(2).locator("circle")).to_have_count(0)
    expect(rows.nth(3).get_by_role("link")).to_have_attribute("aria-label", re.compile("needs 5"))
    ticks = [float(one) for one in chart.locator(".axes .tick").all_text_contents()]
    assert max(ticks) == pytest.approx(0.08, abs=0.021)


def test_agreement_reads_intervals_and_opens_two_maps(open_page: Opens, app_url: str) -> None:
    found = answer(f"{app_url}/api/checks/agreement")
    page = open_page("/checks?view=agreement")
    page.locator("svg.heat-table").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    low, high = found["low"][0][1], found["high"][0][1]
    ends = f"[{low:.2f}, {high:.2f}]".replace("-", "−")
    expect(page.locator(".heat-reading")).to_contain_text(ends)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text(re.compile("Compare"))


def test_failures_show_association_and_open_the_image(open_page: Opens, app_url: str) -> None:
    found = answer(f"{app_url}/api/checks/failures")
    page = open_page("/checks?view=failures")
    pictures = page.locator("#worst li")
    expect(pictures).to_have_count(len(found["items"]))
    for item, one in zip(pictures.all(), found["items"], strict=True):
        expect(item).to_contain_text(one["image"])
        expect(item).to_contain_text(f"{one['value']:.3f}")
        for reason in one["reasons"]:
            expect(item).to_contain_text(reason)
    expect(page.locator("#reasons")).to_contain_text("Association, not cause")
    expect(page.locator("#reasons tbody tr")).to_have_count(len(found["reasons"]))
    pictures.first.get_by_role("link").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(found["items"][0]["image"])
    assert asked(page.url)["method"] == found["choice"]["method"]


def test_layers_are_compared_with_the_next(open_page: Opens, app_url: str) -> None:
    found = answer(f"{app_url}/api/checks/layers")
    page = open_page("/checks?view=layers")
    point = found["lines"][0]["points"][0]
    page.locator("svg.line-chart").first.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".readout")).to_contain_text(f"layer {point['layer']} to {point['next']}")
    expect(page.locator(".readout")).to_contain_text(minus(point["spearman"]))


def test_figures_and_numbers_are_saved(open_page: Opens, app_url: str, tmp_path: Path) -> None:
    page = open_page("/checks")
    frame = page.locator(".chart-frame").first
    svg = save(page, exporter(frame), "Figure as SVG", tmp_path).read_text("utf-8")
    assert "More similar than the map of another image?" in svg
    assert "0.1" in svg
    button = exporter(page.locator("#verdicts"))
    with save(page, button, "Data as CSV", tmp_path).open(newline="") as file:
        saved = list(csv.DictReader(file))
    lines = answer(f"{app_url}/api/checks/sanity")["lines"]
    assert [one["verdict"] for one in saved] == [line["verdict"] for line in lines]
    assert [float(one["difference"]) for one in saved] == [line["difference"] for line in lines]


def test_a_store_without_checks_says_what_would_make_them(page: Any, app_url: str) -> None:
    health = answer(f"{app_url}/api/health") | {"checks": []}
    page.route("**/api/health", lambda route: route.fulfill(json=health))
    page.goto(f"{app_url}/checks")
    wait_until_shown(page)
    expect(page.locator(".empty")).to_contain_text("No checks are stored")
    expect(page.locator(".empty pre")).to_have_text("checks:\n  randomisation: {}")
    expect(page.locator(".empty")).to_contain_text("sightline sanity RUN")
    page.get_by_role("link", name="Failures").click()  # what needs no check is there all the same
    wait_until_shown(page)
    expect(page.locator("#worst li")).not_to_have_count(0)


def test_a_study_without_stages_says_how_to_ask_for_them(page: Any, app_url: str) -> None:
    checks = answer(f"{app_url}/api/checks") | {"ways": ["full"]}
    page.route(re.compile(r"/api/checks(\?|$)"), lambda route: route.fulfill(json=checks))
    page.goto(f"{app_url}/checks?view=cascade")
    wait_until_shown(page)
    expect(page.locator(".empty pre")).to_contain_text("ways: [full, top-down]")


@pytest.mark.parametrize("view", VIEWS[1:])
def test_every_view_breaks_no_serious_rule_and_fits_a_phone(
    browser: Any, app_url: str, said: list[str], view: str
) -> None:
    page = new_page(browser, said, viewport=PHONE, color_scheme="dark")
    page.goto(f"{app_url}/checks?view={view}")
    wait_until_shown(page)
    assert broken_rules(page) == []
    assert page.evaluate(TOO_WIDE) <= 0
    page.context.close()
    assert said == []
