"""Annotations as CSV: one box per row."""

from __future__ import annotations

import csv
from collections import Counter
from io import StringIO
from typing import TYPE_CHECKING, Any, NamedTuple

from sightline.core import InputError, Taxonomy, to_image_id
from sightline.data.formats.checks import (
    check_flags,
    check_score,
    check_units,
    numbers,
    pixel_size,
    show,
)
from sightline.data.formats.drafts import AnnotationFile, Draft, Facts
from sightline.data.formats.lines import finite
from sightline.data.formats.plain import with_labels
from sightline.data.formats.shapes import box_shape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sightline.data.formats.checks import Size
    from sightline.data.problems import Problems

__all__ = ["COLUMNS", "OPTIONAL", "read_table"]

COLUMNS = ("image", "label", "x0", "y0", "x1", "y1")
OPTIONAL = ("width", "height", "units", "split", "labels", "score", "flags")


class _Image:
    """What the rows of an image say about it; any one of them may."""

    def __init__(self, image_id: str, name: str) -> None:
        self.draft = Draft(image_id, None)
        self.facts: dict[str, Any] = {"name": name}

    def tell(self, **facts: Any) -> None:
        """Note facts, which must be those that another row has told."""
        for what, seen in facts.items():
            first = self.facts.setdefault(what, seen) if seen else seen
            if first != seen:
                raise InputError(
                    f"{what} of this image was {show(first)} before, here it is {show(seen)}"
                )


class _Box(NamedTuple):
    line: int
    number: int
    corners: tuple[float, ...]
    facts: Facts


def read_table(
    content: str, problems: Problems, size_of: Callable[[str], Size | None] | None = None
) -> AnnotationFile:
    """Return what a file's text says; a row without corners is an image without boxes.

    `size_of` knows the images with boxes in pixels whose size the file leaves out.
    """
    images: dict[str, _Image] = {}
    boxes: list[tuple[_Image, _Box]] = []
    columns, rows = _rows(content)
    for line, cells in rows:
        with problems.at(f"line {line}"):
            row = _row(columns, cells)
            image = _image(row["image"], images)
            if (box := _read_row(row, line, image)) is not None:
                boxes.append((image, box))
    for image, box in boxes:  # when all is known about their images
        with problems.at(f"line {box.line}"):
            units = image.facts.get("units", "normalised")
            if units == "pixels" and size_of is not None and "size" not in image.facts:
                image.facts["size"] = size_of(image.facts["name"])
            size = image.facts.get("size")
            image.draft.add(box.number, box_shape(box.corners, units, size), box.facts)
    return _finish(images)


def _finish(images: dict[str, _Image]) -> AnnotationFile:
    for image in images.values():
        image.draft.size = image.facts.get("size")
        image.draft.labels = image.facts.get("labels", ())
    annotations = {image_id: image.draft.finish() for image_id, image in images.items()}
    facts = {image_id: image.facts for image_id, image in images.items()}
    return AnnotationFile(
        annotations,
        {image_id: known["name"] for image_id, known in facts.items()},
        {image_id: known["split"] for image_id, known in facts.items() if "split" in known},
        with_labels(Taxonomy(), annotations.values()),
    )


# --- rows ----------------------------------------------------------------------------------------


def _image(name: str, images: dict[str, _Image]) -> _Image:
    image_id = to_image_id(name)
    image = images.setdefault(image_id, _Image(image_id, name))
    image.tell(name=name)
    return image


def _read_row(row: dict[str, str], line: int, image: _Image) -> _Box | None:
    """Return the box of a row, and note what it says about the image."""
    cells = [row[name] for name in COLUMNS[2:]]
    number = image.draft.number() if any(cells) else None
    image.tell(
        size=pixel_size({name: _number(row.get(name, "")) for name in ("width", "height")}),
        units=check_units(row["units"]) if row.get("units") else None,
        split=row.get("split"),
        labels=tuple(label for cell in row.get("labels", "").split(";") if (label := cell.strip())),
    )
    if number is None:
        return None
    corners = numbers([_number(cell) for cell in cells], 4, ",".join(COLUMNS[2:]))
    flags = check_flags(row.get("flags", "").split())
    facts = Facts(row["label"], flags, score=check_score(_number(row.get("score", ""))))
    return _Box(line, number, corners, facts)


def _number(cell: str) -> float | str | None:
    """Return a cell as a number, None when it is empty; one that is none as it is, to be shown."""
    try:
        return finite(cell, "cell") if cell else None
    except InputError:
        return cell


# --- lines ---------------------------------------------------------------------------------------


def _rows(content: str) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    """Return the names of the columns, and the lines that are not empty with their numbers."""
    reader = csv.reader(StringIO(content, newline=""), strict=True)
    lines = _lines(reader)
    _, header = next(lines, (1, []))
    columns = [name.strip() for name in header]
    wanted = f"line 1 must name the columns {','.join(COLUMNS)}, separated by ','"
    for mark in ";\t|":
        if len(columns) == 1 and mark in columns[0]:
            raise InputError(f"{wanted}; it is separated by {mark!r}")
    if missing := [name for name in COLUMNS if name not in columns]:
        seen = show(",".join(columns))
        raise InputError(f"{wanted}; {', '.join(missing)} not found in {seen}")
    counts = Counter(columns)
    if doubled := [name for name in counts if name and counts[name] > 1]:
        raise InputError(f"line 1 names the column {show(doubled[0])} twice")
    return columns, lines


def _lines(reader: Any) -> Iterator[tuple[int, list[str]]]:
    try:
        for cells in reader:
            if any(map(str.strip, cells)):
                yield reader.line_num, cells
    except csv.Error as error:
        raise InputError(f"line {reader.line_num} is not CSV: {error}") from error


def _row(columns: list[str], cells: list[str]) -> dict[str, str]:
    if len(cells) != len(columns):
        raise InputError(f"{len(columns)} cells expected, got {len(cells)}")
    return dict(zip(columns, map(str.strip, cells), strict=True))
