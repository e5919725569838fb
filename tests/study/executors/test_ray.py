"""Studies on Ray: the same bits as on one machine, whoever is killed meanwhile."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import tempfile
from contextlib import closing, suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import sightline.study.executors.ray as on_ray
import sightline.study.executors.ray_cluster as ray_cluster
from sightline.core import InputError, MissingPackageError
from sightline.core.errors import OutOfMemoryError
from sightline.results.digest import results_digest
from sightline.store import Store, create_store
from sightline.store.lock import is_held
from sightline.study import Done, Engine, Run, RunError, Watch, Worker, forecast_study, run_study
from sightline.study.executors.lane import Finished, Left
from sightline.study.executors.ray_cluster import ENV, Cluster, _sweep
from sightline.study.executors.ray_notes import Notes
from sightline.study.executors.ray_worker import Job, RayWorker, _Turns, pack_tasks, unpack_events
from tests.study.executors.studies import (
    Process,
    check_whole,
    given_study,
    has_mark,
    model_study,
    processes,
    shard_bytes,
    shard_names,
    table,
    table_bytes,
    wait_for_workers,
    wait_until,
)

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Sequence

    from sightline.study import Study, Task

# What Ray itself says of its own settings, and of the pipes of processes that it has ended.
pytestmark = [
    pytest.mark.filterwarnings(r"ignore:`\w+` is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:subprocess .* is still running:ResourceWarning"),
    pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning"),
]

RAY = {"kind": "ray", "workers": 2}
THEIRS = {"RAY_AUTH_MODE": "disabled", "RAY_AUTH_TOKEN": "theirs"}  # of other clusters
MARK = "SIGHTLINE_TEST_RAY", f"{os.getpid()}"


@pytest.fixture(scope="module")
def short() -> Iterator[Path]:
    """A folder whose path is short: the names of sockets in it may have 100 letters."""
    folder = Path(tempfile.mkdtemp(prefix="r", dir="/tmp"))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def cluster(short: Path) -> Iterator[Any]:
    """Ray with two workers, which runs use as they find it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(short))
        patch.setattr(tempfile, "tempdir", None)
        patch.setenv(*MARK)
        patch.setenv("RAY_worker_niceness", "0")  # other tests keep the processor busy
        for name, value in THEIRS.items():
            patch.setenv(name, value)
        own = Cluster(Engine(kind="ray"))
        own.start(2, 0)
        assert {name: os.environ[name] for name in THEIRS} == THEIRS
    assert own.own
    yield own
    own.close()
    wait_until(lambda: not list(short.glob("sl-ray-*")), "the cluster's folder goes with it")


def pool() -> list[int]:
    """Return the processes of workers that this module has started."""
    found = [pid for pid in processes() if has_mark(pid, "=".join(MARK))]
    return [pid for pid in found if b"ray::MapWorker" in _command(pid)]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # it has ended
        return b""


