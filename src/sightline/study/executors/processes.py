"""A lane in a process of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from multiprocessing.connection import Connection
from queue import Queue
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, NamedTuple

from sightline.store import Store
from sightline.study import Shelf, Worker
from sightline.study.executors.lane import Lane
from sightline.study.worker.threads import THREADS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sightline.study import Plan, Task

__all__ = ["Died", "ProcessLane", "main"]


class Died(NamedTuple):
    """A process that ended by itself.

    Attributes
    ----------
    status : int
        Its exit status; negative for the signal that ended it.
    """

    status: int


class ProcessLane:
    """A lane in another process, which ends with this one.

    Parameters
    ----------
    plan, store, device
        What is to be done, where it goes, and where networks run.
    emit : callable
        Receives what the lane emits, and `Died`.
    """

    def __init__(
        self, plan: Plan, store: Store, device: str, emit: Callable[[Any], object]
    ) -> None:
        ours, theirs = socket.socketpair()
        # Threads are set before the libraries start; their number is part of the plan.
        env = {**os.environ, "OMP_NUM_THREADS": str(THREADS), "MKL_NUM_THREADS": str(THREADS)}
        code = "from sightline.study.executors.processes import main; main()"
        with _deaf():
            self._process = subprocess.Popen(  # noqa: S603
                [sys.executable, "-c", code, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                env=env,
            )
        theirs.close()
        self._connection = Connection(ours.detach())
        self._emit, self._closing = emit, False
        self._outbox: Queue[Any] = Queue()
        self._outbox.put((plan, store.path, device))
        self._threads = [Thread(target=loop, daemon=True) for loop in (self._speak, self._listen)]
        for thread in self._threads:
            thread.start()

    def put(self, task: Task) -> None:
        """Give the lane a task."""
        self._outbox.put(task)

    def stop(self) -> None:
        """Let the lane finish what has begun, and give back the rest."""
        self._outbox.put("stop")

    def close(self) -> None:
        """Wait for the end of all tasks and of the process."""
        self._closing = True
        self._outbox.put(None)
        for thread in self._threads:
            thread.join()
        self._process.wait()
        self._connection.close()

    def kill(self) -> None:
        """End the process at once."""
        self._closing = True
        self._process.kill()
        self.close()

    def _speak(self) -> None:
        """Send what is to be sent; a large plan waits until the process has started."""
        message: Any = ...
        try:
            while message is not None:
                message = self._outbox.get()
                self._connection.send(message)
        except OSError:  # it died; the listener says so
            return

    def _listen(self) -> None:
        try:
            while True:
                self._emit(self._connection.recv())
        except (EOFError, OSError):
            status = self._process.wait()
            if not self._closing or status:
                self._emit(Died(status))


@contextmanager
def _deaf() -> Iterator[None]:
    """Have processes that are started in this block never hear Ctrl-C.

    It reaches every process of a terminal, and the driver alone decides what it means. A process
    is as deaf as the thread that starts it, from its first instant.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def main() -> None:
    """Do tasks as they come through the socket that the command line names."""
    connection = Connection(int(sys.argv[1]))
    try:
        lane = _serve(connection)
    except (EOFError, OSError):
        os._exit(1)  # the driver is gone: nobody waits for the rest
    lane.close()
    connection.close()


def _serve(connection: Connection) -> Lane:
    """Hand what comes through a connection to a lane, until the last of it has come."""
    plan, path, device = connection.recv()
    lock = Lock()

    def emit(event: Any) -> None:
        with lock:
            try:
                connection.send(event)
            except OSError:  # the driver is gone
                os._exit(1)

    lane = Lane(Worker(plan, Store(path), Shelf(device)), emit)
    while (message := connection.recv()) is not None:
        if message == "stop":
            lane.stop()
        else:
            lane.put(message)
    return lane
