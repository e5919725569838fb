"""COCO JSON: boxes, polygons and run-length encoded masks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from sightline.data._shapes import (
    Size,
    annotate,
    box_region,
    located,
    new_image_id,
    numbers,
    pixel_size,
    polygon_region,
    records,
    rle_region,
    text,
)
from sightline.records import InputError

if TYPE_CHECKING:
    from sightline.records import Annotation, Region

__all__ = ["is_coco", "read_coco"]

_Id: TypeAlias = int | str


def is_coco(content: Any) -> bool:
    """Return whether parsed JSON has the lists of a COCO file."""
    return isinstance(content, dict) and {"images", "annotations"} <= content.keys()


def read_coco(content: dict[str, Any]) -> dict[str, Annotation]:
    """Return the annotations of a parsed file."""
    labels = {
        key: text(record.get("name"), f"name of category {key!r}")
        for key, record in _by_id(content, "categories").items()
    }
    images = _by_id(content, "images")
    sizes = {key: _size(key, record) for key, record in images.items()}
    regions: dict[_Id, list[Region]] = {key: [] for key in images}
    for number, record in enumerate(records(content, "annotations")):
        with located(f"annotations[{number}] (id {record.get('id')!r})"):
            image = _id(record, "image_id", images)
            label = labels[_id(record, "category_id", labels)]
            regions[image].append(_read_region(record, label, sizes[image]))
    annotations: dict[str, Annotation] = {}
    for key, record in images.items():
        with located(f"image {key!r}"):
            image_id = new_image_id(record.get("file_name"), annotations)
            annotations[image_id] = annotate(image_id, sizes[key], regions[key])
    return annotations


def _read_region(record: dict[str, Any], label: str, size: Size) -> Region:
    region = _read_shape(record, size)
    crowd = ("crowd",) if record.get("iscrowd") else ()
    source = str(record.get("id", ""))
    return replace(region, label=label, flags=crowd + region.flags, source=source)


def _read_shape(record: dict[str, Any], size: Size) -> Region:
    """Return the segmentation as a region, the box when there is none."""
    box = _read_box(record["bbox"], size) if "bbox" in record else None
    match record.get("segmentation"):
        case dict() as rle:
            return rle_region(rle, size)
        case [*polygons] if polygons:
            flat = [numbers(polygon, None, "polygon") for polygon in polygons]
            return polygon_region(flat, "pixels", size)
        case None | []:
            if box is not None:
                return box
            raise InputError("has neither a bbox nor a segmentation")
        case other:
            raise InputError(f"segmentation must be polygons or RLE, got {other!r}")


def _read_box(value: Any, size: Size) -> Region:
    x, y, width, height = numbers(value, 4, "bbox")
    if width < 0 or height < 0:
        raise InputError(f"bbox [x, y, width, height] must not have a negative size, got {value}")
    return box_region((x, y, x + width, y + height), "pixels", size)


def _size(key: _Id, record: dict[str, Any]) -> Size:
    with located(f"image {key!r}"):
        size = pixel_size(record)
        if size is None:
            raise InputError("width and height are missing; COCO's boxes are in pixels")
        return size


def _by_id(content: dict[str, Any], name: str) -> dict[_Id, dict[str, Any]]:
    """Return the records of a list by their id."""
    found: dict[_Id, dict[str, Any]] = {}
    for number, record in enumerate(records(content, name)):
        with located(f"{name}[{number}]"):
            key = _id(record, "id")
            if key in found:
                raise InputError(f"id {key!r} appears twice")
            found[key] = record
    return found


def _id(record: dict[str, Any], name: str, known: dict[_Id, Any] | None = None) -> _Id:
    """Return an id, number or text; 0 is one like any other."""
    key = record.get(name)
    if not isinstance(key, int | str):
        raise InputError(f"{name} must be a whole number or text, got {key!r}")
    if known is not None and key not in known:
        raise InputError(f"{name} {key!r} is not in the file")
    return key
