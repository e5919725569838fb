"""What a random ranking gets stands beside average precision, where the raster is known."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from sightline.core.geometry import Geometry
from sightline.results import open_results
from sightline.store import images_table, task_name
from sightline.store.shards import StoredMaps, write_maps
from tests.reference import maps as reference
from tests.results.slow import select
from tests.results.stores import KINDS, SIZE, make_store

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from tests.results.stores import Kind, Made

PAIR = (KINDS[1], KINDS[7])
GRID = Geometry.of(100, 80).resize(4 * SIZE, 4 * SIZE).patches(4)


def made_with(folder: Path, resolution: Any, width: int, height: int) -> Made:
    """Write a store whose scores are of 12 × 12 pixels, that says so or says something else."""
    made = make_store(folder / "s", kinds=PAIR, metrics=("average_precision", "coverage"))
    lines: Any = made.images.assign(width=width, height=height).to_dict("records")
    pq.write_table(images_table(lines), made.store.images_path)
    manifest = json.loads(made.store.manifest_path.read_text())
    manifest["study"]["resolution"] = resolution
    made.store.save_manifest(manifest)
    return made


def keep_maps(made: Made, kind: Kind, *ways: Geometry) -> None:
    """Keep maps of every chunk; those of the last chunks came the last of these ways."""
    layers = tuple(np.zeros((1, SIZE, SIZE), np.float32) for _ in kind.layers)
    chunks = json.loads(made.store.manifest_path.read_text())["chunks"]
    for number, chunk in enumerate(chunks):
        way = (ways or (GRID,))[min(number, len(ways) - 1) if ways else 0]
        every = (way,) * len(layers)
        images = (f"image{number:02}a", f"image{number:02}b")
        maps = StoredMaps(images, (layers, layers), (every, every), kind.layers, (None,))
        path = made.store.map_file(task_name(kind.manifest()["key"], number, chunk["digest"]))
        path.parent.mkdir(exist_ok=True)
        write_maps(path, maps)


def slow(made: Made, kind: Kind) -> float:
    """Return the mean over images of what a random ranking of their pixels gets."""
    keys = {"model": kind.model, "variant": kind.variant, "method": kind.method}
    rows = select(made.rows, metric="average_precision", layer=kind.layers[0], **keys)
    rows = rows[rows["region"].isna() & rows["value"].notna()]
    inside = [round(float(area) * SIZE * SIZE) for area in rows["area"]]
    return sum(reference._average_precision_random(SIZE * SIZE, one) for one in inside) / len(
        inside
    )


def board(made: Made) -> pd.DataFrame:
    with open_results(made.path) as found:
        return found.leaderboard("average_precision", layer="last").set_index("method")


@pytest.mark.parametrize(("resolution", "side"), [("pixels", SIZE), (SIZE, 3 * SIZE)])
def test_on_pixels_it_follows_from_the_sizes_of_images(
    tmp_path: Path, resolution: Any, side: int
) -> None:
    made = made_with(tmp_path, resolution, side, side)
    found = board(made)
    for kind in PAIR:
        line = found.loc[kind.method]
        assert line["random"] == pytest.approx(slow(made, kind), rel=1e-6)
        assert line["random"] > line["chance"] + 0.02
    assert "what a random ranking of the pixels or cells gets" in found.attrs["note"]
    with open_results(made.path) as results:
        assert "random" not in results.leaderboard("coverage")


@pytest.mark.parametrize("words", [("pixels", 100, 80), (SIZE, 100, 80), (None, SIZE, SIZE)])
def test_where_pixels_do_not_make_the_annotated_share_nothing_is_said(
    tmp_path: Path, words: tuple[Any, int, int]
) -> None:
    found = board(made_with(tmp_path, *words))
    assert "random" not in found
    assert "random ranking" not in found.attrs["note"]


def test_on_grids_it_follows_from_the_maps_that_are_kept(tmp_path: Path) -> None:
    made = made_with(tmp_path, "grid", 100, 80)
    assert "random" not in board(made)
    keep_maps(made, PAIR[0])
    found = board(made)
    assert found.loc["cls", "random"] == pytest.approx(slow(made, PAIR[0]), rel=1e-6)
    assert np.isnan(found["random"]["center"])
    with open_results(made.path) as results:
        halves = results.leaderboard("average_precision", layer="split", method="cls")
    assert halves["random"][0] == pytest.approx(slow(made, PAIR[0]), rel=1e-6)
    padded = Geometry.of(100, 80).resize(40, 40).pad(0, 8, 0, 0).patches(4)
    keep_maps(made, PAIR[1], padded)
    assert np.isnan(board(made)["random"]["center"])
    keep_maps(made, PAIR[1])
    assert board(made)["random"]["center"] == pytest.approx(slow(made, PAIR[1]), rel=1e-6)
    # Half as many cells in later chunks: shares of these are whole numbers of the first, too.
    half = Geometry.of(100, 80).resize(4 * SIZE, 2 * SIZE).pad(0, 2 * SIZE, 0, 0).patches(4)
    assert int(half.content_mask().sum()) * 2 == SIZE * SIZE
    keep_maps(made, PAIR[1], GRID, half)
    assert np.isnan(board(made)["random"]["center"])
