"""Real runs of `sightline run`: interrupted, two at once, on a full disk, where none may write."""

from __future__ import annotations

import errno
import json
import os
import re
import resource
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from sightline.store import Store
from sightline.study import RunError, run_study
from tests.study.executors.studies import (
    CLI,
    Process,
    check_whole,
    given_study,
    parts,
    shard_bytes,
    shard_names,
    table_bytes,
    wait_for_workers,
    wait_until,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sightline.study import Study

# Scoring that never ends: what is in hand cannot be finished.
STUCK = f"""
import threading
import sightline.study.worker.worker as work
work.Worker.score = lambda *_: threading.Event().wait()
{CLI}
"""


LONG = 100  # tasks


def long_study(folder: Path) -> Study:
    return given_study(folder / "data", images=LONG // 5, methods="abcde", batch=1)


@pytest.fixture(scope="module")
def long_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Study, Path]:
    """A long study, and the store of a run that nothing befell."""
    folder = tmp_path_factory.mktemp("long")
    study = long_study(folder)
    return study, run_study(study, folder / "calm", workers=1).store.path


@pytest.fixture(scope="module")
def wide_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Study, Path]:
    """A wide study, and the store of a run that nothing befell."""
    folder = tmp_path_factory.mktemp("wide")
    study = wide_study(folder)
    return study, run_study(study, folder / "calm", workers=1).store.path


def has_shards(store: Path, count: int = 1) -> Any:
    return lambda: len(shard_names(store)) >= count


def test_the_first_interrupt_finishes_the_tasks_in_hand(
    tmp_path: Path, long_run: tuple[Study, Path]
) -> None:
    study, calm = long_run
    store = tmp_path / "given"
    run = Process(study, tmp_path, "--workers", "2")
    wait_until(has_shards(store), "a shard")
    run.interrupt()
    status, said = run.end()
    assert status == 130, said
    assert "Traceback" not in said
    assert "Stopping after the tasks in hand" in said
    stored = len(shard_names(store))
    assert re.search(rf"Stopped: {stored} of {LONG} tasks (are )?stored\. To go on:", said)
    assert f"run {tmp_path / 'given.yml'}" in said
    assert 0 < stored < LONG
    assert parts(store) == []
    assert run.alive() == []
    assert [one["tasks"] for one in Store(store).manifest()["runs"]] == [stored]
    again = run_study(study, tmp_path, workers=1)
    assert (again.stored, again.complete) == (stored, True)
    check_whole(store)
    assert shard_bytes(store) == shard_bytes(calm)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_the_second_interrupt_ends_at_once(tmp_path: Path, workers: str) -> None:
    study = given_study(tmp_path / "data", images=4, methods="ab", batch=1)
    run = Process(study, tmp_path, "--workers", workers, code=STUCK)
    wait_until(lambda: "Plan:" in run.log.read_text(), "the plan")
    run.interrupt()
    wait_until(lambda: "Stopping after" in run.log.read_text(), "the first interrupt is heard")
    assert run.popen.poll() is None
    run.interrupt()
    status, said = run.end()
    assert status in (1, 130), said
    assert "Traceback" not in said
    wait_for_workers(run)
    assert run_study(study, tmp_path, workers=1).complete


def test_the_second_of_two_runs_says_who_holds_the_store(
    tmp_path: Path, long_run: tuple[Study, Path]
) -> None:
    study, calm = long_run
    store = tmp_path / "given"
    first = Process(study, tmp_path, "--workers", "1")
    wait_until(has_shards(store), "a shard")
    first.halt()  # so that it is there for as long as it takes
    try:
        before = shard_names(store), parts(store), (store / "manifest.json").read_bytes()
        status, said = Process(study, tmp_path, "--workers", "1").end()
        assert status == 2, said
        assert "Traceback" not in said
        words = " ".join(said.split())
        assert "is being written by" in words
        assert f"process {first.popen.pid} of" in words
        assert json.loads((store / "lock").read_text())["process"] == first.popen.pid
        assert (shard_names(store), parts(store), (store / "manifest.json").read_bytes()) == before
    finally:
        os.kill(first.popen.pid, signal.SIGCONT)
    status, said = first.end()
    assert status == 0, said
    check_whole(store)
    assert shard_bytes(store) == shard_bytes(calm)


