"""Checksums that lie inside the files they are of, so that the two can never disagree.

A file has one text ``sha256=…`` under the key ``sightline-checksum``: in the metadata of a Parquet
file, in the description of a file of maps, in a JSON object. It is the SHA-256 of the file's name
and of all its bytes, with zeros in place of the digits themselves. File and checksum are written,
renamed, copied and deleted as one, and the same content gives the same bytes.
"""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal

from sightline.records import InputError
from sightline.store.files import write_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

__all__ = [
    "BLANK",
    "KEY",
    "DamagedError",
    "FileState",
    "check_content",
    "check_file",
    "check_files",
    "find_damaged",
    "json_bytes",
    "read_json",
    "save_json",
    "seal",
]

KEY = "sightline-checksum"
BLANK = "sha256=" + 64 * "0"
FileState = Literal["sound", "bare", "damaged", "gone"]
# What lies between key and checksum in Parquet, in JSON, and in JSON within a text of JSON.
_PLACE = re.compile(rb'sightline-checksum(?:\x18G|": "|\\": \\")sha256=([0-9a-f]{64})')
_TRACE = re.compile(rb"sha256=[0-9a-f]{64}")
_PARQUET = b"PAR1"
_THREADS = 4
_STEP = 64  # files between two words of how far it is
_ZEROS = 64 * b"0"


def seal(content: bytes, name: str) -> bytes:
    """Return a file's content with its checksum in the place that was left `BLANK`.

    Parameters
    ----------
    content : bytes
        With the key `KEY` and the text `BLANK` once in it.
    name : str
        Of the file.

    Examples
    --------
    >>> sealed = seal(json_bytes({"a": 1}), "a.json")
    >>> check_content(sealed, "a.json"), check_content(sealed, "b.json")
    ('sound', 'damaged')
    >>> check_content(sealed.replace(b"1", b"2", 1), "a.json"), check_content(b"{}", "a.json")
    ('damaged', 'bare')
    """
    place = _place(content)
    if place is None or content[place : place + 64] != _ZEROS:
        raise ValueError(f"{name}: must leave room for its checksum")
    digits = _digest(content, place, name).encode()
    return b"".join([content[:place], digits, content[place + 64 :]])


def check_content(content: bytes, name: str) -> FileState:
    """Say whether a file's bytes are those that were written.

    Returns
    -------
    str
        "sound"; "damaged"; or "bare": written without a checksum, and whole as far as its ends
        tell. What is left of a damaged checksum is told from none at all.
    """
    place = _place(content)
    if place is not None:
        found = content[place : place + 64].decode()
        return "sound" if found == _digest(content, place, name) else "damaged"
    if _has_trace(content) or not _ends_well(content, name):
        return "damaged"
    return "bare"


def check_file(path: Path) -> FileState:
    """Say whether a file's bytes are those that were written: see `check_content`."""
    try:
        return check_content(path.read_bytes(), path.name)
    except FileNotFoundError:
        return "gone"
    except OSError:  # the disk cannot give them back
        return "damaged"


def check_files(
    paths: Iterable[Path], progress: Callable[[int, int], object] | None = None
) -> dict[Path, FileState]:
    """Return the state of many files, read side by side.

    Parameters
    ----------
    paths : iterable of Path
    progress : callable, optional
        Told how many are done, of how many.
    """
    files, found = list(paths), {}
    with ThreadPoolExecutor(_THREADS) as pool:
        for number, state in enumerate(pool.map(check_file, files)):
            if progress is not None and number % _STEP == 0:
                progress(number, len(files))
            found[files[number]] = state
    return found


def find_damaged(paths: Iterable[Path]) -> Path | None:
    """Return the first of some files that is damaged; None where none is.

    A file that this process has looked at before is read again only where it has changed.
    """
    stamps = {path: stamp for path in paths if (stamp := _stamp(path)) is not None}
    with _lock:
        new = [path for path, stamp in stamps.items() if _seen.get(path, (None,))[0] != stamp]
    found = check_files(new)
    with _lock:
        if len(_seen) + len(found) > _MOST_SEEN:
            _seen.clear()
        _seen.update({path: (stamps[path], state) for path, state in found.items()})
        states = {path: _seen[path][1] if path in _seen else check_file(path) for path in stamps}
    return next((path for path, state in states.items() if state == "damaged"), None)


