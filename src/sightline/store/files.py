"""Files that are there whole or not at all, also after a crash."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from uuid import uuid4

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import BinaryIO

__all__ = ["remove_parts", "sync_folder", "write_whole"]

_PART = ".part"


def write_whole(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file under another name, bring it to the disk, then give it its name in one step.

    Parameters
    ----------
    path : Path
        A file of that name is replaced.
    write : callable
        Writes the content to the open file it is given.
    """
    part = path.with_name(f".{path.name}.{uuid4().hex}{_PART}")
    try:
        with part.open("wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Bring new names in a folder to the disk, where the system can."""
    if os.name == "nt":  # folders cannot be opened there
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove_parts(folder: Path) -> None:
    """Remove what writers that were killed have left; only the holder of the lock may."""
    for part in folder.glob(f".*{_PART}"):
        part.unlink(missing_ok=True)
