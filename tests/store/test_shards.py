"""Tables and maps come back as they were written, and tables are small."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from sightline.core import Annotation, InputError, Region
from sightline.core.geometry import fit_geometry
from sightline.metrics import score_maps
from sightline.store import write_maps, write_table
from sightline.store.checksums import check_file
from sightline.store.schema import (
    build_region_scores_schema,
    build_scores_schema,
    conform,
    list_score_columns,
)
from sightline.store.shards import StoredMaps, read_maps, read_value_count

if TYPE_CHECKING:
    from pathlib import Path

METRICS = [
    *("coverage", "average_precision", "auc_roc", "relevance_rank", "pointing", "iou", "recall"),
]


def score_some(images: int = 16, layers: int = 12) -> tuple[pa.Table, pa.Table]:
    """Return the tables of a task as a study makes them: images x layers, and those x regions."""
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
    scores = score_maps(maps, regions=annotations, metrics=METRICS, threads=1, curves=True)
    keys: dict[str, Any] = {
        "rules": "0123abcd",
        "image": np.repeat([one.image_id for one in annotations], layers),
        "model": "demo/vit",
        "variant": "",
        "method": "cls",
        "target": "",
        "layer": np.tile(np.arange(layers, dtype=np.int16), images),
        "visible_fraction": np.repeat(rng.random(images).astype(np.float32), layers),
    }
    whole = scores.to_table(keys)
    assert scores.regions is not None
    owners = scores.regions.map
    own = {name: key if isinstance(key, str) else key[owners] for name, key in keys.items()}
    single = scores.regions.to_table({**own, "level": "region"})
    return (
        conform(whole, build_scores_schema(list_score_columns(whole.column_names))),
        conform(single, build_region_scores_schema(list_score_columns(single.column_names))),
    )


def test_scores_take_at_most_12_bytes_each(tmp_path: Path) -> None:
    """Keys, areas, nulls and all that a file says of itself are in these; the curves are not."""
    scores, region_scores = score_some()
    count = write_table(tmp_path / "a.parquet", region_scores, kind="region_scores")
    assert count > 30_000
    assert (tmp_path / "a.parquet").stat().st_size / count <= 12
    count = write_table(tmp_path / "b.parquet", scores.drop(["roc", "pr"]), kind="scores")
    assert count > 3000
    assert (tmp_path / "b.parquet").stat().st_size / count <= 12


def read_plain(table: pa.Table) -> pa.Table:
    """The table with texts as they are."""
    for number, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            column = table[field.name].cast(field.type.value_type)
            table = table.set_column(number, field.name, column)
    return table


def check_equal(seen: pa.ChunkedArray, expected: pa.ChunkedArray, name: str) -> None:
    """Compare columns: types, nulls, lengths of lists, and every bit of a number."""
    seen, expected = seen.combine_chunks(), expected.combine_chunks()
    assert seen.type == expected.type, name
    assert seen.is_null().equals(expected.is_null()), name
    if pa.types.is_list(seen.type):
        lengths = [pc.list_value_length(column) for column in (seen, expected)]
        assert lengths[0].equals(lengths[1]), name
        seen, expected = seen.flatten(), expected.flatten()
    if pa.types.is_floating(seen.type):
        bits = [column.fill_null(0).to_numpy().tobytes() for column in (seen, expected)]
        assert bits[0] == bits[1], name
    else:
        assert seen.equals(expected), name


@pytest.mark.parametrize("encoded", [True, False])
@pytest.mark.parametrize("kind", ["scores", "region_scores"])
def test_tables_come_back(tmp_path: Path, kind: str, encoded: bool) -> None:
    """Every value with its null, its NaN and its last bit, whether texts are encoded or not."""
    table = score_some(2, 3)[kind == "region_scores"]
    values = table["coverage"].to_numpy().copy()
    values[::7] = np.nan
    gone = np.arange(len(values)) % 5 == 1  # another metric has no such score
    where = table.schema.get_field_index("coverage")
    table = table.set_column(where, "coverage", pa.array(values, mask=gone))
    table = table if encoded else read_plain(table)
    write_table(tmp_path / "a.parquet", table, kind=kind)
    found = pq.read_table(tmp_path / "a.parquet")
    assert found.schema.names == table.schema.names
    for name in found.schema.names:
        check_equal(read_plain(found)[name], read_plain(table)[name], name)
    assert found["coverage"].null_count == gone.sum()
    assert np.isnan(found["coverage"].drop_null().to_numpy()).any()
    assert found["head"].null_count == found.num_rows
    if kind == "scores":
        assert found["roc"].type == pa.list_(pa.float32())
        assert {len(points) for points in found["roc"].to_pylist()} == {101}
    else:
        assert found["region"].null_count == 0


def test_a_list_that_is_missing_is_not_an_empty_one(tmp_path: Path) -> None:
    column = pa.array([[0.5, None], [], None, [float("nan")]], pa.list_(pa.float64()))
    table = pa.table({"image": list("abcd"), "deletion_curve": column})
    write_table(tmp_path / "a.parquet", table, kind="checks")
    found = pq.read_table(tmp_path / "a.parquet")["deletion_curve"]
    check_equal(found, table["deletion_curve"], "deletion_curve")


def test_the_same_table_makes_the_same_bytes(tmp_path: Path) -> None:
    for folder in (tmp_path / "a", tmp_path / "b"):
        folder.mkdir()
        for kind, table in zip(("scores", "region_scores"), score_some(2, 2), strict=True):
            write_table(folder / f"{kind}.parquet", table, kind=kind)
    for kind in ("scores", "region_scores"):
        assert len({path.read_bytes() for path in tmp_path.glob(f"*/{kind}.parquet")}) == 1


def test_no_rows_come_back_as_none(tmp_path: Path) -> None:
    for schema in (build_scores_schema(["coverage"]), build_region_scores_schema([])):
        assert write_table(tmp_path / "a.parquet", schema.empty_table(), kind="scores") == 0
        found = pq.read_table(tmp_path / "a.parquet")
        assert found.num_rows == 0
        assert found.schema.names == schema.names


def test_scores_are_counted_without_nulls_areas_and_curves_of_maps(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    scores, region_scores = score_some(2, 3)
    for kind, table in (("scores", scores), ("region_scores", region_scores)):
        names = list_score_columns(table.column_names)
        expected = sum(table.num_rows - table[name].null_count for name in names)
        assert write_table(path, table, kind=kind) == read_value_count(path) == expected > 0
    checks = pa.table(
        {
            "image": ["a.png", "b.png"],
            "draw": pa.array([0, None], pa.int32()),
            "spearman": [0.5, None],
            "ssim": [float("nan"), 0.25],
            "curve_fractions": pa.array([None, [0.0, 1.0]], pa.list_(pa.float64())),
            "road_morf_curve": pa.array([None, [0.5, 0.25]], pa.list_(pa.float64())),
        }
    )
    assert write_table(path, checks, kind="checks") == read_value_count(path) == 5
    pq.write_table(checks, path)  # of somebody else: it says no number
    assert read_value_count(path) == 0


def test_texts_for_the_metadata_are_kept_beside_the_checksum(tmp_path: Path) -> None:
    path, table = tmp_path / "a.parquet", score_some(2, 2)[0]
    write_table(path, table, kind="scores", about={"mine": "ä"}, row_group=3)
    found = pq.ParquetFile(path)
    assert found.metadata.metadata[b"mine"] == "ä".encode()
    assert [found.metadata.row_group(k).num_rows for k in range(found.num_row_groups)] == [3, 1]
    assert check_file(path) == "sound"


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