def long_study(folder: Path, **keys: Any) -> Study:
    return given_study(folder / "data", images=20, methods="abc", batch=1, **keys)


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of a study whose tasks are slow by nature, done in peace; its data lie beside."""
    folder = tmp_path_factory.mktemp("calm")
    return run_study(slow_study(folder), folder, workers=1).store.path


def slow_study(folder: Path, **keys: Any) -> Study:
    """Return a study whose tasks take longer than whoever watches them needs to act."""
    return given_study(folder / "data", images=8, methods="abc", side=900, batch=1, **keys)


def kill_workers(pids: Iterable[int]) -> list[int]:
    """Kill processes that may have ended already; return those that had not."""
    killed = []
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)
    return killed


def check_same(found: Path, calm: Path) -> None:
    check_whole(found)
    assert results_digest(found) == results_digest(calm)
    assert table_bytes(found) == table_bytes(calm)
    assert shard_bytes(found) == shard_bytes(calm)
    assert not (found / ".ray").exists()


class After(Watch):
    """Does something when some tasks are finished, once."""

    def __init__(self, tasks: int, what: Any) -> None:
        self.tasks, self.what = tasks, what

    def moved(self, run: Run) -> None:
        if run.finished == self.tasks:
            self.what()


def test_stopped_and_then_a_worker_killed(
    tmp_path: Path, cluster: Any, calm: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    study, stop = slow_study(calm.parent, engine=RAY), Event()
    first = run_study(study, tmp_path, watch=After(2, stop.set), stop=stop)
    assert first.stopped
    # What was begun is finished, and heard of.
    assert 2 <= first.finished == len(shard_names(first.store.path)) < 24
    assert not (first.store.path / ".ray").exists()
    wait_until(lambda: not pool(), "workers end with their pool")
    killed: list[int] = []

    def kill() -> None:
        killed.extend(kill_workers(pool()[:1]))

    then = run_study(study, tmp_path, watch=After(2, kill))
    assert killed
    assert (then.stored, then.finished, then.workers) == (first.finished, 24 - first.finished, 2)
    assert then.complete
    check_same(then.store.path, calm)
    assert table(then.store.path).num_rows == 8 * 3 * 3 * 4
    out, err = capfd.readouterr()
    assert out == ""
    # Ray says nothing of what the run itself would say: of workers, their deaths and their tasks.
    words = re.compile(r"ray|raylet|worker|actor|died|killed|task|traceback", re.IGNORECASE)
    assert [line for line in err.splitlines() if words.search(line)] == []


def test_models_means_and_checks(tmp_path: Path, cluster: Any) -> None:
    keys = {"methods": ["cls", "random", "mean_map"], "checks": {"parts": {"images": 4}}}
    calm = run_study(model_study(**keys), tmp_path / "calm", workers=1)
    run = run_study(model_study(**keys, engine={"kind": "ray"}), tmp_path, workers=1)
    assert (run.complete, run.total) == (True, calm.total)
    assert {source.kind for source in run.plan.sources} == {"model", "mean", "check"}
    check_same(run.store.path, calm.store.path)
    shards = [path for folder in calm.store.shard_folders for path in folder.iterdir()]
    assert {path.parent.name for path in shards} == {"scores", "region_scores", "checks", "maps"}
    for path in shards:
        assert (run.store.path / path.relative_to(calm.store.path)).read_bytes() == (
            path.read_bytes()
        ), path


def test_a_killed_driver_takes_all_with_it_and_another_goes_on(
    tmp_path: Path, short: Path, cluster: Any, calm: Path
) -> None:
    study = slow_study(calm.parent, engine=RAY)
    home, store = short / "h", tmp_path / "given"
    home.mkdir()
    env = {"TMPDIR": str(home), "HOME": str(home), "RAY_AUTH_MODE": "disabled"}
    env["RAY_worker_niceness"] = "0"
    for _ in range(3):  # a run that ends before it is killed is thrown away
        first = Process(study, tmp_path, env=env)
        wait_until(
            lambda run=first: len(shard_names(store)) >= 3 or run.popen.poll() is not None,
            "some shards",
        )
        assert shard_names(store), first.end()
        first.kill(group=False)
        wait_for_workers(first)
        if len(shard_names(store)) < 24:
            break
        shutil.rmtree(store)
    (left,) = home.iterdir()  # nobody was left to remove it, and nothing else was written
    assert left.name.startswith("sl-ray-")
    assert not is_held(left / "lock")
    begun = len(shard_names(store))
    assert 3 <= begun < 24
    assert (store / ".ray").exists()
    second = run_study(study, tmp_path)
    assert (second.stored, second.complete) == (begun, True)
    check_same(store, calm)
    os.utime(left / "lock", (0, 0))
    _sweep(home)
    assert not left.exists()


def test_a_task_that_always_kills_its_worker_ends_the_run(tmp_path: Path, cluster: Any) -> None:
    # One worker: of two, the other would have another task that was begun again.
    keys: dict[str, Any] = {
        "images": 4,
        "methods": "abc",
        "batch": 1,
        "engine": {"kind": "ray", "workers": 1},
    }
    study, over = given_study(tmp_path / "data", **keys), Event()
    plan = forecast_study(study, tmp_path).plan
    last = plan.tasks[6].name
    (image,) = plan.chunks[plan.tasks[6].chunk].images
    large = Path(plan.sources[plan.tasks[6].source].maps, image).with_suffix(".npy")
    np.save(large, np.random.default_rng(1).random((5000, 5000), np.float32))
    last = forecast_study(study, tmp_path).plan.tasks[6].name
    deaths: list[str] = []

    def kill() -> None:
        """Kill all workers whenever that task is begun."""
        while not over.wait(0.1):  # to look at all processes takes a while, that task a longer one
            there = pool()  # before the note is looked for: whoever wrote it is among them
            for path in tmp_path.glob(f"given/.ray/*/{last}.*"):
                if path.name not in deaths:
                    deaths.append(path.name)
                    kill_workers({*there, *pool()})

    thread = Thread(target=kill)
    thread.start()
    try:
        with pytest.raises(RunError, match=f"a worker ended again while it had task {last}"):
            run_study(study, tmp_path)
    finally:
        over.set()
        thread.join()
    assert deaths == [f"{last}.1", f"{last}.2"]
    assert last not in Store(tmp_path / "given").done()


# What follows does in this process what Ray does in others: words travel in the same way.


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> list[Job]:
    jobs: list[Job] = []

    def each(pool: Any, groups: Sequence[Sequence[Task]], job: Job) -> Iterator[Any]:
        jobs.append(job)
        worker = RayWorker(job)
        for group in groups:
            found = worker({"tasks": np.array([pack_tasks(group)], dtype=object)})
            for text in found["events"]:
                yield unpack_events(text)

    monkeypatch.setattr("ray.put", lambda value: value)
    monkeypatch.setattr("ray.get", lambda value: value)
    monkeypatch.setattr(Cluster, "start", lambda *_: None)
    monkeypatch.setattr(on_ray._Pool, "each", each)
    return jobs


def test_bad_images_are_told_or_left_out(tmp_path: Path, here: list[Job]) -> None:
    study, ray = (long_study(tmp_path, **keys) for keys in ({}, {"engine": RAY}))
    np.save(tmp_path / "data" / "b" / "007.npy", np.full((16, 16), np.nan, np.float32))
    with pytest.raises(RunError, match="1 image could not be used:") as told:
        run_study(study, tmp_path / "calm", workers=1)
    with pytest.raises(RunError) as said:
        run_study(ray, tmp_path)
    assert str(said.value) == str(told.value)
    assert "59 of 60 tasks are stored" in str(said.value)
    calm = run_study(study, tmp_path / "calm", workers=1, skip_bad=True)
    run = run_study(ray, tmp_path, skip_bad=True)
    assert run.bad == calm.bad
    assert list(run.bad) == ["007.png"]
    check_same(run.store.path, calm.store.path)


def test_tasks_that_saw_a_worker_die_are_done_alone(
    tmp_path: Path, here: list[Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    study = given_study(tmp_path / "data", images=4, methods="a", batch=1, engine=RAY)
    tried = forecast_study(study, tmp_path).plan.tasks[2].name
    asked: list[bool] = []
    take, job = _Turns.take, on_ray._Pool.job

    def noted(*args: Any) -> Job:
        args[-1].begin(tried)
        return job(*args)

    def taken(turns: _Turns, *, alone: bool) -> Any:
        asked.append(alone)
        return take(turns, alone=alone)

    monkeypatch.setattr(on_ray._Pool, "job", noted)
    monkeypatch.setattr(_Turns, "take", taken)
    assert run_study(study, tmp_path).complete
    assert asked == [False, False, True, False]


@pytest.mark.parametrize("stored", [True, False])
def test_what_was_stored_is_not_to_blame_for_a_death(
    tmp_path: Path, here: list[Job], monkeypatch: pytest.MonkeyPatch, stored: bool
) -> None:
    """Its worker was killed for another task, twice, before the driver had heard of it."""
    study = given_study(tmp_path / "data", images=4, methods="a", batch=1, engine=RAY)
    tried, job = forecast_study(study, tmp_path).plan.tasks[2].name, on_ray._Pool.job

    def noted(pool: Any, plan: Any, store: Store, notes: Notes) -> Job:
        notes.begin(tried)
        notes.begin(tried)
        if stored:
            store.score_file(tried).parent.mkdir(exist_ok=True)
            store.score_file(tried).touch()
        return job(pool, plan, store, notes)

    monkeypatch.setattr(on_ray._Pool, "job", noted)
    if stored:
        run = run_study(study, tmp_path)
        assert run.complete
        assert run.store.score_file(tried).stat().st_size > 0
    else:
        with pytest.raises(RunError, match=f"a worker ended again while it had task {tried}"):
            run_study(study, tmp_path)


def test_alone_means_alone() -> None:
    turns, order = _Turns(), [""]
    inside, go = Event(), Event()

    def first() -> None:
        with turns.take(alone=False):
            inside.set()
            go.wait()
            order.append("first")

    def then(alone: bool, name: str) -> None:
        with turns.take(alone=alone):
            order.append(name)

    threads = [Thread(target=first, daemon=True)]
    threads[0].start()
    inside.wait()
    threads += [Thread(target=then, args=(True, name), daemon=True) for name in ("second", "third")]
    for thread in threads[1:]:
        thread.start()
    wait_until(lambda: turns._waiting == 2, "both wait")
    threads.append(Thread(target=then, args=(False, "last"), daemon=True))
    threads[-1].start()
    go.set()
    for thread in threads:
        thread.join()
    assert order[1] == "first"
    assert {*order[2:4]} == {"second", "third"}
    assert order[4] == "last"
    with turns.take(alone=False), turns.take(alone=False):
        pass  # others go side by side


@pytest.mark.parametrize("how", ["raised", "killed"])
def test_a_model_that_takes_too_much_gets_fewer_images(
    tmp_path: Path, here: list[Job], monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    make, begun = Worker.make, Notes.begun

    def greedy(worker: Worker, task: Task, samples: Any) -> Any:
        if worker.source(task).batch > 1 and how == "raised":
            raise OutOfMemoryError("demo/vit: too much")
        return make(worker, task, samples)

    def deadly(notes: Notes, name: str) -> int:
        return 2 if len(here) == 1 and how == "killed" else begun(notes, name)

    monkeypatch.setattr(Worker, "make", greedy)
    monkeypatch.setattr(Notes, "begun", deadly)
    run = run_study(model_study(engine=RAY, methods=["cls"]), tmp_path)
    assert run.notes == [
        "demo/vit ran out of memory with 2 images at once: its tasks are done with 1."
    ]
    assert (run.complete, [one.batch for one in run.plan.sources], len(here)) == (True, [1], 2)


def test_faults_of_one_task_end_the_run(
    tmp_path: Path, here: list[Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    def wrong(*_: Any) -> None:
        raise ZeroDivisionError("a slip")

    study = long_study(tmp_path, engine=RAY)
    with monkeypatch.context() as patch:
        patch.setattr(Worker, "write", full)
        with pytest.raises(RunError, match=r"No space left on device.* 0 of 60 tasks are stored"):
            run_study(study, tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(Worker, "score", wrong)
        with pytest.raises(RuntimeError, match="a slip"):
            run_study(study, tmp_path)
    assert run_study(study, tmp_path).complete


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"notes": "/nowhere"}, "given: is not seen by the worker on .*: results must go to a"),
        ({"models": ("/nowhere",)}, "/nowhere: is not seen by the worker on .*: data and models"),
        ({"versions": {"torch": "0.1"}}, r"the worker on .* has captum .*, .* has none: the same"),
    ],
)
def test_workers_that_do_not_fit_say_why(
    tmp_path: Path,
    here: list[Job],
    monkeypatch: pytest.MonkeyPatch,
    change: dict[str, Any],
    expected: str,
) -> None:
    job = on_ray._Pool.job
    monkeypatch.setattr(on_ray._Pool, "job", lambda *args: replace(job(*args), **change))
    with pytest.raises(InputError, match=expected):
        run_study(long_study(tmp_path, engine=RAY), tmp_path)


def test_data_that_a_worker_does_not_see_are_not_bad_images(
    tmp_path: Path, here: list[Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    study = long_study(tmp_path, engine=RAY)
    job = on_ray._Pool.job

    def moved(*args: Any) -> Job:
        (tmp_path / "data").rename(tmp_path / "elsewhere")
        return job(*args)

    monkeypatch.setattr(on_ray._Pool, "job", moved)
    with pytest.raises(
        InputError, match=r"data/a: is not seen by the worker on .*: data and models"
    ):
        run_study(study, tmp_path, skip_bad=True)


def test_what_ray_needs_is_said_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(**keys: Any) -> Study:
        return given_study(tmp_path / "data", images=2, methods="a", engine={"kind": "ray", **keys})

    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{nobody.getsockname()[1]}"
        with pytest.raises(InputError, match=f"no Ray cluster answers at {address}: .*refused"):
            run_study(asked(address=address, workers=2), tmp_path)
    with pytest.raises(InputError, match=r"no Ray cluster answers at a\.\.b:6379: "):
        run_study(asked(address="a..b:6379", workers=2), tmp_path)
    with pytest.raises(InputError, match="the port must be 1 to 65535, got a:65536"):
        run_study(asked(address="a:65536", workers=2), tmp_path)
    with pytest.raises(InputError, match=r"engine\.workers: how many workers of the cluster at"):
        forecast_study(asked(address=address), tmp_path)
    monkeypatch.setattr(
        "sightline.study.executors.ray_cluster.find_spec",
        lambda name: None if name == "ray" else find_spec(name),
    )
    with pytest.raises(MissingPackageError, match=r"pip install 'sightline\[ray\]'"):
        run_study(asked(), tmp_path)
    assert not (tmp_path / "given").exists()


def test_gpus_that_are_not_there(cluster: Any) -> None:
    expected = "takes 1 core and 2 GPUs of one machine; .* have: 2 cores and 0 GPUs"
    with pytest.raises(InputError, match=expected):
        Cluster(Engine(kind="ray", gpus=2)).start(1, on_ray._gpus(Engine(kind="ray", gpus=2), ""))
    usual = Engine(kind="ray")
    assert [on_ray._gpus(usual, device) for device in ("cpu", "cuda")] == [0, 1]


def test_workers_have_one_thread(cluster: Any) -> None:
    import ray

    found = ray.get(ray.remote(lambda: dict(os.environ)).remote())
    assert {name: found.get(name) for name in ENV} == ENV
    assert ENV == {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    assert (found["RAY_AUTH_MODE"], found["RAY_AUTH_TOKEN"]) == ("token", ray_cluster._token())
    assert "RAY_AUTH_TOKEN" not in os.environ


def test_no_room_is_said_and_waiting_for_it_can_be_stopped(
    cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ray

    monkeypatch.setattr(ray_cluster, "_ROOM", 0.5)
    stop, other = Event(), Cluster(Engine(kind="ray"))
    other.start(1, 0)
    all_of_it = ray.remote(num_cpus=2)(type("Holder", (), {"here": lambda self: True})).remote()
    assert ray.get(all_of_it.here.remote())
    try:
        with pytest.raises(
            InputError, match=r"no room for a worker with 1 core and 0 GPUs in 0\.5 s"
        ):
            other.start(1, 0)
        stop.set()
        monkeypatch.setattr(ray_cluster, "_ROOM", 1e9)
        other.start(1, 0, stop)
    finally:
        ray.kill(all_of_it)
    assert cluster.own
    assert not other.own


def test_a_process_has_one_cluster(cluster: Any) -> None:
    asked = Engine(kind="ray", address="192.0.2.1:6379", workers=1)
    with pytest.raises(
        InputError, match=r"uses the Ray cluster at .* already; .* 192\.0\.2\.1:6379"
    ):
        Cluster(asked).start(1, 0)


def test_machines_are_looked_at_one_by_one() -> None:
    with pytest.raises(InputError, match="have: 8 cores and 0 GPUs; 0 cores and 4 GPUs"):
        ray_cluster._check_machines(1, [{"CPU": 8}, {"CPU": 8}, {"GPU": 4}])
    with pytest.raises(InputError, match=r"engine\.gpus: must be whole .* got 1\.5"):
        Cluster(Engine(kind="ray")).start(1, 1.5)


def test_ray_that_does_not_start_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(**_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("ray.init", fails)
    monkeypatch.setattr(ray_cluster, "_forget_token", lambda: None)  # other tests have a cluster
    with pytest.raises(RunError, match=r"Ray cannot be started on this machine: .*No space left"):
        ray_cluster._start(1, str(tmp_path))


def finished(task: Task) -> Finished:
    return Finished(task, Done(1, 1), {})


def a_driver(tmp_path: Path, stop: Event, watch: Any) -> tuple[Any, Notes, list[Task]]:
    study = given_study(tmp_path / "data", images=4, methods="a", batch=1)
    plan, store = forecast_study(study, tmp_path).plan, create_store(tmp_path / "given")
    return on_ray._Driver(plan, store, stop, watch), Notes.create(store), list(plan.tasks)


def test_all_of_a_group_is_heard_before_a_run_stops(tmp_path: Path) -> None:
    heard: list[str] = []
    stop = Event()

    def watch(event: Finished) -> None:
        heard.append(event.task.name)
        stop.set()

    driver, notes, tasks = a_driver(tmp_path, stop, watch)
    notes.begin(tasks[0].name)  # only the first of a group is noted
    driver._listen([[finished(task) for task in tasks[:3]], [finished(tasks[3])]], notes)
    assert heard == [task.name for task in tasks[:3]]
    assert notes.stopped()


def test_a_pool_without_workers_can_be_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended, stop = Event(), Event()

    def each() -> Generator[list[Any]]:
        try:
            stop.set()
            wait_until(lambda: False, "a block")
            yield []
        finally:
            ended.set()

    monkeypatch.setattr(on_ray, "_PATIENCE", 0.01)
    driver, notes, _ = a_driver(tmp_path, stop, print)
    with closing(on_ray._Fetched(each())) as blocks:
        driver._listen(blocks, notes)
    assert ended.is_set()
    assert driver.outcome.error is None


@pytest.mark.parametrize("step", ["create", "begin", "hear"])
def test_notes_on_a_full_disk_end_the_run(
    tmp_path: Path, here: list[Job], monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    study = given_study(tmp_path / "data", images=4, methods="a", batch=1, engine=RAY)
    with monkeypatch.context() as patch:
        patch.setattr(Notes, step, full)
        with pytest.raises(
            RunError, match=r"cannot be written to: .*No space left on device.* of 4"
        ):
            run_study(study, tmp_path)
    assert run_study(study, tmp_path).complete


def test_tasks_that_nobody_did_are_no_success(
    tmp_path: Path, here: list[Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    def each(pool: Any, groups: Sequence[Sequence[Task]], job: Job) -> Iterator[list[Left]]:
        for group in groups:
            yield [Left(task) for task in group]

    monkeypatch.setattr(on_ray._Pool, "each", each)
    study = given_study(tmp_path / "data", images=4, methods="a", batch=1, engine=RAY)
    with pytest.raises(RunError, match="4 of 4 tasks were not done, and nothing says why"):
        run_study(study, tmp_path)
