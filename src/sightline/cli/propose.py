"""`sightline propose`: further instances of what is marked, for people to decide on."""

import shlex
from collections import Counter
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from sightline.cli.option_words import (
    DATA_EXAMPLE,
    data_choice,
    open_choice,
    read_ids,
    read_option,
)
from sightline.cli.options import ComparedLayerOption, DeviceOption, FoundJsonOption
from sightline.cli.output import add_row, new_table, number, own_name, progress, show, show_json
from sightline.core import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.table import Table

    from sightline.annotation.proposals import Proposals
    from sightline.data.dataset import Dataset

__all__ = ["propose"]

Named: TypeAlias = Literal["similarity", "sam"]
_PICTURES = 6
_ROWS = 20


def propose(
    data: Annotated[
        str,
        typer.Argument(help=f"Data set: NAME[:PATH][,option=value…], say {DATA_EXAMPLE}."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="File for the proposals: .json.")],
    model: Annotated[
        str,
        typer.Option(
            "--model",
            "-m",
            help="Model: a name that `sightline models` lists, hf:FOLDER, hf:ID or timm:NAME; for "
            "sam, hf: with weights of the SAM family.",
        ),
    ] = "demo/vit-dino",
    proposer: Annotated[
        Named,
        typer.Option(
            help="By the likeness of patch features (similarity), or masks of the SAM family that "
            "are like the marked region (sam)."
        ),
    ] = "similarity",
    label: Annotated[
        list[str] | None,
        typer.Option(help="Propose instances of this label; may be repeated; all unless given."),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, help="Least score; 0.4 for similarity, 0.5 for sam, unless given."
        ),
    ] = None,
    most: Annotated[
        int | None, typer.Option(min=1, help="Most proposals from one marked region.")
    ] = None,
    images: Annotated[
        Path | None,
        typer.Option(help="Only these images: a file with one id a line; all unless given."),
    ] = None,
    layer: ComparedLayerOption = None,
    option: Annotated[
        list[str] | None,
        typer.Option(help="Option of the proposer, as name=value: shifts=4; may be repeated."),
    ] = None,
    device: DeviceOption = None,
    picture: Annotated[
        Path | None,
        typer.Option(help=f"Picture of the first {_PICTURES} images with proposals: .png, .jpg."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file of that name.")] = False,
    as_json: FoundJsonOption = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print nothing, and show no progress.")
    ] = False,
) -> None:
    """Propose other instances of what is marked, on the same images, for people to decide on.

    A proposal keeps its score, the region it was made from, and the digest of the model.
    """
    from sightline.annotation.proposals import propose as find
    from sightline.annotation.proposals import write_proposals
    from sightline.annotation.proposers import make_proposer

    choice = data_choice(data, "DATA")
    _check_files(out, picture, force)
    given = {"least": threshold, "layer": layer, "device": device}
    options = dict(read_option(one) for one in option or [])
    options |= {name: value for name, value in given.items() if value is not None}
    dataset = open_choice(choice, "DATA")
    chosen = dataset if images is None else dataset.select(read_ids(images))
    made = make_proposer(proposer, model, **options)
    with nullcontext(None) if quiet or as_json else progress("Looking") as move:
        found = find(chosen, made, labels=label, most=most, progress=move)
    found = replace(found, data=data)
    write_proposals(found, out)
    if picture is not None:
        _draw(found, chosen, picture)
    if as_json:
        show_json(_told(found, chosen, out, picture))
    elif not quiet:
        show(*_blocks(found, chosen, out, picture))


def _check_files(out: Path, picture: Path | None, force: bool) -> None:
    """Raise, before any work, where a file cannot be written or is there already."""
    from sightline.data.outputs import check_output
    from sightline.data.pictures import check_picture_path

    check_output(out, "a file of proposals", (".json",))
    if picture is not None:
        check_picture_path(picture)
    for path in (out, picture):
        if path is not None and path.exists() and not force:
            raise InputError(f"{path}: is there already; --force replaces it")


def _draw(found: "Proposals", dataset: "Dataset", path: Path) -> None:
    from sightline.annotation.picture import draw_proposals
    from sightline.data.pictures import write_picture

    ids = dict.fromkeys(proposal.image_id for proposal in found.items)
    shown = list(ids)[:_PICTURES] or list(dataset.ids[:_PICTURES])
    write_picture(draw_proposals(found, [dataset.by_id(name) for name in shown]), path)


# --- what is printed ------------------------------------------------------------------------------


def _told(
    found: "Proposals", dataset: "Dataset", out: Path, picture: Path | None
) -> dict[str, Any]:
    return {
        "out": str(out),
        "picture": picture and str(picture),
        "images": len(dataset),
        "marked": sum(len(sample.annotation.scored) for sample in dataset),
        "proposals": len(found),
        "labels": dict(Counter(proposal.label for proposal in found.items).most_common()),
        "settings": dict(found.settings),
    }


def _blocks(
    found: "Proposals", dataset: "Dataset", out: Path, picture: Path | None
) -> "Iterator[Table | str]":
    marked = sum(len(sample.annotation.scored) for sample in dataset)
    settings = found.settings
    yield (
        f"Proposals: {len(found):,} on {len(dataset):,} images with {marked:,} marked regions, by "
        f"{settings['proposer']} of {settings['model']}, scores from {settings['least']:g}"
    )
    if len(found):
        yield _table(found)
    yield f"Written: {out}"
    if picture is not None:
        yield f"Picture: {picture}"
    if not len(found):
        yield "Next: a lower --threshold proposes more; marked regions prompt it, so look for some."
        return
    command = [own_name(), "review", "new", "FOLDER", "--data", found.data, "--proposals", str(out)]
    yield f"Next, let people decide on each:\n  {shlex.join(command)}"


def _table(found: "Proposals") -> "Table":
    table = new_table("", ["label"], ["proposals", "lowest score", "highest"])
    scores: dict[str, list[float]] = {}
    for proposal in found.items:
        scores.setdefault(proposal.label, []).append(proposal.score)
    ranked = sorted(scores.items(), key=lambda item: (-len(item[1]), item[0]))
    for label, values in ranked[:_ROWS]:
        cells = f"{len(values):,}", number(min(values)), number(max(values))
        add_row(table, label or "(none)", *cells)
    if len(ranked) > _ROWS:
        add_row(table, f"… and {len(ranked) - _ROWS} more labels", "", "", "")
    return table
