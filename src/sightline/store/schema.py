"""Columns of the results tables: one row per map, per map and region, or per check of a map."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa

__all__ = [
    "KEYS",
    "MAP_KEYS",
    "build_checks_schema",
    "build_region_scores_schema",
    "build_scores_schema",
    "conform",
    "list_score_columns",
]

MAP_KEYS = ("image", "model", "variant", "method", "target", "layer", "head", "seed")
"""Columns that identify a map; texts are "" and numbers null where there is none."""
KEYS = {
    "scores": (*MAP_KEYS, "rules"),
    "region_scores": (*MAP_KEYS, "rules", "region", "level", "label"),
    "checks": (*MAP_KEYS, "rules", "check", "order", "draw", "stage_index", "stage"),
}
"""Columns that identify a row of each table."""
_NUMBERS = {"layer": "int16", "head": "int16", "seed": "int32", "region": "int32"}
_NUMBERS |= {"draw": "int32", "stage_index": "int16"}
_FACTS = {"annotated_fraction": "float", "visible_fraction": "float"}
_FACTS |= {"pixels": "int32", "undefined": "uint16"}
_CURVES = ("roc", "pr")


def build_scores_schema(columns: Iterable[str]) -> pa.Schema:
    """Return the schema of `scores`: keys, facts of the map, its scores, ROC and PR curves.

    Examples
    --------
    >>> schema = build_scores_schema(["iou@90"])
    >>> schema.names[-4:], schema.field("iou@90").type
    (['undefined', 'iou@90', 'roc', 'pr'], DataType(double))
    """
    import pyarrow as pa

    curves = [pa.field(name, pa.list_(pa.float32())) for name in _CURVES]
    return pa.schema([*_build_fields("scores", columns), *curves])


def build_region_scores_schema(columns: Iterable[str]) -> pa.Schema:
    """Return the schema of `region_scores`: as `scores`, with the region, without curves."""
    import pyarrow as pa

    return pa.schema(_build_fields("region_scores", columns))


def build_checks_schema(measures: Iterable[str], curves: Iterable[str]) -> pa.Schema:
    """Return the schema of `checks`: keys, one column per measure, curves and their fractions."""
    import pyarrow as pa

    points = [pa.field(name, pa.list_(pa.float64())) for name in ("curve_fractions", *curves)]
    numbers = [pa.field(name, pa.float64()) for name in measures]
    return pa.schema([*_build_keys("checks"), *numbers, *points])


def _build_keys(table: str) -> list[pa.Field]:
    import pyarrow as pa

    text = pa.dictionary(pa.int32(), pa.string())
    return [
        pa.field(name, pa.type_for_alias(_NUMBERS[name]) if name in _NUMBERS else text)
        for name in KEYS[table]
    ]


def _build_fields(table: str, columns: Iterable[str]) -> list[pa.Field]:
    import pyarrow as pa

    facts = [pa.field(name, pa.type_for_alias(kind)) for name, kind in _FACTS.items()]
    return [*_build_keys(table), *facts, *(pa.field(name, pa.float64()) for name in columns)]


def list_score_columns(names: Iterable[str]) -> list[str]:
    """Return the columns of `scores` or `region_scores` that hold scores.

    Examples
    --------
    >>> list_score_columns(build_scores_schema(["iou@90", "coverage"]).names)
    ['iou@90', 'coverage']
    """
    others = {*KEYS["region_scores"], *_FACTS, *_CURVES}
    return [name for name in names if name not in others]


def conform(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return a table with the columns of a schema, null where the table lacks one."""
    import pyarrow as pa

    columns = dict(zip(table.column_names, table.columns, strict=True))
    arrays = []
    for name, kind in zip(schema.names, schema.types, strict=True):
        column = columns.get(name)
        if column is None:
            column = pa.nulls(table.num_rows, kind)
        arrays.append(column if column.type == kind else column.cast(kind))
    return pa.Table.from_arrays(arrays, schema=schema)
