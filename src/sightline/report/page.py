"""The parts that a report's page is made of: all in one file, nothing from elsewhere."""

from __future__ import annotations

import base64
import math
import re
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from sightline.report.words import number

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sightline.report.words import Finding

__all__ = [
    "Cell",
    "Head",
    "Link",
    "Section",
    "Shown",
    "data_uri",
    "figure_cell",
    "figure_html",
    "findings_html",
    "inline_svg",
    "page_html",
    "spanned",
    "table_html",
    "whole_cell",
]

_TYPES = {
    "png": "image/png",
    "svg": "image/svg+xml",
    "pdf": "application/pdf",
    "csv": "text/csv",
    "webp": "image/webp",
    "jpg": "image/jpeg",
    "tex": "application/x-tex",
    "md": "text/markdown",
    "bib": "application/x-bibtex",
}
_POLICY = (  # nothing is fetched from anywhere
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "base-uri 'none'; form-action 'none'"
)
_TONES = {"good": "holds", "bad": "caution", "doubt": "open", "plain": "note"}


class Section(NamedTuple):
    """A part of the page with a heading and a place in the contents."""

    key: str
    title: str
    html: str


class Link(NamedTuple):
    """A file to download: inside the page, or beside it."""

    label: str
    file: str
    href: str


class Shown(NamedTuple):
    """A figure on the page.

    Attributes
    ----------
    label
        "Figure 2a".
    title, about, reading
        What it is, what was chosen, and how to read it.
    alt
        What a reader who cannot see it is told.
    kind
        A chart is drawn in place; a picture is an image.
    html
        The SVG or image.
    links
        Its files.
    """

    label: str
    title: str
    about: str
    reading: str
    alt: str
    kind: Literal["chart", "picture"]
    html: str
    links: tuple[Link, ...]


class Head(NamedTuple):
    """The head of a column."""

    text: str
    number: bool = True


class Cell(NamedTuple):
    """A cell: what it shows, by which number it is sorted, and what stands below in small."""

    text: str
    value: float | None = None
    below: str = ""
    strong: bool = False


def data_uri(content: bytes, ending: str) -> str:
    """Return a file as an address that holds it.

    Examples
    --------
    >>> data_uri(b"a,b", "csv")
    'data:text/csv;base64,YSxi'
    """
    return f"data:{_TYPES[ending]};base64,{base64.b64encode(content).decode()}"


# --- figures -------------------------------------------------------------------------------------

_HEAD = re.compile(r"^.*?(?=<svg)", re.DOTALL)
_METADATA = re.compile(r"\s*<metadata>.*?</metadata>", re.DOTALL)
_STYLE = re.compile(r"\s*<style[^>]*>.*?</style>", re.DOTALL)
_ID = re.compile(r'\sid="([^"]*)"')
_USES = re.compile(r'(url\(#|href="#)([^")]+)')


def inline_svg(text: str, key: str, alt: str) -> str:
    """Return matplotlib's SVG as part of a page: one picture by name, ids of its own.

    Ids that nothing in it refers to are left out.

    Parameters
    ----------
    text
        The file.
    key
        Goes before all ids, so that no two figures of a page share one.
    alt
        What it shows, in words.

    Examples
    --------
    >>> inline_svg('<?xml?><svg width="72pt" height="36pt" viewBox="0 0 72 36">'
    ...            '<g id="a"/><use xlink:href="#a"/></svg>', "f1", "A < B")
    '<svg viewBox="0 0 72 36" width="96" height="48" role="img" aria-label="A &lt; B"><g
    id="f1-a"/><use xlink:href="#f1-a"/></svg>'
    """
    text = _STYLE.sub("", _METADATA.sub("", _HEAD.sub("", text, count=1)))
    used = {match[2] for match in _USES.finditer(text)}
    text = _ID.sub(lambda match: f' id="{key}-{match[1]}"' if match[1] in used else "", text)
    text = _USES.sub(lambda match: f"{match[1]}{key}-{match[2]}", text)
    begin, _, rest = text.partition(">")
    box = re.search(r'viewBox="[\d.\- ]+ ([\d.]+) ([\d.]+)"', begin)
    view = re.search(r'viewBox="[^"]*"', begin)
    if box is None or view is None:  # not of matplotlib: as it is
        return text
    width, height = (round(float(side) * 4 / 3) for side in box.groups())
    link = ' xmlns:xlink="http://www.w3.org/1999/xlink"' if "xmlns:xlink" in begin else ""
    attributes = f'{view[0]} width="{width}" height="{height}" role="img"{link}'
    return f'<svg {attributes} aria-label="{escape(alt)}">{rest.strip()}'


def figure_html(shown: Shown) -> str:
    """Return a figure with its caption and files."""
    links = "".join(
        f'<a href="{link.href}" download="{escape(link.file.rpartition("/")[2])}" '
        f'aria-label="{escape(shown.label)} as {escape(link.label)}">{escape(link.label)}</a>'
        for link in shown.links
    )
    about = f" {escape(_sentence(shown.about))}" if shown.about else ""
    reading = f'<span class="reading"> {escape(shown.reading)}</span>' if shown.reading else ""
    key = re.sub(r"\W+", "-", shown.label.lower())
    return (
        f'<figure id="{key}"><div class="paper {shown.kind}">{shown.html}</div>\n'
        f"<figcaption><b>{escape(shown.label)}. {escape(shown.title)}.</b>{about}{reading}"
        f'</figcaption>\n<div class="downloads">Download: {links}</div></figure>'
    )


