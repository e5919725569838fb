"""Workers of pytest: every test is run once, and none is lost with a worker."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
TESTS = {
    "test_a": """
        import os, pytest
        def test_passes(tmp_path): assert (tmp_path / "a").write_text(f"{os.getpid()}")
        def test_fails(): print("said before it failed"); assert 1 == 2
        def test_is_left_out(): pytest.skip("for a reason")
    """,
    "test_b": """
        import os, signal
        def test_before(): pass
        def test_kills(): os.kill(os.getpid(), signal.SIGKILL)
        def test_after(): pass
    """,
    "test_c": """
        import os, pytest
        PARENT = os.getpid()
        @pytest.mark.compiles
        def test_compiles(): open("compiled", "x").close()
        def test_in_a_fork(capfd):
            assert os.path.exists("compiled") and os.getppid() == PARENT
            os.system("echo said"); assert capfd.readouterr().out == "said\\n"
        @pytest.fixture
        def broken(): yield; raise ValueError("at its end")
        def test_ends_badly(broken): pass
    """,
}


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    for name, body in TESTS.items():
        lines = [line.removeprefix("        ") for line in body.splitlines()]
        (folder / f"{name}.py").write_text("\n".join(lines))
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = compiles\n")
    command = [sys.executable, "-m", "pytest", "-q", "-ra", "-p", "tests.workers"]
    command += ["-p", "no:schemathesis", "-p", "no:hypothesispytest", "-p", "no:cacheprovider"]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [*command, f"--basetemp={folder / 'temporary'}", *words],
        cwd=folder, env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_every_test_is_run_once_and_told_of(tmp_path: Path) -> None:
    done = run(tmp_path, "--workers", "2")
    assert done.returncode == 1
    assert "2 failed, 6 passed, 1 skipped, 1 error in" in done.stdout, done.stdout
    for told in (
        "said before it failed",
        "SKIPPED [1] test_a.py:5: for a reason",
        "FAILED test_a.py::test_fails - assert 1 == 2",
        "FAILED test_b.py::test_kills - the worker ended in this test: -9",
        "ERROR test_c.py::test_ends_badly - ValueError: at its end",
    ):
        assert told in done.stdout, done.stdout
    assert "EOFError" not in done.stdout  # of the worker that went, in the one after it
    assert done.stderr == ""
    written = list((tmp_path / "temporary").glob("worker*/test_passes0/a"))
    assert len(written) == 1


def test_the_first_failure_ends_the_run_when_asked_to(tmp_path: Path) -> None:
    done = run(tmp_path, "--workers", "1", "-x", "test_a.py", "test_b.py")
    assert done.returncode == 1
    assert "1 failed, 1 passed in" in done.stdout, done.stdout
    assert "stopping after 1 failures" in done.stdout


def test_workers_that_were_not_asked_for_are_not_there(tmp_path: Path) -> None:
    done = run(tmp_path, "test_c.py", "-k", "fork or compiles")
    assert "1 failed, 1 passed, 1 deselected in" in done.stdout, done.stdout
