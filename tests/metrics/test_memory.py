"""What a large map costs: bytes for each of its values, and the same figures as a small one."""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from sightline.core import Annotation, InputError, Region
from sightline.data import by_image, open_maps, read_annotations, score_by_image
from sightline.metrics import _cpu, _kernels, _sort, score_maps

if TYPE_CHECKING:
    from pathlib import Path

SIDE = 1500
PER_VALUE = 9.5
"""Bytes: the map and its keys 4 each, the mask 1, and an eighth for each outline."""


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat every map as one that is too large to keep a rank of each pixel."""
    monkeypatch.setattr(_cpu, "LARGE", 100)
    monkeypatch.setattr(_sort, "MANY", 100)


def write_annotations(path: Path, *regions: str) -> Path:
    path.write_text(
        '{"format": "sightline-annotations", "version": 1, "images": [{"image": "a.jpg", '
        f'"regions": [{", ".join(regions)}]}}]}}'
    )
    return path


def draw_map(by_column: bool = False) -> np.ndarray[Any, Any]:
    values = np.random.default_rng(0).random((SIDE, SIDE), dtype=np.float32)
    return np.asfortranarray(values) if by_column else values


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("by_column", [False, True])
@pytest.mark.parametrize(
    "regions",
    [
        ['{"label": "door", "box": [0.1, 0.1, 0.4, 0.5]}'],
        ['{"label": "all", "box": [0, 0, 1, 1]}', '{"label": "most", "box": [0, 0, 1, 0.9]}'],
        ['{"label": "roof", "polygon": [[0, 0], [1, 0.1], [0.9, 1], [0, 0.9]]}'] * 3,
    ],
    ids=["box", "whole", "polygons"],
)
def test_a_large_map_is_scored_in_few_bytes_per_value(
    tmp_path: Path, regions: list[str], by_column: bool
) -> None:
    annotations = read_annotations(write_annotations(tmp_path / "regions.json", *regions))
    np.save(tmp_path / "a.npy", draw_map(by_column))
    score_by_image({"a": np.ones((50, 50), np.float32)}, annotations)  # compiled, if it was not
    tracemalloc.start()
    try:
        with open_maps(tmp_path) as maps:
            score_by_image(maps, annotations)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak / SIDE**2 <= PER_VALUE


class LazyMap(dict[str, Any]):
    """Makes its map when it is asked for, as a file is read."""

    def __init__(self, dtype: str, lowest: float) -> None:
        super().__init__(a=None)
        self.dtype, self.lowest = dtype, lowest

    def __getitem__(self, name: str) -> np.ndarray[Any, Any]:
        rng, single = np.random.default_rng(0), self.dtype != "f8"
        values: Any = rng.random((SIDE, SIDE), dtype=np.float32 if single else np.float64)
        values += self.lowest
        narrow: np.ndarray[Any, Any] = values.astype(self.dtype, copy=False)
        return narrow


IGNORED = Region("glare", box=(0.8, 0.8, 0.9, 0.9), flags=("ignore",), index=1)


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("ignored", [(), (IGNORED,)], ids=["all", "ignored"])
@pytest.mark.parametrize("sign", ["positive", "signed"])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_a_map_that_would_take_more_than_it_may_is_refused(
    monkeypatch: pytest.MonkeyPatch, dtype: str, sign: Any, ignored: tuple[Region, ...]
) -> None:
    annotations = {"a": Annotation("a", regions=(Region("door", box=(0, 0, 0.5, 1)), *ignored))}
    monkeypatch.setattr(by_image, "_BATCH_PIXELS", 100)
    score_by_image({"a": np.ones((50, 50), dtype)}, annotations, sign=sign)
    maps = LazyMap(dtype, -0.5 if sign == "signed" else 0)
    tracemalloc.start()
    try:
        score_by_image(maps, annotations, sign=sign)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    monkeypatch.setattr(by_image, "_MAX_BYTES", peak - 1)
    with pytest.raises(InputError, match=r"image 'a': scoring its map .* values at most"):
        score_by_image(maps, annotations, sign=sign)


@pytest.mark.parametrize("index", [0, 1])
def test_what_is_wrong_with_a_large_map_is_told_in_few_bytes_per_value(index: int) -> None:
    values = draw_map()
    values[3, 4] = (-1, np.nan)[index]
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=("negative", "not finite")[index]):
            score_maps(values, np.ones((1, 1), bool).repeat(SIDE, 0).repeat(SIDE, 1))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak / SIDE**2 <= PER_VALUE + 4 * index  # with ranks: this map is not a large one


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8])
@pytest.mark.parametrize("ties", ["share", "include"])
@pytest.mark.parametrize("levels", [1, 3, 200, 10**6])
def test_figures_of_large_maps_are_the_same_to_the_bit(
    monkeypatch: pytest.MonkeyPatch, dtype: Any, ties: Any, levels: int
) -> None:
    rng = np.random.default_rng(levels)
    maps = rng.integers(0, min(levels, 250), (4, 120, 150)).astype(dtype)
    if dtype != np.uint8:
        maps = rng.integers(0, levels, maps.shape).astype(dtype)
    assert maps[0].size > 4 * _kernels.BLOCK
    regions: list[list[Any]] = [
        [rng.random((120, 150)) < share, [0.1, 0.2, 0.9, 0.8], [0, 0, 1, 1]]
        for share in (0.5, 0.001, 1)
    ]
    regions.append([])

    def score() -> list[dict[str, bytes]]:
        scores = score_maps(
            maps, regions=regions, ties=ties, selection=["percentile", "mass60", "mean", "matched"]
        )
        assert scores.regions is not None
        return [{name: part[name].tobytes() for name in part} for part in (scores, scores.regions)]

    usual = score()
    monkeypatch.setattr(_cpu, "LARGE", 100)
    monkeypatch.setattr(_sort, "MANY", 100)
    assert score() == usual
