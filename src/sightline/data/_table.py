"""Annotations as CSV: one box per row."""

from __future__ import annotations

import csv
from dataclasses import replace
from io import StringIO
from typing import TYPE_CHECKING, Any

from sightline.data._shapes import (
    Size,
    annotate,
    box_region,
    check_units,
    located,
    numbers,
    pixel_size,
)
from sightline.records import InputError, to_image_id

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sightline.records import Annotation, Region

__all__ = ["COLUMNS", "read_table"]

COLUMNS = ("image", "label", "x0", "y0", "x1", "y1")


def read_table(content: str) -> dict[str, Annotation]:
    """Return the annotations of a file's text; a row without corners is an image without boxes."""
    names: dict[str, str] = {}
    sizes: dict[str, Size] = {}
    boxes: dict[str, list[Region]] = {}
    for line, row in _rows(content):
        with located(f"line {line}"):
            image_id = to_image_id(row["image"])
            size = pixel_size({name: _whole(row.get(name, "")) for name in ("width", "height")})
            _check_same("image name", names.setdefault(image_id, row["image"]), row["image"])
            if size is not None:
                _check_same("width, height", sizes.setdefault(image_id, size), size)
            boxes.setdefault(image_id, []).extend(_boxes(row, size))
    return {name: annotate(name, sizes.get(name), regions) for name, regions in boxes.items()}


def _rows(content: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield line number and cells by column, stripped."""
    reader = csv.reader(StringIO(content, newline=""), strict=True)
    try:
        columns = [name.strip() for name in next(reader, [])]
        if missing := [name for name in COLUMNS if name not in columns]:
            seen = ",".join(columns)
            raise InputError(
                f"line 1 must name the columns {','.join(COLUMNS)}; "
                f"{', '.join(missing)} not found in {seen!r}"
            )
        for cells in reader:
            if len(cells) != len(columns) and cells:
                raise InputError(
                    f"line {reader.line_num}: {len(columns)} cells expected, got {len(cells)}"
                )
            if cells:
                yield reader.line_num, dict(zip(columns, map(str.strip, cells), strict=True))
    except csv.Error as error:
        raise InputError(f"line {reader.line_num} is not CSV: {error}") from error


def _boxes(row: dict[str, str], size: Size | None) -> list[Region]:
    """Return the box of a row, nothing when all its corners are empty."""
    cells = [row[name] for name in COLUMNS[2:]]
    if not any(cells):
        return []
    corners = numbers([_number(cell) for cell in cells], 4, ",".join(COLUMNS[2:]))
    region = box_region(corners, check_units(row.get("units") or "normalised"), size)
    return [replace(region, label=row["label"])]


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
