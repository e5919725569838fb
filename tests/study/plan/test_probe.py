"""What a study will take, against what it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sightline.store import Store
from sightline.study import run_study
from sightline.study.plan.probe import expect
from tests.study.studies import SHELF, add_maps, make_folder, plan_of, study_of
from tests.study.tables import melt

if TYPE_CHECKING:
    from pathlib import Path

    from sightline.study.plan.probe import Expected


def check_counts(found: list[Expected], store: Store) -> None:
    """Compare with what lies in the shards of each source."""
    manifest = store.manifest()
    for one, source in zip(found, manifest["sources"], strict=True):
        assert one.source.key == source["key"]
        tasks = [
            name
            for name, key in zip(
                store.tasks(),
                [s["key"] for _ in manifest["chunks"] for s in manifest["sources"]],
                strict=True,
            )
            if key == source["key"]
        ]
        assert one.tasks == len(tasks)
        tables = [
            pa.concat_tables(pq.read_table(place(task)) for task in tasks)
            for place in (store.score_file, store.region_file)
        ]
        assert one.rows == melt(*tables).num_rows, source["method"]
        assert one.maps == tables[0].num_rows


CASES: dict[str, dict[str, Any]] = {
    "all": {"heads": "all", "selection": ["percentile", "mass60", "matched"], "fit": "crop"},
    "union": {"regions": False, "metrics": ["iou", "top_k_any", "kl", "pointing"]},
}


@pytest.mark.parametrize("case", CASES)
def test_counts_are_those_of_a_run(tmp_path: Path, case: str) -> None:
    folder = make_folder(tmp_path / "f", 18)
    own = {"name": "mine", "params": {"maps": str(add_maps(tmp_path / "m", range(3, 9)))}}
    methods = ["cls", "random", "mean_map", own]
    study = study_of(folder, **CASES[case], methods=methods)
    plan = plan_of(folder, **CASES[case], methods=methods)
    store = Store(tmp_path / "runs" / "first")
    before = expect(plan, store, SHELF)
    assert not store.path.exists()
    assert all(one.seconds > 0 and one.stored == 0 for one in before)
    run = run_study(study, tmp_path / "runs", workers=1)
    assert run.rows == sum(one.rows for one in before)
    check_counts(before, store)
    there = {file: file.stat().st_mtime_ns for file in store.path.rglob("*")}
    after = expect(plan, store, SHELF)
    assert {file: file.stat().st_mtime_ns for file in store.path.rglob("*")} == there
    assert all(one.seconds == 0 and one.stored == one.tasks for one in after)
    assert [one.rows for one in after] == [one.rows for one in before]


def test_what_is_done_takes_no_time(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "f", 20)
    run_study(study_of(folder, methods=["random"]), tmp_path, workers=1)
    told: list[tuple[int, int, str]] = []

    def tell(done: int, total: int, what: str) -> None:
        told.append((done, total, what))

    plan = plan_of(folder, methods=["random", "centre"])
    random, centre = expect(plan, Store(tmp_path / "first"), SHELF, tell)
    assert (random.tasks, random.stored, random.seconds) == (2, 2, 0)
    assert (centre.tasks, centre.stored) == (2, 0)
    assert centre.seconds > 0
    assert told == [(0, 2, "Trying demo/vit random"), (1, 2, "Trying demo/vit centre")]


def test_maps_of_some_images_are_counted_by_those(tmp_path: Path) -> None:
    """Also where the first images have none."""
    folder = make_folder(tmp_path / "f", 8)
    own = {"name": "mine", "params": {"maps": str(add_maps(tmp_path / "m", range(5, 8)))}}
    plan = plan_of(folder, models=[], methods=[own], batch=3)
    (one,) = expect(plan, Store(tmp_path / "none"), SHELF)
    assert one.maps == 3
    assert one.seconds > 0
    run = run_study(
        study_of(folder, models=[], methods=[own], batch=3), tmp_path / "runs", workers=1
    )
    assert (run.rows, run.maps) == (one.rows, one.maps)
