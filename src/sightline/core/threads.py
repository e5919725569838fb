"""Threads that share out work in the kernels, which release the interpreter lock."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from sightline.core import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["by_workers", "in_threads", "threads_for"]

_Task = TypeVar("_Task")


def in_threads(run: Callable[[int], None], tasks: Iterable[int], workers: int) -> None:
    """Call with every task; each worker takes the next one when it is free."""
    by_workers(lambda: run, tasks, workers)


def by_workers(
    make: Callable[[], Callable[[_Task], None]], tasks: Iterable[_Task], workers: int
) -> None:
    """Let each worker make what it then calls with its tasks: it may have buffers of its own."""
    every = list(tasks)
    queue, workers = iter(every), min(workers, len(every))

    def work() -> None:
        run = make()
        for task in queue:
            run(task)

    if workers <= 1:
        return work()
    with ThreadPoolExecutor(workers) as pool:
        for future in [pool.submit(work) for _ in range(workers)]:
            future.result()
    return None


def threads_for(asked: int | None, work: int, least: int) -> int:
    """Return as many threads as asked, else as there are cores and `least` pieces of work for."""
    if asked is not None:
        if not isinstance(asked, int) or asked < 1:
            raise InputError(f"threads must be at least 1; got {asked!r}")
        return asked
    usable = getattr(os, "sched_getaffinity", None)  # not on every system
    cores = len(usable(0)) if usable else os.cpu_count() or 1
    return max(1, min(cores, work // least))
