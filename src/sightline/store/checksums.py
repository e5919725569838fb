"""Checksums that lie inside the files they are of, so that the two can never disagree.

A file has one text ``sha256=…`` under the key ``sightline-checksum``: in the metadata of a Parquet
file, in the description of a file of maps, in a JSON object. It is the SHA-256 of the file's name
and of all its bytes, with zeros in place of the digits themselves. File and checksum are written,
renamed, copied and deleted as one, and the same content gives the same bytes.
"""

from __future__ import annotations

import json
import os
import re
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from io import BytesIO
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal

from sightline.core import InputError
from sightline.store.files import NotPlainError, open_plain, read_plain, write_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path
    from typing import BinaryIO

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
    "seal_parts",
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
_PIECE = 1 << 25  # bytes of a file that are held at once: most files have fewer
_HASHED = 1 << 20
_LONGEST = 128  # bytes: more than key and checksum have
_MOST_HEAD = 1 << 28  # bytes of a description


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
    return b"".join(seal_parts(content, name))


def seal_parts(content: Any, name: str) -> list[Any]:
    """Return the parts of what `seal` returns, without a copy of the content.

    Parameters
    ----------
    content : bytes or another buffer
        See `seal`.
    name : str
        Of the file.
    """
    whole = memoryview(content)
    place = _find_blank(whole)
    if place is None:
        raise ValueError(f"{name}: must leave room for its checksum")
    total = sha256(name.encode() + b"\0")
    total.update(whole)  # with zeros in the place of the digits
    return [whole[:place], total.hexdigest().encode(), whole[place + 64 :]]


def _find_blank(whole: memoryview) -> int | None:
    """Return where the digits of the checksum are to be, as `_place` finds them in a file."""
    found, begin = None, 0
    if whole[:4] == _PARQUET:
        begin = max(0, len(whole) - _HASHED)
        tail = bytes(whole[begin:])
        found = _PLACE.match(tail, max(0, tail.rfind(KEY.encode())))
    else:
        found = _PLACE.search(whole)
    return begin + found.start(1) if found is not None and found[1] == _ZEROS else None


def check_content(content: bytes, name: str) -> FileState:
    """Say whether a file's bytes are those that were written.

    Returns
    -------
    str
        "sound"; "damaged"; or "bare": written without a checksum, and whole as far as its ends
        tell. What is left of a damaged checksum is told from none at all.
    """
    return _check(BytesIO(content), len(content), name)


