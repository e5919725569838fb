"""What goes wrong on the way: bad files, no memory, slips; the rest is done and nothing is lost."""

from __future__ import annotations

import os
import re
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import sightline.study.executors.local as local
import sightline.study.worker.worker as work
from sightline.cli import app
from sightline.core import InputError
from sightline.store import Store
from sightline.study import Run, RunError, Shelf, Watch, run_study
from sightline.study.executors.processes import Died
from sightline.study.worker.scores import score_chunk
from tests.study.executors.studies import (
    check_whole,
    given_study,
    model_study,
    parts,
    shard_names,
    table,
    table_bytes,
    write_images,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from sightline.models import Model
    from sightline.study import Study

IMAGES = [f"{number:03}.png" for number in range(6)]


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have studies with a model take two images at a time as well."""
    monkeypatch.setattr("sightline.study.plan.planner.CHUNK", 2)


def images_of(store: Path) -> list[str]:
    return sorted(set(table(store)["image"].to_pylist()))


def folder_study(folder: Path) -> Study:
    if not folder.exists():
        write_images(folder, len(IMAGES))
    return model_study(data={"name": "folder", "path": str(folder)}, layers=[-1])


@pytest.mark.usefixtures("small_chunks")
def test_a_corrupt_image(tmp_path: Path) -> None:
    study = folder_study(tmp_path / "data")
    calm = run_study(study, tmp_path / "calm", workers=1).store.path
    file = tmp_path / "data" / "images" / "003.png"
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(RunError) as caught:
        run_study(study, tmp_path, workers=1)
    said = str(caught.value)
    assert "1 image could not be used" in said
    assert "003.png" in said
    assert "4 of 6 tasks are stored" in said  # two sources, three chunks, one of them bad
    assert "--skip-bad" in said
    store = tmp_path / study.name
    assert len(shard_names(store)) == 4

    without = run_study(study, tmp_path, workers=1, skip_bad=True)
    assert without.complete
    assert without.finished == 2  # the rest of the bad chunk, and nothing else
    assert list(without.plan.skipped or {}) == ["003.png"]
    assert "003.png" in (without.plan.skipped or {})["003.png"]
    assert images_of(store) == [image for image in IMAGES if image != "003.png"]
    (skipped,) = without.store.manifest()["skipped"]
    assert skipped["image"] == "003.png"
    check_whole(store)

    again = run_study(study, tmp_path, workers=1, skip_bad=True)
    assert (again.stored, again.finished) == (6, 0)
    assert list(again.plan.skipped or {}) == ["003.png"]

    file.write_bytes(whole)
    mended = run_study(study, tmp_path, workers=1, skip_bad=True)
    assert (mended.stored, mended.finished) == (4, 2)
    assert not mended.plan.skipped
    assert images_of(store) == IMAGES
    check_whole(store)
    assert table_bytes(store) == table_bytes(calm)


@pytest.mark.usefixtures("small_chunks")
def test_rows_without_an_image_are_those_of_a_study_without_it(tmp_path: Path) -> None:
    study = folder_study(tmp_path / "data")
    calm = table(run_study(study, tmp_path / "calm", workers=1).store.path)
    for name in ("000.png", "001.png", "004.png"):
        (tmp_path / "data" / "images" / name).write_bytes(b"not a picture")
    run = run_study(study, tmp_path, workers=1, skip_bad=True)
    assert run.complete
    kept = {"002.png", "003.png", "005.png"}
    assert sorted(run.bad) == sorted(set(IMAGES) - kept)
    same = [image in kept for image in calm["image"].to_pylist()]
    rows = table(run.store.path)
    whole = calm.filter(np.array(same))
    assert rows.drop_columns("value").equals(whole.drop_columns("value"))
    # A pass over fewer images may have other last bits.
    assert np.allclose(rows["value"], whole["value"], atol=1e-5, equal_nan=True)


@pytest.mark.usefixtures("small_chunks")
def test_no_image_can_be_read(tmp_path: Path) -> None:
    study = folder_study(tmp_path / "data")
    for file in (tmp_path / "data" / "images").iterdir():
        file.write_bytes(b"not a picture")
    with pytest.raises(RunError, match=r"6 images could not(.|\n)*and 1 more(.|\n)*0 of 6 tasks"):
        run_study(study, tmp_path, workers=1)
    with pytest.raises(InputError, match="no image of the study can be read"):
        run_study(study, tmp_path, workers=1, skip_bad=True)


def with_nan(file: Path) -> None:
    values = np.load(file)
    values[3, 4] = np.nan
    np.save(file, values)


def cut_short(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:100])


@pytest.mark.parametrize("spoil", [with_nan, cut_short])
def test_a_bad_map(tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    study = given_study(tmp_path / "data", images=6, methods="ab")
    calm = run_study(study, tmp_path / "calm", workers=1).store.path
    file = tmp_path / "data" / "a" / "003.npy"
    whole = file.read_bytes()
    spoil(file)
    with pytest.raises(RunError, match="1 image could not be used") as caught:
        run_study(study, tmp_path, workers=1)
    said = str(caught.value)
    assert "003" in said
    assert "5 of 6 tasks are stored" in said
    assert "--skip-bad" in said

    without = run_study(study, tmp_path, workers=1, skip_bad=True)
    assert without.complete
    assert list(without.plan.skipped or {}) == ["003.png"]
    # It is left out for all methods, so that they are compared on the same images.
    assert images_of(without.store.path) == [image for image in IMAGES if image != "003.png"]
    check_whole(without.store.path)
    again = run_study(study, tmp_path, workers=1, skip_bad=True)
    assert again.finished == 0

    file.write_bytes(whole)
    mended = run_study(study, tmp_path, workers=1, skip_bad=True)
    assert not mended.plan.skipped
    check_whole(mended.store.path)
    assert table_bytes(mended.store.path) == table_bytes(calm)


# What PyTorch says when there is no memory: on a CPU, and on a GPU.
CPU = RuntimeError(
    "[enforce fail at alloc_cpu.cpp:124] err == 0. DefaultCPUAllocator: can't allocate memory: "
    "you tried to allocate 99999999 bytes. Error code 12 (Cannot allocate memory)"
)
GPU = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB.")


@pytest.fixture
def limited(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, int, Exception], None]:
    """Return what lets a model have so many images at once, and no more."""
    load = Shelf.model

    def limit(name: str, most: int, error: Exception) -> None:
        def model(self: Shelf, wanted: str, fit: str) -> Model:
            found = load(self, wanted, fit)
            if wanted == name and not hasattr(found.network, "whole_forward"):
                network: Any = found.network
                network.whole_forward = network.forward

                def forward(pixel_values: torch.Tensor, **options: Any) -> Any:
                    if len(pixel_values) > most:
                        raise error
                    return network.whole_forward(pixel_values=pixel_values, **options)

                network.forward = forward
            return found

        monkeypatch.setattr(Shelf, "model", model)

    return limit


def memory_study(count: int = 6) -> Study:
    facades = {"name": "facades", "count": count, "seed": 1, "labelling": "representative"}
    models = ["demo/cnn", "demo/vit"]
    return model_study(data=facades, models=models, methods=["gradcam"], layers=[-1], batch=6)


def rows_of(store: Path, model: str) -> Any:
    rows = table(store)
    return rows.filter(np.array([name == model for name in rows["model"].to_pylist()]))


@pytest.mark.parametrize("error", [CPU, GPU], ids=["cpu", "gpu"])
def test_too_little_memory_halves_the_batch_of_that_model(
    tmp_path: Path, limited: Callable[..., None], error: Exception
) -> None:
    calm = run_study(memory_study(), tmp_path / "calm", workers=1).store.path
    smaller = model_study(**{**memory_study().to_dict(), "batch": 1})
    by_one = run_study(smaller, tmp_path / "one", workers=1).store.path
    limited("demo/vit", 2, error)
    run = run_study(memory_study(), tmp_path, workers=1)
    assert run.complete
    assert run.notes == [
        "demo/vit ran out of memory with 6 images at once: its tasks are done with 3.",
        "demo/vit ran out of memory with 3 images at once: its tasks are done with 1.",
    ]
    store = run.store.path
    check_whole(store)
    assert rows_of(store, "demo/cnn").equals(rows_of(calm, "demo/cnn"))
    vit = rows_of(store, "demo/vit")
    assert vit.equals(rows_of(by_one, "demo/vit"))
    old = rows_of(calm, "demo/vit")
    assert not set(vit["rules"].to_pylist()) & set(old["rules"].to_pylist())
    manifest = run.store.manifest()
    assert manifest["batches"] == manifest["runs"][-1]["batches"] == {"demo/vit": 1}
    result = CliRunner().invoke(app, ["digest", str(store)])
    assert re.fullmatch(r"[0-9a-f]{64}\n", result.stdout)
    assert "Note: demo/vit took 1 images at once for lack of memory" in result.stderr


def test_a_smaller_batch_is_remembered(
    tmp_path: Path, limited: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context():
        limited("demo/vit", 3, GPU)
        first = run_study(memory_study(), tmp_path, workers=1)
    before = table_bytes(first.store.path)
    monkeypatch.undo()  # memory is there again
    again = run_study(memory_study(), tmp_path, workers=1)
    assert (again.stored, again.finished) == (2, 0)
    assert again.notes == [
        "demo/vit is given 3 images at once, since an earlier run was out of memory with more."
    ]
    assert {source.batch for source in again.plan.sources if source.model == "demo/vit"} == {3}
    assert table_bytes(again.store.path) == before
    assert again.store.manifest()["batches"] == {"demo/vit": 3}


def test_a_single_image_takes_too_much_memory(tmp_path: Path, limited: Callable[..., None]) -> None:
    limited("demo/vit", 0, CPU)
    with pytest.raises(RunError) as caught:
        run_study(memory_study(count=2), tmp_path, workers=1)
    said = str(caught.value)
    assert "demo/vit runs out of memory with a single image" in said
    assert "can't allocate memory" in said
    assert "1 of 2 tasks are stored" in said
    assert set(table(tmp_path / "looks")["model"].to_pylist()) == {"demo/cnn"}


class KillWorkers(Watch):
    """Kills each worker of this run once it is there, as a system short of memory does."""

    def __init__(self) -> None:
        self.killed: list[int] = []

    def moved(self, run: Run) -> None:
        for pid in [] if self.killed else worker_processes():
            os.kill(pid, signal.SIGKILL)
            self.killed.append(pid)


def worker_processes() -> list[int]:
    """Return the processes that this one has started to do tasks."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            words = (folder / "stat").read_text().rpartition(")")[2].split()
            line = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if int(words[1]) == os.getpid() and b"executors.processes" in line:
            found.append(int(folder.name))
    return found


