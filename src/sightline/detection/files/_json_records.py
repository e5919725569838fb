"""Columns of parsed records, with errors that say which record and field does not fit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from sightline.core import InputError
from sightline.data.formats.checks import has_half
from sightline.detection.files import _json_scan as scan
from sightline.detection.files._json_columns import Columns, Field

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

__all__ = ["Place", "list_of_records", "read_columns", "read_image_ids", "show"]

_MISSING = object()
_INT64 = 1 << 63


def show(value: Any) -> str:
    """Return a value as JSON would show it, shortened."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    text = repr(value.item() if isinstance(value, np.generic) else value)
    return text if len(text) <= 60 else f"{text[:57]}..."


@dataclass(frozen=True, slots=True)
class Place:
    """Where records are: the file, and the list in it unless the file is the list."""

    source: str
    part: str = ""

    def fail(self, row: int, message: str, number: Any = None) -> NoReturn:
        """Raise about one record; `number` is its id, where it has one."""
        name = f"{self.part}[{row}]" if self.part else f"record {row}"
        known = "" if number is None else f" (id {show(number)})"
        raise InputError(f"{self.source}: {name}{known}: {message}")

    def refuse(
        self, wrong: Any, message: str, values: NDArray[Any], ids: NDArray[Any] | None = None
    ) -> None:
        """Raise about the first wrong record, if there is one."""
        if wrong.any():
            row = int(np.argmax(wrong))
            number = None if ids is None else ids[row].item()
            self.fail(row, f"{message}; got {show(values[row].tolist())}", number)


def list_of_records(place: Place, found: Any) -> list[dict[str, Any]]:
    """Return the records if they are a list of objects."""
    if not isinstance(found, (list, tuple)):
        name = f"{place.part!r} " if place.part else ""
        raise InputError(f"{place.source}: {name}must be a list of objects; got {_kind(found)}")
    for row, record in enumerate(found):
        if not isinstance(record, dict):
            place.fail(row, f"must be an object; got {show(record)}")
    return list(found)


def read_columns(
    place: Place, records: Sequence[dict[str, Any]], fields: Sequence[Field]
) -> Columns:
    """Return the fields of records; see `Columns` for those that are missing."""
    ints: dict[str, NDArray[np.int64]] = {}
    numbers: dict[str, NDArray[np.float64]] = {}
    for field in fields:
        values = [record.get(field.name, _MISSING) for record in records]
        if field.kind == scan.INTEGER:
            ints[field.name] = _integers(place, records, field, values)
        elif field.kind == scan.NUMBER:
            numbers[field.name] = _numbers(place, records, field, values)
        else:
            numbers[field.name] = _boxes(place, records, field, values)
    return Columns(ints, numbers)


def read_image_ids(place: Place, records: Sequence[dict[str, Any]]) -> NDArray[Any]:
    """Return the `image_id` of records: int64, or objects where some are text."""
    field = Field("image_id", scan.INTEGER)
    values = [record.get(field.name, _MISSING) for record in records]
    if not any(isinstance(value, str) for value in values):
        return _integers(place, records, field, values)
    values = _checked(place, records, field, values, _is_name, "an integer or text", None)
    return np.array([value if isinstance(value, str) else int(value) for value in values], object)


def _integers(
    place: Place, records: Sequence[dict[str, Any]], field: Field, values: list[Any]
) -> NDArray[np.int64]:
    if not set(map(type, values)) <= {int}:
        allowed = _is_flag if field.name == "iscrowd" else _is_integer
        values = _checked(place, records, field, values, allowed, "an integer", 0)
    try:
        return np.array(values, np.int64)
    except OverflowError:
        _checked(place, records, field, values, _is_integer, "an integer of 64 bits", 0)
        raise


def _numbers(
    place: Place, records: Sequence[dict[str, Any]], field: Field, values: list[Any]
) -> NDArray[np.float64]:
    values = _checked(place, records, field, values, _is_number, "a finite number", math.nan)
    return np.array(values, np.float64)


def _boxes(
    place: Place, records: Sequence[dict[str, Any]], field: Field, values: list[Any]
) -> NDArray[np.float64]:
    if not _are_plain_boxes(values):
        what = "4 finite numbers: x, y, width, height"
        values = [_MISSING if isinstance(box, list) and not box else box for box in values]
        values = _checked(place, records, field, values, _is_box, what, [math.nan] * 4)
    return np.array(values, np.float64).reshape(-1, 4)


def _are_plain_boxes(values: list[Any]) -> bool:
    """Return at once whether all are lists of four finite numbers, as nearly always."""
    if not (set(map(type, values)) <= {list, tuple} and set(map(len, values)) <= {4}):
        return False
    if not set(map(type, chain.from_iterable(values))) <= {int, float}:
        return False
    return all(map(_is_number, chain.from_iterable(values)))


def _checked(
    place: Place,
    records: Sequence[dict[str, Any]],
    field: Field,
    values: list[Any],
    allowed: Callable[[Any], bool],
    expected: str,
    instead: Any,
) -> list[Any]:
    """Return the values, `instead` where one is missing and may be; refuse the first wrong one."""
    for row, value in enumerate(values):
        if value is _MISSING:
            if field.needed:
                place.fail(row, f"{field.name} is missing", records[row].get("id"))
        elif not allowed(value):
            message = f"{field.name} must be {expected}; got {show(value)}"
            place.fail(row, message, None if field.name == "id" else records[row].get("id"))
    return [instead if value is _MISSING else value for value in values]


def _is_integer(value: Any) -> bool:
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    return whole and -_INT64 <= value < _INT64


def _is_name(value: Any) -> bool:
    return (isinstance(value, str) and not has_half(value)) or _is_integer(value)


def _is_flag(value: Any) -> bool:
    return isinstance(value, (bool, np.bool_)) or _is_integer(value)


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond the floats
        return False


def _is_box(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        value = list(value)
    return isinstance(value, (list, tuple)) and len(value) == 4 and all(map(_is_number, value))


def _kind(value: Any) -> str:
    """Return what JSON calls a value."""
    kinds: dict[type, str] = {dict: "an object", str: "a string", bool: "true or false"}
    return "null" if value is None else kinds.get(type(value), type(value).__name__)
