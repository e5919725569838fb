"""One hash over all rows, whatever files they lie in and in whatever order."""

from __future__ import annotations

import struct
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sightline.core import InputError, row_schema
from sightline.results._views import keys
from sightline.store import open_store
from sightline.store.damage import check_bytes, naming_damage
from sightline.store.duckdb import batches, connect
from sightline.store.snapshot import check_shards

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

__all__ = ["results_digest"]

_VALUES = ("value", "area", "visible")
_WORD = 63  # bits of a whole number that is not negative


def results_digest(path: str | os.PathLike[str]) -> str:
    """Return a hash over the sorted table of rows, those of checks too, 64 hexadecimal digits.

    It depends on every key and on every bit of value, area and visible share (all NaN count as
    one), and on nothing else: not on shards, on the order of rows, or on how columns are encoded.

    Parameters
    ----------
    path
        The folder of a study.

    Raises
    ------
    InputError
        If no study is stored there, a file is damaged, or a key occurs twice.
    """
    store = open_store(Path(path).resolve())
    checks = check_shards(store, store.manifest()).values()
    shards = [*store.shards(), *checks]
    if not shards:
        raise InputError(f"nothing is stored yet: 0 of {len(store.tasks()):,} tasks")
    check_bytes(shards)
    with naming_damage(shards):
        return _digest(shards)


class _Column(NamedTuple):
    """The distinct values of a key column, sorted; null is the first where it occurs."""

    name: str
    values: tuple[Any, ...]

    @property
    def bits(self) -> int:
        """How many bits the place of a value takes."""
        return (len(self.values) - 1).bit_length()

    def content(self) -> bytes:
        """Return all values, without doubt about where each ends."""
        parts = [self.name, str(len(self.values)), *map(repr, self.values)]
        return b"".join(
            struct.pack("<q", len(part)) + part for part in (text.encode() for text in parts)
        )


def _digest(shards: Sequence[Path]) -> str:
    """Hash the values of each key column, then the sorted keys and the values of the rows.

    Keys are packed: each column's place among its sorted values, in as few whole numbers as hold
    them all. They sort like the keys themselves.
    """
    columns = _key_columns(shards)
    words = _pack(columns)
    hashes = [sha256() for _ in range(len(words) + len(_VALUES))]
    seen = _Seen(columns, words)
    for batch in _sorted_batches(shards, columns, words):
        arrays = [array.to_numpy() for array in batch.columns]
        seen.add(np.stack(arrays[: len(words)], axis=1))
        for one, array in zip(hashes, arrays, strict=True):
            one.update(np.ascontiguousarray(array).astype("<i8", copy=False).tobytes())
    seen.check()
    total = sha256(struct.pack("<q", seen.rows))
    for column in columns:
        total.update(column.content())
    for one in hashes:
        total.update(one.digest())
    return total.hexdigest()


