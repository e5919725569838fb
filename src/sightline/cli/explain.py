"""`sightline explain`: the command, and what it says of the maps that it made."""

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sightline.cli.explain_steps import Options, explain_images
from sightline.cli.option_words import TARGET_HELP, read_option, split_commas
from sightline.cli.options import (
    DeviceOption,
    DoneJsonOption,
    FitOption,
    LayersOption,
    ModelOption,
    ParamOption,
    SizeOption,
)
from sightline.cli.output import SHOWN_NAMES, listed, own_name, progress, show, show_json

if TYPE_CHECKING:
    from sightline.attribution.methods import Maps
    from sightline.cli.explain_steps import Explained

__all__ = ["explain"]


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
        show_json(_described(found, options))
    else:
        show(*_lines(found, options, own_name()))


# --- what is said ---------------------------------------------------------------------------------


def _lines(found: "Explained", options: Options, program: str) -> Iterator[str]:
    """Yield lines about maps that were made: where they are, what was seen, what can follow."""
    if options.out is not None:
        rest = f" (the first {found.drawn} of {len(found.images)} images)"
        yield f"Picture: {options.out}{rest if found.drawn < len(found.images) else ''}"
    if found.written is not None:
        yield f"Maps ({len(found.written.keys)}): {options.maps}"
    said = [f"{image.name} {_share(*pair)}" for image, pair in _predictions(found)]
    yield from listed(f"Predicted by {found.model.name}", said, SHOWN_NAMES)
    if found.skipped:
        yield "\n  ".join([f"Images left out ({len(found.skipped)}):", *found.skipped])
    if found.refused:
        whys = [f"{name}: {why}" for name, why in found.refused.items()]
        yield "\n  ".join([f"Methods left out ({len(whys)}):", *whys])
    times = ", ".join(f"{step} {seconds:.2f}" for step, seconds in found.seconds.items())
    yield f"Seconds: {sum(found.seconds.values()):.1f}, of which {times}"
    yield from _next_lines(found, options, program)


def _share(name: str, share: float) -> str:
    from sightline.attribution.methods.picture import class_words

    return f"{class_words(name)} ({share:.1%})"


def _predictions(found: "Explained") -> Iterator[tuple[Any, tuple[str, float]]]:
    return zip(found.images, found.predicted or [], strict=False)


def _next_lines(found: "Explained", options: Options, program: str) -> Iterator[str]:
    if found.written is not None and found.written.by_image:
        sign = found.maps[0].sign
        command = [program, "score", str(options.maps), "--annotations", "annotations.json"]
        command += ["--out", "scores.csv"] + ["--sign", sign] * (sign != "positive")
        yield f"Next, score the maps against your annotations:\n  {shlex.join(command)}"
    elif found.written is not None:
        yield (
            "To score maps, write one for each image, of the whole image: one method, layer and "
            "head; with --fit letterbox add --resolution pixels, and do not crop."
        )
    elif any(len(one.layers) == 1 and one.layers[0] is not None for one in found.maps):
        yield "Next: --layer all shows every layer, --maps maps.safetensors keeps the numbers."
    elif found.scorable:
        yield "Next: --maps maps.safetensors keeps the numbers, to be scored."
    else:
        yield "Next: --maps maps.safetensors keeps the numbers."


def _described(found: "Explained", options: Options) -> dict[str, Any]:
    """Return what was done, for JSON."""
    images: list[dict[str, Any]] = [
        {"image": image.name, "path": str(image.path), "size": list(image.size), "predicted": None}
        for image in found.images
    ]
    for entry, (name, share) in zip(images, found.predicted, strict=False):
        entry["predicted"] = {"class": name, "probability": share}
    return {
        "model": found.model.name,
        "digest": found.model.digest,
        "fit": found.model.preprocess.fit,
        "images": images,
        "skipped": found.skipped,
        "refused": found.refused,
        "methods": [_describe_maps(one) for one in found.maps],
        "out": None if options.out is None else str(options.out),
        "drawn": found.drawn,
        "maps": None if options.maps is None else str(options.maps),
        "keys": None if found.written is None else list(found.written.keys),
        "can_be_scored": found.written is not None and found.written.by_image,
        "seconds": sum(found.seconds.values()),
        "steps": found.seconds,
    }


def _describe_maps(maps: "Maps") -> dict[str, Any]:
    return {
        "method": maps.method,
        "layers": list(maps.layers),
        "heads": list(maps.heads),
        "sign": maps.sign,
        "targets": list(maps.targets),
        "params": dict(maps.params),
        "grids": list(
            dict.fromkeys("{}x{}".format(*g.grid) for image in maps.geometries for g in image)
        ),
        "seconds": maps.seconds,
    }
