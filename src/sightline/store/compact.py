"""Sorted copies of the results tables under `cache/`, which are quicker to read than the shards.

They are derived: each part names the shards that it was made of, with their sizes and times, and is
ignored as soon as one of them differs. The folder may be deleted at any time.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from hashlib import sha256
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sightline.core import InputError
from sightline.store.checksums import check_file, check_files
from sightline.store.files import make_folder, open_plain
from sightline.store.lock import hold, is_held
from sightline.store.schema import KEYS
from sightline.store.shards import write_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa
    from numpy.typing import NDArray

    from sightline.store.folder import Store

__all__ = ["compact", "compact_for_reading", "list_files"]

PART_BYTES = 128 << 20
"""Shards of at most so many bytes, not compressed, become one part."""
UNCOVERED = 64
"""Shards without a part from which on a reader makes them."""
ROW_GROUP = 1 << 14
_TABLES = ("scores", "region_scores")
_SHARDS = "sightline-shards"
_PART = re.compile(r"(scores|region_scores)-\d{6,}-[0-9a-f]{16}\.parquet")


_NO_STAMPS = (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError)


class _Part(NamedTuple):
    """A file under `cache/`, and the stamps of the shards that it was made of."""

    path: Path
    stamps: dict[str, list[int]]


def compact(store: Store, tasks: Sequence[str]) -> None:
    """Write sorted copies of the tables of some tasks; those that fit already stay.

    Parameters
    ----------
    store : Store
        The run.
    tasks : sequence of str
        Those of its manifest that are stored.
    """
    make_folder(store.cache)
    for table in _TABLES:
        wanted = set()
        for group in _group_tasks(store, table, tasks):
            stamps = {task: _stamp(_shard(store, table, task)) for task in group}
            told = json.dumps(stamps)
            digest = sha256(told.encode()).hexdigest()[:16]  # readers may still have the one before
            path = store.cache / f"{table}-{group[0].partition('-')[0]}-{digest}.parquet"
            wanted.add(path)
            part = _read_part(path)
            if part is None or part.stamps != stamps or check_file(path) != "sound":
                shards = [_shard(store, table, task) for task in group]
                about = {_SHARDS: told}
                write_table(
                    path,
                    _sort(_read_shards(shards), table),
                    kind="cache",
                    about=about,
                    row_group=ROW_GROUP,
                )
        for path in store.cache.glob(f"{table}-*.parquet"):
            if _PART.fullmatch(path.name) and path not in wanted:
                path.unlink(missing_ok=True)


def compact_for_reading(store: Store, tasks: Sequence[str]) -> None:
    """Write sorted copies where many are missing, nobody writes, and this process may write."""
    if len(tasks) <= UNCOVERED or is_held(store.lock_path):
        return
    files = list_files(store, "scores", tasks)
    if sum(path.parent == store.scores for path in files) <= UNCOVERED:
        return
    # A folder that is read-only, another reader that is faster, too little memory.
    with suppress(OSError, InputError, MemoryError):
        make_folder(store.cache)
        with hold(store.cache / "lock"):
            compact(store, tasks)


def list_files(store: Store, table: str, tasks: Sequence[str]) -> list[Path]:
    """Return the files that hold a table of some tasks: parts that fit, and the other shards."""
    if table not in _TABLES:
        return [_shard(store, table, task) for task in tasks]
    wanted, covered, files = set(tasks), set[str](), []
    for part in _list_parts(store, table):
        names = part.stamps.keys()
        fits = bool(names) and wanted.issuperset(names) and covered.isdisjoint(names)
        if fits and _is_current(store, table, part) and check_file(part.path) == "sound":
            files.append(part.path)
            covered |= part.stamps.keys()
    return [*files, *(_shard(store, table, task) for task in tasks if task not in covered)]


def _group_tasks(store: Store, table: str, tasks: Iterable[str]) -> Iterator[list[str]]:
    """Yield the tasks of neighbouring chunks of images whose rows have at most `PART_BYTES`.

    Tasks with a damaged shard are left out: readers name it.
    """
    shards = {_shard(store, table, task): task for task in tasks}
    states = check_files(shards)
    sound = sorted(task for path, task in shards.items() if states[path] in ("sound", "bare"))
    group: list[str] = []
    size = 0
    for _, chunk in groupby(sound, key=lambda task: task.partition("-")[0]):
        own = list(chunk)
        bytes_ = sum(_count_bytes(_shard(store, table, task)) for task in own)
        if group and size + bytes_ > PART_BYTES:
            yield group
            group, size = [], 0
        group += own
        size += bytes_
    if group:
        yield group


def _count_bytes(shard: Path) -> int:
    """Return how many bytes the rows of a shard have, not compressed."""
    import pyarrow.parquet as pq

    about = pq.read_metadata(shard)
    return sum(about.row_group(k).total_byte_size for k in range(about.num_row_groups))


def _shard(store: Store, table: str, task: str) -> Path:
    folder: Path = getattr(store, table)
    return folder / f"{task}.parquet"


def _stamp(shard: Path) -> list[int]:
    """Return size and time of a shard: another file has another."""
    state = shard.stat()
    return [state.st_size, state.st_mtime_ns]


def _is_current(store: Store, table: str, part: _Part) -> bool:
    """Return whether the shards of a part are those that it was made of."""
    try:
        return all(
            _stamp(_shard(store, table, task)) == stamp for task, stamp in part.stamps.items()
        )
    except OSError:
        return False


def _list_parts(store: Store, table: str) -> Iterator[_Part]:
    if store.cache.is_symlink() or not store.cache.is_dir():
        return
    for path in sorted(store.cache.glob(f"{table}-*.parquet")):
        part = _read_part(path) if _PART.fullmatch(path.name) else None
        if part is not None:
            yield part


def _read_part(path: Path) -> _Part | None:
    """Return what a part says of itself; None for what is none."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with open_plain(path) as file:
            about: Mapping[bytes, bytes] = pq.read_metadata(file).metadata or {}
        stamps = json.loads(about[_SHARDS.encode()])
        return _Part(
            path, {str(task): [int(one) for one in stamp] for task, stamp in stamps.items()}
        )
    except (pa.ArrowException, OSError, *_NO_STAMPS):
        return None


def _read_shards(shards: Sequence[Path]) -> pa.Table:
    import pyarrow as pa
    import pyarrow.parquet as pq

    texts = ["image", "model", "variant", "method", "target", "rules", "level", "label"]
    tables = [pq.read_table(shard, read_dictionary=texts, partitioning=None) for shard in shards]
    tables = [table.replace_schema_metadata(None) for table in tables]
    return pa.concat_tables(tables, promote_options="default").unify_dictionaries()


def _sort(table: pa.Table, name: str) -> pa.Table:
    """Return rows in the order of their keys, null first."""
    import pyarrow as pa

    order = pa.array(np.lexsort([_rank(table.column(key)) for key in reversed(KEYS[name])]))
    # One column after the other, lest all of them be held three times.
    columns = [column.combine_chunks().take(order) for column in table.columns]
    return pa.Table.from_arrays(columns, schema=table.schema)


def _rank(column: pa.ChunkedArray) -> NDArray[np.int64]:
    """Return numbers that sort like a column of keys."""
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        numbers: NDArray[np.int64] = column.fill_null(-1).to_numpy().astype(np.int64)
        return numbers
    array = column.combine_chunks()
    values = np.array([value.encode() for value in array.dictionary.to_pylist()], object)
    ranks = np.append(np.argsort(np.argsort(values)), -1)
    ranked: NDArray[np.int64] = ranks[array.indices.fill_null(-1).to_numpy()]
    return ranked
