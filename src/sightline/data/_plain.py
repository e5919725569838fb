"""Sightline's own JSON: one object per image, one per region."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sightline.data._shapes import (
    Size,
    Units,
    annotate,
    box_region,
    check_units,
    located,
    new_image_id,
    numbers,
    pixel_size,
    point_region,
    polygon_region,
    records,
    rle_region,
    text,
)
from sightline.records import InputError

if TYPE_CHECKING:
    from sightline.records import Annotation, Region

__all__ = ["FORMAT", "is_plain", "read_plain"]

FORMAT = "sightline-annotations"


def is_plain(content: Any) -> bool:
    """Return whether parsed JSON says that it is in this format."""
    return isinstance(content, dict) and content.get("format") == FORMAT


def read_plain(content: dict[str, Any]) -> dict[str, Annotation]:
    """Return the annotations of a parsed file."""
    if content.get("version") != 1:
        raise InputError(f"version must be 1, got {content.get('version')!r}")
    units = check_units(content.get("units", "normalised"))
    annotations: dict[str, Annotation] = {}
    for record in records(content, "images"):
        name = record.get("image")
        with located(f"image {name!r}"):
            image_id = new_image_id(name, annotations)
            annotations[image_id] = _read_image(image_id, record, units)
    return annotations


def _read_image(image_id: str, record: dict[str, Any], units: Units) -> Annotation:
    size, labels = pixel_size(record), record.get("labels", [])
    if not isinstance(labels, list):
        raise InputError(f"labels must be a list of texts, got {labels!r}")
    regions = []
    for number, region in enumerate(records({"regions": [], **record}, "regions")):
        with located(f"region {number}"):
            shape = _read_shape(region, units, size)
            regions.append(replace(shape, label=text(region.get("label", ""), "label")))
    return annotate(image_id, size, regions, [text(label, "label") for label in labels])


def _read_shape(record: dict[str, Any], units: Units, size: Size | None) -> Region:
    kinds = [kind for kind in ("box", "polygon", "point", "rle") if kind in record]
    match kinds:
        case ["box"]:
            return box_region(numbers(record["box"], 4, "box"), units, size)
        case ["polygon"]:
            return polygon_region([_flat(record["polygon"])], units, size)
        case ["point"]:
            (radius,) = numbers([record.get("radius")], 1, "radius")
            return point_region(numbers(record["point"], 2, "point"), radius, units, size)
        case ["rle"]:
            return rle_region(record["rle"])
    seen = ", ".join(record) if not kinds else ", ".join(kinds)
    raise InputError(f"must have exactly one of box, polygon, point, rle; got {seen or 'nothing'}")


def _flat(polygon: Any) -> list[float]:
    if not isinstance(polygon, list):
        raise InputError(f"polygon must be a list of points [x, y], got {polygon!r}")
    return [value for point in polygon for value in numbers(point, 2, "point of a polygon")]
