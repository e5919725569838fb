"""Options of proposers, checked."""

from __future__ import annotations

from dataclasses import fields
from math import isfinite
from typing import TYPE_CHECKING, Any

from sightline.core import InputError, UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["check_known", "check_number", "check_whole", "check_word", "is_number"]


def check_known(proposer: str, names: Iterable[str], options: type[Any], *beside: str) -> None:
    """Raise where a name is no field of the class of a proposer's options, nor one beside them."""
    known = [field.name for field in fields(options)]
    for name in names:
        if name not in known:
            raise UnknownNameError(
                f"unknown option {name!r} of the proposer {proposer!r}. "
                f"Known: {', '.join((*known, *beside))}"
            )


def is_number(value: Any) -> bool:
    """Say whether a value is a finite number; true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def check_whole(name: str, value: Any, low: int, high: int) -> None:
    """Raise unless an option is a whole number in a range."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise InputError(f"{name} must be a whole number from {low} to {high}, got {value!r}")


def check_number(name: str, value: Any, low: float, high: float, wanted: str = "") -> None:
    """Raise unless an option is a finite number in a range, which `wanted` says in words."""
    if not is_number(value) or not low <= value <= high:
        raise InputError(f"{name} must be {wanted or f'from {low} to {high}'}, got {value!r}")


def check_word(name: str, value: Any, known: Iterable[str]) -> None:
    """Raise unless an option is one of some words."""
    words = tuple(known)
    if value not in words:
        raise InputError(f"{name} must be {' or '.join(map(repr, words))}, got {value!r}")
