"""A run that is short of memory or address space ends with a message, and nothing half-written."""

from __future__ import annotations

import re
import resource
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from sightline.core.errors import OutOfMemoryError
from sightline.core.memory import _get_address_space, _ImportGuard, is_out_of_memory
from sightline.study import load_study, run_study
from tests.cli.small import run, write_given
from tests.study.executors.studies import table_bytes

if TYPE_CHECKING:
    from pathlib import Path

LONG = 240  # seconds after which a command that should have ended is a failure
MAIN = "from sightline.cli import main; main()"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a study over precomputed maps and run it."""
    folder = tmp_path_factory.mktemp("memory")
    write_given(folder)
    run("run", folder / "given.yml", "--out", folder / "calm", "--workers", 1)
    return folder


def run_limited(limit: int, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a command with so many bytes of address space."""
    return subprocess.run(
        [sys.executable, "-c", MAIN, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=LONG,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )


# Too little to start, to load Arrow, to load all libraries, to start threads.
@pytest.mark.parametrize("limit", [300_000_000, 700_000_000, 1_200_000_000, 2_000_000_000])
def test_too_little_address_space_is_said(folder: Path, tmp_path: Path, limit: int) -> None:
    study = folder / "given.yml"
    done = run_limited(limit, "run", study, "--out", tmp_path, "--workers", 1)
    assert done.returncode in (0, 1)
    assert "Traceback" not in done.stderr
    if done.returncode:
        assert re.search("^error: out of memory or address space[:,] ", done.stderr, re.MULTILINE)
        assert f"limited to {limit / 1e9:.2g} GB (ulimit -v)" in done.stderr
    assert limit > 1_000_000_000 or done.returncode == 1
    again = run_study(load_study(study), tmp_path, workers=1)
    assert table_bytes(again.store.path) == table_bytes(folder / "calm" / "given")
    assert not list(tmp_path.rglob("*.part"))


def write_model_study(folder: Path) -> Path:
    """Write a study of one image with a model."""
    path = folder / "model.yml"
    path.write_text(
        "name: model\ndata: {name: facades, count: 1}\nmodels: demo/cnn\nmethods: [gradcam]\n"
        "layers: -1\nmetrics: [iou]\n"
    )
    return path


# With these scipy's OpenBLAS would wait for memory for ever while it is imported.
@pytest.mark.parametrize("limit", [820_000_000, 940_000_000])
def test_a_model_is_refused_where_its_libraries_do_not_fit(tmp_path: Path, limit: int) -> None:
    study = write_model_study(tmp_path)
    done = run_limited(limit, "run", study, "--out", tmp_path, "--workers", 1)
    assert done.returncode == 1
    message = (
        r"^error: out of memory or address space: torch needs [\d.]+ GB of address space, and "
    )
    assert re.search(message, done.stderr, re.MULTILINE)
    assert f"of {limit / 1e9:.2g} GB (ulimit -v)" in done.stderr


@pytest.mark.parametrize("limit", [40_000_000, 90_000_000, 110_000_000])
def test_whatever_ends_a_process_there_is_an_error_line(tmp_path: Path, limit: int) -> None:
    done = run_limited(limit, "run", tmp_path / "none.yml")
    assert done.returncode in (1, 2)
    assert re.search("^error: ", done.stderr, re.MULTILINE)


@pytest.mark.parametrize("library", ["torch", "scipy"])
def test_imports_are_refused_where_less_is_left_than_they_need(
    monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    limit: int | None = _get_address_space() + 10_000_000
    monkeypatch.setattr("sightline.core.memory.get_address_space_limit", lambda: limit)
    guard = _ImportGuard()
    with pytest.raises(OutOfMemoryError, match=rf"{library} needs .* 0\.01 GB are left of"):
        guard.find_spec(library)
    guard.find_spec(f"{library}_other")
    limit = None
    guard.find_spec(library)


@pytest.mark.parametrize(
    ("name", "status"), [("SIGTERM", 143), ("SIGHUP", 129), ("SIGKILL", 1), ("SIGABRT", 1)]
)
def test_only_some_signals_are_a_lack_of_memory(name: str, status: int) -> None:
    code = (
        "import os, signal; from sightline.cli._supervisor import *\n"
        f"if SUPERVISED in os.environ: os.kill(os.getpid(), signal.{name})\n"
        "raise SystemExit(run_supervised(12_000_000_000))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=LONG
    )
    assert done.returncode == status
    assert ("out of memory" in done.stderr) == (status == 1)


def test_a_status_is_passed_on_where_address_space_is_limited(tmp_path: Path) -> None:
    done = run_limited(64_000_000_000, "run", tmp_path / "none.yml")
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert "Note: the address space of a process is limited to 64 GB" in done.stderr


def test_a_lack_of_memory_ends_any_command_with_status_1(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("sightline.results.open_results", fail)
    said = run("show", folder / "calm" / "given", code=1).stderr
    assert said.startswith("error: out of memory or address space: out of memory. What is stored")


@pytest.mark.parametrize("step", ["read", "score", "write"])
def test_a_lack_of_memory_in_any_step_ends_a_run_with_its_message(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MemoryError("Unable to allocate 8 GiB")

    with monkeypatch.context() as patch:
        patch.setattr(f"sightline.study.worker.worker.Worker.{step}", fail)
        said = run("run", folder / "given.yml", "--out", tmp_path, "--workers", 1, code=1).stderr
    assert f"(step {step!r}): Unable to allocate 8 GiB; fewer workers need less memory" in said
    assert "0 of 6 tasks are stored; run again to resume" in said
    again = run_study(load_study(folder / "given.yml"), tmp_path, workers=1)
    assert table_bytes(again.store.path) == table_bytes(folder / "calm" / "given")


@pytest.mark.parametrize(
    ("error", "short"),
    [
        (MemoryError(), True),
        (OSError(12, "Cannot allocate memory"), True),
        (RuntimeError("can't start new thread"), True),
        (ImportError("libarrow.so: failed to map segment from shared object"), True),
        (RuntimeError("CUDA out of memory"), True),
        (ValueError("can't allocate memory for this argument"), False),
        (OSError(28, "No space left on device"), False),
    ],
)
def test_what_counts_as_a_lack_of_memory(error: Exception, short: bool) -> None:
    assert is_out_of_memory(error) == short
    chained = KeyError("x")
    chained.__cause__ = error
    assert is_out_of_memory(chained) == short
