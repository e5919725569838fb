"""An evaluation of detections as files: tables and figures in a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from sightline.core import InputError
from sightline.data import write_table
from sightline.figures import (
    draw_confusion_matrix,
    draw_error_types,
    draw_intervals,
    draw_pr_curves,
    draw_reliability,
    save,
)
from sightline.store import DetectionParts, detection_parts, detection_tables, write_whole

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from matplotlib.figure import Figure

    from sightline.detection import DetectionResults

__all__ = ["write_detection_report"]


def write_detection_report(
    given: DetectionResults | DetectionParts,
    folder: str | os.PathLike[str],
    *,
    confidence: float = 0.25,
    formats: Sequence[str] = ("png", "svg"),
) -> list[Path]:
    """Write the tables and figures of an evaluation.

    Files of the same names are replaced, others are left as they are. What the results do not have
    is not written: no costs of images but under "coco", no reliability of scores outside 0 to 1.

    Parameters
    ----------
    given
        What `evaluate_detections` returned, or the parts of it that `detection_parts` took.
    folder
        Receives `results.json`; `classes.csv`, `curves.csv`, `confusion.csv`, `errors.csv`,
        `reliability.csv`, `images.csv`; and the figures `pr_curves`, `classes`,
        `confusion_matrix`, `error_types`, `reliability`.
    confidence
        Lowest score that the confusion matrix counts, unless parts are given.
    formats
        Of the figures: "png", "svg", "pdf".

    Returns
    -------
    list of Path
        The files.
    """
    out = Path(folder)
    if out.exists() and not out.is_dir():
        raise InputError(f"{out}: is a file, not a folder")
    parts = given
    if not isinstance(parts, DetectionParts):
        parts = detection_parts(parts, confidence=confidence)
    figures = list(_figures(parts))
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{out}: the folder cannot be made: {error}") from error
    content = json.dumps(parts.summary, indent=1, allow_nan=False).encode()
    write_whole(out / "results.json", content)
    written = [out / "results.json"]
    for name, table in detection_tables(parts).items():
        written.append(out / f"{name}.csv")
        write_table(table.to_pandas(), written[-1])
    for name, figure in figures:
        written += save(figure, out / name, formats)
    return written


def _figures(parts: DetectionParts) -> Iterator[tuple[str, Figure]]:
    """Draw what there is."""
    best = {key: point for key, point in parts.best.items() if point.f1 > 0}
    rule = parts.summary.get("interpolation", "coco101")
    yield (
        "pr_curves",
        draw_pr_curves(
            parts.curves, names=parts.names, best=best, iou=parts.iou, interpolation=rule
        ),
    )
    yield "classes", draw_intervals(parts.classes)
    if parts.confusion is not None:
        yield "confusion_matrix", draw_confusion_matrix(parts.confusion, names=parts.names)
    if parts.errors is not None:
        yield "error_types", draw_error_types(parts.errors)
    if parts.reliability is not None:
        yield "reliability", draw_reliability(parts.reliability)
