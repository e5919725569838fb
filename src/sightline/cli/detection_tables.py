"""The tables of `sightline detect`."""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sightline.cli.output import add_row, console, count_rest, listed, new_table

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

    from sightline.detection import DetectionResults, DetectorComparison, FigureDifference

__all__ = ["comparison_blocks", "result_blocks"]

_SHOWN_CLASSES = 15
_NAME_WIDTH = 14
_KINDS = {
    "classification": "right place, wrong class",
    "localisation": "right class, overlap too small",
    "both": "wrong class, and overlap too small",
    "duplicate": "found already by a surer detection",
    "background": "nothing is there",
    "missed": "objects without a detection near",
}


def result_blocks(results: "DetectionResults", *, show_all: bool) -> Iterator["Table | str"]:
    """Yield the tables of an evaluation, then lines about what was left out."""
    yield _figures_table(results)
    yield _classes_table(results, None if show_all else _SHOWN_CLASSES)
    if len(results.ground_truth) and len(results.detections):
        yield _errors_table(results)
    names = results.names
    yield from listed(
        "Classes without ground truth, left out of the means",
        [names[label] for label in results.without_ground_truth],
        None if show_all else 5,
    )
    unknown = [f"{label} ({count})" for label, count in results.left_out.items()]
    yield from listed("Classes that the ground truth does not list, detections left out", unknown)


def _meanings(results: "DetectionResults") -> dict[str, str]:
    from sightline.detection.coco import SIZE_LETTERS

    ious = results.settings.iou_thresholds
    over = (
        f"IoU {ious[0]:g}" if len(ious) == 1 else f"{len(ious)} IoUs, {ious[0]:g} to {ious[-1]:g}"
    )
    meanings = {"AP": f"mean over classes and {over}", "AP50": "at IoU 0.5", "AP75": "at IoU 0.75"}
    for letter, size in SIZE_LETTERS.items():
        low, high = results.settings.size_ranges.get(size, (math.nan, math.nan))
        ends = f"of {low:g} px² or more" if not high < 1e9 else f"of {low:g} to {high:g} px²"
        meanings[f"AP{letter}"] = f"{size} objects, {ends}"
    meanings |= {f"AR{n}": f"recall with {n} of each class in an image" for n in (1, 10, 100)}
    return meanings | {f"AR{s}": f"recall of {size} objects" for s, size in SIZE_LETTERS.items()}


def _figures_table(results: "DetectionResults") -> "Table":
    settings = results.settings
    counts = {
        "image": results.images,
        "object": len(results.ground_truth),
        "detection": len(results.detections),
    }
    texts = [f"{n:,} {word}{'s' * (n != 1)}" for word, n in counts.items()]
    title = f"Detection ({settings.protocol}): {', '.join(texts)}"
    with_ends = bool(results.intervals)
    table = new_table(title, ["figure"], ["value", *(["low", "high"] if with_ends else [])])
    table.add_column("")
    meanings = _meanings(results)
    for name, value in results.figures.items():
        if math.isnan(value) and settings.protocol != "coco" and name != "AP":
            continue  # the protocol has no such figure
        ends = results.intervals.get(name) if with_ends else None
        cells = [_cell(ends.low), _cell(ends.high)] if ends is not None else []
        add_row(table, name, _cell(value), *cells, meanings[name])
    if with_ends:
        table.caption = _ends_caption(results)
    return table


def _ends_caption(results: "DetectionResults") -> str:
    """Say what the ends are, or why there are none."""
    found = results.intervals["AP"]
    if math.isnan(found.low):
        return f"low, high: cannot be told ({found.reason})."
    return f"low, high: {100 * found.confidence:.4g}% intervals, by draws of images."


def _cell(value: Any) -> str:
    return "–" if value is None or math.isnan(value) else f"{value:.3f}"


def _classes_table(results: "DetectionResults", shown: int | None) -> "Table":
    frame = results.by_class()
    frame = frame[frame["ground_truths"] > 0].sort_values("AP", kind="stable")
    columns = _class_columns(frame, console().width)
    table = new_table("Classes, the lowest AP first", ["class"], list(columns))
    for line in frame.head(shown if shown is not None else len(frame)).to_dict("records"):
        values = [line[key] for key in columns.values()]
        cells = (f"{value:,}" if isinstance(value, int) else _cell(value) for value in values)
        add_row(table, str(line["name"]), *cells)
    count_rest(table, len(frame), shown)
    return table


def _class_columns(frame: "pd.DataFrame", width: int) -> dict[str, str]:
    """Return heads and keys of the numbers that leave room for the names of classes."""
    columns = {"objects": "ground_truths", "found": "detections", "AP": "AP"}
    columns |= {key: key for key in ("low", "high") if key in frame}
    columns |= {key: key for key in ("AP50", "AP75") if frame[key].notna().any()}
    columns |= {"best F1": "f1", "from score": "threshold"}
    for spare in ("AP75", "AP50", "from score", "best F1", "found", "high"):
        if sum(max(len(head), 5) + 3 for head in columns) + _NAME_WIDTH <= width:
            break
        columns.pop(spare, None)
    if "high" not in columns:  # one end alone says nothing
        columns.pop("low", None)
    return columns


def _signed(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:+.3f}"


def _errors_table(results: "DetectionResults") -> "Table":
    errors = results.error_types()
    table = new_table("What costs AP, at IoU 0.5", ["error"], ["count", "AP"])
    table.add_column("")
    for kind, count in errors.counts.items():
        add_row(table, kind, f"{count:,}", _signed(errors.cost[kind]), _KINDS[kind])
    table.caption = "AP: how much AP50 would rise if these errors alone were put right."
    return table


def comparison_blocks(
    compared: "DetectorComparison", first: str, second: str
) -> Iterator["Table | str"]:
    """Yield the table of two detectors, and what it means."""
    table = new_table(
        f"{first} beside {second}, on the same {compared.images:,} images",
        ["figure"],
        ["first", "second", "difference", "low", "high", "p"],
    )
    frame: pd.DataFrame = compared.to_frame()
    for line in frame[frame["class"].isna()].to_dict("records"):
        values = [line[key] for key in ("first", "second")]
        ends = [line[key] for key in ("difference", "low", "high")]
        add_row(table, line["figure"], *map(_cell, values), *map(_signed, ends), _cell(line["p"]))
    table.caption = "p: of each figure by itself; AP is the one to judge by."
    yield table
    yield _sentence(compared.differences["AP"], first, second)


def _sentence(found: "FigureDifference", first: str, second: str) -> str:
    """Say which detector is better, if that can be told."""
    if math.isnan(found.low) or math.isnan(found.p):
        return f"Whether {first} is better than {second} cannot be told: {found.reason}."
    sure = f"{found.confidence:.0%} interval {found.low:+.3f} to {found.high:+.3f}"
    if found.low <= 0 <= found.high:
        return f"AP does not tell {first} and {second} apart ({sure}, p = {found.p:.3f})."
    more = "more" if found.difference > 0 else "less"
    size = f"{abs(found.difference):.3f} {more} AP than {second}"
    return f"{first} has {size} ({sure}, p = {found.p:.3f})."
