"""What runs in the processes of a Ray cluster: a lane each, which is handed tasks by Ray Data."""

from __future__ import annotations

import json
import os
import platform
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Condition, Lock
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sightline.core import InputError
from sightline.store import Store
from sightline.study import Done, Shelf, Task, Worker
from sightline.study.executors.lane import TICK, Failed, Finished, Lane, Left
from sightline.study.executors.ray_notes import Notes
from sightline.study.plan.manifest import package_versions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from sightline.study import Plan

__all__ = ["Event", "Job", "Killed", "RayWorker", "pack_tasks", "unpack_events"]

# Times that a group of tasks is begun: a worker that dies twice of the same is not tried again.
_TRIES = 2
# More of them for what was stored each time, and is hardly to blame.
_PARDONED = 3


class Killed(NamedTuple):
    """A task on which workers died again and again."""

    task: Task


Event = Finished | Failed | Left | Killed


@dataclass(frozen=True)
class Job:
    """What a worker needs to know.

    Attributes
    ----------
    plan : ObjectRef
        The plan, which lies in Ray's memory once for all workers of a machine.
    store, notes, folder : str
        Where results and notes go, and where the driver runs.
    device : str
        Where networks run.
    machine : str
        Where the driver runs.
    versions : mapping
        Of its packages.
    models : tuple of str
        Folders of models that the driver sees.
    """

    plan: Any
    store: str
    notes: str
    folder: str
    device: str
    machine: str
    versions: Mapping[str, str]
    models: tuple[str, ...] = ()


