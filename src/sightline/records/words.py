"""Words that messages, tables and pages share."""

from __future__ import annotations

__all__ = ["counted"]


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
