"""DuckDB in memory over the files of a store: views to read, and nothing to write."""

from __future__ import annotations

import json
import re
import tempfile
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from sightline.core import InputError
from sightline.store.damage import naming_damage

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    import duckdb
    import pandas as pd
    import pyarrow as pa

__all__ = [
    "SECONDS",
    "add_table",
    "batches",
    "connect",
    "define",
    "fetch_frame",
    "quote",
    "run_select",
    "to_frame",
]

_READ_ONLY = "a query reads only: one SELECT, WITH, EXPLAIN, DESCRIBE, SHOW or SUMMARIZE statement"
_BATCH = 100_000
# What a query of somebody else's may take: characters, seconds unless others are given, memory of
# the machine (beyond that it goes to a temporary folder), and room there.
_SHOWN = 24  # columns of a view that an error lists
_LONGEST, SECONDS = 100_000, 300.0
_MEMORY, _SPILLED = "60%", "20GB"


def quote(text: str) -> str:
    """Return a text as SQL writes it.

    >>> quote("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def connect(files: Iterable[Path]) -> duckdb.DuckDBPyConnection:
    """Return a data base in memory that can read these files and reach nothing else.

    No other file, no network, no extension, no variable of the program, and no setting that could
    change that.
    """
    import duckdb

    allowed = ", ".join(quote(str(path)) for path in files)
    spill = Path(tempfile.gettempdir()) / f"sightline-{uuid4().hex}"
    settings: dict[str, str | bool | int | float | list[str]] = {
        "allow_community_extensions": "false",
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "python_enable_replacements": "false",
        "temp_directory": str(spill),
        "memory_limit": _MEMORY,
        "max_temp_directory_size": _SPILLED,
    }
    connection = duckdb.connect(":memory:", config=settings)
    connection.execute(f"SET allowed_paths = [{allowed}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


def batches(connection: duckdb.DuckDBPyConnection, sql: str) -> Iterator[pa.RecordBatch]:
    """Yield what a query finds, part by part; one empty part if that is nothing."""
    import pyarrow as pa

    reader = connection.sql(sql).to_arrow_reader(_BATCH)
    batch = None
    for batch in reader:
        yield batch
    if batch is None:
        yield pa.RecordBatch.from_pylist([], schema=reader.schema)


def add_table(connection: duckdb.DuckDBPyConnection, name: str, table: pa.Table) -> None:
    """Copy a table into the data base."""
    connection.register("given", table)
    connection.execute(f"CREATE TABLE {_identifier(name)} AS SELECT * FROM given")  # noqa: S608
    connection.unregister("given")


def define(connection: duckdb.DuckDBPyConnection, views: Mapping[str, str]) -> None:
    """Make views of SELECT statements."""
    for name, sql in views.items():
        connection.execute(f"CREATE OR REPLACE VIEW {_identifier(name)} AS {sql}")


def _identifier(name: str) -> str:
    """Return the name of a table, with that of its schema or without, as SQL writes it."""
    return ".".join(f'"{part}"' for part in name.split("."))


def to_frame(table: pa.Table) -> pd.DataFrame:
    """Return a table; small whole numbers, such as layers, may be missing in it."""
    import pandas as pd
    import pyarrow as pa

    kinds = {kind: pd.Int64Dtype() for kind in (pa.int16(), pa.int32())}
    frame: pd.DataFrame = table.to_pandas(types_mapper=kinds.get)
    return frame


def fetch_frame(
    connection: duckdb.DuckDBPyConnection, sql: str, values: Mapping[str, Any] | None = None
) -> pd.DataFrame:
    """Return what a query finds."""
    found = connection.sql(sql, params=dict(values)) if values else connection.sql(sql)
    return to_frame(_plain(found.to_arrow_table()))


def _plain(table: pa.Table) -> pa.Table:
    """Return a table whose decimals, which sums and literals give, are ordinary numbers."""
    import pyarrow as pa

    for place, field in enumerate(table.schema):
        if pa.types.is_decimal(field.type):
            kind = pa.float64() if field.type.scale else pa.int64()
            table = table.set_column(place, field.name, table.column(place).cast(kind))
    return table


def run_select(
    connection: duckdb.DuckDBPyConnection,
    sql: str,
    files: Collection[Path],
    seconds: float = SECONDS,
) -> pd.DataFrame:
    """Return what a query finds; one that could change anything is refused.

    Parameters
    ----------
    connection, sql
        What to ask whom.
    files
        Which the views read.
    seconds
        That it may take.

    Raises
    ------
    InputError
        If it is more than one query, would write, reads something other than the views, takes
        too long or too much memory, or if DuckDB does not understand it; if a file is damaged.
    """
    import duckdb

    if len(sql) > _LONGEST:
        raise InputError(f"a query has {_LONGEST:,} characters at most; this one has {len(sql):,}")
    try:
        sql.encode()
        with _ending(connection, seconds):
            _check(connection, sql)
            with naming_damage(files):
                return fetch_frame(connection, sql)
    except UnicodeEncodeError as error:
        raise InputError(f"a query must be text in Unicode: {error.reason}") from error
    except RecursionError:
        raise InputError("a query within a query within a query …: too many of them") from None
    except duckdb.InterruptException as error:
        raise InputError(f"the query took longer than {seconds:g} s and was ended") from error
    except duckdb.PermissionException as error:
        raise InputError(f"{_READ_ONLY}, and no other files: {error}") from error
    except (duckdb.CatalogException, duckdb.BinderException) as error:
        raise InputError(f"{error}\n{_known(connection)}") from error
    except duckdb.Error as error:
        raise InputError(str(error)) from error


@contextmanager
def _ending(connection: duckdb.DuckDBPyConnection, seconds: float) -> Iterator[None]:
    """End what is asked in a block once it has taken so long."""
    timer = Timer(seconds, connection.interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _check(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Refuse whatever is not one query over the views.

    The kind of statement is not enough: a WITH clause may hold a COPY that overwrites a file.
    """
    statements = connection.extract_statements(sql)
    if len(statements) != 1:
        raise InputError(f"{_READ_ONLY}; got {len(statements)} statements")
    kind = statements[0].type.name
    if kind == "EXPLAIN":
        asked = re.match(r"\s*EXPLAIN(\s+ANALYZE)?(\s*\([^)]*\))?\s+(?=[A-Z(])", sql, re.IGNORECASE)
        if asked is None:
            raise InputError(f"{_READ_ONLY}; EXPLAIN must be the first word")
        _check(connection, sql[asked.end() :])
    elif kind != "SELECT":
        raise InputError(f"{_READ_ONLY}; got {kind}")
    else:
        _check_tree(connection, sql)


