"""Columns of the lists in a COCO file, straight from its bytes where these are as usual."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sightline.core.compilation import announce_compilation
from sightline.core.threads import in_threads, threads_for
from sightline.detection.files import _json_scan as scan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["Columns", "Field", "Scanned", "scan_detections", "scan_ground_truth"]

# Below this many bytes a second thread costs more than it brings.
BYTES_PER_THREAD = 1 << 20
PARTS_PER_THREAD = 2
# So many numbers of a part may be left for Python: usually none are.
MOST_LEFT = 1 << 14
_WHOLE = (scan.INTEGER, scan.STEM)


@dataclass(frozen=True, slots=True)
class Field:
    """A field of records: its name, what it is, and whether every record must have it."""

    name: str
    kind: int
    needed: bool = True


@dataclass(frozen=True, slots=True)
class Columns:
    """Some fields of a list of records.

    Attributes
    ----------
    ints : dict
        The integers of each such field, 0 where a record does not have it; of the name of a file
        one more than the integer that its stem is, else `NO_STEM` or `UNSURE_STEM`.
    numbers : dict
        The numbers, shape (N,) or for boxes (N, 4); NaN where a record does not have it.
    """

    ints: dict[str, NDArray[np.int64]]
    numbers: dict[str, NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class _Table:
    """The fields as the kernels read them."""

    fields: tuple[Field, ...]
    names: NDArray[np.uint8]
    rows: NDArray[np.int64]
    ints: int
    numbers: int

    @classmethod
    def of(cls, fields: tuple[Field, ...]) -> _Table:
        names = np.zeros((len(fields), max(len(field.name) for field in fields)), np.uint8)
        rows, widths = [], [0, 0]
        for number, field in enumerate(fields):
            names[number, : len(field.name)] = list(field.name.encode())
            which = 0 if field.kind in _WHOLE else 1
            rows.append((len(field.name), field.kind, widths[which], field.needed))
            widths[which] += 4 if field.kind == scan.BOX else 1
        return cls(fields, names, np.array(rows, np.int64), *widths)

    def shortest(self) -> int:
        """Return the fewest bytes that a record takes."""
        return 2 + sum(len(field.name) + 4 for field in self.fields if field.needed)

    def columns(self, parts: Sequence[_Part]) -> Columns:
        """Put together what was read in parts."""
        ints: dict[str, NDArray[np.int64]] = {}
        numbers: dict[str, NDArray[np.float64]] = {}
        for field, (_, kind, column, _) in zip(self.fields, self.rows.tolist(), strict=True):
            if kind in _WHOLE:
                ints[field.name] = np.concatenate([part.ints[column] for part in parts])
            else:
                which = slice(column, column + 4) if kind == scan.BOX else column
                numbers[field.name] = np.concatenate([part.numbers[:, which] for part in parts])
        return Columns(ints, numbers)


DETECTIONS = _Table.of(
    (
        Field("image_id", scan.INTEGER),
        Field("category_id", scan.INTEGER),
        Field("bbox", scan.BOX),
        Field("score", scan.NUMBER),
    )
)
ANNOTATIONS = _Table.of(
    (
        Field("id", scan.INTEGER),
        Field("image_id", scan.INTEGER),
        Field("category_id", scan.INTEGER),
        Field("bbox", scan.BOX),
        Field("area", scan.NUMBER, needed=False),
        Field("iscrowd", scan.INTEGER, needed=False),
    )
)
IMAGES = _Table.of((Field("id", scan.INTEGER),))
_FILES = _Table.of((*IMAGES.fields, Field("file_name", scan.STEM, needed=False)))


def scan_detections(text: NDArray[np.uint8]) -> Columns | None:
    """Return the records of a list, None where the bytes are not as usual.

    Parameters
    ----------
    text : array of uint8
        The file, with a zero after it.
    """
    announce_compilation(scan.scan_records, "the reader of COCO's files")
    if not _plain(text):
        return None
    found = _scan_list(text, int(scan.skip_blank(text.ctypes.data, 0)), DETECTIONS)
    if found is None or not _is_end(text, found[1]):
        return None
    return found[0]


class Scanned(NamedTuple):
    """The lists of a ground truth; those of the images also as they are written.

    `stems` are those of the images' files as in `Columns`.
    """

    annotations: Columns
    images: NDArray[np.int64]
    stems: NDArray[np.int64]
    categories: Any
    pictures: bytes


def scan_ground_truth(text: NDArray[np.uint8]) -> Scanned | None:
    """Return annotations, images and parsed categories, None where bytes are not as usual.

    Parameters
    ----------
    text : array of uint8
        The file, with a zero after it.
    """
    announce_compilation(scan.scan_records, "the reader of COCO's files")
    place = int(scan.skip_blank(text.ctypes.data, 0))
    if not _plain(text) or text[place] != ord("{"):
        return None
    members: dict[str, Any] = {}
    while True:
        place = int(scan.skip_blank(text.ctypes.data, place + 1))
        end, value = scan.scan_key(text.ctypes.data, place)
        name = text[place + 1 : max(end - 1, 0)].tobytes()
        place = _member(text, name, value, members) if end >= 0 and b"\\" not in name else -1
        if place < 0:
            return None
        place = int(scan.skip_blank(text.ctypes.data, place))
        if text[place] != ord(","):
            break
    closed = (
        text[place] == ord("}") and scan.skip_blank(text.ctypes.data, place + 1) == len(text) - 1
    )
    if not closed or len(members) < 3:
        return None
    images, written = members["images"]
    ids, stems = images.ints["id"], images.ints["file_name"]
    return Scanned(members["annotations"], ids, stems, members["categories"], written)


def _member(text: NDArray[np.uint8], name: bytes, value: int, members: dict[str, Any]) -> int:
    """Read or skip one member of the file; return where it ends, -1 where it is not as usual."""
    key = name.decode() if name in (b"annotations", b"images", b"categories") else None
    if key in members:
        return -1
    if key in ("annotations", "images"):
        found = _scan_list(text, value, ANNOTATIONS if key == "annotations" else _FILES)
        if found is None:
            return -1
        columns, end = found
        as_written = key == "images"
        members[key] = (columns, text[value:end].tobytes()) if as_written else columns
        return end
    end = int(scan.skip_value(text.ctypes.data, value))
    if key is not None and end >= 0:
        members[key] = json.loads(text[value:end].tobytes())
    return end


def _is_end(text: NDArray[np.uint8], place: int) -> bool:
    """Return whether only blanks follow."""
    return bool(scan.skip_blank(text.ctypes.data, place) == len(text) - 1)


def _plain(text: NDArray[np.uint8]) -> bool:
    """Return whether the bytes are UTF-8."""
    if text.max() < 128:
        return True
    try:
        text.tobytes().decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class _Part:
    """What was read from one place of a list on."""

    ints: NDArray[np.int64]
    numbers: NDArray[np.float64]
    ended: int
    place: int

    @classmethod
    def read(cls, text: NDArray[np.uint8], table: _Table, start: int, stop: int) -> _Part:
        """Read the records from `start` on, up to one that begins at `stop` or later."""
        # One that begins before `stop` may end long after it, but is one only.
        most = (stop - start) // table.shortest() + 2
        ints, numbers = np.empty((table.ints, most), np.int64), np.empty((most, table.numbers))
        left = np.empty((min(most * table.numbers, MOST_LEFT) + 1, 4), np.int64)
        left[0] = 0
        ended, count, place = scan.scan_records(
            text.ctypes.data, start, stop, table.names, table.rows, ints, numbers, left
        )
        for row, column, begin, end in left[1 : left[0, 0] + 1].tolist():
            numbers[row, column] = float(text[begin:end].tobytes())
        return cls(ints[:, :count], numbers[:count], ended, place)


def _scan_list(text: NDArray[np.uint8], start: int, table: _Table) -> tuple[Columns, int] | None:
    """Read the list whose bracket is at `start`; return its columns and where it ends.

    Threads begin where a record seems to. That is right if the part before ends there; else what
    they read is thrown away.
    """
    if text[start] != ord("["):
        return None
    first = int(scan.skip_blank(text.ctypes.data, start + 1))
    if text[first] == ord("]"):
        empty = np.empty((table.ints, 0), np.int64), np.empty((0, table.numbers))
        return table.columns([_Part(*empty, scan.CLOSED, first + 1)]), first + 1
    parts = _chain(text, first, table)
    return None if parts is None else (table.columns(parts), parts[-1].place)


def _chain(text: NDArray[np.uint8], first: int, table: _Table) -> list[_Part] | None:
    """Read parts at the same time and return those that follow each other to the list's end."""
    workers = threads_for(None, len(text) - first, BYTES_PER_THREAD)
    last = len(text)
    starts = [first]
    if workers > 1:
        guesses = np.linspace(first, last, workers * PARTS_PER_THREAD + 1).astype(int)[1:-1]
        found = (scan.find_record(text.ctypes.data, guess, last - 1) for guess in guesses)
        starts = sorted({first, *(int(place) for place in found)})
    ahead: dict[int, _Part] = {}

    def run(number: int) -> None:
        stop = starts[number + 1] if number + 1 < len(starts) else last
        ahead[starts[number]] = _Part.read(text, table, starts[number], stop)

    in_threads(run, range(len(starts)), workers)
    parts, place, ended = [], first, scan.GOES_ON
    while ended == scan.GOES_ON:
        part = ahead.get(place) or _Part.read(text, table, place, last)
        parts.append(part)
        place, ended = part.place, part.ended
    return parts if ended == scan.CLOSED else None
