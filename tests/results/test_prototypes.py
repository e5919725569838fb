"""Benchmarks of prototypes, read back."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.parquet as pq
import pytest

from sightline.attribution.prototypes import nature, score_drops
from sightline.core import InputError
from sightline.results import benchmark_names, open_benchmark
from sightline.results.prototypes import stored_benchmark
from sightline.stats import interval
from sightline.store.checksums import save_json
from tests.small_prototypes import CONFIG, COUNT, PROTOTYPES

if TYPE_CHECKING:
    from pathlib import Path

    from sightline.results import Results
    from tests.results.stores import Made


def test_tables_are_as_they_were_written(small_benchmark: Path) -> None:
    found = open_benchmark(small_benchmark)
    assert repr(found) == f"StoredBenchmark('small': small on {COUNT} images)"
    assert found.drops is not None
    assert found.relevance is not None
    assert found.drops.equals(pq.read_table(small_benchmark / "drops.parquet"))
    assert found.relevance.num_rows == PROTOTYPES + 10
    assert found.accuracy["images"] == COUNT
    assert not found.by_class
    assert found.picture == small_benchmark / "drops.svg"
    local = found.config.local_perturbation_analysis
    assert local is not None
    assert dict(local.made()[3].steps[0].params) == {"factor": 0.5}


def test_what_they_mean_comes_from_the_stored_rows(small_benchmark: Path) -> None:
    found = open_benchmark(small_benchmark)
    table = pq.read_table(small_benchmark / "drops.parquet")
    expected = nature.effects(table)
    assert str(found.effects()) == str(expected)  # NaN is not equal to itself
    assert found.effects() is not found.effects()
    assert found.natures() == nature.natures(expected)
    assert str(found.premise("hue")) == str(nature.premise(table, "hue"))
    assert str(found.premise("hue")) != str(found.premise())
    assert found.global_stats() == score_drops.global_stats(table)


def test_relevance_is_averaged_over_images_beside_chance(small_benchmark: Path) -> None:
    rows = pq.read_table(small_benchmark / "relevance.parquet").to_pylist()
    means = open_benchmark(small_benchmark).relevance_means
    assert [(one.kind, one.measure) for one in means] == [
        ("prototype", "energy_relevance"),
        ("prototype", "mask_relevance"),
        ("patch", "energy_relevance"),
        ("patch", "mask_relevance"),
    ]
    patches = [row for row in rows if row["kind"] == "patch"]
    values = np.array([row["mask_relevance"] for row in patches])
    chance = np.array([row["chance"] for row in patches])
    images = [row["image"] for row in patches]
    last = means[-1]
    assert (last.lines, last.undefined, last.images) == (10, 0, 5)
    assert last.chance == pytest.approx(chance.mean())
    over = interval(values, images=images, limits=(0, 1))
    assert over.low == 0  # was −0.09, where no share of an attribution can lie
    assert (last.value, last.low, last.high) == (over.value, over.low, over.high)
    gap = interval(values - chance, images=images, limits=(-1, 1))
    assert (last.difference, last.difference_low) == (gap.value, gap.low)


def test_a_store_knows_its_benchmarks(
    small_benchmark: Path, made: Made, results: Results, tmp_path: Path
) -> None:
    assert benchmark_names(small_benchmark.parents[1]) == ["small"]
    assert benchmark_names(made.path) == []
    with pytest.raises(InputError, match="say which benchmark of prototypes; there are: none"):
        results.prototypes()
    with pytest.raises(InputError, match="no benchmark of the name 'small'; there are: none"):
        results.prototypes("small")
    store = tmp_path / "store"
    for name in ("a", "b"):
        shutil.copytree(small_benchmark, store / "prototypes" / name)
    assert stored_benchmark(store, "b").name == "b"
    with pytest.raises(InputError, match="there are: a, b"):
        stored_benchmark(store)
    shutil.rmtree(store / "prototypes" / "a")
    assert stored_benchmark(store).name == "b"


def test_what_is_not_there_is_said(small_benchmark: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        open_benchmark(tmp_path / "none")
    with pytest.raises(InputError, match=r"no benchmark is stored there \(benchmark.json\)"):
        open_benchmark(tmp_path)
    (tmp_path / ".parts").mkdir()
    (tmp_path / ".parts" / "drops-00000-0.parquet").touch()
    with pytest.raises(InputError, match="is not finished: 1 parts are done"):
        open_benchmark(tmp_path)
    copy = tmp_path / "copy"
    shutil.copytree(small_benchmark, copy)
    about = json.loads((copy / "benchmark.json").read_text())
    del about["files"]["drops.parquet"]
    save_json(copy / "benchmark.json", about)
    assert open_benchmark(copy).drops is None
    with pytest.raises(InputError, match="local_perturbation_analysis was not asked for"):
        open_benchmark(copy).effects()
    (copy / "relevance.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match=r"relevance\.parquet is damaged; run the benchmark again"):
        _ = open_benchmark(copy).relevance
    (copy / "relevance.parquet").unlink()
    with pytest.raises(InputError, match=r"relevance\.parquet is gone"):
        _ = open_benchmark(copy).relevance
    assert (copy / "config.yml").read_text() == CONFIG
