"""`sightline inspect` and `sightline facades`: what data sets hold, and one that is drawn."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sightline.cli.option_words import read_option
from sightline.cli.output import own_name, printable, progress, show, show_json
from sightline.cli.tables import report_blocks
from sightline.core import InputError
from sightline.core.choices import Labelling

if TYPE_CHECKING:
    from sightline.data import Dataset, Report

__all__ = ["facades", "inspect"]


def inspect(
    name: Annotated[
        str,
        typer.Argument(help="Kind: facades, photos, folder, coco, voc, yolo, cub, wikichurches."),
    ],
    path: Annotated[
        Path | None, typer.Argument(help="Its folder or file; none for facades and photos.")
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
    option: Annotated[
        list[str] | None,
        typer.Option(
            help="Another option of the data set, as name=value: masks=true, regions=box; "
            "may be repeated."
        ),
    ] = None,
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

    A folder of images of your own: sightline inspect folder PATH.

    A record or an image that does not fit is an error, unless told to skip bad ones.

    Image files that are missing are counted: maps can be scored without them.

    The exit status is 1 where no image can be used: all are missing or bad, or there is none.
    """
    from sightline.data.contact import check_sheet_path, write_contact_sheet
    from sightline.data.datasets import load_dataset
    from sightline.data.report import inspect_dataset

    if figure is not None:
        check_sheet_path(figure)
    _check_kind(name, path)
    options = _given(count=count, seed=seed, labelling=labelling, confounded=confounded or None)
    options |= dict(map(read_option, option or []))
    dataset = load_dataset(name, path, split=split, skip_bad=skip_bad, **options)
    with progress("Reading") as move:
        report = inspect_dataset(dataset, decode=not quick, progress=move)
    if report.problems and not skip_bad:
        more = len(report.problems) - 1
        note = f" (and {more} more; --skip-bad lists them)" if more else ""
        raise InputError(f"{report.problems[0]}{note}")
    if figure is not None:
        write_contact_sheet(dataset, figure)
    if as_json:
        show_json({**report.to_dict(), "figure": figure and str(figure)})
    else:
        show(*report_blocks(report, show_all, with_beside=split is None))
        show(*_folder_of_that_name(name, path))
        show(*([f"Contact sheet: {figure}"] if figure else []))
    if not report.usable:
        typer.echo(f"error: {printable(_describe_unusable(dataset, report))}", err=True)
        raise typer.Exit(1)


def _describe_unusable(dataset: "Dataset", report: "Report") -> str:
    """Say why no image is there to be looked at, and where the first one was looked for."""
    if report.images and len(report.missing) == report.images:
        first = dataset.by_id(report.missing[0]).path
        looked = "" if first is None else f"; the first would be {first}"
        return f"all image files ({report.images:,}) are missing{looked}"
    counts = {
        "missing": report.missing,
        "with a problem": report.problems,
        "records left out": report.skipped,
    }
    told = [f"{len(found):,} {what}" for what, found in counts.items() if found]
    return f"no image can be used: {', '.join(told) or 'there is none'}"


def _check_kind(name: str, path: Path | None) -> None:
    """Raise where a folder or file is given in place of its kind."""
    from sightline.data.datasets import DATASETS

    if name not in DATASETS and path is None and Path(name).exists():
        kind = "folder" if Path(name).is_dir() else "KIND"
        line = shlex.join([own_name(), "inspect", kind, name])
        raise InputError(f"{name}: is a path; the kind of data set comes first:\n  {line}")


def _folder_of_that_name(name: str, path: Path | None) -> list[str]:
    """Return a line where what ships was opened, while a folder of its name is here."""
    if path is not None or not Path(name).is_dir():
        return []
    line = shlex.join([own_name(), "inspect", "folder", name])
    return [f"This is the set {name} that ships. For the folder {name} that is here:\n  {line}"]


def _given(**options: Any) -> dict[str, Any]:
    """Return the options that were given; the others keep the data set's own defaults."""
    return {name: value for name, value in options.items() if value is not None}


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
    detections: Annotated[
        bool,
        typer.Option(
            "--detections",
            help="Also write what two imaginary detectors find, for `sightline detect`.",
        ),
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Write into a folder that is not empty.")
    ] = False,
) -> None:
    """Draw church fronts whose every part is known: images, and annotations in two formats."""
    from sightline.data.datasets import load_dataset
    from sightline.data.facades.detectors import write_imagined_detections
    from sightline.data.facades.files import check_facades_folder, write_facades

    check_facades_folder(out, force=force)
    dataset = load_dataset(
        "facades", count=count, seed=seed, size=size, labelling=labelling, confounded=confounded
    )
    with progress("Drawing") as move:
        write_facades(dataset, out, move)
    command = [own_name(), "inspect", "folder", str(out), "--figure", "sheet.png"]
    imagined = write_imagined_detections(out) if detections else []
    if imagined:
        command = [own_name(), "detect", str(out / "coco.json"), str(imagined[0])]
    show(
        f"Images ({len(dataset)}): {out / 'images'}",
        f"Annotations: {out / 'annotations.json'}, and as COCO {out / 'coco.json'}",
        f"Which parts decide the style of each: {out / 'facades.json'}",
        *(f"Detections of an imaginary detector: {path}" for path in imagined),
        f"Next, see {'how good it is' if imagined else 'what they hold'}:\n  {shlex.join(command)}",
    )