def _check_tree(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Look for anything but queries, and for sources other than views, at any depth."""
    ((answer,),) = connection.execute("SELECT json_serialize_sql($sql)", {"sql": sql}).fetchall()
    tree = json.loads(answer)
    if tree["error"]:
        raise InputError(f"{_READ_ONLY}; {tree.get('error_message', 'this one is not understood')}")
    for node in _walk(tree):
        kind = str(node.get("type", ""))
        if kind.endswith("_NODE") and kind not in _QUERIES:
            raise InputError(f"{_READ_ONLY}; got {kind.removesuffix('_NODE').split('_')[0]}")
        if kind == "TABLE_FUNCTION":
            name = str(node["function"]["function_name"]).lower()
            if name not in _SOURCES:
                raise InputError(f"{_READ_ONLY}, and no other files: {name}() is not a view")


_QUERIES = ("SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE", "VALUES_NODE")
_SOURCES = ("range", "generate_series", "unnest", "repeat", "duckdb_columns", "duckdb_views")


def _walk(tree: Any) -> Iterator[dict[str, Any]]:
    """Yield every object of a tree."""
    if isinstance(tree, dict):
        yield tree
        tree = list(tree.values())
    if isinstance(tree, list):
        for part in tree:
            yield from _walk(part)


def _known(connection: duckdb.DuckDBPyConnection) -> str:
    """Return a line for each view with its first columns."""
    found = connection.execute(
        "SELECT table_name, list(column_name ORDER BY column_index) "
        "FROM duckdb_columns() WHERE NOT internal AND schema_name = 'main' "
        "GROUP BY table_name ORDER BY table_name"
    ).fetchall()
    return "\n".join(
        f"{view}: {', '.join(columns[:_SHOWN])}{', …' * (len(columns) > _SHOWN)}"
        for view, columns in found
    )
