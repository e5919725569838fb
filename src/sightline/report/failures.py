"""Where the best line fails: its worst images, and what they have in common."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from sightline.core import SightlineError
from sightline.report.page import Cell, Head, figure_cell, spanned, table_html

if TYPE_CHECKING:
    import pandas as pd

    from sightline.report.figures import StoreFigures
    from sightline.report.scores import Scored

__all__ = ["failures_html", "read_failures"]

WORST = 10
"""Images of the list of failures."""
_LEVEL = 0.05


def read_failures(
    figures: StoreFigures, scored: Scored, missing: dict[str, str]
) -> tuple[pd.DataFrame | None, pd.DataFrame | None]:
    """Return the worst images of the best line, and what they have in common.

    Parameters
    ----------
    figures, scored
        Of the store, and the means of its lines.
    missing
        Told why they cannot be had, under "failures".
    """
    from sightline.results.failures import failure_cases, failure_reasons, worst_images

    if scored.best is None:
        return None, None
    line = scored.lines.lines[list(scored.about["name"]).index(scored.best)]
    images = int(figures.results.manifest["data"]["images"])
    known = figures.predictions()
    count = min(WORST, max(1, images // 4))
    try:
        cases = failure_cases(
            figures.results,
            scored.metric,
            model=line.model,
            method=line.method,
            layer=line.layer if isinstance(line.layer, int) else None,
            predictions=_nobody_asked() if known is None else known,
        )
        return worst_images(cases, count), failure_reasons(cases, count)
    except SightlineError as error:
        missing["failures"] = str(error)
        return None, None


def _nobody_asked() -> pd.DataFrame:
    """Return the answers of no model, as `predictions_of` gives those of some."""
    import pandas as pd

    kinds = {"model": str, "image": str, "predicted": str, "probability": float, "label": str}
    columns = {name: pd.Series(dtype=kind) for name, kind in kinds.items()}
    return pd.DataFrame({**columns, "correct": pd.Series(dtype="boolean")})


def failures_html(worst: pd.DataFrame, reasons: pd.DataFrame | None, line: str) -> str:
    """Return the worst images of a line, and what they have in common."""
    lead = (
        f"<p>The images on which <b>{escape(line)}</b> scores worst, with what stands out about "
        "them. Reasons are associations: they are more frequent among the worst images than among "
        "the rest, or not; that they are why a map fails does not follow.</p>"
    )
    metric = str(worst.attrs.get("metric", "Score"))
    heads = [Head("Image", number=False), Head(metric), Head("Chance"),
             Head("What stands out", number=False)]  # fmt: skip
    rows = [
        (
            "",
            [
                Cell(str(row["image"])),
                figure_cell(row["value"]),
                figure_cell(row["chance"]),
                Cell(str(row["reasons"]) or "–"),
            ],
        )
        for row in worst.to_dict("records")
    ]
    shown = table_html(heads, rows, label="Worst images", caption=_told(worst))
    return f"{lead}{shown}{'' if reasons is None else _reasons_table(reasons)}"


def _told(table: pd.DataFrame) -> str:
    """Return the note of a table as a sentence."""
    note = str(table.attrs.get("note", "")).strip().rstrip(".")
    return f"Of {note}." if note else ""


def _reasons_table(table: pd.DataFrame) -> str:
    heads = [Head("Reason", number=False), Head("Of the worst"), Head("Of the rest"),
             Head("Difference"), Head("p (Holm)")]  # fmt: skip
    rows = []
    for row in table.to_dict("records"):
        shares = [figure_cell(row[one], 2) for one in ("worst", "rest")]
        gap = spanned(row, "difference", "low", "high")
        shown = figure_cell(row["p_holm"])._replace(strong=row["p_holm"] <= _LEVEL)
        rows.append(("", [Cell(str(row["reason"])), *shares, gap, shown]))
    return table_html(heads, rows, label="What the worst images have in common",
                      caption=_told(table))  # fmt: skip
