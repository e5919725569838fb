"""What one state of a store can be asked: views over its tables and shards."""

from __future__ import annotations

# The texts put together here are names of views and quoted paths.
# ruff: noqa: S608
import re
from dataclasses import replace
from functools import cached_property
from threading import RLock
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import numpy as np

from sightline.attribution.sanity.table import STORED_CURVES, STORED_MEASURES
from sightline.core import InputError
from sightline.metrics import METRICS, explain_undefined
from sightline.results._catalogue import Catalogue, Where, find_name
from sightline.results._views import (
    BESIDE,
    CONDITIONS_SQL,
    LONG_KEYS,
    Name,
    beside_sql,
    build_table_view,
    full_model,
    full_name,
    long_sql,
    long_view,
    read_constants,
    read_files,
    scores_sql,
)
from sightline.store import check_tasks
from sightline.store.checksums import find_damaged
from sightline.store.damage import check_bytes, naming_damage
from sightline.store.duckdb import (
    SECONDS,
    add_table,
    batches,
    connect,
    define,
    fetch_frame,
    quote,
    run_select,
    to_frame,
)
from sightline.store.folder import tasks_of
from sightline.store.schema import KEYS, build_checks_schema, list_score_columns
from sightline.store.shards import read_value_count, read_views
from sightline.store.snapshot import list_shards, read_state

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    import duckdb
    import pandas as pd
    import pyarrow as pa
    from numpy.typing import NDArray

    from sightline.store import Store

__all__ = ["Progress", "Tables"]

T = TypeVar("T")

