"""The digest depends on keys and values, and on nothing else."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sightline.core import InputError, row_schema
from sightline.results import results_digest
from tests.results.stores import KINDS, make_store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sightline.store import Store
    from tests.results.stores import Made


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return make_store(tmp_path / "s", kinds=KINDS[:2], metrics=("coverage", "iou")).store


def read(path: Path) -> pa.Table:
    return pq.read_table(path).cast(row_schema())


def change(path: Path, column: str, edit: Callable[[list[Any]], None]) -> None:
    """Edit the values of one column of a shard."""
    table = read(path)
    values = table.column(column).to_pylist()
    edit(values)
    place = table.schema.get_field_index(column)
    new = (
        pa.array(values, table.schema.field(column).type)
        if column not in TEXTS
        else (pa.array(values).dictionary_encode())
    )
    pq.write_table(table.set_column(place, column, new), path)


TEXTS = [f.name for f in row_schema() if pa.types.is_dictionary(f.type)]


def test_it_is_64_hexadecimal_digits(store: Store) -> None:
    assert re.fullmatch("[0-9a-f]{64}", results_digest(store.path))
    assert results_digest(store.path) == results_digest(str(store.path))


def test_the_order_of_rows_does_not_matter(store: Store) -> None:
    before = results_digest(store.path)
    for seed, path in enumerate(store.shards()):
        table = read(path)
        order = np.random.default_rng(seed).permutation(table.num_rows)
        pq.write_table(table.take(order), path)
    assert results_digest(store.path) == before


def test_how_columns_are_written_does_not_matter(store: Store) -> None:
    before = results_digest(store.path)
    for path in store.shards():
        table = read(path)
        plain = pa.schema(
            [(f.name, pa.string() if f.name in TEXTS else f.type) for f in row_schema()]
        )
        pq.write_table(
            table.cast(plain),
            path,
            compression="none",
            use_dictionary=False,
            row_group_size=7,
        )
    assert results_digest(store.path) == before


def test_how_rows_are_spread_over_shards_does_not_matter(store: Store) -> None:
    """Rows move from one shard to another; each holds other values of each column than before."""
    before = results_digest(store.path)
    shards = store.shards()
    everything = pa.concat_tables([read(path) for path in shards]).combine_chunks()
    cuts = [0, 5, 5, everything.num_rows // 2, everything.num_rows]
    for path, start, stop in zip(shards, cuts, cuts[1:], strict=False):
        pq.write_table(everything.slice(start, stop - start), path)
    assert results_digest(store.path) == before


def test_shards_of_other_settings_do_not_matter(store: Store) -> None:
    before = results_digest(store.path)
    (store.rows / "000000-0000000000000000.parquet").write_bytes(b"something else")
    assert results_digest(store.path) == before


def test_one_bit_of_one_value_matters(store: Store) -> None:
    before = results_digest(store.path)

    def edit(values: list[float]) -> None:
        place = next(i for i, value in enumerate(values) if value > 0)
        values[place] = math.nextafter(values[place], 2)

    change(store.shards()[1], "value", edit)
    assert results_digest(store.path) != before


@pytest.mark.parametrize(
    ("column", "old", "new"),
    [
        ("value", 0.0, -0.0),
        ("area", None, 0.25),
        ("visible", 1.0, 0.5),
        ("layer", 3, None),
        ("layer", 3, 4),
        ("head", None, 7),
        ("seed", None, 0),
        ("region", None, 9),
        ("image", "image00", "image000"),
        ("study", "small", "Small"),
        ("rules", "00000001", "00000002"),
        ("variant", "", "x"),
        ("target", "", "é"),
        ("threshold", "90", "91"),
        ("check", "", " "),
    ],
)
def test_every_column_matters(store: Store, column: str, old: Any, new: Any) -> None:
    before = results_digest(store.path)

    def edit(values: list[Any]) -> None:
        place = next(i for i, value in enumerate(values) if value == old or old is None)
        values[place] = new

    change(store.shards()[0], column, edit)
    assert results_digest(store.path) != before


def test_values_that_change_places_matter(store: Store) -> None:
    before = results_digest(store.path)

    def edit(values: list[float]) -> None:
        first = next(i for i, value in enumerate(values) if value > 0)
        second = next(i for i, value in enumerate(values) if value > values[first])
        values[first], values[second] = values[second], values[first]

    change(store.shards()[0], "value", edit)
    assert results_digest(store.path) != before


def test_any_nan_is_the_same_nan(store: Store) -> None:
    before = results_digest(store.path)
    path = store.shards()[0]
    table = read(path)
    values = table.column("value").to_numpy().copy()
    odd = np.array([0xFFF8000000000123], np.uint64).view(np.float64)[0]
    assert np.isnan(values).any()
    values[np.isnan(values)] = odd
    place = table.schema.get_field_index("value")
    pq.write_table(table.set_column(place, "value", pa.array(values)), path)
    assert results_digest(store.path) == before


def test_a_missing_row_matters(store: Store) -> None:
    before = results_digest(store.path)
    path = store.shards()[0]
    table = read(path)
    pq.write_table(table.slice(1), path)
    assert results_digest(store.path) != before


def test_a_key_that_occurs_twice_is_named(store: Store) -> None:
    path = store.shards()[2]
    table = read(path)
    pq.write_table(pa.concat_tables([table, table.slice(4, 2)]), path)
    key = table.slice(4, 1).to_pylist()[0]
    with pytest.raises(InputError, match=r"2 occur again, the first: study small") as caught:
        results_digest(store.path)
    assert f"image {key['image']}" in str(caught.value)
    assert f"metric {key['metric']}" in str(caught.value)


def test_a_key_that_occurs_in_two_batches_is_found() -> None:
    from sightline.results.digest import _Column, _Seen

    column = _Column("image", ("a", "b", "c", "d"))
    seen = _Seen([column], [[column]])
    for batch in ([0, 1], [2], [2, 3]):
        seen.add(np.array(batch)[:, None])
    assert seen.rows == 5
    with pytest.raises(InputError, match="1 occur again, the first: image c"):
        seen.check()


def test_long_keys_take_several_whole_numbers(
    made: Made, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With narrower numbers the digest is another one, but as blind to the order of rows."""
    from sightline.results import digest

    monkeypatch.setattr(digest, "_WORD", 5)
    before = results_digest(store.path)
    path = store.shards()[0]
    table = read(path)
    pq.write_table(table.take(list(range(table.num_rows))[::-1]), path)
    assert results_digest(store.path) == before
    pq.write_table(pa.concat_tables([table, table.slice(0, 1)]), path)
    with pytest.raises(InputError, match="1 occur again"):
        results_digest(store.path)


def test_nothing_stored(tmp_path: Path) -> None:
    made = make_store(tmp_path / "e", kinds=KINDS[:1], skip=(0, 1))
    with pytest.raises(InputError, match="nothing is stored yet: 0 of 2 tasks"):
        results_digest(made.path)
