"""Sightline's own JSON: one object per image, one per region."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from sightline.core import InputError, Taxonomy
from sightline.data.formats.checks import (
    Size,
    Units,
    as_object,
    check_flags,
    check_score,
    check_units,
    items,
    new_image_id,
    number,
    numbers,
    pixel_size,
    present,
    show,
    text,
    texts,
)
from sightline.data.formats.drafts import AnnotationFile, Draft, Facts
from sightline.data.formats.shapes import (
    Shape,
    box_shape,
    disc_shape,
    point_shape,
    polygon_shape,
    rle_shape,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sightline.core import Annotation, Region
    from sightline.data.problems import Problems

__all__ = ["FORMAT", "is_plain", "read_plain", "read_region", "with_labels"]

FORMAT = "sightline-annotations"
_SHAPES = ("box", "polygon", "polygons", "point", "disc", "rle")


def is_plain(content: Any) -> bool:
    """Return whether parsed JSON says that it is in this format."""
    return isinstance(content, dict) and content.get("format") == FORMAT


def read_plain(
    content: dict[str, Any],
    problems: Problems,
    size_of: Callable[[str], Size | None] | None = None,
) -> AnnotationFile:
    """Return what a parsed file says; where it declares labels, those are all there are.

    `size_of` knows the images with regions in pixels whose size the file leaves out.
    """
    content = present(content)
    if content.get("version") != 1:
        raise InputError(f"version must be 1, got {show(content.get('version'))}")
    units = _units(content)
    taxonomy = Taxonomy()
    with problems.at("labels"):
        taxonomy = _read_labels(content.get("labels", {}))
    annotations: dict[str, Annotation] = {}
    names: dict[str, str] = {}
    splits: dict[str, str] = {}
    for position, record in enumerate(items(content, "images")):
        place = _place(position, record)
        with problems.at(place):
            record = present(as_object(record))
            regions = items({"regions": [], **record}, "regions")
            draft = _read_image(record, names, splits)
            if units == "pixels" and size_of is not None and draft.size is None and regions:
                draft.size = size_of(record["image"])
            _read_regions(regions, draft, units, problems, place)
            annotations[draft.image_id] = draft.finish()
    if not len(taxonomy):
        taxonomy = with_labels(taxonomy, annotations.values())
    return AnnotationFile(annotations, names, splits, taxonomy)


def with_labels(taxonomy: Taxonomy, annotations: Iterable[Annotation]) -> Taxonomy:
    """Return a taxonomy with the labels of all regions; those that are new have no parents."""
    parents = taxonomy.parents
    for annotation in annotations:
        for region in chain(annotation.regions, annotation.dropped):
            if region.label:
                parents.setdefault(region.label, ())
    return Taxonomy(parents) if len(parents) > len(taxonomy) else taxonomy


def _place(position: int, record: Any) -> str:
    if isinstance(record, dict):
        return f"image {show(record.get('image'))}"
    return f"images[{position}]"


def _units(content: dict[str, Any]) -> Units:
    units = check_units(content.get("units", "normalised"))
    if not content.get("exact"):
        return units
    if units == "pixels":
        raise InputError("exact coordinates are normalised, got units 'pixels'")
    return "exact"


def _read_labels(labels: Any) -> Taxonomy:
    pairs = as_object(labels).items()
    return Taxonomy({text(name, "label"): texts(above, "parent") for name, above in pairs})


def _read_image(record: dict[str, Any], names: dict[str, str], splits: dict[str, str]) -> Draft:
    image_id = new_image_id(record.get("image"), names, record.get("id"))
    size, labels = pixel_size(record), texts(record.get("labels", []), "label")
    if split := text(record.get("split", ""), "split"):
        splits[image_id] = split
    names[image_id] = record["image"]
    return Draft(image_id, size, labels)


def _read_regions(
    regions: list[Any], draft: Draft, units: Units, problems: Problems, place: str
) -> None:
    for position, record in enumerate(regions):
        try:
            given = record.get("index") if isinstance(record, dict) else None
            index = draft.number(given)
            found = present(as_object(record))
            draft.add(index, _read_shape(found, units, draft.size), _read_facts(found))
        except ValueError as error:
            if not problems.skip:
                raise InputError(f"region {position}: {error}") from error
            problems.add(f"{place}: region {position}", str(error))


def read_region(record: Any, index: int = 0) -> Region:
    """Return the region that a record with exact coordinates says: what `region_record` gave.

    Raises
    ------
    InputError
        If it has no shape, or more than one, or a value that does not fit.
    """
    found = present(as_object(record))
    draft = Draft("region", None)
    draft.add(index, _read_shape(found, "exact", None), _read_facts(found))
    return (draft.regions + draft.dropped)[0]


def _read_facts(record: dict[str, Any]) -> Facts:
    return Facts(
        label=text(record.get("label", ""), "label"),
        flags=check_flags(record["flags"]) if "flags" in record else (),
        source=text(record.get("source", ""), "source"),
        score=check_score(record.get("score")),
        dropped=bool(record.get("dropped")),
    )


def _read_shape(record: dict[str, Any], units: Units, size: Size | None) -> Shape:
    kinds = [kind for kind in _SHAPES if kind in record]
    match kinds:
        case ["box"]:
            return box_shape(numbers(record["box"], 4, "box"), units, size)
        case ["polygon"]:
            return polygon_shape([_flat(record["polygon"])], units, size)
        case ["polygons"]:
            return polygon_shape(_several(record["polygons"]), units, size)
        case ["point"]:
            radius = number(record.get("radius"), "radius")
            return point_shape(numbers(record["point"], 2, "point"), radius, units, size)
        case ["disc"]:
            return disc_shape(record["disc"])
        case ["rle"]:
            return rle_shape(record["rle"])
    seen = ", ".join(record) if not kinds else ", ".join(kinds)
    raise InputError(f"must have exactly one of {', '.join(_SHAPES)}; got {seen or 'nothing'}")


def _several(polygons: Any) -> list[tuple[float, ...]]:
    if not isinstance(polygons, list) or not polygons:
        raise InputError(f"polygons must be a list of polygons, got {show(polygons)}")
    return [_flat(polygon) for polygon in polygons]


def _flat(polygon: Any) -> tuple[float, ...]:
    if not isinstance(polygon, list):
        raise InputError(f"polygon must be a list of points [x, y], got {show(polygon)}")
    for point in polygon:
        if type(point) is not list or len(point) != 2:
            numbers(point, 2, "point of a polygon")
    return numbers(list(chain.from_iterable(polygon)), None, "polygon")
