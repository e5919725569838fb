"""The command line: parse, call one library function, print.

Nothing heavy is imported before a command runs, so that help and version answer at once.
"""

import json
import logging
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer
from typer.core import TyperGroup

from sightline import __version__
from sightline.records import InputError, SightlineError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from sightline.data import ImageScores
    from sightline.data.report import Report, Spread
    from sightline.metrics import MetricSpec

__all__ = ["app", "main"]

Sign: TypeAlias = Literal["positive", "absolute", "signed"]
Ties: TypeAlias = Literal["share", "include"]
Labelling: TypeAlias = Literal["exhaustive", "representative", "salient"]

_SHOWN_NAMES = 5
_SHOWN_LABELS = 20
_SHAPES = ("portrait", "landscape", "square", "unknown")
_DEMO_COLUMNS = ("coverage", "average_precision", "auc_roc", "iou@90", "pointing")


class _Commands(TyperGroup):
    """The commands; what is wrong with the input or a file ends as one line and status 2."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise
        except (SightlineError, OSError) as error:
            typer.echo(f"error: {error}", err=True)
            raise typer.Exit(2) from error


app = typer.Typer(cls=_Commands, no_args_is_help=True, add_completion=False)


def main() -> None:
    """Run the command line."""
    app()


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"sightline {__version__}")
        raise typer.Exit


@app.callback()
def _start(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Score attention and attribution maps against what experts have marked."""
    _show_log()


@app.command("metrics")
def show_metrics(
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON in place of a table.")
    ] = False,
) -> None:
    """List the metrics: what each means, its range, and what a map without information scores."""
    from sightline.metrics import METRICS

    if as_json:
        _print_json([_describe(spec) for spec in METRICS.values()])
    else:
        _print(_metrics_table(METRICS.values()))


@app.command()
def score(
    maps: Annotated[
        Path,
        typer.Argument(
            help="Folder of .npy, .npz or .safetensors files, one map each and named by image; "
            "or one .npz or .safetensors file with a map per image."
        ),
    ],
    annotations: Annotated[
        Path, typer.Option("--annotations", "-a", help="COCO JSON, Sightline's plain JSON, or CSV.")
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Table to write: .csv, .parquet or .json.")
    ],
    sign: Annotated[
        Sign,
        typer.Option(
            help="What negative values mean: nothing (positive), as much as positive ones "
            "(absolute), or less than zero (signed: ranking metrics alone)."
        ),
    ] = "positive",
    selection: Annotated[
        str,
        typer.Option(
            help="How pixels are selected, separated by commas: percentile, mass60 (or another "
            "share), mean, matched."
        ),
    ] = "percentile",
    percentiles: Annotated[
        str, typer.Option(help="Percentiles of the selection, separated by commas.")
    ] = "95,90,85,80,75,70,60,50",
    ties: Annotated[
        Ties,
        typer.Option(
            help="Pixels equal to the threshold: each takes a share of what is left of the area "
            "(share), or all are selected (include)."
        ),
    ] = "share",
    threads: Annotated[
        int | None, typer.Option(min=1, help="Threads; all cores unless given.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the summary as JSON, and nothing else.")
    ] = False,
) -> None:
    """Score maps against annotations, by image and by region.

    A map must cover the whole image: annotations are stretched over it, whatever its size.

    The map of a centre crop does not fit the annotations of the whole image.

    Map "a" or "a.jpg" belongs to image "a.jpg"; what finds no partner is listed.
    """
    from sightline.data import (
        check_table_path,
        open_maps,
        read_annotations,
        score_by_image,
        write_table,
    )

    check_table_path(out)
    with open_maps(maps) as files, _progress("Scoring") as progress:
        scores = score_by_image(
            files,
            read_annotations(annotations),
            selection=_split(selection),
            percentiles=_numbers(percentiles),
            sign=sign,
            ties=ties,
            threads=threads,
            progress=progress,
        )
    write_table(scores.frame, out)
    if as_json:
        _print_json(_report(scores, out))
    else:
        _print(_summary_table(scores), *_notes(scores), f"Scores by image and region: {out}")