def test_a_worker_that_is_killed_changes_nothing(tmp_path: Path) -> None:
    study = given_study(tmp_path / "data", images=12, methods="abc", batch=1)
    calm = run_study(study, tmp_path / "calm", workers=1).store.path
    watch = KillWorkers()
    run = run_study(study, tmp_path, workers=3, watch=watch)
    assert len(watch.killed) == 2
    assert run.complete
    assert (run.finished, run.notes) == (36, [])
    check_whole(run.store.path)
    assert table_bytes(run.store.path) == table_bytes(calm)
    assert worker_processes() == []


class DyingLane:
    """Stands for a process that dies as soon as it has a task."""

    status = -signal.SIGKILL
    started = 0

    def __init__(self, plan: Any, store: Any, device: str, emit: Callable[[Any], object]) -> None:
        self.emit, self.dead = emit, False
        type(self).started += 1

    def put(self, task: Any) -> None:
        if not self.dead:
            self.dead = True
            self.emit(Died(self.status))

    def stop(self) -> None:
        pass

    close = kill = stop


@pytest.fixture
def dying(monkeypatch: pytest.MonkeyPatch) -> type[DyingLane]:
    monkeypatch.setattr(local, "ProcessLane", DyingLane)
    monkeypatch.setattr(DyingLane, "started", 0)
    return DyingLane