_IN_MEMORY = "stored.scores_in_memory"
_VIEWS = {
    "scores": ("scores",),
    "region_scores": ("region_scores",),
    "scores_long": ("scores", "region_scores"),
    "leaderboard": ("scores",),
    "checks": ("checks",),
}
"""The views that people query, and the tables that each reads."""
_SOURCE = ("model", "variant", "method", "target", "seed", "rules")
_IMAGE = [*LONG_KEYS, "value", "area", "visible", "name", *BESIDE, "undefined"]
_LEADERBOARD = (
    *("model", "method", "group", "target", "layer", "rank", "value", "low", "high", "median"),
    *("chance", "ceiling", "n", "undefined", "chosen"),
)


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
        self.tasks, self.check_tasks = self._state.tasks, self._state.check_tasks
        count = len(self.manifest["sources"]) * len(self.manifest["chunks"])
        count += sum(1 for _ in check_tasks(self.manifest))
        self.progress = Progress(len(self.tasks) + len(self.check_tasks), count)
        self._preloaded = self._has_views = self._has_leaderboard = False
        self._checked: set[str] = set()
        self._columns: dict[str, dict[str, str]] = {}
        self._at_hand: dict[Hashable, Any] = {}
        self._lock = RLock()

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """The data base with the stored tables; images and regions are copies in memory.

        Where a compacted part is damaged or gone, as it may be at any time, shards are read.
        """
        self._drop_lost_parts()
        return self._connection

    def _drop_lost_parts(self) -> None:
        """Turn to the shards where a compacted part is damaged or gone."""
        parts = [path for path in self._files if path.parent == self.store.cache]
        if find_damaged(parts) is None and all(path.exists() for path in parts):
            return
        with self._lock:
            files = list_shards(self.store, self.tasks, self.check_tasks)
            self._state = replace(self._state, files=files)
            self._forget()

    @cached_property
    def _connection(self) -> duckdb.DuckDBPyConnection:
        if not self.tasks:
            raise InputError(f"nothing is stored yet: {self.progress}")
        found = connect(self._files)
        try:
            found.execute("CREATE SCHEMA stored")
            for name, table in self._state.tables.items():
                add_table(found, name, table)
            views = {}
            for name, files in self._state.files.items():
                views[_stored(name)] = f"SELECT * FROM {read_files(files)}"
            if not self._state.files["checks"]:
                schema = build_checks_schema(STORED_MEASURES, STORED_CURVES)
                add_table(found, _stored("checks"), schema.empty_table())
                del views[_stored("checks")]
            with naming_damage(self._files):
                define(found, views)
        except BaseException:
            found.close()
            raise
        return found

    @property
    def _files(self) -> list[Path]:
        """What the views read."""
        return [path for files in self._state.files.values() for path in files]

    def _check_bytes(self, sql: str) -> None:
        """Raise where a file that a query may read is damaged; each is looked at once."""
        wanted = {
            name for name in self._state.files if re.search(rf"\b{re.escape(_stored(name))}\b", sql)
        }
        for view, tables in _VIEWS.items():
            if re.search(rf"\b{view}\b", sql, re.IGNORECASE):
                wanted.update(tables)
        for name in wanted - self._checked:
            check_bytes(self._state.files[name])
            self._checked.add(name)

    def columns(self, table: str) -> dict[str, str]:
        """Return the columns of a stored table with their types."""
        if table not in self._columns:
            with self.naming_damage():
                found = self.connection.cursor().execute(f"DESCRIBE {_stored(table)}").fetchall()
            self._columns[table] = {name: kind for name, kind, *_ in found}
        return self._columns[table]

    def count_scores(self) -> int:
        """Return how many scores of maps and of their regions are stored."""
        files = list_shards(self.store, self.tasks, [])
        shards = [path for paths in files.values() for path in paths]
        with naming_damage(shards):
            return sum(read_value_count(path) for path in shards)

    @cached_property
    def names(self) -> list[Name]:
        """Every metric and threshold with a score, in the order of the table of metrics."""
        order = {metric: place for place, metric in enumerate(METRICS)}
        columns = list_score_columns(self.columns("scores"))
        filled = self._filled(columns, " LIMIT 1")
        others = [name for name in columns if name not in filled]
        filled |= self._filled(others) if others else set()
        return sorted(
            (Name(*name.partition("@")[::2]) for name in filled),
            key=lambda name: (order.get(name.metric, len(order)), _high_first(name.threshold)),
        )

    def _filled(self, columns: Sequence[str], limit: str = "") -> set[str]:
        """Return the columns of scores that are not null everywhere."""
        counts = ", ".join(f'count("{name}")' for name in columns)
        (row,) = self.fetch(f"SELECT {counts} FROM (SELECT * FROM {_stored('scores')}{limit})")
        return {name for name, count in zip(columns, row, strict=True) if count}

    def _public(self, sql: str) -> duckdb.DuckDBPyConnection:
        """Return the data base with the views that a query of somebody else's may name."""
        connection = self.connection
        if not self._has_views:
            views = {name: build_table_view(_stored(name), self.columns(name)) for name in KEYS}
            views["scores_long"] = long_view(self.long_sql())
            with self.naming_damage():
                define(connection, views)
            self._has_views = True
        if re.search(r"\bleaderboard\b", sql, re.IGNORECASE) and not self._has_leaderboard:
            add_table(connection.cursor(), "leaderboard", self._leaderboard())
            self._has_leaderboard = True
        return connection

    def _leaderboard(self) -> pa.Table:
        """Return the leaderboards of all metrics that say what is better, one below the other."""
        import pandas as pd
        import pyarrow as pa

        from sightline.results.leaderboard import leaderboard

        boards = []
        for name in self.names:
            if name.metric in METRICS and METRICS[name.metric].direction != "neither":
                board = leaderboard(self, name, Where(), "best", None)
                columns = [column for column in board if column in _LEADERBOARD]
                boards.append(board[columns].assign(metric=str(name)))
        boards.append(pd.DataFrame(columns=["metric", *_LEADERBOARD]))  # where no metric says it
        frame = pd.concat(boards, ignore_index=True)[["metric", *_LEADERBOARD]]
        return pa.Table.from_pandas(frame, preserve_index=False)

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
        there = set(self.tasks)
        for task in (one for one in tasks_of(self.manifest) if one.name in there):
            source = task.source
            with self.naming_damage():
                images, layers = read_views(self.store.score_file(task.name))
            for layer, views in layers.items() if images and not source["check"] else ():
                key = full_name(source), source["method"], source["target"], layer
                most, others = found.setdefault(key, {}).get(task.number, (0, frozenset()))
                found[key][task.number] = max(most, images), others | views
        return found

    def name(self, text: str | None, *, regions: bool = False) -> Name:
        """Return a score by its name; see `find_name`."""
        return find_name(text, self.names, regions=regions)

    def preload(self, most: int = 100_000) -> bool:
        """Keep the scores of whole images in memory, unless there are too many; return whether.

        Tables over images then come many times as quickly; those over regions read files.
        """
        if not self._preloaded:
            ((count,),) = self.fetch(f"SELECT count(*) FROM {_stored('scores')}")
            if count <= most:
                curves = "SELECT * EXCLUDE (roc, pr)"
                table = self.arrow(f"{curves} FROM {_stored('scores')}")
                add_table(self.connection.cursor(), _IN_MEMORY, table)
                self._preloaded = True
        return self._preloaded

    @property
    def preloaded(self) -> bool:
        """Whether the scores of whole images are in memory."""
        self._drop_lost_parts()
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

    def scores(self, names: Collection[Name], *, whole: bool = False) -> str:
        """Return the SQL of some metrics' scores, of whole images and of regions.

        Where `whole`, those of regions are not among them.
        """
        columns = self.columns("scores")
        table = _IN_MEMORY if whole and self.preloaded else _stored("scores")
        sql = scores_sql(table, columns, names)
        if whole:
            return sql
        columns = self.columns("region_scores")
        regions = scores_sql(_stored("region_scores"), columns, names, regions=True)
        return f"{sql}\nUNION ALL\n{regions}"

    def long_sql(self, condition: str = "true") -> str:
        """Return the SQL of the long view: a row for each score of the rows that fit."""
        names = [name for name in self.names if name.metric in METRICS]
        parts = []
        for name in ("scores", "region_scores"):
            some = f"(SELECT * FROM {_stored(name)} WHERE {condition})"
            regions = name == "region_scores"
            parts.append(scores_sql(some, self.columns(name), names, regions=regions))
        return long_sql("\nUNION ALL\n".join(parts), self.manifest["study"]["name"])

    def scores_of_image(self, image_id: str) -> pd.DataFrame:
        """Return all scores of an image, in the order of the sources, metrics and maps."""
        import pandas as pd

        parts = []
        for table in ("scores", "region_scores"):
            columns = self.columns(table)
            names = [Name(*name.partition("@")[::2]) for name in columns]
            names = [name for name in names if name.metric in METRICS]
            sql = beside_sql(_stored(table), columns, names)
            wide = self.frame(f"{sql} WHERE image = {quote(image_id)}")
            if table == "scores":
                wide.insert(2, "region", pd.Series(pd.NA, wide.index, "Int64"))
            constants = {name: read_constants(columns, name) for name in names}
            parts.append(_melt(wide.assign(source=self._rank_sources(wide)), constants))
        frame = pd.concat(parts, ignore_index=True)
        numbers = [frame[name].fillna(-1) for name in ("region", "head", "layer")]
        ranks = [*numbers, frame.pop("place"), frame["region"].notna(), frame.pop("source")]
        order = np.lexsort([np.asarray(rank, np.int64) for rank in ranks])
        study = self.manifest["study"]["name"]
        return frame.iloc[order].reset_index(drop=True).assign(study=study, check="")[_IMAGE]

    def _rank_sources(self, rows: pd.DataFrame) -> list[int]:
        """Return for each row which of the manifest's sources it is of."""
        sources = enumerate(self.manifest["sources"])
        ranks = {repr([one[key] for key in _SOURCE]): rank for rank, one in sources}
        plain = rows[list(_SOURCE)].astype(object)
        keys = plain.where(plain.notna(), None).to_numpy().tolist()
        return [ranks[repr(key)] for key in keys]

    def wide_frame(self, table: str, dtype_backend: str | None) -> pd.DataFrame:
        """Return a table of scores with a row per map or region, as `Results.scores` does."""
        import pandas as pd

        columns = [name for name in self.columns(table) if name not in ("roc", "pr")]
        known = {"model": f"{full_model()} AS model", "undefined": f"{CONDITIONS_SQL} AS undefined"}
        some = ", ".join(known.get(name, f'"{name}"') for name in columns)
        keys = ", ".join(f'"{key}" NULLS FIRST' for key in KEYS[table])
        found = self.arrow(f"SELECT {some} FROM {_stored(table)} ORDER BY {keys}")
        if dtype_backend == "pyarrow":
            frame: pd.DataFrame = found.to_pandas(types_mapper=pd.ArrowDtype)
            return frame
        return to_frame(found)

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
        return run_select(self._public(sql).cursor(), sql, self._files, seconds)

    def batches(self, view: str) -> Iterator[pa.RecordBatch]:
        """Yield a whole view, part by part; scores in the order of chunks of images, then keys."""
        for sql in self._parts(view):
            connection = self._public(view)
            self._check_bytes(sql)
            with self.naming_damage():
                yield from batches(connection.cursor(), sql)

    def _parts(self, view: str) -> Iterator[str]:
        """Yield the queries that find a whole view, one after the other."""
        if view != "scores_long":
            yield f"SELECT * FROM {view}"
            return
        order = ", ".join(f'"{key}" NULLS FIRST' for key in LONG_KEYS)
        for chunk in sorted({int(task.partition("-")[0]) for task in self.tasks}):
            of_chunk = f"image IN (SELECT image FROM images WHERE chunk = {chunk})"
            yield f"SELECT * FROM ({self.long_sql(of_chunk)}) ORDER BY {order}"
        others = self.long_sql("image NOT IN (SELECT image FROM images)")
        yield f"SELECT * FROM ({others}) ORDER BY {order}"

    def naming_damage(self) -> AbstractContextManager[None]:
        """Name the file that is to blame for an error while the views are read."""
        return naming_damage(self._files)

    def close(self) -> None:
        """Let go of the data base and the files; what is asked next opens them again."""
        connection = self.__dict__.get("_connection")
        self._forget()
        if connection is not None:
            connection.close()

    def _forget(self) -> None:
        """Have the next query open the data base again."""
        self._preloaded = self._has_views = self._has_leaderboard = False
        self._checked = set()
        self._at_hand = {}
        self.__dict__.pop("_connection", None)


