"""Commands that read stores of results."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from sightline.cli.option_words import number_or_word
from sightline.cli.options import JsonOption
from sightline.cli.output import add_row, new_table, progress, show, show_json
from sightline.cli.stores import (
    SHOWN_LINES,
    compact,
    difference_blocks,
    format_best_baseline,
    frame_blocks,
    frame_records,
    layer_lines,
    leaderboard_blocks,
    note_lines,
    without_intervals,
)
from sightline.core import InputError
from sightline.core.words import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from sightline.results import Results

__all__ = ["diff", "digest", "export", "query", "show_store"]

By: TypeAlias = Literal[
    "leaderboard", "layers", "percentiles", "labels", "styles", "heads", "images", "detection"
]
To: TypeAlias = Literal["csv", "parquet", "sqlite", "markdown"]
_LINES = {
    "labels": "regions by label",
    "percentiles": "{metric} by percentile",
    "styles": "{metric} by label of the images",
    "heads": "{metric} by head",
    "images": "{metric} by image",
}
DETECTION_FIGURES = ("AP", "AP50", "AP75", "AR100")
_NARROW = "--all shows them, and --model and --method choose"

_STORE = typer.Argument(help="Folder of a study's results: runs/NAME.")


def show_store(
    store: Annotated[Path, _STORE],
    by: Annotated[
        By,
        typer.Option(
            help="Which table: a line for each model and method (leaderboard), by layer, by "
            "percentile, by label of the regions, by label of the images (styles), by attention "
            "head, or by image; or the results of `sightline detect` (detection)."
        ),
    ] = "leaderboard",
    metric: Annotated[
        str | None, typer.Option(help="Score, as iou@90 or coverage; iou@90 unless given.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="Only this model.")] = None,
    method: Annotated[
        str | None,
        typer.Option(help="Only this method; in a leaderboard also best or split, see --layer."),
    ] = None,
    layer: Annotated[
        str | None,
        typer.Option(
            help="Layer by number, last, best (chosen on the same images, and marked so), or split "
            "(for each half of the images, the best on the other half); in a leaderboard also all."
        ),
    ] = None,
    head: Annotated[
        str | None,
        typer.Option(
            help="Attention head by number, or all in a leaderboard and by layer; fused heads "
            "unless given."
        ),
    ] = None,
    percentile: Annotated[
        str | None,
        typer.Option(
            help="Of --by labels: threshold of IoU and recall, as 95 or mass60; 90 unless given, "
            "or the highest of the study."
        ),
    ] = None,
    show_all: Annotated[bool, typer.Option("--all", help="Show every line and column.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show the results of a study, each score beside chance and ceiling.

    It may be running: what is stored so far is shown.
    """
    from sightline.results import detection_table, open_results

    asked = {
        "metric": metric,
        "model": model,
        "method": method,
        "layer": number_or_word("layer", layer, ("best", "last", "split", "all")),
        "head": number_or_word("head", head, ("all",)),
        "percentile": percentile,
    }
    given = {option: value for option, value in asked.items() if value is not None}
    if by == "detection":
        for option in given:
            raise InputError(f"--by detection takes no --{option}")
        _show_detection(detection_table(store), store, as_json=as_json)
        return
    with open_results(store) as results:
        frame = _table(results, by, given)
        name = results.study["name"]
    metric = frame.attrs.get("metric", "")
    if as_json:
        about = {"study": name, "metric": metric, "note": frame.attrs.get("note", "")}
        if "best_baseline" in frame.attrs:
            about["best_baseline"] = frame.attrs["best_baseline"]
        show_json({**about, "lines": frame_records(frame)})
        return
    title = f"{name}: {_LINES.get(by, '{metric}').format(metric=metric)}"
    if show_all:
        heading, table, *notes = frame_blocks(frame, title, len(frame), whole=True)
        show(heading, table, *format_best_baseline(frame), *notes)
    elif by == "leaderboard":
        show(*leaderboard_blocks(frame, name))
    elif by == "layers":
        frame.attrs["note"] = without_intervals(frame.attrs["note"])
        more = "Every score with its interval: --all."
        show(*layer_lines(frame), *format_best_baseline(frame), *note_lines(frame), more)
    else:
        show(*frame_blocks(compact(frame), title, more=_NARROW))


def _show_detection(frame: "pd.DataFrame", store: Path, *, as_json: bool) -> None:
    """Print the results of `sightline detect` that a store holds."""
    if as_json:
        show_json({"store": str(store), "lines": frame_records(frame)})
        return
    table = new_table("Detection", ["name", "protocol"], ["images", *DETECTION_FIGURES])
    for line in frame.to_dict("records"):
        figures = (line[name] for name in DETECTION_FIGURES)
        cells = ("–" if value is None or value != value else f"{value:.3f}" for value in figures)
        add_row(table, line["name"], line["protocol"], f"{line['images']:,}", *cells)
    show(table)


