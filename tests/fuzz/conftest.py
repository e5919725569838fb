"""What tests of hostile files share: an eye on every file that is opened, a child with limits."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from typing import TypeAlias

import pytest

Watch: TypeAlias = Callable[[], AbstractContextManager[list[str]]]

_opened: list[list[str]] = []


def _note(event: str, arguments: tuple[object, ...]) -> None:
    """Note what is opened, listed or started, while somebody wants to know."""
    if not _opened:
        return
    name = arguments[0] if arguments else None
    if event in ("open", "os.listdir", "os.scandir") and isinstance(
        name, str | bytes | os.PathLike
    ):
        _opened[-1].append(os.fsdecode(name))
    elif event in ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn"):
        _opened[-1].append(f"starts {name}")


@cache
def _add_hook() -> None:
    """Add the hook once per process: it stays, while workers set up session fixtures again."""
    sys.addaudithook(_note)


@pytest.fixture(scope="session")
def watch() -> Watch:
    """Return a context that lists the files that are opened, and the programs that are started."""
    _add_hook()

    @contextmanager
    def watching() -> Iterator[list[str]]:
        _opened.append([])
        try:
            yield _opened[-1]
        finally:
            _opened.pop()

    return watching
