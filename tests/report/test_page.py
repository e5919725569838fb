"""Parts of the page: escaped, sortable, with ids that no two figures share."""

from __future__ import annotations

import base64
import re
from io import BytesIO
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from sightline.figures import house_style, new_figure
from sightline.report.figures import Choice
from sightline.report.page import (
    Cell,
    Head,
    Link,
    Section,
    Shown,
    data_uri,
    figure_cell,
    figure_html,
    findings_html,
    inline_svg,
    page_html,
    table_html,
)
from sightline.report.plates import Wanted, labels_of
from sightline.report.words import Finding

if TYPE_CHECKING:
    from pathlib import Path

ODD = "<script>alert('x')</script> \" & `code`"


def drawn() -> str:
    """Return matplotlib's SVG of a small figure with a legend and a clip."""
    figure = new_figure(4, 3)
    ax = figure.add_subplot()
    ax.plot([0, 1], [0, 2], label="one", marker="o")
    ax.legend()
    content = BytesIO()
    with house_style():
        figure.savefig(content, format="svg")
    return content.getvalue().decode()


def test_an_inline_svg_has_ids_of_its_own() -> None:
    one, two = (inline_svg(drawn(), key, "a chart") for key in ("f1", "f2"))
    ids = [set(re.findall(r'\bid="([^"]+)"', text)) for text in (one, two)]
    assert ids[0]
    assert not ids[0] & ids[1]
    for text, known in zip((one, two), ids, strict=True):
        used = set(re.findall(r'(?:url\(#|href="#)([^")]+)', text))
        assert used
        assert used == known


def test_an_inline_svg_is_a_picture_with_a_name_and_live_text() -> None:
    text = inline_svg(drawn(), "f1", ODD)
    assert text.startswith("<svg ")
    assert text.endswith("</svg>")
    assert 'role="img"' in text
    assert 'aria-label="&lt;script&gt;alert(&#x27;x&#x27;)' in text
    assert "<style" not in text
    assert "<metadata" not in text
    assert "<?xml" not in text
    assert re.search(r"<text [^>]*>one</text>", text)
    assert 'width="384" height="288"' in text


def test_tables_escape_sort_by_numbers_and_keep_what_is_undefined_last() -> None:
    heads = [Head("Line", number=False), Head("iou ↑")]
    rows = [("", [Cell(ODD), figure_cell(0.12345)]), ("base", [Cell("b"), figure_cell(None)]),
            ("chance", [Cell("Chance"), figure_cell(0.06)])]  # fmt: skip
    text = table_html(heads, rows, label="Table <1>", caption=ODD)
    assert "<script" not in text
    assert text.count('<button type="button">') == 2
    assert 'data-value="0.12345">0.123' in text
    assert 'data-value="">–' in text
    assert '<tr class="chance" data-fixed="1">' in text
    assert text.count('<th scope="row">') == 3
    assert "<b>Table &lt;1&gt;.</b>" in text
    plain = table_html(heads, rows, label="t", kind="guide")
    assert "<button" not in plain


def test_findings_escape_and_set_code() -> None:
    text = findings_html([Finding("a < b", ODD, "bad")])
    assert "<script" not in text
    assert "<code>code</code>" in text
    assert '<span class="chip bad">' in text


def test_a_figure_names_its_files() -> None:
    shown = Shown("Figure 2a", ODD, "about it", "read it", "alt", "chart", "<svg></svg>",
                  (Link("PNG", "examples/a.png", "data:image/png;base64,AA=="),))  # fmt: skip
    text = figure_html(shown)
    assert "<script" not in text
    assert 'download="a.png"' in text
    assert 'aria-label="Figure 2a as PNG"' in text
    assert "about it." in text


def test_data_addresses_hold_the_file() -> None:
    address = data_uri(b"a,b\n", "csv")
    assert base64.b64decode(address.partition(",")[2]) == b"a,b\n"


def test_figures_are_numbered_as_in_a_paper() -> None:
    places = ["figure-1", "figure-1", "figure-2", "figure-2", "figure-2", "layers", "metrics"]
    wanted = [Wanted(place, "roc", "", Choice()) for place in places]
    assert labels_of(wanted) == ["Figure 1a", "Figure 1b", "Figure 2a", "Figure 2b", "Figure 2c",
                                 "Figure S1", "Figure S2"]  # fmt: skip
    assert labels_of([Wanted("checks", "sanity-check", "", Choice())]) == ["Figure 3"]


def test_the_page_escapes_its_title_and_lists_its_sections() -> None:
    text = page_html(ODD, ODD, [Section("one", "One <b>", "<p>x</p>")])
    assert "alert('x')" not in text
    assert '<li><a href="#one">One &lt;b&gt;</a></li>' in text
    assert '<h2 id="one-h">One &lt;b&gt;</h2>' in text


# --- the demo's page -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def page(demo_report: Path) -> str:
    return (demo_report / "index.html").read_text("utf-8")


def test_the_page_needs_nothing_from_elsewhere(page: str) -> None:
    bare = re.sub(r"data:[\w/+.;-]+,[A-Za-z0-9+/=]*", "data:", page)
    namespaces = ("http://www.w3.org/1999/xlink", "http://www.w3.org/2000/svg")
    for address in namespaces:
        bare = bare.replace(address, "")
    assert not re.findall(r"https?://[^\s\"'<]+", bare)
    assert not re.findall(r"<(?:link|script|img|iframe)[^>]+(?:src|href)=\"(?!data:)[^\"]*\"", bare)


def test_ids_of_the_page_are_unique_and_its_links_lead_somewhere(page: str) -> None:
    ids = re.findall(r'\sid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    inner = set(re.findall(r'href="#([^"]+)"', page))
    assert inner <= set(ids)


def test_headings_are_in_order(page: str) -> None:
    levels = [int(level) for level in re.findall(r"<h(\d)[ >]", page)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later <= earlier + 1 for earlier, later in pairwise(levels))


def test_every_section_is_there(page: str) -> None:
    keys = re.findall(r'<section id="([\w-]+)"', page)
    assert keys == [
        "summary", "table-1", "figure-1", "figure-2", "checks", "faithfulness", "leaderboard",
        "layers", "thresholds", "metrics", "breakdowns", "examples", "failures", "single",
        "correctness", "prototypes", "detection", "guide", "limits", "methods", "references",
        "files",
    ]  # fmt: skip


def test_every_picture_has_words(page: str) -> None:
    images = re.findall(r"<img [^>]*>", re.sub(r"base64,[A-Za-z0-9+/=]*", "", page))
    assert images
    assert all(re.search(r'alt="[^"]{20,}"', image) for image in images)
    charts = re.findall(r'<svg [^>]*role="img"[^>]*>', page)
    assert len(charts) >= 12
    assert all(re.search(r'aria-label="[^"]{20,}"', chart) for chart in charts)
