"""The command that shows all methods on one image, with their scores."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sightline.cli.explain_steps import load_fitted, read_indices
from sightline.cli.option_words import (
    ANNOTATIONS_HELP,
    TARGET_HELP,
    check_target,
    read_option,
    read_target,
)
from sightline.cli.options import (
    DeviceOption,
    FitOption,
    FoundJsonOption,
    LayersOption,
    ModelOption,
    ParamOption,
    SizeOption,
)
from sightline.cli.output import add_row, new_table, progress, show, show_json
from sightline.core import InputError
from sightline.core.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd
    from rich.table import Table

    from sightline.report import Analysis

__all__ = ["analyse"]


_COLUMNS = ("coverage", "average_precision", "auc_roc", "pointing")
_SHORT = {"average_precision": "AP", "auc_roc": "AUC"}
# Regions and maps of which a table fits a terminal.
_REGIONS, _MAPS = 12, 6


def analyse(
    image: Annotated[Path, typer.Argument(help="Image to analyse.")],
    annotations: Annotated[
        str | None,
        typer.Option(
            "--annotations",
            "-a",
            help=f"Annotations, the image's among them, for scores. {ANNOTATIONS_HELP}.",
        ),
    ] = None,
    model: ModelOption = "demo/vit",
    methods: Annotated[
        str,
        typer.Option(
            "--methods",
            "--method",
            help="Methods that `sightline methods` lists, separated by commas; all: those that fit "
            "the model.",
        ),
    ] = "all",
    target: Annotated[
        str,
        typer.Option(help=f"{TARGET_HELP}, label (of the image in the file of annotations)."),
    ] = "predicted",
    layer: LayersOption = None,
    percents: Annotated[
        str,
        typer.Option(
            help="How much of a map the views and IoU select, in percent, separated by commas."
        ),
    ] = "5,10,20",
    fit: FitOption = None,
    size: SizeOption = None,
    param: ParamOption = None,
    device: DeviceOption = None,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="Folder for the figures and scores."),
    ] = Path("analysis"),
    as_json: FoundJsonOption = False,
) -> None:
    """Show the maps of all methods on one image, with what is annotated and how well they fit.

    Writes all_methods.png and .svg, enhanced_METHOD.png for each, and metrics.csv.
    """
    _check_out(out, image)
    asked = {
        "methods": [one.strip() for one in methods.split(",") if one.strip()],
        "layers": -1 if layer is None else read_indices(layer, "--layer"),
        "percents": _percents(percents),
        "params": dict(read_option(text, "--param") for text in param or []),
    }
    with progress("Loading") as move:
        found = _analyse(
            (image, annotations), (model, fit, size, device), target, asked, lambda *at: move(*at)
        )
        written = found.write(out, progress=lambda *at: move(*at))
    if as_json:
        show_json(_described(found, written))
        return
    show(*_tables(found), *_lines(found, written, out))


def _check_out(out: Path, image: Path) -> None:
    """Raise where the folder is a file, or would take the image's place."""
    if out.exists() and not out.is_dir():
        raise InputError(f"--out {out}: is a file; give a folder")
    name = image.name
    ours = name.startswith(("all_methods", "enhanced_")) or name == "metrics.csv"
    if ours and out.is_dir() and image.parent.resolve() == out.resolve():
        raise InputError(f"--out {out}: holds the image {name}, which could be written over")


def _percents(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",") if part.strip()]
    except ValueError as error:
        raise InputError(f"--percents must be numbers separated by commas: {text!r}") from error


def _analyse(
    files: tuple[Path, str | None],
    way: tuple[str, str | None, str | None, str | None],
    target: str,
    asked: dict[str, Any],
    move: Any,
) -> "Analysis":
    from sightline.cli.figure_images import annotation_of
    from sightline.data.images import image_size

    image_size(files[0])  # before anything takes time
    check_target(target)
    annotation = annotation_of(*files)
    if target == "label" and annotation is None:
        raise InputError("--target label: give --annotations, which say the label of the image")
    model = load_fitted(*way)
    from sightline.report import analyse as analyse_image

    goal = read_target(target, model)
    return analyse_image(files[0], annotation, model, target=goal, progress=move, **asked)


