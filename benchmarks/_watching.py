"""What a process does to files and the network: a hook inside it, and canaries outside.

Imported first thing in the process that is watched, this module notes every file that Python opens
or changes there, every program that it starts and every connection that it opens
(`sys.addaudithook`). What native code opens (DuckDB, SQLite, Arrow) passes no hook: `Canaries` has
the kernel tell of each touch of a file that nobody has business with (inotify).
"""

from __future__ import annotations

import ctypes
import json
import os
import secrets
import struct
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

LOG = "SIGHTLINE_WATCHED"
"""The variable that names the file to which the hook writes; without it there is no hook."""
_OPENED = ("open",)
_CHANGED = (
    "os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate",
    "os.chmod", "os.chown", "shutil.rmtree", "shutil.move", "shutil.copyfile",
)  # fmt: skip
_OUTSIDE = (
    "subprocess.Popen", "os.system", "os.exec", "os.fork", "os.posix_spawn", "pty.spawn",
    "socket.connect", "socket.getaddrinfo", "urllib.Request", "webbrowser.open",
)  # fmt: skip
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_TRUNC
# Of the kernel (inotify): read, changed, attributes, closed, moved, opened, deleted.
_EVENTS = {
    1: "read",
    2: "changed",
    4: "attributes",
    0x20: "opened",
    0x400: "deleted",
    0x800: "moved",
}


def install(path: str) -> None:
    """Write each new thing that this process does to a file, a line each."""
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    known: set[tuple[str, str]] = set()

    def hook(event: str, values: tuple[Any, ...]) -> None:
        if event not in _OPENED and event not in _CHANGED and event not in _OUTSIDE:
            return
        kind = event
        if event == "open":
            if isinstance(values[0], int):
                return
            writing = bool((values[2] or 0) & _WRITING)
            kind = "write" if writing else "read"
        told = kind, _name(event, values)
        if told not in known:
            known.add(told)
            os.write(log, (json.dumps(told) + "\n").encode())

    sys.addaudithook(hook)


def _name(event: str, values: tuple[Any, ...]) -> str:
    """Return what an event is about: a path from the root, or the values as they are."""
    if event in _OUTSIDE or not isinstance(values[0], str | bytes | os.PathLike):
        return repr(values)
    place = ""
    if event in ("os.remove", "os.rmdir", "os.mkdir") and values[-1] >= 0:  # in an open folder
        with suppress(OSError):
            place = os.readlink(f"/proc/self/fd/{values[-1]}")  # noqa: PTH115
    return os.path.abspath(os.path.join(place, os.fsdecode(values[0])))  # noqa: PTH100, PTH118


def watched(path: Path) -> list[tuple[str, str]]:
    """Return what a hook wrote: kinds and paths."""
    return [tuple(json.loads(line)) for line in path.read_text("utf-8").splitlines()]


class Canaries:
    """Files that nobody may touch, each with the same secret word in it.

    Raises
    ------
    OSError
        If the kernel does not tell of touches here.
    """

    def __init__(self, paths: list[Path]) -> None:
        self.secret = f"canary-{secrets.token_hex(16)}"
        self.paths = paths
        for path in paths:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{self.secret}\n")
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._watch = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._watch < 0:
            raise OSError(ctypes.get_errno(), "inotify is not to be had")
        self._names: dict[int, Path] = {}
        for path in paths:
            found = self._libc.inotify_add_watch(self._watch, os.fsencode(path), sum(_EVENTS))
            if found < 0:
                raise OSError(ctypes.get_errno(), f"cannot watch {path}")
            self._names[found] = path
        paths[0].read_bytes()
        if not self.touched():
            raise OSError("the kernel did not tell of a file that was read")

    def touched(self) -> list[str]:
        """Return what happened to which file since the last time this was asked."""
        try:
            content = os.read(self._watch, 1 << 20)
        except BlockingIOError:
            return []
        found, place = [], 0
        while place < len(content):
            number, mask, _, length = struct.unpack_from("iIII", content, place)
            what = ", ".join(word for bit, word in _EVENTS.items() if mask & bit)
            found.append(f"{self._names[number]} {what}")
            place += 16 + length
        return sorted(set(found))

    def same(self) -> bool:
        """Say whether every file holds what it held."""
        return all(path.read_text() == f"{self.secret}\n" for path in self.paths)


if LOG in os.environ:
    install(os.environ[LOG])
