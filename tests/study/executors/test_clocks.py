"""Clocks that jump, and files of any time: nothing is done again, left out or mistaken."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta
from threading import Event
from typing import TYPE_CHECKING

import numpy as np
import pytest

import sightline.store.lock as lock
import sightline.study.plan.manifest as manifest
from sightline.api.state import store_version
from sightline.results import open_results
from sightline.store import Store
from sightline.store.files import write_whole
from sightline.study import Run, Watch, run_study
from tests.study.executors.studies import given_study, shard_bytes, stamps

if TYPE_CHECKING:
    from pathlib import Path

    from sightline.study import Study

DAY = 86_400


class Jumping:
    """A clock that jumps by days, back and forth, whenever it is looked at."""

    def __init__(self) -> None:
        self.chance, self.looks, self.real = np.random.default_rng(0), 0, time.time

    def time(self) -> float:
        self.looks += 1
        return self.real() + DAY * float(self.chance.integers(-9000, 9000))

    def now(self, zone: object = None) -> datetime:
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=self.time())


class Progress(Watch):
    """Stops after some tasks, and keeps what is said of the time that is left."""

    def __init__(self, tasks: int) -> None:
        self.tasks, self.stop, self.said = tasks, Event(), list[float]()

    def moved(self, run: Run) -> None:
        left = run.time_left()
        assert left is not None
        self.said += [left, run.seconds]
        if run.finished >= self.tasks:
            self.stop.set()


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return given_study(tmp_path / "data", images=8, methods="ab", batch=1)


def test_a_clock_that_jumps_during_runs_changes_nothing(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calm = run_study(study, tmp_path / "calm", workers=1).store.path
    clock = Jumping()
    monkeypatch.setattr(time, "time", clock.time)
    monkeypatch.setattr(time, "time_ns", lambda: int(1e9 * clock.time()))
    for module in (manifest, lock):
        monkeypatch.setattr(module, "datetime", clock)
    done = 0
    for tasks in (5, 99):
        watch = Progress(tasks)
        run = run_study(study, tmp_path, workers=1, watch=watch, stop=watch.stop)
        assert run.stored == done
        done += run.finished
        assert all(0 <= seconds < DAY for seconds in watch.said)
    assert done == 16
    assert clock.looks >= 4
    runs = Store(run.store.path).manifest()["runs"]
    assert len({one["ended"][:10] for one in runs}) == 2  # the clock did jump
    assert all(0 <= one["seconds"] < DAY for one in runs)
    assert shard_bytes(run.store.path) == shard_bytes(calm)


@pytest.mark.parametrize("when", [0, 4_102_444_800], ids=["1970", "2100"])
def test_files_of_any_time_are_what_they_hold(study: Study, tmp_path: Path, when: int) -> None:
    store = run_study(study, tmp_path, workers=1).store
    shard = sorted(store.scores.iterdir())[3]
    with open_results(store.path) as results:
        before = results.leaderboard()
    shard.write_bytes(shard.read_bytes()[:-9])
    for path in [*store.path.rglob("*"), *(tmp_path / "data").rglob("*")]:
        os.utime(path, (when, when))
    old = {name: stamp[:2] for name, stamp in stamps(store.path).items()}
    run = run_study(study, tmp_path, workers=1)
    assert (run.stored, run.finished) == (15, 1)
    now = {name: stamp[:2] for name, stamp in stamps(store.path).items()}
    assert sum(now[name] != old[name] for name in old) == 2  # scores and region_scores of one task
    with open_results(store.path) as results:
        assert results.leaderboard().equals(before)


def test_a_map_that_changes_while_the_clock_stands_still_is_scored_anew(
    study: Study, tmp_path: Path
) -> None:
    run_study(study, tmp_path, workers=1)
    file = tmp_path / "data" / "a" / "003.npy"
    before = file.stat()
    np.save(file, np.load(file)[::-1])
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (file.stat().st_size, file.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert run_study(study, tmp_path, workers=1).finished == 8  # all of that method


def test_a_service_sees_new_files_of_the_same_time_and_size(study: Study, tmp_path: Path) -> None:
    path = run_study(study, tmp_path, workers=1).store.path / "study.yml"
    before, content = path.stat(), path.read_bytes()
    first = store_version(path.parent)
    assert store_version(path.parent) == first
    write_whole(path, content.replace(b"iou", b"auc"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    os.utime(path.parent, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert store_version(path.parent) != first
