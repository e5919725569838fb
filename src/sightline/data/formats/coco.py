"""COCO JSON: boxes, polygons and run-length encoded masks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from sightline.core import InputError, Taxonomy
from sightline.data.formats.checks import (
    Size,
    as_object,
    check_flags,
    check_score,
    items,
    new_image_id,
    numbers,
    pixel_size,
    present,
    real_numbers,
    show,
    text,
    texts,
)
from sightline.data.formats.drafts import AnnotationFile, Draft, Facts
from sightline.data.formats.shapes import (
    Shape,
    box_shape,
    disc_shape,
    polygon_shape,
    polygon_shapes,
    rle_shape,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sightline.data.problems import Problems

__all__ = ["EXTRA", "FLAG_KEYS", "NO_PARENT", "is_coco", "read_coco"]

EXTRA = "sightline"
"""Where a region or an image keeps what COCO has no word for."""
NO_PARENT = ("", "none")
"""What programs write as the supercategory of a category that has none."""
FLAG_KEYS = {"iscrowd": "crowd", "ignore": "ignore", "difficult": "difficult"}

_Id: TypeAlias = int | str
_Drafts: TypeAlias = dict[_Id, Draft | None]  # None: set aside, and its regions with it
_Known = TypeVar("_Known")
_NOTHING: dict[str, Any] = {}


def is_coco(content: Any) -> bool:
    """Return whether parsed JSON has the lists of a COCO file."""
    return isinstance(content, dict) and {"images", "annotations"} <= content.keys()


def read_coco(
    content: dict[str, Any],
    problems: Problems,
    size_of: Callable[[str], Size | None] | None = None,
) -> AnnotationFile:
    """Return what a parsed file says; `size_of` knows the images whose size it leaves out."""
    labels, taxonomy = _read_categories(content, problems)
    reader = _Images(items(content, "images"), size_of)
    for number, record in enumerate(items(content, "images")):
        with problems.at(f"images[{number}]"):
            reader.read(as_object(record))
    images = reader.drafts
    regions = _Regions(images, labels)
    records = items(content, "annotations")
    polygons = _read_polygons(records, images)
    for number, record in enumerate(records):
        try:  # as `problems.at`, which takes longer than reading a box
            regions.read(as_object(record), polygons.get(number))
        except ValueError as error:
            problems.add(_place(number, record), str(error))
    drafts = (draft for draft in images.values() if draft is not None)
    annotations = {draft.image_id: draft.finish() for draft in drafts}
    return AnnotationFile(annotations, reader.names, reader.splits, taxonomy)


def _place(number: int, record: Any) -> str:
    known = f" (id {show(record.get('id'))})" if isinstance(record, dict) else ""
    return f"annotations[{number}]{known}"


# --- categories ----------------------------------------------------------------------------------


def _read_categories(
    content: dict[str, Any], problems: Problems
) -> tuple[dict[_Id, str], Taxonomy]:
    """Return the label of each category, and the labels with those above them."""
    labels: dict[_Id, str] = {}
    parents: dict[str, dict[str, None]] = {}
    for number, record in enumerate(items(content, "categories")):
        with problems.at(f"categories[{number}]"):
            record = present(as_object(record))
            key = _new_id(record, labels)
            label = text(record.get("name"), f"name of category {show(key)}")
            above = _parents(record, label)
            labels[key] = label
            if label:
                parents.setdefault(label, {}).update(dict.fromkeys(above))
    listed = dict(parents)
    for above_it in listed.values():
        for parent in above_it:
            parents.setdefault(parent, {})
    taxonomy = Taxonomy.flat(listed)
    with problems.at("categories"):
        taxonomy = Taxonomy(parents)
    return labels, taxonomy


def _parents(record: dict[str, Any], label: str) -> tuple[str, ...]:
    """Return the labels above one: `parents`, else a supercategory of another name."""
    if "parents" in record:
        return texts(record["parents"], "parent")
    above = text(record.get("supercategory", ""), "supercategory")
    return () if above in (*NO_PARENT, label) else (above,)


# --- images --------------------------------------------------------------------------------------


class _Images:
    """Reads the records of images."""

    def __init__(self, records: list[Any], size_of: Callable[[str], Size | None] | None) -> None:
        self.drafts: _Drafts = {}
        self.names: dict[str, str] = {}
        self.splits: dict[str, str] = {}
        self._size_of = size_of
        self._same: dict[_Id, list[Any]] = {}  # the names of the images of each id
        for record in records:
            if isinstance(record, dict) and type(record.get("id")) in (int, str):
                self._same.setdefault(record["id"], []).append(record.get("file_name"))

    def read(self, record: dict[str, Any]) -> None:
        """Read a record; what refers to one that does not fit is set aside with it."""
        key = _id(record, "id")
        self.drafts[key] = None
        try:
            if len(same := self._same[key]) > 1:
                raise InputError(
                    f"{len(same)} images have this id, {show(same)}: "
                    "their regions cannot be told apart"
                )
            self.drafts[key] = self._draft(present(record))
        except ValueError as error:
            raise InputError(f"image {show(key)}: {error}") from error

    def _draft(self, record: dict[str, Any]) -> Draft:
        name = record.get("file_name")
        given = as_object(record.get(EXTRA, _NOTHING)).get("id")
        image_id = new_image_id(name, self.names, given)
        labels = texts(record.get("labels", []), "label")
        split = text(record.get("split", ""), "split")
        draft = Draft(image_id, self._size(record), labels)
        self.names[image_id] = str(name)
        if split:
            self.splits[image_id] = split
        return draft

    def _size(self, record: dict[str, Any]) -> Size:
        size = pixel_size(record)
        if size is None and self._size_of is not None:
            size = self._size_of(record["file_name"])
        if size is None:
            raise InputError(
                "width and height are missing, and COCO's boxes are in pixels; "
                "without them the image itself must be there"
            )
        return size


# --- regions -------------------------------------------------------------------------------------


class _Regions:
    """Reads the records of regions into the drafts of their images."""

    def __init__(self, images: _Drafts, labels: Mapping[_Id, str]) -> None:
        self._images, self._labels = images, labels
        self._seen: set[_Id] = set()

    def read(self, record: dict[str, Any], polygon: Shape | None) -> None:
        """Read a record, whose shape may be known already."""
        draft = _find(self._images, record, "image_id")
        if draft is None or draft.size is None:
            return
        record = present(record)
        extra = record.get(EXTRA, _NOTHING)
        number = draft.number(extra.get("index") if isinstance(extra, dict) else None)
        extra = as_object(extra)
        if "id" in record:
            self._seen.add(_new_id(record, self._seen))
        label = _find(self._labels, record, "category_id")
        shape = _read_shape(record, draft.size, polygon)
        if "disc" in extra:
            shape = disc_shape(extra["disc"])
        draft.add(number, shape, _read_facts(record, label, extra))


def _read_facts(record: dict[str, Any], label: str, extra: dict[str, Any]) -> Facts:
    source = str(record.get("id", ""))
    score = check_score(record["score"]) if "score" in record else None
    if extra is _NOTHING:
        return Facts(label, _read_flags(record), source, score)
    flags = _read_flags(record, check_flags(extra.get("flags", [])))
    source = text(extra.get("source", source), "source")
    return Facts(label, flags, source, score, bool(extra.get("dropped")))


def _read_flags(record: dict[str, Any], flags: tuple[str, ...] = ()) -> tuple[str, ...]:
    for key, flag in FLAG_KEYS.items():
        if (mark := record.get(key)) and flag not in flags:
            if mark != 1:
                raise InputError(f"{key} must be 0 or 1, got {show(mark)}")
            flags += (flag,)
    return flags


def _read_polygons(records: list[Any], images: _Drafts) -> dict[int, Shape]:
    """Return the shapes of the records that are one polygon each, by their number.

    All at once, since most files hold little else. What does not fit is left out here: it is read
    by itself later, which says what is wrong with it.
    """
    places, flats, sizes = [], [], []
    for number, record in enumerate(records):
        segmentation = record.get("segmentation") if isinstance(record, dict) else None
        if isinstance(segmentation, list) and len(segmentation) == 1:
            key = record.get("image_id")
            draft = images.get(key) if isinstance(key, int | str) else None
            if draft is not None and draft.size is not None:
                places.append(number)
                flats.append(segmentation[0])
                sizes.append(draft.size)
    shapes = polygon_shapes(flats, sizes)
    return {number: shape for number, shape in zip(places, shapes, strict=True) if shape}


def _read_shape(record: dict[str, Any], size: Size, polygon: Shape | None) -> Shape:
    """Return the segmentation, the box when there is none; empty lists are as if left out."""
    box = _read_box(record["bbox"]) if record.get("bbox", []) != [] else None
    if polygon is not None:
        return polygon
    segmentation = record.get("segmentation", [])
    if isinstance(segmentation, dict):
        return rle_shape(segmentation, size)
    if not isinstance(segmentation, list):
        raise InputError(f"segmentation must be polygons or RLE, got {show(segmentation)}")
    if flat := [real_numbers(part, "polygon") for part in segmentation if part != []]:
        return polygon_shape(flat, "pixels", size)
    if box is None:
        raise InputError("has neither a bbox nor a segmentation")
    return box_shape(box, "pixels", size)


def _read_box(value: Any) -> tuple[float, float, float, float]:
    """Return the corners of a box in pixels."""
    x, y, width, height = numbers(value, 4, "bbox")
    if width < 0 or height < 0:
        raise InputError(f"bbox [x, y, width, height] must not have a negative size, got {value}")
    return x, y, x + width, y + height


# --- ids -----------------------------------------------------------------------------------------


def _new_id(record: dict[str, Any], taken: Mapping[_Id, Any] | set[_Id]) -> _Id:
    key = _id(record, "id")
    if key in taken:
        raise InputError(f"id {show(key)} appears twice")
    return key


def _find(known: Mapping[_Id, _Known], record: dict[str, Any], name: str) -> _Known:
    """Return what a record refers to by an id."""
    key = _id(record, name)
    try:
        return known[key]
    except KeyError:
        raise InputError(f"{name} {show(key)} is not in the file") from None


def _id(record: dict[str, Any], name: str) -> _Id:
    """Return an id, number or text; 0 is one like any other."""
    key = record.get(name)
    if type(key) is int:
        return key
    if type(key) is str:
        return text(key, name)
    raise InputError(f"{name} must be a whole number or text, got {show(key)}")
