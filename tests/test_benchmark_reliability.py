"""What the benchmark of reliability compares, harms and tells; its kills run by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from benchmarks import _kill_points
from benchmarks import reliability as bench
from benchmarks._kill_points import PointResult
from sightline.store.checksums import check_file, save_json
from sightline.study import run_study

if TYPE_CHECKING:
    from pathlib import Path

    from sightline.store import Store


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    folder = tmp_path_factory.mktemp("reliability")
    return run_study(bench.given_study(folder, batch=4), folder / "out", workers=1).store


def test_the_study_has_all_kinds_of_maps(tmp_path: Path) -> None:
    study = bench.make_study(tmp_path)
    assert [method.name for method in study.methods] == [
        *("cls", "gradcam", "random", "mean_map"),
        *bench.GIVEN,
    ]
    for name in bench.GIVEN:
        assert len(list((tmp_path / name).iterdir())) == bench.GIVEN_IMAGES > max(bench.BATCHES)
    assert not bench.given_study(tmp_path, batch=7).models


def test_contents_leave_out_the_log_of_runs_and_what_is_derived(store: Store) -> None:
    before = bench.contents(store.path)
    names = {"manifest.json", "study.yml", "images.parquet", "regions.parquet"}
    files = [path for folder in store.shard_folders for path in folder.iterdir()]
    assert set(before) == names | {f"{path.parent.name}/{path.name}" for path in files}
    manifest = store.manifest()
    save_json(store.manifest_path, {**manifest, "runs": [*manifest["runs"], {"seconds": 1}]})
    assert bench.contents(store.path) == before
    save_json(store.manifest_path, {**manifest, "threads": 99})
    assert bench.contents(store.path) != before
    save_json(store.manifest_path, manifest)
    half = store.scores / ".a.part"
    half.write_text("half")
    assert bench.parts(store.path) == 1
    assert bench.contents(store.path) != before
    half.unlink()
    parts = sorted(store.cache.iterdir())
    assert [path.stem[:-17] for path in parts] == ["region_scores-000000", "scores-000000"]
    other = parts[0].rename(store.cache / "region_scores-000009.parquet")
    assert bench.contents(store.path) == before
    other.rename(parts[0])


def test_where_a_kill_fell(store: Store, tmp_path: Path) -> None:
    tasks = len(list(store.scores.iterdir()))
    assert bench.where(tmp_path, tasks) == "before the plan"
    assert bench.where(store.path, tasks) == "at the end"
    assert bench.where(store.path, tasks + 1) == "between tasks"
    (tmp_path / "scores").mkdir()
    (tmp_path / "manifest.json").touch()
    assert bench.where(tmp_path, tasks) == "after the plan"


@pytest.mark.parametrize("how", ["flip", "cut", "blank"])
def test_files_are_harmed(store: Store, how: str) -> None:
    path = min(store.scores.iterdir())
    whole = path.read_bytes()
    for seed in range(20):
        bench._harm(path, how, np.random.default_rng(seed))
        assert check_file(path) == "damaged"
        path.write_bytes(whole)
    assert check_file(path) == "sound"


def test_a_flip_that_nobody_notices_is_an_error(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = len(bench.contents(store.path)) - 1 + 2  # the study has no checksum, copies have
    assert bench._flipped(store.path, np.random.default_rng(0)) == 200 * files
    monkeypatch.setattr("sightline.store.checksums.check_content", lambda *_: "sound")
    with pytest.raises(RuntimeError, match="was flipped, and nobody noticed"):
        bench._flipped(store.path, np.random.default_rng(0))


def test_a_full_disk_must_be_told_as_one() -> None:
    assert "make room" in bench._kind("x: No space left on device. make room, then run again")
    with pytest.raises(RuntimeError, match="a full disk was told as: KeyError"):
        bench._kind("KeyError")


def test_kills_at_points_that_change_something_are_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = [PointResult("scores:half", 10, 4, 9, 120), PointResult("maps:half", 10, 2, 10, 90)]
    monkeypatch.setattr(_kill_points, "kill_at_points", lambda *_: results)
    assert bench.points(tmp_path, 10, 0)[1:] == [
        ["scores:half", "10", "4", "9", "120", "0"],
        ["maps:half", "10", "2", "10", "90", "0"],
        ["all", "20", "6", "19", "210", "0"],
    ]
    results[1].differences.append("a.parquet")
    with pytest.raises(RuntimeError, match="1 differences after kills: maps:half: a"):
        bench.points(tmp_path, 10, 0)
