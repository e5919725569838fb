"""The command that trains a variant of a model."""

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from sightline.cli.option_words import DATA_EXAMPLE, data_choice, open_choice
from sightline.cli.options import DeviceOption, DoneJsonOption
from sightline.cli.output import listed, own_name, progress, show, show_json
from sightline.core import InputError

if TYPE_CHECKING:
    from sightline.data import Dataset
    from sightline.models.finetuning import Finetuned
    from sightline.models.finetuning.images import HeldOut

__all__ = ["finetune", "read_data", "read_held_out"]

Strategy: TypeAlias = Literal["linear_probe", "lora", "full"]


def finetune(
    model: Annotated[
        str,
        typer.Option("--model", "-m", help="What to begin from, as `sightline models` lists it."),
    ],
    data: Annotated[
        str,
        typer.Option(
            help="Images with labels, which are the classes: a data set as NAME[:PATH][,option="
            f"value…], say {DATA_EXAMPLE}."
        ),
    ],
    strategy: Annotated[
        Strategy,
        typer.Option(
            help="What is trained: a linear classifier alone (linear_probe), adapters in the "
            "attention as well (lora), or all weights (full)."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the variant.")],
    held_out: Annotated[
        str | None,
        typer.Option(
            help="What maps will be scored on, and must not be trained on: a data set as in "
            "--data, a file of annotations, a study file or its results; annotated: all images "
            "of --data that have regions. Needed where images have regions."
        ),
    ] = None,
    leave_out: Annotated[
        bool,
        typer.Option("--leave-out", help="Leave out images that are held out; else they end it."),
    ] = False,
    validation: Annotated[
        float, typer.Option(help="Share of the images by which the best epoch is chosen.")
    ] = 0.1,
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Most epochs; 100 for a linear probe, else 20.")
    ] = None,
    batch: Annotated[
        int | None, typer.Option(min=1, help="Images in a step; 256 for a linear probe, else 32.")
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(help="Learning rate; 0.01 (linear_probe), 0.001 (lora), 0.0001 (full)."),
    ] = None,
    patience: Annotated[
        int | None,
        typer.Option(min=1, help="Epochs without progress before it stops; 10 or 3."),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, help="Of the split, the order, and what is drawn at random.")
    ] = 0,
    rank: Annotated[int, typer.Option(min=1, help="LoRA: width of the adapters.")] = 8,
    alpha: Annotated[
        float | None, typer.Option(help="LoRA: adapters count alpha / rank; twice the rank.")
    ] = None,
    targets: Annotated[
        str | None,
        typer.Option(
            help="LoRA: ends of the names of the layers that get adapters, separated by commas; "
            "q_proj,v_proj unless given."
        ),
    ] = None,
    fit: Annotated[
        Literal["squash", "crop", "letterbox"] | None,
        typer.Option(help="How images are brought to the input; squash unless given."),
    ] = None,
    size: Annotated[
        int | None, typer.Option(min=1, help="Side of the input; the model's unless given.")
    ] = None,
    device: DeviceOption = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a variant of that name.")] = False,
    as_json: DoneJsonOption = False,
) -> None:
    """Train a variant of a model on labelled images, for comparison with the model itself.

    Images that maps are scored on never get into the training: they are refused by name.

    The variant holds what was trained, and no copy of the model: MODEL@FOLDER loads it.
    """
    from sightline.models import load_model  # before the others: it names what is not installed
    from sightline.models.finetuning import Settings, choose_images
    from sightline.models.finetuning import finetune as make
    from sightline.models.finetuning.variant_folder import check_folder

    check_folder(out, force)
    settings = Settings(
        epochs, batch, rate, patience, seed=seed, rank=rank, alpha=alpha,
        targets=tuple(filter(None, map(str.strip, (targets or "").split(",")))),
    ).of(strategy)  # fmt: skip
    images, kept = read_data(data, "--data"), read_held_out(held_out)
    with progress("Loading") as move:
        loaded = load_model(model, fit=fit, size=size, device=device)
        chosen = choose_images(
            images, held_out=kept, leave_out=leave_out, validation=validation, seed=seed,
            progress=move,
        )  # fmt: skip
        made = make(loaded, chosen, strategy, out, settings=settings, force=force, progress=move)
    if as_json:
        show_json(_described(made))
    else:
        show(*_lines(made, model))


def read_data(text: str, option: str) -> "Dataset":
    """Return the data set that NAME[:PATH][,option=value…] says.

    Raises
    ------
    InputError
        If it says none; the message names the option.
    """
    return open_choice(data_choice(text, option), option)


def read_held_out(text: str | None) -> "HeldOut":
    """Return the images that a text holds out.

    "annotated", a file of annotations, a study file, the folder of its results, or a data set.
    """
    from sightline.data import read_annotations
    from sightline.models.finetuning.images import ANNOTATED

    if text is None:
        return None
    if text == ANNOTATED:
        return "annotated"
    place = Path(text)
    if (place / "study.yml").is_file():
        place = place / "study.yml"
    if place.is_file() and place.suffix in (".yml", ".yaml"):
        from sightline.study import load_study
        from sightline.study.plan.images import study_dataset

        return study_dataset(load_study(place).data)
    if place.is_file():
        return read_annotations(place)
    if place.is_dir():
        raise InputError(f"--held-out {text}: is a folder; say which data set: folder:{text}")
    return read_data(text, "--held-out")


def _lines(made: "Finetuned", model: str) -> Iterator[str]:
    """Yield what was made, how good it is, and what to do with it."""
    recipe, figures = made.recipe, made.recipe.figures
    size = sum(file.stat().st_size for file in made.folder.iterdir()) / 1e6
    yield f"Variant: {made.folder} ({recipe.strategy} of {model}, {size:.1f} MB)"
    yield from listed("Classes", recipe.classes)
    count = f"{len(recipe.training):,} to learn from, {len(recipe.validation):,} to choose by"
    yield f"Images: {count}"
    for why, ids in recipe.left_out.items():
        yield from listed(f"Left out, {why}", ids)
    best = int(figures["best_epoch"])
    yield f"Epochs: {len(recipe.epochs)}, of which number {best} was the best and is kept"
    guess = f"{figures['guess']:.1%} for always the commonest class"
    yield f"Accuracy: {', '.join(_accuracies(figures))}; {guess}"
    name = f"{model}@{made.folder}"
    command = [own_name(), "explain", "IMAGE", "--model", name, "--out", "map.png"]
    yield f"Next, see where it looks:\n  {shlex.join(command)}"
    yield f"Or compare it in a study: models: [{model}, {name}]"


def _accuracies(figures: Any) -> Iterator[str]:
    words = {
        "held_out": "on {} held-out images",
        "validation": "on {} validation images (a little too good: the epoch was chosen by them)",
        "training": "on {} training images",
    }
    for name, text in words.items():
        if f"accuracy_{name}" in figures:
            count = f"{int(figures[f'images_{name}']):,}"
            yield f"{figures[f'accuracy_{name}']:.1%} {text.format(count)}"


def _described(made: "Finetuned") -> dict[str, Any]:
    recipe = made.recipe
    return {
        "folder": str(made.folder),
        "model": made.model.name,
        "base": recipe.base,
        "strategy": recipe.strategy,
        "classes": list(recipe.classes),
        "training": len(recipe.training),
        "validation": len(recipe.validation),
        "left_out": {why: list(ids) for why, ids in recipe.left_out.items()},
        "epochs": [dict(epoch) for epoch in recipe.epochs],
        "figures": dict(recipe.figures),
    }
