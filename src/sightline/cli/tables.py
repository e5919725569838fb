"""The tables: metrics and the command that lists them, means of scores, what a data set holds."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sightline.cli.options import JsonOption
from sightline.cli.output import (
    SHOWN_NAMES,
    add_row,
    count_rest,
    listed,
    new_table,
    number,
    show,
    show_json,
)

if TYPE_CHECKING:
    from rich.table import Table

    from sightline.cli.score import ReadAs
    from sightline.data import ImageScores
    from sightline.data.report import Report, Spread
    from sightline.metrics import MetricSpec

__all__ = [
    "describe",
    "metrics_table",
    "notes",
    "report_blocks",
    "score_report",
    "show_metrics",
    "summary_table",
]

_SHOWN_LABELS = 20
_SHAPES = ("portrait", "landscape", "square", "unknown")


def show_metrics(
    as_json: JsonOption = False,
) -> None:
    """List the metrics: what each means, its range, and what a map without information scores."""
    from sightline.metrics import METRICS

    if as_json:
        show_json([describe(spec) for spec in METRICS.values()])
    else:
        show(metrics_table(METRICS.values()))


def metrics_table(specs: Iterable["MetricSpec"]) -> "Table":
    """Return the metrics with range, chance and meaning."""
    table = new_table("Metrics", ["name", "", "range", "chance", "meaning"])
    table.columns[0].no_wrap = True
    arrows = {"higher": "↑", "lower": "↓", "neither": ""}
    table.caption = (
        "↑ higher is better, ↓ lower. g: annotated share of the image, a: selected share."
    )
    for spec in specs:
        low, high = spec.range
        span, chance = f"{low:g}…{high:g}".replace("inf", "∞"), str(spec.chance or "")
        add_row(table, spec.name, arrows[spec.direction], span, chance, spec.meaning)
    return table


def describe(spec: "MetricSpec") -> dict[str, Any]:
    """Return the record of a metric as JSON can hold it; an open end of a range is null."""
    described = {name: getattr(spec, name) for name in spec.__slots__ if name != "function"}
    described["range"] = [end if abs(end) < float("inf") else None for end in spec.range]
    for name in ("chance", "ceiling"):
        described[name] = None if described[name] is None else str(described[name])
    return described


def summary_table(scores: "ImageScores") -> "Table":
    """Return the means over images, with chance and ceiling."""
    table = new_table(
        "Means over images", ["metric"], ["mean", "chance", "ceiling", "images", "undefined"]
    )
    for row in scores.summary():
        values = (number(value) for value in (row.mean, row.chance, row.ceiling))
        add_row(table, row.metric, *values, str(row.n), str(row.undefined))
    return table


def notes(scores: "ImageScores") -> Iterator[str]:
    """Yield a line about each kind of thing that was left out."""
    hidden: list[str] = []
    outside: list[str] = []
    for image, region in scores.dropped:
        names = hidden if "hidden" in region.flags else outside
        names.append(f"{image} #{region.index} ({region.label})")
    yield from listed("Images without a map", scores.images_without_map)
    yield from listed("Maps without an annotation", scores.maps_without_annotation)
    yield from listed("Regions outside their image, dropped", outside)
    yield from listed("Regions out of sight, dropped", hidden)


def score_report(scores: "ImageScores", out: Path | None, read: "ReadAs") -> dict[str, Any]:
    """Return the summary of scores and what was left out, for JSON."""
    regions = scores.frame["region"].notna()
    return {
        "out": out and str(out),
        "sign": read.sign or "positive",
        "sign_from": read.source,
        "notes": read.notes,
        "images": int((~regions).sum()),
        "regions": int(regions.sum()),
        "summary": [row._asdict() for row in scores.summary()],
        "images_without_map": scores.images_without_map,
        "maps_without_annotation": scores.maps_without_annotation,
        "dropped": [
            {"image": image, "region": region.index, "label": region.label}
            for image, region in scores.dropped
        ],
    }


def report_blocks(report: "Report", show_all: bool, with_beside: bool) -> "Iterator[Table | str]":
    """Yield the tables about a data set, then lines about what is wrong with it."""
    yield _overview_table(report)
    yield _spread_table(report)
    if report.labels:
        yield _labels_table(report, None if show_all else _SHOWN_LABELS)
    shown = None if show_all else SHOWN_NAMES
    if pairs := _frequent_pairs(report):
        yield _pairs_table(pairs, shown)
    if report.sometimes_missing:
        yield _sometimes_table(report, shown)
    repeats = [f"{image} ({_counts(labels)})" for image, labels in report.repeated.items()]
    yield from listed("Images with two or more regions of one label", repeats, shown)
    unknown = [f"{label} ({count})" for label, count in report.unknown_labels.items()]
    yield from listed("Labels that the taxonomy lacks", unknown, shown)
    yield from listed("Images without regions", report.empty, shown)
    yield from listed("Images without a file", report.missing, shown)
    if with_beside:
        yield from listed("Images beside them that are not in the data set", report.beside, shown)
    for what, problems in (
        ("Records left out", report.skipped),
        ("Images that cannot be used", report.problems),
    ):
        if problems:
            yield "\n  ".join([f"{what} ({len(problems)}):", *map(str, problems)])


def _overview_table(report: "Report") -> "Table":
    table = new_table(f"Data set: {report.name}", ["", ""])
    table.show_header = False
    sizes, used = report.sizes, sum(label.own > 0 for label in report.labels)
    unused = len(report.labels) - used
    rows = {
        "images": f"{report.images}",
        "splits": _counts(report.splits) if any(report.splits) else "",
        "shapes": _counts({name: getattr(sizes, name) for name in _SHAPES}),
        "labels of images": _counts({one.label: one.images for one in report.image_labels}),
        "regions": f"{report.regions} ({_counts(report.kinds)})" if report.regions else "0",
        "labels of regions": f"{used}"
        + (f", and {unused} above them or not used" if unused else ""),
        "regions without a label": _count(report.unlabelled),
        "marked": _counts({n: getattr(report, n) for n in ("difficult", "crowd", "ignore")}),
        "clipped at the border": _count(report.clipped),
        "dropped": _counts({"outside": report.outside, "hidden": report.hidden}),
        "images with a label twice": f"{len(report.repeated)} ({report.repeated_share:.0%})",
        "image files missing": _count(len(report.missing)),
    }
    for name, value in rows.items():
        if value:
            add_row(table, name, value)
    return table


def _count(number: int) -> str:
    return str(number or "")


def _counts(counts: dict[str, int], shown: int = 8) -> str:
    """Return names with their counts, those of nothing left out."""
    found = [f"{name or 'none'} {count}" for name, count in counts.items() if count]
    return ", ".join(found[:shown] + ["…"] * (len(found) > shown))


def _spread_table(report: "Report") -> "Table":
    table = new_table("Spread", [""], ["least", "25 %", "median", "75 %", "mean", "largest"])
    table.columns[0].no_wrap = True
    rows: list[tuple[str, Spread | None, float]] = [
        ("regions per image", report.per_image, 1),
        ("area of a region, %", report.region_area, 100),
        ("area covered, %", report.union_area, 100),
        ("width, pixels", report.sizes.width, 1),
        ("height, pixels", report.sizes.height, 1),
    ]
    for name, spread, unit in rows:
        if spread is not None:
            values = (spread.least, spread.lower, spread.median, spread.upper)
            shown = (f"{unit * value:.4g}" for value in (*values, spread.mean, spread.most))
            add_row(table, name, *shown)
    if report.kinds.keys() - {"box"}:
        table.caption = "Shapes other than boxes are drawn with up to 256 pixels a side for this."
    return table


def _labels_table(report: "Report", shown: int | None) -> "Table":
    levels = any(label.regions != label.own for label in report.labels)
    below = ["with those below"] if levels else []
    table = new_table("Labels", ["label"], ["regions", *below, "images", "share"])
    for label in report.labels[:shown]:
        counts = (label.own, *([label.regions] if levels else []), label.images)
        add_row(table, label.label, *map(str, counts), f"{label.share:.1%}")
    count_rest(table, len(report.labels), shown)
    return table


def _frequent_pairs(report: "Report") -> list[tuple[int, str, str]]:
    """Return the pairs of labels that occur together, those in most images first."""
    labels = report.pair_labels
    pairs = [
        (report.pairs[i][j], labels[i], labels[j])
        for i in range(len(labels))
        for j in range(i + 1, len(labels))
        if report.pairs[i][j]
    ]
    return sorted(pairs, key=lambda pair: -pair[0])


def _pairs_table(pairs: list[tuple[int, str, str]], shown: int | None) -> "Table":
    table = new_table("Labels that occur together", ["label", "and"], ["images"])
    for count, one, other in pairs[:shown]:
        add_row(table, one, other, str(count))
    count_rest(table, len(pairs), shown)
    return table


def _sometimes_table(report: "Report", shown: int | None) -> "Table":
    table = new_table(
        "Labels that some images of a style lack", ["style", "label"], ["images with", "without"]
    )
    for one in report.sometimes_missing[:shown]:
        add_row(table, one.style, one.label, str(one.present), str(one.absent))
    count_rest(table, len(report.sometimes_missing), shown)
    return table
