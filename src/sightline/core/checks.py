"""Checks of arguments that every layer takes. Light to import."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sightline.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["ALL_EQUAL", "MIN_IMAGES", "check_choice", "check_confidence", "explain_few"]

MIN_IMAGES = 5
"""Images that the interval of a mean needs, and either side of a difference of other images."""

ALL_EQUAL = "all values are equal"
"""Why the ends of an interval are its mean: nothing is known of the spread."""


def check_choice(name: str, value: Any, known: Iterable[Any]) -> None:
    """Raise where an option is not one of the known ones.

    >>> check_choice("ties", "first", ("share", "include"))
    Traceback (most recent call last):
    sightline.core.errors.InputError: ties must be one of share, include; got 'first'
    """
    if value not in (choices := tuple(known)):
        raise InputError(f"{name} must be one of {', '.join(map(str, choices))}; got {value!r}")


def check_confidence(confidence: float) -> None:
    """Raise where the confidence of an interval is no share, such as 95.

    >>> check_confidence(95)
    Traceback (most recent call last):
    sightline.core.errors.InputError: confidence must lie between 0 and 1; got 95
    """
    if not 0 < confidence < 1:  # NaN fails too
        raise InputError(f"confidence must lie between 0 and 1; got {confidence}")


def explain_few(count: int, least: int = MIN_IMAGES, what: str = "images") -> str:
    """Return why so few images, or others, have no interval; "" where they are enough.

    >>> explain_few(3), explain_few(5)
    ('too few images: 3, an interval needs 5', '')
    """
    return f"too few {what}: {count}, an interval needs {least}" if count < least else ""
