"""The page: whole, well formed, without scripts, and careful with names and words."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any
from xml.dom import minidom

import pandas as pd
import pytest

from sightline.report import missing_labels_page as page
from sightline.report import sparsity_page, write_page
from sightline.report.svg import Mark, Scale, band_chart, interval_chart, span_of
from sightline.results import SparsityReport, open_results, sparsity_report
from tests.results.statistics import stores

if TYPE_CHECKING:
    from pathlib import Path

VOID = {"meta", "link", "br", "hr", "img", "input"}


class Balanced(HTMLParser):
    """Notes tags that are not closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag != "script"
        for name, value in attrs:
            assert not name.startswith("on")
            assert name not in ("src", "href"), value
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Leave aside what is closed at once."""

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.fixture(scope="module")
def reports(
    alone: SparsityReport, joined: SparsityReport, complete: SparsityReport
) -> list[SparsityReport]:
    return [alone, joined, complete]


def test_a_line_has_one_name_on_a_page(reports: list[SparsityReport]) -> None:
    for report in reports:
        page = sparsity_page(report)
        assert f"findings are about <b>{report.main}</b>" in page
        assert f"<figcaption><b>{report.main}</b></figcaption>" in page


def test_pages_are_well_formed_and_stand_alone(reports: list[SparsityReport]) -> None:
    for report in reports:
        page = sparsity_page(report)
        parser = Balanced()
        parser.feed(page)
        assert parser.open == []
        assert "http" not in page
        assert "url(" not in page
        assert "nan" not in re.sub("<style>.*</style>", "", page, flags=re.DOTALL).lower()
        charts = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
        assert len(charts) >= 2
        for chart in charts:
            minidom.parseString(chart)  # noqa: S318


def test_pages_say_every_conclusion_and_what_is_missing(reports: list[SparsityReport]) -> None:
    for report in reports:
        parser = Balanced()
        parser.feed(sparsity_page(report))
        text = " ".join(" ".join(parser.texts).split())
        for sentence in (*report.conclusions, *report.missing):
            assert sentence in text


def test_bands_are_never_called_intervals(reports: list[SparsityReport]) -> None:
    for report in reports:
        page = sparsity_page(report)
        assert "sensitivity band" in page
        assert set(re.findall(r"(\w+ \w+) confidence interval", page)) == {"not a"}
        assert "<b>not</b> mean that “only sparsity”" in page


def test_recall_is_never_without_iou_or_coverage(reports: list[SparsityReport]) -> None:
    for report in reports:
        for head in re.findall(r"<thead>.*?</thead>", sparsity_page(report)):
            if "recall" in head:
                assert "IoU" in head
                assert "coverage" in head


def test_names_are_no_markup(reports: list[SparsityReport]) -> None:
    odd = '<b>x</b>&"'
    names = {"model", "method", "target", "a", "b", "label", "quantity", "direction", "reason"}
    for report in reports:
        tables: dict[str, Any] = {}
        for table in report.TABLES:
            frame = getattr(report, table).copy()
            for column in names & set(frame):
                frame[column] = frame[column].where(frame[column].isna(), odd)
            tables[table] = frame
        texts: dict[str, Any] = {
            "study": odd,
            "metric": odd,
            "main": odd,
            "note": odd,
            "missing": (odd,),
        }
        page = sparsity_page(replace(report, findings=((odd, odd),), **texts, **tables))
        assert "<b>x" not in page
        assert 'x</b>&"' not in page
        assert page.count("&lt;b&gt;x&lt;/b&gt;&amp;&quot;") > 20
        Balanced().feed(page)


def test_a_page_of_one_image_has_no_empty_figures(folder: Path) -> None:
    store = stores.run_facades(folder, "single", "representative", 1, methods=["cls", "random"])
    with open_results(store) as results:
        report = sparsity_report(results, draws=60)
    page = re.sub("<style>.*</style>", "", sparsity_page(report), flags=re.DOTALL)
    assert not re.search(r"\bnan\b", f"{page} {' '.join(report.conclusions)}")
    assert "too few for a test" in " ".join(report.conclusions)
    assert " on 1 image are scored" in " ".join(report.conclusions)


def test_a_page_of_baselines_alone_does_not_speak_of_others(sparse: Path) -> None:
    with open_results(sparse) as results:
        report = sparsity_report(results, draws=60, method="centre")
    assert "that is no baseline" not in sparsity_page(report)
    assert any(text.endswith("score the same on iou@90 on every image.")
               for text in report.conclusions)  # fmt: skip


def test_a_page_is_written_whole(reports: list[SparsityReport], tmp_path: Path) -> None:
    path = tmp_path / "report" / "sparsity.html"
    assert write_page(reports[0], path) == path
    assert path.read_text("utf-8") == sparsity_page(reports[0])
    assert [one.name for one in path.parent.iterdir()] == ["sparsity.html"]


def test_the_same_seed_gives_the_same_page(reports: list[SparsityReport], sparse: Path) -> None:
    with open_results(sparse) as results:
        again = sparsity_report(results, draws=60)
    assert sparsity_page(again) == sparsity_page(reports[0])


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0, 0.3, [0, 0.1, 0.2, 0.3]),
        (-0.02, 0.031, [-0.02, 0.0, 0.02]),
        (0, 100, [0, 50, 100]),
    ],
)
def test_ticks_are_round_numbers(low: float, high: float, ticks: list[float]) -> None:
    assert Scale(low, high, 0, 1).ticks() == ticks


def test_spans_hold_every_value() -> None:
    low, high = span_of([0.1, float("nan"), 0.4])
    assert low == 0
    assert high > 0.4
    assert span_of([])[1] > span_of([])[0]
    low, high = span_of([-0.1, 0.2])
    assert low < -0.1
    assert high > 0.2


def test_no_value_without_an_interval_stretches_the_axis() -> None:
    nan = float("nan")
    sets = pd.DataFrame({"value": [0.2, 0.9], "low": [0.1, nan], "high": [0.3, nan]})
    low, high = page._find_axis(sets)
    assert 0.3 < high < 0.4
    assert page._find_axis(sets[1:])[1] > 0.9
    marks = [Mark("sparse", 0.2, 0.1, 0.3, "sparse"), Mark("gold", 0.9, nan, nan, "gold")]
    chart = interval_chart(marks, (low, high), "two")
    assert chart.count("<circle") == 1
    assert "▸" in chart
    assert "0.900" in chart


def test_a_mark_without_a_value_says_so() -> None:
    nan = float("nan")
    chart = interval_chart([Mark("gold", nan, nan, nan, "gold"), Mark("a", 1, nan, nan, "gold")],
                           (0, 2), "two")  # fmt: skip
    assert "no estimate" in chart
    assert chart.count("<circle") == 1
    assert 'class="span' not in chart
    minidom.parseString(chart)  # noqa: S318
    minidom.parseString(band_chart([(0, -1, 0, 1), (0.5, -1, 0, 1)], 0, (-1, 1), "a & b"))  # noqa: S318
