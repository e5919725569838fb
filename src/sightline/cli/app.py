"""The commands: parse, call one library function, print."""

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from sightline import __version__
from sightline.cli import (
    analysing,
    benchmarking,
    checking,
    comparing,
    detecting,
    figure_tables,
    figuring,
    finetuning,
    proposing,
    reading,
    reporting,
    reviewing,
    serving,
    similar,
    statistics,
    studies,
    verifying,
)
from sightline.cli.explaining import Options, explain_images
from sightline.cli.model_tables import (
    describe_explained,
    describe_family,
    describe_method,
    describe_model,
    explained_lines,
    families_table,
    methods_blocks,
    models_table,
)
from sightline.cli.option_words import TARGET_HELP, read_option, split_commas
from sightline.cli.options import (
    DeviceOption,
    DoneJsonOption,
    FitOption,
    JsonOption,
    LayersOption,
    ModelOption,
    ParamOption,
    SizeOption,
    TablesJsonOption,
)
from sightline.cli.printing import own_name, printable, progress, show, show_json, show_log
from sightline.cli.scoring import check_named_by_image, choose_sign
from sightline.cli.tables import (
    describe,
    metrics_table,
    notes,
    report_blocks,
    score_report,
    summary_table,
)
from sightline.records import InputError, SightlineError
from sightline.records.choices import Labelling, Sign, Ties

__all__ = ["app", "main"]

# Packages that only some commands need, and the extra that brings them.
_EXTRAS = dict.fromkeys(("torch", "transformers", "captum", "huggingface_hub"), "models")
_EXTRAS["matplotlib"] = "figures"
_EXTRAS["peft"] = "finetune"
_EXTRAS |= dict.fromkeys(("fastapi", "uvicorn"), "web")


# The panels of the help with their commands, in the order of the work.
_PANELS = {
    "A study, from start to end": ("new", "run", "show", "report", "serve", "demo"),
    "What goes in": ("inspect", "facades", "models", "methods", "metrics", "finetune", "schema"),
    "Maps of images, and maps made elsewhere": ("explain", "analyse", "similarity", "score"),
    "What the results are worth": ("stats", "compare", "sparsity", "sanity", "benchmark"),
    "Detectors": ("detect",),
    "Missing annotations": ("propose", "gold", "review"),
    "Figures, tables and files": (
        *("figure", "figures", "query", "export"),
        *("diff", "digest", "verify"),
    ),
}


class _Commands(TyperGroup):
    """The commands; what is wrong with the input or a file ends as one line and status 2."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        found: dict[str, Any] = {}
        for panel, names in _PANELS.items():
            for name in names:
                found[name] = self.commands[name]
                found[name].rich_help_panel = panel
        self.commands = found | dict(self.commands)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise
        except (SightlineError, OSError) as error:
            typer.echo(f"error: {printable(str(error))}", err=True)
            raise typer.Exit(2) from error
        except ModuleNotFoundError as error:
            if error.name not in _EXTRAS:
                raise
            line = f"pip install 'sightline[{_EXTRAS[error.name]}]'"
            typer.echo(f"error: this needs {error.name}: {line}", err=True)
            raise typer.Exit(2) from error


app = typer.Typer(cls=_Commands, no_args_is_help=True, add_completion=False)


def main() -> None:
    """Run the command line.

    Examples
    --------
    >>> import sys
    >>> from contextlib import suppress
    >>> from unittest.mock import patch
    >>> with patch.object(sys, "argv", ["sightline", "--version"]), suppress(SystemExit):
    ...     main()
    sightline ...
    """
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
    show_log()


@app.command("metrics")
def show_metrics(
    as_json: JsonOption = False,
) -> None:
    """List the metrics: what each means, its range, and what a map without information scores."""
    from sightline.metrics import METRICS

    if as_json:
        show_json([describe(spec) for spec in METRICS.values()])
    else:
        show(metrics_table(METRICS.values()))


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
            help="What negative values mean: nothing (positive), as much as positive ones "
            "(absolute), or less than zero (signed: ranking metrics alone). Unless given, what a "
            "file that `sightline explain` wrote says, and positive for others."
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
        read_annotations,
        score_by_image,
        write_table,
    )

    if out is not None:
        check_table_path(out)
    with open_maps(maps) as files, progress("Scoring") as move:
        read = choose_sign(sign, files.signs)
        known = read_annotations(annotations)
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
        show(summary_table(scores), *read.notes, *notes(scores, read))
        show(f"Scores by image and region: {out or 'not kept; --out FILE.csv keeps them'}")


@app.command()
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


@app.command("models")
def show_models(
    as_json: TablesJsonOption = False,
) -> None:
    """List the models that can be loaded by name, and the kinds that can be loaded from files."""
    from sightline.models import MODELS
    from sightline.models.detectors import DETECTORS
    from sightline.models.families import FAMILIES

    if as_json:
        models = [describe_model(card) for card in MODELS.values()]
        kinds = {"families": FAMILIES, "detectors": DETECTORS}
        found = {n: [describe_family(*item) for item in kind.items()] for n, kind in kinds.items()}
        show_json({"models": models, **found})
    else:
        families = families_table([*FAMILIES.items(), *DETECTORS.items()])
        show(models_table(MODELS.values()), families)
        show("Next, which methods fit one: sightline methods --model demo/vit")


@app.command("methods")
def show_methods(
    model: Annotated[
        str | None,
        typer.Option(help="Only the methods that fit this model, and what the others lack."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the methods that make maps: what each shows, what it needs, what it costs."""
    from sightline.models import load_model

    loaded = None if model is None else load_model(model)
    from sightline.maps import METHODS  # after models, which name what is not installed

    if as_json:
        show_json([describe_method(card, loaded) for card in METHODS.values()])
    else:
        show(*methods_blocks(METHODS.values(), loaded))


