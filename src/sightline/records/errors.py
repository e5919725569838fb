"""The error tree.

::

    SightlineError
    ├── InputError (ValueError)        something given does not fit: what, expected, seen
    │   └── MapError                   one map of a batch does not fit; `.index` says which
    ├── UnknownNameError (KeyError)    a name nobody registered; the known ones are listed
    └── MissingPackageError (ImportError)   an extra is not installed; the pip line is named
"""

from __future__ import annotations

from reprlib import Repr
from typing import Any

__all__ = [
    "InputError",
    "MapError",
    "MissingPackageError",
    "SightlineError",
    "UnknownNameError",
    "shown",
]

_REPR = Repr()
_REPR.maxlist = _REPR.maxdict = _REPR.maxtuple = 8
_REPR.maxstring = _REPR.maxlong = _REPR.maxother = 200


def shown(value: Any) -> str:
    """Return a value for a message: whole when it is short, however deep and large it is."""
    return _REPR.repr(value)


class SightlineError(Exception):
    """Base of every error that Sightline raises on purpose."""


class InputError(SightlineError, ValueError):
    """An argument or a file does not fit; the message names it, the expectation and the value."""


class MapError(InputError):
    """One map of a batch cannot be scored.

    Attributes
    ----------
    index : int
        Position of the map in the flattened batch.
    """

    def __init__(self, message: str, index: int) -> None:
        super().__init__(message)
        self.index = index


class UnknownNameError(SightlineError, KeyError):
    """A name that is not in its table."""

    def __str__(self) -> str:
        return str(self.args[0])


class MissingPackageError(SightlineError, ImportError):
    """A package of an extra is missing; the message holds the line that installs it."""
