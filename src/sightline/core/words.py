"""Words that messages, tables and pages share."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["counted", "merge_counts"]


def counted(count: int, what: str) -> str:
    """Return a number with the name of what it counts.

    Parameters
    ----------
    count
        How many there are.
    what
        One of them.

    Examples
    --------
    >>> counted(1, "method"), counted(1200, "image")
    ('1 method', '1,200 images')
    """
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def merge_counts(texts: Iterable[str]) -> list[str]:
    """Return texts without repeats; those that differ in their first number alone are one.

    Parameters
    ----------
    texts
        Empty ones, and those without a number, are skipped.

    Examples
    --------
    >>> merge_counts(["best of 12 layers", "", "best of 4 layers", "last of 4 layers"])
    ['best of 4 to 12 layers', 'last of 4 layers']
    """
    counts: dict[tuple[str, str], list[int]] = {}
    for text in dict.fromkeys(texts):
        if match := re.fullmatch(r"(\D*)(\d+)(.*)", text):
            counts.setdefault((match[1], match[3]), []).append(int(match[2]))
    return [
        f"{before}{min(found)}{f' to {max(found)}' if min(found) < max(found) else ''}{after}"
        for (before, after), found in counts.items()
    ]
