"""A lane reads, makes and scores different tasks at a time, and reports each task once."""

from __future__ import annotations

from queue import Queue
from sys import getswitchinterval
from threading import Event, Thread, current_thread
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from sightline.core import InputError
from sightline.core.errors import OutOfMemoryError
from sightline.study import BadImageError, Done, Task
from sightline.study.executors.lane import STEPS, Failed, Finished, Lane, Left

if TYPE_CHECKING:
    from collections.abc import Callable

LONG = 30  # seconds after which a step that should have been reached is a failure
TASKS = tuple(Task(f"{number:06}-task", 0, number) for number in range(6))


class Stub:
    """A worker whose steps note that they began; tests say what else they do."""

    def __init__(self, kind: str = "given") -> None:
        self.plan = SimpleNamespace(sources=[SimpleNamespace(kind=kind)])
        self.calls: list[tuple[str, int]] = []
        self.threads: dict[str, set[str]] = {step: set() for step in STEPS}
        self.does: dict[tuple[str, int], Callable[[], object]] = {}
        self.closed, self.writers = 0, 0

    def _call(self, step: str, task: Task) -> None:
        self.calls.append((step, task.chunk))
        self.threads[step].add(current_thread().name)
        self.does.get((step, task.chunk), lambda: None)()

    def read(self, task: Task) -> list[str]:
        self._call("read", task)
        return [f"image {task.chunk}"]

    def make(self, task: Task, samples: list[str]) -> tuple[str, list[str]]:
        self._call("make", task)
        return f"maps of {samples[0]}", samples

    def score(self, task: Task, maps: str, samples: list[str]) -> str:
        self._call("score", task)
        return f"rows of {maps}, {samples[0]}"

    def kept(self, task: Task, maps: str) -> str:
        return maps

    def write(self, task: Task, maps: str, scored: str) -> Done:
        self._call("write", task)
        image = f"image {task.chunk}"
        assert (maps, scored) == (f"maps of {image}", f"rows of maps of {image}, {image}")
        return Done(task.chunk, 1)

    def close(self) -> None:
        self.closed += 1


def open_lane(stub: Stub) -> tuple[Lane, Queue[Any]]:
    events: Queue[Any] = Queue()
    return Lane(cast("Any", stub), events.put), events


def run_all(stub: Stub, tasks: tuple[Task, ...] = TASKS) -> list[Any]:
    lane, events = open_lane(stub)
    for task in tasks:
        lane.put(task)
    lane.close()
    return list(events.queue)


def meeting(own: Event, *others: Event) -> Callable[[], None]:
    """Return what a step does to say that it began, and to wait for others."""

    def meet() -> None:
        own.set()
        for other in others:
            wait(other)

    return meet


def wait(event: Event) -> None:
    assert event.wait(LONG), "the other step never came"


def test_every_task_passes_all_steps_in_order() -> None:
    stub = Stub()
    events = run_all(stub)
    assert [event.task for event in events] == list(TASKS)
    assert all(isinstance(event, Finished) for event in events)
    assert [event.done for event in events] == [Done(n, 1) for n in range(6)]
    for event in events:
        assert tuple(event.seconds) == STEPS
        assert all(seconds >= 0 for seconds in event.seconds.values())
    for step in STEPS:
        assert [chunk for name, chunk in stub.calls if name == step] == list(range(6))
    for chunk in range(6):
        assert [name for name, number in stub.calls if number == chunk] == list(STEPS)
    assert stub.closed == 1


def test_each_step_has_one_thread() -> None:
    stub = Stub()
    run_all(stub)
    assert [len(stub.threads[step]) for step in STEPS] == [1, 1, 1, 1]
    assert stub.threads["score"] == stub.threads["write"]
    assert len(set.union(*stub.threads.values())) == 3


def test_reading_making_and_scoring_overlap() -> None:
    """Task 0 is scored only while 1 is made, and 1 is made only while 2 is read."""
    stub = Stub()
    scoring, making, reading = Event(), Event(), Event()

    every = (scoring, making, reading)
    stub.does = {
        ("score", 0): meeting(scoring, *every),
        ("make", 1): meeting(making, *every),
        ("read", 2): meeting(reading, *every),
    }
    events = run_all(stub, TASKS[:3])
    assert [type(event) for event in events] == [Finished] * 3


def test_a_lane_does_not_read_far_ahead() -> None:
    """While a model is busy, few images are in memory: those of two tasks that wait."""
    stub = Stub()
    making, reading, enough = Event(), Event(), Event()
    stub.does["read", 2] = reading.set
    stub.does["make", 0] = meeting(making, enough)
    lane, events = open_lane(stub)
    for task in TASKS:
        lane.put(task)
    wait(making)
    # Task 1 lies ready, task 2 is read and has no place: nobody gets beyond task 3.
    wait(reading)
    assert ("read", 4) not in stub.calls
    enough.set()
    lane.close()
    assert events.qsize() == len(TASKS)