def _sentence(text: str) -> str:
    text = text.strip()
    return text if text.endswith((".", "!", "?")) else f"{text}."


# --- words and tables ----------------------------------------------------------------------------


def findings_html(findings: Iterable[Finding]) -> str:
    """Return findings as a list: head, mark and sentences each."""
    items = (
        f'<div><dt>{escape(one.head)}<br><span class="chip {one.tone}">{_TONES[one.tone]}</span>'
        f"</dt><dd>{_code(escape(one.text))}</dd></div>"
        for one in findings
    )
    return f'<dl class="findings">{"".join(items)}</dl>'


def _code(text: str) -> str:
    """Set what stands between backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", text)


def table_html(
    heads: Sequence[Head],
    rows: Sequence[tuple[str, Sequence[Cell]]],
    *,
    label: str,
    caption: str = "",
    kind: str = "sortable",
) -> str:
    """Return a table whose first column names its rows.

    Parameters
    ----------
    heads
        Of the columns; those of sortable tables are buttons.
    rows
        The class of each row ("", "base", "chance": stays at the end), and its cells.
    label
        "Table 1", or what the table is.
    caption
        What must be known to read it.
    kind
        Classes of the table: "sortable", "wide", "guide".
    """
    sortable = "sortable" in kind
    head = "".join(_head_html(one, sortable=sortable) for one in heads)
    body = []
    for name, cells in rows:
        fixed = ' data-fixed="1"' if name == "chance" else ""
        first, *rest = cells
        inner = _cell_html(first, heads[0], "th") + "".join(
            _cell_html(cell, head) for cell, head in zip(rest, heads[1:], strict=True)
        )
        body.append(f'<tr class="{name}"{fixed}>{inner}</tr>' if name else f"<tr>{inner}</tr>")
    told = f" {escape(caption)}" if caption else ""
    return (
        f'<div class="scroll" role="group" aria-label="{escape(label)}">'
        f'<table class="{kind}"><caption><b>{escape(label)}.</b>{told}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>\n{chr(10).join(body)}\n</tbody></table></div>"
    )


def _head_html(head: Head, *, sortable: bool) -> str:
    kind = ' class="num"' if head.number else ""
    text = escape(head.text)
    inner = f'<button type="button">{text}</button>' if sortable else text
    return f'<th scope="col"{kind}>{inner}</th>'


def _cell_html(cell: Cell, head: Head, tag: str = "td") -> str:
    scope = ' scope="row"' if tag == "th" else ""
    kind = ' class="num"' if head.number and tag == "td" else ""
    key = ""
    if head.number:
        value = cell.value
        known = value is not None and math.isfinite(value)
        key = f' data-value="{value!r}"' if known else ' data-value=""'
    text = escape(cell.text)
    text = f"<b>{text}</b>" if cell.strong else text
    below = f'<span class="spread">{escape(cell.below)}</span>' if cell.below else ""
    return f"<{tag}{scope}{kind}{key}>{text}{below}</{tag}>"


def figure_cell(value: Any, digits: int = 3) -> Cell:
    """Return a number as a cell; what is undefined is a dash and comes last.

    Examples
    --------
    >>> figure_cell(0.12345)
    Cell(text='0.123', value=0.12345, below='', strong=False)
    """
    known = float(value) if value is not None and value == value else math.nan
    return Cell(number(known, digits), None if math.isnan(known) else known)


def spanned(row: Mapping[Any, Any], value: str, low: str, high: str) -> Cell:
    """Return a number with its interval below.

    Examples
    --------
    >>> spanned({"a": 0.5, "b": 0.4, "c": 0.6}, "a", "b", "c").below
    '[0.400, 0.600]'
    """
    cell = figure_cell(row[value])
    known = all(isinstance(row[one], float) and math.isfinite(row[one]) for one in (low, high))
    below = f"[{number(row[low])}, {number(row[high])}]" if known else ""
    return cell._replace(below=below)


def whole_cell(value: Any) -> Cell:
    """Return a count as a cell."""
    known = float(value) if value is not None and value == value else math.nan
    return Cell("–") if math.isnan(known) else Cell(f"{int(known):,}", known)


# --- the page ------------------------------------------------------------------------------------


def page_html(title: str, lead: str, sections: Sequence[Section]) -> str:
    """Return the page.

    Parameters
    ----------
    title, lead
        Its heading, and a line about it.
    sections
        In order.
    """
    css, script = (files("sightline.report").joinpath(name).read_text("utf-8")
                   for name in ("page.css", "page.js"))  # fmt: skip
    contents = "".join(f'<li><a href="#{one.key}">{escape(one.title)}</a></li>' for one in sections)
    body = "\n".join(
        f'<section id="{one.key}" aria-labelledby="{one.key}-h">'
        f'<h2 id="{one.key}-h">{escape(one.title)}</h2>\n{one.html}\n</section>'
        for one in sections
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="Sightline">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<link rel="icon" href="data:,">
<title>{escape(title)}</title>
<style>
{css}</style>
</head>
<body>
<a class="skip" href="#summary">To the summary</a>
<div class="layout">
<nav class="contents" aria-label="Contents"><p>Contents</p><ol>{contents}</ol></nav>
<main>
<header class="top"><h1>{escape(title)}</h1>
<p class="lead">{escape(lead)}</p>
<div class="tools"><button type="button" id="theme">Dark mode</button>
<button type="button" id="print">Print</button></div>
</header>
{body}
</main>
</div>
<script>
{script}</script>
</body>
</html>
"""
