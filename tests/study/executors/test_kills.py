"""A run that is killed again and again ends with the very table of one that never was."""

from __future__ import annotations

import shutil
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sightline.results.digest import results_digest
from sightline.store import Store
from sightline.study import run_study
from tests.study.executors.forking import Server
from tests.study.executors.studies import (
    check_whole,
    given_study,
    model_study,
    shard_bytes,
    shard_names,
    table,
    table_bytes,
    wait_for_workers,
    wait_until,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from sightline.study import Study
    from tests.study.executors.forking import Forked


class Kill(NamedTuple):
    """How many workers there are, whether all are killed or the driver alone, and when.

    That is after one to `most` new shards: a worker starts when the driver is at work already.
    Where it is 0, at any moment of the plan.
    """

    workers: int
    group: bool
    most: int = 5


@contextmanager
def served(study: Study, folder: Path) -> Iterator[Server]:
    """Yield what forks runs, after it has run a study once."""
    made = Server(study, folder)
    try:
        yield made
    finally:
        made.close()


def kill_some(server: Server, study: Study, out: Path, kills: Sequence[Kill]) -> int:
    """Run a study, kill it in each of some ways, and then run it to its end.

    A run that ends before its kill is thrown away, so that the number of kills does not depend on
    how fast the machine is. Return how many tasks the last run found stored.
    """
    chance, store, left = np.random.default_rng(len(kills)), out / study.name, list(kills)
    for _ in range(3 * len(kills)):
        if left and _killed(server.start(study, out, left[0].workers), store, left[0], chance):
            left.pop(0)
        elif left:
            shutil.rmtree(store)
    assert not left, "the runs are too short to be killed"
    last = server.start(study, out, 1)
    said = last.said()
    assert said.startswith("stored "), said
    assert last.alive() == []
    _, stored, _, *loaded = said.split()
    assert study.models or not loaded, f"a study without models imports {loaded}"
    return int(stored)


def _killed(run: Forked, store: Path, kill: Kill, chance: np.random.Generator) -> bool:
    """Kill a run at some moment after its first new shard; say whether it was in time."""
    if kill.most:
        enough = len(shard_names(store)) + chance.integers(1, kill.most, endpoint=True)
        wait_until(lambda: len(shard_names(store)) >= enough or run.ended(), "a shard", 0.002)
    time.sleep(chance.random() * 0.03)  # any moment of a task, writing among them
    if run.ended():
        assert run.said().startswith("stored "), run.said()
        return False
    run.kill(group=kill.group)
    if kill.most:
        assert Store(store).tasks()  # the manifest is whole
    wait_for_workers(run)
    return True


def check_equal(killed: Path, calm: Path) -> None:
    check_whole(killed)
    assert results_digest(killed) == results_digest(calm)
    assert table(killed).equals(table(calm))
    assert table_bytes(killed) == table_bytes(calm)
    assert shard_bytes(killed) == shard_bytes(calm)


def test_given_maps_survive_kills(tmp_path: Path) -> None:
    # A single worker is the driver itself: then it is all one who is killed.
    kills = [Kill(1, False, 0)] * 4 + [Kill(1, False)] * 6 + [Kill(1, True, 8)] * 5
    kills += [Kill(2, False, 30), Kill(3, False, 30), Kill(2, True, 30), *[Kill(1, True, 0)] * 2]
    study = given_study(tmp_path / "data", images=40, methods="abcd", batch=1)
    calm = run_study(study, tmp_path / "calm", workers=1)
    assert calm.total == 160
    warm = given_study(tmp_path / "few", images=2, methods="a")
    with served(warm, tmp_path / "warm") as server:
        assert kill_some(server, study, tmp_path, kills) > 0
    scores = table(tmp_path / "given").num_rows
    # Union and two regions; two thresholds of one metric and two metrics without any.
    assert scores == 40 * 4 * 3 * (2 + 2) == calm.rows
    check_equal(tmp_path / "given", calm.store.path)


def test_models_survive_kills(tmp_path: Path) -> None:
    facades = {"name": "facades", "count": 3, "seed": 1, "labelling": "representative"}
    keys = {"data": facades, "methods": ["cls", "random", "mean_map"], "layers": [-1]}
    study = model_study(**keys, seeds=list(range(14)))
    calm = run_study(study, tmp_path / "calm", workers=1)
    kills = [Kill(2, True, 2), *[Kill(1, True, 2)] * 4, *[Kill(1, False, 0)] * 2]
    with served(model_study(**keys), tmp_path / "warm") as server:
        kill_some(server, study, tmp_path, kills)
    check_equal(tmp_path / study.name, calm.store.path)
    check_maps(tmp_path / study.name, calm.store.path)


def check_maps(killed: Path, calm: Path) -> None:
    found, same = ({p.name: p.read_bytes() for p in (s / "maps").iterdir()} for s in (killed, calm))
    assert found == same
    assert found