def test_stop_finishes_what_has_maps_and_gives_back_the_rest() -> None:
    stub = Stub()
    scoring, making, stopped = Event(), Event(), Event()
    stub.does["score", 0] = meeting(scoring, stopped)
    stub.does["make", 1] = meeting(making, stopped)
    lane, events = open_lane(stub)
    for task in TASKS:
        lane.put(task)
    wait(scoring)
    wait(making)
    lane.stop()
    stopped.set()
    lane.close()
    found = {event.task.chunk: type(event) for event in events.queue}
    assert found == {0: Finished, 1: Finished, 2: Left, 3: Left, 4: Left, 5: Left}
    assert events.qsize() == len(TASKS)
    assert ("make", 2) not in stub.calls
    assert ("read", 5) not in stub.calls


def test_a_lane_that_was_stopped_gives_back_what_comes_later() -> None:
    stub = Stub()
    lane, events = open_lane(stub)
    lane.stop()
    lane.put(TASKS[0])
    lane.close()
    assert list(events.queue) == [Left(TASKS[0])]
    assert stub.calls == []


def test_a_killed_lane_waits_for_nothing() -> None:
    stub = Stub()
    making, never = Event(), Event()
    stub.does["make", 0] = meeting(making, never)
    lane, events = open_lane(stub)
    lane.put(TASKS[0])
    lane.put(TASKS[1])
    wait(making)
    lane.kill()  # returns, though the step never ends
    assert events.empty() or isinstance(events.get(), Left)
    never.set()


@pytest.mark.parametrize("end", [Lane.close, Lane.kill])
def test_threads_take_turns_as_before_when_a_lane_has_ended(end: Callable[[Lane], None]) -> None:
    before, stub = getswitchinterval(), Stub()
    stub.writers = 2
    lane, _ = open_lane(stub)
    assert getswitchinterval() < before
    end(lane)
    assert getswitchinterval() == before


def raising(error: BaseException) -> Callable[[], object]:
    def go() -> None:
        raise error

    return go


BAD = {"a": "a.png: is cut short", "b": "b.png: is empty"}
ERRORS = {
    "image": BadImageError(BAD),
    "memory": OutOfMemoryError("demo/vit: out of memory"),
    "input": InputError("layers: must be below 12, got 13"),
    "bug": ZeroDivisionError("a slip"),
}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("kind", ERRORS)
def test_an_error_fails_its_task_alone(step: str, kind: str) -> None:
    stub = Stub()
    stub.does[step, 1] = raising(ERRORS[kind])
    events = run_all(stub, TASKS[:4])
    by_chunk = {event.task.chunk: event for event in events}
    assert {chunk: type(event) for chunk, event in by_chunk.items()} == {
        0: Finished,
        1: Failed,
        2: Finished,
        3: Finished,
    }
    assert len(events) == 4
    failed = by_chunk[1]
    assert failed.kind == kind
    assert str(ERRORS[kind]) in failed.message
    assert failed.images == (BAD if kind == "image" else {})
    last = STEPS.index(step)
    assert [name for name, chunk in stub.calls if chunk == 1] == list(STEPS[: last + 1])


def test_a_slip_is_told_with_its_traceback() -> None:
    stub = Stub()
    stub.does["make", 0] = raising(ZeroDivisionError("a slip"))
    (failed,) = run_all(stub, TASKS[:1])
    assert "Traceback (most recent call last)" in failed.message
    assert "in raising" in failed.message or "in go" in failed.message
    assert "ZeroDivisionError: a slip" in failed.message


@pytest.mark.parametrize(("step", "kind"), [("write", "disk"), ("read", "bug"), ("make", "bug")])
def test_only_writing_can_find_the_disk_full(step: str, kind: str) -> None:
    stub = Stub()
    stub.does[step, 0] = raising(OSError(28, "No space left on device"))
    (failed,) = run_all(stub, TASKS[:1])
    assert failed.kind == kind
    assert "No space left on device" in failed.message


def test_torch_has_one_thread_while_maps_are_made() -> None:
    import torch

    found: dict[str, int] = {}

    def in_new_thread(name: str) -> None:
        def look() -> None:
            found[name] = torch.get_num_threads()

        thread = Thread(target=look)
        thread.start()
        thread.join()

    usual = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        stub = Stub("model")
        stub.does["make", 0] = lambda: found.update(made=torch.get_num_threads())
        (event,) = run_all(stub, TASKS[:1])
        assert isinstance(event, Finished)
        in_new_thread("after")
        found["here"] = torch.get_num_threads()
    finally:
        torch.set_num_threads(usual)
    assert found == {"made": 1, "after": 3, "here": 3}


def test_several_threads_write_where_a_worker_says_so() -> None:
    stub, begun = Stub(), [Event(), Event()]
    stub.writers = 2
    for task, own, other in zip(TASKS[:2], begun, reversed(begun), strict=True):
        stub.does["write", task.chunk] = meeting(own, other)  # both are written at once
    events = run_all(stub)
    assert {event.task for event in events} == set(TASKS)
    assert all(isinstance(event, Finished) for event in events)
    assert len(stub.threads["write"]) == 2
    assert not stub.threads["write"] & stub.threads["score"]
    assert len(stub.threads["score"]) == stub.closed == 1
