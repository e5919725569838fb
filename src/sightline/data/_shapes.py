"""What the annotation readers share: checked numbers, shapes to regions, errors with a place."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from sightline import _raster
from sightline.records import Annotation, InputError, Region, to_image_id

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = [
    "Size",
    "Units",
    "annotate",
    "box_region",
    "check_units",
    "located",
    "new_image_id",
    "numbers",
    "pixel_size",
    "point_region",
    "polygon_region",
    "records",
    "rle_region",
    "text",
]

Units: TypeAlias = Literal["normalised", "pixels"]
Size: TypeAlias = tuple[int, int]  # width, height

# Boxes may reach outside; one that is a whole image away was given in other units.
_NORMALISED_RANGE = (-1.0, 2.0)


@contextmanager
def located(where: str) -> Iterator[None]:
    """Put `where` in front of the message of any `ValueError` raised inside."""
    try:
        yield
    except ValueError as error:
        raise InputError(f"{where}: {error}") from error


def numbers(value: Any, count: int | None, what: str) -> tuple[float, ...]:
    """Return a list of `count` finite numbers (None: of any length) as floats."""
    fits = isinstance(value, list) and count in (None, len(value))
    if not fits or not all(_is_number(item) for item in value):
        raise InputError(f"{what} must be {count or 'a list of'} finite numbers, got {value!r}")
    return tuple(float(item) for item in value)


def text(value: Any, what: str) -> str:
    """Return `value` when it is text."""
    if not isinstance(value, str):
        raise InputError(f"{what} must be text, got {value!r}")
    return value


def records(content: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """Return the list of objects that `content` holds under `name`."""
    found = content.get(name)
    if not isinstance(found, list):
        raise InputError(f"{name!r} must be a list of objects, got {type(found).__name__}")
    for number, record in enumerate(found):
        if not isinstance(record, dict):
            raise InputError(f"{name}[{number}] must be an object, got {record!r}")
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def pixel_size(record: Mapping[str, Any]) -> Size | None:
    """Return the `width` and `height` of a record, None when it has neither."""
    size = record.get("width"), record.get("height")
    if size == (None, None):
        return None
    for name, side in zip(("width", "height"), size, strict=True):
        if not isinstance(side, int) or isinstance(side, bool) or side < 1:
            raise InputError(f"{name} must be a whole number of pixels >= 1, got {side!r}")
    return size  # type: ignore[return-value]  # the loop has checked both


def check_units(units: Any) -> Units:
    """Return `units` when there is such a unit."""
    if units not in ("normalised", "pixels"):
        raise InputError(f"units must be 'normalised' or 'pixels', got {units!r}")
    return units  # type: ignore[no-any-return]


def new_image_id(name: Any, taken: Mapping[str, Any]) -> str:
    """Return the image id of a file name that no earlier image has."""
    image_id = to_image_id(text(name, "name of the image"))
    if image_id in taken:
        raise InputError(f"image {name!r} appears twice (image ids are made by '/' -> '__')")
    return image_id


def box_region(corners: Sequence[float], units: Units, size: Size | None) -> Region:
    """Return the region of a box given by its corners."""
    x0, y0, x1, y1 = _normalise(corners, units, size)
    if x1 < x0 or y1 < y0:
        raise InputError(f"box must have x0 <= x1 and y0 <= y1, got {list(corners)}")
    return Region(box=(x0, y0, x1, y1))


def polygon_region(polygons: Sequence[Sequence[float]], units: Units, size: Size | None) -> Region:
    """Return the region of polygons, each x, y, x, y, …."""
    parts = [_raster.polygon_points(_normalise(flat, units, size)) for flat in polygons]
    shape = tuple(tuple(part.ravel().tolist()) for part in parts)
    return Region(kind="polygon", box=_raster.polygon_box(parts), mask=shape)


def point_region(point: Sequence[float], radius: float, units: Units, size: Size | None) -> Region:
    """Return the region of a point; its radius is in pixels or a share of the longer side."""
    if size is None:
        raise InputError("a point needs the image's width and height to be drawn as a circle")
    if radius < 0:
        raise InputError(f"radius must be >= 0, got {radius:g}")
    x, y = _normalise(point, units, size)
    pixels = radius if units == "pixels" else radius * max(size)
    rx, ry = pixels / size[0], pixels / size[1]
    return Region(kind="point", box=(x - rx, y - ry, x + rx, y + ry), radius=pixels)


def rle_region(rle: Any, size: Size | None = None) -> Region:
    """Return the region of a run-length encoding; its size must be `size` when that is given."""
    if not isinstance(rle, dict):
        raise InputError(f"RLE must be an object with 'size' and 'counts', got {rle!r}")
    mask = _raster.decode_rle(rle)
    if size is not None and mask.shape != size[::-1]:
        seen = f"{mask.shape[1]} x {mask.shape[0]}"
        raise InputError(f"RLE is {seen} (width x height), the image {size[0]} x {size[1]}")
    box = _raster.mask_box(mask)
    if box is None:
        return Region(kind="mask", box=(0, 0, 0, 0), mask=rle, flags=("empty",))
    return Region(kind="mask", box=box, mask=rle)


def annotate(
    image_id: str, size: Size | None, regions: Sequence[Region], labels: Sequence[str] = ()
) -> Annotation:
    """Return the annotation of an image: regions numbered, clipped, those outside set apart."""
    numbered = [replace(region, index=index) for index, region in enumerate(regions)]
    outside = {region.index for region in numbered if _is_outside(region)}
    width, height = size or (None, None)
    return Annotation(
        image_id=image_id,
        width=width,
        height=height,
        regions=tuple(_clipped(region) for region in numbered if region.index not in outside),
        labels=tuple(labels),
        dropped=tuple(region for region in numbered if region.index in outside),
    )


def _is_outside(region: Region) -> bool:
    if region.kind == "point":
        return not region.to_mask(1, 1).any()
    return "empty" in region.flags or _raster.box_pixels(region.box, 1, 1) is None


def _clipped(region: Region) -> Region:
    """Clip the box to the image; the disc of a point is clipped when it is drawn."""
    x0, y0, x1, y1 = region.box
    box = (max(x0, 0.0), max(y0, 0.0), min(x1, 1.0), min(y1, 1.0))
    if box == region.box:
        return region
    flags = (*region.flags, "clipped")
    return replace(region, flags=flags, box=region.box if region.kind == "point" else box)


def _normalise(flat: Sequence[float], units: Units, size: Size | None) -> list[float]:
    """Return coordinates x, y, x, y, … as shares of the image."""
    if units == "pixels":
        if size is None:
            raise InputError("units 'pixels' need the image's width and height")
        return [value / size[i % 2] for i, value in enumerate(flat)]
    low, high = _NORMALISED_RANGE
    for value in flat:
        if not low <= value <= high:
            raise InputError(
                f"coordinate {value:g} is far outside the image in normalised units, where it runs "
                "from 0 to 1; for pixels say units 'pixels' and give width and height"
            )
    return list(flat)
