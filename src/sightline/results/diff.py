"""What differs between two stores: settings, and scores row by row."""

from __future__ import annotations

# The texts put together here are names of columns and quoted paths.
# ruff: noqa: S608
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sightline.core import InputError
from sightline.results._views import full_model, full_name, keys, read_files, same_keys
from sightline.store import open_store
from sightline.store.damage import check_bytes, naming_damage
from sightline.store.duckdb import connect, fetch_frame
from sightline.store.snapshot import check_shards, row_shards

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping

    import pandas as pd

    from sightline.store import Store

__all__ = ["Difference", "diff_results"]

_FREE = ("study", "rules")


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
    shards = [_shards(*pair) for pair in zip(stores, (first, second), strict=True)]
    return Difference(_settings(first, second), _scores(shards[0], shards[1]))


def _shards(store: Store, manifest: Mapping[str, Any]) -> list[Path]:
    """Return the row files of a manifest."""
    files = [*row_shards(store, manifest).values(), *check_shards(store, manifest).values()]
    if not files:
        raise InputError(f"{store.path}: nothing is stored yet")
    return files


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


def _scores(a: list[Path], b: list[Path]) -> pd.DataFrame:
    """Return how the rows of two stores differ, by model, method and metric."""
    connection = connect([*a, *b])
    try:
        check_bytes([*a, *b])
        with naming_damage([*a, *b]):
            return fetch_frame(connection, _scores_sql(read_files(a), read_files(b)))
    finally:
        connection.close()


def _scores_sql(a: str, b: str) -> str:
    matched = [key for key in keys() if key not in _FREE]
    columns = ", ".join(f'coalesce(a."{key}", b."{key}") AS "{key}"' for key in matched)
    return f"""WITH pairs AS (
  SELECT {columns}, a.value AS x, b.value AS y, a.image IS NOT NULL AS in_a,
    b.image IS NOT NULL AS in_b
  FROM {a} AS a FULL OUTER JOIN {b} AS b ON {same_keys("a", "b", matched)}),
marked AS (
  SELECT *, {full_model()} AS full_name, in_a AND in_b AS paired,
    CASE WHEN in_a AND in_b AND NOT isnan(x) AND NOT isnan(y) THEN y - x END AS gap
  FROM pairs)
SELECT full_name AS model, method,
  CASE WHEN "check" <> '' THEN split_part("check", '/', 1) || ': ' || metric
    WHEN threshold = '' THEN metric ELSE metric || '@' || threshold END AS metric,
  count(*) FILTER (paired) AS "both",
  count(*) FILTER (NOT in_b) AS only_a,
  count(*) FILTER (NOT in_a) AS only_b,
  count(*) FILTER (paired AND x IS DISTINCT FROM y) AS changed,
  max(abs(gap)) AS largest,
  avg(gap) AS mean
FROM marked GROUP BY ALL ORDER BY ALL"""
