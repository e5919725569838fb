"""Runs of a study as processes that need not import anything: forks of one that has."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

from sightline.study import to_yaml
from tests.study.executors.studies import STARTED, Process, wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from sightline.study import Study

# What a study without a model must do without: it takes seconds to import.
HEAVY = ("torch", "transformers", "captum", "sklearn")
# It starts no threads that stay, so that its forks are as good as new.
SERVER = """
import json, os, signal, sys
from sightline.study import run_study
from sightline.study import load_study
run_study(load_study(sys.argv[1]), sys.argv[2], workers=1)  # imports and compiles what runs need
print("ready", flush=True)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for line in sys.stdin:
    asked = json.loads(line)
    pid = os.fork()
    if pid:
        try:
            os.setpgid(pid, pid)
        except OSError:  # it was quicker
            pass
        print(pid, flush=True)
        continue
    try:
        os.setpgid(0, 0)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        log = os.open(asked["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(log, 1), os.dup2(log, 2)
        os.environ["SIGHTLINE_TEST"] = asked["log"]
        run = run_study(load_study(asked["study"]), asked["out"], workers=asked["workers"])
        loaded = [name for name in {heavy!r} if name in sys.modules]
        print("stored", run.stored, "loaded", *loaded, flush=True)
    except BaseException:
        import traceback
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(0)
"""


class Forked(Process):
    """A run of a study that a server has forked, in a process group of its own."""

    def __init__(self, pid: int, log: Path) -> None:
        self.pid, self.log = pid, log
        self.mark = f"SIGHTLINE_TEST={log}"
        STARTED.append(self)

    def alive(self) -> list[int]:
        """Return the processes of this run that are there, workers among them."""
        return [*super().alive(), *([] if self.ended() else [self.pid])]

    def ended(self) -> bool:
        """Say whether the driver has ended."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        return False

    def kill(self, *, group: bool) -> None:
        """Kill the driver alone, or every process of the run."""
        (os.killpg if group else os.kill)(self.pid, signal.SIGKILL)
        wait_until(self.ended, "the end of what was killed", pause=0.001)

    def clear_away(self) -> None:
        """Kill what a test that failed has left."""
        for pid in self.alive():
            os.kill(pid, signal.SIGKILL)

    def said(self) -> str:
        """Wait for the end; return all that was said."""
        wait_until(self.ended, "the end of a run")
        return self.log.read_text("utf-8", "replace")


class Server:
    """A process that has run a study like those to come, and forks runs of them."""

    def __init__(self, study: Study, folder: Path) -> None:
        self.count = 0
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "warm.yml").write_text(to_yaml(study))
        code = SERVER.replace("{heavy!r}", repr(HEAVY))
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, str(folder / "warm.yml"), str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"},
        )
        assert self._hear() == "ready"

    def _hear(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def start(self, study: Study, out: Path, workers: int) -> Forked:
        """Start a run of a study."""
        assert self.process.stdin is not None
        out.mkdir(parents=True, exist_ok=True)
        file, log = out / f"{study.name}.yml", out / f"{self.count}.log"
        file.write_text(to_yaml(study))
        self.count += 1
        asked = {"study": str(file), "out": str(out), "workers": workers, "log": str(log)}
        self.process.stdin.write(f"{json.dumps(asked)}\n")
        self.process.stdin.flush()
        return Forked(int(self._hear()), log)

    def close(self) -> None:
        """End it."""
        self.process.kill()
        self.process.communicate()
