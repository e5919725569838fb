"""The digest depends on keys and values, and on nothing else."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sightline.core import InputError
from sightline.results import results_digest
from sightline.store.compact import compact
from tests.results.stores import KINDS, make_store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.results.stores import Made


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return make_store(tmp_path / "s", kinds=KINDS[:2], metrics=("coverage", "iou"))


def read(path: Path) -> pa.Table:
    return pq.read_table(path).replace_schema_metadata(None)


def change(path: Path, column: str, edit: Callable[[list[Any]], None]) -> None:
    """Edit the values of one column of a shard."""
    table = read(path)
    values = table.column(column).to_pylist()
    edit(values)
    place = table.schema.get_field_index(column)
    new = pa.array(values, table.schema.field(column).type)
    pq.write_table(table.set_column(place, column, new), path)


def test_it_is_64_hexadecimal_digits(made: Made) -> None:
    assert re.fullmatch("[0-9a-f]{64}", results_digest(made.path))
    assert results_digest(made.path) == results_digest(str(made.path))


def test_the_order_of_rows_does_not_matter(made: Made) -> None:
    before = results_digest(made.path)
    for seed, path in enumerate(made.score_files):
        table = read(path)
        order = np.random.default_rng(seed).permutation(table.num_rows)
        pq.write_table(table.take(order), path)
    assert results_digest(made.path) == before


def test_how_columns_are_written_does_not_matter(made: Made) -> None:
    before = results_digest(made.path)
    for path in made.score_files:
        table = read(path)
        for name in ("image", "method"):
            place = table.schema.get_field_index(name)
            table = table.set_column(place, name, table.column(name).dictionary_encode())
        pq.write_table(
            table,
            path,
            compression="none",
            use_dictionary=False,
            store_schema=False,
            row_group_size=7,
        )
    assert results_digest(made.path) == before


def test_how_rows_are_spread_over_shards_does_not_matter(made: Made) -> None:
    """Rows move from one shard to another; each holds other values of each column than before."""
    before = results_digest(made.path)
    shards = made.score_files
    everything = pa.concat_tables([read(path) for path in shards]).combine_chunks()
    cuts = [0, 5, 5, everything.num_rows // 2, everything.num_rows]
    for path, start, stop in zip(shards, cuts, cuts[1:], strict=False):
        pq.write_table(everything.slice(start, stop - start), path)
    assert results_digest(made.path) == before


def test_shards_of_other_settings_do_not_matter(made: Made) -> None:
    before = results_digest(made.path)
    (made.store.scores / "000000-0000000000000000.parquet").write_bytes(b"something else")
    assert results_digest(made.path) == before


def test_one_bit_of_one_value_matters(made: Made) -> None:
    before = results_digest(made.path)

    def edit(values: list[float]) -> None:
        place = next(i for i, value in enumerate(values) if value > 0)
        values[place] = math.nextafter(values[place], 2)

    change(made.score_files[1], "coverage", edit)
    assert results_digest(made.path) != before


@pytest.mark.parametrize(
    ("column", "old", "new"),
    [
        ("undefined", 0, 8),
        ("iou@50", None, 0.75),
        ("annotated_fraction", None, 0.25),
        ("visible_fraction", 1.0, 0.5),
        ("pixels", 144, 143),
        ("undefined", None, 7),
        ("roc", None, [0.5]),
        ("pr", None, None),
        ("layer", 3, None),
        ("layer", 3, 4),
        ("head", None, 7),
        ("seed", None, 0),
        ("image", "image00", "image000"),
        ("rules", "00000001", "00000002"),
        ("variant", "", "x"),
        ("target", "", "é"),
    ],
)
def test_every_column_matters(made: Made, column: str, old: Any, new: Any) -> None:
    before = results_digest(made.path)

    def edit(values: list[Any]) -> None:
        place = next(i for i, value in enumerate(values) if value == old or old is None)
        values[place] = new

    change(made.score_files[0], column, edit)
    assert results_digest(made.path) != before


def test_values_that_change_places_matter(made: Made) -> None:
    before = results_digest(made.path)

    def edit(values: list[float]) -> None:
        first = next(i for i, value in enumerate(values) if value > 0)
        second = next(i for i, value in enumerate(values) if value > values[first])
        values[first], values[second] = values[second], values[first]

    change(made.score_files[0], "coverage", edit)
    assert results_digest(made.path) != before


def test_any_nan_is_the_same_nan(made: Made) -> None:
    before = results_digest(made.path)
    path = made.score_files[0]
    table = read(path)
    values = table.column("coverage").to_numpy().copy()
    odd = np.array([0xFFF8000000000123], np.uint64).view(np.float64)[0]
    assert np.isnan(values).any()
    values[np.isnan(values)] = odd
    place = table.schema.get_field_index("coverage")
    pq.write_table(table.set_column(place, "coverage", pa.array(values)), path)
    assert results_digest(made.path) == before


def test_a_missing_row_matters(made: Made) -> None:
    before = results_digest(made.path)
    path = made.score_files[0]
    table = read(path)
    pq.write_table(table.slice(1), path)
    assert results_digest(made.path) != before


def test_a_key_that_occurs_twice_is_named(made: Made) -> None:
    path = made.score_files[2]
    table = read(path)
    pq.write_table(pa.concat_tables([table, table.slice(4, 2)]), path)
    key = min((row["image"], row["layer"]) for row in table.slice(4, 2).to_pylist())
    with pytest.raises(
        InputError, match=r"keys of scores must be unique; 2 occur again, the first: image"
    ) as caught:
        results_digest(made.path)
    assert f"image {key[0]}, model demo/vit, " in str(caught.value)


def test_one_bit_of_one_region_matters(made: Made) -> None:
    before = results_digest(made.path)
    change(made.region_files[1], "region", lambda values: values.__setitem__(0, 9))
    assert results_digest(made.path) != before


def test_compacted_parts_do_not_matter(made: Made) -> None:
    before = results_digest(made.path)
    compact(made.store, made.tasks)
    assert results_digest(made.path) == before


def test_nothing_stored(tmp_path: Path) -> None:
    made = make_store(tmp_path / "e", kinds=KINDS[:1], skip=(0, 1))
    with pytest.raises(InputError, match="nothing is stored yet: 0 of 2 tasks"):
        results_digest(made.path)
