"""What is wrong with a data set: raised at the first, or set aside and listed."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from sightline.core import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Problem", "Problems"]


class Problem(NamedTuple):
    """A record that was left out.

    Attributes
    ----------
    where : str
        The file and the record.
    what : str
        What was expected and what was seen.

    Examples
    --------
    >>> from sightline.data import Problem
    >>> str(Problem("boxes.csv, line 3", "x1 must be above x0"))
    'boxes.csv, line 3: x1 must be above x0'
    """

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


class Problems:
    """Raises the first problem, or collects all of them when told to skip bad records.

    Examples
    --------
    >>> problems = Problems(skip=True)
    >>> with problems.at("boxes.txt line 3"):
    ...     raise InputError("width must be >= 0, got -1")
    >>> [str(problem) for problem in problems]
    ['boxes.txt line 3: width must be >= 0, got -1']
    """

    def __init__(self, skip: bool = False) -> None:
        self.skip = skip
        self._found: list[Problem] = []

    def __iter__(self) -> Iterator[Problem]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def add(self, where: str, what: str) -> None:
        """Note a problem, or raise it."""
        if not self.skip:
            raise InputError(f"{where}: {what}")
        self._found.append(Problem(where, what))

    @contextmanager
    def at(self, where: str) -> Iterator[None]:
        """Note or raise a `ValueError` from inside, with `where` in front; what follows it is left.

        What is set aside is the whole block, so a block should hold one record.
        """
        try:
            yield
        except ValueError as error:
            if not self.skip:
                raise InputError(f"{where}: {error}") from error
            self._found.append(Problem(where, str(error)))
