"""`sightline score`: maps that others made, against annotations."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple, cast

import typer

from sightline.cli.option_words import (
    ANNOTATIONS_HELP,
    read_annotation_option,
    split_commas,
)
from sightline.cli.output import progress, show, show_json
from sightline.cli.tables import notes, score_report, summary_table
from sightline.core import InputError
from sightline.core.choices import Channels, Sign, Ties, get_scoring_sign

if TYPE_CHECKING:
    from sightline.data import MapFiles

__all__ = ["ReadAs", "check_named_by_image", "choose_sign", "score"]


def score(
    maps: Annotated[
        Path,
        typer.Argument(
            help="Folder of .npy, .npz or .safetensors files, one map each and named by image; "
            "or one .npz or .safetensors file with a map per image."
        ),
    ],
    annotations: Annotated[str, typer.Option("--annotations", "-a", help=f"{ANNOTATIONS_HELP}.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Table of all scores to write, by image and region: .csv, .parquet or .json.",
        ),
    ] = None,
    sign: Annotated[
        Sign | None,
        typer.Option(
            help="What negative values mean: nothing (positive, as for attention), as much as "
            "positive ones (absolute, as for gradients), or less than zero (signed: no energy "
            "then). By default as stored in files of `sightline explain`; other maps need it "
            "if they have negative values."
        ),
    ] = None,
    channels: Annotated[
        Channels | None,
        typer.Option(
            help="How maps of shape (3, height, width), of RGB inputs, become one map: mean or "
            "largest of the magnitudes, or the sum with its signs."
        ),
    ] = None,
    selection: Annotated[
        str,
        typer.Option(
            help="How pixels are selected, separated by commas: percentile, mass60 (or another "
            "share), mean, matched."
        ),
    ] = "percentile",
    percentiles: Annotated[
        str,
        typer.Option(
            help="Percentiles of the selection, from 0 to 100 and separated by commas: 90 selects "
            "the top 10% of the pixels."
        ),
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

    Means over the images are shown; --out keeps the scores of every image and region.

    A map must cover the whole image: annotations are stretched over it, whatever its size.

    The map of a centre crop does not fit the annotations of the whole image.

    Map "a" or "a.jpg" belongs to image "a.jpg"; what finds no partner is listed.
    """
    from sightline.data import (
        check_table_path,
        open_maps,
        score_by_image,
        write_table,
    )

    if out is not None:
        check_table_path(out)
    with open_maps(maps, channels) as files, progress("Scoring") as move:
        read = choose_sign(sign, files.signs)
        known = read_annotation_option(annotations, "--annotations")
        check_named_by_image(files, known, maps)
        scores = score_by_image(
            files,
            known,
            selection=split_commas(selection),
            percentiles=_numbers(percentiles),
            sign=read.sign,
            ties=ties,
            threads=threads,
            progress=move,
        )
    if out is not None:
        write_table(scores.frame, out)
    if as_json:
        show_json(score_report(scores, out, read))
    else:
        show(summary_table(scores), *read.notes, *notes(scores))
        show(f"Scores by image and region: {out or 'not kept; --out FILE.csv keeps them'}")


def _numbers(text: str) -> list[float]:
    from sightline.metrics.selection import share_hint

    try:
        found = [float(part) for part in split_commas(text)]
    except ValueError as error:
        raise InputError(f"--percentiles must be numbers separated by commas: {text!r}") from error
    for hint in filter(None, map(share_hint, found)):
        raise InputError(f"--percentiles {text}: {hint}")
    return found


class ReadAs(NamedTuple):
    """How the values of maps are read.

    Attributes
    ----------
    sign : {"positive", "absolute", "signed"} or None
        What negative values mean; None where there must be none.
    source : {"option", "file", "default"}
        Who says so.
    notes : tuple of str
        Lines about it; none where the file says nothing.
    """

    sign: Sign | None
    source: Literal["option", "file", "default"]
    notes: tuple[str, ...] = ()


def choose_sign(given: Sign | None, said: Sequence[str]) -> ReadAs:
    """Return the sign given, else how maps of the file's sign are scored, where all have one."""
    if given is not None:
        differs = bool(said) and tuple(said) != (given,)
        note = f"Sign: {given}, as given; the maps' file says {', '.join(said)}"
        return ReadAs(given, "option", (note,) if differs else ())
    if len(said) == 1:
        own = cast("Sign", said[0])
        sign = get_scoring_sign(own)
        why = "as the maps' file says"
        if sign != own:
            why = f"the part above 0; the maps' file says {own}, --sign {own} ranks all values"
        return ReadAs(sign, "file", (f"Sign: {sign}, {why}",))
    note = f"Sign: none; the maps' file says {', '.join(said)}: give --sign to read all as one"
    return ReadAs(None, "default", (note,) if said else ())


def check_named_by_image(files: "MapFiles", images: Iterable[str], path: Path) -> None:
    """Raise where no map fits an image, and the file says why."""
    from sightline.data import match_images

    if files.unfit and not match_images(files, images).pairs:
        raise InputError(f"{path}: no map fits an image: {files.unfit}")
