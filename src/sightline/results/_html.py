"""Results as a notebook or a console shows them."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from sightline.results.results import Results

__all__ = ["show_html", "show_text", "texts", "title"]

_SHOWN = 30


def texts(frame: pd.DataFrame) -> list[list[str]]:
    """Return the lines of a table as people read them: three digits, nothing for NaN."""
    columns = [[_text(name, value) for value in frame[name].astype(object)] for name in frame]
    return [list(line) for line in zip(*columns, strict=True)]


def _text(name: object, value: Any) -> str:
    if value is None or str(value) in ("nan", "<NA>"):
        return ""
    if isinstance(value, float):
        return f"{value:g}" if name in ("rank", "percentile") else f"{value:.3f}"
    return str(value)


def title(results: Results) -> str:
    """Return the study's name."""
    return str(results.study.get("name", results.path.name))


def show_text(results: Results) -> str:
    """Return a line for the console."""
    models, methods = len(results.models), len(results.methods)
    return (
        f"<Results of {title(results)!r}: {results.progress}, {models} models, {methods} methods>"
    )


def show_html(results: Results) -> str:
    """Return the leaderboard as a table."""
    head = f"<h3>{escape(title(results))}</h3>"
    if not results.progress.done:
        return f"{head}<p>Nothing is stored yet: {results.progress}.</p>"
    board = results.leaderboard()
    metric = escape(str(board.attrs["metric"]))
    note = escape(str(board.attrs["note"]))
    rest = len(board) - _SHOWN
    more = f"<p>{rest} more lines: <code>leaderboard()</code></p>" if rest > 0 else ""
    progress = f"<p>{metric}, {results.progress}</p>"
    return f"{head}{progress}{_table(board.head(_SHOWN))}{more}<p><small>{note}</small></p>"


def _table(frame: pd.DataFrame) -> str:
    """Return a table whose texts are escaped."""
    head = "".join(f"<th>{escape(str(name))}</th>" for name in frame.columns)
    lines = [
        "<tr>" + "".join(f"<td>{escape(text)}</td>" for text in line) + "</tr>"
        for line in texts(frame)
    ]
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
