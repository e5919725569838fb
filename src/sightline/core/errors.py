"""The error tree.

::

    SightlineError
    ├── InputError (ValueError)        something given does not fit: what, expected, seen
    │   └── MapError                   one map of a batch does not fit; `.index` says which
    ├── OutOfMemoryError               something takes more memory or address space than there is
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
    "OutOfMemoryError",
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
    """Base of every error that Sightline raises on purpose.

    Examples
    --------
    >>> from sightline.core import InputError, SightlineError, UnknownNameError
    >>> [issubclass(error, SightlineError) for error in (InputError, UnknownNameError)]
    [True, True]
    """


class InputError(SightlineError, ValueError):
    """An argument or a file does not fit; the message names it, the expectation and the value.

    Examples
    --------
    >>> from sightline.metrics import compute_coverage
    >>> compute_coverage([[0.5]], [[1, 0]])
    Traceback (most recent call last):
    ...
    sightline.core.errors.InputError: mask must have the maps' height and width 1×1; got shape
    1×2
    """


class MapError(InputError):
    """One map of a batch cannot be scored.

    Attributes
    ----------
    index : int
        Position of the map in the flattened batch.

    Examples
    --------
    >>> from sightline.metrics import score_maps
    >>> from sightline.core import MapError
    >>> try:
    ...     score_maps([[[0.5, 0.1]], [[float("nan"), 0.1]]], [[True, False]])
    ... except MapError as error:
    ...     error.index
    1
    """

    def __init__(self, message: str, index: int) -> None:
        super().__init__(message)
        self.index = index

    @property
    def image_message(self) -> str:
        """The message where the image of the map is named before it."""
        return str(self).replace(f"map {self.index} ", "its map ", 1)


class OutOfMemoryError(SightlineError):
    """Something takes more memory or address space than there is.

    Examples
    --------
    >>> from sightline.core.errors import OutOfMemoryError
    >>> issubclass(OutOfMemoryError, SightlineError), issubclass(OutOfMemoryError, ValueError)
    (True, False)
    """


class UnknownNameError(SightlineError, KeyError):
    """A name that is not in its table.

    Examples
    --------
    >>> from sightline.metrics import METRICS
    >>> METRICS["coverag"]
    Traceback (most recent call last):
    ...
    sightline.core.errors.UnknownNameError: unknown metric 'coverag'; did you mean
    'coverage'? Known: ...
    """

    def __str__(self) -> str:
        return str(self.args[0])


class MissingPackageError(SightlineError, ImportError):
    """A package of an extra is missing; the message holds the line that installs it.

    Examples
    --------
    >>> from sightline.core import MissingPackageError
    >>> issubclass(MissingPackageError, ImportError)
    True
    """
