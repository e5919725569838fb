"""Shapes as files give them, in normalised coordinates."""

from __future__ import annotations

from itertools import chain
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from sightline.core import InputError
from sightline.core import raster as _raster
from sightline.core.run_lengths import rle_runs, runs_box
from sightline.data.formats.checks import are_finite, as_object, located, number, numbers, show

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sightline.core.raster import Mask
    from sightline.data.formats.checks import Size, Units

__all__ = [
    "Box",
    "Shape",
    "box_shape",
    "disc_shape",
    "encode_rle",
    "point_shape",
    "polygon_shape",
    "polygon_shapes",
    "rle_shape",
]

Box: TypeAlias = tuple[float, float, float, float]

# Boxes may reach outside; in files whose units anybody may choose, one that is a whole image away
# was given in other units. "exact" are units without this guard.
_NORMALISED_RANGE = (-1.0, 2.0)
_LONG = 1200  # numbers of a polygon; more of them may be an outline that is too long to draw
_REAL = frozenset((float,))  # whole numbers may be beyond every float


class Shape(NamedTuple):
    """The geometry of a region; see `Region`."""

    kind: str
    box: Box
    mask: Mask | Mapping[str, Any] | tuple[tuple[float, ...], ...] | None = None
    radius: float = 0.0
    flags: tuple[str, ...] = ()


def box_shape(corners: Sequence[float], units: Units, size: Size | None) -> Shape:
    """Return a box given by its corners."""
    x0, y0, x1, y1 = _normalise(corners, units, size)
    if x1 < x0 or y1 < y0:
        raise InputError(f"box must have x0 <= x1 and y0 <= y1, got {list(corners)}")
    return Shape("box", (x0, y0, x1, y1))


def polygon_shape(polygons: Sequence[Sequence[float]], units: Units, size: Size | None) -> Shape:
    """Return polygons, each x, y, x, y, …."""
    parts = tuple([tuple(_normalise(flat, units, size)) for flat in polygons])
    if any(len(part) < 6 or len(part) % 2 for part in parts):
        _judge(parts)
    flat = parts[0] if len(parts) == 1 else tuple(chain.from_iterable(parts))
    xs, ys = flat[::2], flat[1::2]
    box = min(xs), min(ys), max(xs), max(ys)
    low, high = _NORMALISED_RANGE
    near = low <= box[0] and low <= box[1] and box[2] <= high and box[3] <= high
    if not near or len(flat) > _LONG or not isfinite(sum(flat)):
        _judge(parts)
    return Shape("polygon", box, parts)


def polygon_shapes(flats: Sequence[Any], sizes: Sequence[Size]) -> list[Shape | None]:
    """Return many polygons of one part, in pixels, as `polygon_shape` makes them one by one.

    None stands where that needs a closer look, and perhaps an error.
    """
    shapes: list[Shape | None] = [None] * len(flats)
    whole = [i for i, flat in enumerate(flats) if _may_be_polygon(flat)]
    if not whole:
        return shapes
    counts = np.array([len(flats[i]) for i in whole]) // 2
    starts = counts.cumsum() - counts
    numbers = chain.from_iterable(flats[i] for i in whole)
    points = np.fromiter(numbers, np.float64, 2 * int(counts.sum())).reshape(-1, 2)
    points /= np.repeat(np.array([sizes[i] for i in whole]), counts, axis=0)
    low, high = np.minimum.reduceat(points, starts), np.maximum.reduceat(points, starts)
    near: Any = ((low >= _NORMALISED_RANGE[0]) & (high <= _NORMALISED_RANGE[1])).all(axis=1)
    values, boxes = points.ravel().tolist(), np.concatenate([low, high], axis=1).tolist()
    ends = (2 * (starts + counts)).tolist()
    start = 0
    for i, box, end, good in zip(whole, boxes, ends, near.tolist(), strict=True):
        if good:
            shapes[i] = Shape("polygon", tuple(box), (tuple(values[start:end]),))
        start = end
    return shapes


def _may_be_polygon(flat: Any) -> bool:
    if not isinstance(flat, list) or not 6 <= len(flat) <= _LONG or len(flat) % 2:
        return False
    return _REAL.issuperset(map(type, flat)) or are_finite(flat)


def _judge(parts: Iterable[Sequence[float]]) -> None:
    """Raise unless the rasteriser can draw these polygons; most need no such close look."""
    for part in parts:
        _raster.polygon_points(part)


def point_shape(point: Sequence[float], radius: float, units: Units, size: Size | None) -> Shape:
    """Return a point's disc; its radius is in pixels or a share of the longer side."""
    if size is None:
        raise InputError("a point needs the image's width and height to be drawn as a circle")
    if radius < 0:
        raise InputError(f"radius must be >= 0, got {radius:g}")
    x, y = _normalise(point, units, size)
    pixels = radius if units == "pixels" else radius * max(size)
    rx, ry = pixels / size[0], pixels / size[1]
    return Shape("point", (x - rx, y - ry, x + rx, y + ry), radius=pixels)


def disc_shape(disc: Any) -> Shape:
    """Return a point by the normalised box around its disc and its radius in pixels."""
    with located("disc"):
        found = as_object(disc)
        radius = number(found.get("radius"), "radius")
        shape = box_shape(numbers(found.get("box"), 4, "box"), "exact", None)
    return shape._replace(kind="point", radius=radius)


def rle_shape(rle: Any, size: Size | None = None) -> Shape:
    """Return a run-length encoded mask; its size must be `size` when that is given.

    The runs are checked and give the box; the mask is not drawn.
    """
    if not isinstance(rle, dict):
        raise InputError(f"RLE must be an object with 'size' and 'counts', got {show(rle)}")
    height, width, runs = rle_runs(rle)
    if size is not None and (width, height) != size:
        raise InputError(
            f"RLE is {width} x {height} (width x height), the image {size[0]} x {size[1]}"
        )
    box = runs_box(runs, height)
    if box is None:
        return Shape("mask", (0.0, 0.0, 0.0, 0.0), rle, flags=("empty",))
    x0, y0, x1, y1 = box
    return Shape("mask", (x0 / width, y0 / height, x1 / width, y1 / height), rle)


def encode_rle(mask: Mask) -> dict[str, Any]:
    """Return a mask as COCO's run-length encoding: `size` and `counts` as text."""
    from pycocotools import mask as coco

    rle = coco.encode(np.asfortranarray(mask, np.uint8))
    return {"size": [int(side) for side in rle["size"]], "counts": rle["counts"].decode("ascii")}


def _normalise(flat: Sequence[float], units: Units, size: Size | None) -> list[float]:
    """Return coordinates x, y, x, y, … as shares of the image."""
    if units == "exact":
        return list(flat)
    if units == "pixels":
        if size is None:
            raise InputError("units 'pixels' need the image's width and height")
        width, height = size
        shares = list(flat)
        try:
            shares[::2] = [x / width for x in flat[::2]]
            shares[1::2] = [y / height for y in flat[1::2]]
        except OverflowError as error:
            raise InputError("coordinate must be a finite number, got one beyond all") from error
        return shares
    low, high = _NORMALISED_RANGE
    for value in flat:
        if not low <= value <= high:
            raise InputError(
                f"coordinate {value:g} is far outside the image in normalised units, where it runs "
                "from 0 to 1; for pixels give units 'pixels', and width and height where the image "
                "is not at hand (columns of a CSV file)"
            )
    return list(flat)