class RayWorker:
    """Does groups of tasks, several at a time: their steps overlap in one lane.

    Nothing is set up before the first group is noted as begun, so that whatever kills the process
    is counted.

    Parameters
    ----------
    job : Job
        What all tasks have in common.
    """

    def __init__(self, job: Job) -> None:
        self.job, self.notes = job, Notes(Path(job.notes))
        self._sees = self.notes.folder.is_dir()  # later, that it is gone means that the run is over
        self._lane: Lane | None = None
        self._lock, self._turns = Lock(), _Turns()
        self._events: dict[str, SimpleQueue[Event]] = {}

    def __call__(self, batch: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Do the groups of a block, and return what became of their tasks."""
        found = [_pack(self._do(_unpack_tasks(group))) for group in batch["tasks"]]
        return {"events": np.array(found, dtype=object)}

    def _do(self, tasks: Sequence[Task]) -> list[Event]:
        first, *others = tasks
        if not self._sees:
            return [Failed(first, "input", _unseen(self.job), {}), *map(Left, others)]
        tried = self.notes.begun(first.name)
        if self.notes.stopped():
            return [Left(task) for task in tasks]
        if tried >= (_TRIES + _PARDONED if self._stored(tasks) else _TRIES):
            return [Killed(first), *map(Left, others)]
        # Beside others it could not be told which of them was to blame for a second death.
        with self._turns.take(alone=tried > 0):
            full = self._begin(first)
            if self.notes.stopped():  # looked at again: the driver may not have seen the note
                return [Left(task) for task in tasks]
            if full is not None:
                return [full, *map(Left, others)]
            try:
                lane = self._ready()
            except InputError as error:
                return [Failed(first, "input", str(error), {}), *map(Left, others)]
            return self._through(lane, tasks)

    def _stored(self, tasks: Sequence[Task]) -> bool:
        """Say whether tasks are stored: then others killed their worker before it could say so."""
        store = Store(self.job.store)
        return all(store.done_file(task.name).exists() for task in tasks)

    def _begin(self, task: Task) -> Failed | None:
        """Note that a task is begun; return what became of it where that cannot be written."""
        try:
            self.notes.begin(task.name)
        except OSError as error:
            return Failed(task, "disk", str(error), {})
        return None

    def _through(self, lane: Lane, tasks: Sequence[Task]) -> list[Event]:
        """Return what becomes of tasks in a lane."""
        events: SimpleQueue[Event] = SimpleQueue()
        self._events |= {task.name: events for task in tasks}
        for task in tasks:
            lane.put(task)
        found: list[Event] = []
        while len(found) < len(tasks):
            try:
                found.append(events.get(timeout=TICK))
            except Empty:
                if self.notes.stopped():
                    lane.stop()
        return found

    def _ready(self) -> Lane:
        with self._lock:
            if self._lane is None:
                self._lane = self._set_up()
            return self._lane

    def _set_up(self) -> Lane:
        """Return a lane, after a look at whether this machine is fit for it."""
        import ray

        _check_machine(self.job)
        with suppress(OSError):  # paths that do not begin at the root begin there
            os.chdir(self.job.folder)
        plan: Plan = ray.get(self.job.plan)
        _check_data(plan, self.job)
        worker = Worker(plan, Store(self.job.store), Shelf(self.job.device))
        return Lane(worker, lambda event: self._events.pop(event.task.name).put(event))


class _Turns:
    """Has some blocks run side by side, and others alone."""

    def __init__(self) -> None:
        self._free = Condition()
        self._running, self._waiting = 0, 0

    @contextmanager
    def take(self, *, alone: bool) -> Iterator[None]:
        """Wait for a turn, and keep it while the block runs."""
        with self._free:
            self._waiting += alone
            self._free.wait_for(lambda: not (self._running if alone else self._waiting))
            self._running += 1
        try:
            yield
        finally:
            with self._free:
                self._running -= 1
                self._waiting -= alone
                self._free.notify_all()


def _unseen(job: Job) -> str:
    return (
        f"{job.store}: is not seen by the worker on {platform.node() or 'unknown'}: results must "
        f"go to a folder that {job.machine} and all workers share under the same path"
    )


def _check_machine(job: Job) -> None:
    """Raise where a worker computes with other versions than the driver."""
    here = platform.node() or "unknown"
    own = package_versions()
    for name in sorted({*own, *job.versions}):
        one, two = own.get(name, "none"), job.versions.get(name, "none")
        if one != two:
            raise InputError(
                f"the worker on {here} has {name} {one}, {job.machine} has {two}: the same "
                "versions are needed for the same results"
            )


def _check_data(plan: Plan, job: Job) -> None:
    """Raise where a worker does not see the data: its images are not to count as unreadable."""
    maps = [Path(source.maps) for source in plan.sources if source.kind == "given"]
    root = plan.dataset.root
    for path in [*maps, *([] if root is None else [root]), *map(Path, job.models)]:
        if not path.exists():
            raise InputError(
                f"{path}: is not seen by the worker on {platform.node() or 'unknown'}: data and "
                f"models must lie where {job.machine} and all workers see them under the same path"
            )


def pack_tasks(tasks: Sequence[Task]) -> str:
    """Return tasks as text, for `RayWorker`."""
    return json.dumps(tasks)


def _unpack_tasks(text: str) -> list[Task]:
    return [Task(*one) for one in json.loads(text)]


def _pack(events: Sequence[Event]) -> str:
    return json.dumps([[type(event).__name__, *event] for event in events])


def unpack_events(text: str) -> list[Event]:
    """Return what `RayWorker` has said.

    >>> task = Task("000000-00", 0, 0)
    >>> unpack_events(_pack([Finished(task, Done(3, 1), {"read": 0.5}), Left(task)]))
    ... # doctest: +NORMALIZE_WHITESPACE
    [Finished(task=Task(name='000000-00', source=0, chunk=0), done=Done(rows=3, maps=1),
     seconds={'read': 0.5}),
     Left(task=Task(name='000000-00', source=0, chunk=0))]
    """
    return [_unpack(*one) for one in json.loads(text)]


def _unpack(kind: str, task: Sequence[Any], *rest: Any) -> Event:
    which = Task(*task)
    if kind == "Finished":
        done, seconds = rest
        return Finished(which, Done(*done), seconds)
    if kind == "Failed":
        return Failed(which, *rest)
    return Killed(which) if kind == "Killed" else Left(which)