# --- what is said --------------------------------------------------------------------------------


def _tables(found: "Analysis") -> "Iterator[Table]":
    """Yield the scores of the maps; without an annotation, the maps."""
    if found.mask is None:
        table = new_table(found.head, ["map", "target", "sign"], ["seconds"])
        for one in found.maps:
            add_row(table, one.name, one.target, one.sign, f"{one.seconds:.2f}")
        yield table
        return
    whole = found.table()
    names = [*_COLUMNS, found.main]
    table = new_table(found.head, ["map"], [*(_SHORT.get(name, name) for name in names), "beyond"])
    table.columns[0].no_wrap = True
    table.caption = (
        "AP: average precision; AUC: area under the ROC curve; beyond: where "
        f"{found.main} lies between chance (0) and the ceiling (1)."
        + " –: signed maps have no energy."
        * any(one.sign == "signed" for one in found.maps)
    )
    columns = {name: whole[whole["metric"] == name].reset_index(drop=True) for name in names}
    for place, one in enumerate(found.maps):
        values = [columns[name]["value"][place] for name in names]
        values.append(columns[found.main]["beyond"][place])
        add_row(table, one.name, *map(_number, values))
    table.add_section()
    for beside, end in (("chance", "0.000"), ("ceiling", "1.000")):
        add_row(table, beside, *(_common(columns[name][beside]) for name in names), end)
    yield table
    yield from _region_table(found)


def _region_table(found: "Analysis") -> "Iterator[Table]":
    """Yield how much of each region the maps select, where that is a table of a decent size."""
    metric = found.main.replace("iou", "recall")
    rows = found.scores[found.scores["region"].notna() & (found.scores["metric"] == metric)]
    count = rows["region"].nunique()
    if not count or len(found.maps) > _MAPS:
        return
    title = f"{metric} by region: chance {_common(rows['chance'])}"
    table = new_table(title, ["region", "label"], [one.name for one in found.maps])
    for number, (region, group) in enumerate(rows.groupby("region", sort=False)):
        if number < _REGIONS:
            label = str(group["label"].iloc[0])
            add_row(table, str(region), label, *map(_number, group["value"]))
    if count > _REGIONS:
        table.caption = f"{counted(count - _REGIONS, 'more region')}: all are in metrics.csv."
    yield table


def _number(value: float) -> str:
    return "–" if value != value else f"{value:.3f}"


def _common(values: "pd.Series[float]") -> str:
    """Return what all maps have in common, or that they differ."""
    known = values.dropna()
    if known.empty:
        return "–"
    same = float(known.max() - known.min()) < 5e-4
    return f"{known.iloc[0]:.3f}" if same else "varies"


def _lines(found: "Analysis", written: tuple[Path, ...], out: Path) -> "Iterator[str]":
    if found.mask is None:
        yield "Nothing is annotated, so there are no scores: give --annotations."
    elif not found.mask.any():
        yield "No region of the annotation is scored, so scores are undefined."
    if found.skipped:
        yield f"Methods left out ({len(found.skipped)}):"
        yield from (f"  {name}: {why}" for name, why in found.skipped.items())
    pages = [path.name for path in written if path.name.startswith("all_methods")]
    views = sum(path.name.startswith("enhanced_") for path in written)
    yield f"Written to {out}: {', '.join(pages)}, enhanced_METHOD.png ({views}), metrics.csv"
    yield "One image is an example, no evidence: a study scores many (`sightline new`)."


def _described(found: "Analysis", written: tuple[Path, ...]) -> dict[str, Any]:
    """Return what was found, as JSON can hold it."""
    rows = found.scores if found.mask is None else found.table()
    records = rows.drop(columns=["region", "label", "box"], errors="ignore").to_dict("records")
    predicted = found.predicted
    return {
        "image": found.name,
        "model": found.model,
        "predicted": predicted and {"class": predicted[0], "probability": predicted[1]},
        "scores": [{str(key): _plain(value) for key, value in row.items()} for row in records],
        "skipped": dict(found.skipped),
        "files": [str(path) for path in written],
    }


def _plain(value: Any) -> Any:
    import pandas as pd

    if value is None or pd.isna(value):
        return None
    return value.item() if hasattr(value, "item") else value
