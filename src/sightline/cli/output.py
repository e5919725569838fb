"""What is printed: tables, lines, JSON, progress and the library's log."""

import json
import logging
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import typer

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from rich.console import Console
    from rich.table import Table

__all__ = [
    "Move",
    "SHOWN_NAMES",
    "add_row",
    "console",
    "count_rest",
    "listed",
    "new_table",
    "number",
    "own_name",
    "printable",
    "progress",
    "show",
    "show_json",
    "show_log",
    "timespan",
    "working",
]

SHOWN_NAMES = 5


def printable(text: str) -> str:
    """Return text from a file as a terminal can show it: no control characters, no odd codes."""
    return "".join(
        c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text
    )


def timespan(seconds: float) -> str:
    """Return a time as people say it.

    >>> timespan(0.2), timespan(8.2), timespan(95), timespan(7300)
    ('<1 s', '8 s', '1 min 35 s', '2 h 2 min')
    """
    whole = round(seconds)
    if not whole and seconds > 0:
        return "<1 s"
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    hours, minutes = divmod(round(whole / 60), 60)
    return f"{hours} h {minutes} min"


@cache
def console(stderr: bool = False) -> "Console":
    """Return where things are printed."""
    from rich.console import Console

    for stream in (sys.stdout, sys.stderr):  # a name that the terminal cannot encode is escaped
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    return Console(stderr=stderr, highlight=False)


def show(*blocks: "Table | str") -> None:
    """Print tables and lines of text; square brackets in names are no markup."""
    for block in blocks:
        if isinstance(block, str):
            console().print(printable(block), markup=False, soft_wrap=True)
        else:
            console().print(block, markup=False)


def show_json(content: Any) -> None:
    """Print JSON."""
    typer.echo(json.dumps(content, indent=1, allow_nan=False))


@cache
def show_log() -> None:
    """Show what the library logs, such as the compilation at first use, on stderr."""
    from rich.logging import RichHandler

    logging.getLogger("sightline").addHandler(
        RichHandler(console=console(stderr=True), show_time=False, show_path=False)
    )


class Move(Protocol):
    """Moves a bar."""

    def __call__(self, done: int, total: int, what: str | None = None, /) -> object:
        """Show how much is done; a text takes the place of the one before the bar."""


@contextmanager
def progress(what: str) -> Iterator[Move]:
    """Yield a function that moves a bar on stderr, where that is a terminal."""
    from rich.progress import Progress

    screen = console(stderr=True)
    with Progress(console=screen, transient=True, disable=not screen.is_terminal) as bar:
        task = bar.add_task(what, total=None)

        def move(done: int, total: int, what: str | None = None, /) -> None:
            bar.update(task, completed=done, total=total, description=what)

        yield move


def working(what: str) -> "AbstractContextManager[object]":
    """Show that something goes on, on stderr, where that is a terminal."""
    screen = console(stderr=True)
    return screen.status(what) if screen.is_terminal else nullcontext()


def own_name() -> str:
    """Return what to type to call this program again: its path where the name is not enough."""
    called = Path(sys.argv[0])
    found = shutil.which("sightline")
    if called.name != "sightline" or (found and called.exists() and called.samefile(found)):
        return "sightline"
    return str(called)


def number(value: float | None, missing: str = "") -> str:
    """Return a number with three digits."""
    return missing if value is None else f"{value:.3f}"


def new_table(title: str, left: Sequence[str], right: Sequence[str] = ()) -> "Table":
    """Return a table with columns of text and columns of numbers."""
    from rich import box
    from rich.table import Table

    table = Table(title=title, title_justify="left", caption_justify="left", box=box.SIMPLE_HEAD)
    for name in left:
        table.add_column(name, overflow="fold")
    for name in right:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def add_row(table: "Table", *cells: str) -> None:
    """Add a line of cells, whatever characters names from files hold."""
    table.add_row(*map(printable, cells))


def listed(what: str, names: Sequence[str], shown: int | None = SHOWN_NAMES) -> Iterator[str]:
    """Yield a line that counts names and lists the first; none when there are none."""
    if names:
        more = ", …" if shown is not None and len(names) > shown else ""
        yield f"{what} ({len(names)}): {', '.join(names[:shown])}{more}"


def count_rest(table: "Table", count: int, shown: int | None) -> None:
    """Say below a table how many lines it leaves out."""
    if shown is not None and count > shown:
        table.caption = f"{count - shown} more: --all shows them."
