"""Figures of one image file: `sightline figure all-methods IMAGE`."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sightline.cli.explain_steps import Made, Options, make_maps
from sightline.cli.option_words import read_annotation_option
from sightline.core import Annotation, InputError
from sightline.results.image_maps import ImageMap, maps_over, raster_over, score_over

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    import pandas as pd
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from sightline.cli.output import Move
    from sightline.report import Drawn

__all__ = ["OF_IMAGES", "Asked", "annotation_of", "draw_of_image"]

_USUAL = "coverage"


class Asked(NamedTuple):
    """What is asked about an image.

    Attributes
    ----------
    options
        Of the maps, as those of `sightline explain`.
    annotations
        Annotations, the image's among them, as --annotations says; None where there are none.
    metric
        That is written over each map; the energy inside unless given.
    """

    options: Options
    annotations: str | None = None
    metric: str | None = None


class _View(NamedTuple):
    """An image with its maps, what is annotated on it, and the maps' scores."""

    image: NDArray[np.uint8]
    tiles: list[ImageMap]
    mask: NDArray[np.bool_] | None
    scores: pd.DataFrame
    head: str

    @property
    def notes(self) -> dict[str, str]:
        """The score of each map in words; none where nothing is annotated."""
        from sightline.report.words import score_words

        known = self.scores if "value" in self.scores else self.scores[:0]
        return {row["name"]: score_words(row) for row in known.to_dict("records")}


def draw_of_image(name: str, asked: Asked, move: Move) -> Drawn:
    """Draw a figure of an image file.

    Parameters
    ----------
    name
        Of the figure: one of `OF_IMAGES`.
    asked
        What is asked about the image.
    move
        Told how much is done.

    Raises
    ------
    InputError
        If the figure is not one of an image or of the metric, or needs an annotation that there
        is not.
    """
    from sightline.report import Drawn

    if name not in OF_IMAGES:
        of = ", ".join(OF_IMAGES)
        raise InputError(f"figure {name!r} is not drawn from an image; these are: {of}")
    if name == "energy" and asked.metric not in (None, _USUAL):
        raise InputError(f"--metric {asked.metric}: figure 'energy' shows {_USUAL} alone")
    path = asked.options.images[0]
    annotation = annotation_of(path, asked.annotations)
    if annotation is None and name in ("pointing-game", "energy"):
        raise InputError(f"figure {name!r} needs what is annotated on {path}: give --annotations")
    if annotation is None and asked.metric is not None:
        raise InputError(f"--metric {asked.metric} needs what is annotated: give --annotations")
    made = make_maps(asked.options, move)
    move(1, 1, "Drawing")
    view = _view(made, annotation, asked.metric or _USUAL)
    return Drawn(OF_IMAGES[name](view), view.scores, view.head)


def annotation_of(image: Path, annotations: str | None) -> Annotation | None:
    """Return what --annotations says of an image, found by its name."""
    from sightline.core import to_image_id

    if annotations is None:
        return None
    known = read_annotation_option(annotations, "--annotations")
    name, stem = to_image_id(image.name), to_image_id(image.stem)
    if name in known:
        return known[name]
    fitting = [one for one in known if one == stem or one.rpartition(".")[0] == stem]
    if len(fitting) != 1:
        many = f"several fit: {', '.join(fitting[:3])}" if fitting else f"it has {_first(known)}"
        raise InputError(f"--annotations {annotations}: has no image {image.name}; {many}")
    return known[fitting[0]]


def _first(names: Iterable[str]) -> str:
    first = list(islice(names, 4))
    return ", ".join(first[:3]) + ", …" * (len(first) > 3) if first else "none"


# --- maps and scores -----------------------------------------------------------------------------


