"""Values of annotation files, checked: each error says what was expected and what was seen."""

from __future__ import annotations

import re
from contextlib import contextmanager
from difflib import get_close_matches
from math import isfinite
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from sightline.core import Annotation, InputError, to_image_id
from sightline.core.errors import shown as show

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = [
    "FLAGS",
    "Size",
    "Units",
    "are_finite",
    "as_object",
    "check_flags",
    "check_score",
    "check_units",
    "existing",
    "has_half",
    "items",
    "located",
    "new_image_id",
    "number",
    "numbers",
    "pixel_size",
    "present",
    "real_numbers",
    "records",
    "show",
    "text",
    "texts",
]

Units: TypeAlias = Literal["normalised", "pixels", "exact"]
Size: TypeAlias = tuple[int, int]  # width, height

FLAGS = ("ignore", "crowd", "difficult", "truncated", "occluded", "hidden", "clipped", "empty")

_NUMBERS = frozenset((int, float))
_LONGEST = 10**6  # pixels of a side; far beyond every image, and safe to count with

_HALF = re.compile("[\ud800-\udfff]")


@contextmanager
def located(where: str) -> Iterator[None]:
    """Put `where` in front of the message of any `ValueError` raised inside."""
    try:
        yield
    except ValueError as error:
        raise InputError(f"{where}: {error}") from error


def numbers(value: Any, count: int | None, what: str) -> tuple[float, ...]:
    """Return a list of `count` finite numbers (None: of any length) as floats."""
    if isinstance(value, list) and count in (None, len(value)) and are_finite(value):
        return tuple(map(float, value))
    raise InputError(f"{what} must be {count or 'a list of'} finite numbers, got {show(value)}")


def number(value: Any, what: str) -> float:
    """Return a finite number as a float."""
    if not are_finite([value]):
        raise InputError(f"{what} must be a finite number, got {show(value)}")
    return float(value)


def real_numbers(value: Any, what: str) -> list[float]:
    """Return a list of numbers; whether they are finite shows when they are drawn."""
    if isinstance(value, list) and _NUMBERS.issuperset(map(type, value)):
        return value
    raise InputError(f"{what} must be a list of finite numbers, got {show(value)}")


def are_finite(values: list[Any]) -> bool:
    """Return whether all values are numbers, and finite."""
    try:
        return _NUMBERS.issuperset(map(type, values)) and all(map(isfinite, values))
    except OverflowError:  # a whole number beyond every float
        return False


def text(value: Any, what: str) -> str:
    """Return `value` when it is text that can be written again: no half of a character."""
    if not isinstance(value, str):
        raise InputError(f"{what} must be text, got {show(value)}")
    if has_half(value):
        raise InputError(f"{what} must be text, got half of a character: {show(value)}")
    return value


def has_half(text: str) -> bool:
    r"""Return whether a text holds half of a character, and so cannot be written.

    >>> has_half("Köln"), has_half("\ud800")
    (False, True)
    """
    return not text.isascii() and _HALF.search(text) is not None


def texts(value: Any, what: str) -> tuple[str, ...]:
    """Return a list of texts."""
    if not isinstance(value, list):
        raise InputError(f"{what}s must be a list of texts, got {show(value)}")
    return tuple(text(item, what) for item in value)


def as_object(value: Any) -> dict[str, Any]:
    """Return `value` when it is a JSON object."""
    if not isinstance(value, dict):
        raise InputError(f"must be an object, got {show(value)}")
    return value


def items(content: Mapping[str, Any], name: str) -> list[Any]:
    """Return the list that `content` holds under `name`."""
    found = content.get(name)
    if not isinstance(found, list):
        raise InputError(f"{name!r} must be a list of objects, got {type(found).__name__}")
    return found


def records(content: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """Return the list of objects that `content` holds under `name`."""
    found = items(content, name)
    for number, record in enumerate(found):
        with located(f"{name}[{number}]"):
            as_object(record)
    return found


def present(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record without the entries that say nothing: null is as if left out."""
    if None not in record.values():
        return record
    return {key: value for key, value in record.items() if value is not None}


def pixel_size(record: Mapping[str, Any]) -> Size | None:
    """Return the `width` and `height` of a record, None when it has neither."""
    width, height = record.get("width"), record.get("height")
    if width is None and height is None:
        return None
    return _side(width, "width"), _side(height, "height")


def _side(value: Any, name: str) -> int:
    """Return a whole number, which some programs write as 640.0."""
    whole = isinstance(value, Integral) or (isinstance(value, float) and value.is_integer())
    if whole and not isinstance(value, bool) and 1 <= value <= _LONGEST:
        return int(value)
    raise InputError(
        f"{name} must be a whole number of pixels from 1 to {_LONGEST}, got {show(value)}"
    )


def check_units(units: Any) -> Units:
    """Return `units` when a file may name them so."""
    if units not in ("normalised", "pixels"):
        raise InputError(f"units must be 'normalised' or 'pixels', got {show(units)}")
    return units  # type: ignore[no-any-return]


def existing(path: Any, missing: str) -> Path:
    """Return an absolute path of what is there, which stays right when the working folder changes.

    >>> existing("no such folder", "must be a folder of XML files; there is nothing")
    Traceback (most recent call last):
    sightline.core.errors.InputError: no such folder: must be a folder of XML files; there is
    nothing
    """
    try:
        found = Path(path).absolute()
        there = found.exists()
    except (OSError, TypeError, ValueError) as error:
        raise InputError(f"path {path!r} is not the name of a file or folder: {error}") from error
    if not there:
        raise InputError(f"{path}: {missing}")
    return found


def check_flags(flags: Any) -> tuple[str, ...]:
    """Return a list of flags, each known and named once."""
    found = texts(flags, "flag")
    for flag in found:
        if flag not in FLAGS:
            close = get_close_matches(flag, FLAGS, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else "."
            raise InputError(f"unknown flag {show(flag)}{hint} Known: {', '.join(FLAGS)}")
    if len(set(found)) < len(found):
        raise InputError(f"flags name one twice: {show(flags)}")
    return found


def check_score(score: Any) -> float | None:
    """Return a confidence, None when nothing is said."""
    return None if score is None else number(score, "score")


def new_image_id(name: Any, taken: Mapping[str, Any], given: Any = None) -> str:
    """Return the image id of a file name, or the `given` one, that no earlier image has.

    `taken` holds the ids so far, best with the names they came from.
    """
    image_id = to_image_id(text(name, "name of the image"))
    if given is not None:
        image_id = Annotation(text(given, "id of the image")).image_id
    if image_id in taken:
        first = taken[image_id] if isinstance(taken[image_id], str) else image_id
        raise InputError(
            f"image {show(name)} appears twice, first as {show(first)} "
            "(in ids '/' is '__', ' ' is '_')"
        )
    return image_id
