"""Maps of one image on one raster over it, and their scores beside chance and ceiling."""

from __future__ import annotations

from functools import lru_cache
from math import isnan, nan
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sightline.core import InputError, MissingPackageError, UnknownNameError
from sightline.metrics import METRICS, score_maps
from sightline.metrics.spec import Facts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from sightline.attribution.methods import Maps
    from sightline.core import Annotation, Region
    from sightline.core.choices import Sign

    Columns = Mapping[str, Any]  # those of `score_maps`, or like them

__all__ = [
    "ImageMap",
    "figure_of",
    "is_defined",
    "maps_or_why",
    "maps_over",
    "raster_over",
    "score_over",
    "value_at",
]

LARGEST = 1024
"""Longer side of the raster on which maps are scored: the pixels of the image, or so many."""
# Below this the room between chance and ceiling is rounding.
_ROOM = 1e-9


class ImageMap(NamedTuple):
    """One map over an image; NaN where it does not count: not seen, or to be ignored.

    Attributes
    ----------
    name
        Its method; with the layer, where the method has several.
    method, layer
        How it was made.
    values
        (rows, columns), over the whole image.
    sign
        How values are read.
    target
        What it explains; "" where it explains nothing.
    seconds
        That the method took for all its layers.
    """

    name: str
    method: str
    layer: int | None
    values: NDArray[np.float32]
    sign: Sign
    target: str = ""
    seconds: float = 0.0


def raster_over(shape: Sequence[int]) -> tuple[int, int]:
    """Return rows and columns of the raster on which maps of an image are scored.

    Examples
    --------
    >>> raster_over((480, 640)), raster_over((1024, 4096))
    ((480, 640), (256, 1024))
    """
    scale = min(1.0, LARGEST / max(shape[:2]))
    return max(1, round(shape[0] * scale)), max(1, round(shape[1] * scale))


def maps_over(
    maps: Maps, shape: tuple[int, int], annotation: Annotation | None = None
) -> list[ImageMap]:
    """Return the maps of a method on its first image, each over the whole of it.

    Parameters
    ----------
    maps
        From `explain`, on the model's grid, with fused heads.
    shape
        Rows and columns of the raster.
    annotation
        Says which pixels are to be ignored.
    """
    ignored = None if annotation is None else annotation.ignore_mask(*shape)
    found = []
    for layer, values, geometry in zip(
        maps.layers, maps.values[0], maps.geometries[0], strict=True
    ):
        words = [maps.method] + [f"layer {layer}"] * (len(maps.layers) > 1)
        over = geometry.to_image(values[0], *shape, how="bilinear")
        if ignored is not None:
            over = np.where(ignored, np.float32("nan"), over)
        target = maps.targets[0] if maps.targets else ""
        found.append(
            ImageMap(", ".join(words), maps.method, layer, over, maps.sign, target, maps.seconds)
        )
    return found


def maps_or_why(ask: Callable[[], Maps], method: str, refused: dict[str, str]) -> Maps | None:
    """Return the maps of one of all methods; where it refuses the model, note why.

    Examples
    --------
    >>> from sightline import explain
    >>> image, refused = np.zeros((32, 32, 3), np.uint8), {}
    >>> maps_or_why(lambda: explain("demo/vit", image, "deeplift"), "deeplift", refused)
    >>> refused["deeplift"][:32]
    "method 'deeplift' needs ReLU, wh"
    """
    try:
        return ask()
    except UnknownNameError:  # a class or parameter that is wrong for every method
        raise
    except (InputError, MissingPackageError) as error:
        refused[method] = str(error)
        return None


def score_over(
    one: ImageMap, annotation: Annotation, metrics: Sequence[str], *, regions: bool = False
) -> list[dict[str, Any]]:
    """Return the scores of a map: of the annotation as a whole, then of each region.

    Each has value, chance, ceiling and beyond: where the value lies between chance (0) and ceiling
    (1). A score that a signed map does not have is NaN.

    Parameters
    ----------
    one
        The map.
    annotation
        What is annotated on the image.
    metrics
        Names as ``metric[@threshold]``.
    regions
        Whether regions are scored too, by the metrics that regions have.

    Examples
    --------
    >>> from sightline.core import Annotation, Region
    >>> half = Annotation("a", regions=(Region(box=(0, 0, 0.5, 1)),))
    >>> one = ImageMap("left", "left", None, np.array([[1, 0]], np.float32), "positive")
    >>> score_over(one, half, ["coverage"])
    [{'metric': 'coverage', 'value': 1.0, 'chance': 0.5, 'ceiling': 1.0, 'beyond': 1.0}]
    """
    seen = np.isfinite(one.values)
    scores = score_maps(
        np.nan_to_num(one.values),
        annotation.union_mask(*one.values.shape),
        regions=[annotation] if regions and annotation.scored else None,
        sign=one.sign,
        ignore=~seen,
        metrics=[name for name in metrics if is_defined(name, one.sign)],
    )
    found = [figure_of(scores, 0, name) for name in metrics]
    if scores.regions is None:
        return found
    known = {region.index: region for region in annotation.scored}
    regional = [name for name in metrics if METRICS[name.partition("@")[0]].level == "region"]
    for place, number in enumerate(scores.regions.region.tolist()):
        region = known[number]
        about = {"region": region.index, "label": region.label, "box": _corners(region)}
        found += [about | figure_of(scores.regions, place, name) for name in regional]
    return found


def is_defined(name: str, sign: str) -> bool:
    """Say whether maps that are read in a way have a score: signed ones have no energy."""
    spec = METRICS[name.partition("@")[0]]
    return sign != "signed" or spec.category not in ("energy", "complexity")


def _corners(region: Region) -> str:
    return ",".join(f"{edge:.4g}" for edge in region.box)


def figure_of(columns: Columns, place: int, name: str) -> dict[str, Any]:
    """Return a score with what it is to be read against; all NaN where there is no such column.

    Parameters
    ----------
    columns
        From `score_maps`, of maps or of regions.
    place
        Of the map or the region.
    name
        ``metric[@threshold]``.
    """
    base, at, threshold = name.partition("@")
    if name not in columns:
        return {"metric": name} | dict.fromkeys(("value", "chance", "ceiling", "beyond"), np.nan)
    value, area = value_at(columns, name, place), value_at(columns, "annotation_area", place)
    chance = value_at(columns, f"{base}_chance{at}{threshold}", place)
    ceiling = _ceiling(base, area, value_at(columns, f"attention_area{at}{threshold}", place))
    if isnan(value):
        ceiling = np.nan
    room = ceiling - chance
    beyond = (value - chance) / room if abs(room) > _ROOM else np.nan
    return {"metric": name, "value": value, "chance": chance, "ceiling": ceiling, "beyond": beyond}


def value_at(columns: Columns, name: str, place: int) -> float:
    """Return the value of a map or a region in a column; NaN where there is no such column."""
    if name not in columns:
        return nan  # one and the same, by which `_ceiling` finds what it knows
    return float(np.ravel(columns[name])[place])


@lru_cache(1 << 14)
def _ceiling(metric: str, annotated: float, selected: float) -> float:
    """Return the best value possible at its areas, or the better end of the metric's range."""
    spec = METRICS[metric]
    if spec.ceiling is not None:
        return float(spec.ceiling.value(Facts(1, np.float64(annotated), np.float64(selected))))
    ends = {"higher": spec.range[1], "lower": spec.range[0]}
    return float(ends.get(spec.direction, np.nan))
