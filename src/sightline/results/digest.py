"""One hash over all results, whatever files they lie in and in whatever order."""

from __future__ import annotations

# The texts put together here are names of columns and quoted paths.
# ruff: noqa: S608
import struct
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.core import InputError
from sightline.results._views import read_files
from sightline.store import open_store
from sightline.store.damage import check_bytes, naming_damage
from sightline.store.duckdb import batches, connect
from sightline.store.schema import KEYS
from sightline.store.snapshot import list_shards, list_stored_tasks

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    import duckdb
    import pyarrow as pa
    from numpy.typing import NDArray

__all__ = ["results_digest"]


def results_digest(path: str | os.PathLike[str]) -> str:
    """Return a hash over the results tables, those of checks too, 64 hexadecimal digits.

    It depends on every key and on every bit of every score, fraction and curve (all NaN count as
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
    maps, checks = list_stored_tasks(store, store.manifest())
    if not maps and not checks:
        raise InputError(f"nothing is stored yet: 0 of {len(store.tasks()):,} tasks")
    tables = list_shards(store, maps, checks)
    shards = [path for files in tables.values() for path in files]
    check_bytes(shards)
    total = sha256()
    connection = connect(shards)
    try:
        with naming_damage(shards):
            for table, files in tables.items():
                if files:
                    total.update(f"{table}:{_hash_table(connection, table, files)}".encode())
    finally:
        connection.close()
    return total.hexdigest()


def _hash_table(connection: duckdb.DuckDBPyConnection, table: str, files: Sequence[Path]) -> str:
    """Hash the rows of a table in the order of their keys, column by column."""
    source, keys = read_files(files), ", ".join(f'"{key}"' for key in KEYS[table])
    _check_unique(connection, table, source)
    hashes: dict[str, Any] = {}
    rows = 0
    for batch in batches(connection, f"SELECT * FROM {source} ORDER BY {keys}"):
        rows += batch.num_rows
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            hashes.setdefault(name, sha256()).update(_read_bytes(column))
    total = sha256(struct.pack("<q", rows))
    for name in sorted(hashes):
        total.update(f"{name}:{hashes[name].hexdigest()}".encode())
    return total.hexdigest()


def _read_bytes(column: pa.Array) -> bytes:
    """Return the content of a column without doubt: nulls, lengths, and bits with one NaN."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    missing: bytes = np.packbits(column.is_null().to_numpy(zero_copy_only=False)).tobytes()
    if pa.types.is_list(column.type):
        lengths: bytes = (
            pc.list_value_length(column).fill_null(0).to_numpy().astype("<i8").tobytes()
        )
        return missing + lengths + _read_bytes(column.flatten())
    if pa.types.is_string(column.type):
        texts = [text.encode() for text in column.fill_null("").to_pylist()]
        return missing + np.array([*map(len, texts)], "<i8").tobytes() + b"".join(texts)
    values: NDArray[Any] = column.fill_null(0).to_numpy()
    if values.dtype.kind == "f":
        values = np.where(np.isnan(values), np.array(np.nan, values.dtype), values)
    return missing + values.astype(values.dtype.newbyteorder("<")).tobytes()


def _check_unique(connection: duckdb.DuckDBPyConnection, table: str, source: str) -> None:
    """Raise if a key occurs twice."""
    names = KEYS[table]
    keys = ", ".join(f'"{key}"' for key in names)
    again = f"SELECT {keys}, count(*) - 1 AS again FROM {source} GROUP BY ALL HAVING count(*) > 1"
    found = connection.execute(f"SELECT * FROM ({again}) ORDER BY ALL").fetchall()
    if found:
        count = sum(row[-1] for row in found)
        first = [(name, value) for name, value in zip(names, found[0][:-1], strict=True)]
        told = ", ".join(f"{name} {value}" for name, value in first if value not in ("", None))
        raise InputError(
            f"keys of {table} must be unique; {count:,} occur again, the first: {told}"
        )
