"""Files that are there whole or not at all, also after a crash; and none but plain ones."""

from __future__ import annotations

import errno
import os
from hashlib import sha256
from stat import S_ISLNK, S_ISREG
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from sightline.core import InputError
from sightline.core.kill_points import reach
from sightline.core.paths import resolved

if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO

__all__ = [
    "NotPlainError",
    "is_inner_name",
    "is_occupied",
    "leads_out",
    "make_folder",
    "move_aside",
    "open_plain",
    "plain_digest",
    "read_plain",
    "remove_parts",
    "sync_folder",
    "write_whole",
]

_PART = ".part"
_PIECE = 1 << 20
_MOST = 1 << 30  # bytes of a file that is read at once


class NotPlainError(OSError):
    """What should be a file is a pipe, a device, a folder, or far too large."""


def open_plain(path: Path) -> BinaryIO:
    """Open a file to be read; a pipe would be waited for, and a device read, for ever.

    Raises
    ------
    NotPlainError
        If it is no plain file.
    OSError
        If it cannot be opened.
    """
    if not S_ISREG(path.stat().st_mode):
        raise NotPlainError(errno.EINVAL, "is not a plain file", str(path))
    return path.open("rb")


def read_plain(path: Path) -> bytes:
    """Return what a plain file holds, of at most a gigabyte; see `open_plain`."""
    with open_plain(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > _MOST:
            what = f"must have at most {_MOST:,} bytes, has {size:,}"
            raise NotPlainError(errno.EFBIG, what, str(path))
        return file.read(size)


def plain_digest(path: Path) -> str:
    """Return the SHA-256 of a plain file, which is read piece by piece; see `open_plain`."""
    total = sha256()
    with open_plain(path) as file:
        while block := file.read(_PIECE):
            total.update(block)
    return total.hexdigest()


def is_inner_name(name: object, *, below: bool = False) -> bool:
    r"""Say whether a text names a file of a folder, and nothing outside it.

    Parameters
    ----------
    name : object
        Often of a file that a stranger wrote.
    below : bool
        Whether the file may lie in a folder of the folder.

    Examples
    --------
    >>> is_inner_name("a.csv"), is_inner_name("b/a.csv"), is_inner_name("b/a.csv", below=True)
    (True, False, True)
    >>> [is_inner_name(name, below=True) for name in ("", "../a", "/a", "a//b", "a\\b", "a\0", 5)]
    [False, False, False, False, False, False, False]
    """
    if not isinstance(name, str) or not name.isprintable() or "\\" in name or ":" in name:
        return False
    parts = name.split("/")
    return (below or len(parts) == 1) and not any(one in ("", ".", "..") for one in parts)


def leads_out(path: Path, folder: Path) -> bool:
    """Say whether a path in a folder leads out of it, by a link."""
    try:
        return not resolved(path).is_relative_to(folder.resolve())
    except (OSError, ValueError):  # a link to itself, or no name at all
        return True


def is_occupied(path: Path) -> bool:
    """Return whether something else than a file of its folder has a name.

    Something else is a folder, a device, a pipe, or a link that does not lead to a file of the
    same folder.
    """
    try:
        mode = path.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return False
    if S_ISLNK(mode):
        return leads_out(path, path.parent) or not path.is_file()
    return not S_ISREG(mode)


def make_folder(path: Path) -> None:
    """Make a folder, unless it is there.

    Raises
    ------
    InputError
        If something else has its name: through a link, files elsewhere would be written.
    """
    if path.is_symlink() or (path.exists() and not path.is_dir()):
        kind = "link" if path.is_symlink() else "file"
        raise InputError(
            f"{path}: must be a folder of its own, is a {kind}; rename or remove it, then run again"
        )
    path.mkdir(exist_ok=True)


def move_aside(path: Path, folder: Path) -> Path:
    """Move what has a name into a folder, under its name or that name with a number.

    Raises
    ------
    InputError
        If the folder is a link or none.
    """
    make_folder(folder)
    number, place = 1, folder / path.name
    while os.path.lexists(place):
        number += 1
        place = folder / f"{path.name}-{number}"
    path.rename(place)
    return place


def write_whole(path: Path, content: Any, kind: str = "file") -> None:
    """Write a file under another name, bring it to the disk, then give it its name in one step.

    Parameters
    ----------
    path : Path
        A file of that name is replaced.
    content : bytes or list of buffers
        The whole content, or its parts.
    kind : str
        How the points of this write are called where tests kill; see `kill_points`.
    """
    views = [memoryview(one) for one in (content if isinstance(content, list) else [content])]
    half = len(views[0]) // 2
    part = path.with_name(f".{path.name}.{uuid4().hex}{_PART}")
    try:
        with part.open("wb") as file:
            reach(f"{kind}:opened")
            file.write(views[0][:half])
            file.flush()
            reach(f"{kind}:half")
            file.writelines([views[0][half:], *views[1:]])
            file.flush()
            os.fsync(file.fileno())
        reach(f"{kind}:synced")
        part.replace(path)
        reach(f"{kind}:renamed")
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
        if part.is_symlink() or not part.is_dir():  # no writer makes folders of such names
            part.unlink(missing_ok=True)