def _melt(wide: pd.DataFrame, names: Mapping[Name, Mapping[str, float]]) -> pd.DataFrame:
    """Return rows with columns of several scores as a row per score, without those not computed.

    `names` are the scores, and what stands beside them and is the same in all rows.
    """

    def join(kind: str) -> NDArray[Any]:
        parts = [
            np.full(len(wide), constants[kind])
            if kind in constants
            else wide[f"{name}|{kind}"].to_numpy()
            for name, constants in names.items()
        ]
        return np.concatenate(parts) if parts else np.empty(0)

    def spread(texts: Sequence[Any]) -> NDArray[Any]:
        return np.repeat(np.array(texts, object), len(wide))

    keys = wide[[name for name in map(str, wide.columns) if "|" not in name]]
    frame = keys.take(np.tile(np.arange(len(wide)), len(names))).reset_index(drop=True)
    area, visible = frame.pop("area"), frame.pop("visible")
    frame["metric"] = spread([name.metric for name in names])
    frame["threshold"] = spread([name.threshold for name in names])
    frame["value"] = join("value")
    frame["area"], frame["visible"] = area, visible
    frame["name"] = spread([str(name) for name in names])
    for kind in BESIDE:
        values = join(kind).astype(float)
        known = np.ones(len(values), bool) if kind == "selected" else frame["value"].notna()
        frame[kind] = np.where(known, values, np.nan)
    frame["place"] = np.repeat(np.arange(len(names)), len(wide))
    frame = frame[join("stored").astype(bool)]
    conditions, pixels = frame.pop("undefined").to_numpy(), frame.pop("pixels").to_numpy()
    undefined = np.full(len(frame), "", object)
    texts, selected = frame["name"].to_numpy(), frame["selected"].to_numpy()
    for row in np.flatnonzero(frame["value"].isna()):
        facts = int(conditions[row]), int(pixels[row]), float(selected[row])
        undefined[row] = explain_undefined(str(texts[row]), *facts)
    return frame.assign(undefined=undefined)


def _stored(table: str) -> str:
    """Return the name under which a table as stored is read."""
    return f"stored.{table}"


def _high_first(token: str) -> tuple[float, str]:
    """Sort percentiles from high to low, other thresholds behind them."""
    try:
        return -float(token), ""
    except ValueError:
        return 1.0, token
