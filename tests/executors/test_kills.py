"""A run that is killed again and again ends with the very table of one that never was."""

from __future__ import annotations

import shutil
import time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sightline.executors import run_study
from sightline.results.digest import results_digest
from sightline.store import Store
from tests.executors.studies import (
    Process,
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
    from collections.abc import Sequence
    from pathlib import Path

    from sightline.study import Study

# What a study without a model must do without: it takes seconds to import.
HEAVY = ("torch", "transformers", "captum", "sklearn")
RUN = f"""
import sys
from sightline.executors import run_study
from sightline.study import load_study
_, _, study, _, out, _, workers = sys.argv
run = run_study(load_study(study), out, workers=int(workers))
loaded = [name for name in {HEAVY!r} if name in sys.modules]
print("stored", run.stored, "loaded", *loaded)
"""


class Kill(NamedTuple):
    """How many workers there are, whether all are killed or the driver alone, and when.

    That is after one to `most` new shards: a worker starts when the driver is at work already.
    """

    workers: int
    group: bool
    most: int = 5


def start(study: Study, out: Path, workers: int) -> Process:
    return Process(study, out, "--workers", str(workers), code=RUN)


def kill_some(study: Study, out: Path, kills: Sequence[Kill], seed: int) -> int:
    """Run a study, kill it in each of some ways, and then run it to its end.

    A run that ends before its kill is thrown away, so that the number of kills does not depend on
    how fast the machine is. Return how many tasks the last run found stored.
    """
    chance, store, left = np.random.default_rng(seed), out / study.name, list(kills)
    for _ in range(3 * len(kills)):
        if left and _killed(start(study, out, left[0].workers), store, left[0], chance):
            left.pop(0)
        elif left:
            shutil.rmtree(store)
    assert not left, "the runs are too short to be killed"
    last = start(study, out, kills[-1].workers)
    status, said = last.end()
    assert status == 0, said
    assert last.alive() == []
    _, stored, _, *loaded = said.split()
    assert study.models or not loaded, f"a study without models imports {loaded}"
    return int(stored)


def _killed(run: Process, store: Path, kill: Kill, chance: np.random.Generator) -> bool:
    """Kill a run at some moment after its first new shard; say whether it was in time."""
    enough = len(shard_names(store)) + chance.integers(1, kill.most, endpoint=True)
    wait_until(lambda: len(shard_names(store)) >= enough or run.popen.poll() is not None, "a shard")
    time.sleep(chance.random() * 0.03)  # any moment of a task, writing among them
    if run.popen.poll() is not None:
        assert run.end()[0] == 0, run.end()[1]
        return False
    run.kill(group=kill.group)
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
    kills = [Kill(1, False)] * 3 + [Kill(1, True)] * 2
    kills += [Kill(2, False, 40)] * 3 + [Kill(3, False, 40)] + [Kill(2, True, 40)] * 3
    study = given_study(tmp_path / "data", images=60, methods="abcd", batch=1)
    calm = run_study(study, tmp_path / "calm", workers=1)
    assert calm.total == 240
    stored = kill_some(study, tmp_path, kills, seed=len(kills))
    assert stored > 0
    rows = table(tmp_path / "given").num_rows
    # Union and two regions; two thresholds of one metric and two metrics without any.
    assert rows == 60 * 4 * 3 * (2 + 2) == calm.rows
    check_equal(tmp_path / "given", calm.store.path)


def test_models_survive_kills(tmp_path: Path) -> None:
    study = model_study(methods=["cls", "random", "mean_map"], seeds=list(range(20)))
    calm = run_study(study, tmp_path / "calm", workers=1)
    kill_some(study, tmp_path, [Kill(2, False), Kill(1, True)], seed=1)
    check_equal(tmp_path / study.name, calm.store.path)
    check_maps(tmp_path / study.name, calm.store.path)


def check_maps(killed: Path, calm: Path) -> None:
    found, same = ({p.name: p.read_bytes() for p in (s / "maps").iterdir()} for s in (killed, calm))
    assert found == same
    assert found
