"""Real file systems that are full, or that nobody may write to.

What needs no right to mount one is tested in `test_processes.py`: files that may not grow, writes
that fail, folders without the right to write.
"""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from fastapi.testclient import TestClient

from sightline.api import create_app
from sightline.core import InputError
from sightline.results import export_results, open_results, results_digest
from sightline.store.verify import verify_store
from sightline.study import RunError, run_study
from tests.study.executors.studies import given_study, parts, shard_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from sightline.study import Study

KIB = 1 << 10


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[tuple[Path, Callable[[str], None]]]:
    """A file system of its own, and what mounts it anew with other options."""
    folder = tmp_path / "disk"
    folder.mkdir()

    def mount(options: str) -> None:
        words = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
        subprocess.run(words, check=True, capture_output=True)

    try:
        mount("size=1m")
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"this user may not mount a file system: {error}")
    try:
        yield folder, lambda options: mount(f"remount,{options}")
    finally:
        # At once, or when the last handle that lingers is closed.
        subprocess.run(["umount", "--lazy", str(folder)], check=True)  # noqa: S607


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("disks")


@pytest.fixture(scope="module")
def study(place: Path) -> Study:
    return given_study(place / "data", images=12, methods="abc")


@pytest.fixture(scope="module")
def calm(study: Study, place: Path) -> Path:
    return run_study(study, place, workers=1).store.path


def test_a_disk_that_fills_up_again_and_again(
    study: Study, calm: Path, disk: tuple[Path, Callable[[str], None]]
) -> None:
    folder, remount = disk
    whole, store = shard_bytes(calm), folder / study.name
    size, stored = 8 * KIB, []
    remount(f"size={size}")
    while True:
        try:
            run_study(study, folder, workers=1)
        except RunError as error:
            said = str(error)
        else:
            break
        assert f"{store}: cannot be written to: " in said
        assert "No space left on device" in said
        assert "make room, then run again to go on" in said
        assert parts(folder) == []
        names = ("scores", "region_scores")
        files = [path for one in names for path in (store / one).glob("*")]
        for path in files:
            assert path.read_bytes() == whole[f"{path.parent.name}/{path.name}"]
        stored.append(len(files))
        size += 40 * KIB
        remount(f"size={size}")
    assert len(stored) > 2
    assert stored == sorted(stored)
    assert stored[-1] > stored[0] == 0
    assert shard_bytes(store) == whole
    assert verify_store(store).good


def test_a_store_that_nobody_may_write_to_is_read_all_the_same(
    study: Study, calm: Path, disk: tuple[Path, Callable[[str], None]], tmp_path: Path
) -> None:
    folder, remount = disk
    store = run_study(study, folder, workers=1).store.path
    digest = results_digest(calm)
    remount("ro")
    with pytest.raises(InputError) as caught:
        run_study(study, folder, workers=1)
    assert f"{store}: results cannot be written there" in str(caught.value)
    assert "Read-only file system" in str(caught.value)
    with pytest.raises(InputError, match=r"results cannot be written there.*Read-only file"):
        run_study(given_study(folder.parent / "more", images=2, methods="a", name="new"), folder)
    assert results_digest(store) == digest
    assert verify_store(store).good
    with open_results(store) as results:
        assert len(results.leaderboard()) == 3
        assert export_results(results, tmp_path / "all.csv", "csv").is_file()
    with TestClient(create_app(store), base_url="http://localhost") as client:
        answer = client.get("/api/leaderboard")
        assert answer.status_code == 200, answer.text
        assert client.get("/api/progress").json()["running"] is False
