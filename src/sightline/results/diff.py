"""What differs between two stores: settings, and scores row by row."""

from __future__ import annotations

# The texts put together here are names of columns and quoted paths.
# ruff: noqa: S608
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sightline.core import InputError
from sightline.results._views import full_model, full_name, quote, read_files
from sightline.store import open_store
from sightline.store.damage import check_bytes, naming_damage
from sightline.store.duckdb import connect, fetch_frame
from sightline.store.schema import KEYS
from sightline.store.snapshot import list_shards, list_stored_tasks

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

    import duckdb
    import pandas as pd

    from sightline.store import Store

__all__ = ["Difference", "diff_results"]


@dataclass(frozen=True, eq=False)
class Difference:
    """What differs between the stores a and b.

    Attributes
    ----------
    settings : DataFrame
        A line for each setting that differs: key, a, b. Settings are the study's keys, versions of
        packages, digests of data and weights, and the commit.
    scores : DataFrame
        A line for each model, method and metric, and for each measure of a check: both (rows with
        the same key in a and b), only_a, only_b, changed (rows whose values are not the same
        number), largest (absolute difference) and mean (of b − a), over rows where both are
        defined.
    """

    settings: pd.DataFrame
    scores: pd.DataFrame

    @property
    def same(self) -> bool:
        """Whether both hold the same rows with the same values, whatever the settings."""
        return not self.scores[["only_a", "only_b", "changed"]].to_numpy().any()


def diff_results(a: str | os.PathLike[str], b: str | os.PathLike[str]) -> Difference:
    """Compare two stores.

    Rows belong together when all their keys but the study's name and its rules are the same.

    Parameters
    ----------
    a, b
        Folders of studies.

    Raises
    ------
    InputError
        If one of them holds no study, or no scores yet, or is damaged.
    """
    stores = [open_store(Path(path).resolve()) for path in (a, b)]
    first, second = (store.manifest() for store in stores)
    tables = [_list_tables(*pair) for pair in zip(stores, (first, second), strict=True)]
    return Difference(_settings(first, second), _compare_scores(*tables))


def _list_tables(store: Store, manifest: Mapping[str, Any]) -> dict[str, list[Path]]:
    """Return the files of each results table of a manifest."""
    tables = list_shards(store, *list_stored_tasks(store, manifest))
    if not any(tables.values()):
        raise InputError(f"{store.path}: nothing is stored yet")
    return tables


def _settings(a: Mapping[str, Any], b: Mapping[str, Any]) -> pd.DataFrame:
    """Return the settings that differ."""
    import pandas as pd

    one, other = (dict(_flat(_shown(manifest))) for manifest in (a, b))
    lines = [
        (key, one.get(key), other.get(key))
        for key in sorted({*one, *other})
        if one.get(key) != other.get(key)
    ]
    return pd.DataFrame(lines, columns=["key", "a", "b"], dtype=object)


def _shown(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a manifest that decides what scores come out."""
    models = {full_name(one): one for one in manifest["models"]}
    sources = {
        "/".join(
            str(one[key]) for key in ("model", "variant", "method", "target", "seed", "check")
        ): one["rules"]
        for one in (*manifest["sources"], *manifest.get("checks", ()))
    }
    data = {key: value for key, value in manifest["data"].items() if key != "taxonomy"}
    plain = {key: manifest.get(key) for key in ("study", "versions", "git", "threads")}
    study = plain["study"] or {}
    plain["study"] = {**study, "checks": study.get("checks") or {}}  # once, no checks were a list
    return {**plain, "data": data, "models": models, "rules": sources}


def _flat(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the leaves of nested settings under dotted names."""
    if isinstance(value, dict) and value:
        for name, part in value.items():
            yield from _flat(part, f"{key}.{name}" if key else str(name))
    else:
        yield key, value


def _compare_scores(a: Mapping[str, list[Path]], b: Mapping[str, list[Path]]) -> pd.DataFrame:
    """Return how the scores of two stores differ, by model, method and metric."""
    files = [path for tables in (a, b) for paths in tables.values() for path in paths]
    connection = connect(files)
    try:
        check_bytes(files)
        with naming_damage(files):
            for table in a:
                _pair_rows(connection, table, a[table], b[table])
            return fetch_frame(connection, _comparison_sql(connection, list(a)))
    finally:
        connection.close()


def _pair_rows(
    connection: duckdb.DuckDBPyConnection, table: str, a: Sequence[Path], b: Sequence[Path]
) -> None:
    """Make the rows of a table in two stores one table, side by side where their keys are equal."""
    for side, other, paths in (("a", b, a), ("b", a, b)):
        rows = read_files(paths or other) + (" WHERE false" if not paths else "")
        sql = f"SELECT * FROM {rows}" if paths or other else "SELECT NULL AS nothing WHERE false"
        connection.execute(f"CREATE OR REPLACE VIEW {side} AS {sql}")
    if not a and not b:
        return
    keys = [key for key in KEYS[table] if key != "rules"]
    both = ", ".join(f'coalesce(a."{key}", b."{key}") AS "{key}"' for key in keys)
    same = " AND ".join(f'a."{key}" IS NOT DISTINCT FROM b."{key}"' for key in keys)
    connection.execute(
        f"CREATE TABLE pairs_{table} AS SELECT {both}, a, b FROM a FULL OUTER JOIN b ON {same}"
    )


def _comparison_sql(connection: duckdb.DuckDBPyConnection, tables: Sequence[str]) -> str:
    parts = []
    for table in tables:
        columns = {side: _value_columns(connection, table, side) for side in ("a", "b")}
        for name, is_list in (columns["a"] | columns["b"]).items():
            x, y = (f'{side}."{name}"' if name in columns[side] else "NULL" for side in "ab")
            if is_list:
                x, y = f"unnest({x})", f"unnest({y})"
            metric = quote(name) if table != "checks" else f"\"check\" || ': ' || {quote(name)}"
            parts.append(
                f"SELECT {full_model()} AS model, method, {metric} AS metric, {x}::DOUBLE AS x, "
                f"{y}::DOUBLE AS y FROM pairs_{table}"
            )
    return f"""WITH pairs AS ({" UNION ALL ".join(parts)}),
marked AS (
  SELECT *, x IS NOT NULL AS in_a, y IS NOT NULL AS in_b,
    CASE WHEN NOT isnan(x) AND NOT isnan(y) THEN y - x END AS gap
  FROM pairs WHERE x IS NOT NULL OR y IS NOT NULL)
SELECT model, method, metric,
  count(*) FILTER (in_a AND in_b) AS "both",
  count(*) FILTER (NOT in_b) AS only_a,
  count(*) FILTER (NOT in_a) AS only_b,
  count(*) FILTER (in_a AND in_b AND x IS DISTINCT FROM y) AS changed,
  max(abs(gap)) AS largest,
  avg(gap) AS mean
FROM marked GROUP BY ALL ORDER BY ALL"""


def _value_columns(connection: duckdb.DuckDBPyConnection, table: str, side: str) -> dict[str, bool]:
    """Return the columns of scores that a side has, and whether they are lists."""
    known = connection.execute(
        f"SELECT column_name FROM duckdb_columns() WHERE table_name = 'pairs_{table}'"
    ).fetchall()
    if not known:
        return {}
    described = connection.execute(f"DESCRIBE SELECT unnest({side}) FROM pairs_{table}").fetchall()
    kinds = {"DOUBLE": False, "DOUBLE[]": True}
    return {
        name: kinds[kind]
        for name, kind, *_ in described
        if kind in kinds and name != "curve_fractions"
    }
