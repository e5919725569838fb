"""Options of proposers, checked."""

from __future__ import annotations

from dataclasses import fields
from math import isfinite
from typing import TYPE_CHECKING, Any

from sightline.records import UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["check_known", "is_number"]


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
