"""Lanes on this machine: tasks handed out, and what becomes of them."""

from __future__ import annotations

import signal
from collections import deque
from dataclasses import dataclass, field
from itertools import pairwise
from queue import Empty, Queue
from typing import TYPE_CHECKING, Any, Protocol

from sightline.study import Worker
from sightline.study.executors.lane import TICK, Failed, Finished, Lane, Left
from sightline.study.executors.processes import Died, ProcessLane

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from threading import Event

    from sightline.store import Store
    from sightline.study import Plan, Shelf, Source, Task

__all__ = ["Outcome", "execute", "in_phases"]

# Tasks that a lane holds: one is read, one made, one scored; on a device, many are written.
DEPTH, DEPTH_ON_DEVICE = 3, 24


class _AnyLane(Protocol):
    def put(self, task: Task) -> None: ...
    def stop(self) -> None: ...
    def close(self) -> None: ...
    def kill(self) -> None: ...


@dataclass
class Outcome:
    """What became of tasks.

    Attributes
    ----------
    bad : dict
        Images that cannot be used, with the reason.
    memory : dict
        Models, or checks of models, that ran out of memory, with the message.
    error : Failed or None
        What ended the run before its time.
    """

    bad: dict[str, str] = field(default_factory=dict)
    memory: dict[str, str] = field(default_factory=dict)
    error: Failed | None = None

    def note(self, failed: Failed, source: Source) -> None:
        """Note a task that could not be done, and what is to blame."""
        if failed.kind == "image":
            self.bad.update(failed.images)
        elif failed.kind == "memory":
            self.memory[source.limited_as] = failed.message
        elif self.error is None:
            self.error = failed


def in_phases(plan: Plan, tasks: Iterable[Task]) -> tuple[list[Task], list[Task]]:
    """Return the tasks to begin with, and the means, which need the maps of those."""
    tasks = list(tasks)
    means = [task for task in tasks if plan.sources[task.source].kind == "mean"]
    return [task for task in tasks if plan.sources[task.source].kind != "mean"], means


def execute(
    plan: Plan,
    store: Store,
    tasks: Iterable[Task],
    *,
    workers: int,
    shelf: Shelf,
    stop: Event,
    watch: Callable[[Finished], object],
) -> Outcome:
    """Do tasks in as many lanes as there are workers, the first of them in this process.

    Parameters
    ----------
    plan, store
        What is to be done, and where it goes.
    tasks : iterable of Task
        Those to do, in order; means of maps are taken when all others are done.
    workers : int
        Lanes.
    shelf : Shelf
        Models at hand in this process.
    stop : Event
        Set to have what has begun finished, and no more.
    watch : callable
        Receives each finished task.
    """
    tasks = list(tasks)
    driver = _Driver(plan, store, shelf, stop, watch)
    count = max(1, min(workers, len(tasks)))
    try:
        driver.start(count)
        for phase in in_phases(plan, tasks):
            driver.run(phase)
            if driver.outcome.bad or driver.outcome.memory or driver.outcome.error:
                break  # a mean needs the maps of all
    except KeyboardInterrupt:
        driver.abandon()
        raise
    finally:
        driver.end()
    return driver.outcome


