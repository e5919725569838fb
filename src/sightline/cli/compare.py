"""The command that compares two models, methods or layers."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sightline.cli.option_words import number_or_word
from sightline.cli.options import JsonOption, TableOutOption
from sightline.cli.output import show, show_json
from sightline.cli.stores import (
    comparison_blocks,
    frame_blocks,
    frame_records,
)
from sightline.core import InputError
from sightline.core.choices import By

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["compare"]


def compare(
    store: Annotated[Path, typer.Argument(help="Folder of a study's results: runs/NAME.")],
    a: Annotated[
        str,
        typer.Option("--a", metavar="NAME", help="First model, or what --by says: demo/vit."),
    ],
    b: Annotated[str, typer.Option("--b", metavar="NAME", help="Second one: demo/vit@seed2.")],
    by: Annotated[
        By,
        typer.Option(help="What --a and --b are: two models, two methods, or two layers."),
    ] = "model",
    metric: Annotated[
        str | None, typer.Option(help="Score, as iou@90 or coverage; iou@90 unless given.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="Only this model.")] = None,
    method: Annotated[str | None, typer.Option(help="Only this method.")] = None,
    layer: Annotated[
        str | None,
        typer.Option(
            help="Layer by number, last, best (each side's own, chosen on the same images, and "
            "marked so; unless given), or split (for each half of the images, the best on the "
            "other half)."
        ),
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="Only maps of this target, and those that have none.")
    ] = None,
    head: Annotated[
        int | None, typer.Option(help="Attention head by number; fused heads unless given.")
    ] = None,
    show_all: Annotated[
        bool, typer.Option("--all", help="Show every line and column, and a sentence for each.")
    ] = False,
    as_json: JsonOption = False,
    out: TableOutOption = None,
) -> None:
    """Compare two models, methods or layers on the same images: how much, and how sure.

    Each image is a pair: a difference counts when it is larger than chance explains.

    Several comparisons at once are corrected for: the more there are, the more differ by chance.
    """
    from sightline.data import check_table_path, write_table
    from sightline.results import open_results

    if out is not None:
        check_table_path(out)
    words: dict[str, Any] = {"metric": metric, "model": model, "method": method}
    words |= {"target": target, "head": head}
    words["layer"] = number_or_word("layer", layer, ("best", "last", "split"))
    given = {name: value for name, value in words.items() if value is not None}
    sides = [("a", a), ("b", b)]
    first, second = (_layer(*side) if by == "layer" else side[1] for side in sides)
    with open_results(store) as results:
        frame = results.compare(first, second, by=by, **given)
        name = results.study["name"]
    if out is not None:
        write_table(frame, out)
    _print(frame, name, show_all=show_all, as_json=as_json)
    if out is not None and not as_json:
        show(f"Written: {out}")


def _layer(option: str, text: str) -> int:
    """Return the number of a layer."""
    try:
        return int(text)
    except ValueError as error:
        raise InputError(
            f"--{option} must be the number of a layer with --by layer, got {text!r}"
        ) from error


def _print(frame: "pd.DataFrame", study: str, *, show_all: bool, as_json: bool) -> None:
    """Print a comparison: a table and what it means."""
    attrs = frame.attrs
    if as_json:
        lines = frame_records(frame.assign(sentence=attrs["sentences"]))
        about = {"study": study, "metric": attrs["metric"], "note": attrs["note"]}
        about |= {name: attrs[name] for name in ("summary", "best_baseline")}
        show_json({**about, "lines": lines})
    elif show_all:
        title = f"{study}: {attrs['metric']}"
        heading, table, *notes = frame_blocks(frame, title, len(frame), whole=True)
        show(heading, table, *attrs["sentences"], *attrs["summary"][1:], *notes)
    else:
        show(*comparison_blocks(frame, study))
