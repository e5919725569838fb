"""Workers of pytest that are forks of one process, which has imported and collected all tests.

To import and to collect takes a process half a minute of the processor's time, and workers that
are started anew do it each: see `docs/decisions/0027-workers.md`.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections import deque
from contextlib import suppress
from itertools import groupby
from multiprocessing.connection import Connection, Pipe, wait
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

# Folders whose tests share a service, a browser or reports: one worker makes them, once.
TOGETHER = ("e2e", "api", "statistics")
_ENDED = object()
_name: str | None = None


class Worker(NamedTuple):
    """A fork, and the tests it was given and has not finished."""

    pid: int
    left: deque[int]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let workers be asked for."""
    parser.addoption("--workers", type=int, default=0, help="how many forks run tests; 0: none")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> Literal[True] | None:
    """Run the tests that compile kernels in a fork, and then all others in several."""
    count: int = session.config.getoption("workers")
    if not count or session.testsfailed or session.config.option.collectonly:
        return None
    items = list(enumerate(session.items))
    first = [place for place, item in items if item.get_closest_marker("compiles")]
    rest = [pair for pair in items if pair[0] not in first]
    groups = [[place for place, _ in some] for _, some in groupby(rest, lambda one: _unit(one[1]))]
    workers = Workers(session)
    workers.run([first], 1)
    workers.run(groups, count)
    return True


def _unit(item: pytest.Item) -> Path:
    """Return what a worker is given as a whole: a file, or a folder whose tests share much."""
    return item.path.parent if item.path.parent.name in TOGETHER else item.path


def shared_folder(factory: pytest.TempPathFactory) -> Path:
    """Return the folder for temporary files that all workers share."""
    base = factory.getbasetemp()
    return base if _name is None else base.parent


class Workers:
    """Forks that are handed groups of tests, one by one, and say what came of each test."""

    def __init__(self, session: pytest.Session) -> None:
        self.session, self.hook = session, session.config.hook
        self.waiting: deque[Sequence[int]] = deque()
        self.there: dict[Connection, Worker] = {}
        self.begun = 0
        session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]

    def run(self, groups: Sequence[Sequence[int]], count: int) -> None:
        """Run all groups in at most this many forks."""
        self.waiting.extend(group for group in groups if group)
        for _ in range(min(count, len(self.waiting))):
            self._start()
        try:
            while self.there:
                for pipe in wait(list(self.there)):
                    self._listen(pipe)  # type: ignore[arg-type]
        finally:
            for worker in self.there.values():
                os.kill(worker.pid, 9)
                os.waitpid(worker.pid, 0)

    def _start(self) -> None:
        ours, theirs = Pipe()
        self.begun += 1
        pid = os.fork()
        if pid == 0:
            for pipe in (ours, *self.there):
                pipe.close()
            _work(self.session, theirs, f"worker{self.begun}")
        theirs.close()
        self.there[ours] = Worker(pid, deque())

    def _listen(self, pipe: Connection) -> None:
        worker = self.there[pipe]
        told: Any = _ENDED
        with suppress(EOFError, OSError):
            told = pipe.recv()
        if told is _ENDED:
            self._ended(pipe)
            return
        if told is None:  # it has done what it was given
            worker.left.extend(self.waiting.popleft() if self.waiting else ())
            pipe.send(list(worker.left))
            return
        report = self.hook.pytest_report_from_serializable(config=self.session.config, data=told)
        self.hook.pytest_runtest_logreport(report=report)
        if report.when == "teardown":
            worker.left.popleft()
            self.hook.pytest_runtest_logfinish(nodeid=report.nodeid, location=report.location)
        for stopped, kind in (("shouldfail", "Failed"), ("shouldstop", "Interrupted")):
            if why := getattr(self.session, stopped):
                raise getattr(self.session, kind)(why)

    def _ended(self, pipe: Connection) -> None:
        """Have the test in hand fail of a worker that ended, and another do those after it."""
        worker = self.there.pop(pipe)
        _, status = os.waitpid(worker.pid, 0)
        if worker.left:
            item = self.session.items[worker.left.popleft()]
            said = f"the worker ended in this test: {os.waitstatus_to_exitcode(status)}"
            report = pytest.TestReport(item.nodeid, item.location, {}, "failed", said, "call")
            self.hook.pytest_runtest_logreport(report=report)
            if worker.left:
                self.waiting.appendleft(worker.left)
            self._start()
        elif status:
            code = os.waitstatus_to_exitcode(status)
            raise RuntimeError(f"a worker ended without a test in hand: {code}")


def _work(session: pytest.Session, pipe: Connection, name: str) -> None:
    """Run groups of tests until none is left, and end this process."""
    status = 1
    try:
        _settle(session.config, name, pipe.send)
        while True:
            pipe.send(None)
            items = [session.items[place] for place in pipe.recv()]
            if not items:
                break
            for item, after in zip(items, [*items[1:], None], strict=True):
                session.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _settle(config: pytest.Config, name: str, send: Callable[[Any], None]) -> None:
    """Give a fork what it must not share: temporary files, and output; it prints nothing."""
    global _name
    _name = os.environ["PYTEST_WORKER"] = name
    factory: Any = config._tmp_path_factory  # type: ignore[attr-defined]
    factory._basetemp = factory.getbasetemp() / name
    factory._basetemp.mkdir()
    capture: Any = config.pluginmanager.getplugin("capturemanager")
    capture.stop_global_capturing()
    capture.start_global_capturing()
    capture.suspend_global_capture(in_=True)
    config.pluginmanager.unregister(name="terminalreporter")
    config.pluginmanager.register(_Telling(config, send))


class _Telling:
    """Sends what came of each test to the process that prints it."""

    def __init__(self, config: pytest.Config, send: Callable[[Any], None]) -> None:
        self.config, self.send = config, send

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        hook = self.config.hook
        self.send(hook.pytest_report_to_serializable(config=self.config, report=report))
