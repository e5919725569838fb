"""Where a path leads, alike in every Python."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["resolved"]


def resolved(path: Path) -> Path:
    """Return where a path leads; what is missing is taken as it is written.

    Raises
    ------
    OSError
        For links that lead to themselves. Until Python 3.12 `Path.resolve` raises RuntimeError,
        from 3.13 on it takes them as they are written.

    Examples
    --------
    >>> from pathlib import Path
    >>> resolved(Path("/no/such/../folder")).as_posix()
    '/no/folder'
    """
    try:
        found = path.resolve()
    except RuntimeError as error:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path)) from error
    try:
        found.stat()
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise
    return found