@contextmanager
def files_up_to(size: int) -> Iterator[None]:
    """Have the system refuse to let files grow beyond a size, as a full disk does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def wide_study(folder: Path) -> Study:
    """Return a study whose shards are larger than the files that say what it is."""
    return given_study(
        folder / "data", images=24, methods="abc", batch=12, percentiles=[50, 70, 90]
    )


def between(calm: Path) -> int:
    """Return a size that all files of the plan have room in, and shards of scores have not."""
    plan = max(path.stat().st_size for path in calm.iterdir() if path.is_file())
    shards = min(path.stat().st_size for path in (calm / "scores").iterdir())
    assert plan < shards
    return (plan + shards) // 2


def check_room(study: Study, folder: Path, calm: Path) -> None:
    """Check that nothing half-written is there, and that with room again all is as it should be."""
    assert parts(folder / "given") == []
    for name, content in whole_shards(folder / "given").items():
        assert content == (calm / name).read_bytes()
    again = run_study(study, folder, workers=1)
    assert again.complete
    check_whole(again.store.path)
    assert shard_bytes(again.store.path) == shard_bytes(calm)
    assert table_bytes(again.store.path) == table_bytes(calm)


def whole_shards(store: Path) -> dict[str, bytes]:
    return {
        f"{folder}/{path.name}": path.read_bytes()
        for folder in ("scores", "region_scores")
        for path in (store / folder).glob("*")
    }


def test_a_full_disk(tmp_path: Path, wide_run: tuple[Study, Path]) -> None:
    study, calm = wide_run
    with files_up_to(between(calm)), pytest.raises(RunError) as caught:
        run_study(study, tmp_path, workers=1)
    said = str(caught.value)
    assert str(tmp_path / "given") in said
    assert "File too large" in said
    assert "0 of 6 tasks are stored" in said
    assert "make room, then run again" in said
    check_room(study, tmp_path, calm)


def test_a_full_disk_as_a_program_says_it(tmp_path: Path, wide_run: tuple[Study, Path]) -> None:
    study, calm = wide_run
    limit = f"import resource as r; r.setrlimit(r.RLIMIT_FSIZE, ({between(calm)},) * 2)\n"
    run = Process(study, tmp_path, "--workers", "2", code=limit + CLI)
    status, said = run.end()
    assert status == 2, said
    assert "Traceback" not in said
    assert "make room" in " ".join(said.split())
    assert run.alive() == []
    check_room(study, tmp_path, calm)


def test_not_even_room_for_the_plan(tmp_path: Path, wide_run: tuple[Study, Path]) -> None:
    study, calm = wide_run
    with files_up_to(500), pytest.raises(RunError, match="make room, then run again"):
        run_study(study, tmp_path, workers=1)
    assert not (tmp_path / "given" / "manifest.json").exists()
    with files_up_to(10), pytest.raises(RunError, match="make room, then run again"):
        run_study(study, tmp_path, workers=1)
    check_room(study, tmp_path, calm)


@pytest.mark.parametrize("first", [1, 4, 5, 8, 15])
def test_a_disk_that_fills_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wide_run: tuple[Study, Path], first: int
) -> None:
    """The disk is full from some write on: of the plan, of a shard, in the middle of the run."""
    study, calm = wide_run
    sync, calls = os.fsync, []

    def full(handle: int) -> None:
        calls.append(handle)
        if len(calls) >= first:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(handle)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(RunError, match=r"No space left on device\. (.|\n)*make room"):
            run_study(study, tmp_path, workers=1)
    assert len(calls) >= first
    check_room(study, tmp_path, calm)


# Root may write anywhere unless it gives up the right to; others need not.
HUMBLE = f"""
import ctypes, os, sys
PR_CAPBSET_DROP, CAP_DAC_OVERRIDE = 24, 1
if os.getuid() == 0 and ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0):
    os._exit(77)
os.execv(sys.executable, [sys.executable, "-c", {CLI!r}, *sys.argv[1:]])
"""


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_folder_that_cannot_be_written_to(tmp_path: Path, when: str) -> None:
    study = given_study(tmp_path / "data", images=4, methods="a")
    out = tmp_path / "out"
    out.mkdir()
    folders = [out]
    if when == "after":
        store = run_study(study, out, workers=1).store
        folders += [store.path, *store.shard_folders, store.cache]
        study = given_study(tmp_path / "data", images=4, methods="ab")
    for folder in folders:
        folder.chmod(0o555)
    try:
        status, said = Process(study, tmp_path / "files", "--out", str(out), code=HUMBLE).end()
    finally:
        for folder in folders:
            folder.chmod(0o755)
    if status == 77:
        pytest.skip("this user may write everywhere and cannot give that up")
    assert status == 2, said
    assert "Traceback" not in said
    assert "results cannot be written there" in " ".join(said.split())
    assert run_study(study, out, workers=1).complete