def _view(made: Made, annotation: Annotation | None, metric: str) -> _View:
    """Bring maps to one raster over the image, and score them where something is annotated."""
    pixels = np.asarray(made.samples[0].image())
    shape = raster_over(pixels.shape)
    tiles = [tile for maps in made.maps for tile in maps_over(maps, shape, annotation)]
    mask = None if annotation is None else annotation.union_mask(*shape)
    scores = _scores(tiles, annotation, metric)
    scores.insert(0, "model", made.model.name)
    scores.insert(0, "image", made.images[0].name)
    return _View(pixels, tiles, mask, scores, _head(made))


def _scores(tiles: list[ImageMap], annotation: Annotation | None, metric: str) -> pd.DataFrame:
    """Return a table of the maps; with their scores where something is annotated."""
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for tile in tiles:
        row: dict[str, Any] = {"name": tile.name, "layer": tile.layer, "sign": tile.sign}
        if annotation is not None:
            (found,) = score_over(tile, annotation, [metric])
            row |= {name: found[name] for name in ("metric", "value", "chance")}
        rows.append(row)
    return pd.DataFrame(rows).astype({"layer": "Int64"})


def _head(made: Made) -> str:
    """Return which image and model these are, and what it takes the image for."""
    from sightline.attribution.methods.picture import class_words

    words = [made.images[0].name, made.model.name]
    words += [f"predicted {class_words(name)} ({share:.0%})" for name, share in made.predicted]
    targets = {name for maps in made.maps for name in maps.targets}
    told = {name for name, _ in made.predicted}
    words += [f"explained: {class_words(name)}" for name in sorted(targets - told)]
    words += [f"left out: {', '.join(made.refused)}"] * bool(made.refused)
    return " · ".join(words)


# --- figures -------------------------------------------------------------------------------------


def _all_methods(view: _View) -> Figure:
    from sightline.figures import visualize_all_methods

    return visualize_all_methods(
        view.image,
        {tile.name: tile.values for tile in view.tiles},
        view.mask,
        signs={tile.name: tile.sign for tile in view.tiles},
        notes=view.notes,
        head=view.head,
    )


def _only(view: _View) -> ImageMap:
    if len(view.tiles) > 1:
        names = ", ".join(tile.name for tile in view.tiles[:4])
        raise InputError(f"this figure shows one map: give one --method and --layer; got {names}")
    return view.tiles[0]


def _attribution(view: _View) -> Figure:
    from sightline.figures import visualize_attribution_enhanced

    tile = _only(view)
    return visualize_attribution_enhanced(
        view.image, tile.values, view.mask, name=tile.name, sign=tile.sign
    )


def _layer_maps(view: _View) -> Figure:
    from sightline.figures import draw_layer_maps

    methods = list(dict.fromkeys(tile.name.partition(",")[0] for tile in view.tiles))
    if len(methods) > 1:
        raise InputError(f"layer-maps shows one method; got {', '.join(methods)}")
    notes = view.notes
    return draw_layer_maps(
        view.image,
        {tile.layer: tile.values for tile in view.tiles},
        view.mask,
        name=methods[0],
        sign=view.tiles[0].sign,
        notes={tile.layer: notes[tile.name] for tile in view.tiles if tile.name in notes},
    )


def _pointing(view: _View) -> Figure:
    from sightline.figures import create_pointing_game_visualization

    tile = _only(view)
    return create_pointing_game_visualization(
        view.image, tile.values, view.mask, name=tile.name, sign=tile.sign
    )


def _energy(view: _View) -> Figure:
    from sightline.figures import create_ebpg_visualization

    tile = view.tiles[0]
    scores = view.scores.assign(n=1) if len(view.tiles) > 1 else None
    return create_ebpg_visualization(
        view.image, tile.values, view.mask, name=tile.name, sign=tile.sign, scores=scores
    )


OF_IMAGES: dict[str, Callable[[_View], Figure]] = {
    "all-methods": _all_methods,
    "attribution": _attribution,
    "layer-maps": _layer_maps,
    "pointing-game": _pointing,
    "energy": _energy,
}
"""Figures that can be drawn from an image file, by name."""
