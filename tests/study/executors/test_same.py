"""The table does not depend on who does the work: workers, processes, threads, interruptions."""

from __future__ import annotations

from threading import Event
from typing import TYPE_CHECKING

import pytest

from sightline.results.digest import results_digest
from sightline.study import Run, Watch, run_study
from tests.study.executors.studies import (
    Process,
    check_whole,
    given_study,
    model_study,
    shard_bytes,
    table,
    table_bytes,
)

if TYPE_CHECKING:
    from pathlib import Path


class StopAfter(Watch):
    """Stops a run when it has finished some tasks."""

    def __init__(self, tasks: int) -> None:
        self.tasks, self.stop, self.seen = tasks, Event(), 0

    def moved(self, run: Run) -> None:
        self.seen += 1
        if run.finished >= self.tasks:
            self.stop.set()


def test_workers_change_no_bit(tmp_path: Path) -> None:
    study = given_study(tmp_path / "data", images=10, methods="abc")
    stores = []
    for workers in (1, 2, 3):
        run = run_study(study, tmp_path / str(workers), workers=workers)
        assert (run.workers, run.total, run.finished) == (workers, 15, 15)
        assert run.complete
        check_whole(run.store.path)
        stores.append(run.store.path)
    first, *others = stores
    for other in others:
        assert shard_bytes(other) == shard_bytes(first)
        assert table_bytes(other) == table_bytes(first)
        assert results_digest(other) == results_digest(first)


@pytest.mark.parametrize("resolution", ["grid", "pixels"])
def test_batches_of_given_maps_change_no_row(tmp_path: Path, resolution: str) -> None:
    found = []
    for batch in (1, 3, 64):
        study = given_study(
            tmp_path / "data", images=7, methods="ab", batch=batch, resolution=resolution
        )
        run = run_study(study, tmp_path / str(batch), workers=1)
        assert len(run.plan.chunks) == {1: 7, 3: 3, 64: 1}[batch]
        found.append(run.store.path)
    assert table(found[0]).num_rows == 7 * 2 * 3 * 4
    assert len({table_bytes(store) for store in found}) == 1
    assert len({results_digest(store) for store in found}) == 1


def test_threads_around_a_study_change_no_bit(tmp_path: Path) -> None:
    study = given_study(tmp_path / "data", images=6, methods="ab")
    calm = run_study(study, tmp_path / "calm", workers=1).store.path
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
    env = dict.fromkeys(names, "2")
    status, said = Process(study, tmp_path / "many", "--workers", "2", env=env).end()
    assert status == 0, said
    assert shard_bytes(tmp_path / "many" / "given") == shard_bytes(calm)


def test_a_model_gives_the_same_bits_twice_and_in_another_process(tmp_path: Path) -> None:
    facades = {"name": "facades", "count": 3, "seed": 1, "labelling": "representative"}
    methods = ["cls", "gradcam", "random", "mean_map"]
    study = model_study(data=facades, methods=methods, heads="all")
    one, two = (run_study(study, tmp_path / name, workers=1) for name in ("one", "two"))
    # The second lane is another process, which must choose the same way through a network.
    three = run_study(study, tmp_path / "three", workers=2)
    assert three.complete
    for run in (two, three):
        assert shard_bytes(run.store.path) == shard_bytes(one.store.path)
        maps = [sorted((store / "maps").iterdir()) for store in (one.store.path, run.store.path)]
        assert [p.read_bytes() for p in maps[0]] == [p.read_bytes() for p in maps[1]]
        assert results_digest(run.store.path) == results_digest(one.store.path)


@pytest.mark.parametrize(("workers", "each"), [(1, 6), (2, 16)])
def test_stopped_again_and_again_it_is_the_same(tmp_path: Path, workers: int, each: int) -> None:
    study = given_study(tmp_path / "data", images=20, methods="ab", batch=1)
    calm = run_study(study, tmp_path / "calm", workers=1).store.path
    done, runs = 0, 0
    while done < 40:
        watch = StopAfter(each)
        run = run_study(study, tmp_path / "again", workers=workers, watch=watch, stop=watch.stop)
        assert run.stored == done
        # What was begun is finished: three tasks in each worker at most.
        assert run.finished == watch.seen <= each + 3 * workers
        done += run.finished
        runs += 1
        assert run.complete == (done == 40)
        assert run.stopped == watch.stop.is_set()
    assert runs >= 2
    check_whole(tmp_path / "again" / "given")
    assert shard_bytes(tmp_path / "again" / "given") == shard_bytes(calm)
    assert table_bytes(tmp_path / "again" / "given") == table_bytes(calm)


def test_a_run_of_a_finished_study_does_nothing(tmp_path: Path) -> None:
    study = given_study(tmp_path / "data", images=4, methods="a")
    first = run_study(study, tmp_path, workers=1)
    before = table_bytes(first.store.path)
    again = run_study(study, tmp_path, workers=2)
    assert (again.stored, again.finished, again.rows) == (2, 0, 0)
    assert again.complete
    assert table_bytes(first.store.path) == before
    assert [one["tasks"] for one in first.store.manifest()["runs"]] == [2, 0]
