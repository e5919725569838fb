"""One writer at a time: a lock that the system takes back when its holder dies."""

from __future__ import annotations

import getpass
import json
import os
import platform
import time
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from sightline.core import InputError
from sightline.store.files import open_plain, read_plain

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import IO

__all__ = ["Holder", "hold", "holder_of", "is_held", "open_lock"]


# Whoever looks whether a store is being written holds its lock for a moment: try more than once.
_TRIES, _PAUSE = 3, 0.02


class Holder(NamedTuple):
    """Who writes to a store.

    Attributes
    ----------
    process : int
        Its number on its machine.
    machine, user, since : str
        Where it runs, for whom, and when it began.

    Examples
    --------
    >>> print(Holder(4711, "host", "anna", "2026-11-16 08:00:00+00:00"))
    process 4711 of anna on host, since 2026-11-16 08:00:00+00:00
    """

    process: int
    machine: str
    user: str
    since: str

    def __str__(self) -> str:
        return f"process {self.process} of {self.user} on {self.machine}, since {self.since}"


@contextmanager
def hold(path: Path) -> Iterator[None]:
    """Hold the lock in a file while the block runs.

    The lock ends with the process, however that ends; the file stays.

    Raises
    ------
    InputError
        If another process holds it; the message says which. Also where `open_lock` raises.
    """
    with open_lock(path) as file:
        if not _taken(file):
            holder = holder_of(path)
            who = "another process" if holder is None else str(holder)
            raise InputError(
                f"{path.parent}: is being written by {who}; wait for it, or stop it and run again"
            )
        file.seek(0)
        file.truncate()
        json.dump(_oneself()._asdict(), file)
        file.flush()
        yield


def open_lock(path: Path) -> IO[str]:
    """Open the file of a lock, and make it where it is missing.

    Raises
    ------
    InputError
        If it is a link, or no plain file: what it leads to would be made, or written over.
    """
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise InputError(f"{path}: must be a plain file, is a link, a pipe or a device")
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    return os.fdopen(os.open(path, flags, 0o666), "a+", encoding="utf-8")


def holder_of(path: Path) -> Holder | None:
    """Return who wrote its name into a lock file last; None where nobody can be told."""
    try:
        return Holder(**json.loads(read_plain(path)))
    except (OSError, ValueError, TypeError, RecursionError):
        return None


def is_held(path: Path) -> bool:
    """Say whether a process writes the store of a lock file now; nothing is changed."""
    try:
        import fcntl
    except ImportError:
        return False
    try:
        with open_plain(path) as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _oneself() -> Holder:
    now = datetime.now(UTC).isoformat(sep=" ", timespec="seconds")
    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # a container may run under a number without a name
        user = "unknown"
    return Holder(os.getpid(), platform.node() or "unknown", user, now)


def _taken(file: IO[str]) -> bool:
    """Take the lock of an open file; say whether it was free."""
    try:
        import fcntl
    except ImportError as error:
        raise InputError("studies run on Linux and macOS: this system has no fcntl") from error
    for number in range(_TRIES):
        if number:
            time.sleep(_PAUSE)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            continue
        return True
    return False
