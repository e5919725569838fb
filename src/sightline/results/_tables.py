"""What one state of a store can be asked: views over its tables and shards."""

from __future__ import annotations

# The texts put together here are names of views and quoted paths.
# ruff: noqa: S608
import re
from functools import cached_property
from itertools import groupby
from threading import RLock
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from sightline.core import InputError
from sightline.metrics import METRICS
from sightline.results._catalogue import Catalogue, find_name
from sightline.results._views import Name, full_name, keys, read_files, scores_sql
from sightline.store import check_tasks
from sightline.store.damage import check_bytes, naming_damage
from sightline.store.duckdb import (
    SECONDS,
    add_table,
    batches,
    connect,
    define,
    fetch_frame,
    run_select,
)
from sightline.store.folder import tasks_of
from sightline.store.shards import read_views
from sightline.store.snapshot import read_state

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    import duckdb
    import pandas as pd
    import pyarrow as pa

    from sightline.store import Store

__all__ = ["Progress", "Tables"]

T = TypeVar("T")

_NO_CURVES = """SELECT * FROM (VALUES ('', '', '', 0::SMALLINT, 0::SMALLINT, '', '', 0, '', '',
  0::SMALLINT, 0::FLOAT)) AS t(image, model, variant, layer, head, method, target, seed, "check",
  curve, point, value) WHERE false"""

_WHOLE = "rows_of_images"


class Progress(NamedTuple):
    """How far a study is."""

    done: int
    all: int

    def __str__(self) -> str:
        return f"{self.done:,} of {self.all:,} tasks"


