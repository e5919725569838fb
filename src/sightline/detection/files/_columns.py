"""Text files of numbers: a word or a number first, then so many numbers in each line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.core import InputError
from sightline.data.formats import checks
from sightline.data.formats.checks import located
from sightline.data.formats.lines import finite, lines

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["existing", "read_words", "same_width"]


def existing(path: Any, what: str) -> Path:
    """Return an absolute path of what is there, and must be `what`."""
    return checks.existing(path, f"must be {what}; there is nothing")


def read_words(
    text: str, fields: Sequence[str], where: str
) -> tuple[list[int], list[str], NDArray[np.float64]]:
    r"""Return the numbers of the lines, their first words, and the finite numbers that follow.

    Parameters
    ----------
    text : str
        Of the file; blank lines are passed over.
    fields : sequence of str
        What the words of a line are; the first is kept as it is.
    where : str
        The name of the file.

    Examples
    --------
    >>> read_words("a 0.5 1\n\nb 1 2", ["image", "score", "x"], "found.txt")
    ([1, 3], ['a', 'b'], array([[0.5, 1. ], [1. , 2. ]]))
    """
    numbers: list[int] = []
    first: list[str] = []
    words: list[str] = []
    for number, line in lines(text):
        name, *rest = line.split()
        if len(rest) != len(fields) - 1:
            raise InputError(
                f"{where} line {number}: must be {' '.join(fields)!r}; got {len(rest) + 1} words: "
                f"{line[:200]!r}"
            )
        numbers.append(number)
        first.append(name)
        words += rest
    return numbers, first, _floats(words, fields, numbers, where)


def _floats(
    words: list[str], fields: Sequence[str], numbers: list[int], where: str
) -> NDArray[np.float64]:
    count = len(fields) - 1
    try:
        values = np.array(list(map(float, words)), np.float64).reshape(-1, count)
        # Python's numbers may have "_" and digits of other scripts; files may not.
        plain = bool(np.isfinite(values).all()) and "".join(words).isascii()
        if plain and not any("_" in word for word in words):
            return values
    except ValueError:
        pass
    for place, word in enumerate(words):
        with located(f"{where} line {numbers[place // count]}"):
            finite(word, fields[1 + place % count])
    raise InputError(f"{where}: must have finite numbers")


def same_width(text: str, count: int) -> bool:
    r"""Return whether every line has so many words.

    >>> same_width("0 1 2\n1 2 3", 3), same_width("0 1 2\n1 2", 3)
    (True, False)
    """
    return all(len(line.split()) == count for _, line in lines(text))
