"""What the readers of data sets share: text files, and records by key."""

from __future__ import annotations

import os
import re
from collections.abc import Hashable
from math import isfinite, nan
from stat import S_ISREG
from typing import TYPE_CHECKING, Any, TypeVar

from sightline.core import InputError
from sightline.core.errors import OutOfMemoryError
from sightline.core.memory import is_out_of_memory
from sightline.data.formats.checks import located, show
from sightline.data.images import inside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from sightline.data.problems import Problems

__all__ = ["finite", "lines", "read_text", "row", "table", "whole", "yes"]

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)


def read_text(path: Path, root: Path | None = None) -> str:
    """Return the text of a file in UTF-8, with or without a byte order mark.

    Where `root` is given, the file must lie in that folder: a link may not lead out of it.
    """
    if root is not None:
        inside(root, os.path.relpath(path, root))
    try:
        if not S_ISREG(path.stat().st_mode):  # reading a pipe would wait for ever
            raise InputError("cannot be read: it is not a regular file")
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        if is_out_of_memory(error):
            raise
        raise InputError(f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8 text: {error}") from error
    except MemoryError as error:  # a file may be larger than all memory, and take no room on a disk
        text = f"{path}: cannot be read: it is larger than the memory that is left"
        raise OutOfMemoryError(text) from error


def lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not blank, with their numbers from 1."""
    for number, line in enumerate(text.split("\n"), 1):
        if stripped := line.strip():
            yield number, stripped


def table(
    path: Path,
    problems: Problems,
    parse: Callable[[str], tuple[_Key, _Value]],
    root: Path | None = None,
) -> dict[_Key, _Value]:
    """Return what `parse` makes of each line of a file, by key; a key may come only once."""
    with located(str(path)):
        text = read_text(path, root)
    found: dict[_Key, _Value] = {}
    first: dict[_Key, int] = {}
    for number, line in lines(text):
        # Not `problems.at`: files have 10⁵ lines, and an unused `try` is free.
        try:
            key, value = parse(line)
            if key in found:
                raise InputError(f"{show(line)} repeats {show(key)} of line {first[key]}")
        except ValueError as error:
            problems.add(f"{path} line {number}", str(error))
        else:
            found[key], first[key] = value, number
    return found


def finite(token: str, what: str) -> float:
    """Return a finite number written in decimal."""
    value = float(token) if _NUMBER.fullmatch(token) else nan
    if not isfinite(value):
        raise InputError(f"{what} must be a finite number, got {show(token)}")
    return value


def whole(token: str, what: str) -> int:
    """Return a whole number >= 0."""
    if not (token.isascii() and token.isdigit() and len(token) < 19):
        raise InputError(f"{what} must be a whole number >= 0, got {show(token)}")
    return int(token)


def yes(token: str, what: str) -> bool:
    """Return whether a flag is set."""
    if token not in ("0", "1"):
        raise InputError(f"{what} must be 0 or 1, got {show(token)}")
    return token != "0"  # noqa: S105 # a word of a line, no password


def row(line: str, **columns: Callable[[str, str], Any]) -> tuple[Any, ...]:
    """Return the words of a line, each as its column says.

    Examples
    --------
    >>> row("3 0.5 1", image=whole, x=finite, visible=yes)
    (3, 0.5, True)
    """
    words = line.split()
    if len(words) != len(columns):
        raise InputError(f"must be {' '.join(columns)!r}, got {show(line)}")
    pairs = zip(words, columns.items(), strict=True)
    return tuple(read(word, name) for word, (name, read) in pairs)