def _table(results: "Results", by: By, given: dict[str, Any]) -> "pd.DataFrame":
    """Return a table; options that it does not take are errors."""
    calls: dict[str, tuple[Callable[..., pd.DataFrame], dict[str, str]]] = {
        "leaderboard": (results.leaderboard, {}),
        "layers": (results.layer_progression, {}),
        "percentiles": (results.percentile_sweep, {}),
        "labels": (results.feature_breakdown, {}),
        "styles": (results.style_breakdown, {}),
        "heads": (results.head_ranking, {}),
        "images": (results.images, {"metric": "sort_by"}),
    }
    call, names = calls[by]
    if by == "heads" and not {"model", "method"} <= set(given):
        raise InputError("--by heads needs --model and --method")
    taken = call.__annotations__
    options = {names.get(name, name): value for name, value in given.items()}
    for name, option in zip(options, given, strict=True):
        if name not in taken:
            raise InputError(f"--by {by} takes no --{option}")
    _check_layer(by, given.get("layer"))
    if by not in ("leaderboard", "layers") and given.get("head") == "all":
        raise InputError(f"--head all is for the leaderboard and by layer; --by {by} is about one")
    if by == "percentiles" and "metric" in options:
        options["metric"] = options["metric"].partition("@")[0]
    return call(**options)


def _check_layer(by: By, layer: str | int | None) -> None:
    """Raise for a choice of layers that a table does not have."""
    if by == "heads" and isinstance(layer, str):
        raise InputError(f"--by heads takes the number of a layer, got --layer {layer}")
    if by != "leaderboard" and layer == "all":
        raise InputError(f"--layer all is for the leaderboard; --by {by} is about one layer")


def query(
    store: Annotated[Path, _STORE],
    sql: Annotated[
        str,
        typer.Argument(
            help="One SELECT in DuckDB's SQL over scores, region_scores, scores_long, leaderboard, "
            "checks, images, regions."
        ),
    ],
    show_all: Annotated[bool, typer.Option("--all", help="Show every line and column.")] = False,
    seconds: Annotated[
        float, typer.Option(min=0.1, help="Seconds that it may take before it is ended.")
    ] = 300,
    as_json: JsonOption = False,
) -> None:
    """Ask the results of a study anything in SQL; nothing can be changed by it."""
    from sightline.results import open_results

    with open_results(store) as results:
        try:
            frame = _plain(results.query(sql, seconds=seconds))
        except InputError as error:
            raise InputError(_one_line(str(error))) from error
    if as_json:
        show_json(frame_records(frame))
        return
    shown = len(frame) if show_all else SHOWN_LINES
    show(*frame_blocks(frame, counted(len(frame), "line"), shown, whole=show_all))


def _plain(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Return a table whose decimals are plain numbers: sums of counts, and figures like 0.5."""
    import pandas as pd

    series = [frame.iloc[:, place] for place in range(len(frame.columns))]
    for place, values in enumerate(series):
        if pd.api.types.infer_dtype(values) == "decimal":
            found = pd.to_numeric(values)
            whole = bool((found.dropna() % 1 == 0).all())
            series[place] = found.astype("Int64") if whole else found
    return pd.concat(series, axis=1) if series else frame


def _one_line(message: str) -> str:
    """Return what is wrong with a query as one line; columns are a query of their own."""
    lines = [line.strip() for line in message.splitlines()]
    kept = [line for line in lines if line.strip("^") and not line.startswith("LINE ")]
    columns = re.compile(r"[a-z_]+: [\w@.]+(, [\w@.]+)+(, …)?")
    views = [line.partition(":")[0] for line in kept if columns.fullmatch(line)]
    said = "; ".join(line for line in kept if line.partition(":")[0] not in views)
    return f"{said}; views: {', '.join(views)} (DESCRIBE scores lists columns)" if views else said


def export(
    store: Annotated[Path, _STORE],
    to: Annotated[
        To,
        typer.Option(
            help="csv, parquet: every score with chance and ceiling; sqlite: also images, regions, "
            "leaderboard, checks; markdown: the main tables."
        ),
    ] = "csv",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File to write; STUDY.ENDING unless given.")
    ] = None,
) -> None:
    """Write the results of a study for other programs."""
    from sightline.results import export_results, open_results

    endings = {"csv": "csv", "parquet": "parquet", "sqlite": "sqlite", "markdown": "md"}
    with open_results(store) as results, progress("Writing") as move:
        path = out or Path(f"{results.study['name']}.{endings[to]}")
        total = results.count_scores()
        export_results(results, path, to, lambda done: move(done, total))
    show(f"Written: {path}")


def diff(
    store_a: Annotated[Path, _STORE],
    store_b: Annotated[Path, _STORE],
    show_all: Annotated[bool, typer.Option("--all", help="Show every line and column.")] = False,
) -> None:
    """Show in which settings and scores two stores differ; the exit status is 1 if scores do."""
    from sightline.results import diff_results

    found = diff_results(store_a, store_b)
    show(*difference_blocks(found, show_all))
    if not found.same:
        raise typer.Exit(1)


def digest(store: Annotated[Path, _STORE]) -> None:
    """Print a hash of all scores with their keys: equal for equal results."""
    from sightline.results import results_digest
    from sightline.store import open_store

    typer.echo(results_digest(store))
    for name, batch in open_store(store).manifest().get("batches", {}).items():
        typer.echo(
            f"Note: {name} took {batch} images at once for lack of memory; last digits of values "
            "depend on that.",
            err=True,
        )