@app.command()
def inspect(
    name: Annotated[
        str, typer.Argument(help="Kind: facades, folder, coco, voc, yolo, cub, wikichurches.")
    ],
    path: Annotated[
        Path | None, typer.Argument(help="Its folder or file; none for facades, which are drawn.")
    ] = None,
    figure: Annotated[
        Path | None,
        typer.Option(help="Contact sheet of images with their regions to write: .png or .jpg."),
    ] = None,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Leave out what does not fit, and list it.")
    ] = False,
    split: Annotated[str | None, typer.Option(help="Only the images of one split.")] = None,
    count: Annotated[int | None, typer.Option(min=1, help="Facades: how many images.")] = None,
    seed: Annotated[int | None, typer.Option(help="Facades: what they are drawn from.")] = None,
    labelling: Annotated[
        Labelling | None,
        typer.Option(help="Facades: label every part, or one of each kind (at random, salient)."),
    ] = None,
    confounded: Annotated[
        bool, typer.Option("--confounded", help="Facades: sky and ground tell the style, too.")
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Read the headers of images only; do not decode them.")
    ] = False,
    show_all: Annotated[
        bool, typer.Option("--all", help="Show every label and name, not the first ones.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the whole report as JSON, and nothing else.")
    ] = False,
) -> None:
    """Show what a data set holds and what is wrong with it.

    A record or an image that does not fit is an error, unless told to skip bad ones.

    Image files that are missing are counted: maps can be scored without them.
    """
    from sightline.data.contact import check_sheet_path, write_contact_sheet
    from sightline.data.datasets import load_dataset
    from sightline.data.report import inspect_dataset

    if figure is not None:
        check_sheet_path(figure)
    options = _given(count=count, seed=seed, labelling=labelling, confounded=confounded or None)
    dataset = load_dataset(name, path, split=split, skip_bad=skip_bad, **options)
    with _progress("Reading") as progress:
        report = inspect_dataset(dataset, decode=not quick, progress=progress)
    if report.problems and not skip_bad:
        more = len(report.problems) - 1
        note = f" (and {more} more; --skip-bad lists them)" if more else ""
        raise InputError(f"{report.problems[0]}{note}")
    if figure is not None:
        write_contact_sheet(dataset, figure)
    if as_json:
        _print_json({**report.to_dict(), "figure": figure and str(figure)})
    else:
        _print(*_report_blocks(report, show_all, with_beside=split is None))
        _print(*([f"Contact sheet: {figure}"] if figure else []))


@app.command()
def facades(
    out: Annotated[Path, typer.Argument(help="Folder for images and annotations.")],
    count: Annotated[int, typer.Option(min=1, help="How many images.")] = 200,
    seed: Annotated[int, typer.Option(help="What they are drawn from.")] = 0,
    size: Annotated[int, typer.Option(help="Side of the images in pixels.")] = 224,
    labelling: Annotated[
        Labelling, typer.Option(help="Label every part, or one of each kind (at random, salient).")
    ] = "exhaustive",
    confounded: Annotated[
        bool, typer.Option("--confounded", help="Sky and ground tell the style, too.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Write into a folder that is not empty.")
    ] = False,
) -> None:
    """Draw church fronts whose every part is known: images, and annotations in two formats."""
    from sightline.data.datasets import load_dataset
    from sightline.data.facades.files import check_facades_folder, write_facades

    check_facades_folder(out, force=force)
    dataset = load_dataset(
        "facades", count=count, seed=seed, size=size, labelling=labelling, confounded=confounded
    )
    with _progress("Drawing") as progress:
        write_facades(dataset, out, progress)
    command = [_own_name(), "inspect", "folder", str(out), "--figure", "sheet.png"]
    _print(
        f"Images ({len(dataset)}): {out / 'images'}",
        f"Annotations: {out / 'annotations.json'}, and as COCO {out / 'coco.json'}",
        f"Next, see what they hold:\n  {shlex.join(command)}",
    )


@app.command()
def demo(
    out: Annotated[
        Path, typer.Option(help="Folder for images, annotations, maps and scores.")
    ] = Path("demo"),
) -> None:
    """Draw church fronts, make maps of them, score those, and show what the numbers mean."""
    from sightline.data.demo import METHODS, score_demo

    with _progress("Scoring") as progress:
        scores = score_demo(out, progress=progress)
    command = shlex.join(
        [
            *(_own_name(), "score", str(out / "maps" / METHODS[0])),
            *("--annotations", str(out / "annotations.json"), "--out", str(out / "scores.csv")),
        ]
    )
    _print(
        _demo_table(scores),
        f"Images with their annotated parts: {out / 'sheet.png'}",
        f"Images and annotations: {out / 'images'}, {out / 'annotations.json'}",
        f"Maps: {out / 'maps'}",
        f"Scores by image and region: {out / 'scores'}",
        f"Next, the same from the shell, as with your own maps and annotations:\n  {command}",
    )


