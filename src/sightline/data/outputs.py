"""Files that are written: checked beforehand, and there whole or not at all."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sightline.core import InputError
from sightline.core.kill_points import reach

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["check_output", "replacing"]


def check_output(path: str | os.PathLike[str], what: str, endings: Iterable[str]) -> Path:
    """Return `path` when `what` can be written there.

    Raises
    ------
    InputError
        If the ending is not one of `endings`, or the folder does not exist.
    """
    path = Path(path)
    if path.suffix.lower() not in endings:
        raise InputError(f"{path}: {what} must end in {', '.join(endings)}")
    if not path.parent.is_dir():
        raise InputError(f"{path}: folder {path.parent} does not exist")
    if path.is_dir():
        raise InputError(f"{path}: is a folder")
    return path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a path to write to; what is there takes the place of `path`, in one step, on disk."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        reach("output:opened")
        yield part
        reach("output:written")
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        reach("output:synced")
        part.replace(path)
        reach("output:renamed")
    finally:
        part.unlink(missing_ok=True)
