"""The command that draws one figure, from a store of results or from an image."""

from pathlib import Path
from typing import Annotated

import typer

from sightline.cli.explain_steps import Options
from sightline.cli.option_words import ANNOTATIONS_HELP, number_or_word
from sightline.cli.output import progress, show
from sightline.core import InputError

__all__ = ["figure"]


def figure(
    name: Annotated[str, typer.Argument(help="Figure that `sightline figures` lists.")],
    where: Annotated[
        Path,
        typer.Argument(
            help="Folder of a study's results (runs/NAME); or an image, for all-methods, "
            "attribution, layer-maps, pointing-game and energy."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="File or folder to write to; unless given, here, under the figure's own name.",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            "-m",
            help="Model: of a store, only this one (of detections and prototypes, the name of the "
            "evaluation); of an image, as `sightline explain` takes it (demo/vit unless given).",
        ),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            "--methods",
            help="Method; of an image several, separated by commas (of all-methods, all that fit "
            "the model unless given; else its usual one).",
        ),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            help="Score, as iou@90; unless given, the study's main one, of an image coverage. Of "
            "cascade a similarity (spearman, ssim, hog, overlap), of removal-curves one measure."
        ),
    ] = None,
    layer: Annotated[
        str | None,
        typer.Option(
            help="Layer: of a store a number, best, last or split; of an image numbers separated "
            "by commas, or all (the last unless given; of layer-maps, all)."
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            help="Of a store, only maps of this target; of an image, what to explain, as "
            "`sightline explain` takes it (the predicted class unless given)."
        ),
    ] = None,
    image: Annotated[
        str | None, typer.Option(help="Image of a store, by its id; a usual one unless given.")
    ] = None,
    prototype: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Prototype of a benchmark in a store, by its number: prototype-cards and "
            "perturbation-drops show it alone.",
        ),
    ] = None,
    annotations: Annotated[
        str | None,
        typer.Option(
            help="Annotations, the image's among them, for outlines and scores. "
            f"{ANNOTATIONS_HELP}."
        ),
    ] = None,
    formats: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="Of png, svg, pdf, csv (its numbers), separated by commas; unless given, the "
            "ending of --out, or png.",
        ),
    ] = None,
    dpi: Annotated[int, typer.Option(min=50, max=600, help="Dots per inch of a PNG.")] = 200,
) -> None:
    """Draw one figure: of a study that was run, or of an image that a model looks at."""
    from sightline.cli.figure_stores import draw_from_store
    from sightline.figures import find_card
    from sightline.report import Choice

    name = find_card(name).name
    if not where.exists():
        raise InputError(f"{where}: is neither a folder of results nor an image: it does not exist")
    if where.is_dir():
        if annotations is not None:
            raise InputError("--annotations is for images; a store knows its own")
        number = number_or_word("layer", layer, ("best", "last", "split"))
        choice = Choice(metric, model, method, number, target, image, prototype)
        draw_from_store(name, where, choice, out=out, formats=formats, dpi=dpi)
        return
    for option, value in (("image", image), ("prototype", prototype)):
        if value is not None:
            raise InputError(f"--{option} {value} is for stores; {where} is an image")
    methods = None if method is None else [one.strip() for one in method.split(",") if one.strip()]
    if methods is None and name == "all-methods":
        methods = ["all"]
    if layer is None and name == "layer-maps":
        layer = "all"
    options = Options(
        [where], model or "demo/vit", methods, layers=layer, target=target or "predicted"
    )
    _of_image(name, options, (annotations, metric), out, formats, dpi)


def _of_image(
    name: str,
    options: Options,
    scoring: tuple[str | None, str | None],
    out: Path | None,
    formats: str | None,
    dpi: int,
) -> None:
    """Draw a figure of an image, write it, and say what it shows."""
    from sightline.cli.figure_images import Asked, draw_of_image
    from sightline.cli.figure_stores import base_of, formats_of, write_drawn
    from sightline.figures import FIGURES

    card = FIGURES[name]
    wanted = formats_of(out, formats)  # before anything takes time
    base = base_of(out, card.file)
    _check_kept(options.images[0], base, wanted)
    with progress("Loading") as move:
        drawn = draw_of_image(name, Asked(options, *scoring), move)
    written = write_drawn(drawn, base, wanted, dpi=dpi)
    show(f"{card.title}: {drawn.about}", *(f"Written: {path}" for path in written))


def _check_kept(image: Path, base: Path, formats: list[str]) -> None:
    """Raise where the image itself would be written over."""
    for one in formats:
        path = base.with_name(f"{base.name}.{one}")
        if path.exists() and path.samefile(image):
            raise InputError(f"--out {path}: is the image, and would be written over")