def _own_name() -> str:
    """Return what to type to call this program again: its path where the name is not enough."""
    called = Path(sys.argv[0])
    found = shutil.which("sightline")
    if called.name != "sightline" or (found and called.exists() and called.samefile(found)):
        return "sightline"
    return str(called)


# --- reading options -----------------------------------------------------------------------------


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in _split(text)]
    except ValueError as error:
        raise InputError(f"--percentiles must be numbers separated by commas: {text!r}") from error


def _given(**options: Any) -> dict[str, Any]:
    """Return the options that were given; the others keep the data set's own defaults."""
    return {name: value for name, value in options.items() if value is not None}


# --- printing ------------------------------------------------------------------------------------


@cache
def _console(stderr: bool = False) -> "Console":
    from rich.console import Console

    return Console(stderr=stderr, highlight=False)


def _print(*blocks: "Table | str") -> None:
    """Print tables and lines of text; square brackets in names are no markup."""
    for block in blocks:
        _console().print(block, markup=False, soft_wrap=isinstance(block, str))


def _print_json(content: Any) -> None:
    typer.echo(json.dumps(content, indent=1, allow_nan=False))


@cache
def _show_log() -> None:
    """Show what the library logs, such as the compilation at first use, on stderr."""
    from rich.logging import RichHandler

    logging.getLogger("sightline").addHandler(
        RichHandler(console=_console(stderr=True), show_time=False, show_path=False)
    )


@contextmanager
def _progress(what: str) -> Iterator[Callable[[int, int], object]]:
    """Yield a function that moves a bar on stderr, where that is a terminal."""
    from rich.progress import Progress

    console = _console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _number(value: float | None, missing: str = "") -> str:
    return missing if value is None else f"{value:.3f}"


def _table(title: str, left: Sequence[str], right: Sequence[str] = ()) -> "Table":
    """Return a table with columns of text and columns of numbers."""
    from rich import box
    from rich.table import Table

    table = Table(title=title, title_justify="left", caption_justify="left", box=box.SIMPLE_HEAD)
    for name in left:
        table.add_column(name, overflow="fold")
    for name in right:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _metrics_table(specs: Iterable["MetricSpec"]) -> "Table":
    table = _table("Metrics", ["name", "", "range", "chance", "meaning"])
    table.columns[0].no_wrap = True
    arrows = {"higher": "↑", "lower": "↓", "neither": ""}
    table.caption = (
        "↑ higher is better, ↓ lower. g: annotated share of the image, a: selected share."
    )
    for spec in specs:
        low, high = spec.range
        span, chance = f"{low:g}…{high:g}".replace("inf", "∞"), str(spec.chance or "")
        table.add_row(spec.name, arrows[spec.direction], span, chance, spec.meaning)
    return table


def _describe(spec: "MetricSpec") -> dict[str, Any]:
    """Return the record of a metric as JSON can hold it; an open end of a range is null."""
    described = {name: getattr(spec, name) for name in spec.__slots__ if name != "function"}
    described["range"] = [end if abs(end) < float("inf") else None for end in spec.range]
    described["chance"] = None if spec.chance is None else str(spec.chance)
    return described


def _summary_table(scores: "ImageScores") -> "Table":
    table = _table(
        "Means over images", ["metric"], ["mean", "chance", "ceiling", "images", "undefined"]
    )
    for row in scores.summary():
        values = (_number(value) for value in (row.mean, row.chance, row.ceiling))
        table.add_row(row.metric, *values, str(row.n), str(row.undefined))
    return table


def _demo_table(scores: dict[str, "ImageScores"]) -> "Table":
    """Return methods by metrics; chance and ceiling, the same for all methods, stand below."""
    rows = {
        method: {row.metric: row for row in found.summary()} for method, found in scores.items()
    }
    images = next(iter(scores.values())).frame["image"].nunique()
    table = _table(f"Means over {images} images", ["method"], _DEMO_COLUMNS)
    for method, found in rows.items():
        table.add_row(method, *(_number(found[column].mean) for column in _DEMO_COLUMNS))
    table.add_section()
    last = rows[method]
    table.add_row("chance", *(_number(last[column].chance) for column in _DEMO_COLUMNS))
    table.add_row("ceiling", *(_number(last[column].ceiling) for column in _DEMO_COLUMNS))
    return table


