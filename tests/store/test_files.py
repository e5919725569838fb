"""A file is there whole or not at all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from sightline.core import kill_points
from sightline.data.outputs import replacing
from sightline.store import Store, create_store, write_whole

if TYPE_CHECKING:
    from pathlib import Path

# Writes a part of a file, says so, and waits to be killed.
HALF = """
import sys, time
from pathlib import Path
from sightline.core import kill_points
from sightline.store import write_whole

def stay(point):
    if point == "file:half":
        print("half", flush=True)
        time.sleep(60)

kill_points.hook = stay
write_whole(Path(sys.argv[1]), b"half" + b"rest")
"""
# Writes one name again and again, each time with one letter only.
AGAIN = """
import sys
from pathlib import Path
from sightline.store import write_whole

for _ in range(60):
    write_whole(Path(sys.argv[1]), sys.argv[2].encode() * 200_000)
"""


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def fail_half(point: str) -> None:
    if point == "file:half":
        raise OSError(28, "No space left on device")


def test_a_file_gets_all_that_was_written(tmp_path: Path) -> None:
    content = os.urandom(300_000)
    write_whole(tmp_path / "a.bin", content)
    assert (tmp_path / "a.bin").read_bytes() == content
    assert names(tmp_path) == ["a.bin"]


def test_the_name_is_given_when_all_is_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Content is synced before the name is given, and the folder after it."""
    path, seen = tmp_path / "a", []
    real = os.fsync

    def fsync(handle: int) -> None:
        seen.append((os.path.isdir(f"/proc/self/fd/{handle}"), path.exists()))  # noqa: PTH112
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    write_whole(path, b"x")
    assert seen == [(False, False), (True, True)]


def test_an_output_gets_its_name_when_all_is_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, seen = tmp_path / "a", []

    def fsync(handle: int) -> None:
        seen.append((os.fstat(handle).st_size, path.read_bytes()))

    monkeypatch.setattr(os, "fsync", fsync)
    path.write_bytes(b"old")
    with replacing(path) as part:
        part.write_bytes(b"longer")
    assert seen == [(6, b"old")]
    assert path.read_bytes() == b"longer"


def test_a_writer_that_raises_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kill_points, "hook", fail_half)
    with pytest.raises(OSError, match="No space"):
        write_whole(tmp_path / "a", b"content")
    assert names(tmp_path) == []


def test_a_writer_that_raises_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_whole(tmp_path / "a", b"old")
    monkeypatch.setattr(kill_points, "hook", fail_half)
    with pytest.raises(OSError, match="No space"):
        write_whole(tmp_path / "a", b"content")
    assert (tmp_path / "a").read_bytes() == b"old"
    assert names(tmp_path) == ["a"]
    monkeypatch.undo()
    write_whole(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"new"


def test_an_interrupt_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(point: str) -> None:
        if point == "file:half":
            raise KeyboardInterrupt

    monkeypatch.setattr(kill_points, "hook", stop)
    with pytest.raises(KeyboardInterrupt):
        write_whole(tmp_path / "a", b"content")
    assert names(tmp_path) == []


def test_what_a_killed_writer_leaves_is_no_shard_and_is_cleaned(tmp_path: Path) -> None:
    store = create_store(tmp_path / "s")
    path = store.score_file("000000-aa")
    command = [sys.executable, "-c", HALF, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "half\n"
        process.send_signal(signal.SIGKILL)
    (left,) = store.scores.iterdir()
    assert left.read_bytes() == b"half"
    assert store.done() == set()
    assert not path.exists()
    store.clean()
    assert names(store.scores) == []


def test_clean_removes_parts_everywhere_and_nothing_else(tmp_path: Path) -> None:
    store = create_store(tmp_path / "s")
    kept = [
        *(store.path / "manifest.json", store.maps / "part.safetensors"),
        *(store.scores / "a.parquet", store.checks / "a.parquet"),
        *(store.cache / "scores-000000.parquet", store.cache / "lock"),
    ]
    for file in kept:
        file.touch()
    folders = (store.scores, store.region_scores, store.checks, store.maps, store.cache)
    for folder in (store.path, *folders):
        (folder / ".a.parquet.123.part").touch()
    store.clean()
    left = {file for file in store.path.rglob("*") if file.is_file()}
    assert left == {*kept, store.lock_path}


def test_clean_without_folders_does_nothing(tmp_path: Path) -> None:
    Store(tmp_path / "none").clean()
    assert names(tmp_path) == []


def test_two_writers_of_one_name_never_mix(tmp_path: Path) -> None:
    """Whoever looks sees the whole content of one of them."""
    path = tmp_path / "a"
    write_whole(path, b"a" * 200_000)
    both = [
        subprocess.Popen([sys.executable, "-c", AGAIN, str(path), letter]) for letter in ("a", "b")
    ]
    while any(process.poll() is None for process in both):
        content = path.read_bytes()
        assert len(content) == 200_000
        assert content == content[:1] * 200_000
    assert [process.returncode for process in both] == [0, 0]
    assert names(tmp_path) == ["a"]