_lock = Lock()
_seen: dict[Path, tuple[tuple[int, ...], FileState]] = {}
_MOST_SEEN = 1 << 16


def _stamp(path: Path) -> tuple[int, ...] | None:
    """Return what changes with a file; times alone may be the same, or of any clock."""
    try:
        about = path.stat()
    except OSError:
        return None
    return about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns


def json_bytes(content: Mapping[str, Any]) -> bytes:
    """Return an object as indented JSON with room for a checksum, to be sealed.

    The checksum comes before texts that others chose.
    """
    rest = {name: value for name, value in content.items() if name != KEY}
    head = {"format": rest.pop("format")} if "format" in rest else {}
    return json.dumps({**head, KEY: BLANK, **rest}, indent=1, allow_nan=False).encode()


def save_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write an object as JSON with its checksum; `read_json` reads it."""
    sealed = seal(json_bytes(content), path.name)
    write_whole(path, lambda file: file.write(sealed))


def read_json(path: Path, mend: str) -> Any:
    """Return what a JSON file holds, without its checksum.

    Parameters
    ----------
    path : Path
    mend : str
        What makes the file anew, for the message.

    Raises
    ------
    DamagedError
        If it is no JSON, or its bytes are not those that were written.
    """
    content = path.read_bytes()
    try:
        found = json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise DamagedError(f"{path}: must be JSON: {error}; {mend}") from error
    if check_content(content, path.name) == "damaged":
        raise DamagedError(f"{path} is damaged: its checksum differs; {mend}")
    if isinstance(found, dict):
        found.pop(KEY, None)
    return found


class DamagedError(InputError):
    """A file whose bytes are not those that were written."""


def _place(content: bytes) -> int | None:
    """Return where the digits of the checksum begin: the last of a Parquet file, or the first.

    Texts that others chose, as names of images, come before it in the one and after it in the
    other.
    """
    if content[:4] == _PARQUET:
        begin = content.rfind(KEY.encode())
        found = _PLACE.match(content, begin) if begin >= 0 else None
    else:
        found = _PLACE.search(content)
    return None if found is None else found.start(1)


def _has_trace(content: bytes) -> bool:
    """Say whether part of a checksum is there: damage to it must not pass for its absence."""
    if KEY.encode() in content:
        return True
    return b"sha256=" in content and _TRACE.search(content) is not None


def _digest(content: bytes, place: int, name: str) -> str:
    view = memoryview(content)
    total = sha256(name.encode() + b"\0")
    for part in (view[:place], _ZEROS, view[place + 64 :]):
        total.update(part)
    return total.hexdigest()


def _ends_well(content: bytes, name: str) -> bool:
    """Say whether a file without a checksum is whole as far as its description tells.

    Damage to a block that held all of a checksum must not pass either.
    """
    if name.endswith(".parquet"):
        return content[:4] == _PARQUET and _has_whole_footer(content)
    if name.endswith(".safetensors"):
        return _is_as_long_as_said(content)
    return True


def _has_whole_footer(content: bytes) -> bool:
    """Say whether the description at the end of a Parquet file is read to its last byte."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        about = pq.read_metadata(pa.BufferReader(content))
    except (pa.ArrowException, OSError):
        return False
    told = int.from_bytes(content[-8:-4], "little")
    return bool(about.created_by) and about.serialized_size == told


def _is_as_long_as_said(content: bytes) -> bool:
    """Say whether a file of maps is as long as its head says."""
    size = int.from_bytes(content[:8], "little")
    try:
        head = json.loads(content[8 : 8 + size])
        ends = [one["data_offsets"][1] for key, one in head.items() if key != "__metadata__"]
        return bool(8 + size + max(ends, default=0) == len(content))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return False