def test_a_worker_that_is_killed_twice_over_one_task(
    tmp_path: Path, dying: type[DyingLane]
) -> None:
    study = given_study(tmp_path / "data", images=12, methods="abc", batch=1)
    with pytest.raises(RunError, match=r"status -9 again(.|\n)*fewer workers need less memory"):
        run_study(study, tmp_path, workers=2)
    assert dying.started == 2
    stored = len(shard_names(tmp_path / "given"))
    rest = run_study(study, tmp_path, workers=1)
    assert rest.stored == stored
    assert rest.complete


def test_a_worker_that_ends_by_itself(
    tmp_path: Path, dying: type[DyingLane], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dying, "status", -signal.SIGSEGV)
    study = given_study(tmp_path / "data", images=12, methods="abc", batch=1)
    with pytest.raises(RunError, match=r"a worker ended with status -11 while it had task 0000"):
        run_study(study, tmp_path, workers=2)
    assert dying.started == 1


@pytest.mark.usefixtures("small_chunks")
def test_a_model_whose_workers_are_killed_gets_smaller_batches(
    tmp_path: Path, dying: type[DyingLane]
) -> None:
    study = model_study(methods=["random"], seeds=list(range(8)))
    said = "demo/vit runs out of memory with a single image: its process was killed by the system"
    with pytest.raises(RunError, match=said):
        run_study(study, tmp_path, workers=2)
    assert dying.started == 4  # twice with two images, twice with one
    assert Store(tmp_path / "looks").manifest()["batches"] == {"demo/vit": 1}


