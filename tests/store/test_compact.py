"""Sorted copies of the results tables: the rows of the shards, or nobody reads them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from sightline.core import InputError, kill_points
from sightline.results import open_results, results_digest
from sightline.store import Store, create_store, hold, task_name, write_table
from sightline.store import compact as compaction
from sightline.store.checksums import check_file
from sightline.store.compact import compact, list_files
from sightline.store.schema import (
    KEYS,
    build_checks_schema,
    build_region_scores_schema,
    build_scores_schema,
)
from sightline.store.verify import verify_store
from sightline.study import run_study
from tests.results.stores import KINDS, make_store
from tests.study.executors.studies import given_study

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import pandas as pd

TABLES = ("scores", "region_scores")
SHARDS = b"sightline-shards"
COLUMNS = ("iou@90", "coverage")
# Values whose bits are to stay: two kinds of NaN, zeros of both signs, the smallest number.
ODD = np.array([0x7FF8000000000001, 0xFFF8000000000000, 0, 1 << 63, 1], np.uint64).view(np.float64)
# Texts whose order is that of their bytes, not that of a dictionary of words.
MODELS = ("demo/vit", "Zebra", "äpfel", "a", "zoo", "")
_NAMES = ("model", "variant", "method", "group", "target", "seed", "check", "layers", "heads")
SOURCE: dict[str, Any] = dict.fromkeys((*_NAMES, "rules"))

Row = tuple[Any, ...]


# --- small runs ----------------------------------------------------------------------------------


def build_table(kind: str, images: Sequence[str], seed: int, columns: Iterable[str]) -> pa.Table:
    """Return rows in no order, with every kind of value that a column may hold."""
    rng = np.random.default_rng(seed)
    count = 24
    build = build_scores_schema if kind == "scores" else build_region_scores_schema
    schema = build(columns)
    keys = {
        "image": [images[k % len(images)] for k in range(count)],
        "model": [MODELS[k % len(MODELS)] for k in range(count)],
        "variant": ["", "seed2"] * (count // 2),
        "method": [f"method-{seed}"] * count,
        "target": [""] * count,
        "layer": [None, 0, 11, 2] * (count // 4),
        "head": [None if k < 12 else k for k in range(count)],
        "seed": [None] * count,
        "rules": ["00000001"] * count,
        "region": list(range(count)),
        "level": ["region", "label"] * (count // 2),
        "label": ["window", "Ω", ""] * (count // 3),
    }
    data: dict[str, Any] = {}
    for field in schema:
        if field.name in keys:
            data[field.name] = pa.array(keys[field.name]).cast(field.type)
        elif pa.types.is_list(field.type):
            lists = [rng.random(k % 4, np.float32) for k in range(count)]
            lists[3] = np.array([np.nan, -0.0, 1], np.float32)
            gone = [None if k % 5 == 1 else points for k, points in enumerate(lists)]
            data[field.name] = pa.array(gone, field.type)
        elif pa.types.is_floating(field.type):
            values = rng.random(count).astype(field.type.to_pandas_dtype())
            values[: len(ODD)] = ODD
            data[field.name] = pa.array(values, field.type, mask=rng.random(count) < 0.2)
        else:
            data[field.name] = pa.array(rng.integers(0, 5, count), field.type)
    table = pa.table(data, schema=schema)
    return table.take(pa.array(rng.permutation(count)))


def name_task(key: str, chunk: int) -> str:
    return task_name(key, chunk, f"d{chunk}")


def write_task(
    store: Store, key: str, chunk: int, *, seed: int | None = None, columns: Any = COLUMNS
) -> str:
    """Write the shards of a task."""
    name = name_task(key, chunk)
    images = [f"image-{chunk}-{k}.png" for k in range(3)]
    seed = 10 * chunk + sum(key.encode()) if seed is None else seed
    for table in reversed(TABLES):
        rows = build_table(table, images, seed, columns)
        write_table(shard(store, table, name), rows, kind=table)
    return name


def shard(store: Store, table: str, task: str) -> Path:
    return store.score_file(task) if table == "scores" else store.region_file(task)


def make_run(folder: Path, *, keys: Sequence[str] = ("k1", "k2"), chunks: int = 3) -> Store:
    """Write a run of some sources, all tasks of which are done."""
    store = create_store(folder)
    save_manifest(store, keys, chunks)
    for chunk in range(chunks):
        for key in keys:
            write_task(store, key, chunk)
    return store


def save_manifest(store: Store, keys: Sequence[str], chunks: int) -> None:
    sources = [{**SOURCE, "key": key} for key in keys]
    parts = [{"images": 3, "digest": f"d{chunk}"} for chunk in range(chunks)]
    store.save_manifest({"sources": sources, "chunks": parts})


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return make_run(tmp_path / "run")


def list_parts(store: Store, table: str) -> list[Path]:
    return sorted(store.cache.glob(f"{table}-*.parquet"))


def list_shards(store: Store, table: str, tasks: Iterable[str]) -> list[Path]:
    return [shard(store, table, task) for task in tasks]


def read_stamps(part: Path) -> dict[str, Any]:
    """Return what a part says of its shards."""
    found: dict[str, Any] = json.loads(pq.read_metadata(part).metadata[SHARDS])
    return found


# --- rows, of which every bit counts -------------------------------------------------------------


def read_rows(files: Iterable[Path], columns: Iterable[str] | None = None) -> list[Row]:
    """Return the rows of some files: numbers as their bits, with what is null as None."""
    tables = [pq.read_table(file, partitioning=None) for file in files]
    names = columns or list(dict.fromkeys(name for table in tables for name in table.column_names))
    return [row for table in tables for row in _read_rows(table, names)]


def _read_rows(table: pa.Table, names: Iterable[str]) -> list[Row]:
    columns = [
        _read_column(table[name].combine_chunks())
        if name in table.column_names
        else [None] * table.num_rows
        for name in names
    ]
    return list(zip(*columns, strict=True))


def _read_column(column: pa.Array) -> list[Any]:
    if pa.types.is_list(column.type):
        points, lengths = iter(_read_column(column.flatten())), pc.list_value_length(column)
        counts = lengths.to_pylist()
        return [None if n is None else tuple(next(points) for _ in range(n)) for n in counts]
    if not pa.types.is_floating(column.type):
        return column.to_pylist()  # type: ignore[no-any-return]
    values = column.fill_null(0).to_numpy(zero_copy_only=False)
    bits = values.view(np.uint64 if values.dtype == np.float64 else np.uint32).tolist()
    return [bit if there else None for bit, there in zip(bits, column.is_valid(), strict=True)]


def sort_rows(rows: Iterable[Row], keys: Sequence[str]) -> list[Row]:
    """Sort rows by their first columns, which are the keys; null is first, texts by their bytes."""

    def rank(row: Row) -> list[Any]:
        texts = [one.encode() if isinstance(one, str) else one for one in row[: len(keys)]]
        return [(one is not None, one) for one in texts]

    return sorted(rows, key=rank)


def check_files(store: Store, tasks: Sequence[str]) -> None:
    """Check that the files of some tasks hold the rows of their shards, each once."""
    for table in TABLES:
        names = pq.read_schema(shard(store, table, tasks[0])).names
        found = read_rows(list_files(store, table, tasks), names)
        assert Counter(found) == Counter(read_rows(list_shards(store, table, tasks), names)), table


def test_a_missing_value_is_told_from_one_that_is_no_number() -> None:
    """The reader of these tests looks at bits."""
    table = pa.table({"value": pa.array([np.nan, None, 0.0, -0.0, *ODD[:2]], pa.float64())})
    assert len(set(_read_rows(table, ["value"]))) == 6
    lists = pa.table({"value": pa.array([[None], [], None, [0.0]], pa.list_(pa.float64()))})
    assert _read_rows(lists, ["value"]) == [((None,),), ((),), (None,), ((0,),)]


# --- what parts hold -----------------------------------------------------------------------------


@pytest.mark.parametrize("table", TABLES)
def test_a_part_holds_the_rows_of_its_shards_in_the_order_of_their_keys(
    store: Store, table: str
) -> None:
    compact(store, store.tasks())
    shards = list_shards(store, table, store.tasks())
    (part,) = list_parts(store, table)
    assert list_files(store, table, store.tasks()) == [part]
    found, expected = read_rows([part]), read_rows(shards)
    assert pq.read_schema(part).names == pq.read_schema(shards[0]).names
    assert len(found) == len(expected) == 6 * 24
    keys = KEYS[table]
    assert found == sort_rows(expected, keys)
    assert found != expected
    assert len({row[: len(keys)] for row in found}) == len(found)  # no ties whose order is free


@pytest.mark.parametrize("table", TABLES)
def test_columns_have_the_types_of_the_shards_and_odd_values_their_bits(
    store: Store, table: str
) -> None:
    compact(store, store.tasks())
    (part,) = list_parts(store, table)
    types = pq.read_schema(list_shards(store, table, store.tasks())[0]).types
    assert pq.read_schema(part).types == types
    found = pq.read_table(part)["iou@90"]
    assert 0 < found.null_count < found.length()
    bits = {value for (value,) in read_rows([part], ["iou@90"])}
    assert bits >= {*ODD.view(np.uint64).tolist()}


def test_a_part_is_a_file_of_the_store(store: Store) -> None:
    """It has a checksum, a number of scores, groups that can be skipped, and names its shards."""
    compact(store, store.tasks())
    for table in TABLES:
        (part,) = list_parts(store, table)
        assert check_file(part) == "sound"
        shards = {task: shard(store, table, task).stat() for task in store.tasks()}
        expected = {task: [one.st_size, one.st_mtime_ns] for task, one in shards.items()}
        assert read_stamps(part) == expected
        statistics = pq.read_metadata(part).row_group(0).column(0).statistics
        assert statistics.min == "image-0-0.png"
        assert statistics.max == "image-2-2.png"
    assert verify_store(store.path).foreign == []


def test_rows_are_in_groups_of_a_fixed_size(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "ROW_GROUP", 100)
    compact(store, store.tasks())
    (part,) = list_parts(store, "scores")
    found = pq.read_metadata(part)
    sizes = [found.row_group(k).num_rows for k in range(found.num_row_groups)]
    assert sizes == [100, 44]


def test_shards_of_other_columns_are_joined_and_what_they_lack_is_null(tmp_path: Path) -> None:
    """Maps with a sign have no IoU; their study has it for the others."""
    store = make_run(tmp_path / "run", keys=("k1",), chunks=1)
    save_manifest(store, ("k1", "k2"), 1)
    write_task(store, "k2", 0, columns=["coverage", "kl"])
    compact(store, store.tasks())
    for table in TABLES:
        (part,) = list_parts(store, table)
        names = pq.read_schema(part).names
        assert {"iou@90", "coverage", "kl"} <= {*names}
        shards = list_shards(store, table, store.tasks())
        assert read_rows([part]) == sort_rows(read_rows(shards, names), KEYS[table])


def test_a_run_without_rows_has_parts_without_rows(tmp_path: Path) -> None:
    store = make_run(tmp_path / "run", keys=("k1",), chunks=1)
    (task,) = store.tasks()
    write_table(store.score_file(task), build_scores_schema(COLUMNS).empty_table(), kind="scores")
    regions = build_region_scores_schema(COLUMNS).empty_table()
    write_table(store.region_file(task), regions, kind="region_scores")
    compact(store, [task])
    for table in TABLES:
        (part,) = list_parts(store, table)
        assert list_files(store, table, [task]) == [part]
        assert pq.read_table(part).num_rows == 0
        assert pq.read_schema(part) == pq.read_schema(shard(store, table, task))


def test_nothing_stored_makes_no_parts(tmp_path: Path) -> None:
    store = create_store(tmp_path / "run")
    compact(store, [])
    for table in TABLES:
        assert list_parts(store, table) == []
        assert list_files(store, table, []) == []


def test_checks_are_read_where_they_lie(store: Store) -> None:
    task = name_task("k3", 0)
    write_table(store.check_file(task), build_checks_schema((), ()).empty_table(), kind="checks")
    compact(store, store.tasks())
    assert list_files(store, "checks", [task]) == [store.check_file(task)]
    assert not list_parts(store, "checks")


# --- ranges of chunks ----------------------------------------------------------------------------


def measure(store: Store, table: str, tasks: Iterable[str]) -> int:
    return sum(compaction._count_bytes(shard(store, table, task)) for task in tasks)


@pytest.mark.parametrize("chunks", [0.9, 1.4, 1.8, 2.6, 3.1, 5.5])
@pytest.mark.parametrize("table", TABLES)
def test_parts_hold_ranges_of_chunks_of_a_limited_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: str, chunks: float
) -> None:
    """A part is larger only where a single chunk is."""
    store = make_run(tmp_path / "run", keys=("k1", "k2", "k3"), chunks=5)
    size = measure(store, table, store.tasks())
    most = int(size / 5 * chunks)
    monkeypatch.setattr(compaction, "PART_BYTES", most)
    compact(store, store.tasks())
    parts = list_parts(store, table)
    assert sorted(list_files(store, table, store.tasks())) == parts
    ranges = []
    for part in parts:
        tasks = read_stamps(part)
        found = sorted({int(task.partition("-")[0]) for task in tasks})
        assert {*tasks} == {task for chunk in found for task in store.tasks(chunk)}
        assert len(found) == 1 or measure(store, table, tasks) <= most
        assert part.name.startswith(f"{table}-{found[0]:06}")
        ranges.append(found)
    assert [chunk for some in ranges for chunk in some] == list(range(5))
    for first, second in pairwise(ranges):  # no part is smaller than it need be
        together = [task for chunk in (*first, second[0]) for task in store.tasks(chunk)]
        assert measure(store, table, together) > most
    names = pq.read_schema(shard(store, table, store.tasks()[0])).names
    found_rows = Counter(read_rows(parts, names))
    assert found_rows == Counter(read_rows(list_shards(store, table, store.tasks()), names))


def test_a_part_of_one_range_alone_is_made_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "PART_BYTES", 1)
    compact(store, store.tasks())
    before = {table: read_states(list_parts(store, table)) for table in TABLES}
    assert [len(parts) for parts in before.values()] == [3, 3]
    write_task(store, "k2", 1, seed=99)
    for table in TABLES:
        files = list_files(store, table, store.tasks())
        assert len(files) == 2 + 2  # parts of two chunks, and the shards of the other
        assert {*files} >= {*list_shards(store, table, store.tasks(1))}
    check_files(store, store.tasks())
    compact(store, store.tasks())
    for table in TABLES:
        after = read_states(list_parts(store, table))
        assert len(after) == 3
        assert len({*before[table].values()} & {*after.values()}) == 2
    check_files(store, store.tasks())


def read_states(files: Iterable[Path]) -> dict[str, tuple[int, int]]:
    """Return of each file what changes when it is written again."""
    return {file.name: (file.stat().st_ino, file.stat().st_mtime_ns) for file in files}


# --- again and again -----------------------------------------------------------------------------


def test_unchanged_shards_are_not_written_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = store.tasks()
    compact(store, tasks)
    before = read_states(store.cache.iterdir())
    reached: list[str] = []
    monkeypatch.setattr(kill_points, "hook", reached.append)
    compact(store, tasks[::-1])
    assert reached == []
    assert read_states(store.cache.iterdir()) == before


def test_more_tasks_make_another_part_and_fewer_too(store: Store) -> None:
    tasks = store.tasks()
    for some in (tasks[:3], tasks, tasks[2:]):
        compact(store, some)
        for table in TABLES:
            (part,) = list_parts(store, table)
            assert {*read_stamps(part)} == {*some}
        check_files(store, some)


def test_a_lost_part_is_made_again_with_the_same_bytes(store: Store) -> None:
    compact(store, store.tasks())
    (part,) = list_parts(store, "scores")
    content = part.read_bytes()
    part.unlink()
    compact(store, store.tasks())
    assert list_parts(store, "scores") == [part]
    assert part.read_bytes() == content


def test_parts_of_chunks_that_are_gone_are_removed(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "PART_BYTES", 1)
    compact(store, store.tasks())
    mine = store.cache / "notes.txt"
    mine.touch()
    save_manifest(store, ("k1", "k2"), 2)
    compact(store, store.tasks())
    for table in TABLES:
        assert len(list_parts(store, table)) == 2
    assert mine.exists()


# --- stale parts ---------------------------------------------------------------------------------


def rewrite(store: Store, task: str) -> None:
    """Make a task again, with other scores."""
    chunk = int(task.partition("-")[0])
    write_task(store, "k1" if name_task("k1", chunk) == task else "k2", chunk, seed=77)


def touch(store: Store, task: str) -> None:
    for table in TABLES:
        path = shard(store, table, task)
        os.utime(path, ns=(0, path.stat().st_mtime_ns + 1))


def remove(store: Store, task: str) -> None:
    for table in TABLES:
        shard(store, table, task).unlink()


def drop_source(store: Store, task: str) -> None:
    del task
    save_manifest(store, ("k1",), 3)


STALE: dict[str, Callable[[Store, str], None]] = {
    "a shard was made again": rewrite,
    "a shard has another time": touch,
    "a shard was removed": remove,
    "a task is not in the manifest": drop_source,
}


@pytest.mark.parametrize("case", STALE)
def test_stale_parts_are_not_read_and_replaced(store: Store, case: str) -> None:
    compact(store, store.tasks())
    before = {table: list_parts(store, table)[0].read_bytes() for table in TABLES}
    STALE[case](store, store.tasks()[3])
    tasks = [task for task in store.tasks() if task in store.done()]
    for table in TABLES:
        assert list_files(store, table, tasks) == list_shards(store, table, tasks), table
    compact(store, tasks)
    for table in TABLES:
        (part,) = list_parts(store, table)
        assert list_files(store, table, tasks) == [part]
        assert part.read_bytes() != before[table]
        assert {*read_stamps(part)} == {*tasks}
    check_files(store, tasks)


def test_new_tasks_are_read_beside_the_part_of_the_others(store: Store) -> None:
    compact(store, store.tasks())
    old = store.tasks()
    save_manifest(store, ("k1", "k2", "k3"), 3)
    new = write_task(store, "k3", 1)
    tasks = [task for task in store.tasks() if task in store.done()]
    assert tasks != [*old, new]
    for table in TABLES:
        (part,) = list_parts(store, table)
        assert list_files(store, table, tasks) == [part, shard(store, table, new)]
    check_files(store, tasks)


def test_the_parts_of_one_table_say_nothing_of_the_other(store: Store) -> None:
    compact(store, store.tasks())
    list_parts(store, "scores")[0].unlink()
    tasks = store.tasks()
    assert list_files(store, "scores", tasks) == list_shards(store, "scores", tasks)
    assert list_files(store, "region_scores", tasks) == list_parts(store, "region_scores")


def test_a_shard_that_changes_while_it_is_read_makes_its_part_stale(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A part never claims shards that came after the rows it holds."""
    changed: list[str] = []

    def change(point: str) -> None:
        if point == "cache:opened" and not changed:
            changed.append(store.tasks()[2])
            rewrite(store, changed[0])

    monkeypatch.setattr(kill_points, "hook", change)
    compact(store, store.tasks())
    monkeypatch.undo()
    assert changed
    check_files(store, store.tasks())
    compact(store, store.tasks())
    assert list_files(store, "scores", store.tasks()) == list_parts(store, "scores")
    check_files(store, store.tasks())