class Tables:
    """One state of a store.

    Attributes
    ----------
    store
        The folder.
    manifest
        What the store says of itself.
    progress
        How many tasks are stored, and how many there are to be.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self._state = read_state(store)
        self.manifest = self._state.manifest
        self.catalogue = Catalogue(self.manifest)
        self.shards = list(self._state.shards.values())
        self.checks = list(self._state.checks.values())
        count = len(self.manifest["sources"]) * len(self.manifest["chunks"])
        count += sum(1 for _ in check_tasks(self.manifest))
        self.progress = Progress(len(self.shards) + len(self.checks), count)
        self._preloaded = False
        self._checked: set[str] = set()
        self._at_hand: dict[Hashable, Any] = {}
        self._lock = RLock()

    @cached_property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """The data base with all but the scores; images and regions are copies in memory."""
        if not self.shards:
            raise InputError(f"nothing is stored yet: {self.progress}")
        curves = self._state.curves
        views = {
            "rows": f"SELECT * FROM {read_files(self.shards)}",
            "curves": f"SELECT * FROM {read_files(curves)}" if curves else _NO_CURVES,
            "checks": f"SELECT * FROM {read_files(self.checks or self.shards[:1])}"
            + (" WHERE false" if not self.checks else ""),
        }
        found = connect(self._files)
        try:
            for name, table in self._state.tables.items():
                add_table(found, name, table)
            with naming_damage(self._files):
                define(found, views)
        except BaseException:
            found.close()
            raise
        return found

    @property
    def _files(self) -> list[Path]:
        """What the views read."""
        return [*self.shards, *self._state.curves, *self.checks]

    def _check_bytes(self, sql: str) -> None:
        """Raise where a file that a query may read is damaged; each is looked at once."""
        files = {"rows": self.shards, "curves": self._state.curves, "checks": self.checks}
        words = {"rows": "rows|scores|read_parquet", "curves": "curves", "checks": "checks"}
        for name in files.keys() - self._checked:
            if re.search(rf"\b({words[name]})\b", sql, re.IGNORECASE):
                check_bytes(files[name])
                self._checked.add(name)

    @cached_property
    def names(self) -> list[Name]:
        """Every metric and threshold of the rows, in the order of the table of metrics."""
        found = self.fetch("SELECT DISTINCT metric, threshold FROM rows")
        order = {metric: place for place, metric in enumerate(METRICS)}
        return sorted(
            (Name(*pair) for pair in found),
            key=lambda name: (order.get(name.metric, len(order)), _high_first(name.threshold)),
        )

    @cached_property
    def _with_scores(self) -> duckdb.DuckDBPyConnection:
        views = {"scores": scores_sql("rows", self.names)}
        with self.naming_damage():
            define(self.connection, views)
        return self.connection

    @cached_property
    def views(
        self,
    ) -> dict[tuple[str, str, str, int | None], dict[int, tuple[int, frozenset[Any]]]]:
        """On which grids maps were scored: by model, method, target and layer, then by chunk.

        Of each chunk how many images, and the distinct views; see `read_views`. Empty where maps
        were not scored on their own grids.
        """
        found: dict[tuple[str, str, str, int | None], dict[int, tuple[int, frozenset[Any]]]] = {}
        if self.manifest["study"].get("resolution") != "grid":
            return found
        there = self._state.shards
        for task in (one for one in tasks_of(self.manifest) if one.name in there):
            source = task.source
            with self.naming_damage():
                images, layers = read_views(there[task.name])
            for layer, views in layers.items() if images and not source["check"] else ():
                key = full_name(source), source["method"], source["target"], layer
                most, others = found.setdefault(key, {}).get(task.number, (0, frozenset()))
                found[key][task.number] = max(most, images), others | views
        return found

    def name(self, text: str | None, *, regions: bool = False) -> Name:
        """Return a score by its name; see `find_name`."""
        return find_name(text, self.names, regions=regions)

    def preload(self, most: int = 3_000_000) -> bool:
        """Keep the rows of whole images in memory, unless they are too many; say whether they are.

        Tables over images then come many times as quickly; those over regions read files.
        """
        whole = "FROM rows WHERE region IS NULL"
        if not self._preloaded:
            ((count,),) = self.fetch(f"SELECT count(*) {whole}")
            if count <= most:
                add_table(self.connection.cursor(), _WHOLE, self.arrow(f"SELECT * {whole}"))
                self._preloaded = True
        return self._preloaded

    @property
    def preloaded(self) -> bool:
        """Whether the rows of whole images are in memory."""
        return self._preloaded

    def at_hand(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what was made of the preloaded rows of one metric; make it where it is not there.

        It stays until `close`.
        """
        there = self._at_hand
        if key in there:  # who finds it does not wait for those that make others
            return cast("T", there[key])
        with self._lock:
            if key not in there:
                there[key] = make()
            return cast("T", there[key])

    def scores(
        self,
        names: Collection[Name],
        models: Collection[str] | None = None,
        methods: Collection[str] | None = None,
        *,
        whole: bool = False,
    ) -> str:
        """Return the SQL of some metrics' scores, reading no shards but those of some maps.

        Where `whole`, those of regions need not be among them.
        """
        if whole and self._preloaded:
            return scores_sql(_WHOLE, self.names, names)
        wanted = self.catalogue.keys(models, methods)
        shards = [path for key, path in self._shards_of_keys if key in wanted]
        rows = read_files(shards) if 0 < len(shards) < len(self.shards) else "rows"
        return scores_sql(rows, self.names, names)

    @cached_property
    def _shards_of_keys(self) -> list[tuple[str, Path]]:
        """The shards that are there, each with the key of the source of its maps."""
        there = self._state.shards
        tasks = tasks_of(self.manifest)
        return [(task.source["key"], there[task.name]) for task in tasks if task.name in there]

    def frame(self, sql: str, values: Mapping[str, Any] | None = None) -> pd.DataFrame:
        """Return what a query of ours finds."""
        connection = self.connection
        self._check_bytes(sql)
        with self.naming_damage():
            return fetch_frame(connection.cursor(), sql, values)

    def arrow(self, sql: str) -> pa.Table:
        """Return what a query of ours finds, as Arrow holds it."""
        connection = self.connection
        self._check_bytes(sql)
        with self.naming_damage():
            return connection.cursor().sql(sql).to_arrow_table()

    def fetch(self, sql: str, values: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
        """Return the lines that a query of ours finds."""
        connection = self.connection
        self._check_bytes(sql)
        with self.naming_damage():
            return connection.cursor().execute(sql, dict(values or {})).fetchall()

    def query(self, sql: str, seconds: float = SECONDS) -> pd.DataFrame:
        """Return what a query of somebody else's finds, if it only reads."""
        self._check_bytes(sql)
        return run_select(self._with_scores.cursor(), sql, self._files, seconds)

    def batches(self, view: str) -> Iterator[pa.RecordBatch]:
        """Yield a whole view, part by part; scores in the order of chunks of images, then keys."""
        connection = self.connection
        for sql in self._parts(view):
            self._check_bytes(sql)
            with self.naming_damage():
                yield from batches(connection.cursor(), sql)

    def _parts(self, view: str) -> Iterator[str]:
        """Yield the queries that find a whole view, one after the other."""
        if view != "scores":
            yield f"SELECT * FROM {view}"
            return
        order = ", ".join(f'"{key}" NULLS FIRST' for key in keys())
        for _, shards in groupby(self.shards, key=lambda path: path.name.partition("-")[0]):
            # What belongs together is in one shard: there is no need to join all of them.
            sql = scores_sql(read_files(shards), self.names)
            yield f"SELECT * FROM ({sql}) ORDER BY {order}"

    def naming_damage(self) -> AbstractContextManager[None]:
        """Name the file that is to blame for an error while the views are read."""
        return naming_damage(self._files)

    def close(self) -> None:
        """Let go of the data base and the files; what is asked next opens them again."""
        self.__dict__.pop("_with_scores", None)
        self._preloaded = False
        self._checked = set()
        self._at_hand = {}
        connection = self.__dict__.pop("connection", None)
        if connection is not None:
            connection.close()


def _high_first(token: str) -> tuple[float, str]:
    """Sort percentiles from high to low, other thresholds behind them."""
    try:
        return -float(token), ""
    except ValueError:
        return 1.0, token