def test_a_slip_in_a_method_is_shown_and_what_is_stored_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = given_study(tmp_path / "data", images=8, methods="ab")
    calm = run_study(study, tmp_path / "calm", workers=1).store.path
    score = score_chunk

    def slips(source: Any, scoring: Any, maps: Any, annotations: Any) -> Any:
        if source.method == "b" and "006.png" in maps.images:
            raise ZeroDivisionError("a slip of the pen")
        return score(source, scoring, maps, annotations)

    with monkeypatch.context() as patched:
        patched.setattr(work, "score_chunk", slips)
        with pytest.raises(RuntimeError) as caught:
            run_study(study, tmp_path, workers=1)
    said = str(caught.value)
    assert "Traceback (most recent call last)" in said
    assert "in slips" in said
    assert "ZeroDivisionError: a slip of the pen" in said
    (name,) = (
        task.name
        for task in run_study(study, tmp_path / "other", workers=1).plan.tasks
        if task.source == 1 and task.chunk == 3
    )
    assert f"task {name} failed" in said
    stored = shard_names(tmp_path / "given")
    assert len(stored) == 7  # it was the last
    assert parts(tmp_path / "given") == []
    again = run_study(study, tmp_path, workers=1)
    assert (again.stored, again.finished) == (7, 1)
    assert table_bytes(again.store.path) == table_bytes(calm)


def test_a_slip_of_a_map_method_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sightline.attribution.methods.make as making

    def make_maps(*_: Any, **__: Any) -> Any:
        raise KeyError("no such block")

    monkeypatch.setattr(making, "make_maps", make_maps)
    with pytest.raises(RuntimeError, match=r"KeyError: 'no such block'"):
        run_study(model_study(), tmp_path, workers=1)
    assert len(Store(tmp_path / "looks").manifest()["runs"]) == 1


def test_a_watch_that_raises_ends_the_run(tmp_path: Path) -> None:
    class Slips(Watch):
        def moved(self, run: Run) -> None:
            raise ZeroDivisionError("in the bar")

    study = given_study(tmp_path / "data", images=8, methods="ab")
    with pytest.raises(ZeroDivisionError, match="in the bar"):
        run_study(study, tmp_path, workers=2, watch=Slips())
    assert worker_processes() == []
    assert run_study(study, tmp_path, workers=1).complete  # and nobody holds the store


def test_all_bad_maps_of_a_chunk_are_told_at_once(tmp_path: Path) -> None:
    study = given_study(tmp_path / "data", images=6, methods="a", batch=6)
    for number in (1, 2, 4):
        np.save(tmp_path / "data" / "a" / f"{number:03}.npy", np.full((4, 4), np.nan))
    with pytest.raises(RunError, match="3 images could not be used"):
        run_study(study, tmp_path, workers=1)
    seen = []

    class Rounds(Watch):
        def planned(self, run: Run) -> None:
            seen.append(run.total)

    run_study(study, tmp_path, workers=1, skip_bad=True, watch=Rounds())
    assert len(seen) == 2  # with them, and without
    assert images_of(tmp_path / study.name) == [IMAGES[0], IMAGES[3], IMAGES[5]]


def test_an_interrupted_run_writes_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once the lock is given back, another run may write."""
    study = given_study(tmp_path / "data", images=6, methods="a")
    going, free = threading.Event(), threading.Event()

    def slow(*parts: Any) -> Any:
        going.set()
        free.wait(60)
        return score_chunk(*parts)

    def interrupt(driver: Any) -> bool:
        if going.is_set():
            raise KeyboardInterrupt
        return False

    monkeypatch.setattr(work, "score_chunk", slow)
    monkeypatch.setattr(local, "TICK", 0.01)
    monkeypatch.setattr(local._Driver, "_ending", interrupt)
    before = set(threading.enumerate())
    with pytest.raises(KeyboardInterrupt):
        run_study(study, tmp_path, workers=1)
    free.set()
    for thread in set(threading.enumerate()) - before:
        thread.join(60)
    assert not shard_names(tmp_path / study.name)


@pytest.mark.parametrize("workers", [0, -3])
def test_workers_must_be_some(tmp_path: Path, workers: int) -> None:
    study = given_study(tmp_path / "data", images=2, methods="a")
    with pytest.raises(InputError, match=f"workers must be at least 1, got {workers}"):
        run_study(study, tmp_path, workers=workers)
