"""Rows and maps come back as they were written, and rows are small."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sightline.core import Annotation, InputError, Region, row_schema
from sightline.core.geometry import fit_geometry
from sightline.metrics import score_maps
from sightline.store import write_maps, write_rows
from sightline.store.shards import StoredMaps, read_maps

if TYPE_CHECKING:
    from pathlib import Path

METRICS = [
    *("coverage", "average_precision", "auc_roc", "relevance_rank", "pointing", "iou", "recall"),
]


def some_rows(images: int = 16, layers: int = 12) -> pa.Table:
    """Rows of a task as a study makes them: images x layers x regions x metrics."""
    rng = np.random.default_rng(0)
    corners = rng.uniform(0, 0.6, (images, 9, 2))
    annotations = [
        Annotation(
            f"facade-{i:05}.png",
            regions=tuple(
                Region("window", box=(x, y, x + 0.25, y + 0.3), index=k)
                for k, (x, y) in enumerate(corners[i])
            ),
        )
        for i in range(images)
    ]
    maps = rng.random((images, layers, 1, 14, 14)).astype(np.float32) ** 4
    scores = score_maps(maps, regions=annotations, metrics=METRICS, threads=1)
    keys = {
        "study": "demo",
        "rules": "0123abcd",
        "image": np.repeat([one.image_id for one in annotations], layers),
        "model": "demo/vit",
        "layer": list(range(layers)) * images,
        "method": "cls",
        "visible": np.repeat(rng.random(images), layers),
    }
    return scores.to_rows(keys)


def test_rows_take_at_most_12_bytes_each(tmp_path: Path) -> None:
    rows = some_rows()
    assert rows.num_rows > 30_000
    write_rows(tmp_path / "a.parquet", rows)
    assert (tmp_path / "a.parquet").stat().st_size / rows.num_rows <= 12


def plain(table: pa.Table) -> pa.Table:
    """The table with texts as they are."""
    for number, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            column = table[field.name].cast(field.type.value_type)
            table = table.set_column(number, field.name, column)
    return table


@pytest.mark.parametrize("encoded", [True, False])
def test_rows_come_back(tmp_path: Path, encoded: bool) -> None:
    """Every value with its null, its NaN and its last bit, whether texts are encoded or not."""
    rows = some_rows(2, 3)
    value = rows["value"].to_numpy().copy()
    value[::7] = np.nan
    rows = rows.set_column(rows.schema.get_field_index("value"), "value", pa.array(value))
    rows = rows if encoded else plain(rows)
    write_rows(tmp_path / "a.parquet", rows)
    found = pq.read_table(tmp_path / "a.parquet")
    assert found.schema.names == row_schema().names
    for name in found.schema.names:
        seen, expected = plain(found)[name], plain(rows)[name]
        assert seen.type == expected.type, name
        assert seen.null_count == expected.null_count, name
        if pa.types.is_floating(seen.type):
            assert seen.to_numpy().tobytes() == expected.to_numpy().tobytes(), name
        else:
            assert seen.to_pylist() == expected.to_pylist(), name
    assert found["region"].null_count > 0
    assert found["head"].null_count == found.num_rows


def test_the_same_rows_make_the_same_bytes(tmp_path: Path) -> None:
    for folder in (tmp_path / "a", tmp_path / "b"):
        folder.mkdir()
        write_rows(folder / "a.parquet", some_rows(2, 2))
    assert len({path.read_bytes() for path in tmp_path.glob("*/a.parquet")}) == 1


def test_no_rows_come_back_as_none(tmp_path: Path) -> None:
    write_rows(tmp_path / "a.parquet", row_schema().empty_table())
    found = pq.read_table(tmp_path / "a.parquet")
    assert found.num_rows == 0
    assert found.schema.names == row_schema().names


def stored(shapes: list[list[tuple[int, int]]], fits: list[str], **options: Any) -> StoredMaps:
    """Maps of images with layers of some grids."""
    rng = np.random.default_rng(1)
    heads = options.get("heads", (None, 0, 2))
    values = tuple(
        tuple(rng.normal(size=(len(heads), *shape)).astype(np.float32) for shape in image)
        for image in shapes
    )
    ways = tuple(
        tuple(
            fit_geometry(fit, 97, 61, size=56, patch=(56 // columns, 56 // rows))
            for rows, columns in image
        )
        for image, fit in zip(shapes, fits, strict=True)
    )
    layers = options.get("layers", tuple(range(len(shapes[0]))))
    ids = tuple(f"image-{i}" for i in range(len(shapes)))
    about = {"model": "m", "params": {"steps": 3}, "seed": None}
    return StoredMaps(ids, values, ways, layers, heads, options.get("targets", ()), about)


CASES: dict[str, StoredMaps] = {
    "equal": stored([[(7, 7)]] * 3, ["squash"] * 3),
    "layers": stored([[(14, 14), (7, 7), (2, 4)]] * 2, ["crop", "letterbox"], targets=("a", "b")),
    "unequal": stored([[(7, 7), (2, 2)], [(4, 7), (1, 2)]], ["crop", "squash"]),
    "no layer": stored([[(7, 7)]] * 2, ["squash"] * 2, layers=(None,), heads=(None,)),
    "one": stored([[(1, 1)]], ["letterbox"], layers=(11,), heads=(3,)),
}


@pytest.mark.parametrize("case", CASES)
def test_maps_come_back(tmp_path: Path, case: str) -> None:
    maps = CASES[case]
    write_maps(tmp_path / "a.safetensors", maps)
    found = read_maps(tmp_path / "a.safetensors")
    for name in ("images", "geometries", "layers", "heads", "targets", "about"):
        assert getattr(found, name) == getattr(maps, name), name
    assert len(found.values) == len(maps.values)
    for image, expected in zip(found.values, maps.values, strict=True):
        assert [layer.shape for layer in image] == [layer.shape for layer in expected]
        for layer, values in zip(image, expected, strict=True):
            assert layer.dtype == np.float32
            assert layer.tobytes() == values.tobytes()


def test_maps_are_kept_as_float32(tmp_path: Path) -> None:
    exact = CASES["equal"]
    wide = StoredMaps(
        exact.images,
        tuple(tuple(layer.astype(np.float64) for layer in image) for image in exact.values),
        *(exact.geometries, exact.layers, exact.heads),
    )
    write_maps(tmp_path / "a", wide)
    assert read_maps(tmp_path / "a").values[0][0].tobytes() == exact.values[0][0].tobytes()


def test_many_images_of_one_size_share_their_geometry(tmp_path: Path) -> None:
    sizes = []
    for count in (1, 100):
        write_maps(tmp_path / "a", stored([[(1, 1)]] * count, ["crop"] * count, heads=(None,)))
        sizes.append((tmp_path / "a").stat().st_size)
    assert sizes[1] - sizes[0] < 100 * 40


def test_what_holds_no_maps_is_refused(tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    path = tmp_path / "a.safetensors"
    for write in (
        lambda: path.write_bytes(b""),
        lambda: path.write_bytes(b"no maps"),
        lambda: save_file({"0": np.zeros(2, np.float32)}, path),
        lambda: save_file({"0": np.zeros(2, np.float32)}, path, {"sightline": "{"}),
        lambda: save_file({"0": np.zeros(2, np.float32)}, path, {"sightline": "{}"}),
        lambda: save_file({"0": np.zeros(2, np.float32)}, path, {"sightline": "[1]"}),
    ):
        write()
        with pytest.raises(InputError, match=f"{path}: must hold the maps of a task"):
            read_maps(path)
    with pytest.raises(InputError, match="must hold the maps of a task"):
        read_maps(tmp_path / "none")


def test_a_file_that_was_cut_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    write_maps(path, CASES["layers"])
    whole = path.read_bytes()
    for length in (8, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(InputError, match="must hold the maps of a task"):
            read_maps(path)
