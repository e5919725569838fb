"""One writer at a time, across real processes."""

from __future__ import annotations

import getpass
import json
import os
import platform
import signal
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from sightline.core import InputError
from sightline.store import Holder, create_store, hold
from sightline.store.lock import holder_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HOLD = """
import sys, time
from pathlib import Path
from sightline.store import hold

with hold(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def holding(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds a lock until the block ends."""
    command = [sys.executable, "-c", HOLD, str(path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process


def test_the_second_process_is_told_who_holds_it(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with holding(path) as process:
        with pytest.raises(InputError) as caught, hold(path):
            pass
        holder = holder_of(path)
    assert holder is not None
    assert holder.process == process.pid
    text = str(caught.value)
    for part in (str(process.pid), getpass.getuser(), platform.node(), str(tmp_path)):
        assert part in text
    with hold(path):  # it has ended
        pass


def test_a_killed_holder_holds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with holding(path) as process:
        process.send_signal(signal.SIGKILL)
        process.wait()
        with hold(path):
            holder = holder_of(path)
        assert holder is not None
        assert holder.process == os.getpid()


def test_a_lock_is_free_after_its_block_also_after_an_error(tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(RuntimeError, match="in the block"), hold(tmp_path / "lock"):
            raise RuntimeError("in the block")
    with hold(tmp_path / "lock"), pytest.raises(InputError, match=f"process {os.getpid()} of "):
        hold(tmp_path / "lock").__enter__()


def test_a_child_does_not_hold_what_its_parent_held(tmp_path: Path) -> None:
    """A program that was started in the block and lives on does not keep the lock."""
    with hold(tmp_path / "lock"):
        child = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=-1)
    with hold(tmp_path / "lock"):
        assert child.poll() is None
    child.communicate()


def test_the_lock_says_who_since_when(tmp_path: Path) -> None:
    with hold(tmp_path / "lock"):
        said = json.loads((tmp_path / "lock").read_text("utf-8"))
    assert said["process"] == os.getpid()
    assert said["machine"] == platform.node()
    assert said["user"] == getpass.getuser()
    assert said["since"].endswith("+00:00")
    assert str(Holder(7, "m", "u", "now")) == "process 7 of u on m, since now"


GARBAGE = [b"", b"{", b"[1, 2]", b"null", b'{"process": 1}', b'{"other": 1}', b"\xff\xfe\x00"]


@pytest.mark.parametrize("content", GARBAGE)
def test_garbage_in_the_file_does_no_harm(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "lock"
    path.write_bytes(content)
    assert holder_of(path) is None
    with hold(path):
        holder = holder_of(path)
        assert holder is not None
        assert holder.process == os.getpid()
        path.write_bytes(content)
        with pytest.raises(InputError, match="being written by another process"):
            hold(path).__enter__()


def test_nobody_holds_what_is_not_there(tmp_path: Path) -> None:
    assert holder_of(tmp_path / "none") is None


def test_a_user_without_a_name_can_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> str:
        raise KeyError("getpwuid(): uid not found: 12345")

    monkeypatch.setattr(getpass, "getuser", unknown)
    with hold(tmp_path / "lock"):
        holder = holder_of(tmp_path / "lock")
    assert holder is not None
    assert holder.user == "unknown"


def test_a_store_is_held_by_its_lock(tmp_path: Path) -> None:
    store = create_store(tmp_path / "s")
    with store.locked(), pytest.raises(InputError, match="being written by"):
        store.locked().__enter__()


@pytest.mark.parametrize("there", [True, False])
def test_nothing_is_written_through_a_link(tmp_path: Path, there: bool) -> None:
    target = tmp_path / "target"
    if there:
        target.write_text("mine")
    (tmp_path / "lock").symlink_to(target)
    for take in (lambda: hold(tmp_path / "lock").__enter__(), lambda: create_store(tmp_path)):
        with pytest.raises(InputError, match="must be a plain file, is a link"):
            take()
    assert (target.read_text() if target.exists() else None) == ("mine" if there else None)