class _Driver:
    """Hands out tasks and listens."""

    def __init__(
        self,
        plan: Plan,
        store: Store,
        shelf: Shelf,
        stop: Event,
        watch: Callable[[Finished], object],
    ) -> None:
        self.plan, self.store, self.shelf = plan, store, shelf
        self.stop, self.watch = stop, watch
        self.outcome = Outcome()
        self.events: Queue[tuple[int, Any]] = Queue()
        self.lanes: dict[int, _AnyLane] = {}
        self.held: dict[int, dict[str, Task]] = {}
        self.pending: deque[Task] = deque()
        self.killed: set[str] = set()
        self.unread: set[int] = set()

    def start(self, count: int) -> None:
        """Start the lanes."""
        for number in range(count):
            self._start(number)

    def _start(self, number: int) -> None:
        def emit(event: Any) -> None:
            self.events.put((number, event))

        if number == 0:
            self.lanes[0] = Lane(Worker(self.plan, self.store, self.shelf), emit)
        else:
            slim = self.plan.for_workers()
            self.lanes[number] = ProcessLane(slim, self.store, self.shelf.device, emit)
        self.held[number] = {}

    def run(self, tasks: Iterable[Task]) -> None:
        """Do tasks until none is left, or the run must end."""
        self.pending = deque(tasks)
        while self.pending or any(self.held.values()):
            if self._ending():
                self.pending.clear()
                for lane in self.lanes.values():
                    lane.stop()
            self._hand_out()
            try:
                number, event = self.events.get(timeout=TICK)
            except Empty:
                continue
            self._hear(number, event)

    def _ending(self) -> bool:
        return self.stop.is_set() or bool(self.outcome.memory) or self.outcome.error is not None

    def _hand_out(self) -> None:
        """Fill the lanes, the emptiest first, so that the last tasks are spread."""
        while self.pending:
            number = min(self.held, key=lambda lane: len(self.held[lane]))
            if self._is_full(number):
                return
            task = self.pending.popleft()
            if self.plan.sources[task.source].kind == "model" and task.chunk in self.unread:
                continue  # another source could not read its images either
            self._give(number, task)
            while self.pending and self.plan.follows(self.pending[0], task):
                self._give(number, self.pending.popleft())  # its maps come from the same pass

    def _is_full(self, number: int) -> bool:
        """Say whether a lane has enough in hand: its threads are busy, and another pass waits."""
        tasks = list(self.held[number].values())
        on_device = self.shelf.device != "cpu"
        same = sum(self.plan.follows(two, one) for one, two in pairwise(tasks))
        return len(tasks) >= (DEPTH_ON_DEVICE if on_device else DEPTH) and len(tasks) - same > 1

    def _give(self, number: int, task: Task) -> None:
        self.held[number][task.name] = task
        self.lanes[number].put(task)

    def _hear(self, number: int, event: Any) -> None:
        if isinstance(event, Died):
            self._bury(number, event)
            return
        self.held[number].pop(event.task.name, None)
        if isinstance(event, Finished):
            self.watch(event)
        elif isinstance(event, Failed):
            self._note(event)
        else:
            assert isinstance(event, Left)  # noqa: S101 (nothing else is emitted)

    def _note(self, failed: Failed) -> None:
        source = self.plan.sources[failed.task.source]
        self.outcome.note(failed, source)
        if failed.kind == "image" and source.kind == "model":
            self.unread.add(failed.task.chunk)

    def _bury(self, number: int, died: Died) -> None:
        """Take back the tasks of a lane whose process died, and start another.

        The system kills for lack of memory, but others kill as well, and that must change no
        result: only the second time round is the model to blame.
        """
        left = list(self.held.pop(number).values())
        self.lanes.pop(number).close()
        if not left or self._ending():
            return
        source = self.plan.sources[left[0].source]
        again = left[0].name in self.killed
        if died.status == -signal.SIGKILL and not again:
            self.killed.add(left[0].name)
            self.pending.extendleft(reversed(left))
            self._start(number)
        elif died.status == -signal.SIGKILL and source.kind in ("model", "check"):
            self.outcome.memory[source.limited_as] = "its process was killed by the system"
        else:
            what = f"a worker ended with status {died.status}" + " again" * again
            message = f"{what} while it had task {left[0].name}; fewer workers need less memory"
            self.outcome.error = Failed(left[0], "exhausted", message, {})

    def abandon(self) -> None:
        """End the lanes at once; what they have in hand is lost."""
        for lane in self.lanes.values():
            lane.kill()
        self.lanes = {}

    def end(self) -> None:
        """End the lanes."""
        for lane in self.lanes.values():
            lane.close()
