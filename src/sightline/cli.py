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
    from sightline.metrics import MetricSpec

__all__ = ["app", "main"]

Sign: TypeAlias = Literal["positive", "absolute", "signed"]
Ties: TypeAlias = Literal["share", "include"]

_SHOWN_NAMES = 5
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
def demo(
    out: Annotated[Path, typer.Option(help="Folder for maps, annotations and scores.")] = Path(
        "demo"
    ),
) -> None:
    """Make a small set of maps, score them, and show what the numbers mean."""
    from sightline.data.toy import METHODS, score_toy

    with _progress("Scoring") as progress:
        scores = score_toy(out, progress=progress)
    command = shlex.join(
        [
            *(_own_name(), "score", str(out / "maps" / METHODS[0])),
            *("--annotations", str(out / "annotations.json"), "--out", str(out / "scores.csv")),
        ]
    )
    _print(
        _demo_table(scores),
        f"Annotations: {out / 'annotations.json'}",
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
    for what, names in (
        ("Images without a map", scores.images_without_map),
        ("Maps without an annotation", scores.maps_without_annotation),
        ("Regions outside their image, dropped", dropped),
    ):
        if names:
            more = ", …" if len(names) > _SHOWN_NAMES else ""
            yield f"{what} ({len(names)}): {', '.join(names[:_SHOWN_NAMES])}{more}"


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
