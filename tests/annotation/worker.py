"""Processes that write to a review at the same time, and are killed while they do.

Run as a program: it imports once, then forks. Each process tells what was acknowledged, one id a
line, in a file of its own.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
import time
from pathlib import Path

from sightline.annotation.events import Conflict, Event
from sightline.annotation.journal import Journal

IMAGE = "church-2.jpg"
BOX = {"label": "window", "box": [0.5, 0.5, 0.75, 1.0]}


def drawing(name: str) -> Event:
    """Return the event that draws a region of that name; the same whoever makes it."""
    return Event(f"draw {name}", "anna", "review", "draw", IMAGE, f"drawn-{name}", BOX)


def tell(file: int, name: str) -> None:
    os.write(file, f"{name}\n".encode())


def write_until_killed(folder: Path, number: int) -> None:
    file = os.open(folder / f"said-{number}.txt", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    with Journal.open(folder) as journal:
        for place in range(1_000_000):
            tell(file, f"sent {number}-{place}")
            journal.append(drawing(f"{number}-{place}"))
            tell(file, f"kept {number}-{place}")


def kill_some(folder: Path, kills: int) -> None:
    """Start a process, let it write, kill it without warning; and again."""
    rng = random.Random(0)  # noqa: S311  # no secret
    for number in range(kills):
        child = os.fork()
        if child == 0:
            write_until_killed(folder, number)
            os._exit(1)
        said = folder / f"said-{number}.txt"
        while not said.exists() or said.stat().st_size < 40:
            time.sleep(0.001)
        time.sleep(rng.random() * 0.02)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if os.waitstatus_to_exitcode(status) != -signal.SIGKILL:
            raise SystemExit("it ended before it was killed")


def compete(folder: Path, process: int, threads: int) -> None:
    """Decide on every item as others do; send drawings that another thread sends as well."""
    file = os.open(folder / f"won-{process}.txt", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    with Journal.open(folder) as journal:
        wrong: list[BaseException] = []

        def work(thread: int) -> None:
            try:
                decide(thread)
            except BaseException as error:
                wrong.append(error)

        def decide(thread: int) -> None:
            for item in journal.items():
                name = f"{process}-{thread}-{item.id}"
                kind = ("accept", "reject")[thread % 2]
                sent = Event(name, name[:3], "review", kind, item.image_id, item.id)
                try:
                    journal.append(sent, 0)
                except Conflict:
                    continue
                tell(file, f"won {name}")
            for place in range(5):
                stored = journal.append(drawing(f"shared-{place}"))
                if not stored.repeated:
                    tell(file, f"drew {place}")

        started = [threading.Thread(target=work, args=(thread,)) for thread in range(threads)]
        for one in started:
            one.start()
        for one in started:
            one.join()
        if wrong:
            raise wrong[0]


def compete_all(folder: Path, processes: int, threads: int) -> None:
    children = []
    for process in range(processes):
        child = os.fork()
        if child == 0:
            try:
                compete(folder, process, threads)
                os._exit(0)
            finally:
                os._exit(1)
        children.append(child)
    for child in children:
        _, status = os.waitpid(child, 0)
        if status:
            raise SystemExit(f"a process ended with {status}")


if __name__ == "__main__":
    unexpected = {"torch", "pandas", "scipy", "numba"} & sys.modules.keys()
    if unexpected:
        raise SystemExit(f"imported: {unexpected}")
    what, where, *numbers = sys.argv[1:]
    if what == "kill":
        kill_some(Path(where), *map(int, numbers))
    else:
        compete_all(Path(where), *map(int, numbers))
