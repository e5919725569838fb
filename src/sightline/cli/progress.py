"""How a run shows itself: the plan, a bar with throughput and time left, and where time went."""

import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Event
from types import FrameType
from typing import TYPE_CHECKING, Any

from sightline.cli.output import add_row, console, new_table, show, timespan
from sightline.core.words import counted
from sightline.study import Run, Watch

if TYPE_CHECKING:
    from rich.progress import Progress
    from rich.table import Table

    from sightline.study import Engine, Plan
    from sightline.study.plan.probe import Expected

__all__ = [
    "Bar",
    "engine_lines",
    "expected_blocks",
    "plan_lines",
    "profile_blocks",
    "stopping",
]

# Seconds between lines where there is no terminal to draw a bar on.
_EVERY = 20.0
# Bytes of a row on disk, with its part of the other files.
_ROW = 8


def plan_lines(plan: "Plan") -> list[str]:
    """Return what a plan comes to, in a few lines."""
    used = {image for chunk in plan.chunks for image in chunk.images}
    regions = sum(card.line["regions"] for card in plan.cards.cards if card.image in used)
    maps = sum(source.maps_per_image for source in plan.sources) * plan.images
    checks = len({(s.name, s.method, s.target, s.part) for s in plan.sources if s.part})
    models = len({source.name for source in plan.sources if source.kind != "given"})
    lack = any(note.startswith("No map of ") for note in plan.notes)
    parts = [
        f"{counted(plan.images, 'image')} with {counted(regions, 'region')}",
        *([counted(models, "model")] if models else []),
        counted(len({one.method for one in plan.sources if one.kind != "check"}), "method"),
        f"{'up to ' if lack else ''}{counted(maps, 'map')}",
        *([counted(checks, "check")] if checks else []),
        counted(len(plan.tasks), "task"),
    ]
    lines = [f"Plan: {', '.join(parts)}"]
    lacking: dict[str, list[str]] = {}
    for left in plan.left_out:
        lacking.setdefault(f"{left.model} ({left.why})", []).append(left.method)
    lines += [f"Does not fit {model}: {', '.join(names)}" for model, names in lacking.items()]
    return [*lines, *_checked_layers(plan), *plan.notes]


def _checked_layers(plan: "Plan") -> Iterator[str]:
    """Yield which layers are checked, checks of the same layers together."""
    layers: dict[str, dict[str, set[int]]] = {}
    for source in plan.sources:
        if source.part and source.layers != (None,):
            name = " ".join(filter(None, (source.name, source.method, source.target)))
            own = layers.setdefault(source.part, {}).setdefault(name, set())
            own.update(layer for layer in source.layers if layer is not None)
    parts: dict[str, list[str]] = {}
    for part, known in layers.items():
        said = "; ".join(f"{name} {_format_layers(sorted(known[name]))}" for name in known)
        parts.setdefault(said, []).append(part)
    for said, names in parts.items():
        yield f"Layers checked ({', '.join(names)}): {said}"


def _format_layers(layers: Sequence[int]) -> str:
    """Return layers in words: "layer 9", "layers 9, 11"."""
    return f"layer{'s' * (len(layers) > 1)} {', '.join(map(str, layers))}"


def expected_blocks(found: Sequence["Expected"], workers: int) -> "list[Table | str]":
    """Return what each source of a plan will take, and all together."""
    table = new_table(
        "What the study takes",
        ("model", "method", "target"),
        ("maps", "scores", "done", "time left"),
    )
    for names, some in _lines(found):
        maps, rows, stored, tasks = (
            sum(getattr(one, name) for one in some) for name in ("maps", "rows", "stored", "tasks")
        )
        cells = (f"{maps:,}", f"{rows:,}", f"{stored}/{tasks}")
        add_row(table, *names, *cells, timespan(sum(one.seconds for one in some)))
    maps, rows = (sum(getattr(one, name) for one in found) for name in ("maps", "rows"))
    counts = f"In all {counted(maps, 'map')}, {counted(rows, 'score')}, {_size(rows * _ROW)}"
    return [table, f"{counts}; {_time_left(found, workers)}"]


def engine_lines(engine: "Engine") -> list[str]:
    """Return where a study would run, if not simply here."""
    if engine.kind == "local":
        return []
    if engine.address is not None:
        return [f"Engine: the Ray cluster at {engine.address}"]
    return ["Engine: Ray, in a cluster of its own on this machine, which takes seconds to start"]