# --- parts that are none -------------------------------------------------------------------------


def flip(part: Path) -> None:
    content = bytearray(part.read_bytes())
    content[len(content) // 3] ^= 4
    part.write_bytes(content)


def cut(part: Path) -> None:
    part.write_bytes(part.read_bytes()[:-20])


def cut_half(part: Path) -> None:
    part.write_bytes(part.read_bytes()[: part.stat().st_size // 2])


def empty(part: Path) -> None:
    part.write_bytes(b"")


def put_text(part: Path) -> None:
    part.write_text("scores of my own")


def put_shard(part: Path) -> None:
    """Put a sound shard under the name of a part."""
    table = part.name.partition("-")[0]
    shutil.copyfile(next((part.parents[1] / table).iterdir()), part)


def put_part_of_another_name(part: Path) -> None:
    part.rename(part.with_name(part.name.replace("000000", "000007")))


def put_bare_part(part: Path) -> None:
    """Put the rows and the shards of a part into a file without a checksum, less one row."""
    table = pq.read_table(part).replace_schema_metadata(None).slice(1)
    stamps = pq.read_metadata(part).metadata[SHARDS]
    pq.write_table(table.replace_schema_metadata({SHARDS: stamps}), part)


def claim(text: str) -> Callable[[Path], None]:
    """Return what puts another text in place of the names of the shards, and seals that."""

    def put(part: Path) -> None:
        table = pq.read_table(part).replace_schema_metadata(None)
        write_table(part, table, kind="cache", about={SHARDS.decode(): text})

    return put


def put_folder(part: Path) -> None:
    part.unlink()
    part.mkdir()


def put_lost_link(part: Path) -> None:
    part.unlink()
    part.symlink_to("nowhere")


def put_device(part: Path) -> None:
    part.unlink()
    part.symlink_to("/dev/zero")


BROKEN: dict[str, Callable[[Path], None]] = {
    "a bit flipped": flip,
    "its end is gone": cut,
    "half of it is gone": cut_half,
    "empty": empty,
    "text": put_text,
    "a shard": put_shard,
    "another name": put_part_of_another_name,
    "no checksum": put_bare_part,
    "no shards": claim("{}"),
    "no JSON": claim("{"),
    "a list": claim("[1]"),
    "a number": claim("5"),
    "names without stamps": claim('{"a": 5}'),
    "stamps that are texts": claim('{"a": ["x"]}'),
    "stamps without end": claim('{"a": [Infinity]}'),
    "a deep list": claim("[" * 100_000),
    "a lost link": put_lost_link,
    "a device": put_device,
}


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("case", BROKEN)
def test_what_is_no_part_is_not_read_and_replaced(store: Store, table: str, case: str) -> None:
    tasks = store.tasks()
    compact(store, tasks)
    (part,) = list_parts(store, table)
    BROKEN[case](part)
    assert list_files(store, table, tasks) == list_shards(store, table, tasks)
    compact(store, tasks)
    (made,) = list_files(store, table, tasks)
    assert made.parent == store.cache
    assert check_file(made) == "sound"
    check_files(store, tasks)


LIST = """
import sys
from sightline.store import Store
from sightline.store.compact import compact, list_files

store = Store(sys.argv[1])
print(*list_files(store, "scores", store.tasks()), sep="\\n")
compact(store, store.tasks())
"""


def test_a_pipe_is_not_waited_for(store: Store) -> None:
    tasks = store.tasks()
    compact(store, tasks)
    (part,) = list_parts(store, "scores")
    part.unlink()
    os.mkfifo(part)
    command = [sys.executable, "-c", LIST, str(store.path)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout.split() == [str(path) for path in list_shards(store, "scores", tasks)]
    assert list_files(store, "scores", tasks) == list_parts(store, "scores")


def test_a_folder_of_the_name_of_a_part_is_left_alone(store: Store) -> None:
    tasks = store.tasks()
    compact(store, tasks)
    (part,) = list_parts(store, "scores")
    put_folder(part)
    (part / "mine.txt").write_text("mine")
    check_files(store, tasks)
    with pytest.raises(OSError, match="directory"):
        compact(store, tasks)
    check_files(store, tasks)
    assert (part / "mine.txt").read_text() == "mine"


@pytest.mark.parametrize(
    "name", ["scores-000000.csv", "scores-000000.parquet~", "scores-0.parquet"]
)
def test_files_of_other_names_are_nobodys(store: Store, name: str) -> None:
    compact(store, store.tasks())
    (part,) = list_parts(store, "scores")
    other = store.cache / name
    part.rename(other)
    tasks = store.tasks()
    assert list_files(store, "scores", tasks) == list_shards(store, "scores", tasks)
    content = other.read_bytes()
    compact(store, tasks)
    assert other.read_bytes() == content
    check_files(store, tasks)


def test_two_parts_that_claim_one_shard_are_not_both_read(store: Store) -> None:
    compact(store, store.tasks())
    (part,) = list_parts(store, "scores")
    (first,) = list_files(store, "scores", store.tasks())
    twin = part.with_name(part.name.replace("000000", "000001"))
    table = pq.read_table(part).replace_schema_metadata(None)
    about = {SHARDS.decode(): json.dumps(read_stamps(part))}
    write_table(twin, table, kind="cache", about=about)
    assert list_files(store, "scores", store.tasks()) == [first]


@pytest.mark.parametrize("kind", ["link", "file"])
def test_the_cache_is_a_folder_of_the_run(store: Store, tmp_path: Path, kind: str) -> None:
    """Through a link, files elsewhere would be written."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    store.cache.rmdir()
    (store.cache.symlink_to if kind == "link" else store.cache.write_text)(str(elsewhere))
    with pytest.raises(InputError, match=f"cache: must be a folder of its own, is a {kind}"):
        compact(store, store.tasks())
    assert list(elsewhere.iterdir()) == []
    check_files(store, store.tasks())


# --- damaged shards ------------------------------------------------------------------------------


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("damage", [flip, cut, empty, Path.unlink], ids=lambda one: one.__name__)
def test_damaged_shards_go_into_no_part(
    store: Store, table: str, damage: Callable[[Path], object]
) -> None:
    """A part would have a checksum of its own, and hide the damage for good."""
    tasks = store.tasks()
    bad = shard(store, table, tasks[2])
    damage(bad)
    compact(store, tasks)
    (part,) = list_parts(store, table)
    assert {*read_stamps(part)} == {*tasks} - {tasks[2]}
    assert list_files(store, table, tasks) == [part, bad]
    for key in ("k1", "k2"):  # one of which is that task
        write_task(store, key, 1)
    assert check_file(bad) == "sound"
    compact(store, tasks)
    assert list_files(store, table, tasks) == list_parts(store, table)
    check_files(store, tasks)


# --- readers -------------------------------------------------------------------------------------


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers make parts of small runs."""
    monkeypatch.setattr(compaction, "UNCOVERED", 3)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of 8 tasks, none of which has a part."""
    return make_store(tmp_path_factory.mktemp("made") / "run", count=6, kinds=KINDS[1:5]).path


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    """A copy of that run without the folder of parts."""
    return shutil.copytree(made, tmp_path / "run", ignore=shutil.ignore_patterns("cache"))


QUERIES = (
    "SELECT * FROM scores ORDER BY ALL",
    "SELECT * FROM region_scores ORDER BY ALL",
    "SELECT * FROM scores_long ORDER BY ALL",
)


def read_answers(path: Path) -> dict[str, pd.DataFrame]:
    with open_results(path) as results:
        found = {sql: results.query(sql) for sql in QUERIES}
        found |= {name: results.leaderboard(name) for name in ("iou@90", "coverage")}
        found["regions"] = results.feature_breakdown(method="cls")
        found["image"] = results.image("image03")
        return found


def check_answers(found: dict[str, pd.DataFrame], expected: dict[str, pd.DataFrame]) -> None:
    from pandas.testing import assert_frame_equal

    assert found.keys() == expected.keys()
    for name, frame in found.items():
        assert_frame_equal(frame, expected[name], check_exact=True, obj=name)


@pytest.fixture(scope="module")
def answers(made: Path) -> dict[str, pd.DataFrame]:
    """What the shards say."""
    found = read_answers(made)
    assert not list((made / "cache").glob("*.parquet"))
    return found


@pytest.mark.usefixtures("eager")
def test_a_reader_that_finds_many_shards_makes_parts(
    run: Path, answers: dict[str, pd.DataFrame]
) -> None:
    check_answers(read_answers(run), answers)
    store = Store(run)
    tasks = [task for task in store.tasks() if task in store.done()]
    for table in TABLES:
        assert list_files(store, table, tasks) == list_parts(store, table)
    check_files(store, tasks)
    before = read_states(store.cache.iterdir())
    check_answers(read_answers(run), answers)
    assert read_states(store.cache.iterdir()) == before
    stale = task_name("older settings", 0, "chunk0")
    assert store.score_file(stale).exists()
    assert not any(stale in read_stamps(part) for part in list_parts(store, "scores"))


def test_a_reader_leaves_few_shards_as_they_are(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count = len(Store(run).tasks())
    monkeypatch.setattr(compaction, "UNCOVERED", count)
    open_results(run).close()
    assert not (run / "cache").exists()
    monkeypatch.setattr(compaction, "UNCOVERED", count - 1)
    open_results(run).close()
    assert (run / "cache").exists()


def test_only_shards_without_a_part_are_counted(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts that a run has made are not made again for a few tasks that came later."""
    store = Store(run)
    compact(store, store.tasks()[:-3])
    before = read_states(store.cache.glob("*.parquet"))
    monkeypatch.setattr(compaction, "UNCOVERED", 3)
    open_results(run).close()
    assert read_states(store.cache.glob("*.parquet")) == before
    monkeypatch.setattr(compaction, "UNCOVERED", 2)
    open_results(run).close()
    assert read_states(store.cache.glob("*.parquet")) != before
    assert list_files(store, "scores", store.tasks()) == list_parts(store, "scores")


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("case", ["a bit flipped", "its end is gone", "other times"])
def test_parts_that_nobody_reads_count_as_none(
    run: Path, answers: dict[str, pd.DataFrame], case: str
) -> None:
    """As those of a folder that was copied: its files have other times."""
    store = Store(run)
    compact(store, store.tasks())
    if case == "other times":
        for path in store.scores.iterdir():
            os.utime(path)
    else:
        for part in list_parts(store, "scores"):
            BROKEN[case](part)
    check_answers(read_answers(run), answers)
    assert list_files(store, "scores", store.tasks()) == list_parts(store, "scores")


@pytest.mark.usefixtures("eager")
def test_a_reader_during_a_run_makes_no_parts(run: Path, answers: dict[str, pd.DataFrame]) -> None:
    with hold(run / "lock"):
        check_answers(read_answers(run), answers)
        assert not (run / "cache").exists()
    open_results(run).close()
    assert (run / "cache").exists()


@pytest.mark.usefixtures("eager")
def test_parts_that_are_there_are_read_during_a_run(run: Path) -> None:
    store = Store(run)
    compact(store, store.tasks())
    with hold(run / "lock"), open_results(run) as results:
        files = results._tables._state.files
        assert files["scores"] == list_parts(store, "scores")


@pytest.mark.usefixtures("eager")
@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
@pytest.mark.parametrize("has_cache", [False, True])
def test_a_folder_that_is_read_only_is_read(
    run: Path, answers: dict[str, pd.DataFrame], has_cache: bool
) -> None:
    if has_cache:
        (run / "cache").mkdir()
    folders = [run, *(path for path in run.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    try:
        check_answers(read_answers(run), answers)
        assert (run / "cache").exists() == has_cache
    finally:
        for folder in folders:
            folder.chmod(0o755)


def refuse(error: OSError | MemoryError) -> Callable[..., Any]:
    def raise_error(*_: Any, **__: Any) -> Any:
        raise error

    return raise_error


DENIED = PermissionError(13, "Permission denied")
FULL = OSError(28, "No space left on device")
REFUSED: dict[str, tuple[str, OSError | MemoryError]] = {
    "no folder": ("sightline.store.compact.make_folder", DENIED),
    "no lock": ("sightline.store.lock.os.open", DENIED),
    "a read-only disk": (
        "sightline.store.compact.make_folder",
        OSError(30, "Read-only file system"),
    ),
    "no file": ("sightline.store.shards.write_whole", DENIED),
    "a full disk": ("sightline.store.shards.write_whole", FULL),
    "no memory": ("sightline.store.compact._sort", MemoryError()),
}


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("case", REFUSED)
def test_a_reader_that_may_not_write_reads_shards(
    run: Path, answers: dict[str, pd.DataFrame], monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    target, error = REFUSED[case]
    monkeypatch.setattr(target, refuse(error))
    check_answers(read_answers(run), answers)
    assert not list((run / "cache").glob("*.parquet"))


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("kind", ["link", "file"])
def test_a_cache_that_is_none_is_left_alone(
    run: Path, tmp_path: Path, answers: dict[str, pd.DataFrame], kind: str
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    cache = run / "cache"
    (cache.symlink_to if kind == "link" else cache.write_text)(str(elsewhere))
    check_answers(read_answers(run), answers)
    assert list(elsewhere.iterdir()) == []


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("damage", [flip, cut, Path.unlink], ids=lambda one: one.__name__)
@pytest.mark.parametrize("table", TABLES)
def test_a_reader_names_the_damaged_shard_that_it_asks_for(
    run: Path, table: str, damage: Callable[[Path], object]
) -> None:
    """As without parts: opening asks for none, and what needs no regions can be read."""
    store = Store(run)
    task = store.tasks()[4]
    bad = shard(store, table, task)
    if table == "scores" and damage is Path.unlink:
        pytest.skip("then the task is not done")
    damage(bad)
    for _ in range(2):
        with open_results(run) as results:
            with pytest.raises(InputError, match=f"{bad} is (damaged|gone)"):
                results.query(f"SELECT * FROM {table}")  # noqa: S608
            if table == "region_scores" and bad.exists():
                assert len(results.leaderboard("iou@90")) > 0


@pytest.mark.usefixtures("eager")
def test_deleting_the_cache_changes_no_answer(run: Path, answers: dict[str, pd.DataFrame]) -> None:
    """Not of results that are open, either."""
    digest = results_digest(run)
    with open_results(run) as results:
        assert list_parts(Store(run), "scores")
        shutil.rmtree(run / "cache")  # nothing was asked yet
        check_answers({"iou@90": results.leaderboard("iou@90")}, {"iou@90": answers["iou@90"]})
    with open_results(run) as results:
        found = {"iou@90": results.leaderboard("iou@90")}
        for sql in QUERIES:
            shutil.rmtree(run / "cache", ignore_errors=True)
            found[sql] = results.query(sql)
        found["coverage"] = results.leaderboard("coverage")
        check_answers(found, {name: answers[name] for name in found})
        assert results.count_scores() == results.refresh().count_scores()
    assert results_digest(run) == digest
    check_answers(read_answers(run), answers)


@pytest.mark.usefixtures("eager")
def test_scores_in_memory_stay_when_the_cache_is_deleted(
    run: Path, answers: dict[str, pd.DataFrame]
) -> None:
    """As a service keeps them."""
    with open_results(run) as results:
        assert results._tables.preload()
        found = {"iou@90": results.leaderboard("iou@90")}
        shutil.rmtree(run / "cache")
        found["coverage"] = results.leaderboard("coverage")
        check_answers(found, {name: answers[name] for name in found})


@pytest.mark.usefixtures("eager")
def test_a_view_that_is_read_part_by_part_goes_on_when_the_cache_is_deleted(run: Path) -> None:
    """As for an export."""
    with open_results(run) as results:
        expected = [*results.batches("scores_long")]
    with open_results(run) as results:
        found = results.batches("scores_long")
        seen = [next(found)]
        shutil.rmtree(run / "cache")
        seen += found
    assert sum(batch.num_rows > 0 for batch in expected) > 1
    tables = [pa.Table.from_batches(some) for some in (seen, expected)]
    rows = [_read_rows(table, table.column_names) for table in tables]
    assert rows[0] == rows[1]


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("asked", [False, True])
def test_results_that_are_open_stay_as_they_are_while_parts_change(
    run: Path, answers: dict[str, pd.DataFrame], asked: bool
) -> None:
    """A run that goes on, of another study, changes nothing of them; see `State`."""
    store = Store(run)
    names = [QUERIES[2], "iou@90"]
    with open_results(run) as results:
        if asked:
            results.query(QUERIES[0])
        compact(store, results._tables.tasks[:5])
        found = {QUERIES[2]: results.query(QUERIES[2]), "iou@90": results.leaderboard("iou@90")}
        check_answers(found, {name: answers[name] for name in names})


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("damage", [flip, cut, empty], ids=lambda one: one.__name__)
def test_parts_that_are_damaged_later_are_not_read(
    run: Path, answers: dict[str, pd.DataFrame], damage: Callable[[Path], object]
) -> None:
    with open_results(run) as results:
        found = {"coverage": results.leaderboard("coverage")}
        for part in (run / "cache").glob("*.parquet"):
            damage(part)
        found |= {sql: results.query(sql) for sql in QUERIES}
        found["iou@90"] = results.leaderboard("iou@90")
        check_answers(found, {name: answers[name] for name in found})


@pytest.mark.usefixtures("eager")
def test_a_digest_reads_shards_alone(run: Path) -> None:
    digest = results_digest(run)
    open_results(run).close()
    for part in (run / "cache").glob("*.parquet"):
        flip(part)
    assert results_digest(run) == digest


@pytest.mark.usefixtures("eager")
def test_several_readers_at_once_say_the_same(run: Path, answers: dict[str, pd.DataFrame]) -> None:
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(read_answers, [run] * 4):
            check_answers(found, answers)
    store = Store(run)
    assert list_files(store, "scores", store.tasks()) == list_parts(store, "scores")
    assert sorted(path.name for path in store.cache.glob(".*")) == []


@pytest.mark.usefixtures("eager")
def test_a_reader_does_not_wait_for_another_that_makes_parts(
    run: Path, answers: dict[str, pd.DataFrame]
) -> None:
    (run / "cache").mkdir()
    with hold(run / "cache" / "lock"):
        check_answers(read_answers(run), answers)
        assert not list((run / "cache").glob("*.parquet"))
    check_answers(read_answers(run), answers)
    assert list((run / "cache").glob("*.parquet"))


READ = """
import os, sys
from pathlib import Path
from sightline.results import open_results
from sightline.store import compact

compact.UNCOVERED = 3
sys.stdin.readline()
with open_results(Path(sys.argv[1])) as results:
    print(results.query("SELECT count(*) FROM scores_long").iloc[0, 0], flush=True)
os._exit(0)  # DuckDB sometimes aborts at the end of a process
"""


def test_processes_that_read_at_once_say_the_same(run: Path) -> None:
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", READ, str(run)]
    both = [subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) for _ in range(2)]
    for process in both:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    found = [process.communicate()[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert found[0] == found[1] != ""
    store = Store(run)
    check_files(store, [task for task in store.tasks() if task in store.done()])


# --- runs ----------------------------------------------------------------------------------------


def test_a_run_ends_with_parts_and_a_changed_study_replaces_them(tmp_path: Path) -> None:
    study = given_study(tmp_path / "data", images=4, methods="ab")
    store = run_study(study, tmp_path / "runs").store
    for table in TABLES:
        assert list_files(store, table, store.tasks()) == list_parts(store, table)
    check_files(store, store.tasks())
    before = read_states(store.cache.iterdir())
    run_study(study, tmp_path / "runs")
    assert read_states(store.cache.iterdir()) == before
    fewer = given_study(tmp_path / "data", images=4, methods="b")
    assert run_study(fewer, tmp_path / "runs").finished == 0
    for table in TABLES:
        (part,) = list_parts(store, table)
        assert {*read_stamps(part)} == {*store.tasks()}
        assert list_files(store, table, store.tasks()) == [part]


@pytest.mark.parametrize("error", [FULL, DENIED, MemoryError()], ids=["full", "denied", "memory"])
def test_a_run_that_cannot_write_parts_ends_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: OSError | MemoryError
) -> None:
    def hook(point: str) -> None:
        if point == "cache:half":
            raise error

    monkeypatch.setattr(kill_points, "hook", hook)
    study = given_study(tmp_path / "data", images=2, methods="a")
    run = run_study(study, tmp_path / "runs", workers=1)
    assert run.complete
    assert [path.name for path in run.store.cache.iterdir()] == []
    assert len(open_results(run.store.path).leaderboard("iou@90")) == 1


@pytest.mark.parametrize("kind", ["link", "file"])
def test_a_run_whose_cache_is_no_folder_of_its_own_is_refused(tmp_path: Path, kind: str) -> None:
    study = given_study(tmp_path / "data", images=2, methods="a")
    store = create_store(tmp_path / "runs" / study.name)
    shutil.rmtree(store.cache)
    (store.cache.symlink_to if kind == "link" else store.cache.write_text)(str(tmp_path))
    with pytest.raises(InputError, match=f"cache: must be a folder of its own, is a {kind}"):
        run_study(study, tmp_path / "runs", workers=1)
    assert {path.name for path in tmp_path.iterdir()} == {"data", "runs"}
    assert store.done() == set()


def test_a_run_ends_well_without_its_folder_of_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody deletes it, and puts something else in its place, while the run is at it."""
    store = Store(tmp_path / "runs" / "given")

    def hook(point: str) -> None:
        if point == "scores:renamed" and store.cache.is_dir():
            store.cache.rmdir()
            store.cache.write_text("mine")

    monkeypatch.setattr(kill_points, "hook", hook)
    study = given_study(tmp_path / "data", images=2, methods="a")
    assert run_study(study, tmp_path / "runs", workers=1).complete
    assert store.cache.read_text() == "mine"
    assert len(open_results(store.path).leaderboard("iou@90")) == 1


# --- kills ---------------------------------------------------------------------------------------

KILL = """
import json, sys
from pathlib import Path
from benchmarks._kill_points import count_points, kill_at
from benchmarks.reliability import ask
from sightline.store import Store, compact
from tests.store import test_compact as tests

store, again = Store(sys.argv[1]), json.loads(sys.argv[2])
compact.PART_BYTES = 1
tasks = store.tasks()
work = lambda: compact.compact(store, tasks)

def read():
    return [sorted(map(repr, tests.read_rows(compact.list_files(store, name, tasks))))
            for name in tests.TABLES]

def change(number):
    if again:
        tests.write_task(store, "k1", 1, seed=number)

compact.compact(store, tasks)
tests.read_rows([store.score_file(tasks[0])])
results, number = [], 0
for point in ("opened", "half", "synced", "renamed"):
    nth = 1
    while True:
        number += 1
        if again:
            ask(lambda: change(number))
        else:
            for part in store.cache.glob("*.parquet"):
                part.unlink()
        shards = [[tests.shard(store, name, task) for task in tasks] for name in tests.TABLES]
        expected = ask(lambda: [sorted(map(repr, tests.read_rows(some))) for some in shards])
        if not kill_at(work, f"cache:{point}", nth):
            break
        parts = len(list(store.cache.glob(".*.part")))
        same = ask(read) == expected
        ask(work)
        whole = ask(lambda: [str(path.parent) for name in tests.TABLES
                             for path in compact.list_files(store, name, tasks)])
        results.append([point, nth, parts, same, ask(read) == expected, sorted({*whole})])
        store.clean()
        nth += 1
print(json.dumps(results))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("again", [False, True], ids=["first", "again"])
def test_a_kill_at_any_point_changes_nothing_that_is_read(store: Store, again: bool) -> None:
    """Whichever part it hits; `again` replaces parts after a shard was made again."""
    ended = subprocess.run(
        [sys.executable, "-c", KILL, str(store.path), json.dumps(again)],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    results = json.loads(ended.stdout)
    count = 2 if again else 6  # parts that are written: of one chunk, or of three, of both tables
    assert len(results) == 4 * count
    for point, nth, parts, same, finished, folders in results:
        assert parts == (point != "renamed"), (point, nth)
        assert same, (point, nth)
        assert finished, (point, nth)
        assert folders == [str(store.cache)], (point, nth)
    assert verify_store(store.path).left == []