def _read(shard: Path, columns: Sequence[str]) -> pa.Table:
    """Read columns of a shard, texts as codes into the values they have there."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    texts = [field.name for field in row_schema() if pa.types.is_dictionary(field.type)]
    table = pq.read_table(shard, columns=list(columns), read_dictionary=texts)
    return table.unify_dictionaries().combine_chunks()


def _key_columns(shards: Sequence[Path]) -> list[_Column]:
    """Find the values of each key column."""
    found: dict[str, set[Any]] = {name: set() for name in keys()}
    for shard in shards:
        table = _read(shard, keys())
        for name, values in found.items():
            values.update(table.column(name).unique().to_pylist())
    return [_Column(name, tuple(sorted(values, key=_null_first))) for name, values in found.items()]


def _null_first(value: Any) -> tuple[bool, Any]:
    return value is not None, value


def _pack(columns: Sequence[_Column]) -> list[list[_Column]]:
    """Put columns together as long as their places fit into one whole number."""
    words: list[list[_Column]] = [[]]
    for column in columns:
        if sum(one.bits for one in words[-1]) + column.bits > _WORD:
            words.append([])
        words[-1].append(column)
    return words


def _sorted_batches(
    shards: Sequence[Path], columns: Sequence[_Column], words: Sequence[Sequence[_Column]]
) -> Iterator[pa.RecordBatch]:
    """Yield packed keys and the bits of the values in the order of the keys."""
    import pyarrow as pa

    names = [f"key{i}" for i in range(len(words))]
    schema = pa.schema([(name, pa.int64()) for name in (*names, *_VALUES)])
    parts = (_packed(shard, columns, words, schema) for shard in shards)
    connection = connect([])
    try:
        connection.register("packed", pa.RecordBatchReader.from_batches(schema, parts))
        sql = f"SELECT * FROM packed ORDER BY {', '.join(names)}"  # noqa: S608
        yield from batches(connection, sql)
    finally:
        connection.close()


def _packed(
    shard: Path, columns: Sequence[_Column], words: Sequence[Sequence[_Column]], schema: pa.Schema
) -> pa.RecordBatch:
    """Return the packed keys and the bits of the values of one shard."""
    import pyarrow as pa

    table = _read(shard, row_schema().names)
    places = {column.name: _places(table.column(column.name), column) for column in columns}
    arrays = []
    for word in words:
        packed = np.zeros(table.num_rows, np.int64)
        for column in word:
            packed = (packed << column.bits) | places[column.name]
        arrays.append(packed)
    arrays += [_bits(table.column(name)) for name in _VALUES]
    return pa.record_batch([pa.array(array) for array in arrays], schema=schema)


def _places(found: pa.ChunkedArray, column: _Column) -> NDArray[np.int64]:
    """Return the place of each value among the sorted values of its column."""
    import pyarrow as pa

    array = found.combine_chunks()
    if not pa.types.is_dictionary(array.type):
        array = array.dictionary_encode()
    place = {value: i for i, value in enumerate(column.values)}
    here = np.array([place.get(value, 0) for value in array.dictionary.to_pylist()], np.int64)
    if array.null_count == 0:
        codes = array.indices.to_numpy()
    else:  # null is the first value of its column
        codes = array.indices.fill_null(len(here)).to_numpy()
    places: NDArray[np.int64] = np.append(here, 0)[codes]
    return places


def _bits(found: pa.ChunkedArray) -> NDArray[np.int64]:
    """Return the bits of numbers; NaN has one pattern, and null one of its own."""
    import pyarrow.compute as pc

    array = found.combine_chunks()
    values = array.fill_null(0).to_numpy()
    bits: NDArray[np.int64] = values.view(f"i{values.dtype.itemsize}").astype(np.int64)
    bits[np.isnan(values)] = -1
    if array.null_count:
        bits[pc.is_null(array).to_numpy(zero_copy_only=False)] = -2
    return bits


class _Seen:
    """Sorted keys, looked at for any that occurs twice."""

    def __init__(self, columns: Sequence[_Column], words: Sequence[Sequence[_Column]]) -> None:
        self.columns, self.words = columns, words
        self.rows = self.twice = 0
        self.first: NDArray[np.int64] | None = None
        self._last: NDArray[np.int64] | None = None

    def add(self, keys: NDArray[np.int64]) -> None:
        """Look at the next keys, `(rows, words)`."""
        self.rows += len(keys)
        if self._last is not None:
            keys = np.concatenate([self._last, keys])
        self._last = keys[-1:]
        same = (keys[1:] == keys[:-1]).all(axis=1)
        if same.any():
            self.twice += int(same.sum())
            self.first = keys[1:][same][0] if self.first is None else self.first

    def check(self) -> None:
        """Raise if there was one."""
        if self.first is not None:
            raise InputError(
                f"keys of rows must be unique; {self.twice:,} occur again, the first: "
                f"{self._told(self.first)}"
            )

    def _told(self, key: NDArray[np.int64]) -> str:
        """Return a packed key in words."""
        found: dict[str, Any] = {}
        for word, packed in zip(self.words, key.tolist(), strict=True):
            for column in reversed(word):
                found[column.name] = column.values[packed & ((1 << column.bits) - 1)]
                packed >>= column.bits
        order = [(column.name, found[column.name]) for column in self.columns]
        return ", ".join(f"{name} {value}" for name, value in order if value not in ("", None))