def _notes(scores: "ImageScores") -> Iterator[str]:
    """Yield a line about each kind of thing that was left out."""
    dropped = [f"{image} #{region.index} ({region.label})" for image, region in scores.dropped]
    yield from _listed("Images without a map", scores.images_without_map)
    yield from _listed("Maps without an annotation", scores.maps_without_annotation)
    yield from _listed("Regions outside their image, dropped", dropped)


def _listed(what: str, names: Sequence[str], shown: int | None = _SHOWN_NAMES) -> Iterator[str]:
    """Yield a line that counts names and lists the first; none when there are none."""
    if names:
        more = ", …" if shown is not None and len(names) > shown else ""
        yield f"{what} ({len(names)}): {', '.join(names[:shown])}{more}"


def _report(scores: "ImageScores", out: Path) -> dict[str, Any]:
    regions = scores.frame["region"].notna()
    return {
        "out": str(out),
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


# --- a data set ----------------------------------------------------------------------------------


def _report_blocks(report: "Report", show_all: bool, with_beside: bool) -> "Iterator[Table | str]":
    """Yield the tables about a data set, then lines about what is wrong with it."""
    yield _overview_table(report)
    yield _spread_table(report)
    if report.labels:
        yield _labels_table(report, None if show_all else _SHOWN_LABELS)
    if report.sometimes_missing:
        yield _sometimes_table(report, None if show_all else _SHOWN_NAMES)
    shown = None if show_all else _SHOWN_NAMES
    unknown = [f"{label} ({count})" for label, count in report.unknown_labels.items()]
    yield from _listed("Labels that the taxonomy lacks", unknown, shown)
    yield from _listed("Images without regions", report.empty, shown)
    yield from _listed("Images without a file", report.missing, shown)
    if with_beside:
        yield from _listed("Images beside them that no record names", report.beside, shown)
    for what, problems in (
        ("Records left out", report.skipped),
        ("Images that cannot be used", report.problems),
    ):
        if problems:
            yield "\n  ".join([f"{what} ({len(problems)}):", *map(str, problems)])


def _overview_table(report: "Report") -> "Table":
    table = _table(f"Data set: {report.name}", ["", ""])
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
            table.add_row(name, value)
    return table


def _count(number: int) -> str:
    return str(number or "")


def _counts(counts: dict[str, int], shown: int = 8) -> str:
    """Return names with their counts, those of nothing left out."""
    found = [f"{name or 'none'} {count}" for name, count in counts.items() if count]
    return ", ".join(found[:shown] + ["…"] * (len(found) > shown))


def _spread_table(report: "Report") -> "Table":
    table = _table("Spread", [""], ["least", "25 %", "median", "75 %", "mean", "largest"])
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
            table.add_row(name, *shown)
    if report.kinds.keys() - {"box"}:
        table.caption = "Shapes other than boxes are drawn with up to 256 pixels a side for this."
    return table


def _labels_table(report: "Report", shown: int | None) -> "Table":
    levels = any(label.regions != label.own for label in report.labels)
    below = ["with those below"] if levels else []
    table = _table("Labels", ["label"], ["regions", *below, "images", "share"])
    for label in report.labels[:shown]:
        counts = (label.own, *([label.regions] if levels else []), label.images)
        table.add_row(label.label, *map(str, counts), f"{label.share:.1%}")
    _count_rest(table, len(report.labels), shown)
    return table


def _sometimes_table(report: "Report", shown: int | None) -> "Table":
    table = _table(
        "Labels that some images of a style lack", ["style", "label"], ["images with", "without"]
    )
    for one in report.sometimes_missing[:shown]:
        table.add_row(one.style, one.label, str(one.present), str(one.absent))
    _count_rest(table, len(report.sometimes_missing), shown)
    return table


def _count_rest(table: "Table", count: int, shown: int | None) -> None:
    if shown is not None and count > shown:
        table.caption = f"{count - shown} more: --all shows them."
