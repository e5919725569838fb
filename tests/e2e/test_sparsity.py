"""The sparsity page: words first, then tables and bands, none of which claims too much."""

from __future__ import annotations

import csv
import json
import re
import urllib.request
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.e2e.conftest import exporter, needed, save, wait_until_shown

if needed():
    pytest.skip(needed(), allow_module_level=True)

from playwright.sync_api import expect

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.conftest import Opens


@pytest.fixture
def report(app_url: str) -> Any:
    """The report of the service; it is made once."""
    with urllib.request.urlopen(f"{app_url}/api/sparsity", timeout=60) as got:  # noqa: S310
        return json.load(got)


def records(report: Any, name: str) -> list[dict[str, Any]]:
    table = report["tables"][name]
    return [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]


def best_line(report: Any) -> dict[str, Any]:
    return next(one for one in records(report, "lines") if one["group"] != "baseline")


def called(line: dict[str, Any]) -> str:
    layer = "" if line["layer"] is None else f" · layer {line['layer']}"
    target = f" · {line['target']}" if line["target"] else ""
    return f"{line['model']} · {line['method']}{layer}{target}"


def test_one_who_waits_is_told_how_far_the_report_has_come(
    report: Any, page: Any, app_url: str
) -> None:
    told = {"making": True, "metric": "iou@90", "step": "Measuring a line", "done": 3, "all": 8}
    kept: list[Any] = []
    page.route("**/api/sparsity/progress", lambda route: route.fulfill(json=told))
    page.route(re.compile(r"/api/sparsity(\?|$)"), lambda route: kept.append(route))
    page.goto(f"{app_url}/sparsity")
    expect(page.get_by_role("status").filter(has_text="half a minute")).to_be_visible()
    expect(page.get_by_text("Measuring a line")).to_contain_text("3 of 8")
    bar = page.get_by_role("progressbar", name="Measuring a line")
    expect(bar).to_have_attribute("value", "3")
    kept.pop().fulfill(json=report)
    wait_until_shown(page)
    others = page.get_by_label("Metric", exact=True).locator("option").all_inner_texts()
    page.get_by_label("Metric", exact=True).select_option(others[-1])
    expect(bar).to_be_visible()  # over the report before, which is drawn faintly
    expect(page.locator(".stale #findings")).to_be_visible()
    kept.pop().fulfill(json=report)
    expect(bar).to_have_count(0)


def test_findings_stand_first_in_the_words_of_the_report(report: Any, open_page: Opens) -> None:
    page = open_page("/sparsity")
    expect(page.locator(".panel").first).to_have_attribute("id", "findings")
    assert page.locator("#findings li").all_inner_texts() == [
        text for _, text in report["findings"]
    ]
    headings = list(dict.fromkeys(heading for heading, _ in report["findings"]))
    assert page.locator("#findings h3").all_inner_texts() == headings
    expect(page.locator("#findings")).to_contain_text("sensitivity band, not a confidence interval")
    for text in report["missing"]:
        expect(page.locator("#sets")).to_contain_text(text)


def test_a_band_is_called_a_sensitivity_band_and_never_an_interval(
    report: Any, open_page: Opens
) -> None:
    page = open_page("/sparsity")
    bands = page.locator("#bands")
    expect(bands).to_contain_text("This is a sensitivity band, not a confidence interval.")
    expect(bands).to_contain_text("does not mean that “only sparsity” keeps it low")
    expect(bands).not_to_contain_text("95%")
    line = best_line(report)
    mine = [one for one in records(report, "dropout") if called(one) == called(line)]
    bands.get_by_role("button", name="Table: sensitivity-band").click()
    rows = bands.get_by_role("region", name="Numbers of sensitivity-band").locator("tbody tr")
    expect(rows).to_have_count(len(mine))
    for row, one in zip(rows.all(), mine, strict=True):
        cells = row.locator("td").all_inner_texts()
        assert cells[5:9] == [shown(one[key]) for key in ("rate", "mean", "low", "high")]


def shown(value: float) -> str:
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.4f}"


def test_numbers_follow_the_line_that_is_chosen(report: Any, open_page: Opens) -> None:
    lines = [one for one in records(report, "lines") if one["group"] != "baseline"]
    page = open_page("/sparsity")
    expect(page.locator(".sparsity-cards")).to_contain_text(f"{lines[0]['iou']:.3f}")
    select = page.get_by_label("Numbers, bands and disagreements below are about")
    expect(select).to_have_value(called(lines[0]))
    select.select_option(called(lines[1]))
    expect(page.locator(".sparsity-cards")).to_contain_text(f"{lines[1]['iou']:.3f}")
    expect(page.locator("#divergence h2")).to_contain_text(called(lines[1]))
    expect(page.locator("#bands h3").first).to_have_text(called(lines[1]))
    expect(page).to_have_url(re.compile("line="))
    page.reload()
    wait_until_shown(page)
    expect(page.locator("#divergence h2")).to_contain_text(called(lines[1]))