def _lines(found: Sequence["Expected"]) -> "list[tuple[tuple[str, str, str], list[Expected]]]":
    """Return what is expected with the names of its line: all draws of a check share one."""
    lines: dict[tuple[str, str, str, int], list[Expected]] = {}
    for number, one in enumerate(found):
        source = one.source
        check = source.check.rpartition("/")[0] or source.check
        layers = [layer for layer in source.layers if layer is not None] if check else []
        where = f", {_format_layers(layers)}" if layers else ""
        method = f"{source.method}: {check}{where}" if check else source.method
        own = -1 if check else number  # a method may be there with several seeds
        lines.setdefault((source.name, method, source.target, own), []).append(one)
    return [(names[:3], some) for names, some in lines.items()]


def _size(count: int) -> str:
    return f"about {count / 1e6:,.0f} MB" if count >= 1e6 else "under 1 MB"


def _time_left(found: Sequence["Expected"], workers: int) -> str:
    """Say how long the rest will take; more workers than tasks are of no use."""
    tasks = sum(one.tasks - one.stored for one in found)
    if not tasks:
        return "nothing is left to do"
    used = min(workers, tasks)
    seconds = sum(one.seconds for one in found) / used
    said = "under a second" if seconds < 1 else f"about {timespan(seconds)}"
    return f"{said} with {counted(used, 'worker')}"


def profile_blocks(run: Run) -> "list[Table | str]":
    """Return where the time of a run went."""
    if not run.finished:
        return ["Where the time went: nothing was computed"]
    names = {
        "read": "reading images",
        "make": "making maps",
        "score": "scoring",
        "write": "writing",
    }
    total = sum(run.steps.values()) or 1.0
    table = new_table("Where the time went", ("step",), ("seconds", "share", "ms a map"))
    for step, seconds in run.steps.items():
        each = f"{1000 * seconds / run.maps:.2f}" if run.maps else ""
        add_row(table, names[step], f"{seconds:.1f}", f"{seconds / total:.0%}", each)
    workers = f"Over {counted(run.workers, 'worker')}, whose steps overlap"
    return [table, f"{workers}; {timespan(run.seconds)} in all, with planning."]


class Bar(Watch):
    """Draws a bar on a terminal; elsewhere prints a line now and then."""

    def __init__(self) -> None:
        self._screen = console(stderr=True)
        self._bar: Progress | None = None
        self._task: Any = None
        self._last = time.monotonic()

    def planning(self, done: int, total: int, what: str) -> None:
        """Show what is read for the plan."""
        if self._screen.is_terminal:
            self._move(done, total, what, "")

    def planned(self, run: Run) -> None:
        """Show the plan, and how much of it is there."""
        self.close()
        there = f", of which {run.stored:,} stored already" if run.stored else ""
        first, *others = plan_lines(run.plan)
        show(f"{first}{there}", *others)

    def moved(self, run: Run) -> None:
        """Show how far the run is."""
        done = run.stored + run.finished
        left = run.time_left()
        speed = f"{run.maps / run.seconds:,.0f} maps/s" if run.seconds else ""
        rest = "" if left is None or run.complete else f"{timespan(left)} left"
        if self._screen.is_terminal:
            self._move(done, run.total, "Running", ", ".join(filter(None, (speed, rest))))
        elif time.monotonic() - self._last > _EVERY or run.complete:
            self._last = time.monotonic()
            said = (f"{done:,} of {counted(run.total, 'task')}", speed, rest)
            self._screen.print(", ".join(filter(None, said)), markup=False)

    def _move(self, done: int, total: int, what: str, said: str) -> None:
        if self._bar is None:
            self._bar = _new_bar()
            self._task = self._bar.add_task(what, total=total, said=said)
            self._bar.start()
        self._bar.update(self._task, completed=done, total=total, description=what, said=said)

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def _new_bar() -> "Progress":
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[said]}", markup=False),
        console=console(stderr=True),
        transient=True,
    )


@contextmanager
def stopping() -> Iterator[Event]:
    """Yield an event that the first Ctrl-C sets; the second ends the program at once."""
    stop = Event()

    def first(number: int, frame: FrameType | None) -> None:
        stop.set()
        signal.signal(signal.SIGINT, second)
        sys.stderr.write("\nStopping after the tasks in hand (Ctrl-C again: at once)…\n")

    def second(number: int, frame: FrameType | None) -> None:
        console(stderr=True).show_cursor()
        os._exit(130)  # threads may be deep in a network; workers end when nobody listens

    before = signal.signal(signal.SIGINT, first)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)
