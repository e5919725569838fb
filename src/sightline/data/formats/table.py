"""Annotations as CSV: one box per row."""

from __future__ import annotations

import csv
from io import StringIO
from typing import TYPE_CHECKING, Any

from sightline.data.formats.checks import check_units, numbers, pixel_size
from sightline.data.formats.drafts import AnnotationFile, Draft, Facts
from sightline.data.formats.plain import with_labels
from sightline.data.formats.shapes import box_shape
from sightline.records import InputError, Taxonomy, to_image_id

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sightline.data.problems import Problems

__all__ = ["COLUMNS", "read_table"]

COLUMNS = ("image", "label", "x0", "y0", "x1", "y1")


def read_table(content: str, problems: Problems) -> AnnotationFile:
    """Return what a file's text says; a row without corners is an image without boxes."""
    names: dict[str, str] = {}
    drafts: dict[str, Draft] = {}
    columns, rows = _rows(content)
    for line, cells in rows:
        with problems.at(f"line {line}"):
            row = _row(columns, cells)
            image_id = to_image_id(row["image"])
            _check_same("image name", names.setdefault(image_id, row["image"]), row["image"])
            _read_row(row, drafts.setdefault(image_id, Draft(image_id, None)))
    annotations = {image_id: draft.finish() for image_id, draft in drafts.items()}
    return AnnotationFile(annotations, names, {}, with_labels(Taxonomy(), annotations.values()))


def _read_row(row: dict[str, str], draft: Draft) -> None:
    cells = [row[name] for name in COLUMNS[2:]]
    number = draft.number() if any(cells) else None
    size = pixel_size({name: _whole(row.get(name, "")) for name in ("width", "height")})
    if size is not None:
        _check_same("width, height", draft.size or size, size)
        draft.size = size
    if number is not None:
        corners = numbers([_number(cell) for cell in cells], 4, ",".join(COLUMNS[2:]))
        shape = box_shape(corners, check_units(row.get("units") or "normalised"), size)
        draft.add(number, shape, Facts(row["label"]))


def _rows(content: str) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    """Return the names of the columns, and the lines that are not empty with their numbers."""
    reader = csv.reader(StringIO(content, newline=""), strict=True)
    lines = _lines(reader)
    _, header = next(lines, (1, []))
    columns = [name.strip() for name in header]
    if missing := [name for name in COLUMNS if name not in columns]:
        seen = ",".join(columns)
        raise InputError(
            f"line 1 must name the columns {','.join(COLUMNS)}; "
            f"{', '.join(missing)} not found in {seen!r}"
        )
    return columns, lines


def _lines(reader: Any) -> Iterator[tuple[int, list[str]]]:
    try:
        for cells in reader:
            if cells:
                yield reader.line_num, cells
    except csv.Error as error:
        raise InputError(f"line {reader.line_num} is not CSV: {error}") from error


def _row(columns: list[str], cells: list[str]) -> dict[str, str]:
    if len(cells) != len(columns):
        raise InputError(f"{len(columns)} cells expected, got {len(cells)}")
    return dict(zip(columns, map(str.strip, cells), strict=True))


def _number(cell: str) -> float | str:
    """Return a cell as a number; one that is none comes back as it is, to be shown."""
    try:
        return float(cell)
    except ValueError:
        return cell


def _whole(cell: str) -> Any:
    """Return a cell as a whole number ("640" or "640.0"), None when it is empty."""
    number = _number(cell) if cell else None
    return int(number) if isinstance(number, float) and number.is_integer() else number


def _check_same(what: str, first: Any, seen: Any) -> None:
    if first != seen:
        raise InputError(f"{what} of this image was {first!r} before, here it is {seen!r}")
