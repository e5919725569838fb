"""A lane: images of the next task are read and maps of the last one scored while a model runs."""

from __future__ import annotations

import traceback
from dataclasses import dataclass, field
from queue import Queue
from sys import getswitchinterval, setswitchinterval
from threading import Event, Thread
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from sightline.core import SightlineError
from sightline.core.errors import OutOfMemoryError
from sightline.core.memory import describe_error, is_out_of_memory
from sightline.study.worker.threads import planned_threads
from sightline.study.worker.worker import BadImageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from sightline.study import Done, Task, Worker

__all__ = ["STEPS", "TICK", "Failed", "Finished", "Lane", "Left"]

STEPS = ("read", "make", "score", "write")
TICK = 0.2  # seconds between looks at whether to stop
# Tasks whose maps a device may be asked for before those of an earlier one are scored.
_AHEAD = 4
# Seconds after which a thread that computes makes way for another, where there is a device.
_TURN = 0.0005


class Finished(NamedTuple):
    """A task whose files are there.

    Attributes
    ----------
    task : Task
    done : Done
        What was written.
    seconds : mapping
        Time of each of `STEPS`.
    """

    task: Task
    done: Done
    seconds: dict[str, float]


class Failed(NamedTuple):
    """A task that could not be done.

    Attributes
    ----------
    task : Task
    kind : {"image", "memory", "exhausted", "disk", "input", "worker", "bug"}
        What is to blame: "memory" a model, with which a smaller batch is tried; "exhausted"
        whatever else took more memory than there is.
    message : str
    images : mapping
        Images that cannot be used, with the reason.
    """

    task: Task
    kind: str
    message: str
    images: dict[str, str]


class Left(NamedTuple):
    """A task that was given back undone, since the lane was told to stop."""

    task: Task


@dataclass
class _Job:
    task: Task
    parts: tuple[Any, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)


class Lane:
    """Does tasks in three threads: one reads, one makes maps, one scores and writes.

    Where a worker has writers, as on a device, several more threads write what that one scores.

    Parameters
    ----------
    worker : Worker
        Knows how each step is done.
    emit : callable
        Receives `Finished`, `Failed` and `Left`, one for each task, from any of the threads.
    """

    def __init__(self, worker: Worker, emit: Callable[[Finished | Failed | Left], object]) -> None:
        self.worker, self.emit = worker, emit
        self._inbox: Queue[_Job | None] = Queue()
        self._images: Queue[_Job | None] = Queue(maxsize=1)
        # Maps on a device are small, and it must never wait for the next: see `_AHEAD`.
        self._maps: Queue[_Job | None] = Queue(maxsize=_AHEAD if worker.writers else 1)
        self._scored: Queue[_Job | None] = Queue(maxsize=worker.writers)
        self._stopping, self._abandoned = Event(), Event()
        self._turns = getswitchinterval()
        if worker.writers:  # a device waits for whoever gives it work
            setswitchinterval(min(self._turns, _TURN))
        writers = [self._write_all] * worker.writers
        loops = (self._read_all, self._make_all, self._finish_all, *writers)
        self._threads = [Thread(target=loop, daemon=True) for loop in loops]
        for thread in self._threads:
            thread.start()

    def put(self, task: Task) -> None:
        """Give the lane a task."""
        self._inbox.put(_Job(task))

    def stop(self) -> None:
        """Let the lane finish what has begun, and give back the rest."""
        self._stopping.set()

    def close(self) -> None:
        """Wait for the end of all tasks."""
        self._inbox.put(None)
        for thread in self._threads:
            thread.join()
        self.worker.close()
        setswitchinterval(self._turns)

    def kill(self) -> None:
        """Give back everything, and wait for nothing; nothing more is written."""
        self._abandoned.set()
        self.stop()
        self._inbox.put(None)
        setswitchinterval(self._turns)

    def _read_all(self) -> None:
        while (job := self._inbox.get()) is not None:
            if self._step(job, "read", self._read):
                self._images.put(job)
        self._images.put(None)

    def _make_all(self) -> None:
        with planned_threads(self.worker.plan):
            while (job := self._images.get()) is not None:
                if self._step(job, "make", self._make):
                    self._maps.put(job)
        self._maps.put(None)

    def _finish_all(self) -> None:
        while (job := self._maps.get()) is not None:
            # What has maps is finished, even when the lane is to stop.
            if not self._step(job, "score", self._score, late=True):
                continue
            if self.worker.writers:
                self._scored.put(job)
            else:
                self._write_one(job)
        self._scored.put(None)

    def _write_all(self) -> None:
        while (job := self._scored.get()) is not None:
            self._write_one(job)
        self._scored.put(None)  # for the next of them

    def _write_one(self, job: _Job) -> None:
        if self._step(job, "write", self._write, late=True):
            self.emit(Finished(job.task, job.parts[0], job.seconds))

    def _read(self, job: _Job) -> None:
        job.parts = (self.worker.read(job.task),)

    def _make(self, job: _Job) -> None:
        job.parts = self.worker.make(job.task, *job.parts)

    def _score(self, job: _Job) -> None:
        maps, _ = job.parts
        scored = self.worker.score(job.task, *job.parts)
        job.parts = (self.worker.kept(job.task, maps), scored)

    def _write(self, job: _Job) -> None:
        job.parts = (self.worker.write(job.task, *job.parts),)

    def _step(
        self, job: _Job, name: str, step: Callable[[_Job], None], *, late: bool = False
    ) -> bool:
        """Take a step of a task and note its time; say whether it goes on."""
        if self._abandoned.is_set() or (self._stopping.is_set() and not late):
            self.emit(Left(job.task))
            return False
        begun = perf_counter()
        try:
            step(job)
        except Exception as error:  # whatever it is, the driver must hear of it
            self.emit(_failed(job.task, error, name))
            return False
        finally:
            job.seconds[name] = perf_counter() - begun
        return True


def _failed(task: Task, error: Exception, step: str) -> Failed:
    if isinstance(error, OutOfMemoryError):
        return Failed(task, "memory", str(error), {})
    if is_out_of_memory(error):
        what = f"out of memory in task {task.name} (step {step!r}): {describe_error(error)}"
        return Failed(task, "exhausted", f"{what}; fewer workers need less memory", {})
    if isinstance(error, BadImageError):
        return Failed(task, "image", str(error), error.images)
    if isinstance(error, OSError) and step == "write":
        return Failed(task, "disk", str(error), {})
    if isinstance(error, SightlineError):
        return Failed(task, "input", str(error), {})
    return Failed(task, "bug", "".join(traceback.format_exception(error)), {})
