"""The command that writes a report: a page, tables and figures out of a store."""

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sightline.cli.output import progress, show, show_json
from sightline.core import InputError
from sightline.core.words import counted

if TYPE_CHECKING:
    from sightline.report import Report

__all__ = ["report", "report_lines"]


def report(
    store: Annotated[Path, typer.Argument(help="Folder of a study's results: runs/NAME.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder of the report; STORE/report unless given."),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            help="Score by which lines are sorted and layers chosen; iou@90 unless given."
        ),
    ] = None,
    formats: Annotated[
        str, typer.Option("--format", help="Of the figures' files: png, svg, pdf.")
    ] = "png,svg,pdf",
    dpi: Annotated[int, typer.Option(help="Dots per inch of PNG files, 150 to 300.")] = 200,
    no_predictions: Annotated[
        bool,
        typer.Option("--no-predictions", help="Do not ask the models what they predict."),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print what was written as JSON, and nothing else.")
    ] = False,
) -> None:
    """Write the report of a study: a page with all tables and figures, and each as a file.

    The page needs nothing else: it can be sent, opened from a file, and printed.

    Files of the same names in the folder are replaced, others are left as they are.
    """
    from sightline.report import write_report

    if out is None and store.is_dir() and not os.access(store, os.W_OK):
        raise InputError(f"{store}: cannot be written to; --out says where the report goes instead")
    wanted = [part.strip() for part in formats.split(",") if part.strip()]
    with progress("Reading") as move:
        made = write_report(
            store, out, metric=metric, formats=wanted, dpi=dpi, predictions=not no_predictions,
            progress=move,
        )  # fmt: skip
    if as_json:
        summary = [{"head": head, "text": text} for head, text in made.summary]
        files = [str(path) for path in made.files]
        show_json(
            {"page": str(made.page), "files": files, "missing": made.missing, "summary": summary}
        )
        return
    show(*(f"{head}{'' if head.endswith('?') else ':'} {text}" for head, text in made.summary))
    if made.missing:
        reasons: dict[str, list[str]] = {}
        for name, why in made.missing.items():
            reasons.setdefault(why, []).append(name)
        told = "; ".join(f"{', '.join(names)} ({why})" for why, names in reasons.items())
        show(f"Not drawn: {told}")
    show(*report_lines(made))


def report_lines(made: "Report") -> list[str]:
    """Return where a report is, and how to open it."""
    size = made.page.stat().st_size / 1e6
    folder = made.page.parent
    beside = f"{counted(len(made.files) - 1, 'file')} beside it in {folder}"
    return [f"Report: {made.page} ({size:.1f} MB; {beside})", f"Open it:\n  {_opener(made.page)}"]


def _opener(page: Path) -> str:
    """Return what to type to see a page."""
    program = {"darwin": "open", "win32": "start"}.get(sys.platform, "xdg-open")
    return shlex.join([program, str(page)])