def test_disagreeing_metrics_cannot_be_told_apart_from_others(
    report: Any, open_page: Opens
) -> None:
    page = open_page("/sparsity")
    line = best_line(report)
    mine = [one for one in records(report, "divergence") if called(one) == called(line)]
    whole = next(one for one in mine if one["label"] is None)
    expect(page.locator("#divergence [role=note]")).to_have_text(whole["sentence"])
    first = page.locator("#divergence tbody tr").first.locator("td")
    most = max((one for one in mine if one["label"] is not None),
               key=lambda one: (one["share"] or 0, one["regions"]))  # fmt: skip
    expect(first.first).to_have_text(most["label"])
    expect(first.nth(1)).to_have_text(str(most["regions"]))
    first.first.get_by_role("link").click()
    expect(page.locator("h1")).not_to_contain_text("Sparsity")
    words = parse_qs(urlsplit(page.url).query)
    assert words["label"] == [most["label"]]
    assert words["model"] == [line["model"]]


def test_recall_is_never_shown_without_iou_and_coverage(report: Any, open_page: Opens) -> None:
    page = open_page("/sparsity")
    for panel, wanted in (("#scores", ("IoU@90", "Coverage", "Region recall")),
                          ("#pairs", ("Δ IoU", "Δ coverage", "Δ region recall"))):  # fmt: skip
        heads = " ".join(page.locator(f"{panel} thead th").all_inner_texts())
        for title in wanted:
            assert title in heads
    row = page.locator("#scores tbody tr", has_text=called(best_line(report))).first
    one = best_line(report)
    for key in ("iou", "chance", "coverage", "coverage_chance", "region_recall"):
        expect(row).to_contain_text(f"{one[key]:.3f}")
    assert page.locator("#scores tbody tr.soft").count() > 0  # baselines stand beside the models


def test_a_pair_shows_what_gaps_do_to_its_difference(report: Any, open_page: Opens) -> None:
    page = open_page("/sparsity")
    pairs = records(report, "verdicts")
    rows = page.locator("#pairs tbody tr")
    last = min(len(pairs), 12) - 1
    one = pairs[last]
    expect(rows.nth(last)).to_contain_text(one["verdict"])
    expect(rows.nth(last)).to_contain_text(f"{one['difference']:+.3f}".replace("-", "−"))
    rows.nth(last).get_by_role("button").click()
    heading = page.locator("#pairs h3").nth(1)
    expect(heading).to_contain_text(f"{one['a']} − {one['b']}: {one['method']}")
    expect(page).to_have_url(re.compile("pair="))
    note = page.locator("#pairs .chart-frame").nth(1).locator(".note")
    expect(note).to_contain_text("not a confidence interval")


def test_verdicts_filter_the_pairs(report: Any, page: Any, open_page: Opens) -> None:
    table = report["tables"]["verdicts"]
    place = table["columns"].index("verdict")
    table["rows"][0][place] = "cannot be told apart"  # the fixture's pairs may all be alike
    page.route("**/api/sparsity*", lambda route: route.fulfill(json=report))
    open_page("/sparsity")
    expect(page.locator("#pairs tbody tr")).to_have_count(min(len(table["rows"]), 12))
    page.locator("#pairs").get_by_role("button", name="cannot be told apart (1)").click()
    expect(page.locator("#pairs tbody tr")).to_have_count(1)
    expect(page.locator("#pairs tbody .chip.doubt")).to_have_text("cannot be told apart")
    expect(page).to_have_url(re.compile("verdict="))
    page.locator("#pairs").get_by_role("button", name=f"all ({len(table['rows'])})").click()
    expect(page.locator("#pairs tbody tr")).to_have_count(min(len(table["rows"]), 12))


def test_charts_and_tables_are_saved(report: Any, open_page: Opens, tmp_path: Path) -> None:
    page = open_page("/sparsity")
    bands, scores = (exporter(page.locator(panel)) for panel in ("#bands", "#scores"))
    svg = save(page, bands, "Figure as SVG", tmp_path).read_text("utf-8")
    assert "<path" in svg
    assert "Share of the labels left out" in svg
    with save(page, scores, "Data as CSV", tmp_path).open(newline="") as file:
        lines = list(csv.DictReader(file))
    values = {float(one["iou"]) for one in lines}
    assert values == {one["iou"] for one in records(report, "lines")}
    with save(page, bands, "Data as CSV", tmp_path).open(newline="") as file:
        assert {"band_low", "band_high"} <= set(next(csv.reader(file)))


def test_a_metric_that_the_report_cannot_be_about_is_left_out(open_page: Opens) -> None:
    page = open_page("/sparsity?metric=coverage")
    expect(page.locator("#findings")).to_be_visible()
    expect(page.get_by_label("Metric", exact=True)).to_have_value("iou@90")


def test_what_must_not_be_concluded_stands_at_the_end(open_page: Opens) -> None:
    page = open_page("/sparsity")
    expect(page.locator(".panel").last).to_contain_text("Read before you conclude")
    expect(page.locator("#limits li")).to_have_count(7)