@app.command()
def explain(
    images: Annotated[
        list[Path], typer.Argument(help="Images, or folders of images.", show_default=False)
    ],
    model: ModelOption = "demo/vit",
    method: Annotated[
        str | None,
        typer.Option(
            help="Methods that `sightline methods` lists, separated by commas; all: those that fit "
            "the model; unless given, its usual one (cls of most ViTs, gradcam of CNNs)."
        ),
    ] = None,
    layer: LayersOption = None,
    head: Annotated[
        str | None,
        typer.Option(help="Heads, separated by commas, or all; fused unless given."),
    ] = None,
    target: Annotated[str, typer.Option(help=f"{TARGET_HELP}.")] = "predicted",
    fit: FitOption = None,
    size: SizeOption = None,
    param: ParamOption = None,
    batch: Annotated[
        int | None,
        typer.Option(min=1, help="Images in memory at once; by free memory unless given."),
    ] = None,
    device: DeviceOption = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Picture to write: .png or .jpg.")
    ] = None,
    maps: Annotated[
        Path | None,
        typer.Option(
            help="File for the maps: .safetensors (with how they were made) or .npz (bare)."
        ),
    ] = None,
    resolution: Annotated[
        str | None,
        typer.Option(
            help="Of the maps in the file: grid (as they are, unless given), pixels (of the "
            "image), or the number of pixels of its longer side."
        ),
    ] = None,
    skip_bad: Annotated[
        bool,
        typer.Option("--skip-bad", help="Leave out images that cannot be read, and list them."),
    ] = False,
    as_json: DoneJsonOption = False,
) -> None:
    """Show where a model looks on images: maps in colour over them, or in files.

    Several methods, layers, heads or images make a picture with many parts.

    One map per image that covers the whole of it can be scored: `sightline score`.
    """
    methods = None if method is None else split_commas(method)
    options = Options(
        images, model, methods, layer, head, target, fit, size,
        [read_option(text, "--param") for text in param or []], batch, device, out, maps,
        resolution, skip_bad,
    )  # fmt: skip
    with progress("Loading") as move:
        found = explain_images(options, move)
    if as_json:
        show_json(describe_explained(found, options))
    else:
        show(*explained_lines(found, options, own_name()))


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


for _command in (
    *(analysing.analyse, similar.similarity, finetuning.finetune),
    *(studies.new, studies.schema, studies.run, studies.demo),
    *(comparing.compare, statistics.stats, statistics.sparsity),
    *(checking.sanity, benchmarking.benchmark, detecting.detect),
    *(reporting.report, serving.serve, figuring.figure, figure_tables.figures),
    *(reading.query, reading.export, reading.diff, reading.digest, verifying.verify),
    proposing.propose,
):
    app.command()(_command)
app.command("show")(reading.show_store)
app.add_typer(reviewing.gold, name="gold")
app.add_typer(reviewing.review, name="review")


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


def _numbers(text: str) -> list[float]:
    from sightline.metrics.selection import share_hint

    try:
        found = [float(part) for part in split_commas(text)]
    except ValueError as error:
        raise InputError(f"--percentiles must be numbers separated by commas: {text!r}") from error
    for hint in filter(None, map(share_hint, found)):
        raise InputError(f"--percentiles {text}: {hint}")
    return found


def _given(**options: Any) -> dict[str, Any]:
    """Return the options that were given; the others keep the data set's own defaults."""
    return {name: value for name, value in options.items() if value is not None}
