"""Results tables as plain ones: texts decoded, and a row per score."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sightline.store.schema import KEYS, list_score_columns

if TYPE_CHECKING:
    from sightline.metrics import Scores

__all__ = ["decode", "get_bytes", "melt", "melt_scores", "sort"]

CURVES = ("roc", "pr")


def decode(table: pa.Table) -> pa.Table:
    """Return a table whose texts are plain and that says nothing of its file."""
    fields = [
        pa.field(f.name, f.type.value_type if pa.types.is_dictionary(f.type) else f.type)
        for f in table.schema
    ]
    return table.replace_schema_metadata(None).cast(pa.schema(fields))


def sort(table: pa.Table) -> pa.Table:
    """Return the rows of a results table in the order of their keys; each is there once."""
    keys = [name for name in table.column_names if any(name in some for some in KEYS.values())]
    table = table.sort_by([(key, "ascending") for key in keys]).combine_chunks()
    assert table.group_by(keys).aggregate([]).num_rows == table.num_rows, "a row is there twice"
    return table


def melt(*tables: pa.Table) -> pa.Table:
    """Return the scores of results tables as one table, a row each.

    A score that a map does not have is null in its table; one that is undefined is NaN.
    """
    parts = []
    for table in map(decode, tables):
        if "region" not in table.column_names:
            table = table.append_column("region", pa.nulls(table.num_rows, pa.int32()))
        names = list_score_columns(table.column_names)
        rest = [name for name in table.column_names if name not in (*names, *CURVES)]
        for name in names:
            metric, _, threshold = name.partition("@")
            part = table.select(rest)
            for key, text in (("metric", metric), ("threshold", threshold)):
                part = part.append_column(key, pa.array([text] * table.num_rows, pa.string()))
            part = part.append_column("value", table[name])
            parts.append(part.filter(table[name].is_valid()))
    return pa.concat_tables(parts, promote_options="default")


def melt_scores(scores: Scores) -> pa.Table:
    """Return what `score_maps` gives as `melt` does, with the scores of regions."""
    tables = [scores.to_table()]
    return melt(*tables, *([] if scores.regions is None else [scores.regions.to_table()]))


def get_bytes(table: pa.Table) -> bytes:
    """Return the content of a table to the last bit, missing values and NaN included."""
    parts = [str(table.schema).encode()]
    for name in table.column_names:
        column = table[name]
        parts.append(np.asarray(column.is_valid()).tobytes())
        if pa.types.is_list(column.type):
            parts.append(json.dumps(pc.list_value_length(column).to_pylist()).encode())
            column = pc.list_flatten(column)
        parts.append(_get_column_bytes(column))
    return b"\0".join(parts)


def _get_column_bytes(column: Any) -> bytes:
    if pa.types.is_floating(column.type):
        values: bytes = column.to_numpy(zero_copy_only=False).tobytes()
        return values
    return json.dumps(column.to_pylist()).encode()