def check_file(path: Path) -> FileState:
    """Say whether a file's bytes are those that were written: see `check_content`.

    Large files are read piece by piece. What is no plain file is damaged.
    """
    try:
        with open_plain(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size <= _PIECE:
                return check_content(file.read(size), path.name)
            return _check(file, size, path.name) if _ends_well(file, size, path.name) else "damaged"
    except FileNotFoundError:
        return "gone"
    except OSError:  # the disk cannot give them back
        return "damaged"


def _check(file: BinaryIO, size: int, name: str) -> FileState:
    place = _place(file, size)
    if place is not None:
        found = _read(file, place, 64).decode()
        return "sound" if found == _digest(file, size, place, name) else "damaged"
    if _has_trace(file, size) or not _ends_well(file, size, name):
        return "damaged"
    return "bare"


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
        known = {path: _seen[path] for path, stamp in stamps.items() if _is_known(path, stamp)}
    states = check_files([path for path in stamps if path not in known])
    states |= {path: state for path, (_, state) in known.items()}
    if len(known) < len(stamps):
        _remember({path: (stamp, states[path]) for path, stamp in stamps.items()})
    return next((path for path in stamps if states[path] == "damaged"), None)


_lock = Lock()
_seen: dict[Path, tuple[tuple[int, ...], FileState]] = {}
_MOST_SEEN = 1 << 18


def _is_known(path: Path, stamp: tuple[int, ...]) -> bool:
    return path in _seen and _seen[path][0] == stamp


def _remember(found: Mapping[Path, tuple[tuple[int, ...], FileState]]) -> None:
    """Keep the states of files, however many; those kept longest make room."""
    with _lock:
        _seen.update(found)
        spare = len(_seen) - _MOST_SEEN
        if spare > 0:
            for path in [path for path in _seen if path not in found][:spare]:
                del _seen[path]


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


def save_json(path: Path, content: Mapping[str, Any], kind: str = "file") -> None:
    """Write an object as JSON with its checksum; `read_json` reads it. Kind: see `write_whole`."""
    write_whole(path, seal(json_bytes(content), path.name), kind)


def read_json(path: Path, mend: str | Callable[[], str]) -> Any:
    """Return what a JSON file holds, without its checksum.

    Parameters
    ----------
    path : Path
    mend : str or callable
        What makes the file anew, for the message.

    Raises
    ------
    DamagedError
        If it is no JSON, no plain file of at most 1 GB, or its bytes are not those that were
        written.
    """

    def damaged(what: str) -> DamagedError:
        return DamagedError(f"{path}{what}; {mend if isinstance(mend, str) else mend()}")

    try:
        content = read_plain(path)
        found = json.loads(content.decode("utf-8"))
    except NotPlainError as error:
        raise damaged(f" is damaged: it {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise damaged(f": must be JSON: {error}") from error
    if check_content(content, path.name) == "damaged":
        raise damaged(" is damaged: its checksum differs")
    if isinstance(found, dict):
        found.pop(KEY, None)
    return found


class DamagedError(InputError):
    """A file whose bytes are not those that were written."""


def _read(file: BinaryIO, begin: int, count: int) -> bytes:
    file.seek(begin)
    return file.read(count)


def _pieces(file: BinaryIO, size: int) -> Iterator[tuple[int, bytes]]:
    """Yield where each piece of a file begins, and its bytes; whatever is short lies in one."""
    for begin in range(0, max(1, size - _LONGEST), _PIECE - _LONGEST):
        yield begin, _read(file, begin, _PIECE)


def _place(file: BinaryIO, size: int) -> int | None:
    """Return where the digits of the checksum begin: the last of a Parquet file, or the first.

    Texts that others chose, as names of images, come before it in the one and after it in the
    other.
    """
    if _read(file, 0, 4) == _PARQUET:
        begin = _last_key(file, size)
        found = _PLACE.match(_read(file, begin, _LONGEST)) if begin >= 0 else None
        return None if found is None else begin + found.start(1)
    for begin, block in _pieces(file, size):
        found = _PLACE.search(block)
        if found is not None:
            return begin + found.start(1)
    return None


def _last_key(file: BinaryIO, size: int) -> int:
    """Return where the key is last in a file, read from its end; -1 where it is not."""
    end, piece = size, _HASHED
    while end > 0:
        begin, piece = max(0, end - piece), _PIECE
        found = _read(file, begin, end - begin).rfind(KEY.encode())
        if found >= 0:
            return begin + found
        end = begin + len(KEY) - 1 if begin else 0
    return -1


def _has_trace(file: BinaryIO, size: int) -> bool:
    """Say whether part of a checksum is there: damage to it must not pass for its absence."""
    return any(
        KEY.encode() in block or (b"sha256=" in block and _TRACE.search(block) is not None)
        for _, block in _pieces(file, size)
    )


def _digest(file: BinaryIO, size: int, place: int, name: str) -> str:
    total = sha256(name.encode() + b"\0")
    for begin, end in ((0, place), (place + 64, size)):
        for one in range(begin, end, _HASHED):
            total.update(_read(file, one, min(_HASHED, end - one)))
        if end == place:
            total.update(_ZEROS)
    return total.hexdigest()


def _ends_well(file: BinaryIO, size: int, name: str) -> bool:
    """Say whether a file is whole as far as its description tells.

    Damage to a block that held all of a checksum must not pass either.
    """
    if name.endswith(".parquet"):
        return _read(file, 0, 4) == _PARQUET and _has_whole_footer(file, size)
    if name.endswith(".safetensors"):
        return _is_as_long_as_said(file, size)
    return True


def _has_whole_footer(file: BinaryIO, size: int) -> bool:
    """Say whether the description at the end of a Parquet file is read to its last byte."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    told = int.from_bytes(_read(file, max(0, size - 8), 4), "little")
    if not 0 < told <= min(size - 12, _MOST_HEAD):
        return False
    end = _read(file, size - 8 - told, told + 8)
    try:
        about = pq.read_metadata(pa.BufferReader(_PARQUET + end))
    except (pa.ArrowException, OSError):
        return False
    return bool(about.created_by) and about.serialized_size == told


def _is_as_long_as_said(file: BinaryIO, size: int) -> bool:
    """Say whether a file of maps is as long as its head says."""
    told = int.from_bytes(_read(file, 0, 8), "little")
    try:
        head = json.loads(_read(file, 8, min(told, _MOST_HEAD)))
        ends = [one["data_offsets"][1] for key, one in head.items() if key != "__metadata__"]
        return bool(8 + told + max(ends, default=0) == size)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return False
