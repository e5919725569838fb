"""The command that shows where an image looks, to a model, like a region of it."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sightline.cli.explain_steps import (
    Options,
    Picked,
    check_kept,
    check_outputs,
    load_fitted,
    naming,
)
from sightline.cli.options import (
    ComparedLayerOption,
    DeviceOption,
    DoneJsonOption,
    FitOption,
    ModelOption,
    SizeOption,
)
from sightline.cli.output import own_name, progress, show, show_json
from sightline.core import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sightline.attribution.methods import Maps

__all__ = ["similarity"]


def similarity(
    image: Annotated[Path, typer.Argument(help="Image with the region.")],
    box: Annotated[
        str,
        typer.Option(metavar="x0,y0,x1,y1", help="The region: its corners in pixels of the image."),
    ],
    model: ModelOption = "demo/vit-dino",
    layer: ComparedLayerOption = None,
    onto: Annotated[
        Path | None,
        typer.Option(help="Another image, whose patches are compared with the region."),
    ] = None,
    fit: FitOption = None,
    size: SizeOption = None,
    device: DeviceOption = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Picture to write: .png or .jpg; similarity.png unless this or --maps is given.",
        ),
    ] = None,
    maps: Annotated[
        Path | None,
        typer.Option(help="File for the map: .safetensors (with how it was made) or .npz (bare)."),
    ] = None,
    as_json: DoneJsonOption = False,
) -> None:
    """Show where an image looks like a region of it, to a model.

    Each patch is compared with the mean feature of the region: 1 is alike, 0 has nothing in common.
    """
    out = Path("similarity.png") if out is None and maps is None else out
    options = Options([image], model, out=out, maps=maps)
    corners = _corners(box)
    with progress("Loading") as move:
        images = [_picked(path) for path in (image, *([onto] if onto is not None else []))]
        check_outputs(options)
        check_kept(options, images)
        network = load_fitted(model, fit, size, device)
        move(0, 1, "Comparing")
        found = _compare(network, image, corners, layer, onto)
        _write(options, found, image, corners, onto)
    told = _told(found, corners, onto)
    if as_json:
        show_json({**told, "image": str(image), "onto": onto and str(onto),
                   "out": out and str(out), "maps": maps and str(maps)})  # fmt: skip
        return
    show(*_lines(found, told, options, onto))


def _corners(text: str) -> list[float]:
    wanted = "--box must be four numbers x0,y0,x1,y1 in pixels of the image"
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError as error:
        raise InputError(f"{wanted}, got {text!r}") from error
    if len(numbers) != 4:
        raise InputError(f"{wanted}, got {text!r}")
    return numbers


def _picked(path: Path) -> Picked:
    from sightline.data.images import image_size

    return Picked(path.name, path, image_size(path))


def _compare(
    model: Any, image: Path, box: list[float], layer: int | None, onto: Path | None
) -> "Maps":
    from sightline.attribution.methods.similar import as_region, similarity
    from sightline.models.preprocess import as_image

    pixels = as_image(image)
    shown = ",".join(f"{corner:g}" for corner in box)
    with naming(f"--box {shown}"):
        as_region(box, pixels.shape[1], pixels.shape[0])
    if layer is not None:
        with naming(f"--layer {layer}"):
            model.layer_indices(layer)
    with naming(f"--box {shown}"):
        return similarity(model, pixels, box, layer=layer, other=onto)


def _write(
    options: Options, found: "Maps", image: Path, box: list[float], onto: Path | None
) -> None:
    """Write the picture and the map, as the options say."""
    from sightline.attribution.methods import write_maps
    from sightline.attribution.methods.similar_picture import draw_similarity
    from sightline.data.pictures import write_picture

    if options.out is not None:
        fit = "input {} x {}".format(*found.geometries[0][0].size)
        write_picture(draw_similarity(found, image, box, other=onto, fit=fit), options.out)
    if options.maps is not None:
        write_maps(found, [(onto or image).name], options.maps)


def _told(found: "Maps", box: list[float], onto: Path | None) -> dict[str, Any]:
    """Return what was found, as JSON can hold it."""
    values, way = found.of(), found.geometries[0][0]
    seen = values[way.content_mask()]
    told = {
        "model": found.model,
        "layer": found.layers[0],
        "box": box,
        "grid": list(way.grid),
        "lowest": float(seen.min()),
        "highest": float(seen.max()),
        "mean": float(seen.mean()),
    }
    if onto is None:
        from sightline.attribution.methods.similar import as_region

        shares = way.covered_shares(as_region(box, *way.source))
        told["inside"] = float((values * shares).sum() / shares.sum())
    return told


def _lines(
    found: "Maps", told: dict[str, Any], options: Options, onto: Path | None
) -> "Iterator[str]":
    image, layer = options.images[0], told["layer"]
    if options.out is not None:
        yield f"Picture: {options.out}"
    if options.maps is not None:
        yield f"Map: {options.maps}"
    of = "the last features" if layer is None else f"layer {layer}"
    inside = f"; {told['inside']:.2f} inside the box" if "inside" in told else ""
    yield (
        f"Similarity by {of} of {found.model}: from {told['lowest']:.2f} to {told['highest']:.2f}, "
        f"{told['mean']:.2f} on average{inside}"
    )
    corners = ",".join(f"{corner:g}" for corner in told["box"])
    command = [own_name(), "similarity", str(image), "--model", found.model, "--box", corners]
    if onto is None:
        yield f"Next, look for it in another image:\n  {shlex.join([*command, '--onto'])} OTHER.png"
    elif layer is None:
        yield "Next: --layer 0, 1, … compares the output of a layer; early ones see small things."
